"""The conformance suite of backends whose workers are processes, to subclass in a test module.

Example::

    class TestMine(ProcessBackendConformance):
        def make_recipe(self, workers):
            return Mine(workers)

The processes may be on this machine or on another.
"""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from rungwise.backends.messages import Crashed, Ended, Message, Printed, Reported
from rungwise.core.engine import Engine
from rungwise.core.limits import Limits
from rungwise.core.study import Study
from rungwise.driver import Driver, Hooks
from rungwise.schedulers import FixedResource
from rungwise.testing.backends import RecordingBackend
from rungwise.testing.training_backends import TrainingBackendConformance, do, make_assignment


class _SecondNeverLoads:
    """A training function that the second worker to load it never gets."""

    def __init__(self, mark: str) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return (_load_once, (self.mark,))

    def __call__(self, config: Mapping[str, Any], run: Any) -> None:
        for resource in run.resources():
            run.report(resource, loss=config["x"])


def _load_once(mark: str) -> _SecondNeverLoads:
    try:
        Path(mark).mkdir()
    except FileExistsError:
        time.sleep(3600)
    return _SecondNeverLoads(mark)


class ProcessBackendConformance(TrainingBackendConformance):
    """What is promised where every worker is a process of its own."""

    def kill_worker(self, backend: RecordingBackend, number: int) -> None:
        """Kill the worker of a slot with SIGKILL."""
        (found,) = (view.where for view in backend.views() if view.number == number)
        match = re.search(r"process (\d+)", found)
        assert match is not None
        os.kill(int(match[1]), signal.SIGKILL)

    @pytest.mark.parametrize(
        ("code", "how"),
        [
            ("os.kill(os.getpid(), signal.SIGKILL)", r"killed by SIGKILL \(out of memory\?\)"),
            ("os.kill(os.getpid(), signal.SIGSEGV)", "killed by SIGSEGV"),
            ("os._exit(7)", "exited with 7"),
        ],
    )
    def test_a_worker_that_dies_is_replaced(self, code: str, how: str) -> None:
        """What its job did to it is the trial's fault; what it printed is known."""
        backend = self.open(do)
        self.start(backend, f"print('last words', flush=True)\n{code}")
        said = self.follow(backend)
        crashed = said[-1]
        assert isinstance(crashed, Crashed)
        assert re.search(how, crashed.reason)
        assert (crashed.fault, crashed.output) == ("trial", "last words\n")
        assert backend.idle() == 0
        self._until(backend, lambda: backend.idle() == 1)
        self.start(backend, "run.report(1, loss=2)", job=1)
        assert self.follow(backend) == [Reported(1, 1, 2), Ended(1)]

    def test_what_was_reported_before_death_arrives(self) -> None:
        """And an answer to the dead is no error."""
        backend = self.open(do)
        self.start(backend, "run.report(1, loss=4)\nos._exit(0)")
        assert self._next(backend) == [Reported(0, 1, 4)]
        backend.answer(0, go_on=True)
        (crashed,) = self._next(backend)
        assert isinstance(crashed, Crashed)
        backend.answer(0, go_on=True)

    def test_a_slot_that_vanishes_while_idle_costs_nothing(self) -> None:
        """Nothing is said of it; another takes its place."""
        backend = self.open(do, workers=2)
        self.kill_worker(backend, 0)
        deadline = time.monotonic() + self.timeout
        while backend.idle() == 2:
            assert time.monotonic() < deadline
            assert len(backend.poll()) == 0
        self._until(backend, lambda: backend.idle() == 2)

    def test_a_job_given_to_a_slot_that_has_vanished_is_not_to_blame(self) -> None:
        """It never ran there: the fault is the worker's."""
        backend = self.open(do)
        self.kill_worker(backend, 0)
        time.sleep(0.2)  # dead by then, but not polled: the backend cannot know
        self.start(backend, "run.report(1, loss=2)")
        crashed = self.follow(backend)[-1]
        assert isinstance(crashed, Crashed)
        assert crashed.fault == "worker"
        self._until(backend, lambda: backend.idle() == 1)
        self.start(backend, "run.report(1, loss=2)", job=1)
        assert self.follow(backend) == [Reported(1, 1, 2), Ended(1)]

    def test_a_slot_that_never_starts_is_never_given_a_job(self) -> None:
        """The study goes on with those that are there."""
        train = _SecondNeverLoads(str(self.folder / "loaded"))
        initial = [{"x": number} for number in range(4)]
        study = Study(FixedResource(3), Limits(trials=4), initial=initial)
        engine = Engine(study)
        backend = RecordingBackend(self._opened(train, 2))
        self._made.append(backend)
        Driver(engine, backend, hooks=Hooks(assign=make_assignment)).run()
        assert engine.ended is not None
        assert [trial.resource for trial in engine.trials] == [3] * 4
        assert backend.most == 1
        assert [view.ready for view in backend.views()].count(False) == 1

    def test_output_is_reported_per_job(self) -> None:
        """Also what is no text, and on the other stream."""
        backend = self.open(do)
        self.start(backend, "print('one')\nrun.report(1, loss=1)\nprint('two')")
        first = self.follow(backend)
        code = "os.write(1, b'\\xff three\\n')\nos.write(2, b'four\\n')\n1 / 0"
        self.start(backend, code, job=1)
        second = self.follow(backend)
        assert _printed(first) == b"one\ntwo\n"
        assert isinstance(first[-1], Ended)
        assert _printed(second) == b"\xff three\nfour\n"
        assert isinstance(second[-1], Crashed)
        assert second[-1].output == "\ufffd three\nfour\n"

    def test_closing_leaves_no_process_behind(self) -> None:
        """Neither workers nor what their jobs have started."""
        backend = self._opened(do, 1)
        recording = RecordingBackend(backend)
        self._wait_until_ready(recording, 1)
        child = "child = __import__('subprocess').Popen(['sleep', '600'])\n"
        self.start(recording, child + "run.report(1, loss=child.pid)\ntime.sleep(60)")
        report = next(m for m in self._next(recording) if isinstance(m, Reported))
        backend.close()
        deadline = time.monotonic() + min(10, self.timeout)
        while _is_alive(int(report.value)):
            assert time.monotonic() < deadline
            time.sleep(0.01)


def _printed(said: list[Message]) -> bytes:
    return b"".join(message.data for message in said if isinstance(message, Printed))


def _is_alive(pid: int) -> bool:
    """Whether a process runs: one that has ended, and waits for its parent, does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"
