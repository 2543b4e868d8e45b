"""A session: one tuner at work on one study file, from opening it to leaving it in good order."""

from __future__ import annotations

import shlex
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rungwise import views
from rungwise.backends import Local, hardware, local
from rungwise.backends.base import Fact, Failure
from rungwise.checkpoints import bytes_of
from rungwise.core.decisions import Decision, Job
from rungwise.core.engine import Engine
from rungwise.core.events import JobRequested, Reported
from rungwise.core.replay import losses_of, replay
from rungwise.core.seeding import generator
from rungwise.display import Display, Snapshot, WorkerView
from rungwise.driver import Driver
from rungwise.errors import (
    InvalidArgumentError,
    NothingFoundError,
    ReplayMismatchError,
    SafetyNetWarning,
    StudyInterrupted,
)
from rungwise.run import Leg, Phase
from rungwise.storage.base import Entry
from rungwise.storage.study_file import About, StudyFile, shown
from rungwise.study_options import RunOptions
from rungwise.tuning import functions
from rungwise.tuning.ahead import Ahead
from rungwise.tuning.interrupts import graceful
from rungwise.tuning.upkeep import Upkeep


@dataclass(frozen=True, slots=True)
class Report:
    """A report as a callback sees it.

    Attributes:
        trial: the trial.
        config: its configuration.
        resource: how much it has been trained.
        value: the metric there.
        decision: ``"Continue"``, ``"Pause"`` or ``"Stop"``.
        best: the best value of the study so far.
    """

    trial: int
    config: Mapping[str, Any]
    resource: float
    value: float
    decision: str
    best: float | None


@dataclass(frozen=True, slots=True)
class Crew:
    """Workers as they will be: all that can be wrong with them is wrong before a file is touched.

    Attributes:
        function: the training function, packed.
        options: how it is run.
        shares: the environment variables of each worker.
    """

    function: bytes
    options: RunOptions
    shares: Sequence[Mapping[str, str]]

    @classmethod
    def of(cls, train: Any, options: RunOptions) -> Crew:
        """The crew for a training function."""
        functions.check(train)
        if not isinstance(backend := options.backend, Local):
            raise InvalidArgumentError("backend", backend, "only Local can run a study yet")
        shares = hardware.share_out(backend.workers, backend.gpus_per_worker)
        return cls(functions.pack(train), options, shares)


BRAKE = 20
"""A study gives up when so many attempts a worker have failed before the first report."""


