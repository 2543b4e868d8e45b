"""Jobs in worker processes on this machine.

One thread, one loop: sockets, output and deadlines are looked at in :meth:`LocalBackend.poll`.
Workers are fresh interpreters, never forks, and live as long as the study does; one that dies is
replaced. What a job does to its worker never reaches the study: it becomes a fact.
"""

from __future__ import annotations

import os
import selectors
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rungwise.backends import keeper
from rungwise.backends.base import Fact, Failure, legible
from rungwise.backends.hardware import environment
from rungwise.backends.process import WorkerProcess
from rungwise.core.decisions import CONTINUE, Decision, Job
from rungwise.core.events import JobEnded, JobFailed, JobLost, Reported
from rungwise.errors import WorkerStartError
from rungwise.run import Leg

TICK = 0.25
"""Seconds after which poll() comes back even if nothing has happened."""

STILLBORN = 3
"""So many times the number of workers die in a row before they are ready: the study gives up."""

HALTED = "it was halted"

REASON, TRACE = 500, 16 * 1024
"""How many characters are kept of what an exception says, and of its traceback."""


def _ignore(*_: Any) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Hooks:
    """Whom the backend tells what is not a fact for the engine."""

    leg: Callable[[Job], Leg]
    may_retry: Callable[[Failure], bool]
    failed: Callable[[Failure], None] = _ignore
    extras: Callable[[int, float, Mapping[str, float]], None] = _ignore
    saved: Callable[[int, float, int], None] = _ignore
    notice: Callable[[str], None] = _ignore


@dataclass(frozen=True, slots=True)
class Options:
    """How workers are run.

    Attributes:
        shares: the environment variables of each worker.
        preload: modules that workers import before the first job.
        trial_timeout: the longest a job may run, in seconds.
        report_timeout: the longest between two signs of life of a job, in seconds.
        grace: seconds between the request to end and the kill.
        inherit: file descriptors that must stay open until no worker is left: locks.
        temporary: folders that go with the tuner, should it be killed.
    """

    shares: Sequence[Mapping[str, str]]
    preload: Sequence[str] = ()
    trial_timeout: float | None = None
    report_timeout: float | None = None
    grace: float = 5.0
    inherit: Sequence[int] = field(default=())
    temporary: Sequence[str] = field(default=())


