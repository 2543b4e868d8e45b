"""Slow searchers propose while workers train, and reports do not wait for them."""

import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from dataclasses import dataclass
from typing import ClassVar

import pytest
from backend_kinds import on_backend

import rungwise as rw
from rungwise.core.engine import Engine
from rungwise.core.limits import Limits
from rungwise.core.study import Study
from rungwise.session import prefetch
from rungwise.session.prefetch import ProposalPrefetcher

SPACE = rw.Space.parse({"x": rw.Float(0.0, 1.0)})
PATIENCE = 60.0
pytestmark = pytest.mark.usefixtures("backend")


def train(config, run):
    for step in run.resources():
        run.report(step, loss=config["x"] / step)


def tune(searcher, **options):
    given = {"max_resource": 9, "trials": 8, "workers": 2, "show": "quiet", **options}
    chosen = on_backend(given)
    return rw.tune(train, SPACE, metric="loss", goal="min", searcher=searcher, **chosen)


REPORTED = threading.Condition()
COUNT = [0]


@dataclass(frozen=True)
class Stubborn(rw.searchers.Searcher):
    """Proposes nothing from the third trial on before another report has been answered."""

    slow: ClassVar[bool] = True

    def propose(self, space, history, rng):
        if len(history) >= 3:
            with REPORTED:
                before = COUNT[0]
                if not REPORTED.wait_for(lambda: COUNT[0] > before, PATIENCE):
                    raise RuntimeError("no report was answered while a proposal was computed")
        return space.sample(rng)


def note(_):
    with REPORTED:
        COUNT[0] += 1
        REPORTED.notify_all()


def test_reports_are_answered_while_a_proposal_is_computed():
    # Long trials: someone always trains while the searcher waits for a report.
    result = tune(
        Stubborn(), scheduler=rw.RandomSearch(400), max_resource=400, trials=6, on_report=note
    )
    assert result.trials == 6


@dataclass(frozen=True)
class Broken(rw.searchers.Searcher):
    """Fails from the third trial on."""

    slow: ClassVar[bool] = True

    def propose(self, space, history, rng):
        if len(history) >= 3:
            raise ZeroDivisionError("the searcher is broken")
        return space.sample(rng)


def test_an_error_of_a_searcher_is_the_users_to_see():
    with pytest.raises(ZeroDivisionError, match="the searcher is broken"):
        tune(Broken())


@dataclass(frozen=True)
class Last(rw.searchers.Searcher):
    """Has four proposals."""

    slow: ClassVar[bool] = True

    def propose(self, space, history, rng):
        return space.sample(rng) if len(history) < 4 else None


def test_a_slow_searcher_may_have_nothing_left():
    result = tune(Last())
    assert result.trials == 4
    assert "there are no others" in result.rule


@dataclass(frozen=True)
class Patient(rw.searchers.Searcher):
    """From the third trial on it proposes nothing before it is let go."""

    slow: ClassVar[bool] = True

    def propose(self, space, history, rng):
        if len(history) >= 2:
            if SIGNALS:
                os.kill(os.getpid(), SIGNALS.pop())
            if not LET_GO.wait(PATIENCE):
                GAVE_UP.append(len(history))
        return space.sample(rng)


LET_GO = threading.Event()
GAVE_UP = []
SIGNALS = []


@pytest.fixture
def _let_go(monkeypatch):
    """Threads that still wait are let go when the test has seen that nobody waited for them."""
    monkeypatch.setattr(prefetch, "CLOSE_TIMEOUT", 0.2)  # it always runs out here
    LET_GO.clear()
    yield
    LET_GO.set()
    assert not GAVE_UP


@pytest.mark.usefixtures("_let_go")
def test_nobody_waits_for_a_proposal_that_is_not_needed_any_more():
    result = tune(Patient(), target=1.0)
    assert "target" in result.rule


@pytest.mark.usefixtures("_let_go")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_does_not_wait_for_a_proposal(number):
    SIGNALS.append(number)
    with pytest.raises(rw.StudyInterrupted):
        tune(Patient())


@pytest.mark.usefixtures("_let_go")
def test_time_runs_out_while_a_proposal_is_computed():
    assert "seconds" in tune(Patient(), seconds=1.0).why


@dataclass(frozen=True)
class Sleepy(rw.searchers.Searcher):
    """Takes longer than a trial may be silent."""

    slow: ClassVar[bool] = True

    def propose(self, space, history, rng):
        if len(history) == 2:
            time.sleep(1.2)
        return space.sample(rng)


def test_the_time_of_a_proposal_is_not_the_trials():
    result = tune(Sleepy(), report_timeout=0.6, trial_timeout=0.6, retries=0, workers=1, trials=4)
    assert [trial.state for trial in result.engine.trials if trial.failed] == []


def test_ahead_proposes_what_would_be_proposed_anyway():
    @dataclass(frozen=True)
    class Slow(rw.searchers.RandomSearcher):
        slow: ClassVar[bool] = True

    def proposals():
        recipe = rw.ASHA(max_resource=9)
        study = Study(recipe, Limits(trials=5), space=SPACE, searcher=Slow(), seed=1)
        return Engine(study).proposals

    woken = threading.Event()
    plain, ahead = proposals(), ProposalPrefetcher(proposals(), 0, woken.set)
    assert [ahead(number) for number in range(5)] == [plain(number) for number in range(5)]
    assert woken.wait(PATIENCE)
    assert ahead.ready()
    ahead.close()


HANGS = """
import time
import warnings
from dataclasses import dataclass
from typing import ClassVar

import rungwise as rw


@dataclass(frozen=True)
class Hangs(rw.searchers.Searcher):
    slow: ClassVar[bool] = True

    def propose(self, space, history, rng):
        if len(history) >= 2:
            time.sleep(600)
        return space.sample(rng)


def train(config, run):
    for step in run.resources():
        run.report(step, loss=config["x"])


if __name__ == "__main__":
    result = rw.tune(
        train, {"x": rw.Float(0.0, 1.0)}, metric="loss", goal="min", max_resource=3, trials=9,
        workers=1, seconds=1.0, show="quiet", searcher=Hangs(), scheduler=rw.RandomSearch(3),
    )
    print(result.trials)
"""


@pytest.mark.processes  # the script has workers of its own: once is enough
def test_a_searcher_that_hangs_does_not_keep_the_process(tmp_path):
    script = tmp_path / "hangs.py"
    script.write_text(HANGS)
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "2\n", "")


@dataclass(frozen=True)
class Untidy(rw.searchers.Searcher):
    """Leaves filters of warnings behind, as models of several threads do by chance."""

    slow: ClassVar[bool] = True

    def propose(self, space, history, rng):
        warnings.simplefilter("ignore")
        return space.sample(rng)


def test_filters_of_warnings_are_as_they_were():
    before = list(warnings.filters)
    tune(Untidy())
    assert warnings.filters == before
