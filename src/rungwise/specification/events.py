"""YAML's events put together to plain values, within limits, and with the line of each.

PyYAML's own way from events to values keeps the last of two equal keys, follows tags, and
expands aliases without end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import yaml

from rungwise.errors import InvalidArgumentError
from rungwise.scalars import scalar
from rungwise.specification.files import MAX_DEPTH, MAX_VALUES, Step

Fail = Callable[[int, str], InvalidArgumentError]


class Builder:
    """Builds the value of one document.

    Args:
        fail: makes the error for a line and a rule.

    Attributes:
        lines: in which line each part of the value stands.
    """

    def __init__(self, fail: Fail) -> None:
        self.lines: dict[tuple[Step, ...], int] = {}
        self._fail = fail
        self._count = 0
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._events: Iterator[Any] = iter(())
        self._ahead: list[Any] = []

    def build(self, events: Iterable[yaml.Event]) -> Any:
        """The value; None if there is none."""
        self._events = iter(events)
        self._take()  # the start of the stream
        if isinstance(self._take(), yaml.StreamEndEvent):
            return None
        value = self._node(())
        self._take()  # the end of the document
        more = self._take()
        if not isinstance(more, yaml.StreamEndEvent):
            raise self._fail(_line(more), "a file must hold one document, and here a second begins")
        return value

    def _node(self, path: tuple[Step, ...]) -> Any:
        event = self._take()
        line = self.lines[path] = _line(event)
        self._add(1, line)
        if len(path) > MAX_DEPTH:
            raise self._fail(line, "it must not nest so much")
        if isinstance(event, yaml.AliasEvent):
            return self._alias(str(event.anchor), line)
        if event.tag is not None:
            raise self._fail(line, f"tags such as {event.tag!r} are not read")
        before = self._count
        if isinstance(event, yaml.ScalarEvent):
            value = self._scalar(event)
        elif isinstance(event, yaml.SequenceStartEvent):
            value = self._list(path)
        else:
            value = self._dict(path)
        if event.anchor is not None:
            # Only now: so an alias cannot stand within what it stands for.
            self._anchors[event.anchor] = (value, self._count - before + 1)
        return value

    def _list(self, path: tuple[Step, ...]) -> list[Any]:
        values: list[Any] = []
        while not self._ends(yaml.SequenceEndEvent):
            values.append(self._node((*path, len(values))))
        return values

    def _dict(self, path: tuple[Step, ...]) -> dict[str, Any]:
        values: dict[str, Any] = {}
        while not self._ends(yaml.MappingEndEvent):
            event = self._take()
            key, line = self._key(event), _line(event)
            if key in values:
                raise self._fail(line, f"the key {key!r} must not stand there twice")
            values[key] = self._node((*path, key))
            self.lines[(*path, key)] = line
        return values

    def _key(self, event: Any) -> str:
        if not isinstance(event, yaml.ScalarEvent) or event.tag is not None:
            raise self._fail(_line(event), "a key must be text")
        key = self._scalar(event)
        if not isinstance(key, str):
            raise self._fail(_line(event), "a key must be text (put it in quotes)")
        if key == "<<" and event.style is None:
            raise self._fail(_line(event), "merge keys are not read")
        return key

    def _scalar(self, event: yaml.ScalarEvent) -> Any:
        if event.style is not None:  # in quotes, or a block of text
            return event.value
        try:
            return scalar(event.value)
        except ValueError:
            raise self._fail(_line(event), "the number must not be so long") from None

    def _alias(self, anchor: str, line: int) -> Any:
        if anchor not in self._anchors:
            raise self._fail(line, f"*{anchor} stands for nothing that is complete before it")
        value, size = self._anchors[anchor]
        self._add(size, line)
        return value

    def _add(self, count: int, line: int) -> None:
        self._count += count
        if self._count > MAX_VALUES:
            raise self._fail(line, f"{MAX_VALUES} values are the limit, aliases counted in full")

    def _take(self) -> Any:
        return self._ahead.pop() if self._ahead else next(self._events)

    def _ends(self, kind: type[yaml.Event]) -> bool:
        """Whether the next event is the end of a list or mapping, which is then taken."""
        event = self._take()
        if isinstance(event, kind):
            return True
        self._ahead.append(event)
        return False


def _line(event: yaml.Event) -> int:
    mark = event.start_mark
    return 1 if mark is None else int(mark.line) + 1