class Session:
    """Runs a study that is in a file, to its end or to the first interrupt.

    Args:
        file: the study file, open for writing.
        crew: who trains.
        display: what a person sees.
        on_report: called after every report.
        kept: whether the file will outlive the process.
    """

    def __init__(
        self,
        file: StudyFile,
        crew: Crew,
        *,
        display: Display,
        on_report: Callable[[Report], None] | None = None,
        kept: bool = True,
    ) -> None:
        self._file = file
        self._kept = kept
        self._about: About = file.about
        self._crew = crew
        self._options = options = crew.options
        self._display = display
        self._on_report = on_report
        self.engine, self._since = taken_up(file)
        self._failures = len(failures := file.failures())
        # Only failures since the trial last got further count: the others were overcome.
        self._attempts = Counter(
            failure.trial
            for failure in failures
            if failure.resource >= self.engine.trials[failure.trial].resource
        )
        quota = options.checkpoint_quota
        self._upkeep = Upkeep(
            file.folder,
            self.engine.trials,
            quota=None if quota is None else bytes_of("checkpoint_quota", quota),
            notice=self._notice,
            keep=options.keep if options.keep != "all" else 0,
        )
        self._ceilings = len(self.engine.scheduler.ceilings)
        self._interrupted = self._told_interrupt = False
        self._recall: Callable[[], None] | None = None
        self._hopeless = self._failures + BRAKE * len(crew.shares)

    def run(self) -> float:
        """Run; how many seconds the study has taken in all.

        Raises:
            StudyInterrupted: after Ctrl-C or SIGTERM; everything reported is kept.
        """
        if self._over():
            self._tidy()
            return self._since
        seconds = self._since
        try:
            with graceful(self._interrupt):
                backend = local.LocalBackend(
                    self._crew.function, self._hooks(), self._worker_options(), since=self._since
                )
                try:
                    self._drive(backend)
                finally:
                    seconds = backend.now
                    try:
                        self._display.end(self._snapshot(backend), self.engine.why())
                    finally:
                        backend.close()
        except KeyboardInterrupt:
            raise StudyInterrupted(self._how_to_go_on()) from None
        if not self._over():
            raise StudyInterrupted(self._how_to_go_on())
        self._tidy()
        return seconds

    def _interrupt(self) -> None:
        """The first signal: called in the middle of anything, so it only leaves word."""
        self._interrupted = True
        if self._recall is not None:
            self._recall()

    def _over(self) -> bool:
        return self.engine.ended is not None

    def _drive(self, backend: local.LocalBackend) -> None:
        ahead = Ahead(self.engine.proposals, len(self.engine.trials), backend.wake)
        self.engine.proposer = ahead
        driver = Driver(
            self.engine,
            backend,
            log=self._file,
            on_fact=self._told,
            on_step=lambda: self._tick(backend),
            ready=ahead.ready,
        )
        try:
            self._run_down(driver, backend)
        finally:
            ahead.close()

    def _run_down(self, driver: Driver, backend: local.LocalBackend) -> None:
        def recall() -> None:
            driver.recall()
            backend.recall()
            backend.wake()

        self._recall = recall
        if self._interrupted:  # while workers were being started
            return
        self._display.begin(self._snapshot(backend))
        driver.run()
        if self._over():
            backend.halt()
            driver.wind_down()

    # -- hooks ---------------------------------------------------------------------------------

    def _hooks(self) -> local.Hooks:
        return local.Hooks(
            leg=self._leg,
            may_retry=self._may_retry,
            failed=self._failed,
            extras=self._file.note_extras,
            saved=self._upkeep.saved,
            notice=self._notice,
        )

    def _worker_options(self) -> local.Options:
        return local.Options(
            shares=self._crew.shares,
            preload=self._options.backend.preload,
            trial_timeout=self._options.trial_timeout,
            report_timeout=self._options.report_timeout,
            grace=self._options.grace,
            inherit=self._file.held_open,
            temporary=() if self._kept else (str(self._file.path.parent),),
        )

    def _leg(self, job: Job) -> Leg:
        maximum = None if self._about.open_ended else self.engine.study.scheduler.max_resource
        folder = self._upkeep.of(job.trial).path
        return leg_of(
            job,
            metric=self._about.metric,
            maximum=maximum,
            seed=self.engine.study.seed,
            folder=str(folder.absolute()),
            durable=self._options.durability == "full",
        )

    def _may_retry(self, failure: Failure) -> bool:
        # Every report that gets further sets the count to nothing again (see _told).
        self._attempts[failure.trial] += 1
        return self._attempts[failure.trial] <= self._options.retries

    def _failed(self, failure: Failure) -> None:
        self._failures += 1
        self._file.note_failure(failure)
        again = self._attempts[failure.trial] <= self._options.retries
        self._notice(
            f"trial {failure.trial} failed at resource {failure.resource:g}: {failure.reason}"
            f"{' (it is tried again)' if again else ''}"
        )

    def _notice(self, text: str) -> None:
        self._display.notice(text)

    # -- what happens --------------------------------------------------------------------------

    def _told(self, fact: Fact, decision: Decision) -> None:
        if type(fact) is Reported:
            job = self.engine.jobs[fact.job]
            self._attempts.pop(job.trial, None)
            self._watch_ceiling()
            if self._on_report is not None:
                kind = type(decision).__name__
                best = self.engine.best_value
                self._on_report(
                    Report(job.trial, job.config, fact.resource, fact.value, kind, best)
                )

    def _tick(self, backend: local.LocalBackend) -> None:
        self._watch_clock(backend.now)
        self._watch_failures()
        if self._interrupted and not self._told_interrupt:
            # Told here and not in the signal handler, which may have come in the middle of a line.
            self._told_interrupt = True
            self._notice(
                "interrupted: what is being trained goes on to its next report, then the study "
                "can be resumed; interrupt again to stop at once"
            )
        if self._display.due():
            self._display.update(self._snapshot(backend))

    def _watch_failures(self) -> None:
        """Give up on a study in which nothing works: most likely it is the function itself."""
        if self._failures >= self._hopeless and not self.engine.reports:
            reasons = [failure.reason for failure in self._file.failures()]
            raise NothingFoundError(str(self._file.path), reasons)

    def _watch_clock(self, now: float) -> None:
        """End a study whose time is up while its trials are silent: a request brings it out."""
        limit = self.engine.study.limits.seconds
        if limit is not None and now >= limit and not self._over():
            event = JobRequested(now)
            self._file.extend([(event, self.engine.handle(event))])

    def _watch_ceiling(self) -> None:
        ceilings = self.engine.scheduler.ceilings
        if len(ceilings) == self._ceilings:
            return
        self._ceilings = len(ceilings)
        level = ceilings[-1][1]
        if self._about.open_ended and level == self.engine.study.scheduler.max_resource:
            text = (
                f"no max_resource was given, and the ceiling has reached the safety net at "
                f"{level:g}: the ranking of configurations is still not stable. Give max_resource, "
                f"or a criterion that is easier to satisfy."
            )
            self._notice(text)
            warnings.warn(text, SafetyNetWarning, stacklevel=2)

    def _snapshot(self, backend: local.LocalBackend) -> Snapshot:
        now = backend.now
        return Snapshot(
            view=views.StudyView(self.engine, self._about.metric),
            elapsed=now,
            workers=[_view(worker, now) for worker in backend.views()],
            failures=self._failures,
            checkpoints_bytes=self._upkeep.total,
            study=shown(self._file.path) if self._kept else "study (not kept)",
            open_ended=self._about.open_ended,
        )

    def _tidy(self) -> None:
        keep = self._options.keep
        if keep != "all":
            rows = views.leaderboard(self.engine, limit=keep)
            self._upkeep.tidy([row.trial for row in rows if row.value is not None])

    def _how_to_go_on(self) -> str:
        had = f"{self.engine.reports} reports of {len(self.engine.trials)} trials"
        if not self._kept:
            return f"Interrupted: {had} are gone. Give study='name.db' to be able to go on."
        name = shown(self._file.path)
        way = f"rungwise resume {shlex.quote(name)}"
        if self._about.train is None:
            way = f"the same call of rungwise.tune, or rungwise.resume({name!r}, train)"
        return f"Interrupted: {had} are kept in {name}. Go on with: {way}"


