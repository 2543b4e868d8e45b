"""Reads docstrings for the site: an ``Example:`` of ours is a section of examples there."""

from __future__ import annotations

import re
from typing import Any

import griffe

_HEADING = re.compile(r"^( *)Example:(?=\n)", re.MULTILINE)
_BLOCK = re.compile(r"^( *)Example::(?=\n)", re.MULTILINE)


class PlainExamples(griffe.Extension):  # type: ignore[misc] # griffe is Any to mypy
    """Renames a section in every docstring, before it is parsed."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Called once for each object."""
        if obj.docstring is not None:
            text = _HEADING.sub(r"\1Examples:", obj.docstring.value)
            obj.docstring.value = _BLOCK.sub(r"\1**Example**", text)
