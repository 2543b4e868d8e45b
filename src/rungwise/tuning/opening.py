"""Open a study file for reading, without running anything."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rungwise.errors import InvalidArgumentError
from rungwise.storage.study_file import StudyFile
from rungwise.tuning.folding import fold
from rungwise.views import StudyView


@contextmanager
def open_to_read(
    study: str | os.PathLike[str], *, types: Sequence[type] = (), checked: bool | None = None
) -> Iterator[StudyFile]:
    """A file that holds a study, open for reading, also while another process works on it.

    Everything that is read inside belongs to one state of it.

    Args:
        study: the file.
        types: recipes, rankings and searchers of your own that the study uses.
        checked: see :class:`rungwise.SqliteLog`.
    """
    must_be_file("study", study)
    with StudyFile(Path(study).resolve(), mode="read", types=types, checked=checked) as file:
        if not file.begun:
            raise InvalidArgumentError("study", str(study), "it contains no study")
        with file.log.snapshot():
            yield file


def must_be_file(argument: str, path: str | os.PathLike[str]) -> None:
    """Check that a file exists; a folder is no file."""
    if not isinstance(path, (str, os.PathLike)):
        raise InvalidArgumentError(argument, path, "it must be the name of a study file")
    try:
        if Path(path).is_file():
            return
        folder = Path(path).is_dir()
    except (OSError, ValueError) as error:
        raise InvalidArgumentError(argument, str(path), f"no file has that name: {error}") from None
    rule = "it is a folder: give a file" if folder else "there is no such file"
    raise InvalidArgumentError(argument, str(path), rule)


def read_view(study: str | os.PathLike[str], *, types: Sequence[type] = ()) -> StudyView:
    """The state of a study, from its log alone: less than ``load``, which reads all notes too."""
    with open_to_read(study, types=types) as file:
        running = file.log.lock.held()
        engine, seconds = fold(file)
        return StudyView.of(
            engine,
            file.about,
            file.path,
            running=running,
            seconds=seconds,
            failures=len(file.failures()),
        )
