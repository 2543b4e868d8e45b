"""Which checkpoints the tuner removes and when, and Ctrl-C."""

import os
import signal
import threading

import pytest

from rungwise.checkpoints import FolderStore, TrialFolder
from rungwise.core.trials import State, Trial
from rungwise.session.checkpoint_retention import (
    CheckpointRetention,
    Pruner,
    RetentionRules,
    trial_place,
)
from rungwise.session.interrupts import graceful


def trial(number, state, resource, loss):
    curve = [resource], [loss]
    return Trial.recall(number, {}, state=state, until=resource, resource=resource, curve=curve)


TRIALS = [
    trial(0, State.RUNNING, 1, 9.0),
    trial(1, State.PAUSED, 3, 0.9),
    trial(2, State.PAUSED, 1, 0.1),
    trial(3, State.PAUSED, 1, 0.5),
    trial(4, State.STOPPED, 27, 0.0),
    trial(5, State.FAILED, 1, 0.0),
    trial(6, State.LOST, 1, 9.0),
    trial(7, State.PAUSING, 1, 9.0),
]
LEAST_FIRST = [5, 3, 2, 1, 4]
"""What failed, then from the least trained up, of equally trained the worst; never the busy."""


def checkpoints(folder, number):
    return FolderStore(str(folder)).trial(trial_place(number))


def keep_within(folder, quota=None, keep=0, **options):
    rules = RetentionRules(quota, keep)
    return CheckpointRetention(FolderStore(str(folder)), TRIALS, rules, **options)


def fill(folder, numbers, size=100):
    for number in numbers:
        with checkpoints(folder, number).writing(1, number) as place:
            (place / "model").write_bytes(b"x" * size)


def standing(folder):
    return [n for n in range(len(TRIALS)) if checkpoints(folder, n).committed()]


@pytest.mark.parametrize("gone", range(1, 6))
def test_the_least_promising_go_first(tmp_path, gone):
    told = []
    fill(tmp_path, range(8))
    retention = keep_within(tmp_path, quota=850, notice=told.append)
    assert (retention.total, told) == (800, [])
    retention = keep_within(tmp_path, quota=int((800 - 100 * gone) / 0.9) + 1, notice=told.append)
    expected = sorted(set(range(8)) - set(LEAST_FIRST[:gone]))
    assert standing(tmp_path) == expected
    assert retention.total == 100 * len(expected)
    assert all("checkpoint quota: removed the checkpoints of" in text for text in told)


def test_leaders_lose_theirs_last_of_all(tmp_path):
    fill(tmp_path, range(8))
    keep_within(
        tmp_path, quota=450, notice=lambda _: None, keep=3
    )  # 4 is the best but one, and 5 too, though it failed
    assert standing(tmp_path) == [0, 4, 6, 7]


def test_those_being_trained_keep_theirs_whatever_the_quota_says(tmp_path):
    told = []
    fill(tmp_path, range(8))
    retention = keep_within(tmp_path, quota=150, notice=told.append)
    assert standing(tmp_path) == [0, 6, 7]
    retention.saved(0, 0, 200)
    retention.saved(0, 0, 200)
    assert retention.total == 400
    assert sum("in training alone take" in text for text in told) == 1  # once


def test_a_new_checkpoint_replaces_the_one_before_in_the_reckoning(tmp_path):
    retention = keep_within(tmp_path, quota=None, notice=pytest.fail)
    retention.saved(2, 0, 100)
    retention.saved(2, 0, 70)
    retention.saved(3, 1, 50)
    assert retention.total == 120


def test_tidying_up_leaves_leaders_and_what_trials_wrote(tmp_path):
    fill(tmp_path, [1, 2, 3])
    checkpoints(tmp_path, 2).output.write_text("said")
    (tmp_path / "trial-mine").mkdir()
    retention = keep_within(tmp_path, quota=None, notice=pytest.fail)
    retention.tidy([1])
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "trial-00001",
        "trial-00002",
        "trial-mine",
    ]
    assert standing(tmp_path) == [1]
    assert checkpoints(tmp_path, 2).output.read_text() == "said"
    assert retention.total == 100


# -- what newer checkpoints replace ------------------------------------------------------------


