"""Results: a simulated study and a real one are read alike."""

import json
import pickle
from dataclasses import replace

import pytest

import rungwise as rw
from rungwise.views import StudyResult

ROWS = [[2 - number / 9 + 1 / epoch for epoch in range(1, 10)] for number in range(9)]
COMMON = {
    "winner",
    "metric", "goal", "state", "ended", "best", "why", "numbers", "rule", "unit",
    "trials", "reports", "resource_spent",
    "max_resource", "seconds", "ceilings", "epsilons", "leaderboard",
    "extensions",
}  # fmt: skip


def train(config, run):
    for epoch in run.resources():
        with run.checkpoint(epoch):
            pass  # so that nothing is trained twice, as in a simulation
        run.report(epoch, loss=ROWS[config["row"]][epoch - 1])


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    return rw.tune(
        train,
        {"row": list(range(9))},
        metric="loss",
        goal="min",
        scheduler=rw.PASHA(max_resource=9),
        searcher=rw.searchers.Grid(),
        trials=9,
        workers=1,
        study=tmp_path_factory.mktemp("study") / "s.db",
        show="quiet",
    )


@pytest.fixture(scope="module")
def simulated(real):
    """The same study on a table: the rows that were drawn, in the order drawn."""
    rows = [real.view.trial(number).config["row"] for number in range(real.trials)]
    return rw.simulate(rw.Table(ROWS), rw.PASHA(max_resource=9), trials=rows, workers=1)


@pytest.fixture(params=["real", "loaded", "simulated"])
def result(request, real, simulated):
    return {"real": real, "loaded": rw.load(real.path), "simulated": simulated}[request.param]


def test_both_kinds_are_results(result):
    assert isinstance(result, StudyResult)
    assert isinstance(result.best, rw.BestTrial)


def test_both_kinds_answer_alike(real, simulated):
    for name in (
        "goal", "ended", "why", "trials", "reports", "resource_spent", "max_resource",
        "ceilings", "epsilons",
    ):  # fmt: skip
        assert getattr(simulated, name) == getattr(real, name), name
    for name in ("leaderboard", "rungs", "curves"):
        assert getattr(simulated, name)() == getattr(real, name)(), name
    assert simulated.leaderboard(None) == real.leaderboard(None)
    assert [simulated.curve(n) for n in range(9)] == [real.curve(n) for n in range(9)]
    ours, theirs = simulated.best, real.best
    assert (ours.trial, ours.config, ours.value, ours.resource) == (
        theirs.trial, theirs.config, theirs.value, theirs.resource,
    )  # fmt: skip
    assert ours.checkpoint is None


def test_a_result_agrees_with_itself(result):
    rows = result.leaderboard(None)
    best = result.best
    assert (rows[0].trial, rows[0].value, rows[0].resource) == (
        best.trial, best.value, best.resource,
    )  # fmt: skip
    assert result.leaderboard(2) == rows[:2]
    curves = result.curves()
    assert list(curves) == list(range(result.trials))
    assert sum(len(curve) for curve in curves.values()) == result.reports
    assert max(curve[-1][0] for curve in curves.values()) == result.max_resource
    assert result.rungs()[-1].level == result.ceilings[-1][1]


def test_documents_share_their_keys(real, simulated):
    ours, theirs = simulated.to_json(), real.to_json()
    assert set(ours) & set(theirs) == COMMON
    for name in COMMON - {"metric", "seconds", "best"}:
        assert ours[name] == theirs[name], name
    saved = {"checkpoint": None, "checkpoint_resource": None}
    assert {**theirs["best"], **saved, "row": simulated.best.row} == ours["best"]
    assert set(theirs) - COMMON == {"study", "way_on", "failures", "savings", "tags", "note"}
    assert set(ours) - COMMON == {"jobs", "rows", "leads"}


def test_documents_are_plain_json(result):
    document = result.to_json(top=2)
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert len(document["leaderboard"]) == 2
    assert len(result.to_json(top=None)["leaderboard"]) == 9
    assert document["best"]["trial"] == document["leaderboard"][0]["trial"] == result.best.trial


# -- simulated ---------------------------------------------------------------------------------


def test_a_simulated_result_names_the_row(simulated):
    assert isinstance(simulated.best, rw.Best)
    assert simulated.best.row == simulated.rows[simulated.best.trial]
    assert simulated.best.config == {"row": simulated.best.row}


def test_simulated_results_are_compared_and_pickled(simulated):
    again = rw.simulate(rw.Table(ROWS), rw.PASHA(max_resource=9), trials=simulated.rows, workers=1)
    assert again == simulated
    assert again.view is not simulated.view
    assert replace(again, seconds=0.0) != simulated
    back = pickle.loads(pickle.dumps(simulated))  # noqa: S301 - our own
    assert back == simulated
    assert back.to_json(top=None) == simulated.to_json(top=None)
    assert back.curves() == simulated.curves()
    assert "view" not in repr(simulated)


def test_a_searcher_s_proposal_is_the_configuration():
    configs = [{"x": number / 9} for number in range(9)]
    table = rw.Table(ROWS, configs=configs, space=rw.Space.parse({"x": rw.Float(0, 1)}))
    result = rw.simulate(
        table, rw.ASHA(), trials=9, searcher=rw.searchers.Sobol(), workers=1, seed=2
    )
    best = result.best
    assert set(best.config) == {"x"}
    assert best.config == result.view.trial(best.trial).config
    assert best.row == result.rows[best.trial]


def test_a_configuration_that_was_not_trained_has_nothing_to_show():
    result = rw.random_configuration(rw.Table(ROWS, goal="max"), seed=3)
    assert (result.trials, result.reports, result.goal, result.ended) == (1, 0, "max", True)
    (row,) = result.leaderboard()
    assert (row.trial, row.value, row.state, row.config) == (
        0, None, "new", {"row": result.best.row},
    )  # fmt: skip
    assert (result.rungs(), result.curves(), result.curve(0)) == ([], {0: []}, [])
    document = result.to_json()
    assert (document["best"]["value"], document["best"]["row"]) == (None, result.rows[0])


def test_nothing_found_is_no_best():
    table = rw.Table([[float("nan"), 0.5]] * 3)
    result = rw.simulate(table, rw.FixedResource(1), trials=3)
    assert (result.best, result.to_json()["best"]) == (None, None)
    assert [row.value for row in result.leaderboard()] == [None] * 3


# -- real --------------------------------------------------------------------------------------


def test_retrainings_are_part_of_the_result(real):
    assert rw.load(real.path).retrained == ()
    result = rw.load(real.path)
    found = result.retrain(train, resource=3, fresh=True)
    assert result.retrained == (found,)
    assert rw.load(real.path).retrained == (found,)
