"""A study that stops drawing by itself when more configurations are not worth it."""

import pytest

import rungwise as rw
from rungwise.core.limits import Limits

LOSSES = [5.0, 4.0, 6.0, 7.0, 3.0, 8.0, 9.0, 10.0, 2.0, 1.0]
"""The configuration drawn fifth is the best of the first eight."""


def simulate(stall, *, trials=10, workers=1, scheduler=None):
    table = rw.Table([[loss] for loss in LOSSES])
    recipe = rw.FixedResource(1) if scheduler is None else scheduler
    rows = list(range(trials))
    return rw.simulate(table, recipe, trials=rows, workers=workers, stall=stall)


@pytest.mark.parametrize(("stall", "drawn"), [(1, 3), (2, 4), (3, 8), (4, 10), (None, 10)])
def test_drawing_ends_after_so_many_without_a_better_one(stall, drawn):
    assert simulate(stall).trials == drawn


def test_it_says_why():
    assert "8 configurations were evaluated" in simulate(3).rule
    assert "3 in a row were not better than the best, so no more were drawn" in simulate(3).rule
    assert "in a row" not in simulate(4).rule


def test_what_was_drawn_is_still_promoted():
    curves = [[loss, loss, loss] for loss in LOSSES[:8]]
    scheduler = rw.ASHA(max_resource=3)
    result = rw.simulate(rw.Table(curves), scheduler, trials=range(8), workers=1, stall=3)
    assert result.max_resource == 3
    assert result.best.row == 4


def test_who_has_not_reported_yet_does_not_count():
    assert simulate(3, workers=10).trials == 10


def test_who_leads_only_after_a_promotion_keeps_the_search_going():
    """The second overtakes the first at the second rung: it counts from there."""
    curves = [[1.0, 0.9, 0.9], [1.1, 0.5, 0.5], [1.05, 0.95, 0.95], *[[2.0, 2.0, 2.0]] * 9]
    scheduler = rw.ASHA(max_resource=3)
    result = rw.simulate(rw.Table(curves), scheduler, trials=range(12), workers=1, stall=6)
    assert result.leads[-1][1] in {0, 1, 2}
    assert 7 <= result.trials <= 12


def test_a_study_in_which_all_fail_ends_too():
    table = rw.Table([[float("nan")]] * 9 + [[1.0]])
    assert rw.simulate(table, rw.FixedResource(1), trials=range(10), stall=4, workers=1).trials == 4


def test_a_study_may_have_no_other_limit():
    assert Limits(stall=5).trials is None
    with pytest.raises(rw.InvalidArgumentError, match="stall"):
        Limits(stall=0)
    with pytest.raises(rw.InvalidArgumentError, match="target or stall"):
        Limits()


def test_a_real_study_ends_by_itself_and_resumes_to_the_same(tmp_path):
    def train(config, run):
        run.report(1, loss=1.0 if run.trial else 0.5)

    result = rw.tune(
        train, {"x": rw.Float(0.0, 1.0)}, metric="loss", goal="min", max_resource=1,
        stall=6, trials=50, backend=rw.Threads(workers=1), study=tmp_path / "s.db", show="quiet",
    )  # fmt: skip
    assert result.trials == 7
    assert "6 in a row" in result.rule
    assert rw.load(tmp_path / "s.db").why == result.why


def test_a_smaller_number_is_a_reduction():
    assert Limits(stall=8).find_reductions(Limits(stall=9), goal="min") == []
    assert Limits(stall=8).find_reductions(Limits(stall=7), goal="min")
    assert Limits(trials=8).find_reductions(Limits(trials=8, stall=7), goal="min")
