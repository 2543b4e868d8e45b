"""What a retraining keeps: the best model beside the last; early stopping; nothing twice."""

import itertools
import math
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time

import pytest
from backend_kinds import on_backend

import rungwise as rw
from rungwise.checkpoints import FolderStore
from rungwise.core.decisions import STOP
from rungwise.core.events import Reported
from rungwise.core.replay import replay
from rungwise.errors import InvalidArgumentError
from rungwise.schedulers import EarlyStopping, FixedResource
from rungwise.storage.study_file import StudyFile, study_folder
from rungwise.tuning.retrained import (
    Retrained,
    compare_with_tuning,
    describe_retrained,
    describe_values,
    find_best,
    list_models,
)
from rungwise.tuning.retraining import list_retrained

pytestmark = pytest.mark.usefixtures("backend")

SPACE = {"x": rw.Float(0, 1)}
FIRST, MIDDLE, LAST = [1, 2, 3, 4, 5], [3, 2, 1, 2, 3], [5, 4, 3, 2, 1]
"""Losses, named by where the best is."""


def make_train(losses, goal="min", *, saves=lambda epoch: True, log=None):
    """Reports given losses, and saves which epoch it is."""
    sign = 1 if goal == "min" else -1

    def train(config, run):
        for epoch in run.resources():
            if log is not None:
                with log.open("a") as file:
                    file.write(f"{epoch}\n")
            if saves(epoch):
                with run.checkpoint(epoch) as folder:
                    (folder / "at").write_text(str(epoch))
            value = 100 if run.phase == "tune" else losses[epoch - 1]
            run.report(epoch, metric=sign * value, epoch=epoch)

    return train


def tune(train, path, goal="min", **changes):
    arguments = {"scheduler": rw.FixedResource(1), "workers": 1, "trials": 2, **changes}
    chosen = on_backend(arguments)
    return rw.tune(train, SPACE, metric="metric", goal=goal, study=path, show="quiet", **chosen)


@pytest.fixture(scope="module")
def tuned(tmp_path_factory, backend):
    """A study of each goal, whose trials were trained for one epoch."""
    found = {}
    for goal in ("min", "max"):
        found[goal] = tmp_path_factory.mktemp(goal) / "s.db"
        tune(make_train([], goal), found[goal], goal)
    return found


@pytest.fixture
def study(tuned, tmp_path):
    return shutil.copy(tuned["min"], tmp_path / "s.db")


def held(place):
    return None if place is None else (place / "at").read_text()


def kept(path):
    """Of which epochs there are checkpoints of retrainings."""
    places = study_folder(path).glob("retrain-*/checkpoints/at-*")
    return sorted(int((place / "at").read_text()) for place in places)


def retrained(path):
    with StudyFile(path, mode="read") as file:
        return list_retrained(file, FolderStore(str(study_folder(path))))


def list_decisions(path):
    """What was reported in the last retraining, each with what was decided."""
    with StudyFile(path, mode="read") as file:
        part = file.retrainings()[-1][1]
        entries = list(part.read_from())
        replay(part.study, entries)
    reports = [(event, decision) for event, decision in entries if isinstance(event, Reported)]
    return [(event.resource, event.value, decision) for event, decision in reports]


# -- the best and the last -----------------------------------------------------------------------


@pytest.mark.parametrize("goal", ["min", "max"])
@pytest.mark.parametrize(("losses", "at"), [(FIRST, 1), (MIDDLE, 3), (LAST, 5)])
def test_both_models_are_kept(tuned, tmp_path, goal, losses, at):
    path = shutil.copy(tuned[goal], tmp_path / "s.db")
    found = rw.load(path).retrain(make_train(losses, goal), resource=5)
    sign = 1 if goal == "min" else -1
    assert (found.resource, found.value, found.metrics) == (5, sign * losses[-1], {"epoch": 5})
    assert (found.best_resource, found.best_value) == (at, sign * min(losses))
    assert found.best_metrics == {"epoch": at}
    assert (held(found.checkpoint), held(found.best_checkpoint)) == ("5", str(at))
    assert kept(path) == sorted({at, 5})
    assert (found.stopped_early, found.from_trial) == (None, False)
    assert rw.load(path).retrained == (found,)


