"""How a study begins: where its file is, and what a fresh one takes in."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rungwise.checkpoints import CheckpointStore
from rungwise.core.study import Study
from rungwise.errors import InvalidArgumentError
from rungwise.storage.record import StudyRecord
from rungwise.storage.study_file import StudyFile, shown, study_folder
from rungwise.tuning.trust import remember


def begin_study(file: StudyFile, asked: Study, about: StudyRecord, store: CheckpointStore) -> None:
    """A fresh file takes the study."""
    if not file.begun:
        if any(place.startswith("trial-") for place in store.places()):
            rule = (
                f"{store} holds checkpoints of another study, which is gone: delete "
                f"that folder, or choose another name"
            )
            raise InvalidArgumentError("study", shown(file.path), rule)
        file.begin_with(asked, about)
        remember(file.path)


@contextmanager
def place_study(study: Any) -> Iterator[Path]:
    """Where the study is kept; without a name in a folder that is removed if an error occurs."""
    if study is not None:
        yield study_path(study)
        return
    folder = Path(tempfile.mkdtemp(prefix="rungwise-"))
    try:
        yield folder / "study.db"
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def study_path(study: Any) -> Path:
    """The file that a user means, in full and without links."""
    try:
        # In full and without links: the study stays the same file when the working folder changes,
        # and has one lock under all its names.
        path = Path(os.fspath(study)).resolve() if study != "" else Path()
        if path.name:
            study_folder(path).exists()  # raises if that name, which is longer, cannot be
    except TypeError:
        path = Path()
    except (OSError, ValueError) as error:
        rule = f"no file has that name: {error}"
        raise InvalidArgumentError("study", str(study), rule) from None
    if not path.name or path.is_dir():
        raise InvalidArgumentError("study", study, "it must be the name of a file")
    if not path.parent.is_dir():
        rule = f"the folder {shown(path.parent)} does not exist: create it first"
        raise InvalidArgumentError("study", str(study), rule)
    return path
