"""Flags of commands, made from the fields that options are written in.

A command declares its own parameters and takes the options as ``given``, a dict of those that
were given; a new option of a group needs no edit here or in a command.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Annotated, Any

import typer

from rungwise.options import Option
from rungwise.options.study_options import list_names

Command = Callable[..., None]


def with_options(options: Iterable[Option]) -> Callable[[Command], Command]:
    """Give a command the flags of options.

    Args:
        options: in the order of the help; those without a flag are passed over.
    """
    shown = [each for each in options if each.flag]

    def decorate(function: Command) -> Command:
        signature = inspect.signature(function, eval_str=True)
        own = [one for one in signature.parameters.values() if one.name != "given"]

        @functools.wraps(function)
        def command(**arguments: Any) -> None:
            found = {each.name: each.parse(arguments.pop(each.name)) for each in shown}
            # Typer gives an empty list for a flag that may be repeated and was not given.
            given = {key: value for key, value in found.items() if value not in (None, [], ())}
            function(**arguments, given=given)

        flags = [
            inspect.Parameter(
                each.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_annotate(each)
            )
            for each in shown
        ]
        # Arguments first, then the flags of the options, then the command's own flags.
        first = [one for one in own if one.default is one.empty]
        last = [one for one in own if one.default is not one.empty]
        parameters = [one.replace(kind=one.KEYWORD_ONLY) for one in (*first, *flags, *last)]
        command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {one.name: one.annotation for one in parameters}
        return command

    return decorate


def _annotate(each: Option) -> Any:
    kind: Any = str if each.words else each.kind
    metavar = each.metavar or ("NAME" if each.family else None)
    flag = each.flag_name
    if kind is bool:
        flag += f"/--no-{flag[2:]}"
    declared: Any = typer.Option(flag, help=describe(each), metavar=metavar, show_default=False)
    return Annotated[list[kind] | None if each.repeatable else kind | None, declared]


def describe(each: Option) -> str:
    """The help of a flag: the text of the option, its names, and its default."""
    text = each.flag_text or each.text
    parts = [text[0].upper() + text[1:]]
    if names := list_names(each):
        parts.append(f"Names: {', '.join(names)}.")
    if each.repeatable:
        parts.append("May be repeated.")
    if not each.required and each.default not in (None, ()) and each.default is not False:
        parts.append(f"Default: {each.default}.")
    return " ".join(parts)
