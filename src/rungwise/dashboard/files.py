"""The files of the page: a fixed list, read from the package."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}

START = "app.js"
"""The script that the page begins with."""


@cache
def list_files() -> Mapping[str, bytes]:
    """Name → contents, of everything that the page consists of."""
    folder = files("rungwise.dashboard") / "static"
    return {
        place.name: place.read_bytes()
        for place in folder.iterdir()
        if place.is_file() and place.name.rpartition(".")[2] in ("html", "css", "js", "svg")
    }


def find_kind(name: str) -> str:
    """The media type of a file."""
    return KINDS[name[name.rindex(".") :]]


def write_page(session: Mapping[str, Any]) -> bytes:
    """The page, with what it must know to begin."""
    text = list_files()["index.html"].decode()
    return text.replace("{session}", write_data(session)).encode()


def write_data(document: Any) -> str:
    """A document as JSON that may stand in HTML: it cannot end the element that it is in."""
    text = json.dumps(document, separators=(",", ":"), allow_nan=False)
    for sign, code in (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026")):
        text = text.replace(sign, code)
    return text
