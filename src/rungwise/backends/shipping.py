"""Training functions on their way to workers: checked, and packed as bytes."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from rungwise.errors import InvalidArgumentError
from rungwise.script_guard import is_cut


def check_function(train: Any) -> None:
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
        return  # a built-in without a signature: only calling it shows whether it fits
    if inspect.isgeneratorfunction(train) or inspect.iscoroutinefunction(train):
        rule = "it must be an ordinary function that calls run.report: no yield, no async"
        raise InvalidArgumentError("train", train, rule)


def pack(train: Any) -> bytes:
    """The function as bytes that a fresh process can load.

    Functions of modules that a worker can import travel as their names; those of a script, a
    notebook or a test travel whole, with the global values they use.
    """
    import cloudpickle  # noqa: PLC0415 - a study that is only read needs none

    target = train
    while isinstance(target, partial):
        target = target.func
    module = inspect.getmodule(target) or sys.modules.get(getattr(target, "__module__", ""))
    by_value = module is not None and not is_importable(module)
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


def is_importable(module: ModuleType) -> bool:
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
