"""The runtime of all workers, with the workers' ends of the sockets in the hands of the test."""

import json
import os
import socket
import time

import pytest

from rungwise.backends import connection, worker_starts
from rungwise.backends.base import Workplace, make_assignment
from rungwise.backends.launchers import Ending
from rungwise.backends.messages import Crashed, Reported
from rungwise.backends.workers import WorkerBackend
from rungwise.checkpoints import FolderStore
from rungwise.core.decisions import Job


class Handle:
    """A worker that does what the test sends in its name."""

    node = where = waits_for = ""
    output = None

    def __init__(self):
        self.socket, self.theirs = socket.socketpair()
        self.leaving = None
        self.dead = False

    def say(self, *message):
        self.theirs.sendall(json.dumps(message).encode() + b"\n")

    def nudge(self):
        """Nothing: it never looks."""

    def release(self):
        self.dead = True

    def kill(self):
        self.dead = True

    def reap(self):
        self.theirs.close()
        self.socket.close()
        return Ending("it is gone")


class Launcher:
    """Keeps the handles; the test says when something has arrived, and what is done then."""

    def __init__(self):
        self.arrivals, self.arrive = os.pipe()
        self.handles = []
        self.then = lambda: None
        self.size = None

    def wanted(self, busy, idle):
        return self.size

    def launch(self, number):
        assert number == len(self.handles) or self.handles[number].dead
        handle = Handle()
        self.handles[number : number + 1] = [handle]
        return handle

    def accept(self):
        self.then()

    def close(self):
        os.close(self.arrivals)
        os.close(self.arrive)


@pytest.fixture
def launcher():
    return Launcher()


@pytest.fixture
def backend(launcher, tmp_path):
    workplace = Workplace(store=FolderStore(str(tmp_path)))
    backend = WorkerBackend(
        lambda on_notice: launcher, 2, setup={"preload": []}, function=b"", workplace=workplace
    )
    for handle in launcher.handles:
        handle.say("ready")
    poll_until(backend, lambda said: backend.idle() == 2)
    yield backend
    backend.close()


def poll_until(backend, condition):
    said, deadline = [], time.monotonic() + 60
    while not condition(said):
        assert time.monotonic() < deadline
        said += backend.poll()
    return said


def start(backend, job=0):
    backend.start(make_assignment(Job(job, job, {"x": 1.0}, 0, 9), metric="error", seed=1))


def test_a_worker_that_learns_that_its_machine_is_leaving_is_not_counted(backend, launcher):
    """Though a moment ago it was, and though something else was the reason to look."""
    backend.poll()
    assert backend.idle() == 2
    backend._checked = backend.now + 60  # the next regular look is far off
    launcher.then = lambda: setattr(launcher.handles[0], "leaving", "it is being drained")
    os.write(launcher.arrive, b"!")
    backend.poll()
    assert backend.idle() == 1
    start(backend)
    assert backend.idle() == 0


def test_a_worker_is_replaced_without_a_pause_however_many_machines_are_taken_away(
    backend, launcher
):
    """Nothing is wrong with it: the next one gets another machine."""
    said = []
    for _ in range(len(worker_starts.PAUSES)):
        last = launcher.handles[0]
        last.leaving = "its machine is being drained"
        for _ in range(2):  # it is ended, and its end is seen
            backend._checked = -60
            said += backend.poll()
        assert launcher.handles[0] is not last
    assert [each.text for each in said] == ["worker 0: its machine is being drained"]


def test_all_idle_workers_end_if_fewer_are_wanted_than_are_busy(backend, launcher):
    launcher.size = 4
    backend._checked = -60
    poll_until(backend, lambda said: len(launcher.handles) == 4)
    for handle in launcher.handles[2:]:
        handle.say("ready")
    poll_until(backend, lambda said: backend.idle() == 4)
    for job in range(2):
        start(backend, job)
    launcher.size = 1
    backend._checked = -60
    backend.poll()
    assert [handle.dead for handle in launcher.handles] == [False, False, True, True]


def test_all_that_a_dead_worker_has_sent_is_received(backend, launcher, monkeypatch):
    """Also a long message, while a child that it forked keeps its socket open."""
    monkeypatch.setattr(connection, "CHUNK", 1024)
    start(backend)
    handle = launcher.handles[0]
    handle.say("started", 0)
    handle.say("report", 0, 1, 0.5, {})
    handle.say("failed", 0, "why", "x" * 10_000, "trial")
    handle.dead = True
    backend._checked = -60  # the next look is due
    said = poll_until(backend, lambda said: any(isinstance(each, Crashed) for each in said))
    assert [each for each in said if isinstance(each, Reported)] == [Reported(0, 1, 0.5)]
    assert [each.reason for each in said if isinstance(each, Crashed)] == ["why"]
