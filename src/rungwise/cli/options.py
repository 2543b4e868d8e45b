"""Flags of commands, made from the fields that options are written in.

A command declares its own parameters and takes the options as ``given``, a dict of those that
were given; a new option of a group needs no edit here or in a command.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any

import typer

from rungwise.options import Option, list_options
from rungwise.options.backend_options import SHORT_FORMS
from rungwise.options.registry import BACKENDS, CALLBACKS, SCHEDULERS, Family, list_parameters
from rungwise.options.study_options import GROUPS, LadderOptions, list_names

Command = Callable[..., None]

_FLAGS = {each.name: each.flag_name for each in (*list_options(*GROUPS), *SHORT_FORMS) if each.flag}
_NAMED: tuple[tuple[Family, tuple[Option, ...]], ...] = (
    (SCHEDULERS, list_options(LadderOptions)),
    (BACKENDS, SHORT_FORMS),
)


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


def name_flag(argument: str) -> str:
    """Return what an argument is called on the command line, such as ``eta of --scheduler``."""
    inner, of, outer = argument.rpartition(" of ")
    return f"{inner}{of}{_FLAGS.get(outer, outer)}"


def build_callbacks(given: Mapping[str, Any]) -> list[Any]:
    """Return the callbacks that --track names."""
    return [CALLBACKS.build(text, "--track") for text in given.get("track", ())]


def replace_options(written: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a study file, with flags in their place.

    A flag replaces the key of its name. A flag for an option of the scheduler or the backend
    replaces also what the file's scheduler or backend says of it; a flag for another scheduler or
    backend leaves out the keys of those options that this has not, or that the flag gives itself.

    Args:
        written: the options of the file.
        given: the flags.
    """
    kept = dict(written)
    for family, beside in _NAMED:
        flags = {each.name for each in beside if each.name in given}
        if family.noun in given:
            word, own = family.unfold(given[family.noun])
            other = set(list_parameters(family.find(word))) - set(own)
            for each in beside:
                if each.name not in other:
                    kept.pop(each.name, None)
        elif family.noun in kept and flags:
            word, own = family.unfold(kept[family.noun])
            rest = {key: value for key, value in own.items() if key not in flags}
            kept[family.noun] = {"type": word, **rest}
    return {**kept, **given}
