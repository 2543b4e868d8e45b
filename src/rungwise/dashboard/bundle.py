"""The modules of the page as one script: for a file, which can load no others.

It understands the few forms that our own modules are written in, and refuses every other: imports
of names from a neighbour, each on one line, and exports of functions, classes and constants.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from graphlib import TopologicalSorter

_IMPORT = re.compile(r'^import \{ ([\w, ]+) \} from "\./([\w.-]+)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?function|class|const) (\w+)", re.MULTILINE)
_OTHER = re.compile(r"^(import|export)\b.*$", re.MULTILINE)


def bundle(files: Mapping[str, str], start: str) -> str:
    """One script that does what a module does.

    Args:
        files: name → text of all modules.
        start: the module to begin with.

    Raises:
        ValueError: a module has an import or export of another form.
    """
    graph: dict[str, set[str]] = {}
    waiting = [start]
    while waiting:
        name = waiting.pop()
        if name not in graph:
            graph[name] = {found[1] for found in _IMPORT.findall(files[name])}
            waiting += graph[name]
    order = TopologicalSorter(graph).static_order()
    script = "\n".join(_wrap(name, files[name]) for name in order)
    if "</script" in script.lower():
        raise ValueError("a module would end the element that it is in")
    return f'"use strict";\n{script}\n'


def _wrap(name: str, text: str) -> str:
    """A module as a function that returns what it exports."""
    exported = [found[1] for found in _EXPORT.findall(text)]
    text = _IMPORT.sub(_take, text)
    text = _EXPORT.sub(r"\1 \2", text)
    other = _OTHER.search(text)
    if other is not None:
        raise ValueError(f"{name}: {other[0]} is of a form that cannot be bundled")
    return (
        f"const {_variable(name)} = (() => {{\n{text}\nreturn {{ {', '.join(exported)} }};\n}})();"
    )


def _take(found: re.Match[str]) -> str:
    """What an import is, when modules are functions."""
    return f"const {{ {found[1].replace(' as ', ': ')} }} = {_variable(found[2])};"


def _variable(name: str) -> str:
    return "$" + re.sub(r"\W", "_", name)
