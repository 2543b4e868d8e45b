"""How a study file says where its training function is, and how that is found again."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rungwise.backends.shipping import is_importable
from rungwise.errors import InvalidArgumentError
from rungwise.scripts import Script


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


def find(described: Mapping[str, Any] | None, study: str) -> Any:
    """The training function that :func:`reference` described."""
    from rungwise.specification import load_function  # noqa: PLC0415 - seldom needed

    if described is None:
        rule = f"{study} does not record where its training function is: pass the function"
        raise InvalidArgumentError("train", None, rule)
    if "command" in described:
        return Script(**{**described, "command": tuple(described["command"])})
    return load_function(described["function"])
