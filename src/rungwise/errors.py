"""The exceptions of rungwise.

::

    RungwiseError
    ├── InvalidArgumentError (ValueError)   a value the caller gave breaks a rule
    │   ├── SpaceError                      … in a search space or a configuration
    │   └── TableError                      … in a table of learning curves
    ├── UnknownArgumentError (TypeError)    an argument that a function does not have
    ├── IllegalEventError                   an event that the trial's state does not allow
    ├── ReplayMismatchError                 a log whose decisions this version would not take
    ├── SchemaError (ValueError)            a log or specification in an unknown or broken format
    ├── CorruptLogError                     a study file that is damaged, or another kind of file
    ├── LogInUseError                       a study file that another process writes to
    ├── LogUnavailableError                 a study file that cannot be read or written just now
    ├── StoreUnavailableError               checkpoints cannot be written or read just now
    ├── StudyDiffersError                   a study file that holds another study than asked for
    ├── StudyClosedError                    an ask/tell study that is not open (any more)
    ├── WorkerStartError                    worker processes that cannot start
    ├── OutageError                         a study that stopped: what surrounds it has failed
    ├── NothingFoundError                   a study without a single finite value
    ├── RetrainingError                     the winner could not be trained in full
    ├── NotFiniteError                      a report of NaN or infinity (its trial has failed)
    ├── ShareError                          a child process of a job did what it may not do
    ├── SilentTrialError                    a trial that keeps training without a report
    └── MissingExtraError (ImportError)     an optional dependency that is not installed

    KeyboardInterrupt
    └── StudyInterrupted                    Ctrl-C; says how to resume

    UserWarning
    ├── SafetyNetWarning                    a study without a maximum has reached the safety net
    ├── UsageWarning                        what is allowed, but probably not meant
    ├── FunctionChangedWarning              a study whose training function is another one now
    ├── RoundingWarning                     a log from a machine that rounds in another way
    └── ModelWarning                        a model could not be fitted; a proposal is random

Every message gives the value, the rule and the place; the exception has them as attributes.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from typing import Any


class Words(str):
    """A value in words ("of shape (3,)"), if its repr would say too much or too little."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


MISSING = Words("missing")
"""The value of an argument that was not given, although it must be."""


