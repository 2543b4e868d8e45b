"""Load a script for its training function, without starting the study that the script starts.

Many scripts call ``rungwise.tune`` at their top level, without ``if __name__ == "__main__"``. When
only the training function is needed (``rungwise resume``), execution ends at that call: the
function is defined above it.
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


def refuse_while_loading() -> None:
    """Called wherever a study would be started."""
    if _loading:
        raise CalledWhileLoadingError


def is_cut(module: ModuleType) -> bool:
    """Whether a module was loaded only up to its call of tune()."""
    return bool(getattr(module, CUT, False))