def test_without_checkpoints_there_is_no_model(study):
    found = rw.load(study).retrain(make_train(MIDDLE, saves=lambda epoch: False), resource=5)
    assert (found.best_resource, found.best_value) == (3, 1)
    assert (found.checkpoint, found.best_checkpoint, list_models(found)) == (None, None, {})


@pytest.mark.parametrize(
    ("saved", "best", "last", "words"),
    [
        ({2, 4}, "2", "4", ["checkpoint of its best (of 2)", "last checkpoint"]),
        ({4}, None, "4", ["last checkpoint"]),
        ({2}, "2", "2", ["checkpoint"]),
        ({3, 5}, "3", "5", ["checkpoint of its best", "last checkpoint"]),
    ],
)
def test_where_not_every_epoch_is_saved_the_last_before_the_best_counts(
    study, saved, best, last, words
):
    found = rw.load(study).retrain(make_train(MIDDLE, saves=saved.__contains__), resource=5)
    assert (held(found.best_checkpoint), held(found.checkpoint)) == (best, last)
    assert list(list_models(found)) == words


def test_a_later_one_replaces_the_models_of_an_earlier_one(study):
    first = rw.load(study).retrain(make_train(MIDDLE), resource=5)
    second = rw.load(study).retrain(make_train(LAST), resource=5)
    old, new = retrained(study)
    assert new == second
    assert (old.best_value, old.checkpoint, old.best_checkpoint) == (first.best_value, None, None)


def test_a_curve_that_peaks_early(tmp_path):
    """What a user met: the model of epoch 27 was presented, at 0.17, and that of 5 was gone."""

    def train(config, run):
        for epoch in run.resources():
            with run.checkpoint(epoch) as folder:
                (folder / "at").write_text(str(epoch))
            run.report(epoch, metric=0.9 - abs(epoch - 5) / 30)

    chosen = {"scheduler": "pasha", "max_resource": 27, "trials": 9}
    result = tune(train, tmp_path / "s.db", "max", **chosen)
    assert result.best.resource == 3
    with pytest.warns(rw.UsageWarning, match=r"0.833333 at 3: keep .* \(best_checkpoint\)"):
        found = result.retrain(train)
    assert (found.resource, found.best_resource) == (27, 5)
    assert (held(found.checkpoint), held(found.best_checkpoint)) == ("27", "5")
    assert f"{found!r}".endswith("value = 0.166667 at 27; its best was 0.9 at 5; 27 reports>")
    early = result.retrain(train, early_stop=2)
    assert (early.resource, early.best_resource, early.stopped_early) == (7, 5, 2)


# -- early stopping ------------------------------------------------------------------------------

CURVE = [9, 8, 7, 6, 7, 5, 6, 6, 6, 4, 3, 2, 1, 0, 0, 0]
"""With a patience of 3 it ends at 9; with 4 it does not end early."""


@pytest.mark.parametrize("goal", ["min", "max"])
def test_it_ends_where_training_brings_nothing(tuned, tmp_path, goal):
    path = shutil.copy(tuned[goal], tmp_path / "s.db")
    train, sign = make_train(CURVE, goal), 1 if goal == "min" else -1
    found = rw.load(path).retrain(train, resource=16, early_stop=3)
    assert (found.resource, found.best_resource, found.best_value) == (9, 6, sign * 5)
    assert (found.stopped_early, held(found.checkpoint), held(found.best_checkpoint)) == (
        (3, "9", "6")
    )  # fmt: skip
    assert "; stopped early, since 3 more brought no better one" in repr(found)
    assert list_decisions(path)[-1] == (9, sign * 6, STOP)
    assert rw.load(path).retrained == (found,)
    whole = rw.load(path).retrain(train, resource=16, early_stop=4)
    assert (whole.resource, whole.stopped_early) == (16, None)


def test_that_it_got_no_better_in_the_end_is_no_early_stop(study):
    found = rw.load(study).retrain(make_train(MIDDLE), resource=5, early_stop=2)
    assert (found.resource, found.stopped_early) == (5, None)


def test_the_default_is_none(study):
    rw.load(study).retrain(make_train(FIRST), resource=5)
    with StudyFile(study, mode="read") as file:
        (found,) = [part.study for _, part in file.retrainings()]
    assert found.scheduler == FixedResource(5)


