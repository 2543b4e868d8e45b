"""A value that was read from a file, and where in the file each part of it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rungwise.errors import InvalidArgumentError, SpaceError, Words

MAX_DEPTH = 32
MAX_VALUES = 100_000
"""What a file may hold, with every alias counted in full: no study needs a tenth of it."""

Step = str | int


@dataclass(frozen=True)
class Document:
    """A value and where it was written.

    Args:
        data: the value.
        name: the name of the file; empty without one.
        lines: in which line each part of the file is.
        path: which part of the file this is.
    """

    data: Any
    name: str = ""
    lines: Mapping[tuple[Step, ...], int] = field(default_factory=dict)
    path: tuple[Step, ...] = ()

    def __getitem__(self, step: Step) -> Document:
        return replace(self, data=self.data[step], path=(*self.path, step))

    def items(self) -> Iterator[tuple[str, Document]]:
        """The entries of a mapping."""
        return ((name, self[name]) for name in self.data)

    def label(self, what: str = "") -> str:
        """What this is and where it is: ``space.lr.low (study.yaml, line 7)``."""
        steps = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.path)
        called = f"{what} of {steps[1:]}" if what and steps else what or steps[1:]
        if not self.name:
            return called or "the mapping"
        known = [self.path[:end] for end in range(len(self.path), 0, -1)]
        line = next((self.lines[path] for path in known if path in self.lines), None)
        place = self.name if line is None else f"{self.name}, line {line}"
        return f"{called} ({place})" if called else place

    def name_argument(self, argument: str) -> str:
        """Return what an argument is called here, with its place; itself if it is not written here.

        Args:
            argument: such as ``eta``, or ``eta of scheduler``.
        """
        place, steps = self, argument.split(" of ")
        while steps and isinstance(place.data, Mapping) and steps[-1] in place.data:
            place = place[steps.pop()]
        return place.label(" of ".join(steps)) if place.path else argument

    def wrong(self, rule: str, what: str = "") -> InvalidArgumentError:
        """The error for a value that breaks a rule."""
        return InvalidArgumentError(self.label(what), self.data, rule)

    def relabelled(self, error: InvalidArgumentError) -> InvalidArgumentError:
        """An error of the library, with the place where its value was written."""
        kind = SpaceError if isinstance(error, SpaceError) else InvalidArgumentError
        return kind(self.label(error.argument), error.value, error.rule)

    def mapping(self, rule: str) -> Document:
        """Itself, if it is a mapping of names."""
        if not isinstance(self.data, Mapping):
            raise self.wrong(rule)
        for key in self.data:
            if not isinstance(key, str):
                raise InvalidArgumentError(
                    self.label("a key"), key, "a key must be text (put it in quotes)"
                )
        return self


def make_line_error(lines: Sequence[str], name: str, line: int, rule: str) -> InvalidArgumentError:
    """The error for a line of a file.

    Args:
        lines: the file, divided where its format ends lines: formats differ.
        name: the name of the file.
        line: the number of the line, from 1.
        rule: what is wrong.
    """
    shown = lines[line - 1].strip() if line <= len(lines) else Words("the end of the file")
    return InvalidArgumentError(f"line {line} of {name}", shown, rule)
