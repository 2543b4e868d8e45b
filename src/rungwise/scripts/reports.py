"""The reports of a script: lines of JSON, appended to a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rungwise.core.events import FURTHEST
from rungwise.errors import InvalidArgumentError, RungwiseError

LONGEST_LINE = 1 << 20
"""The most bytes of a line."""

_REMEMBERED = 256
"""How many bytes before the new ones are compared again, to notice a file that was overwritten."""


class ScriptError(RungwiseError):
    """A script that failed, or that broke the rules for scripts; the error of its trial alone."""


@dataclass(frozen=True)
class ScriptReport:
    """One line of a report file.

    Attributes:
        line: the line itself.
        resource: how much has been trained.
        metrics: everything else in the line.
        checkpoint: what is complete in the folder to save into: True for all of it, or the name
            of a folder in it; False for nothing.
    """

    line: str
    resource: float
    metrics: Mapping[str, Any]
    checkpoint: bool | str = False

    @classmethod
    def of(cls, line: bytes) -> ScriptReport:
        """The report that a line holds."""
        text = line.decode("utf-8", "backslashreplace")
        try:
            # NaN and infinities pass here: the study decides what they mean.
            entries = json.loads(line.decode("utf-8"))
        except (ValueError, RecursionError) as error:
            raise malformed(text, f"it must be JSON ({error})") from None
        if not isinstance(entries, dict):
            raise malformed(text, "it must be a JSON object")
        resource, checkpoint = entries.pop("resource", None), entries.pop("checkpoint", False)
        if type(resource) not in {int, float} or not abs(resource) <= FURTHEST:
            raise malformed(text, 'its "resource" must be a number: how much has been trained')
        if not isinstance(checkpoint, (bool, str)):
            raise malformed(text, 'its "checkpoint" must be true or the name of a folder')
        return cls(text, resource, entries, checkpoint)


class Reports:
    """The file to which a script appends its reports.

    Args:
        path: the file; it is created here.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._offset = 0
        self._last = b""
        path.touch()

    def read(self, *, whole: bool) -> list[bytes]:
        """The lines that are new and complete.

        Args:
            whole: whether nothing will be appended any more: then the last line is complete even
                without an end of line. Otherwise the rest of a torn line is waited for.
        """
        try:
            with self.path.open("rb") as stream:
                stream.seek(self._offset - len(self._last))
                before, new = stream.read(len(self._last)), stream.read()
        except FileNotFoundError:
            raise ScriptError("The report file was removed; a script must only append.") from None
        if before != self._last:
            raise ScriptError("The report file was overwritten; a script must append to it (>>).")
        *lines, torn = new.split(b"\n")
        taken = len(new) - len(torn)
        if whole:
            lines, taken = [*lines, torn], len(new)
        elif len(torn) > LONGEST_LINE:
            rule = f"it has more than {LONGEST_LINE} bytes; end every report with a newline"
            raise malformed(torn.decode(errors="replace"), rule)
        self._last = (self._last + new[:taken])[-_REMEMBERED:]
        self._offset += taken
        return [line for line in lines if line.strip()]


def malformed(line: str, rule: str) -> InvalidArgumentError:
    """The error for a line that is not a report."""
    return InvalidArgumentError("A line of the report file", line, rule)