@pytest.mark.parametrize("value", [0, -1, 1.5, "x", True])
def test_it_is_a_whole_number(study, value):
    with pytest.raises(InvalidArgumentError, match="early_stop"):
        rw.load(study).retrain(make_train(FIRST), resource=5, early_stop=value)
    assert retrained(study) == []


class EnoughError(Exception):
    """Ends a retraining from its callback."""


def stop_at(resource):
    def stop(reached, value):
        if reached == resource:
            raise EnoughError

    return stop


def test_another_patience_is_another_retraining(study, tmp_path):
    """Each that was not finished is resumed by the call that began it."""
    log = tmp_path / "log"
    train = make_train(CURVE, log=log)
    for early, until in ((3, 2), (2, 4), (None, 3)):
        with pytest.raises(EnoughError):
            rw.load(study).retrain(train, resource=16, early_stop=early, on_report=stop_at(until))
    log.unlink()
    ends = []
    for early in (3, 2, None):
        found = rw.load(study).retrain(train, resource=16, early_stop=early)
        ends.append((found.resource, found.stopped_early, held(found.checkpoint)))
    assert ends == [(9, 3, "9"), (8, 2, "8"), (16, None, "16")]
    trained = [int(line) for line in log.read_text().split()]
    began = [
        trained[0],
        *(after for before, after in itertools.pairwise(trained) if after < before),
    ]
    assert [epoch <= 5 for epoch in began] == [True] * 3
    assert min(began) > 1
    places = sorted(place.name for place in study_folder(study).glob("retrain-*"))
    trial = rw.load(study).best.trial
    assert places == [f"retrain-{trial:05d}-to-16{early}" for early in ("", "-early-2", "-early-3")]


SCRIPT = """
    import sys, time
    import rungwise as rw

    study, log, goal = sys.argv[1:]
    CURVE = [9, 8, 7, 6, 7, 5, 6, 6, 6, 4, 3, 2, 1, 0, 0, 0]

    def train(config, run):
        for epoch in run.resources():
            with open(log, "a") as file:
                file.write(f"{epoch}\\n")
            time.sleep(0.1)
            with run.checkpoint(epoch) as folder:
                (folder / "at").write_text(str(epoch))
            sign = 1 if goal == "min" else -1
            run.report(epoch, metric=sign * CURVE[epoch - 1], epoch=epoch)

    if __name__ == "__main__":
        rw.load(study).retrain(train, resource=16, early_stop=3)
"""


@pytest.mark.processes
@pytest.mark.parametrize("goal", ["min", "max"])
def test_kills_change_no_decision(tuned, tmp_path, goal):
    whole = shutil.copy(tuned[goal], tmp_path / "whole.db")
    expected = rw.load(whole).retrain(make_train(CURVE, goal), resource=16, early_stop=3)
    path, log = shutil.copy(tuned[goal], tmp_path / "s.db"), tmp_path / "log"
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT))
    for moment in (2, 5, 7, 9):  # in the last it has not reported what ends it
        process = subprocess.Popen([sys.executable, script, path, log, goal])
        deadline = time.monotonic() + 60
        while str(moment) not in (log.read_text().split() if log.exists() else []):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.kill()
        process.wait(60)
    found = rw.load(path).retrain(make_train(CURVE, goal), resource=16, early_stop=3)
    assert list_decisions(path) == list_decisions(whole)
    assert found.curve == expected.curve
    assert (found.resource, found.stopped_early, found.best_resource) == (9, 3, 6)
    assert (held(found.checkpoint), held(found.best_checkpoint)) == ("9", "6")
    assert kept(path) == [6, 9]
    assert len(retrained(path)) == 1


def test_an_interrupt_says_how_it_goes_on(study):
    parent = os.getpid()
    train = make_train(CURVE)

    def interrupted(config, run):
        if run.start == 0:
            os.kill(parent, signal.SIGINT)
            time.sleep(0.3)
        train(config, run)

    with pytest.raises(rw.StudyInterrupted, match="--resource 16 --early-stop 3"):
        rw.load(study).retrain(interrupted, resource=16, early_stop=3)
    found = rw.load(study).retrain(interrupted, resource=16, early_stop=3)
    assert (found.resource, found.stopped_early) == (9, 3)