class RungwiseError(Exception):
    """The base of every exception that rungwise raises on purpose."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Exceptions are unpickled by calling their class with args, which hold the message here,
        # not what the class takes; an exception that cannot be unpickled blocks a process pool.
        return _copied, (type(self), self.args, self.__dict__)


def _copied(
    kind: type[RungwiseError], args: tuple[Any, ...], state: dict[str, Any]
) -> RungwiseError:
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(state)
    return error


class InvalidArgumentError(RungwiseError, ValueError):
    """A value that breaks a rule.

    Args:
        argument: the name of the argument, as the caller wrote it.
        value: the offending value; :data:`MISSING` for none, with a rule that says what to give.
        rule: what the value must be.
    """

    def __init__(self, argument: str, value: Any, rule: str) -> None:
        self.argument = argument
        self.value = value
        self.rule = rule
        joint = ":" if value is MISSING else ", but"
        super().__init__(f"{argument} is {_short(value)}{joint} {rule}.")


class UnknownArgumentError(RungwiseError, TypeError):
    """An argument that a function does not have.

    Args:
        function: the name of the function.
        argument: the name of the argument.
        hint: what is probably meant.
    """

    def __init__(self, function: str, argument: str, hint: str) -> None:
        self.function = function
        self.argument = argument
        super().__init__(f"{function}() has no argument {argument}=: {hint}")


class SpaceError(InvalidArgumentError):
    """A search space, or a configuration of it, that is not legal."""


class TableError(InvalidArgumentError):
    """A table of learning curves that is not legal."""


class IllegalEventError(RungwiseError):
    """An event that is not allowed now; the engine is unchanged.

    Args:
        event: the event that was refused.
        rule: why it is refused.
        story: what has happened to the trial, one sentence each.
    """

    def __init__(self, event: object, rule: str, story: Sequence[str] = ()) -> None:
        self.event = event
        self.rule = rule
        self.story = tuple(story)
        lines = "".join(f"\n  {line}" for line in self.story)
        past = f"\nWhat happened to the trial so far:{lines}" if lines else ""
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
            f"edited, or was written by a version that decides differently."
        )


class SchemaError(RungwiseError, ValueError):
    """A serialised object in a format that this version cannot read."""


class CorruptLogError(RungwiseError):
    """A file that is damaged, was edited, or is not a study file; nothing was changed in it.

    Args:
        path: the file.
        damage: what is wrong with it.
    """

    def __init__(self, path: str, damage: str) -> None:
        self.path = path
        self.damage = damage
        super().__init__(f"The study file {path} cannot be used: {damage}. It was not changed.")


class LogInUseError(RungwiseError):
    """A study file that another process writes to.

    Args:
        path: the file.
        holder: the process that has it.
    """

    def __init__(self, path: str, holder: str) -> None:
        self.path = path
        self.holder = holder
        super().__init__(
            f"The study file {path} is being written by {holder}. Only one process may write to a "
            f"study: wait for it to end, or stop it with `rungwise stop`. Looking at the study and "
            f"adding configurations to it are possible meanwhile."
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
            f"Everything stored before is safe: solve this problem, then try again."
        )


class StoreUnavailableError(RungwiseError):
    """A checkpoint store that cannot be written or read (wrong address, no permission, no network).

    Args:
        address: the store, or the checkpoint in it.
        reason: what the system or the storage says.
    """

    def __init__(self, address: str, reason: str) -> None:
        self.address = address
        self.reason = reason
        super().__init__(
            f"Checkpoints cannot be written to {address}, or read from there: {reason}. Check the "
            f"address, that it may be written to, and that it can be reached from every worker."
        )


class StudyDiffersError(RungwiseError):
    """A study file that holds another study than the one asked for; nothing was changed in it.

    Args:
        path: the file.
        differences: what differs, one sentence each.
    """

    def __init__(self, path: str, differences: Sequence[str]) -> None:
        self.path = path
        self.differences = tuple(differences)
        lines = "".join(f"\n  {line}" for line in self.differences)
        super().__init__(
            f"The study file {path} holds another study than the one asked for:{lines}\n"
            f"Resume the study in the file (rungwise resume {shlex.quote(path)}), or use another "
            f"file for the new study."
        )


class StudyClosedError(RungwiseError):
    """An ask/tell study that can no longer be used.

    Args:
        path: the study file; None for a study that is not kept.
        reason: why not.
    """

    def __init__(self, path: str | None, reason: str) -> None:
        self.path = path
        self.reason = reason
        study = "The study" if path is None else f"The study {path}"
        super().__init__(f"{study} is not open: {reason}.")


class WorkerStartError(RungwiseError):
    """Worker processes that cannot start, so that nothing can be trained.

    Args:
        reason: what went wrong.
        trace: the traceback or the output of the worker.
    """

    def __init__(self, reason: str, trace: str = "") -> None:
        self.reason = reason
        self.trace = trace
        details = f"\n{trace.rstrip()}" if trace.strip() else ""
        super().__init__(f"The worker processes cannot start: {reason}.{details}")


class OutageError(RungwiseError):
    """A study that stopped because what surrounds it has failed: a disk, a GPU, a service.

    Args:
        path: the study file; None for a study that is not kept.
        cause: what failed.
        spared: the trials that failed of it; they are not marked as failed.
        hint: how to resume.
    """

    def __init__(self, path: str | None, cause: str, spared: Sequence[int], hint: str) -> None:
        self.path = path
        self.cause = cause
        self.spared = tuple(spared)
        study = "The study" if path is None else f"The study {path}"
        count = len(self.spared)
        trials = f"{count} trial{'' if count == 1 else 's'}"
        outcome = (
            f"{trials} that failed of it {'is' if count == 1 else 'are'} not marked as failed and "
            f"will be trained again"
            if count
            else "No trial is marked as failed for it, and every report is kept"
        )
        super().__init__(
            f"{study} stopped, because its surroundings seem to have failed: {cause}. {outcome}. "
            f"{hint}"
        )


class NothingFoundError(RungwiseError):
    """A study in which no trial has reported a finite value, so that there is no best one.

    Args:
        path: the study file; None for a study that is not kept.
        reasons: why trials failed.
        hint: where the tracebacks are.
        stopped: why the study stopped before its end; "" if it did not.
    """

    def __init__(
        self, path: str | None, reasons: Sequence[str], hint: str = "", stopped: str = ""
    ) -> None:
        self.path = path
        self.stopped = stopped
        self.reasons = tuple(reasons)
        most_common = Counter(self.reasons).most_common(5)
        lines = "".join(f"\n  {count} ×  {reason}" for reason, count in most_common)
        study = "the study" if path is None else path
        super().__init__(
            f"No trial of {study} has reported a finite value, so there is no best one."
            + (f" What went wrong:{lines}" if lines else "")
            + (f"\n{hint}" if lines and hint else "")
        )


class RetrainingError(RungwiseError):
    """The winner could not be trained in full.

    Args:
        trial: whose configuration it is.
        reason: what happened.
        trace: the traceback or the last output.
    """

    def __init__(self, trial: int, reason: str, trace: str) -> None:
        self.trial = trial
        self.reason = reason
        self.trace = trace
        details = f"\n{trace.rstrip()}" if trace.strip() else ""
        message = f"Retraining the configuration of trial {trial} failed: {reason}.{details}"
        super().__init__(message)


class NotFiniteError(RungwiseError):
    """A report that is not a finite number: training diverged.

    Args:
        metric: the name of the metric.
        value: what was reported.
        resource: where.
    """

    def __init__(self, metric: str, value: float, resource: float) -> None:
        self.metric = metric
        self.value = value
        self.resource = resource
        super().__init__(
            f"{metric} is {value} at resource {resource:g}, but only finite values can be ranked: "
            f"this training counts as failed."
        )


class SilentTrialError(RungwiseError):
    """A trial that keeps training without a report.

    Args:
        metric: the name of the metric that should have been reported.
        resource: how far it has trained.
    """

    def __init__(self, metric: str, resource: float) -> None:
        self.metric = metric
        self.resource = resource
        super().__init__(
            f"run.resources() got to {resource:g} without a single report: call "
            f"run.report(resource, {metric}=…) in the loop."
        )


class ShareError(RungwiseError):
    """A child process of a job used the run in a way that cannot work; says what to do instead."""


class StudyInterrupted(KeyboardInterrupt):
    """The study was interrupted; everything reported is kept.

    Args:
        message: what was kept, and how to resume.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)


class SafetyNetWarning(UserWarning):
    """A study without a maximum has reached the largest resource that is allowed."""


class UsageWarning(UserWarning):
    """Something that is allowed, but probably not meant; the message says what to do about it."""


class FunctionChangedWarning(UserWarning):
    """The training function of a study is not the one that it was begun with."""


class RoundingWarning(UserWarning):
    """This machine would have proposed configurations that differ in their last bits."""


class ModelWarning(UserWarning):
    """A searcher's model could not be fitted, so a random configuration was proposed instead."""


class MissingExtraError(RungwiseError, ImportError):
    """A feature whose optional dependency is not installed.

    Args:
        feature: what was asked for.
        extra: the extra of rungwise that installs it.
    """

    def __init__(self, feature: str, extra: str) -> None:
        self.feature = feature
        self.extra = extra
        super().__init__(f"{feature} needs an extra: pip install 'rungwise[{extra}]'")


def _short(value: Any, limit: int = 120) -> str:
    """The repr of a value, short enough for one line."""
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"
