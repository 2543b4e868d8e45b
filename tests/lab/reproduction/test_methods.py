"""Every method is the scheduler that the paper describes, under both protocols."""

import pytest

import rungwise as rw
from rungwise import rankings as rk
from rungwise.benchmarks.card import Card
from rungwise.errors import InvalidArgumentError
from rungwise.lab.reproduction import methods
from rungwise.lab.reproduction.experiments import (
    EXPERIMENTS,
    chosen,
    methods_for,
    plan,
    points_per_epoch,
    unfit,
)
from rungwise.lab.reproduction.methods import METHODS, Case
from rungwise.lab.reproduction.protocols import OURS, PAPER, PROTOCOLS

TABLE = rw.power_laws(rows=12, resources=40, seed=3)

CRITERIA = {
    "pasha": rk.Noise(90),
    "direct": rk.Exact(),
    "soft-0.01": rk.Soft(0.01),
    "soft-0.02": rk.Soft(0.02),
    "soft-0.025": rk.Soft(0.025),
    "soft-0.03": rk.Soft(0.03),
    "soft-0.05": rk.Soft(0.05),
    "soft-1sigma": rk.SoftSigma(1),
    "soft-2sigma": rk.SoftSigma(2),
    "soft-3sigma": rk.SoftSigma(3),
    "soft-mean": rk.SoftMean(),
    "soft-median": rk.SoftMedian(),
    "rbo-1.0": rk.RBO(p=1.0, t=0.5),
    "rbo-0.5": rk.RBO(p=0.5, t=0.5),
    "rrr-1.0": rk.RRR(p=1.0, t=0.05),
    "rrr-0.5": rk.RRR(p=0.5, t=0.05),
    "arrr-1.0": rk.ARRR(p=1.0, t=0.05),
    "arrr-0.5": rk.ARRR(p=0.5, t=0.05),
    "noise-100": rk.Noise(100),
    "noise-95": rk.Noise(95),
    "noise-80": rk.Noise(80),
}

SEARCHERS = {
    "bo": rw.searchers.GP(),
    "kde": rw.searchers.KDE(),
    "tpe": rw.searchers.OptunaSearcher("tpe"),
}


def recipes():
    """name → (recipe under the paper's protocol, recipe under ours) on 40 resources."""
    quantile = {"promote": "quantile"}
    checked = {"promote": "quantile", "check": "report"}
    for name, resource in (("one", 1), ("two", 2), ("three", 3), ("five", 5)):
        yield f"{name}-epoch", (rw.FixedResource(resource),) * 2
    for name, facts in {
        "asha": {"max_resource": 40},
        "asha-eta2": {"max_resource": 40, "eta": 2},
        "asha-eta4": {"max_resource": 40, "eta": 4},
        "asha-quarter": {"max_resource": 10},
        "asha-coarse": {"max_resource": 40},
    }.items():
        yield name, (rw.ASHA(**facts, **quantile), rw.ASHA(**facts))
        other = "p" + name
        yield other, (rw.PASHA(**facts, **checked), rw.PASHA(**facts))
    for name, ranking in CRITERIA.items():
        facts = {"max_resource": 40, "ranking": ranking}
        yield name, (rw.PASHA(**facts, **checked), rw.PASHA(**facts))
    for name in SEARCHERS:
        facts = {"max_resource": 40}
        yield f"asha-{name}", (rw.ASHA(**facts, **quantile), rw.ASHA(**facts))
        yield f"pasha-{name}", (rw.PASHA(**facts, **checked), rw.PASHA(**facts))


EXPECTED = dict(recipes())


@pytest.mark.parametrize("name", EXPECTED)
def test_a_method_is_the_recipe_of_the_paper(name, monkeypatch):
    played = []

    def simulate(table, recipe, **options):
        played.append((table, recipe, options))

    monkeypatch.setattr(methods, "simulate", simulate)
    for protocol in (PAPER, OURS):
        METHODS[name].play(Case(TABLE, [3, 1, 2], protocol, workers=2, seed=7))
    searcher = SEARCHERS.get(name.partition("-")[2])
    trials = [3, 1, 2] if searcher is None else 3
    shared = {"trials": trials, "searcher": searcher, "workers": 2, "seed": 7, "on_progress": None}
    assert played == [
        (TABLE, EXPECTED[name][0], {**shared, "finish": "paper"}),
        (TABLE, EXPECTED[name][1], {**shared, "finish": "drain"}),
    ]


def test_every_method_is_known_above():
    assert {*EXPECTED, "random", "optuna"} == set(METHODS)


