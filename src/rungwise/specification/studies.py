"""Studies as they are written in a file: ``rungwise tune study.yaml``.

Every key is an argument of :func:`rungwise.tune` by the same name. Paths are relative to
the folder of the study file, so that it means the same in every working directory.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from rungwise.errors import InvalidArgumentError, Words
from rungwise.options import list_options
from rungwise.options.backend_options import SHORT_FORMS
from rungwise.options.checks import check_folder_or_address
from rungwise.options.study_options import GROUPS
from rungwise.scripts import Script, find_script
from rungwise.space import Space
from rungwise.specification.choices import guess_goal
from rungwise.specification.document import Document
from rungwise.specification.files import read
from rungwise.specification.functions import is_reference, split_reference
from rungwise.specification.recipes import (
    OF_RECIPE,
    read_backend_key,
    read_callbacks,
    read_scheduler,
    read_searcher,
)
from rungwise.specification.spaces import known_key, read_space


def read_study(path: str | os.PathLike[str], *, need_goal: bool = True) -> dict[str, Any]:
    """The arguments of :func:`rungwise.tune` that a study file gives, checked.

    ``train`` is a :class:`rungwise.scripts.Script`, or the name of a function for
    :func:`load_function`; ``space`` is a :class:`Space`; ``scheduler`` is there when the file says
    anything about it (``scheduler``, ``ranking``, ``eta``, ``min_resource``).

    Args:
        path: the file, YAML or JSON.
        need_goal: whether the goal must be known: one that is left out is taken from the name of
            the metric (see :func:`rungwise.specification.choices.guess_goal`), or refused.
            If not, it is left out.
    """
    file = Path(path).absolute()
    document = read(file).mapping("a study must be a mapping such as {train: …, space: …}")
    for key in document.data:
        if key not in KEYS:
            raise known_key(document, key, KEYS)
    goal = _goal(document.data) if need_goal else None
    _check_needed(document, goal_known=not need_goal or goal is not None)
    space = _space(document["space"], file.parent)
    arguments: dict[str, Any] = {"train": _train(document, file.parent, space), "space": space}
    arguments.update(_read_options(document, file.parent, space))
    if goal is not None:
        arguments.setdefault("goal", goal)
    return arguments


def _read_options(document: Document, folder: Path, space: Space) -> dict[str, Any]:
    """The arguments that follow from the options of the file."""
    arguments: dict[str, Any] = {}
    for each in _OPTIONS:
        if each.name in document.data and each.name not in _READ_OTHERWISE:
            written = document[each.name]
            arguments[each.name] = each.check_written(written.label(), written.data)
    readers: dict[str, Callable[[Document], Any]] = {
        "initial": partial(_initial, space=space),
        "study": partial(_file, folder=folder),
        "transfer": partial(_files, folder=folder),
        "checkpoints": partial(_folder, folder=folder),
        "mirror": partial(_folder, folder=folder),
        "searcher": read_searcher,
    }
    if "track" in document.data:
        arguments["callbacks"] = read_callbacks(document["track"], folder)
    for key, reader in readers.items():
        if key in document.data:
            arguments[key] = reader(document[key])
    if any(key in document.data for key in OF_RECIPE):
        arguments["scheduler"] = read_scheduler(document)
    if "backend" in document.data:
        arguments["backend"] = read_backend_key(document)
        for short in SHORT_FORMS:
            arguments.pop(short.name, None)
    return arguments


def _goal(given: Mapping[str, Any]) -> str | None:
    """The goal that the metric's name implies, for a study that does not give one."""
    metric = given.get("metric")
    return guess_goal(metric) if isinstance(metric, str) else None


def _check_needed(document: Document, *, goal_known: bool) -> None:
    given = document.data
    if ("train" in given) == ("command" in given):
        rule = "give what is trained: either train or command"
        raise InvalidArgumentError(document.label(), Words(_listed(given)), rule)
    needed = ("space", "metric") if goal_known else ("space", "metric", "goal")
    missing = [key for key in needed if key not in given]
    if missing:
        rule = f"it must also give {', '.join(missing)}"
        raise InvalidArgumentError(document.label(), Words(_listed(given)), rule)


