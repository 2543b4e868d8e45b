"""YAML and JSON files, read without surprises.

Values follow YAML 1.2, which is also what JSON says: ``1e-4`` is a number (PyYAML, which follows
YAML 1.1, reads text), ``yes``, ``no`` and ``on`` are words, ``010`` is ten and ``12:30`` is no
number. What is in quotes is text. Law of this file: a file gives plain dicts, lists and scalars,
or an :class:`InvalidArgumentError` that names the file and, where known, the line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rungwise.errors import InvalidArgumentError, SpaceError, Words

MAX_BYTES = 1 << 20
MAX_DEPTH = 32
MAX_VALUES = 100_000
"""What a file may hold, with every alias counted in full: no study needs a tenth of it."""

Step = str | int


@dataclass(frozen=True)
class Document:
    """A value and where it was written.

    Args:
        data: the value.
        name: the file, as a person calls it; empty without one.
        lines: in which line each part of the file stands.
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
        """What this is and where it stands: ``space.lr.low (study.yaml, line 7)``."""
        steps = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.path)
        called = f"{what} of {steps[1:]}" if what and steps else what or steps[1:]
        if not self.name:
            return called or "the mapping"
        known = [self.path[:end] for end in range(len(self.path), 0, -1)]
        line = next((self.lines[path] for path in known if path in self.lines), None)
        place = self.name if line is None else f"{self.name}, line {line}"
        return f"{called} ({place})" if called else place

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


def read(path: Path) -> Document:
    """The value in a file: JSON if it is called so, otherwise YAML."""
    name = path.name
    try:
        with path.open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise InvalidArgumentError("file", str(path), "there is no such file") from None
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        raise InvalidArgumentError("file", str(path), f"it cannot be read: {error}") from None
    if len(content) > MAX_BYTES:
        raise InvalidArgumentError(name, Words("too long"), f"{MAX_BYTES} bytes are the limit")
    return parse(content, name, is_json=path.suffix == ".json")


def parse(content: bytes, name: str, *, is_json: bool = False) -> Document:
    """The value in the content of a file."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        rule = f"it must be UTF-8 ({error.reason})"
        raise InvalidArgumentError(
            f"line {line} of {name}", content[error.start : error.start + 10], rule
        ) from None
    document = _of_json(text, name) if is_json else _of_yaml(text, name)
    if document.data is None:
        raise InvalidArgumentError(name, Words("empty"), "it must hold something")
    return document


def _of_json(text: str, name: str) -> Document:
    if not text.strip():
        return Document(None, name)
    try:
        data = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise _line_error(text, name, error.lineno, f"it must be JSON ({error.msg})") from None
    except RecursionError:
        raise _too_deep(name) from None
    except ValueError as error:
        raise InvalidArgumentError(name, Words("no JSON that can be read"), str(error)) from None
    _check_depth(data, name)
    _check_text(data, name)
    return Document(data, name)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {key!r} must not stand there twice")
        found[key] = value
    return found


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} must not stand in it")


def _too_deep(name: str) -> InvalidArgumentError:
    rule = f"{MAX_DEPTH} levels within each other are the limit"
    return InvalidArgumentError(name, Words("nested too much"), rule)


def _check_depth(data: Any, name: str) -> None:
    level = [data]
    for _ in range(MAX_DEPTH + 1):
        level = [
            inner
            for outer in level
            if isinstance(outer, (dict, list))
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
    if level:
        raise _too_deep(name)


def _check_text(data: Any, name: str) -> None:
    """Refuse half characters, which no file and no terminal could take."""
    try:
        json.dumps(data, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        rule = "text must be Unicode"
        raise InvalidArgumentError(name, error.object[error.start : error.end], rule) from None


def _of_yaml(text: str, name: str) -> Document:
    import yaml  # noqa: PLC0415 - slow to import, and most studies need none

    from rungwise.specification.events import Builder  # noqa: PLC0415 - it needs yaml

    builder = Builder(lambda line, rule: _line_error(text, name, line, rule))
    try:
        data = builder.build(yaml.parse(text, Loader=yaml.SafeLoader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = 1 if mark is None else mark.line + 1
        raise _line_error(text, name, line, f"it must be YAML ({error.problem})") from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise _line_error(text, name, line, f"it must be YAML ({error.reason})") from None
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        if isinstance(error, InvalidArgumentError):
            raise
        # Escapes beyond Unicode, numbers of thousands of digits.
        raise InvalidArgumentError(name, Words("no YAML that can be read"), str(error)) from None
    _check_text(data, name)
    return Document(data, name, builder.lines)


def _line_error(text: str, name: str, line: int, rule: str) -> InvalidArgumentError:
    lines = text.splitlines()
    shown = lines[line - 1].strip() if line <= len(lines) else Words("the end of the file")
    return InvalidArgumentError(f"line {line} of {name}", shown, rule)