class Tuner:
    """The tuner's side of one running trial, with the worker's as a folder."""

    def __init__(self, folder, *, reported=0, number=0, **options):
        self.trial = Trial(number, {}, 0)
        self.trial.state, self.trial.resource = State.RUNNING, reported
        self.number = number
        self.store = FolderStore(str(folder))
        trials = [Trial(n, {}, 0) for n in range(number)] + [self.trial]
        self.retention = CheckpointRetention(
            self.store, trials, RetentionRules(), notice=pytest.fail, **options
        )
        self.files = self.store.trial(options.get("place", trial_place)(number))

    def save(self, resource, job=0, size=100):
        with self.files.writing(resource, job) as place:
            (place / "model").write_bytes(b"x" * size)
        self.retention.saved(self.number, job, size)

    def report(self, resource):
        self.trial.resource = resource
        self.retention.reported(self.number, resource)

    def standing(self):
        self.retention.close()
        return [found.resource for found in self.files.committed()]

    def names(self):
        self.retention.close()
        return sorted(path.name for path in (self.files.path / "checkpoints").iterdir())


def leave_half(files, resource, job):
    """What a job leaves that is killed while it writes."""
    half = files.path / "checkpoints" / f".writing-at-{resource}-job-{job}-0"
    half.mkdir(parents=True)
    (half / "model").write_bytes(b"half")


@pytest.mark.parametrize("place", [trial_place, lambda trial: f"retrain-{trial:05d}-to-27"])
def test_the_one_before_goes_when_the_report_is_taken_in(tmp_path, place):
    tuner = Tuner(tmp_path, number=3, place=place)
    tuner.save(1)
    tuner.report(1)
    tuner.save(2)
    assert tuner.standing() == [1, 2]
    tuner.report(2)
    assert tuner.standing() == [2]
    assert list(tuner.store.places()) == [place(3)]


def test_reporting_first_keeps_one_only(tmp_path):
    """So that a trial that pauses after it does not keep two, of which only one is counted."""
    tuner = Tuner(tmp_path)
    for epoch in (1, 2, 3):
        tuner.report(epoch)
        tuner.retention.close()
        tuner.save(epoch)
        assert tuner.standing() == [epoch]
    assert tuner.retention.total == tuner.files.size() == 100


def test_of_several_between_reports_only_the_last_is_kept(tmp_path):
    tuner = Tuner(tmp_path)
    tuner.report(1)
    tuner.save(1)
    for step in (1.25, 1.5, 1.75):
        tuner.save(step)
        assert tuner.standing() == [1, step]
    tuner.report(2)
    assert tuner.standing() == [1.75]


def test_of_two_at_one_resource_the_later_is_kept(tmp_path):
    tuner = Tuner(tmp_path)
    tuner.save(3)
    tuner.save(3)
    assert tuner.names() == ["at-3-job-0-1"]
    tuner.save(3, job=12)
    tuner.report(3)
    assert tuner.names() == ["at-3-job-12-0"]


def test_a_new_checkpoint_outlives_one_of_a_dead_job_further_on(tmp_path):
    tuner = Tuner(tmp_path)
    tuner.report(1)
    tuner.save(1)
    tuner.save(6)  # and then the worker dies, before it has reported 6
    tuner.retention.crashed(0, 0)
    tuner.save(4, job=1)
    assert tuner.standing() == [1, 4]
    tuner.report(4)
    assert tuner.standing() == [4]


def test_a_report_without_a_new_checkpoint_removes_nothing(tmp_path):
    tuner = Tuner(tmp_path)
    tuner.report(1)
    assert tuner.retention._pruner._thread is None  # nor is there any work
    tuner.save(1)
    tuner.report(2)
    tuner.report(3)
    assert tuner.standing() == [1]


def test_what_a_dead_job_was_writing_is_removed(tmp_path):
    tuner = Tuner(tmp_path)
    leave_half(tuner.files, 1, job=3)
    leave_half(tuner.files, 1, job=4)
    tuner.save(2, job=4)
    leave_half(tuner.files, 3, job=5)
    tuner.retention.crashed(0, 4)
    assert tuner.names() == [".writing-at-3-job-5-0", "at-2-job-4-0"]


def test_what_an_earlier_tuner_left_is_removed_before_jobs_start(tmp_path):
    tuner = Tuner(tmp_path)
    for resource in (1, 2, 3):
        with tuner.files.writing(resource, 0):
            pass
    leave_half(tuner.files, 4, job=0)
    again = Tuner(tmp_path, reported=2)
    # There is no thread yet that could mistake what a new job writes for a left-over.
    assert again.retention._pruner._thread is None
    assert again.names() == ["at-2-job-0-1", "at-3-job-0-2"]


