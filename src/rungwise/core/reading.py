"""What can be read from a study, running or over.

Readers (views, counterfactuals) are written against these protocols: an engine implements them,
and so does the record of a study that is kept without its engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from rungwise.core.decisions import Job
from rungwise.core.extension import ExtensionRecord
from rungwise.core.limits import Limits
from rungwise.core.scheduler import Recipe, Trace
from rungwise.core.timeline import Timeline
from rungwise.core.trials import Trial
from rungwise.validation import Goal


class ReadablePlan(Protocol):
    """The part of a :class:`rungwise.core.study.Study` that readers need."""

    @property
    def scheduler(self) -> Recipe: ...
    @property
    def limits(self) -> Limits: ...
    @property
    def goal(self) -> Goal: ...


class ReadableScheduler(Protocol):
    """What a scheduler publishes; some have a ``ladder`` and ``brackets`` as well."""

    @property
    def ceilings(self) -> Trace: ...
    @property
    def epsilons(self) -> Trace: ...
    def explain(self) -> str: ...


class ReadableStudy(Protocol):
    """A study at a point in time; attributes as in :class:`rungwise.core.engine.Engine`."""

    @property
    def study(self) -> ReadablePlan: ...
    @property
    def scheduler(self) -> ReadableScheduler: ...
    @property
    def trials(self) -> Sequence[Trial]: ...
    @property
    def jobs(self) -> Sequence[Job]: ...
    @property
    def open_jobs(self) -> Sequence[int]: ...
    @property
    def reports(self) -> int: ...
    @property
    def spent(self) -> float: ...
    @property
    def cost(self) -> float: ...
    @property
    def ended(self) -> str | None: ...
    @property
    def best(self) -> Trial | None: ...
    @property
    def best_value(self) -> float | None: ...
    @property
    def best_resource(self) -> float: ...
    @property
    def extensions(self) -> Sequence[ExtensionRecord]: ...
    @property
    def leads(self) -> Sequence[tuple[float, int]]: ...
    @property
    def timeline(self) -> Timeline: ...
    def why(self) -> str: ...
