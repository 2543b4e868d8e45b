"""Training functions on their way to worker processes, and how to find them again."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import cloudpickle

from rungwise.errors import InvalidArgumentError
from rungwise.loading import is_cut
from rungwise.scripts import Script

Train = Callable[..., Any]


def check(train: Any) -> None:
    """A training function takes (config, run)."""
    if not callable(train):
        rule = "it must be a function train(config, run), or a Script"
        raise InvalidArgumentError("train", train, rule)
    try:
        inspect.signature(train).bind({}, None)
    except TypeError as error:
        rule = f"it must take two arguments, (config, run): {error}"
        raise InvalidArgumentError("train", train, rule) from None
    except ValueError:
        return  # a built-in without a signature: calling it will tell


def pack(train: Any) -> bytes:
    """The function as bytes that a fresh process can load.

    Functions of modules that a worker can import travel as their names; those of a script, a
    notebook or a test travel whole, with the global values they use.
    """
    target = train
    while isinstance(target, partial):
        target = target.func
    module = inspect.getmodule(target) or sys.modules.get(getattr(target, "__module__", ""))
    by_value = module is not None and not _importable(module)
    if by_value and module is not None:
        cloudpickle.register_pickle_by_value(module)
    try:
        return bytes(cloudpickle.dumps(train))
    except Exception as error:
        rule = (
            f"it must be possible to send it to a worker process ({error}); define what it uses "
            f"inside the function, or in a module that it imports"
        )
        raise InvalidArgumentError("train", train, rule) from error
    finally:
        if by_value and module is not None:
            cloudpickle.unregister_pickle_by_value(module)


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
    if _importable(module) and module.__name__ != "__main__":
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
        rule = f"{study} does not say where its training function is: give it"
        raise InvalidArgumentError("train", None, rule)
    if "command" in described:
        return Script(**{**described, "command": tuple(described["command"])})
    return load_function(described["function"])


def _importable(module: ModuleType) -> bool:
    """Whether another process finds the same module under the same name."""
    if module.__name__ == "__main__" or is_cut(module):
        return False
    try:
        spec = importlib.util.find_spec(module.__name__)
    except (ImportError, ValueError, AttributeError):
        return False
    if spec is None or spec.origin is None:
        return spec is not None
    file = getattr(module, "__file__", None)
    if file is None or not _same_file(spec.origin, file):
        return False
    # find_spec is content with what sys.modules holds; a fresh process must look on the path.
    top = module.__name__.partition(".")[0]
    return _on_path(top)


def _on_path(name: str) -> bool:
    finders = (finder for finder in sys.meta_path if hasattr(finder, "find_spec"))
    return any(finder.find_spec(name, None, None) is not None for finder in finders)


def _same_file(one: str, other: str) -> bool:
    return Path(one).resolve() == Path(other).resolve()