def _listed(given: Mapping[str, Any]) -> str:
    return f"a study with {', '.join(given)}" if given else "a study with nothing"


def _space(document: Document, folder: Path) -> Space:
    if not isinstance(document.data, str):
        return read_space(document)
    path = folder / document.data
    if not _is_file(path):
        raise document.wrong(f"there is no file {path}")
    return read_space(path)


def _train(document: Document, folder: Path, space: Space) -> Script | str:
    """The script, or the name of the function, with its file's path in full."""
    of_script = [key for key in ("flags", "environment", "command") if key in document.data]
    written = document["train" if "train" in document.data else "command"]
    label = written.label()
    if "train" in document.data and is_reference(_text(label, written.data)):
        if of_script:
            rule = "it is for scripts, and this study trains a function"
            raise document[of_script[0]].wrong(rule)
        return _reference(written, folder)
    try:
        script = _script(document, written, folder)
        script.check(space)
    except InvalidArgumentError as error:
        # Their place is that of the key they are about.
        key = error.argument.partition("[")[0]
        at = document[key] if key in document.data else written
        raise InvalidArgumentError(at.label(), error.value, error.rule) from None
    return script


def _script(document: Document, written: Document, folder: Path) -> Script:
    options: dict[str, Any] = {
        "flags": document.data.get("flags", True),
        "environment": document.data.get("environment", {}),
        "folder": str(folder),
    }
    if written.path == ("command",):
        return Script(written.data, **options)
    path = folder / written.data
    if not _is_file(path):
        raise written.wrong(f"there is no file {path}; a function is written file.py:function")
    return find_script(path, **options)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that no file can have
        return False


def _reference(document: Document, folder: Path) -> str:
    module, name = split_reference(document.data)
    if not module.endswith(".py"):
        return f"{module}:{name}"
    path = folder / module
    if not _is_file(path):
        raise document.wrong(f"there is no file {path}")
    return f"{path}:{name}"


def _initial(document: Document, space: Space) -> list[dict[str, Any]]:
    if not isinstance(document.data, list):
        raise document.wrong("it must be a list of configurations")
    return [_legal(document[place], space) for place in range(len(document.data))]


def _file(document: Document, folder: Path) -> str:
    return str(folder / _text(document.label(), document.data))


def _files(document: Document, folder: Path) -> list[str]:
    """Study files, in full: one by itself, or a list."""
    several = isinstance(document.data, list)
    names = [document[place] for place in range(len(document.data))] if several else [document]
    for name in names:
        if not isinstance(name.data, str) or not name.data:
            raise name.wrong("it must be the name of a study file, or a list of them")
    return [str(folder / name.data) for name in names]


def _folder(document: Document, folder: Path) -> str:
    """A folder, in full; an address such as s3://… stays as it is."""
    name = check_folder_or_address(document.label(), document.data)
    return name if "://" in name else str(folder / name)


def _legal(document: Document, space: Space) -> dict[str, Any]:
    try:
        return space.validate(document.data)
    except InvalidArgumentError as error:
        raise document.relabelled(error) from None


def _text(label: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise InvalidArgumentError(label, value, "it must be text")
    return value


_OPTIONS = tuple(each for each in (*list_options(*GROUPS), *SHORT_FORMS) if each.key)
"""The options that a study file may give."""

_READ_OTHERWISE = (
    "initial",
    "study",
    "transfer",
    "checkpoints",
    "mirror",
    "searcher",
    "backend",
    "track",
    *OF_RECIPE,
)
"""Keys that are read together with something else: the space, the folder, other keys."""

KEYS = (
    *("train", "command", "flags", "environment", "space"),
    *(each.name for each in _OPTIONS),
)
"""Everything that a study file may give."""
