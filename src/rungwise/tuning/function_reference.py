"""How a study file says where its training function is, and how that is found again."""

from __future__ import annotations

import ast
import hashlib
import inspect
import os
import shlex
import sys
import textwrap
import tokenize
import warnings
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from rungwise.backends.shipping import is_importable
from rungwise.core.engine import Engine
from rungwise.errors import MISSING, FunctionChangedWarning, InvalidArgumentError
from rungwise.scripts import Script
from rungwise.session.stopping import ASKED
from rungwise.storage.study_file import About, StudyFile, shown
from rungwise.tuning.kept_options import change_about


def reference(train: Any) -> dict[str, Any] | None:
    """How to find a training function again, as plain JSON; None if there is no way."""
    if isinstance(train, Script):
        return asdict(train)
    name = getattr(train, "__qualname__", "")
    if not name or "<" in name:  # a lambda or a function inside a function
        return None
    if inspect.ismethod(train) and not inspect.isclass(train.__self__):
        return None  # it belongs to an object
    module = inspect.getmodule(train)
    if module is None:
        return None
    if is_importable(module) and module.__name__ != "__main__":
        return {"function": f"{module.__name__}:{name}"}
    spec = getattr(module, "__spec__", None)
    if module.__name__ == "__main__" and spec is not None:  # python -m package.module
        return {"function": f"{spec.name}:{name}"}
    file = getattr(module, "__file__", None)
    if file is None or not Path(file).is_file():  # typed in, or piped in
        return None
    return {"function": f"{Path(file).resolve()}:{name}"}


NOTED = "function"
"""The key, among the options of a study file, of what is noted about its training function."""


def note(train: Any, study: Path) -> dict[str, Any]:
    """What a study file notes about its function, to find it when both are moved, and know it.

    Args:
        train: the training function or script.
        study: the study file.
    """
    described = reference(train) or {}
    parts = described.get("command") or [described.get("function", "").rpartition(":")[0]]
    beside = {
        str(number): os.path.relpath(part, study.parent)
        for number, part in enumerate(parts)
        if part != sys.executable and Path(part).is_absolute() and Path(part).is_file()
    }
    return {"beside": beside, "fingerprint": compute_fingerprint(train)}


def compute_fingerprint(train: Any) -> str | None:
    """What changes when the code of a function or a script does; None if the code is not known.

    Comments and layout do not count; neither does what the function calls.
    """
    try:
        if isinstance(train, Script):
            files = [Path(part) for part in train.command if part != sys.executable]
            text = b"".join(file.read_bytes() for file in files if file.is_file())
        else:
            source = textwrap.dedent(inspect.getsource(train))
            text = ast.unparse(ast.parse(source)).encode()
    except (OSError, TypeError, SyntaxError, ValueError, tokenize.TokenError):
        return None  # for one, the file was edited after it was imported
    return hashlib.sha256(text).hexdigest()[:16] if text else None


def has_changed(about: About, train: Any) -> bool:
    """Whether a study was begun with other code, as far as that is known."""
    before = about.options.get(NOTED, {}).get("fingerprint")
    after = compute_fingerprint(train)
    return before is not None and after is not None and before != after


def note_function(file: StudyFile, train: Any, engine: Engine) -> None:
    """Say that the training function is another one; note the present one if it will train."""
    about, name = file.about, shown(file.path)
    changed = has_changed(about, train)
    if changed and engine.ended is not None:
        text = (
            f"{name} has ended, and its training function has changed since: nothing was trained "
            f"with the new one. For a new study choose another name, or delete this one: rungwise "
            f"delete {name}. Larger limits would extend it, with results of both functions in it."
        )
        warnings.warn(text, FunctionChangedWarning, stacklevel=4)
        return
    if changed and engine.reports:
        text = (
            f"the training function has changed since {name} was begun: what is trained from now "
            f"on is compared with what the earlier one reported"
        )
        warnings.warn(text, FunctionChangedWarning, stacklevel=4)
    noted = note(train, file.path)
    if noted != about.options.get(NOTED) and engine.ended is None:
        options = {**about.options, NOTED: noted}
        described = reference(train)
        change_about(file, replace(about, options=options, train=described or about.train))


def find(about: About, study: Path) -> Any:
    """The training function of a study.

    A script that stands where it stood relative to the study file is taken first: both may have
    been moved, or copied to another machine.
    """
    from rungwise.specification import load_function  # noqa: PLC0415 - seldom needed

    described, beside = about.train, about.options.get(NOTED, {}).get("beside", {})
    name = shlex.quote(shown(study))
    way = f"rungwise resume {name} --train FILE.py:FUNCTION, or rungwise.resume({name!r}, train)"
    if described is None and about.options.get(ASKED):
        rule = (
            f"{shown(study)} is run by ask/tell, so there is no training function to resume: the "
            f"program that asked for its jobs goes on with rungwise.open_study. To have rungwise "
            f"train what is left, give it a training function with {way}"
        )
        raise InvalidArgumentError("train", MISSING, rule)
    if described is None:
        rule = f"{shown(study)} does not record where its training function is: give it with {way}"
        raise InvalidArgumentError("train", MISSING, rule)
    moved = {int(number): study.parent / place for number, place in beside.items()}
    there = {number: str(path.resolve()) for number, path in moved.items() if path.is_file()}
    if "command" in described:
        command = [there.get(number, part) for number, part in enumerate(described["command"])]
        return Script(**{**described, "command": tuple(command)})
    place, _, function = described["function"].rpartition(":")
    try:
        return load_function(f"{there.get(0, place)}:{function}")
    except InvalidArgumentError as error:
        rule = f"{error.rule}. If it was moved, give it with {way}"
        raise InvalidArgumentError("train", error.value, rule) from error