class LocalBackend:
    """Worker processes.

    Args:
        function: the training function, pickled.
        hooks: whom to tell.
        options: how workers are run.
        since: where the clock of the study stands.
    """

    def __init__(
        self, function: bytes, hooks: Hooks, options: Options, *, since: float = 0.0
    ) -> None:
        if os.name != "posix":
            raise WorkerStartError("they need Linux or macOS (on Windows, WSL will do)")
        self.workers = len(options.shares)
        self._hooks = hooks
        self._options = options
        self._begun = time.monotonic() - since
        self._now = since
        self._selector = selectors.DefaultSelector()
        self._folder = tempfile.TemporaryDirectory(prefix="rungwise-")
        payload = Path(self._folder.name) / "function"
        payload.write_bytes(function)
        self._setup = {
            "cwd": os.getcwd(),  # noqa: PTH109 - as text
            "preload": list(options.preload),
            "function": str(payload),
        }
        self._stillborn = 0
        self._recalled = self._closing = False
        self._processes: list[WorkerProcess] = []
        self._by_job: dict[int, WorkerProcess] = {}
        self._looked = 0.0
        self._wake, self._woken = os.pipe()
        self._selector.register(self._wake, selectors.EVENT_READ, None)
        self._keeper = self._start_keeper()
        try:
            for number in range(self.workers):
                self._processes.append(self._spawn(number))
        except BaseException:
            self.close()
            raise

    # -- the backend ---------------------------------------------------------------------------

    @property
    def now(self) -> float:
        # It stands still from one look to the next: what is asked for because of one fact must
        # not be dated after the next fact of the same look, or times in the log would fall.
        return self._now

    def start(self, job: Job) -> None:
        worker = next(worker for worker in self._processes if worker.job is None)
        leg = self._hooks.leg(job)
        worker.keep_output(Path(leg.folder) / "output.log")
        worker.job = job
        worker.resource = job.start
        worker.started = worker.heard = self.now
        worker.settled = worker.recalled = False
        self._by_job[job.id] = worker
        worker.send({"leg": asdict(leg), "config": dict(job.config)})

    def answer(self, job: int, decision: Decision) -> None:
        worker = self._by_job.get(job)
        if worker is None:
            return  # it died while the answer was found
        go_on = decision is CONTINUE
        worker.settled = not go_on
        if go_on and self._recalled:
            worker.recalled, go_on = True, False
        worker.send(go_on)

    def poll(self) -> Sequence[Fact]:
        facts: list[Fact] = []
        self._look_at_the_clock()
        ready = self._selector.select(self._patience())
        self._look_at_the_clock()
        for key, _ in ready:
            if key.data is None:
                os.read(self._wake, 1024)
                continue
            worker, listens = key.data
            if worker not in self._processes:
                continue  # buried a moment ago
            if listens:
                self._listen(worker, facts)
            elif not worker.read_output():
                self._selector.unregister(worker.output)  # it has closed its output
        now = self.now
        if now - self._looked >= TICK or any(w.deadline is not None for w in self._processes):
            self._looked = now
            self._look_after(facts)
        return facts

    # -- what the tuner asks for besides -------------------------------------------------------

    def wake(self) -> None:
        """Make poll() come back; safe to call in a signal handler."""
        os.write(self._woken, b"!")

    def recall(self) -> None:
        """Let every job go at its next report; it counts as lost, to be issued again."""
        self._recalled = True

    def halt(self) -> None:
        """Make all jobs end now, for good; those in the middle of something count as lost."""
        self._closing = True
        for worker in self._by_job.values():
            self._doom(worker, HALTED)

    def views(self) -> list[WorkerProcess]:
        """The workers, for reading."""
        return self._processes

    def close(self) -> None:
        """End all workers."""
        for worker in self._processes:
            worker.kill()
        for worker in self._processes:
            self._forget(worker)
            worker.bury()
        self._processes.clear()
        self._by_job.clear()
        self._dismiss_keeper()
        self._selector.close()
        os.close(self._wake)
        os.close(self._woken)
        self._folder.cleanup()

    # -- workers -------------------------------------------------------------------------------

    def _spawn(self, number: int) -> WorkerProcess:
        worker = WorkerProcess(number, environment(self._options.shares[number]), self._setup)
        self._tell_keeper(f"+{worker.pid}")
        self._selector.register(worker.socket, selectors.EVENT_READ, (worker, True))
        self._selector.register(worker.output, selectors.EVENT_READ, (worker, False))
        return worker

    def _forget(self, worker: WorkerProcess) -> None:
        self._selector.unregister(worker.socket)
        with suppress(KeyError):  # it had closed its output
            self._selector.unregister(worker.output)

    def _start_keeper(self) -> subprocess.Popen[str]:
        folders = [self._folder.name, *self._options.temporary]
        return subprocess.Popen(  # noqa: S603 - our own interpreter
            [sys.executable, "-S", "-E", str(Path(keeper.__file__)), *folders],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
            pass_fds=list(self._options.inherit),
            start_new_session=True,
        )

    def _dismiss_keeper(self) -> None:
        # Told, and not only by the end of its pipe: a process that was forked from this one
        # meanwhile may hold the other end for as long as it likes.
        with suppress(OSError):
            if self._keeper.stdin is not None:
                self._keeper.stdin.write(".\n")
                self._keeper.stdin.close()
        try:
            self._keeper.wait(timeout=self._options.grace)
        except subprocess.TimeoutExpired:
            self._keeper.kill()
            self._keeper.wait()

    def _tell_keeper(self, line: str) -> None:
        try:
            if self._keeper.stdin is not None:
                self._keeper.stdin.write(line + "\n")
                self._keeper.stdin.flush()
        except OSError:  # somebody killed it; workers still end with the tuner's sockets
            self._hooks.notice("the process that would clean up after a crash was killed")
            self._keeper = self._start_keeper()
            for worker in self._processes:
                self._tell_keeper(f"+{worker.pid}")

    def _listen(self, worker: WorkerProcess, facts: list[Fact]) -> None:
        messages = worker.receive()
        if messages is None:
            self._died(worker, facts)
            return
        worker.heard = self.now
        for kind, *rest in messages:
            self._heard(worker, kind, rest, facts)

    def _heard(self, worker: WorkerProcess, kind: str, rest: list[Any], facts: list[Fact]) -> None:
        job = worker.job
        if kind == "ready":
            worker.ready, self._stillborn = True, 0
            worker.started = worker.heard  # loading is not training
        elif kind == "unfit":
            raise WorkerStartError(*rest)
        elif job is None or rest[0] != job.id:
            pass  # of a job that has left
        elif kind == "report":
            self._reported(worker, job, rest[1:], facts)
        elif kind == "saved":
            self._hooks.saved(job.trial, *rest[1:])
        elif kind == "notice":
            self._hooks.notice(rest[1])
        elif kind == "failed":
            self._left(worker, facts, *rest[1:])
        elif kind == "ended":
            self._left(worker, facts)

    def _reported(
        self, worker: WorkerProcess, job: Job, rest: list[Any], facts: list[Fact]
    ) -> None:
        resource, value, extras = rest
        if worker.doomed is not None:
            return  # it is about to be unwound and waits for no answer
        if resource <= worker.resource and not self._recalled:
            # Ground covered on an earlier leg (no checkpoint): nothing new, nothing to log.
            worker.send(True)
            return
        worker.resource = max(resource, worker.resource)
        if extras:
            self._hooks.extras(job.id, resource, extras)
        facts.append(Reported(job.id, resource, value, self.now))

    # -- ends ----------------------------------------------------------------------------------

    def _left(
        self, worker: WorkerProcess, facts: list[Fact], reason: str | None = None, trace: str = ""
    ) -> None:
        """The job has left the worker: in good order, halted, hung or failed."""
        job = worker.job
        assert job is not None, "only a job can leave"
        worker.read_output()
        doomed, worker.doomed, worker.deadline, worker.job = worker.doomed, None, None, None
        del self._by_job[job.id]
        if doomed == HALTED:
            facts.append(JobLost(job.id, self.now) if not worker.settled else self._ended(job))
        elif doomed is not None:
            facts.append(self._failure(worker, job, doomed, trace))
        elif reason is not None:
            facts.append(self._failure(worker, job, reason, trace))
        elif worker.recalled:
            facts.append(JobLost(job.id, self.now))
        else:
            facts.append(self._ended(job))

    def _ended(self, job: Job) -> JobEnded:
        return JobEnded(job.id, self.now)

    def _failure(self, worker: WorkerProcess, job: Job, reason: str, trace: str) -> Fact:
        now, reason, trace = self.now, legible(reason, REASON), legible(trace, TRACE)
        if worker.settled or worker.recalled:
            # It had been told to leave: whatever went wrong afterwards, its report stands.
            self._hooks.notice(f"trial {job.trial}, after its last report of the leg: {reason}")
            return JobEnded(job.id, now) if worker.settled else JobLost(job.id, now)
        output = worker.last_output
        failure = Failure(job.id, job.trial, worker.resource, now, reason, trace, output)
        again = self._hooks.may_retry(failure)
        self._hooks.failed(failure)
        return JobLost(job.id, now) if again else JobFailed(job.id, reason, now)

    def _died(self, worker: WorkerProcess, facts: list[Fact]) -> None:
        """A worker process has gone; its job failed with it, and another takes its place."""
        # What it said before it died is still in its socket.
        self._forget(worker)
        how = worker.bury()
        self._tell_keeper(f"-{worker.pid}")
        place = self._processes.index(worker)
        del self._processes[place]  # whatever comes now, it is not to be buried again
        if worker.job is not None:
            # Before it was ready its job had not begun, and is not to blame.
            worker.recalled = worker.recalled or not worker.ready
            self._left(worker, facts, how if worker.ready else None)
        if self._closing:
            return
        if not worker.ready:
            self._stillborn += 1
            if self._stillborn >= STILLBORN * self.workers:
                said = f"{self._stillborn} died in a row ({how})"
                raise WorkerStartError(said, worker.last_output)
        self._processes.insert(place, self._spawn(worker.number))

    def _doom(self, worker: WorkerProcess, why: str) -> None:
        if worker.doomed is None:
            worker.doomed = why
            worker.deadline = self.now + self._options.grace
            worker.ask_to_end()

    # -- time ----------------------------------------------------------------------------------

    def _look_at_the_clock(self) -> None:
        self._now = time.monotonic() - self._begun

    def _patience(self) -> float:
        deadlines = [w.deadline for w in self._processes if w.deadline is not None]
        return max(0.0, min(TICK, *(d - self.now for d in deadlines))) if deadlines else TICK

    def _look_after(self, facts: list[Fact]) -> None:
        now = self.now
        for worker in list(self._processes):
            if worker.dead:
                self._listen_to_the_last(worker, facts)
            elif worker.deadline is not None and now >= worker.deadline:
                worker.deadline = None
                worker.kill()
            elif worker.job is not None and worker.ready and worker.doomed is None:
                self._check_timeouts(worker, now)

    def _listen_to_the_last(self, worker: WorkerProcess, facts: list[Fact]) -> None:
        """Children that it forked may keep its socket open: hear what is left, then bury it."""
        while messages := worker.receive():
            for kind, *rest in messages:
                self._heard(worker, kind, rest, facts)
        self._died(worker, facts)

    def _check_timeouts(self, worker: WorkerProcess, now: float) -> None:
        options = self._options
        if options.trial_timeout is not None and now - worker.started > options.trial_timeout:
            self._doom(worker, f"it ran longer than {options.trial_timeout:g} s (trial_timeout)")
        elif options.report_timeout is not None and now - worker.heard > options.report_timeout:
            self._doom(
                worker, f"nothing was heard of it for {options.report_timeout:g} s (report_timeout)"
            )