def test_random_takes_the_first_of_the_sample_without_training():
    case = Case(TABLE, rw.simulate(TABLE, rw.ASHA(), trials=5, seed=4).rows, OURS, 4, 4)
    result = METHODS["random"].play(case)
    same = rw.random_configuration(TABLE, seed=4)
    assert result.best.row == same.best.row == case.sample[0]
    assert (result.seconds, result.max_resource, result.resource_spent) == (0, 0, 0)
    assert result.rows == case.sample


def test_methods_are_compared_with_the_asha_of_their_own_setting():
    references = {name: METHODS[name].reference for name in METHODS}
    own = {
        **dict.fromkeys(("asha-eta2", "pasha-eta2"), "asha-eta2"),
        **dict.fromkeys(("asha-eta4", "pasha-eta4"), "asha-eta4"),
        **dict.fromkeys(("asha-quarter", "pasha-quarter"), "asha-quarter"),
        **dict.fromkeys(("asha-coarse", "pasha-coarse"), "asha-coarse"),
        **{f"{kind}asha-{name}": f"asha-{name}" for name in SEARCHERS for kind in ("", "p")},
    }
    assert references == {**dict.fromkeys(METHODS, "asha"), **own}


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_holds_what_its_methods_are_compared_with(name):
    experiment = EXPERIMENTS[name]
    assert all(METHODS[method].reference in experiment.methods for method in experiment.methods)
    assert all(METHODS[method].plain in (*experiment.methods, "") for method in experiment.methods)
    assert experiment.methods


def test_protocols_are_the_paper_and_our_defaults():
    default = rw.PASHA()
    assert (OURS.promote, OURS.check) == (default.promote, default.check)
    assert list(PROTOCOLS) == ["paper", "ours"]


# -- which experiment on which benchmark --------------------------------------------------------


def test_experiments_come_in_their_own_order_and_once():
    assert chosen(["rankings", "table1", "rankings"]) == ("table1", "rankings")
    assert chosen(["all"]) == tuple(name for name in EXPERIMENTS if name != "bo")
    assert chosen(["bo", "all"]) == tuple(EXPERIMENTS)


def test_an_unknown_experiment_is_refused_with_all_names():
    with pytest.raises(
        InvalidArgumentError, match=r"'table2', but it must be all or one of table1"
    ):
        chosen(["table1", "table2"])


def card(name, **facts):
    return Card(name=name, rows=10, **{"resources": 40, **facts})


def test_lcbench_has_an_experiment_of_its_own_unless_it_is_named():
    cards = [card("fashion-nas"), card("lcbench-car")]
    names = ("table1", "lcbench", "bo")
    pairs = [(e.name, c.name) for e, c in plan(names, cards, everything=True)]
    assert pairs == [("table1", "fashion-nas"), ("lcbench", "lcbench-car")]
    pairs = [(e.name, c.name) for e, c in plan(names, cards, everything=False)]
    assert ("table1", "lcbench-car") in pairs


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        ({}, "at most one point per epoch"),
        ({"details": {"points_per_epoch": 1}}, "at most one point per epoch"),
        ({"details": {"points_per_epoch": "many"}}, "at most one point per epoch"),
        ({"details": {"points_per_epoch": 8}, "resources": 7}, "shorter than one epoch"),
        ({"details": {"points_per_epoch": 8}}, ""),
    ],
)
def test_granularity_needs_points_within_an_epoch(facts, why):
    told = unfit(EXPERIMENTS["granularity"], card("mlp-hpo", **facts))
    assert why in told
    assert bool(why) == bool(told)


def test_points_per_epoch_come_from_the_card():
    assert points_per_epoch(card("x", details={"points_per_epoch": 8})) == 8
    assert points_per_epoch(card("x", details={"points_per_epoch": True})) == 1


def test_methods_that_need_more_resources_than_there_are_stay_out():
    names = [method.name for method in methods_for(EXPERIMENTS["epochs"], card("x", resources=3))]
    assert names == ["asha", "pasha", "one-epoch", "two-epoch", "three-epoch", "random"]
    names = [
        method.name for method in methods_for(EXPERIMENTS["resources"], card("x", resources=3))
    ]
    assert names == ["asha", "pasha"]


def test_where_the_paper_has_its_figures():
    assert EXPERIMENTS["table1"].whereabouts == "the paper's tables 1 and 5"
    assert EXPERIMENTS["bo"].whereabouts == "the paper's table 3"
    assert EXPERIMENTS["rankings"].whereabouts == "the paper's tables 4, 9, 10, 11 and 12"
    assert EXPERIMENTS["granularity"].whereabouts == ""
