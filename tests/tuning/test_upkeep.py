"""Keeping checkpoints within their quota, and Ctrl-C."""

import os
import signal
import threading

import pytest

from rungwise.core.trials import State, Trial
from rungwise.tuning.interrupts import graceful
from rungwise.tuning.upkeep import Upkeep, trial_folder


def trial(number, state, rung, loss):
    made = Trial(number, {}, 0)
    made.state, made.rung = state, rung
    made.losses.append(loss)
    return made


TRIALS = [
    trial(0, State.RUNNING, 0, 9.0),
    trial(1, State.PAUSED, 1, 0.9),
    trial(2, State.PAUSED, 0, 0.1),
    trial(3, State.PAUSED, 0, 0.5),
    trial(4, State.STOPPED, 3, 0.0),
    trial(5, State.FAILED, 0, 0.0),
    trial(6, State.LOST, 0, 9.0),
    trial(7, State.PAUSING, 0, 9.0),
]
LEAST_FIRST = [5, 3, 2, 1, 4]
"""What failed, then from the lowest rung up, on a rung the worst first; never the busy."""


def fill(folder, numbers, size=100):
    for number in numbers:
        with trial_folder(folder, number).writing(1, number) as place:
            (place / "model").write_bytes(b"x" * size)


def standing(folder):
    return [n for n in range(len(TRIALS)) if trial_folder(folder, n).committed()]


@pytest.mark.parametrize("gone", range(1, 6))
def test_the_least_promising_go_first(tmp_path, gone):
    told = []
    fill(tmp_path, range(8))
    upkeep = Upkeep(tmp_path, TRIALS, quota=850, notice=told.append)
    assert (upkeep.total, told) == (800, [])
    upkeep = Upkeep(tmp_path, TRIALS, quota=int((800 - 100 * gone) / 0.9) + 1, notice=told.append)
    expected = sorted(set(range(8)) - set(LEAST_FIRST[:gone]))
    assert standing(tmp_path) == expected
    assert upkeep.total == 100 * len(expected)
    assert all("checkpoint quota: removed those of" in text for text in told)


def test_leaders_lose_theirs_last_of_all(tmp_path):
    fill(tmp_path, range(8))
    Upkeep(
        tmp_path, TRIALS, quota=450, notice=lambda _: None, keep=3
    )  # 4 is the best but one, and 5 too, though it failed
    assert standing(tmp_path) == [0, 4, 6, 7]


def test_those_being_trained_keep_theirs_whatever_the_quota_says(tmp_path):
    told = []
    fill(tmp_path, range(8))
    upkeep = Upkeep(tmp_path, TRIALS, quota=150, notice=told.append)
    assert standing(tmp_path) == [0, 6, 7]
    upkeep.saved(0, 2, 200)
    upkeep.saved(0, 3, 200)
    assert upkeep.total == 400
    assert sum("being trained alone take" in text for text in told) == 1  # told once


def test_a_new_checkpoint_replaces_the_one_before_in_the_reckoning(tmp_path):
    upkeep = Upkeep(tmp_path, TRIALS, quota=None, notice=pytest.fail)
    upkeep.saved(2, 1, 100)
    upkeep.saved(2, 2, 70)
    upkeep.saved(3, 1, 50)
    assert upkeep.total == 120


def test_tidying_up_leaves_leaders_and_what_trials_wrote(tmp_path):
    fill(tmp_path, [1, 2, 3])
    trial_folder(tmp_path, 2).output.write_text("said")
    (tmp_path / "trial-mine").mkdir()
    upkeep = Upkeep(tmp_path, TRIALS, quota=None, notice=pytest.fail)
    upkeep.tidy([1])
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "trial-00001",
        "trial-00002",
        "trial-mine",
    ]
    assert standing(tmp_path) == [1]
    assert trial_folder(tmp_path, 2).output.read_text() == "said"
    assert upkeep.total == 100


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