def fold(file: StudyFile, on_entry: Callable[[Entry], None] | None = None) -> tuple[Engine, float]:
    """The engine of a study file, every decision checked, and where the study's clock stands."""
    # on_entry is given every entry on the way, because another look may find a longer log.
    clock = 0.0

    def entries() -> Iterator[Entry]:
        nonlocal clock
        for entry in file.read_from():
            clock = max(clock, entry[0].at)
            if on_entry is not None:
                on_entry(entry)
            yield entry

    try:
        return replay(file.log.study, entries()), clock
    except ReplayMismatchError as error:
        error.args = (f"{file.path}: {error}",)  # replay() knows of no files
        raise


def taken_up(file: StudyFile) -> tuple[Engine, float]:
    """The same, with the jobs that were open given up as lost."""
    engine, clock = fold(file)
    lost = [(event, engine.handle(event)) for event in losses_of(engine, at=clock)]
    if lost:
        file.extend(lost)
    return engine, clock


def leg_of(
    job: Job,
    *,
    metric: str,
    maximum: float | None,
    seed: int,
    folder: str,
    phase: Phase = "tune",
    durable: bool = False,
) -> Leg:
    """What a worker is told of a job."""
    return Leg(
        job=job.id,
        trial=job.trial,
        start=job.start,
        until=job.until,
        max_resource=maximum,
        metric=metric,
        phase=phase,
        seed=int(generator(seed, "trial", job.trial).integers(2**31)),
        folder=folder,
        durable=durable,
    )


def _view(worker: Any, now: float) -> WorkerView:
    job = worker.job
    if job is None:
        return WorkerView(worker.number, worker.pid, None, 0, 0, 0.0)
    since = now - worker.started
    return WorkerView(worker.number, worker.pid, job.trial, worker.resource, job.until, since)
