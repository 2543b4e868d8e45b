"""What another scheduler would have spent on the configurations of a study.

The trials are played again, in the order drawn and with the losses they reported, through a fresh
engine. That is honest as far as promotions go: what successive halving spends depends on them
alone, and a promotion depends on the losses at rungs. Where the other scheduler trains further
than this study did, nobody knows the loss; the last one reported is held instead, and how often
that was needed is told.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from rungwise.core.decisions import CONTINUE, Decision, Job, StartJob
from rungwise.core.engine import Engine
from rungwise.core.events import JobEnded, JobFailed, JobRequested, Reported
from rungwise.core.limits import Limits
from rungwise.core.reading import ReadableStudy
from rungwise.core.scheduler import Recipe
from rungwise.core.study import Study
from rungwise.core.trials import State, Trial
from rungwise.errors import InvalidArgumentError
from rungwise.schedulers import ASHA, PASHA, Hyperband, RandomSearch, Rush, SuccessiveHalving
from rungwise.validation import one_of, real, whole

NAMES = {"asha": "ASHA", "random": "random search", "halving": "successive halving"}
NAMES["hyperband"] = "Hyperband"


@dataclass(frozen=True, slots=True)
class Counterfactual:
    """What a scheduler would have spent.

    Attributes:
        resource: the resource trained in total.
        seconds: how long it would have taken, in virtual time.
        held: how many reports lie beyond the end of a recorded curve.
        reports: how many reports there were in all.
    """

    resource: float
    seconds: float
    held: int
    reports: int


@dataclass(frozen=True, slots=True)
class Saving:
    """What a study spent against what another scheduler would have spent.

    Attributes:
        name: the other scheduler.
        resource: spent here.
        other: spent there.
        ratio: how many times as much that is; 1 while nothing was spent here.
        held: how many values of the other scheduler lie beyond the end of a recorded curve.
        reports: how many values it needed in all.
        how: where the figure comes from, in one sentence.
    """

    name: str
    resource: float
    other: float
    ratio: float
    held: int
    reports: int
    how: str

    def __str__(self) -> str:
        return (
            f"{self.resource:,.10g} spent; {self.name} would have spent {self.other:,.10g}, "
            f"{self.ratio:.2f} times as much"
        )


def spent_by(
    engine: ReadableStudy, recipe: Recipe, *, workers: int, seconds_per_unit: float = 1.0
) -> Counterfactual:
    """What a scheduler would have spent on the trials of a study.

    A trial that failed here fails there where its curve ends; one that never reported fails at
    once. The study itself is left as it is.

    Args:
        engine: the study, at any moment.
        recipe: the other scheduler; its decisions must depend on the losses at rungs alone, as
            those of all but PASHA do.
        workers: how many jobs run at a time.
        seconds_per_unit: how long a unit of resource takes.

    Example:
        >>> import rungwise as rw
        >>> log = rw.MemoryLog()
        >>> result = rw.simulate(rw.power_laws(27, 9), rw.ASHA(), trials=27, log=log)
        >>> other = spent_by(rw.replay(log), rw.RandomSearch(9), workers=4)
        >>> (other.resource, other.held > 0)
        (243.0, True)
    """
    whole("workers", workers, at_least=1)
    real("seconds_per_unit", seconds_per_unit, at_least=0)
    if not engine.trials:
        return Counterfactual(0.0, 0.0, 0, 0)
    study = Study(
        recipe,
        Limits(trials=len(engine.trials)),
        initial=[{"trial": trial.id} for trial in engine.trials],
    )
    other = Engine(study)
    player = _Player(other, engine.trials, workers)
    player.run()
    seconds = player.now * seconds_per_unit
    return Counterfactual(float(other.spent), seconds, player.held, other.reports)


def saving(
    engine: ReadableStudy,
    scheduler: str = "asha",
    *,
    workers: int,
    max_resource: int | None = None,
) -> Saving:
    """What a study saved against another scheduler, by simulation on its own curves.

    Args:
        engine: the study, at any moment.
        scheduler: ``"asha"``, ``"random"`` (all are trained fully), ``"halving"`` or
            ``"hyperband"``; with the η and the lowest rung of the study where it has them.
        workers: how many jobs run at a time.
        max_resource: how far the other scheduler trains its best; the study's own maximum by
            default.

    Raises:
        InvalidArgumentError: the study is open-ended and ``max_resource`` was not given.
    """
    one_of("scheduler", scheduler, tuple(NAMES))
    own = engine.study.scheduler
    furthest = own.max_resource if max_resource is None else max_resource
    if furthest is None:
        rule = f"the study is open-ended: say how far {NAMES[scheduler]} would train its best"
        raise InvalidArgumentError("max_resource", None, rule)
    there = spent_by(engine, _recipe(scheduler, own, furthest), workers=workers)
    here = float(engine.spent)
    how = (
        f"{NAMES[scheduler]} up to resource {furthest:,} was simulated on this study's own curves "
        f"with {workers} worker{'s' * (workers != 1)}; for {there.held:,} of the "
        f"{there.reports:,} values it needed a curve had ended before, and its last value was held."
    )
    ratio = there.resource / here if here else 1.0
    return Saving(NAMES[scheduler], here, there.resource, ratio, there.held, there.reports, how)


def _recipe(name: str, own: Recipe, furthest: int) -> Recipe:
    """A scheduler by name, as much like the study's own as it can be."""
    if name == "random":
        return RandomSearch(furthest)
    while isinstance(own, Rush):  # what would have been without it
        own = own.scheduler
    low, eta = getattr(own, "min_resource", 1), getattr(own, "eta", 3)
    if name == "halving":
        return SuccessiveHalving(low, furthest, eta)
    if name == "hyperband":
        return Hyperband(low, furthest, eta)
    if isinstance(own, (ASHA, PASHA)):
        return ASHA(low, furthest, eta, own.promote, own.variant)
    return ASHA(low, furthest, eta)


