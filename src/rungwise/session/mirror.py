"""A copy of the study file in another place, so that a study outlives the machine of its tuner.

A thread copies the file every N seconds with SQLite's backup API, which takes a consistent state
while reports go on being committed, and once more when the tuner ends. A copy is written in full
before it takes the place of the one before. A place that cannot be written to is a notice, and
never the end of the study.

One tuner writes to a mirror: beside the copy lies the mark of the tuner that has it. A tuner that
finds another mark leaves the mirror alone: the study was resumed elsewhere.
"""

from __future__ import annotations

import queue
import secrets
import shutil
import tempfile
import threading
from contextlib import closing, suppress
from pathlib import Path

from rungwise.checkpoints import FolderStore, FsspecStore, is_address
from rungwise.checkpoints.addresses import open_address
from rungwise.errors import InvalidArgumentError
from rungwise.locking import FileLock
from rungwise.session.part import Part
from rungwise.storage.copies import OpenCopy, compare_files
from rungwise.storage.sqlite import SqliteLog


class MirrorPlace:
    """A folder or an address of fsspec that holds the copy of one study file.

    Args:
        place: the folder or the address.
        name: of the study file.
    """

    def __init__(self, place: str, name: str) -> None:
        self.place = place
        self.name = name
        self.address = f"{place.rstrip('/')}/{name}"

    def check(self) -> None:
        """Raise :class:`StoreUnavailableError` if it cannot be written to and read."""
        store = FsspecStore(self.place) if is_address(self.place) else FolderStore(self.place)
        store.check()

    def write(self, source: Path, name: str) -> None:
        """Put a file in the place of the one that was there."""
        if is_address(self.place):
            files, root = open_address(self.place)
            files.put_file(str(source), f"{root}/{name}")
            return
        Path(self.place).mkdir(parents=True, exist_ok=True)
        part = Path(self.place, f".{name}.part")
        shutil.copyfile(source, part)
        part.replace(Path(self.place, name))

    def read(self, name: str, target: Path) -> bool:
        """Copy a file from there; whether there is one."""
        try:
            if is_address(self.place):
                files, root = open_address(self.place)
                files.invalidate_cache()
                files.get_file(f"{root}/{name}", str(target))
            else:
                shutil.copyfile(Path(self.place, name), target)
        except FileNotFoundError:
            target.unlink(missing_ok=True)
            return False
        return True


class Mirror:
    """Copies a study file while a tuner runs.

    Args:
        source: the study file.
        place: where the copy is.
        every: seconds between two copies.
    """

    def __init__(self, source: Path, place: MirrorPlace, every: float) -> None:
        self._source = source
        self._place = place
        self._every = every
        self._mark = secrets.token_hex(16)
        self._marked = False
        self._copied: int | None = None  # the state of the file that was copied last
        self._away = False
        self._given_up = False
        self._notices: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._work, name="rungwise-mirror", daemon=True)
        self._thread.start()

    def take_notices(self) -> list[str]:
        """What a person should know; the thread itself shows nothing."""
        found = []
        with suppress(queue.Empty):
            while True:
                found.append(self._notices.get_nowait())
        return found

    def close(self) -> list[str]:
        """Copy for the last time."""
        self._ended.set()
        self._thread.join()
        return self.take_notices()

    def _work(self) -> None:
        with closing(OpenCopy(self._source)) as source:
            while True:
                last = self._ended.is_set()
                self._try_copy(source)
                if last or self._given_up:
                    return
                self._ended.wait(self._every)

    def _try_copy(self, source: OpenCopy) -> None:
        try:
            state = source.read_version()
            if state == self._copied:
                return
            with tempfile.TemporaryDirectory(prefix="rungwise-") as folder:
                if not self._may_write(Path(folder)):
                    return
                source.save(Path(folder, "study"))
                self._place.write(Path(folder, "study"), self._place.name)
            self._copied = state
        except Exception as error:  # noqa: BLE001 - whatever the library of a storage raises
            if not self._away:
                self._say(
                    f"could not be written ({type(error).__name__}: {error}); it is tried again"
                )
            self._away = True
        else:
            if self._away:
                self._say("is written again")
            self._away = False

    def _may_write(self, folder: Path) -> bool:
        """Whether no other tuner has taken the mirror over; the first copy takes it."""
        mark = folder / "mark"
        name = f"{self._place.name}.tuner"
        if not self._marked:
            mark.write_text(self._mark, encoding="utf-8")
            self._place.write(mark, name)
            self._marked = True
        elif self._place.read(name, mark) and mark.read_text(encoding="utf-8") != self._mark:
            self._given_up = True
            self._say("belongs to another tuner now, which has resumed the study: it is left alone")
            return False
        return True

    def _say(self, what: str) -> None:
        self._notices.put(f"the mirror {self._place.address} {what}")


class Mirrored(Part):
    """Copies the file while the study runs, if that was asked for."""

    _mirror: Mirror | None = None

    def open(self) -> None:
        options, path = self.session.opened.options, self.session.opened.file.path
        if options.mirror is not None:
            place = MirrorPlace(options.mirror, path.name)
            self._mirror = Mirror(path, place, options.mirror_every)
        self.idle = self._mirror is None

    def step(self, now: float) -> None:  # noqa: ARG002
        if self._mirror is not None:
            for text in self._mirror.take_notices():
                self.session.notice(text)

    def close(self) -> None:
        if self._mirror is not None:
            for text in self._mirror.close():
                self.session.notice(text)


def restore_from_mirror(study: Path, place: MirrorPlace, types: tuple[type, ...]) -> bool:
    """Fetch a study file that is not here; check that the mirror of one that is here is its own.

    Args:
        study: the study file, which may be missing.
        place: its mirror.
        types: recipes and so on beyond those of rungwise that the study uses.

    Returns:
        Whether the file was fetched.

    Raises:
        InvalidArgumentError: the mirror holds another study, or has more than the file.
    """
    with tempfile.TemporaryDirectory(prefix="rungwise-") as folder:
        copy = Path(folder, "study.db")
        if not place.read(place.name, copy):
            return False
        if not study.exists():
            SqliteLog(copy, mode="read", types=types).close()  # else it is no study, or damaged
            _put_here(copy, study)
            return True
        relation = compare_files(study, copy)
    if relation == "other":
        rule = f"{place.address} is the copy of another study: choose another place"
        raise InvalidArgumentError("mirror", place.place, rule)
    if relation == "apart":
        rule = (
            f"{place.address} and {study} have different reports of the same study, which went on "
            f"in both places: choose another place for the mirror, or move {study} away and its "
            f"-wal and .lock with it, and the copy is taken instead"
        )
        raise InvalidArgumentError("mirror", place.place, rule)
    if relation == "ahead":
        rule = (
            f"{place.address} has more reports than {study}, so the study went on elsewhere: move "
            f"{study} away and its -wal and .lock with it, and the copy is taken instead"
        )
        raise InvalidArgumentError("mirror", place.place, rule)
    return False


def _put_here(copy: Path, study: Path) -> None:
    """Take a copy as the study file; what is left of the lost one beside it is not its own."""
    if not FileLock(study.with_name(f"{study.name}.lock")).held():
        for suffix in ("-wal", "-shm", ".lock"):
            study.with_name(study.name + suffix).unlink(missing_ok=True)
    part = study.with_name(f".{study.name}.part")
    shutil.copyfile(copy, part)
    part.replace(study)
