"""How many workers are kept where idle ones cost something."""

import sys
from pathlib import Path

import pytest
from tcp_launcher import TcpLauncher

from rungwise.backends import demand
from rungwise.backends.base import Workplace
from rungwise.backends.demand import RELEASE_TIME, Demand
from rungwise.backends.shipping import pack
from rungwise.backends.workers import WorkerBackend
from rungwise.checkpoints import FolderStore
from rungwise.run import Assignment


def test_all_are_wanted_as_long_as_all_have_jobs():
    wanted = Demand(8)
    assert wanted.follow(0, 0, 0) == 8  # they are being started
    assert wanted.follow(5, 0, 100) == 8
    assert wanted.follow(8, 0, 1000) == 8


def test_workers_without_a_job_are_given_back_after_a_while_but_for_one():
    wanted = Demand(8)
    assert wanted.follow(3, 5, 10) == 8
    assert wanted.follow(3, 5, 9 + RELEASE_TIME) == 8
    assert wanted.follow(3, 5, 10 + RELEASE_TIME) == 4
    assert wanted.follow(3, 1, 20 + RELEASE_TIME) == 4
    assert wanted.follow(2, 2, 30 + RELEASE_TIME) == 3
    assert wanted.follow(0, 2, 40 + RELEASE_TIME) == 1


def test_a_short_wait_gives_nothing_back():
    wanted = Demand(8)
    for second in range(0, 1000, 10):
        assert wanted.follow(3, 5, second) == 8
        assert wanted.follow(8, 0, second + 5) == 8


def test_all_are_wanted_again_when_the_last_has_a_job():
    wanted = Demand(8)
    wanted.follow(3, 5, 0)
    assert wanted.follow(3, 5, RELEASE_TIME) == 4
    assert wanted.follow(3, 0, RELEASE_TIME) == 4  # one has died
    assert wanted.follow(4, 0, RELEASE_TIME) == 8


def train(config, run):
    for epoch in run.resources():
        run.report(epoch, loss=1)


@pytest.fixture
def backend(tmp_path, monkeypatch):
    monkeypatch.setattr(demand, "RELEASE_TIME", 0.0)
    wanted = Demand(3)

    class Launcher(TcpLauncher):
        def wanted(self, busy, idle):
            return wanted.follow(busy, idle, self.time)

    Launcher.time = 0.0
    opened = WorkerBackend(
        lambda _: Launcher(),
        3,
        setup={"cwd": str(Path.cwd()), "preload": [], "path": sys.path},
        function=pack(train),
        workplace=Workplace(FolderStore(str(tmp_path))),
    )
    yield opened
    opened.close()


def wait(backend, condition):
    for _ in range(600):
        backend.poll()
        if condition():
            return
    raise AssertionError(backend.views())


def test_workers_are_ended_and_started_again_and_none_that_trains(backend):
    wait(backend, lambda: len(backend.views()) == 1 and backend.idle() == 1)
    backend.start(Assignment(0, 0, {}, 0, 9, place="trial-00000"))
    wait(backend, lambda: len(backend.views()) == 3)  # it may be that all can be used
    wait(backend, lambda: len(backend.views()) == 2 and backend.idle() == 1)
    backend.start(Assignment(1, 1, {}, 0, 9, place="trial-00001"))
    wait(backend, lambda: {view.trial for view in backend.views()} == {0, 1, None})
