"""What another scheduler would have spent on the configurations of a study.

The trials are played again, in the order drawn and with the losses they reported, through a new
engine. For promotions this is exact: what successive halving spends depends on them alone, and a
promotion depends on the losses at rungs. If the other scheduler trains a trial further than this
study did, the loss is not known: the last one reported is used instead, and the result says how
often that was needed.
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
        held: how many reports are beyond the end of a recorded curve.
        reports: how many reports there were in total.
    """

    resource: float
    seconds: float
    held: int
    reports: int


@dataclass(frozen=True, slots=True)
class Saving:
    """What a study spent, compared with what another scheduler would have spent.

    Attributes:
        name: the other scheduler.
        resource: spent by this study.
        other: what the other scheduler would have spent.
        ratio: other / resource; 1 if this study has spent nothing yet.
        held: how many values of the other scheduler are beyond the end of a recorded curve.
        reports: how many values it needed in total.
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


def simulate_spending(
    engine: ReadableStudy, recipe: Recipe, *, workers: int, seconds_per_unit: float = 1.0
) -> Counterfactual:
    """What a scheduler would have spent on the trials of a study.

    A trial that failed in the study fails in the simulation where its curve ends; one that never
    reported fails at once. The study itself is not changed.

    Args:
        engine: the study, running or over.
        recipe: the other scheduler; its decisions must depend on the losses at rungs alone, as
            those of all but PASHA do.
        workers: how many jobs run at a time.
        seconds_per_unit: how long a unit of resource takes.

    Example:
        >>> import rungwise as rw
        >>> log = rw.MemoryLog()
        >>> result = rw.simulate(rw.power_laws(27, 9), rw.ASHA(), trials=27, log=log)
        >>> other = simulate_spending(rw.replay(log), rw.RandomSearch(9), workers=4)
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
    """What a study saved compared with another scheduler, by simulation on its own curves.

    Args:
        engine: the study, running or over.
        scheduler: ``"asha"``, ``"random"`` (all are trained fully), ``"halving"`` or
            ``"hyperband"``; with the η and the lowest rung of the study, if it has them.
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
        rule = f"the study is open-ended: give the maximum up to which {NAMES[scheduler]} trains"
        raise InvalidArgumentError("max_resource", None, rule)
    other = simulate_spending(engine, _make_recipe(scheduler, own, furthest), workers=workers)
    # Like with like: in the simulation nothing is trained twice.
    spent = float(sum(trial.resource for trial in engine.trials))
    missing = (
        f"{other.held:,} of {other.reports:,} values are estimated: the trial was not trained that "
        "far, so its last value was used."
        if other.held
        else "all values it needed were reported in this study."
    )
    how = (
        f"{NAMES[scheduler]} up to resource {furthest:,} was simulated on this study's own curves "
        f"with {workers} worker{'s' * (workers != 1)}; {missing}"
    )
    ratio = other.resource / spent if spent else 1.0
    return Saving(NAMES[scheduler], spent, other.resource, ratio, other.held, other.reports, how)


def _make_recipe(name: str, own: Recipe, furthest: int) -> Recipe:
    """A scheduler by name, with the settings of the study's own scheduler if it has them."""
    if name == "random":
        return RandomSearch(furthest)
    while isinstance(own, Rush):  # compare with the scheduler inside
        own = own.scheduler
    low, eta = own.min_resource, own.eta
    if name == "halving":
        return SuccessiveHalving(low, furthest, eta)
    if name == "hyperband":
        return Hyperband(low, furthest, eta)
    if isinstance(own, (ASHA, PASHA)):
        return ASHA(low, furthest, eta, own.promote, own.variant)
    return ASHA(low, furthest, eta)


class _RunningJob:
    """A running job.

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
    """Plays recorded trials through an engine, in virtual time: one unit per unit of resource.

    Workers get jobs as :class:`rungwise.driver.Driver` gives them, and events of the same time
    come in the order in which :class:`rungwise.backends.simulator.Simulator` returns them when
    all its reports take equally long: worker after worker, in turn. So both take the same
    decisions, although here a job reports at rungs only.
    """

    def __init__(self, engine: Engine, trials: Sequence[Trial], workers: int) -> None:
        self.now = 0.0
        self.held = 0
        self._engine = engine
        self._trials = trials
        ladder = engine.scheduler.ladder
        self._levels: Sequence[int] = () if ladder is None else ladder.levels
        self._free = workers
        self._running: list[_RunningJob] = []  # in the order of the workers

    def run(self) -> None:
        """Run until the study is over."""
        engine, running = self._engine, self._running
        self._fill(0)
        seen = engine.version
        while engine.ended is None and running:
            times = [each.at for each in running]
            at = min(times)
            index = times.index(at)
            self.now = at
            current = running[index]
            if self._report(current) is CONTINUE:
                self._plan(current)
                if self._free and engine.version != seen:
                    self._fill(index + 1)
                    seen = engine.version
            else:
                del running[index]
                self._free += 1
                self._fill(index)
                seen = engine.version

    def _fill(self, index: int) -> None:
        """Give a job to every free worker, while there are jobs."""
        while self._free and self._engine.ended is None:
            decision = self._engine.handle(JobRequested(self.now))
            if not isinstance(decision, StartJob):
                return
            self._free -= 1
            started = _RunningJob(decision.job, self.now)
            self._plan(started)
            self._running.insert(index, started)
            index += 1

    def _report(self, running: _RunningJob) -> Decision:
        """Report to the engine; unless the decision is to continue, the job leaves its worker."""
        engine, job = self._engine, running.job.id
        if running.resource is None:
            return engine.handle(JobFailed(job, "it failed in the study", self.now))
        self.held += running.held
        decision = engine.handle(Reported(job, running.resource, running.loss, self.now))
        running.reached = running.resource
        if decision is CONTINUE and running.reached < running.job.until:
            return CONTINUE
        return engine.handle(JobEnded(job, self.now))

    def _plan(self, running: _RunningJob) -> None:
        """Look up the next report: the first recorded at or beyond the next level."""
        trial, until = self._trials[running.job.trial], running.job.until
        above = bisect_right(self._levels, running.reached)
        level = min(self._levels[above], until) if above < len(self._levels) else until
        place = bisect_left(trial.resources, level)
        running.held = False
        if place < len(trial.resources):
            running.resource, running.loss = trial.resources[place], trial.losses[place]
        elif trial.resources and trial.state not in _FAILED:
            running.resource, running.loss, running.held = float(level), trial.losses[-1], True
        elif trial.resource > running.reached:  # the last report before it failed
            running.resource, running.loss = trial.resource, trial.losses[-1]
        else:
            running.resource = None
            return
        running.at = self.now + running.resource - running.reached


_FAILED = (State.FAILED, State.ENDED)
"""Trials that no scheduler could have trained further."""
