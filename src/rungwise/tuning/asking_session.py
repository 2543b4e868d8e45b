"""What works on an ask/tell study between two calls: driver, policy, requests, the mirror.

Law of this file: it decides nothing. What a loop says becomes messages of a backend, and the
driver, the policy and the log treat them as those of workers. One thread at a time may use it.
"""

from __future__ import annotations

import shutil
import time
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rungwise.backends.asked import AskedJobs
from rungwise.backends.messages import Message
from rungwise.core.decisions import Decision, Job
from rungwise.core.engine import Engine
from rungwise.core.events import Reported, Request, StudyExtended, TrialStopped
from rungwise.core.failures import Failure
from rungwise.display.quiet import QuietDisplay
from rungwise.driver import Driver
from rungwise.options.study_options import RunOptions
from rungwise.policy import Fact, Policy, Rules, count_failures
from rungwise.run import Assignment
from rungwise.storage.study_file import StudyFile
from rungwise.tuning.assignments import AssignmentMaker
from rungwise.tuning.kept_options import keep_options
from rungwise.tuning.mirror import Mirror, MirrorPlace
from rungwise.tuning.misuse import MisuseWatch
from rungwise.tuning.notices import NoticeKeeper
from rungwise.tuning.prefetch import ProposalPrefetcher
from rungwise.tuning.requests import RequestDesk
from rungwise.tuning.result import TuningResult
from rungwise.tuning.retraining import list_retrained
from rungwise.tuning.safety_net import SafetyNetWatch
from rungwise.tuning.snapshot_keeper import SnapshotKeeper
from rungwise.tuning.surroundings import FileWatch, make_outage_error
from rungwise.tuning.tracking import Tracker

REQUESTS_EVERY = 0.5
"""Seconds between two looks for requests."""


