"""Tags and a note of a study, as its file keeps them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rungwise.storage.study_file import StudyFile

LABELS = "labels"
"""Their key among the options of a study file."""


def read_labels(options: Mapping[str, Any]) -> tuple[tuple[str, ...], str]:
    """(the tags, the note) of a study, from its options in the file."""
    found = options.get(LABELS)
    if not isinstance(found, Mapping):  # none, or it was written by something else
        return (), ""
    tags, note = found.get("tags"), found.get("note")
    texts = tuple(tag for tag in tags if isinstance(tag, str)) if isinstance(tags, list) else ()
    return texts, note if isinstance(note, str) else ""


def read_labels_of(study: Path) -> tuple[tuple[str, ...], str]:
    """The same of a study file; its entries are not read."""
    with StudyFile(study, mode="read", checked=False) as file:
        return read_labels(file.about.options)