def test_an_interrupt_at_its_last_report_does_not_spoil_it(study):
    parent = os.getpid()

    def saves(epoch):
        if epoch == 9:
            os.kill(parent, signal.SIGINT)
            time.sleep(0.3)
        return True

    found = rw.load(study).retrain(make_train(CURVE, saves=saves), resource=16, early_stop=3)
    assert (found.resource, found.stopped_early, len(retrained(study))) == (9, 3, 1)


def test_what_was_stopped_before_a_crash_is_not_trained_further(study, tmp_path):
    log = tmp_path / "log"
    train = make_train(CURVE, log=log)
    with pytest.raises(EnoughError):
        rw.load(study).retrain(train, resource=16, early_stop=3, on_report=stop_at(9))
    assert retrained(study) == []
    log.unlink()
    found = rw.load(study).retrain(train, resource=16, early_stop=3)
    assert (found.resource, found.stopped_early, log.exists()) == (9, 3, False)


# -- nothing twice -------------------------------------------------------------------------------


def peaking(config, run):
    """Best at 3 of 5 epochs; better values when it is retrained."""
    for epoch in run.resources():
        with run.checkpoint(epoch) as folder:
            (folder / "at").write_text(f"{run.phase} {epoch}")
        run.report(epoch, metric=MIDDLE[epoch - 1] + (3 + config["x"]) * (run.phase == "tune"))


def unsaved(config, run):
    for epoch in run.resources():
        run.report(epoch, metric=1 / epoch)


FULL = {"scheduler": rw.FixedResource(5)}


def test_what_the_study_has_trained_as_far_is_not_trained_again(tmp_path):
    result = tune(peaking, tmp_path / "s.db", **FULL, keep_best=True)
    seen = []
    found = result.retrain(peaking, on_report=lambda *pair: seen.append(pair))
    assert (found.from_trial, found.seconds, seen, result.retrained) == (True, 0, [], ())
    assert (found.trial, found.config) == (result.best.trial, result.best.config)
    assert found.curve == result.curve(found.trial)
    assert (found.resource, found.best_resource, found.best_value) == (5, 3, result.best.value)
    assert (held(found.checkpoint), held(found.best_checkpoint)) == ("tune 5", "tune 3")
    assert repr(found).startswith(f"<trial {found.trial}, already trained by the study itself: ")
    assert result.retrain(peaking, early_stop=1) == found
    assert rw.load(result.path).retrain(peaking) == found
    assert retrained(result.path) == []


def test_unless_asked(tmp_path):
    result = tune(peaking, tmp_path / "s.db", **FULL)
    found = result.retrain(peaking, fresh=True)
    assert (found.from_trial, held(found.best_checkpoint)) == (False, "retrain 3")
    assert result.retrained == (found,)
    with pytest.raises(EnoughError):
        result.retrain(peaking, fresh=True, on_report=stop_at(2))
    again = result.retrain(peaking)  # the unfinished one goes on
    assert (again.from_trial, again.curve) == (False, found.curve)
    assert result.retrain(peaking).from_trial


def test_so_far_means_no_further(tmp_path):
    result = tune(peaking, tmp_path / "s.db", **FULL)
    assert not result.retrain(peaking, resource=3).from_trial
    assert not result.retrain(unsaved, resource=6).from_trial


def test_models_that_were_removed_are_trained_again(tmp_path):
    result = tune(peaking, tmp_path / "s.db", **FULL, keep=1)
    other = 1 - result.best.trial
    assert result.retrain(peaking).from_trial
    assert not result.retrain(peaking, trial=other).from_trial
    none = tune(peaking, tmp_path / "none.db", **FULL, keep=0)
    assert not none.retrain(peaking).from_trial


def test_where_nothing_is_saved_there_is_nothing_to_miss(tmp_path):
    result = tune(unsaved, tmp_path / "s.db", **FULL)
    found = result.retrain(unsaved)
    assert (found.from_trial, found.value, found.checkpoint) == (True, 0.2, None)


def test_a_trial_that_failed_was_not_trained(tmp_path):
    def diverges(config, run):
        for epoch in run.resources():
            diverged = run.phase == "tune" and epoch == 5
            run.report(epoch, metric=math.nan if diverged else 1 / epoch)

    result = tune(diverges, tmp_path / "s.db", **FULL, retries=0)
    found = result.retrain(diverges, trial=0)
    assert (found.from_trial, found.value) == (False, 0.2)


