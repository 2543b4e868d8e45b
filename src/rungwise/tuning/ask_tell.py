"""A study that a loop of the user's asks for jobs and tells what came of them.

Law of this file: what a call returns is in the log before. Calls come one at a time, from any
thread of the process that has opened the study.
"""

from __future__ import annotations

import math
import os
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any

from rungwise.backends import messages
from rungwise.core.decisions import WAIT, Done, Wait
from rungwise.errors import InvalidArgumentError, NotFiniteError, StudyClosedError, UsageWarning
from rungwise.run import read_resource
from rungwise.session.opened import OpenedStudy
from rungwise.storage.study_file import StudyFile, shown
from rungwise.tuning.asked_job import Job
from rungwise.tuning.asking import AskedSession, NoticeQueue
from rungwise.tuning.result import TuningResult
from rungwise.validation import read_number, real

TICK = 0.25
"""Seconds between two looks for requests and for jobs that have hung, while nothing is called."""

INTERRUPTED = "it was asked to stop, and goes on when it is opened again"
"""Why a study that was interrupted gives no jobs."""


class AskTellStudy(AbstractContextManager["AskTellStudy"]):
    """A study that is open for asking and telling, see :func:`rungwise.open_study`.

    Any number of threads may call it. It is a context manager; jobs that are open when it is closed
    are lost, and issued again when the study is opened the next time.

    Args:
        opened: the study, in a file that is open for writing from any thread.
        notices: what a person should know so far.
        auto_end: whether a job has left when its report was answered False.
        on_notice: called with what a person should know.
        callbacks: called with what happens.
    """

    def __init__(
        self,
        opened: OpenedStudy,
        notices: NoticeQueue,
        *,
        auto_end: bool = True,
        on_notice: Callable[[str], None] | None = None,
        callbacks: Sequence[Any] = (),
    ) -> None:
        self._opened, self._auto_end = opened, auto_end
        self._process = os.getpid()
        self._changed = threading.Condition(threading.RLock())
        self._broken: BaseException | None = None
        self._final: TuningResult | None = None
        self._closed = False
        self._asked = AskedSession(opened, notices, wake=self._wake, callbacks=callbacks)
        self._engine, self._backend = opened.engine, self._asked.backend
        self._notices, self._on_notice, self._telling = notices, on_notice, threading.RLock()
        weakref.finalize(self, _close, opened.file, self._process)  # one that was forgotten
        self._stop_watching = threading.Event()
        self._tell()
        if self._asked.needs_watching:
            threading.Thread(
                target=_keep_watch,
                args=(weakref.ref(self), self._stop_watching),
                name="rungwise-ask-tell",
                daemon=True,
            ).start()

    def __repr__(self) -> str:
        state = "closed" if self._closed else "open"
        where = self._path or "not kept"
        return f"<ask/tell study of {len(self._engine.trials)} trials, {state}; {where}>"

    # -- asking --------------------------------------------------------------------------------

    def ask(self, wait: float = 0.0) -> Job | Wait | Done:
        """What to train next.

        Args:
            wait: how many seconds to wait for a job if there is none now (``math.inf``: as long as
                it takes); other threads may report meanwhile.

        Returns:
            A :class:`Job`; or :class:`Wait`: there is none until a job that is open has left; or
            :class:`Done`: the study is over, and why.

        Raises:
            OutageError: too many different trials have failed in a row.
            NothingFoundError: nothing works: all trials have failed so far.
            StudyClosedError: the study was closed.
        """
        longest = math.inf if wait == math.inf else real("wait", wait, at_least=0)
        deadline = time.monotonic() + longest
        with self._calling():
            while True:
                found = self._ask()
                rest = deadline - time.monotonic()
                if found is None:  # a proposal is being computed, which is waited for in any case
                    rest = math.inf
                elif not isinstance(found, Wait) or rest <= 0:
                    return found
                self._changed.wait(min(rest, TICK))
                self._check()

    def _ask(self) -> Job | Wait | Done | None:
        with self._guarding():
            given = self._asked.ask()
        if given is not None:
            return Job.of(given)
        if self._engine.ended is not None:
            return Done(self._engine.ended)
        session = self._asked.session
        error = session.find_error()
        if error is not None:
            raise error
        if session.interrupted:
            return Done(INTERRUPTED)
        return None if self._asked.held else WAIT

    def jobs(self) -> Iterator[Job]:
        """The jobs of the study until it is over; it waits while there is nothing to do.

        For a loop that trains one job at a time; several threads may each have one. A job that has
        not left when the next one is wanted has ended, and one without a report has failed.
        """
        while True:
            found = self.ask(math.inf)
            if not isinstance(found, Job):
                return
            yield found
            last = self._backend.last_resource(found.id)
            if last:
                self.ended(found)
            elif last is not None:
                self.failed(found, "the loop went on without a report of this job")

    # -- telling -------------------------------------------------------------------------------

    def report(self, job: Job | int, resource: float, value: float, /, **metrics: Any) -> bool:
        """How good the model is after a resource. Save what is needed to resume before.

        Args:
            job: the job, or its number.
            resource: how much has been trained in all; it must grow. What an earlier job of the
                trial has reported is not counted again.
            value: the metric of the study. NaN or infinity fails the job, as in ``tune``.
            metrics: others to be kept beside it.

        Returns:
            Whether to train on. If not, the job is over, and its trial may be promoted in another
            one: at once, or with ``auto_end=False`` after :meth:`ended`.
        """
        number = self._find_number(job)
        at = read_resource("resource", resource)
        metric = read_number("value", value)
        others = tuple((name, read_number(name, each)) for name, each in metrics.items())
        with self._calling():
            last = self._backend.last_resource(number)
            if last is None:  # it has left: it was lost, has hung, or was stopped on request
                return False
            if at < last:
                rule = f"resources must grow, and {last:g} was reported before"
                raise InvalidArgumentError("resource", resource, rule)
            if not math.isfinite(metric):
                error = NotFiniteError(self._opened.about.metric, metric, at)
                self._say(messages.Crashed(number, f"NotFiniteError: {error}"))
                return False
            self._say(messages.Reported(number, at, metric, others))
            go_on = self._backend.take_answer(number)
            if not go_on and self._auto_end and self._backend.last_resource(number) is not None:
                self._say(messages.Ended(number))
            return go_on

    def ended(self, job: Job | int) -> None:
        """A job has left its worker in good order.

        For training that ends by itself before its next rung, where the trial then ranks last; and,
        with ``auto_end=False``, for every job after the answer False.
        """
        self._leave(job, messages.Ended)

    def failed(self, job: Job | int, reason: str = "", trace: str = "") -> None:
        """A job has failed: its trial is tried again, as often as the study's retries allow.

        Args:
            job: the job, or its number.
            reason: what happened, in one line.
            trace: the traceback, if there is one.
        """
        text = str(reason) or "it failed, and no reason was given"
        self._leave(job, lambda number: messages.Crashed(number, text, str(trace)))

    def lost(self, job: Job | int) -> None:
        """A job was lost with its machine: it is issued again, which costs its trial no retry."""
        reason = "its job was reported as lost"
        self._leave(job, lambda number: messages.Crashed(number, reason, fault="worker"))

    def _leave(self, job: Job | int, make: Callable[[int], messages.Message]) -> None:
        number = self._find_number(job)
        with self._calling():
            # Of a job that has left nothing counts.
            if self._backend.last_resource(number) is not None:
                self._say(make(number))

    def _find_number(self, job: Any) -> int:
        number = job.id if isinstance(job, Job) else job
        issued = self._engine.jobs
        if type(number) is not int or not 0 <= number < len(issued):
            rule = f"it must be a job of this study, which has issued {len(issued)} so far"
            raise InvalidArgumentError("job", job, rule)
        if isinstance(job, Job) and issued[number].trial != job.trial:
            raise InvalidArgumentError("job", job, "it is a job of another study")
        return int(number)

    # -- one call ------------------------------------------------------------------------------

    @contextmanager
    def _calling(self) -> Iterator[None]:
        """One call at a time, of a study that is open, in the process that has opened it."""
        if os.getpid() != self._process:
            reason = (
                f"process {self._process} has opened it and is the only one that may ask and tell, "
                f"but this is process {os.getpid()}: let that one do it"
            )
            raise StudyClosedError(self._path, reason)
        try:
            with self._changed:
                self._check()
                yield
        finally:
            self._tell()

    def _check(self) -> None:
        if self._closed:
            raise StudyClosedError(self._path, "it was closed")
        if self._broken is not None:
            reason = f"an earlier call failed ({self._broken!r}): close it and open it again"
            raise StudyClosedError(self._path, reason) from self._broken

    @contextmanager
    def _guarding(self) -> Iterator[None]:
        """After an error in the middle the engine may know what the log does not."""
        try:
            yield
        except BaseException as error:
            self._broken = error
            raise

    def _say(self, message: messages.Message) -> None:
        with self._guarding():
            self._asked.say(message)
        self._changed.notify_all()

    def _tell(self, wait: float = 0.0) -> None:
        """Pass on what a person should know, while nothing is held and nothing is half done.

        Args:
            wait: how long to wait for another thread that passes it on.
        """
        if not self._telling.acquire(timeout=wait):
            return
        try:
            while self._notices.texts:
                text = self._notices.texts.popleft()
                try:
                    if self._on_notice is not None:
                        self._on_notice(text)
                except Exception as error:  # noqa: BLE001 - of the user's own
                    what = f"on_notice failed ({type(error).__name__}: {error}) with the notice: "
                    warnings.warn(f"{what}{text}", UsageWarning, stacklevel=4)
        finally:
            self._telling.release()

    def _wake(self) -> None:
        # Whoever has the lock is in the middle of a call, and whoever waits looks again by itself.
        if self._changed.acquire(blocking=False):
            try:
                self._changed.notify_all()
            finally:
                self._changed.release()

    def keep_watch(self) -> None:
        """Apply requests and look for hung jobs, although nothing is called."""
        with self._changed:
            if not self._closed and self._broken is None:
                with suppress(Exception), self._guarding():  # the next call says what it was
                    self._asked.step()
                self._changed.notify_all()
        with suppress(UsageWarning):  # where warnings are errors: this thread goes on
            self._tell()

    @property
    def _path(self) -> str | None:
        return shown(self._opened.file.path) if self._opened.kept else None

    # -- the state -----------------------------------------------------------------------------

    @property
    def result(self) -> TuningResult:
        """What came of the study so far; while it is open, the result follows it."""
        with self._changed:
            if self._final is not None:
                return self._final
            if self._closed:
                raise StudyClosedError(self._path, "it was closed, as its file was damaged")
            return self._asked.make_result(running=True)

    @property
    def is_done(self) -> bool:
        """Whether the study is over; jobs that are open then leave at their next report."""
        return self._engine.ended is not None

    def close(self) -> None:
        """Close the file. Jobs that are open are lost; a second call does nothing."""
        if os.getpid() != self._process:
            return
        self._stop_watching.set()
        with self._changed:
            if self._closed:
                return
            self._notices.at_once = self._tell  # it may take long, and nothing is half done
            try:
                if self._broken is None:
                    self._asked.leave()
                else:
                    self._asked.session.end(self._broken)
            finally:
                try:
                    self._asked.session.close()
                    self._final = self._asked.make_result(running=False)
                finally:  # whatever the file was found to be: others can work on it
                    self._opened.file.close()
                    self._changed.notify_all()
                    self._closed = True
        self._tell(wait=1.0)

    def __exit__(self, *_: object) -> None:
        self.close()


def _close(file: StudyFile, process: int) -> None:
    """Close a file; not in a child process, which would release the lock of its parent."""
    if os.getpid() == process:
        file.close()


def _keep_watch(study: Callable[[], AskTellStudy | None], stop: threading.Event) -> None:
    """The thread of a study; it ends with one that was forgotten without being closed."""
    while not stop.wait(TICK):
        found = study()
        if found is None:
            return
        found.keep_watch()
        del found
