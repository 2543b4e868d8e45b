"""What comes of a study: the result, retraining the winner, going on by resume()."""

import builtins
import functools
import importlib
import sys
import textwrap

import pytest
from backend_kinds import on_backend
from extras import needs

import rungwise as rw
from rungwise.storage.study_file import study_folder

SPACE = {"x": rw.Float(0, 1), "kind": ["a", "b"]}
pytestmark = pytest.mark.usefixtures("backend")


def train(config, run):
    for epoch in run.resources():
        with run.checkpoint(epoch) as folder:
            (folder / "at").write_text(f"{run.phase} {epoch}")
        run.report(epoch, loss=abs(config["x"] - 0.3) + 1 / epoch, twice=2 * epoch)


def tune(train, study, **changes):
    arguments = {"metric": "loss", "goal": "min", "max_resource": 9, "trials": 9, "workers": 1}
    chosen = on_backend({**arguments, **changes})
    return rw.tune(train, SPACE, study=study, show="quiet", **chosen)


@pytest.fixture(scope="module")
def result(tmp_path_factory, backend):
    return tune(train, tmp_path_factory.mktemp("study") / "s.db")


@pytest.fixture(params=["result", "loaded"])
def either(request, result):
    return result if request.param == "result" else rw.load(result.path)


# -- reading -----------------------------------------------------------------------------------


def test_the_best_is_the_first_of_the_leaderboard(either):
    rows = either.leaderboard(None)
    assert len(rows) == either.trials == 9
    assert [row.rank for row in rows] == list(range(1, 10))
    assert [row.value for row in rows] == sorted(row.value for row in rows)
    assert len(either.leaderboard()) == 9
    assert either.leaderboard(3) == rows[:3]
    best = either.best
    assert (best.trial, best.value, best.resource) == (
        rows[0].trial,
        rows[0].value,
        rows[0].resource,
    )
    assert best.value == pytest.approx(abs(best.config["x"] - 0.3) + 1 / best.resource)
    reached = either.engine.trials[best.trial].resource
    assert (best.checkpoint / "at").read_text() == f"tune {reached:g}"


def test_curves_are_what_was_reported(either):
    for trial in either.engine.trials:
        curve = either.curve(trial.id)
        expected = [(e, abs(trial.config["x"] - 0.3) + 1 / e) for e in range(1, len(curve) + 1)]
        assert curve == expected
    assert either.max_resource == max(len(either.curve(n)) for n in range(9))
    assert either.reports == sum(len(either.curve(n)) for n in range(9))


def test_what_was_saved_is_told_against_others(either):
    random = either.saved_versus("random")
    assert (random.resource, random.other) == (either.resource_spent, 81)
    assert random.ratio == pytest.approx(81 / either.resource_spent)
    assert either.saved_versus().name == "ASHA"
    assert either.saved_versus("asha", max_resource=9) == either.saved_versus("asha")
    with pytest.raises(rw.InvalidArgumentError, match="'asha'"):
        either.saved_versus("luck")


def test_a_data_frame_has_a_row_a_trial(either):
    needs("pandas")
    frame = either.to_dataframe()
    assert list(frame["trial"]) == [row.trial for row in either.leaderboard(None)]
    assert {"value", "resource", "reached", "state", "config.x", "config.kind"} < set(frame.columns)


def test_without_pandas_the_extra_is_named(either, monkeypatch):
    real = importlib.import_module

    def without(name, *rest):
        if name == "pandas":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(importlib, "import_module", without)
    with pytest.raises(rw.MissingExtraError, match=r"pip install 'rungwise\[pandas\]'") as missing:
        either.to_dataframe()
    assert isinstance(missing.value, builtins.ImportError)


def test_a_data_frame_is_made_of_plain_rows(either, monkeypatch):
    """With a stand-in for pandas, so that it is looked at wherever the tests are run."""

    class Frame(list):
        pass

    stand_in = type(sys)("pandas")
    stand_in.DataFrame = Frame
    monkeypatch.setitem(sys.modules, "pandas", stand_in)
    first = either.to_dataframe()[0]
    best = either.best
    assert (first["trial"], first["value"], first["config.x"]) == (
        best.trial,
        best.value,
        best.config["x"],
    )


def test_a_result_shows_itself(either):
    best = either.best
    assert repr(either) == f"<result of 9 trials: loss={best.value:g}; {either.path}>"
    assert either.why.startswith("Done: 9 configurations compared; trial ")
    assert either.seconds > 0


# -- retraining --------------------------------------------------------------------------------


def retraining(config, run):
    for epoch in run.resources():
        if epoch == 4 and run.start == 0:
            raise RuntimeError("once")
        with run.checkpoint(epoch) as folder:
            (folder / "at").write_text(f"{run.phase} {epoch}")
        extras = {"test": epoch * 10, "began": run.start} if epoch % 2 else {}
        run.report(epoch, loss=abs(config["x"] - 0.3) + 1 / epoch, **extras)


def test_the_winner_is_trained_in_full(either):
    told = []
    found = either.retrain(retraining, fresh=True, on_report=lambda *pair: told.append(pair))
    best = either.best
    assert (found.trial, found.config, found.resource) == (best.trial, best.config, 9)
    assert found.value == pytest.approx(abs(best.config["x"] - 0.3) + 1 / 9)
    assert [resource for resource, _ in found.curve] == list(range(1, 10))  # with one failure
    assert told == found.curve
    assert found.metrics == {"test": 90, "began": 3}
    assert (found.checkpoint / "at").read_text() == "retrain 9"
    assert found.seconds > 0
    assert rw.load(either.path).retrained[-1] == found
    assert found.checkpoint.parents[2] == study_folder(either.path)
    assert either.best.checkpoint != found.checkpoint