# -- what is said --------------------------------------------------------------------------------


def test_a_result_worse_than_tuning_is_said(tmp_path):
    """Of the whole retraining, too, with the trial's own model."""
    values = {"tune": [2, 1, 2], "retrain": [5, 4, 3, 2, 1.5, 6]}

    def train(config, run):
        for epoch in run.resources():
            with run.checkpoint(epoch) as folder:
                (folder / "at").write_text(run.phase)
            run.report(epoch, metric=values[run.phase][epoch - 1])

    result = tune(train, tmp_path / "s.db", scheduler=rw.FixedResource(3), keep_best=True)
    with pytest.warns(rw.UsageWarning, match="even the best value") as said:
        found = result.retrain(train, resource=6)
    own = result.best.checkpoint
    assert str(said[0].message).endswith(f"had seen of it, 1 at 2: keep that of the trial, {own}")
    assert said[0].filename == __file__
    assert result.retrained == (found,)


CASES = [
    ("min", [(1, 1.0)], (0.5, 0.5), ""),
    ("min", [(1, 1.0)], (1.0, 1.0), ""),
    ("min", [(1, 1.0)], (2.0, 0.5), "the last value"),
    ("min", [(1, 1.0)], (2.0, 1.5), "even the best value"),
    ("min", [(1, 1.0)], (math.nan, None), "even the best value"),
    ("min", [(1, math.nan), (2, math.inf)], (2.0, 1.5), ""),
    ("min", [(1, 2.0), (9, 1.0)], (2.0, 2.0), ""),  # beyond the retraining
    ("max", [(1, 1.0)], (2.0, 2.0), ""),
    ("max", [(1, 1.0)], (0.5, 2.0), "the last value"),
    ("max", [(1, 1.0)], (0.5, 0.9), "even the best value"),
]


@pytest.mark.parametrize(("goal", "curve", "values", "said"), CASES)
def test_when_it_is_worse(goal, curve, values, said):
    last, best = values
    found = Retrained(0, {}, last, 5, best_value=best, best_resource=best and 3)
    assert compare_with_tuning(found, curve, goal).startswith(said)
    assert bool(compare_with_tuning(found, curve, goal)) == bool(said)


def test_the_sentence():
    assert describe_values(0.9685, 60, (23, 0.98)) == "0.9685 at 60; its best was 0.98 at 23"
    assert describe_values(0.98, 60, (60, 0.98)) == "0.98 at 60, its best"
    assert describe_values(math.nan, 60, None) == "nan at 60"
    found = Retrained(3, {}, 0.5, 60, [], [], 2.0, None, 0.4, 23, stopped_early=20)
    assert describe_retrained(found, "loss") == (
        "trial 3, trained from scratch in 2.0 s: loss = 0.5 at 60; its best was 0.4 at 23; "
        "stopped early, since 20 more brought no better one"
    )


@pytest.mark.parametrize(
    ("values", "least", "most"),
    [
        ([3, 1, 1, 2], (2, 1), (1, 3)),
        ([math.nan, 2, math.inf, -math.inf], (2, 2), (2, 2)),
        ([math.nan, math.inf], None, None),
        ([], None, None),
    ],
)
def test_what_is_not_finite_is_never_best(values, least, most):
    curve = list(enumerate(values, 1))
    assert (find_best(curve, "min"), find_best(curve, "max")) == (least, most)


def test_it_is_shown_and_stored(study):
    found = rw.load(study).retrain(make_train(MIDDLE), resource=5)
    page = found._repr_html_()
    assert "trained from scratch in" in page
    assert "value = 3 at 5; its best was 1 at 3" in page
    assert f"checkpoint of its best: <code>{found.best_checkpoint}</code>" in page
    document = found.to_json()
    assert (document["best_value"], document["best_resource"]) == (1, 3)
    assert document["best_checkpoint"] == str(found.best_checkpoint)
    assert (document["best_metrics"], document["from_trial"]) == ({"epoch": 3}, False)


def test_its_recipe_is_that_of_the_package(study):
    rw.load(study).retrain(make_train(CURVE), resource=16, early_stop=3)
    with StudyFile(study, mode="read") as file:
        (found,) = [part.study for _, part in file.retrainings()]
    assert found.scheduler == EarlyStopping(3, max_resource=16)
