"""Tags and a note of a study, as its file keeps them."""

from __future__ import annotations

from pathlib import Path

from rungwise.storage.record import Labels
from rungwise.storage.study_file import StudyFile


def read_labels_of(study: Path) -> Labels:
    """The labels of a study file; its entries are not read."""
    with StudyFile(study, mode="read", checked=False) as file:
        return file.about.labels
