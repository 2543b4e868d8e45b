"""Loading a script for its training function, without starting the study that it starts.

A script that calls ``rungwise.tune`` at its top level, without ``if __name__ == "__main__"``, is
a natural thing to write. When only its training function is wanted (``rungwise resume``), its
execution ends at that call: the function stands above it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

CUT = "__rungwise_cut__"
"""Marks a module whose execution ended at a call of tune()."""

_loading = 0


class CalledWhileLoadingError(BaseException):
    """tune() was called by a script that is only being loaded."""


@contextmanager
def loading() -> Iterator[None]:
    """Within the block, studies cannot be started."""
    global _loading  # noqa: PLW0603 - imports are global too
    _loading += 1
    try:
        yield
    finally:
        _loading -= 1


def not_while_loading() -> None:
    """Called wherever a study would be started."""
    if _loading:
        raise CalledWhileLoadingError


def is_cut(module: ModuleType) -> bool:
    """Whether a module was loaded up to its call of tune() only."""
    return bool(getattr(module, CUT, False))
