"""Studies as they are written in a file: ``rungwise tune study.yaml``.

Every key is an argument of :func:`rungwise.tune` by the same name. Paths are relative to
the folder of the study file, so that it means the same in every working directory.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rungwise.errors import InvalidArgumentError, Words
from rungwise.options import list_options
from rungwise.options.backend_options import SHORT_FORMS
from rungwise.options.checks import check_folder_or_address
from rungwise.options.registry import FAMILIES
from rungwise.options.study_options import GROUPS
from rungwise.scripts import Script, find_script
from rungwise.space import Space
from rungwise.specification.document import Document
from rungwise.specification.files import read
from rungwise.specification.functions import is_reference, split_reference
from rungwise.specification.names import read_callbacks, read_name
from rungwise.specification.spaces import known_key, read_space


@dataclass(frozen=True, slots=True)
class WrittenStudy:
    """A study as it is written in a file.

    Attributes:
        train: a :class:`rungwise.scripts.Script`, or the name of a function for
            :func:`load_function`.
        space: the search space.
        options: the arguments of :func:`rungwise.tune`, and options of the scheduler, by name; what
            names a scheduler, a criterion, a searcher or a backend is as it is written.
        document: the file, which says what an argument is called there.
    """

    train: Any
    space: Space
    options: Mapping[str, Any]
    document: Document


def read_study(path: str | os.PathLike[str]) -> WrittenStudy:
    """Return the study that a file describes, as it is written.

    Args:
        path: the file, YAML or JSON.
    """
    file = Path(path).absolute()
    document = read(file).mapping("a study must be a mapping such as {train: …, space: …}")
    for key in document.data:
        if key not in KEYS:
            raise known_key(document, key, KEYS)
    _check_needed(document)
    space = _space(document["space"], file.parent)
    train = _train(document, file.parent, space)
    return WrittenStudy(train, space, _read_options(document, file.parent, space), document)


def _read_options(document: Document, folder: Path, space: Space) -> dict[str, Any]:
    """The arguments that follow from the options of the file."""
    readers: dict[str, Callable[[Document], Any]] = {
        "initial": partial(_initial, space=space),
        "study": partial(_file, folder=folder),
        "transfer": partial(_files, folder=folder),
        "checkpoints": partial(_folder, folder=folder),
        "mirror": partial(_folder, folder=folder),
    }
    arguments: dict[str, Any] = {}
    for each in _OPTIONS:
        if each.name not in document.data:
            continue
        written = document[each.name]
        if each.name in readers:
            arguments[each.name] = readers[each.name](written)
        elif each.name == "track":
            arguments["callbacks"] = read_callbacks(written, folder)
        elif each.family and each.name != "show":
            arguments[each.name] = read_name(written, FAMILIES[each.family])
        else:
            arguments[each.name] = each.check_written(written.label(), written.data)
    return arguments


def _check_needed(document: Document) -> None:
    given = document.data
    if ("train" in given) == ("command" in given):
        rule = "give what is trained: either train or command"
        raise InvalidArgumentError(document.label(), Words(_listed(given)), rule)
    missing = [key for key in ("space", "metric") if key not in given]
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

KEYS = (
    *("train", "command", "flags", "environment", "space"),
    *(each.name for each in _OPTIONS),
)
"""Everything that a study file may give."""