def test_what_is_left_over_does_not_count(tmp_path):
    tuner = Tuner(tmp_path)
    for resource in (1, 2):
        with tuner.files.writing(resource, 0) as place:
            (place / "model").write_bytes(b"x" * 100)
    leave_half(tuner.files, 4, job=0)
    assert Tuner(tmp_path, reported=2).retention.total == 100


# -- in a thread of its own --------------------------------------------------------------------


class Store:
    """A store that keeps a list of what it is asked to remove, and may be slow or fail."""

    def __init__(self):
        self.asked, self.go = [], threading.Event()
        self.go.set()
        self.fails = ()

    def trial(self, place):
        return Place(self, place)


class Place:
    def __init__(self, store, place):
        self.store, self.place = store, place

    def _ask(self, what):
        assert self.store.go.wait(10)
        self.store.asked.append((self.place, what, threading.current_thread().name))
        if self.place in self.store.fails:
            raise PermissionError(self.place)

    def prune(self, *, reported, newest=None):
        self._ask(reported)

    def sweep(self, *, up_to):
        self._ask(f"job {up_to}")


@pytest.fixture
def store():
    return Store()


THREAD = "rungwise-prune"


def test_the_study_does_not_wait_for_what_is_being_removed(store):
    store.go.clear()
    pruner = Pruner(store)
    pruner.prune("a", reported=1)
    pruner.sweep("b", up_to=7)
    assert store.asked == []
    store.go.set()
    pruner.close()
    assert store.asked == [("a", 1, THREAD), ("b", "job 7", THREAD)]


def test_only_the_furthest_report_counts_while_a_slow_store_is_busy(store):
    store.go.clear()
    pruner = Pruner(store)
    pruner.sweep("b", up_to=1)  # keeps it busy
    for resource in (1, 2, 3):
        pruner.prune("a", reported=resource)
    store.go.set()
    pruner.close()
    assert store.asked == [("b", "job 1", THREAD), ("a", 3, THREAD)]


def test_what_cannot_be_removed_now_does_not_stop_the_rest(store):
    store.fails = ("a",)
    pruner = Pruner(store)
    pruner.prune("a", reported=1)
    pruner.sweep("a", up_to=1)
    pruner.prune("b", reported=1)
    pruner.close()
    assert [place for place, *_ in store.asked] == ["a", "a", "b"]


def test_a_pruner_that_was_closed_can_be_used_again(store):
    before = threading.enumerate()
    pruner = Pruner(store)
    pruner.close()  # nothing was asked yet
    for resource in (1, 2):
        pruner.prune("a", reported=resource)
        pruner.close()
        pruner.close()
    assert [resource for _, resource, _ in store.asked] == [1, 2]
    assert set(threading.enumerate()) <= set(before)


# -- signals -----------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_is_heard_and_the_second_obeyed(number):
    before = [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)]
    heard = []

    def story():
        with graceful(lambda: heard.append("first")):
            os.kill(os.getpid(), number)
            heard.append("went on")
            os.kill(os.getpid(), signal.SIGINT)
            heard.append("never")

    with pytest.raises(KeyboardInterrupt):
        story()
    assert heard == ["first", "went on"]
    assert [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)] == before


def test_other_threads_leave_signals_alone():
    before = signal.getsignal(signal.SIGINT)
    found = []

    def look():
        with graceful(pytest.fail):
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert found == [before]


def test_a_slow_pruner_does_not_touch_what_was_written_since(tmp_path, monkeypatch):
    """It was asked when 3 was the newest, and gets to it when 4 is there and 3 was reported."""
    tuner = Tuner(tmp_path)
    tuner.save(2)
    tuner.report(2)
    tuner.retention.close()
    waits, prune = threading.Event(), TrialFolder.prune

    def slow(self, **options):
        waits.wait(10)
        prune(self, **options)

    monkeypatch.setattr(TrialFolder, "prune", slow)
    tuner.save(3)
    with tuner.files.writing(4, 0):
        pass
    waits.set()
    assert tuner.standing() == [2, 3, 4]


def test_what_jobs_wrote_that_the_study_does_not_know_is_removed(tmp_path):
    """It was resumed from an older copy of its file, and gives their numbers to others."""
    store = FolderStore(str(tmp_path))
    for place, job in (("trial-00000", 3), ("trial-00000", 4), ("trial-00099", 4)):
        with store.trial(place).writing(job, job) as folder:
            (folder / "model").write_text("x")
    keep_within(tmp_path, quota=None, notice=print, jobs=4)
    assert [found.job for found in store.trial("trial-00000").committed()] == [3]
    assert list(store.places()) == ["trial-00000"]
