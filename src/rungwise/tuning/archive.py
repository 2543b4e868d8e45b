"""A study as one file that can be moved: the study file, complete, with checkpoints and outputs."""

from __future__ import annotations

import os
import stat
import tarfile
import tempfile
from pathlib import Path

from rungwise.checkpoints.folder import WRITING
from rungwise.errors import InvalidArgumentError, StoreUnavailableError
from rungwise.storage.sqlite import SqliteLog
from rungwise.storage.study_file import study_folder


def write_archive(study: str | os.PathLike[str], output: str | os.PathLike[str]) -> int:
    """Write a tar file with a study; how many files are in it.

    The study may be running: the archive holds it as it was at one moment.

    Args:
        study: the study file.
        output: the tar file; it is complete, or not there.
    """
    path, target = Path(study).resolve(), Path(output).resolve()
    folder = study_folder(path)
    _check_target(target)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".rungwise-") as scratch:
        whole, draft = Path(scratch, path.name), Path(scratch, "archive.tar")
        with SqliteLog(path, mode="read") as log:
            log.copy_to(whole)
        count = 1
        with tarfile.open(draft, "w") as archive:
            archive.add(whole, path.name)
            for place, folders, names in os.walk(folder, onerror=_refuse_gap):
                # What is being written just now is no checkpoint yet.
                folders[:] = sorted(name for name in folders if not name.startswith(WRITING))
                for name in (*folders, *sorted(names)):
                    file = Path(place, name)
                    inside = str(Path(folder.name, file.relative_to(folder)))
                    try:
                        if not _is_kept(file):
                            continue
                        archive.add(file, inside, recursive=False)
                    except OSError as error:
                        _refuse_gap(error)
                        continue
                    count += name in names
        draft.replace(target)
    return count


def _is_kept(file: Path) -> bool:
    """Whether something belongs into an archive: sockets, pipes and devices do not."""
    mode = file.lstat().st_mode
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode)


def _refuse_gap(error: OSError) -> None:
    """Raise unless a file was removed meanwhile: an archive is complete, or not there."""
    if not isinstance(error, FileNotFoundError):
        raise StoreUnavailableError(str(error.filename), str(error)) from error


def _check_target(target: Path) -> None:
    """Refuse to take the place of a device, say, and what cannot be written."""
    if target.exists() and not target.is_file():
        raise InvalidArgumentError("output", str(target), "it exists and is not a regular file")
    if not target.parent.is_dir():
        rule = f"the folder {target.parent} does not exist: create it first"
        raise InvalidArgumentError("output", str(target), rule)