def test_another_trial_may_be_trained_and_not_so_far(result):
    other = result.leaderboard(2)[1].trial
    found = result.retrain(retraining, trial=other, resource=2)
    assert (found.trial, found.resource) == (other, 2)
    assert found.config == result.engine.trials[other].config
    assert found.metrics == {}  # of the last report, which had none


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"trial": 9}, "trial is 9, but the study has the trials 0 to 8"),
        ({"trial": -1}, "trial is -1"),
        ({"resource": 0}, "resource is 0, but it must be a whole number of at least 1"),
        ({"train": 5}, "train is 5"),
    ],
)
def test_bad_retrainings_are_refused(result, changes, told):
    before = sorted(study_folder(result.path).glob("retrain-*"))
    arguments = {"train": train, **changes}
    with pytest.raises(rw.InvalidArgumentError, match=told):
        result.retrain(arguments.pop("train"), **arguments)
    assert sorted(study_folder(result.path).glob("retrain-*")) == before


def test_a_retraining_that_fails_says_so(result):
    def failing(config, run):
        raise KeyError("gone")

    with pytest.raises(rw.RetrainingError, match="KeyError: 'gone'") as failed:
        result.retrain(failing, fresh=True)
    assert (failed.value.trial, "Traceback" in failed.value.trace) == (result.best.trial, True)
    with pytest.raises(rw.RetrainingError, match="without a report"):
        result.retrain(lambda config, run: None, fresh=True)


# -- resume ------------------------------------------------------------------------------------

MODULE = """
    import os
    import rungwise as rw

    def train(config, run):
        for epoch in run.resources():
            run.report(epoch, loss=config["x"] / epoch)

    class Some:
        @staticmethod
        def train(config, run):
            train(config, run)
"""


class EnoughError(Exception):
    """Stops a study from its callback."""


def stop_at(trial):
    def stop(report):
        if report.trial == trial:
            raise EnoughError

    return stop


@pytest.mark.parametrize("name", ["train", "Some.train"])
def test_a_function_of_a_module_is_found_again(tmp_path, monkeypatch, name):
    (tmp_path / "found_again.py").write_text(textwrap.dedent(MODULE))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "found_again", raising=False)
    function = importlib.import_module("found_again")
    for part in name.split("."):
        function = getattr(function, part)
    path = tmp_path / "s.db"
    with pytest.raises(EnoughError):
        tune(function, path, on_report=stop_at(2))
    assert rw.load(path)._about.train == {"function": f"found_again:{name}"}
    ends = []
    result = rw.resume(path, show="quiet", on_end=ends.append, retries=0)
    assert (result.ended, result.trials, ends) == (True, 9, [result])
    again = rw.resume(path, show="quiet")  # over: nothing is trained, and nothing wrong
    assert again.best == result.best


def test_a_function_that_cannot_be_found_must_be_given(tmp_path):
    path = tmp_path / "s.db"
    with pytest.raises(EnoughError):
        tune(functools.partial(train), path, on_report=stop_at(1))
    held = path.read_bytes()
    with pytest.raises(
        rw.InvalidArgumentError, match="does not record where its training function is"
    ):
        rw.resume(path, show="quiet")
    with pytest.raises(TypeError, match=r"resume\(\) has no argument colour=: it has backend"):
        rw.resume(path, train, colour="blue")
    with pytest.raises(rw.InvalidArgumentError, match="train is 5"):
        rw.resume(path, 5)
    with pytest.raises(rw.InvalidArgumentError, match="workers is 0"):
        rw.resume(path, train, workers=0)
    assert path.read_bytes() == held
    result = rw.resume(path, train, show="quiet", workers=2)
    assert (result.ended, result.trials) == (True, 9)


def test_a_function_whose_file_is_gone_says_so(tmp_path, monkeypatch):
    path = tmp_path / "s.db"
    tune(train, path, trials=1, scheduler=rw.FixedResource(1), max_resource=None)
    assert (
        rw.load(path)
        ._about.train["function"]
        .endswith(("test_results.py:train", ".test_results:train"))
    )
    module = tmp_path / "short_lived.py"
    module.write_text(textwrap.dedent(MODULE))
    monkeypatch.syspath_prepend(tmp_path)
    short_lived = importlib.import_module("short_lived")
    other = tmp_path / "t.db"
    with pytest.raises(EnoughError):
        tune(short_lived.train, other, on_report=stop_at(1))
    module.unlink()
    monkeypatch.delitem(sys.modules, "short_lived")
    importlib.invalidate_caches()
    with pytest.raises(rw.InvalidArgumentError, match=r"cannot be imported.*short_lived"):
        rw.resume(other, show="quiet")


def test_load_reads_while_another_writes(tmp_path):
    seen = []

    def look(report):
        loaded = rw.load(tmp_path / "s.db")
        seen.append((loaded.reports, loaded.ended))

    result = tune(train, tmp_path / "s.db", trials=2, on_report=look)
    assert seen == [(number, False) for number in range(1, result.reports + 1)]
