"""Training functions by name: ``path/to/file.py:train`` or ``package.module:train``."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from rungwise.errors import InvalidArgumentError
from rungwise.script_guard import CUT, CalledWhileLoadingError, loading

_FORMS = "it must be 'path/to/file.py:function' or 'package.module:function'"


def split_reference(reference: Any, argument: str = "train") -> tuple[str, str]:
    """The module or file, and the name in it."""
    if not isinstance(reference, str):
        raise InvalidArgumentError(argument, reference, _FORMS)
    module, colon, name = reference.rpartition(":")
    legal = all(part.isidentifier() for part in name.split("."))
    if not colon or not module or not legal:
        raise InvalidArgumentError(argument, reference, _FORMS)
    if not _is_file(module) and not all(part.isidentifier() for part in module.split(".")):
        raise InvalidArgumentError(argument, reference, _FORMS)
    return module, name


def is_reference(text: str) -> bool:
    """Whether a text names a function, rather than a script."""
    try:
        split_reference(text)
    except InvalidArgumentError:
        return False
    return True


def load_function(reference: str) -> Callable[..., Any]:
    """The function that a reference names; its module is imported.

    A file is imported with its folder on ``sys.path``, so that it finds its neighbours. It gets
    the name that ``import`` would give it, unless that name means something else already; then
    one that depends on its path alone, so that every process calls it the same.

    Args:
        reference: ``path/to/file.py:function`` or ``package.module:function``.
    """
    place, name = split_reference(reference)
    try:
        module = _from_file(reference, place) if _is_file(place) else _imported(place)
    except InvalidArgumentError:
        raise
    except (Exception, SystemExit, CalledWhileLoadingError) as error:
        cause = f"{type(error).__name__}: {error}"
        if isinstance(error, CalledWhileLoadingError):
            cause = "a call of rungwise.tune: put that under if __name__ == '__main__'"
        rule = f"its module cannot be imported; it raised {cause}"
        raise InvalidArgumentError("train", reference, rule) from error
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            rule = f"there is no {name!r} in {place}"
            raise InvalidArgumentError("train", reference, rule)
        found = getattr(found, part)
    if not callable(found):
        rule = f"{name!r} must be a function, and is {type(found).__name__}"
        raise InvalidArgumentError("train", reference, rule)
    function: Callable[..., Any] = found
    return function


def _is_file(place: str) -> bool:
    return place.endswith(".py")


def _imported(name: str) -> ModuleType:
    # Like `python -m`: modules of the working directory count.
    if "" not in sys.path:
        sys.path.insert(0, "")
    importlib.invalidate_caches()
    with loading():
        return importlib.import_module(name)


def _from_file(reference: str, place: str) -> ModuleType:
    path = Path(place).resolve()
    if not path.is_file():
        raise InvalidArgumentError("train", reference, f"there is no file {path}")
    folder = str(path.parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    importlib.invalidate_caches()
    name = path.stem
    if not _means(name, path):
        name = f"_rungwise_{zlib.crc32(str(path).encode()):08x}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InvalidArgumentError("train", reference, "it must be a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with loading():
            spec.loader.exec_module(module)
    except CalledWhileLoadingError:
        setattr(module, CUT, True)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _means(name: str, path: Path) -> bool:
    """Whether importing a name gives the module in a file."""
    if not name.isidentifier():
        return False
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):  # ValueError: a module without a spec, such as __main__
        return False
    return spec is not None and spec.origin is not None and Path(spec.origin).resolve() == path
