"""Parameters of commands that start without typer, whose import takes longer than such a command.

A command declares them in its signature, once. Called in its plain form, as ``show study.db --top
3``, it is run at once. Help, other spellings and mistakes are left to typer, which is given the
same declarations (``cli/arguments.py``).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, get_args

from rungwise.cli.entries import COMMANDS, import_command, loading

DIGITS = 9
"""A number with more of them is left to typer, which refuses what is too large."""


@dataclass(frozen=True, slots=True)
class Argument:
    """A file or a folder, without a flag.

    Attributes:
        help: its line in the help.
    """

    help: str


@dataclass(frozen=True, slots=True)
class Flag:
    """A switch, or a whole number.

    Attributes:
        help: its line in the help.
        name: with its hyphens; from the name of the parameter if None.
        least: the smallest number.
    """

    help: str
    name: str | None = None
    least: int = 0


STUDY = Argument("The study file.")
RESULT_AS_JSON = Flag("Print one line of JSON instead.", "--json")


def find_plain_call(words: Sequence[str]) -> Callable[[], None] | None:
    """What a command line in its plain form calls; None for any other.

    Args:
        words: what follows the name of the program.
    """
    entry = COMMANDS.get(words[0]) if words else None
    if entry is None or not entry.plain or not {"--help", "-h"}.isdisjoint(words):
        return None
    with loading(words[0]):
        function = import_command(words[0])
    given = read_plain(function, words[1:])
    return None if given is None else partial(function, **given)


def read_plain(function: Callable[..., None], words: Sequence[str]) -> dict[str, Any] | None:
    """The arguments for a function from the words of a call in its plain form; None for others.

    Args:
        function: the command.
        words: what follows its name.
    """
    parameters = inspect.signature(function, eval_str=True).parameters.values()
    places = [one for one in parameters if isinstance(read_declared(one), Argument)]
    flags = {name_flag(one): one for one in parameters if one not in places}
    given: dict[str, Any] = {}
    left = iter(words)
    for word in left:
        if word in flags:
            found = flags.pop(word)  # twice is not plain
            given[found.name] = _read_flag(found, left)
        elif places and word and not word.startswith("-") and word.isprintable():
            given[places.pop(0).name] = Path(word)
        else:
            return None
    missing = any(one.default is one.empty for one in places)
    return None if missing or None in given.values() else given


def read_declared(parameter: inspect.Parameter) -> Argument | Flag:
    """What a parameter is declared as."""
    declared: Argument | Flag = parameter.annotation.__metadata__[0]
    return declared


def name_flag(parameter: inspect.Parameter) -> str:
    """The name of a flag, with its hyphens."""
    declared = read_declared(parameter)
    assert isinstance(declared, Flag)
    return declared.name or f"--{parameter.name.replace('_', '-')}"


def _read_flag(parameter: inspect.Parameter, words: Any) -> bool | int | None:
    """The value of a flag; None where that is not plain."""
    kind, declared = get_args(parameter.annotation)[:2]
    if kind is bool:
        return True
    word = next(words, "")
    plain = word.isascii() and word.isdecimal() and len(word) <= DIGITS
    return int(word) if plain and int(word) >= declared.least else None
