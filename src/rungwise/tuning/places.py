"""Where a study keeps its checkpoints and the copy of its file: checked before it begins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rungwise.backends.base import PreparedBackend
from rungwise.errors import InvalidArgumentError
from rungwise.options.study_options import RunOptions
from rungwise.session.mirror import MirrorPlace, restore_from_mirror
from rungwise.storage.study_file import StudyFile


def check_kept(options: RunOptions, study: Any) -> None:
    """What outlives the process belongs to a study that does."""
    if options.checkpoints is not None and study is None:
        rule = "a study whose checkpoints are kept must be kept itself: give study='name.db'"
        raise InvalidArgumentError("checkpoints", options.checkpoints, rule)
    if options.mirror is not None and study is None:
        rule = "a study whose file is copied must have one: give study='name.db'"
        raise InvalidArgumentError("mirror", options.mirror, rule)


def check_places(options: RunOptions, prepared: PreparedBackend, study: Any) -> None:
    """Both places can be written to and read.

    Args:
        options: how the study is run.
        prepared: where it is trained.
        study: its file.

    Raises:
        StoreUnavailableError: one of them cannot.
        InvalidArgumentError: no worker would see what is written there.
    """
    if options.checkpoints is not None:
        store = options.store_beside(Path(study))
        if store.within_process and not prepared.within_process:
            rule = (
                "it is the memory of this process, which workers in other processes do not see: "
                "take backend='threads', or another address"
            )
            raise InvalidArgumentError("checkpoints", options.checkpoints, rule)
        store.check()
    if options.mirror is not None:
        MirrorPlace(options.mirror, Path(study).name).check()


def fetch_from_mirror(path: Path, options: RunOptions, types: Sequence[type]) -> str | None:
    """Fetch a study file that is lost from its mirror, and refuse the mirror of another study.

    Returns:
        A notice for the user if it was fetched.
    """
    if options.mirror is None:
        return None
    place = MirrorPlace(options.mirror, path.name)
    if not restore_from_mirror(path, place, tuple(types)):
        return None
    return (
        f"the study file was not here, and was fetched from its mirror {place.address}; what was "
        f"reported after that copy is trained again"
    )


def open_or_fetch(
    path: Path, options: RunOptions, on_notice: Callable[[str], None], types: Sequence[type]
) -> StudyFile:
    """The study file, fetched from its mirror if it is lost."""
    fetched = fetch_from_mirror(path, options, types)
    if fetched is not None:
        on_notice(fetched)
    return StudyFile(path, durability=options.durability, types=types)
