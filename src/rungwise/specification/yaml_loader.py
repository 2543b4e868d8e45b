"""YAML as plain values, within limits, and with the line of each part.

PyYAML's SafeLoader keeps the last of two equal keys, follows tags and merge keys, reads numbers by
YAML 1.1, and expands aliases without end; this one refuses what a study does not need. Checks are
made while nodes are composed, so that nothing is built from a file beyond a limit; the loader in C
offers no such place.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import yaml

from rungwise.errors import InvalidArgumentError, Words
from rungwise.scalars import scalar
from rungwise.specification.document import (
    MAX_DEPTH,
    MAX_VALUES,
    Document,
    Step,
    make_line_error,
)

PLAIN = "plain"
"""The tag of a scalar without quotes, whose type follows from its text."""


_BREAKS = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
"""What PyYAML ends lines at."""


def load_yaml(text: str, name: str) -> Document:
    """The value in the text of a YAML file; None if it is empty.

    Args:
        text: the text.
        name: the name of the file.
    """

    def fail(line: int, rule: str) -> InvalidArgumentError:
        return make_line_error(_BREAKS.split(text), name, line, rule)

    try:
        loader = Loader(text, fail)
        return Document(loader.get_single_data(), name, loader.lines)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = 1 if mark is None else mark.line + 1
        raise fail(line, f"it must be YAML ({error.problem})") from None
    except yaml.reader.ReaderError as error:
        line = len(_BREAKS.split(text[: error.position]))
        raise fail(line, f"it must be YAML ({error.reason})") from None
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        if isinstance(error, InvalidArgumentError):
            raise
        # Escapes beyond Unicode.
        raise InvalidArgumentError(name, Words("unreadable YAML"), str(error)) from None


class Loader(yaml.SafeLoader):
    """Loads one document.

    Args:
        text: the text of the file.
        fail: makes the error for a line and a rule.

    Attributes:
        lines: in which line each part of the value is.
    """

    def __init__(self, text: str, fail: Callable[[int, str], InvalidArgumentError]) -> None:
        super().__init__(text)
        self.lines: dict[tuple[Step, ...], int] = {}
        self._fail = fail
        self._path: tuple[Step, ...] = ()
        self._count = 0
        self._complete: dict[str, tuple[Any, int]] = {}

    def get_single_node(self) -> Any:
        self.get_event()  # type: ignore[no-untyped-call]
        node = None if self.check_event(yaml.StreamEndEvent) else self.compose_document()
        if not self.check_event(yaml.StreamEndEvent):
            rule = "a file must hold one document, and a second one begins here"
            raise self._fail(_line(self._peek()), rule)
        return node

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self._peek()
        if isinstance(parent, yaml.MappingNode) and index is None:
            return self._compose_key(parent, index, event)
        before, around, line = self._count, self._path, _line(event)
        if parent is not None:
            self._path = (*around, index if isinstance(index, int) else index.value)
        self.lines[self._path] = line if isinstance(index, int | None) else _line(index)
        self._add(1, line)
        if len(self._path) > MAX_DEPTH:
            raise self._fail(line, f"at most {MAX_DEPTH} levels may be nested")
        if isinstance(event, yaml.AliasEvent):
            node = self._take_alias(line)
        elif event.tag is not None:
            raise self._fail(line, f"tags such as {event.tag!r} are not supported")
        else:
            self.anchors.pop(event.anchor, None)  # an anchor may be used again
            node = super().compose_node(parent, index)
            # Only now: so an alias cannot be within what it refers to.
            self._complete[event.anchor] = (node, self._count - before)
        self._path = around
        return node

    def compose_scalar_node(self, anchor: Any) -> Any:
        node = super().compose_scalar_node(anchor)
        node.value = _join_surrogates(node.value)
        return node

    def _compose_key(self, parent: Any, index: Any, event: Any) -> Any:
        line = _line(event)
        if not isinstance(event, yaml.ScalarEvent) or event.tag is not None:
            raise self._fail(line, "a key must be text")
        self.anchors.pop(event.anchor, None)
        node: Any = super().compose_node(parent, index)
        if not isinstance(self.construct_object(node), str):
            raise self._fail(line, "a key must be text (put it in quotes)")
        if event.value == "<<" and event.style is None:
            raise self._fail(line, "merge keys are not supported")
        if (*self._path, node.value) in self.lines:
            raise self._fail(line, f"the key {node.value!r} is given twice")
        return node

    def _take_alias(self, line: int) -> Any:
        anchor = self._peek().anchor
        self.get_event()  # type: ignore[no-untyped-call]
        if anchor not in self._complete:
            raise self._fail(line, f"*{anchor} refers to nothing that is complete before it")
        node, size = self._complete[anchor]
        self._add(size, line)
        return node

    def _add(self, count: int, line: int) -> None:
        self._count += count
        if self._count > MAX_VALUES:
            raise self._fail(
                line, f"at most {MAX_VALUES} values are allowed, with aliases counted in full"
            )

    def _peek(self) -> Any:
        return self.peek_event()  # type: ignore[no-untyped-call]

    def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
        if kind is yaml.ScalarNode and implicit[0]:
            return PLAIN
        return super().resolve(kind, value, (False, True))  # type: ignore[no-untyped-call]

    def construct_plain(self, node: yaml.ScalarNode) -> Any:
        """A scalar without quotes, by the rules of YAML 1.2."""
        try:
            return scalar(node.value)
        except ValueError:
            raise self._fail(_line(node), "the number has too many digits") from None


Loader.add_constructor(PLAIN, Loader.construct_plain)


def _join_surrogates(text: str) -> str:
    r"""One character for each pair of escapes, as in JSON: "\ud83d\ude00" is an emoji."""
    try:
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:  # half a pair, which is refused as no text at all
        return text


def _line(event: Any) -> int:
    mark = event.start_mark
    return 1 if mark is None else int(mark.line) + 1
