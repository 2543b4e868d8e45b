"""The exceptions of rungwise.

::

    RungwiseError
    ├── InvalidArgumentError (ValueError)   a value the caller gave breaks a rule
    │   ├── SpaceError                      … in a search space or a configuration
    │   └── TableError                      … in a table of learning curves
    ├── IllegalEventError                   an event that the trial's state does not allow
    ├── ReplayMismatchError                 a log whose decisions this version would not take
    ├── SchemaError (ValueError)            a log or specification in an unknown or broken format
    ├── CorruptLogError                     a study file that is damaged, or none at all
    ├── LogInUseError                       a study file that another process writes to
    ├── LogUnavailableError                 a study file that cannot be read or written just now
    └── MissingExtraError (ImportError)     an optional dependency that is not installed

Every message gives the value, the rule and the place; the same data hangs on the exception.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class Told(str):
    """A value told in words ("of shape (3,)") where its repr would say too much or too little."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class RungwiseError(Exception):
    """The base of every exception that rungwise raises on purpose."""


class InvalidArgumentError(RungwiseError, ValueError):
    """A value that breaks a rule.

    Args:
        argument: the name of the argument, as the caller wrote it.
        value: the offending value.
        rule: what the value must be.
    """

    def __init__(self, argument: str, value: Any, rule: str) -> None:
        self.argument = argument
        self.value = value
        self.rule = rule
        super().__init__(f"{argument} is {_short(value)}, but {rule}.")


class SpaceError(InvalidArgumentError):
    """A search space, or a configuration of it, that is not legal."""


class TableError(InvalidArgumentError):
    """A table of learning curves that is not legal."""


class IllegalEventError(RungwiseError):
    """An event that must not happen now; the engine is unchanged.

    Args:
        event: the event that was refused.
        rule: why it is refused.
        story: what happened to the trial so far, one sentence each.
    """

    def __init__(self, event: object, rule: str, story: Sequence[str] = ()) -> None:
        self.event = event
        self.rule = rule
        self.story = tuple(story)
        told = "".join(f"\n  {line}" for line in self.story)
        past = f"\nThe trial's story so far:{told}" if told else ""
        super().__init__(f"Illegal event {event!r}: {rule}.{past}")


class ReplayMismatchError(RungwiseError):
    """A replayed event led to another decision than the log holds.

    Args:
        index: the position of the entry in the log, from 0.
        event: the event replayed.
        recorded: the decision in the log.
        replayed: the decision taken now.
    """

    def __init__(self, index: int, event: object, recorded: object, replayed: object) -> None:
        self.index = index
        self.event = event
        self.recorded = recorded
        self.replayed = replayed
        super().__init__(
            f"Replay differs at log entry {index}: after {event!r} the log holds {recorded!r}, "
            f"but the decision is now {replayed!r}. The log belongs to another study, was "
            f"edited, or was written by a version that decides otherwise."
        )


class SchemaError(RungwiseError, ValueError):
    """A serialised object in a format that this version cannot read."""


class CorruptLogError(RungwiseError):
    """A study file that is damaged, was edited, or is none at all; nothing was changed in it.

    Args:
        path: the file.
        damage: what is wrong with it.
    """

    def __init__(self, path: str, damage: str) -> None:
        self.path = path
        self.damage = damage
        super().__init__(f"The study file {path} cannot be used: {damage}. It was left as it is.")


class LogInUseError(RungwiseError):
    """A study file that another process writes to.

    Args:
        path: the file.
        holder: who has it.
    """

    def __init__(self, path: str, holder: str) -> None:
        self.path = path
        self.holder = holder
        super().__init__(
            f"The study file {path} is being written by {holder}. One study has one writer: wait "
            f"for it to end, or open the file for reading."
        )


class LogUnavailableError(RungwiseError):
    """A study file that cannot be read or written just now (disk full, no permission).

    Args:
        path: the file.
        reason: what the system says.
    """

    def __init__(self, path: str, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(
            f"The study file {path} cannot be read or written now: {reason}. "
            f"What was kept before is safe; try again when this is mended."
        )


class MissingExtraError(RungwiseError, ImportError):
    """A feature whose optional dependency is not installed.

    Args:
        feature: what was asked for.
        extra: the extra of rungwise that brings it.
    """

    def __init__(self, feature: str, extra: str) -> None:
        self.feature = feature
        self.extra = extra
        super().__init__(f"{feature} needs an extra: pip install 'rungwise[{extra}]'")


def _short(value: Any, limit: int = 120) -> str:
    """A value as a person reads it in one line."""
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"