class AskingSession:
    """An ask/tell study while its file is open.

    Args:
        file: the study, open for writing.
        folded: its engine and where its clock stands.
        options: how it is run.
        wake: called, from another thread, when a proposal has been computed.
        kept: whether the file outlives the process.
        callbacks: called with what happens.

    Attributes:
        notices: what a person should know, and has not been shown yet.
        engine: the study.
        backend: what was said and decided.
        interrupted: whether it was asked to stop.
    """

    def __init__(
        self,
        file: StudyFile,
        folded: tuple[Engine, float],
        options: RunOptions,
        *,
        wake: Callable[[], None],
        kept: bool,
        callbacks: Sequence[Any] = (),
    ) -> None:
        self._file, self._options, self._kept = file, options, kept
        self._folder = _Folder(None if kept else file.path.parent)
        self.notices: deque[str] = deque()
        self._ended = False  # then the file is closed
        self.engine, since = folded
        self.interrupted = False
        self._version_asked = -1  # the engine's, when there was nothing to do
        self._most_open = 0
        self._next_requests = 0.0
        about, study = file.about, self.engine.study
        maximum = None if about.open_ended else study.scheduler.max_resource
        assignments = self._assignments = AssignmentMaker(about.metric, maximum, study.seed)
        store = options.store_beside(file.path)
        self._notices = NoticeKeeper(QuietDisplay(), self._keep_notice)
        self._misuse = MisuseWatch(self._notices, self.engine, assignments, store)
        self._safety_net = SafetyNetWatch(self.engine, self.notice)
        self._tracker = Tracker(file.main, self.engine, assignments, callbacks, kept=kept)
        self._watch = FileWatch(file)
        self.backend = AskedJobs(since)
        self._policy = self._make_policy()
        self._ahead = ProposalPrefetcher(self.engine.proposals, len(self.engine.trials), wake)
        self.engine.proposer = self._ahead
        self._driver = Driver(
            self.engine,
            self.backend,
            log=file.main,
            policy=self._policy,
            assign=self._assign,
            on_fact=self._acted,
            ready=self._ahead.ready,
        )
        self._snapshots = SnapshotKeeper(file.main, self.engine)
        self._desk = self._make_desk() if kept else None
        self._mirror = None
        if options.mirror is not None:
            place = MirrorPlace(options.mirror, file.path.name)
            self._mirror = Mirror(file.path, place, options.mirror_every)
        self._tracker.begin()

    def _assign(self, job: Job) -> Assignment:
        self._tracker.started(job, self.backend.now)
        return self._assignments.assign(job)

    def _acted(self, fact: Fact, decision: Decision) -> None:
        if type(fact) is Reported:
            self._misuse.reported(self.engine.jobs[fact.job].trial, fact.resource)
            if self._assignments.max_resource is None:
                self._safety_net.check()
        self._tracker.acted(fact, decision)

    def _make_policy(self) -> Policy:
        options = self._options
        attempts, spared = count_failures(self._file.failures(), self.engine.trials)
        return Policy(
            self.engine,
            Rules(options.retries, options.trial_timeout, options.report_timeout),
            attempts=attempts,
            spared=spared,
            # What a job reports although its trial had reported it was trained again.
            find_start=lambda _: 0.0,
            on_failure=self._failed,
            on_notice=self.notice,
        )

    def _make_desk(self) -> RequestDesk:
        def submit(event: Request | StudyExtended) -> None:
            self._driver.submit(event)
            self._assignments.follow(self.engine.study)
            if isinstance(event, TrialStopped):
                self._driver.dismiss(event.trial)

        return RequestDesk(self._file, self.engine, submit=submit, interrupt=self._interrupt)

    @property
    def needs_watching(self) -> bool:
        """Whether something may have to be done although nothing is called."""
        return self._kept or self._policy.watches_time

    # -- what is called ------------------------------------------------------------------------

    def ask(self) -> Assignment | None:
        """A job for the caller, if there is one."""
        # A request that was answered Wait is made again only if the answer may be another.
        waits = self._version_asked == self.engine.version and not self._policy.waits
        self.backend.asking = not waits
        try:
            self.step()
        finally:
            self.backend.asking = False
        given = self.backend.take_job()
        if given is not None:
            self._most_open = max(self._most_open, len(self.engine.open_jobs))
        elif not self._driver.held:
            self._version_asked = self.engine.version
        return given

    @property
    def held(self) -> bool:
        """Whether there was no job because a proposal is being computed."""
        return self._driver.held

    def check_surroundings(self) -> None:
        """Raise OutageError if too many different trials have failed in a row."""
        if self._policy.outage is not None:
            raise make_outage_error(self._policy.outage, self._file, kept=self._kept)

    def say(self, message: Message) -> None:
        """Let the study hear of something; what it decides is in the log when this returns."""
        self.backend.say(message)
        self.step()

    def step(self) -> None:
        """Handle what was said, apply what was asked of the study, and look for hung jobs."""
        self._drive()
        if self._desk is not None and time.monotonic() >= self._next_requests:
            self._next_requests = time.monotonic() + REQUESTS_EVERY
            self._watch.check(time.monotonic())
            self._desk.clock = self.backend.now
            for text in self._desk.work():
                self.notice(text)
            self._drive()
        self._snapshots.work()
        for text in self._tracker.take_notices():
            self.notice(text)
        if self._mirror is not None:
            for text in self._mirror.take_notices():
                self.notice(text)

    def _drive(self) -> None:
        self._driver.step()
        while self.backend.pending:  # jobs that were made to leave
            self._driver.step()

    def _interrupt(self) -> None:
        self.interrupted = True
        self._driver.recall()

    def _failed(self, failure: Failure, again: bool) -> None:  # noqa: FBT001 - a callback
        self._file.note_failure(failure)
        ending = " (it is retried)" if again else ""
        self.notice(
            f"trial {failure.trial} failed at resource {failure.resource:g}: "
            f"{failure.reason}{ending}"
        )

    def notice(self, text: str) -> None:
        """Keep what a person should know: with the study, and until it can be shown."""
        self._notices.keep(text)
        self.notices.append(text)

    def _keep_notice(self, text: str) -> None:
        if self._kept and not self._ended:
            self._file.note_notice(self.backend.now, text)

    # -- the end -------------------------------------------------------------------------------

    def make_result(self, *, running: bool) -> TuningResult:
        """What came of the study so far."""
        file, options = self._file, self._options
        result = TuningResult(
            self.engine,
            file.path,
            file.about,
            seconds=self.backend.now,
            failures=file.failures(),
            retrained=list_retrained(file, options.store_beside(file.path)),
            options=options,
            workers=self._count_workers(),
            running=running,
            kept=self._kept,
        )
        _FOLDERS[result] = self._folder
        return result

    def _count_workers(self) -> int:
        """How many jobs were open at a time, at most."""
        return max(self._most_open, self._file.about.workers)

    def leave(self, show: Callable[[str], None]) -> None:
        """Give up the jobs that are open, and write a snapshot.

        Args:
            show: shows at once what is waited for.
        """
        self._driver.recall()
        self._driver.halt()
        self.end_tracking(failed=False, show=show)
        keep_options(self._file, self._options, self._count_workers())
        if self._kept:
            self._snapshots.close()

    def end_tracking(self, *, failed: bool, show: Callable[[str], None]) -> None:
        """The study ends, or stops: callbacks close what they have open."""
        why = self.engine.why()
        self._tracker.end(self.backend.now, why, failed=failed, show=show)
        for text in self._tracker.take_notices():
            self.notice(text)

    def end(self) -> None:
        """End the threads; the file is closed, and no lock that they may wait for is held."""
        self._ended = True
        self._ahead.close()
        if self._mirror is not None:
            for text in self._mirror.close():
                self.notice(text)


class _Folder:
    """The folder of a study that is not kept: it goes with the study and the last of its results.

    Args:
        path: the folder; None for a study that is kept.
    """

    def __init__(self, path: Path | None) -> None:
        if path is not None:
            weakref.finalize(self, shutil.rmtree, path, ignore_errors=True)


_FOLDERS: weakref.WeakKeyDictionary[TuningResult, _Folder] = weakref.WeakKeyDictionary()
"""What keeps the folder of a result."""