class _Leg:
    """A job under way.

    Attributes:
        at: the virtual time of its next report.
        resource: the resource of that report; None when it fails instead.
    """

    __slots__ = ("at", "held", "job", "loss", "reached", "resource")

    def __init__(self, job: Job, now: float) -> None:
        self.job = job
        self.at = now
        self.reached = job.start
        self.resource: float | None = None
        self.loss = 0.0
        self.held = False


class _Player:
    """Plays recorded trials through an engine, in virtual time, a unit of resource a unit.

    Workers are filled as :class:`rungwise.driver.Driver` fills them, and facts of the same time
    come in the order in which :class:`rungwise.backends.simulator.Simulator` hands them out when
    all its reports take equally long: worker after worker, round and round. So both take the same
    decisions, although here a job reports at rungs only.
    """

    def __init__(self, engine: Engine, trials: Sequence[Trial], workers: int) -> None:
        self.now = 0.0
        self.held = 0
        self._engine = engine
        self._trials = trials
        ladder = getattr(engine.scheduler, "ladder", None)
        self._levels: Sequence[int] = () if ladder is None else ladder.levels
        self._free = workers
        self._legs: list[_Leg] = []  # in the order of the workers

    def run(self) -> None:
        """Until the study is over."""
        engine, legs = self._engine, self._legs
        self._fill(0)
        seen = engine.version
        while engine.ended is None and legs:
            times = [leg.at for leg in legs]
            at = min(times)
            index = times.index(at)
            self.now = at
            leg = legs[index]
            if self._report(leg) is CONTINUE:
                self._plan(leg)
                if self._free and engine.version != seen:
                    self._fill(index + 1)
                    seen = engine.version
            else:
                del legs[index]
                self._free += 1
                self._fill(index)
                seen = engine.version

    def _fill(self, index: int) -> None:
        """Give every free worker a job, as long as there are jobs."""
        while self._free and self._engine.ended is None:
            decision = self._engine.handle(JobRequested(self.now))
            if not isinstance(decision, StartJob):
                return
            self._free -= 1
            leg = _Leg(decision.job, self.now)
            self._plan(leg)
            self._legs.insert(index, leg)
            index += 1

    def _report(self, leg: _Leg) -> Decision:
        """Tell the engine what the leg has come to; unless it goes on it has left its worker."""
        engine, job = self._engine, leg.job.id
        if leg.resource is None:
            return engine.handle(JobFailed(job, "it failed in the study", self.now))
        self.held += leg.held
        decision = engine.handle(Reported(job, leg.resource, leg.loss, self.now))
        leg.reached = leg.resource
        if decision is CONTINUE and leg.reached < leg.job.until:
            return CONTINUE
        return engine.handle(JobEnded(job, self.now))

    def _plan(self, leg: _Leg) -> None:
        """Look up the next report: the first recorded at or beyond the next level."""
        trial, until = self._trials[leg.job.trial], leg.job.until
        above = bisect_right(self._levels, leg.reached)
        level = min(self._levels[above], until) if above < len(self._levels) else until
        place = bisect_left(trial.resources, level)
        leg.held = False
        if place < len(trial.resources):
            leg.resource, leg.loss = trial.resources[place], trial.losses[place]
        elif trial.resources and trial.state not in _BROKEN:
            leg.resource, leg.loss, leg.held = float(level), trial.losses[-1], True
        elif trial.resource > leg.reached:  # as far as it got before it failed
            leg.resource, leg.loss = trial.resource, trial.losses[-1]
        else:
            leg.resource = None
            return
        leg.at = self.now + leg.resource - leg.reached


_BROKEN = (State.FAILED, State.ENDED)
"""Trials that would not have gone on in any study."""
