"""YAML and JSON files, read without surprises.

Values follow YAML 1.2, which is also what JSON says: ``1e-4`` is a number (PyYAML, which follows
YAML 1.1, reads text), ``yes``, ``no`` and ``on`` are words, ``010`` is ten and ``12:30`` is no
number. What is in quotes is text. Law of this file: a file gives plain dicts, lists and scalars,
or an :class:`InvalidArgumentError` that names the file and, where known, the line.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rungwise.errors import InvalidArgumentError, Words
from rungwise.specification.document import Document
from rungwise.specification.json_loader import load_json

MAX_BYTES = 1 << 20


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
    if is_json:
        document = load_json(text, name)
    else:
        # PyYAML is slow to import, and most studies need none.
        from rungwise.specification.yaml_loader import load_yaml  # noqa: PLC0415

        document = load_yaml(text, name)
    _check_text(document.data, name)
    if document.data is None:
        raise InvalidArgumentError(name, Words("empty"), "it must hold something")
    return document


def _check_text(data: Any, name: str) -> None:
    """Refuse halves of surrogate pairs, which cannot be written to a file or a terminal."""
    try:
        json.dumps(data, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        rule = "text must be Unicode"
        raise InvalidArgumentError(name, error.object[error.start : error.end], rule) from None
