"""The backend that the tests of a module use now; see tests/tuning/conftest.py."""

import rungwise as rw

KINDS = {"local": rw.Local, "threads": rw.Threads}
OTHERS = {}
"""Backends that only some modules test, since what they need takes long to start."""

_current = ["local"]


def use(kind):
    _current[0] = kind


def make_backend(workers):
    """A backend of the kind that is tested now."""
    return {**KINDS, **OTHERS}[_current[0]](workers=workers)


def on_backend(arguments):
    """The arguments of tune() with ``workers`` turned into a backend of that kind."""
    others = {name: value for name, value in arguments.items() if name != "workers"}
    if "backend" in arguments or "preload" in arguments or "workers" not in arguments:
        return dict(arguments)
    return {**others, "backend": make_backend(arguments["workers"])}
