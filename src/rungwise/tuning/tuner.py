"""The tuner: runs one study in a study file, from opening it to leaving it ready to resume."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from rungwise import views
from rungwise.backends import messages
from rungwise.backends.base import Backend, PreparedBackend, Workplace
from rungwise.checkpoints import CheckpointStore, parse_bytes
from rungwise.core.decisions import Decision, Job
from rungwise.core.engine import Engine
from rungwise.core.events import JobFailed, Reported, Request, StudyExtended, TrialStopped
from rungwise.core.failures import Failure
from rungwise.display import Display, Snapshot
from rungwise.driver import Driver
from rungwise.errors import RetrainingError
from rungwise.options.study_options import RunOptions
from rungwise.policy import Fact, Policy, Rules, count_failures
from rungwise.run import Assignment
from rungwise.storage.record import StudyRecord
from rungwise.storage.study_file import StudyPart, shown
from rungwise.tuning.assignments import AssignmentMaker
from rungwise.tuning.checkpoint_retention import CheckpointRetention
from rungwise.tuning.first_failures import FirstFailures
from rungwise.tuning.folding import fold_for_resuming
from rungwise.tuning.interrupts import graceful, make_interrupt
from rungwise.tuning.mirror import Mirror, MirrorPlace
from rungwise.tuning.misuse import MisuseWatch, say
from rungwise.tuning.notices import NoticeKeeper
from rungwise.tuning.output_files import OutputFiles
from rungwise.tuning.prefetch import ProposalPrefetcher
from rungwise.tuning.requests import RequestDesk
from rungwise.tuning.safety_net import SafetyNetWatch
from rungwise.tuning.snapshot_keeper import SnapshotKeeper
from rungwise.tuning.surroundings import (
    FileWatch,
    describe_way_to_resume,
    find_problem,
    make_outage_error,
)
from rungwise.tuning.tracking import Tracker

_CONSEQUENCES = {
    (True, False): " (it is retried)",
    (False, False): "",
    (False, True): " (it is not counted: the surroundings have failed)",
}


REQUESTS_EVERY = 0.5
"""Seconds between two looks for requests."""


class Tuner:
    """Runs a study that is in a file, to its end or to the first interrupt.

    Args:
        part: the study, in a file that is open for writing.
        prepared: the backend that trains.
        options: how it is run.
        assignments: makes the assignments of workers.
        store: where checkpoints are kept.
        display: what a person sees.
        callbacks: called with everything that happens.
        kept: whether the file will outlive the process.
        hint: what to say after an interrupt; by default how to resume the study.
        folded: the engine and the clock of the study, if it has been folded for resuming already.

    Attributes:
        engine: the engine.
        seconds: how many seconds the study has taken in all.
        in_step: whether the engine has handled just what is in the file. An error or a second
            Ctrl-C may have come between the two.
    """

    def __init__(
        self,
        part: StudyPart,
        prepared: PreparedBackend,
        options: RunOptions,
        *,
        assignments: AssignmentMaker,
        store: CheckpointStore,
        display: Display,
        callbacks: Sequence[Any] = (),
        kept: bool = True,
        hint: Callable[[Engine], str] | None = None,
        folded: tuple[Engine, float] | None = None,
    ) -> None:
        self._part = part
        self._file = part.file
        self._kept = kept
        self._about: StudyRecord = part.file.about
        self._prepared = prepared
        self._options = options
        self._assignments = assignments
        self._store = store
        self._display = display
        self._hint = self._resume_hint if hint is None else hint
        self.engine, self._since = fold_for_resuming(part) if folded is None else folded
        self.seconds = self._since
        self._failures = len(part.failures())
        self._failed_trials = 0
        self._safety_net = SafetyNetWatch(self.engine, display.notice)
        self._interrupted = self._interrupt_shown = False
        self.in_step = True
        self._recall: Callable[[], None] | None = None
        self._desk: RequestDesk | None = None
        self._next_requests = 0.0
        self._gave_up: Failure | None = None
        self._first_failures = FirstFailures(prepared.workers)
        self._notices = NoticeKeeper(display, self._keep_notice)
        self._now: Callable[[], float] = lambda: self.seconds
        self._misuse = MisuseWatch(self._notices, self.engine, assignments, store)
        self._tracker = Tracker(part, self.engine, assignments, callbacks, kept=kept)

    def run(self) -> float:
        """Run; how many seconds the study has taken in all.

        Raises:
            StudyInterrupted: after Ctrl-C or SIGTERM; everything reported is kept.
        """
        self._outputs = OutputFiles(self._file.folder, self._assignments.place)
        quota = self._options.checkpoint_quota
        self._watch = FileWatch(self._file)
        self._snapshots = SnapshotKeeper(self._part, self.engine)
        self._retention = CheckpointRetention(
            self._store,
            self.engine.trials,
            quota=None if quota is None else parse_bytes("checkpoint_quota", quota),
            notice=self._notice,
            keep=self._options.keep if self._options.keep != "all" else 0,
            rank=self._rank,
            keep_best=self._options.keep_best,
            place=self._assignments.place,
            jobs=len(self.engine.jobs),
        )
        self._mirror = self._open_mirror()
        if self._takes_requests():
            self.in_step = False
            RequestDesk(self._file, self.engine, self._since).work()
            self._assignments.follow(self.engine.study)
            self.in_step = True
        self._failed_trials = sum(trial.failed for trial in self.engine.trials)
        try:
            return self._run()
        finally:
            self._outputs.close_all()
            self._retention.close()
            if self.in_step and self._kept:
                self._snapshots.close()
            if self._mirror is not None:
                for text in self._mirror.close():
                    self._notice(text)

    def _open_mirror(self) -> Mirror | None:
        options = self._options
        if options.mirror is None:
            return None
        place = MirrorPlace(options.mirror, self._file.path.name)
        return Mirror(self._file.path, place, options.mirror_every)

    def _run(self) -> float:
        seconds = self._since
        if self._is_over():
            # What callbacks have missed, they are given now.
            self._tracker.begin()
            self._end_tracking(failed=False)
        else:
            try:
                with graceful(self._interrupt):
                    seconds = self._work()
            except KeyboardInterrupt:
                raise make_interrupt(self._hint(self.engine)) from None
            if not self._is_over():
                raise make_interrupt(self._hint(self.engine))
        if self._options.keep != "all":
            rows = self._rank(self._options.keep)
            self._retention.tidy([row.trial for row in rows if row.value is not None])
        return seconds

    def _rank(self, limit: int) -> list[views.Row]:
        """The leaders of the study, by the rule by which one of them wins."""
        return views.leaderboard(self.engine, limit, winner=self._view().winner)

    def _work(self) -> float:
        """Open the backend, drive the study, close it; where its clock stands then."""
        backend = self._prepared.open(
            Workplace(
                store=self._store,
                since=self._since,
                grace=self._options.grace,
                locks=self._file.held_open,
                temporary=() if self._kept else (str(self._file.path.parent),),
            )
        )
        failed = False
        try:
            self._drive(backend)
        except Exception:
            failed = True
            raise
        finally:
            self.seconds = seconds = backend.now
            try:
                self._end_tracking(failed=failed)
                self._display.end(self._snapshot(backend), self._why())
            finally:
                backend.close()
        return seconds

    def _end_tracking(self, *, failed: bool) -> None:
        self._tracker.end(self.seconds, self._why(), failed=failed, show=self._notice)
        self._say_of_callbacks()

    def _say_of_callbacks(self) -> None:
        for text in self._tracker.take_notices():
            say(self._display, text)

    def _drive(self, backend: Backend) -> None:
        ahead = ProposalPrefetcher(self.engine.proposals, len(self.engine.trials), backend.wake)
        self.engine.proposer = ahead
        self._now = lambda: backend.now
        policy = self._make_policy()
        driver = Driver(
            self.engine,
            backend,
            log=self._part,
            policy=policy,
            assign=lambda job: self._assign(job, backend.now),
            on_message=self._handle_message,
            on_fact=self._acted,
            on_step=lambda: self._tick(backend),
            ready=ahead.ready,
        )

        def recall() -> None:
            driver.recall()
            backend.wake()

        self._recall = recall
        try:
            if self._takes_requests():
                self._desk = RequestDesk(
                    self._file,
                    self.engine,
                    submit=self._submit_to(driver),
                    interrupt=self._interrupt,
                )
            if self._interrupted:  # while workers were being started
                return
            self._display.begin(self._snapshot(backend))
            self._tracker.begin()
            self.in_step = False
            driver.run()
            self.in_step = True
            if self._gave_up is not None:
                last = self._gave_up
                raise RetrainingError(
                    self._assignments.number(0), last.reason, last.trace or last.output
                )
            self._watch.check()
            if self._is_over():
                self._desk = None  # what is asked from now on is for a study that has ended
                self.in_step = False
                driver.halt()
                self.in_step = True
            elif policy.outage is not None and not self._interrupted:
                raise make_outage_error(policy.outage, self._file, kept=self._kept)
        finally:
            self._desk = None
            ahead.close()

    def _takes_requests(self) -> bool:
        return self._kept and self._assignments.phase == "tune"

    def _submit_to(self, driver: Driver) -> Callable[[Request | StudyExtended], None]:
        def submit(event: Request | StudyExtended) -> None:
            driver.submit(event)
            self._assignments.follow(self.engine.study)
            if isinstance(event, TrialStopped):
                self._failed_trials += event.outcome == "failed"
                driver.dismiss(event.trial)

        return submit

    def _take_requests(self, desk: RequestDesk, now: float) -> None:
        """Apply what was asked of the study since the last time."""
        self._next_requests = time.monotonic() + REQUESTS_EVERY
        desk.clock = now
        for text in desk.work():
            self._notice(text)

    def _make_policy(self) -> Policy:
        options = self._options
        tuning = self._assignments.phase == "tune"
        # A retraining that is started again after a failure is retried from the beginning.
        earlier = self._part.failures() if tuning else ()
        attempts, spared = count_failures(earlier, self.engine.trials)
        rules = Rules(options.retries, options.trial_timeout, options.report_timeout, drop=tuning)
        return Policy(
            self.engine,
            rules,
            attempts=attempts,
            spared=spared,
            find_problem=lambda: find_problem(self._store),
            find_start=self._misuse.find_start,
            on_failure=self._failed,
            on_repeat=self._misuse.repeated,
            on_notice=self._notice,
        )

    def _interrupt(self) -> None:
        """The first signal: called in the middle of anything, so it only sets flags."""
        self._interrupted = True
        if self._recall is not None:
            self._recall()

    def _is_over(self) -> bool:
        return self.engine.ended is not None

    def _view(self) -> views.StudyView:
        return views.StudyView(self.engine, self._assignments.metric, self._options.winner)

    def _why(self) -> str:
        """Why the study ended, or how it stopped before its end, and why the ceiling is there."""
        view = self._view()
        if self._is_over():
            return view.why
        how = "was interrupted" if self._interrupted else "stopped"
        rest = views.describe_rest(self.engine)
        if self._kept:
            rest += f"{',' * bool(rest)} and can be resumed"
        return f"The study {how}{rest}; {view.explanation}.{view.why_this}"

    # -- what happens --------------------------------------------------------------------------

    def _handle_message(self, message: messages.Message) -> None:
        """Handle a message of the backend that is not a report."""
        if message.job is None:
            if isinstance(message, messages.Notice):
                self._notice(message.text)
            return
        trial = self.engine.jobs[message.job].trial
        if isinstance(message, messages.Printed):
            self._outputs.write(trial, message.data)
        elif isinstance(message, messages.Saved):
            self._retention.saved(trial, message.job, message.size, message.resource)
        elif isinstance(message, messages.Notice):
            self._notice(message.text)
        elif isinstance(message, messages.Crashed):
            self._outputs.close(trial)
            self._retention.crashed(trial, message.job)
        elif isinstance(message, messages.Ended):
            self._outputs.close(trial)

    def _acted(self, fact: Fact, decision: Decision) -> None:
        if type(fact) is Reported:
            trial = self.engine.jobs[fact.job].trial
            self._misuse.reported(trial, fact.resource)
            self._retention.reported(trial, fact.resource)
            if self._assignments.max_resource is None:
                self._safety_net.check()
        elif type(fact) is JobFailed:
            self._failed_trials += 1
        self._tracker.acted(fact, decision)

    def _assign(self, job: Job, now: float) -> Assignment:
        self._tracker.started(job, now)
        return self._assignments.assign(job)

    def _failed(self, failure: Failure, again: bool) -> None:  # noqa: FBT001 - a callback
        self._failures += 1
        self._first_failures.add(failure, len(self.engine.jobs))
        self._part.note_failure(failure)
        if not again and self._assignments.phase == "retrain" and self._recall is not None:
            self._gave_up = failure
            self._recall()
        self._display.notice(  # the failure itself is kept already
            f"trial {failure.trial} failed at resource {failure.resource:g}: {failure.reason}"
            f"{_CONSEQUENCES[again, failure.spared]}"
        )

    def _notice(self, text: str) -> None:
        self._notices.notice(text)

    def _keep_notice(self, text: str) -> None:
        if self._kept:
            self._file.note_notice(self._now(), text)

    def _tick(self, backend: Backend) -> None:
        if not self.engine.reports and self._first_failures.is_hopeless(self.engine.open_jobs):
            raise self._first_failures.make_error(
                self._part.failures(), self._file.path if self._kept else None
            )
        now = time.monotonic()
        self._watch.check(now)
        self._snapshots.work()
        if self._interrupted and not self._interrupt_shown:
            # Shown here and not in the signal handler, which may run in the middle of a line.
            self._interrupt_shown = True
            self._notice(
                "interrupted: every running job trains to its next report, then the study stops "
                "and can be resumed; interrupt again to stop at once"
            )
        if self._mirror is not None:
            for text in self._mirror.take_notices():
                self._notice(text)
        self._say_of_callbacks()
        if self._desk is not None and now >= self._next_requests:
            self._take_requests(self._desk, backend.now)
        if self._display.due():
            self._display.update(self._snapshot(backend))

    def _snapshot(self, backend: Backend) -> Snapshot:
        return Snapshot(
            view=self._view(),
            elapsed=backend.now,
            workers=backend.views(),
            failures=self._failures,
            failed_trials=self._failed_trials,
            checkpoints_bytes=self._retention.total,
            study=shown(self._file.path) if self._kept else "study (not kept)",
            open_ended=self._assignments.max_resource is None,
        )

    def _resume_hint(self, engine: Engine) -> str:
        had = f"{engine.reports} reports of {len(engine.trials)} trials"
        if not self._kept:
            return f"Interrupted: {had} are gone. Give study='name.db' to be able to go on."
        way = describe_way_to_resume(self._file, self._about)
        return f"Interrupted: {had} are kept in {shown(self._file.path)}. Go on with: {way}"
