"""Samplers of Optuna as searchers."""

import json
import logging
import math
import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from extras import needs

import rungwise as rw
from rungwise.core.limits import Limits
from rungwise.core.study import Study
from rungwise.schedulers import PASHA
from rungwise.searchers import OptunaSearcher, RandomSearcher
from rungwise.searchers.observations import standings
from rungwise.space import Choice, Float, Int, Space
from rungwise.storage import codec
from rungwise.testing.searchers import (
    FINITE_SPACES,
    SPACES,
    ListHistory,
    Observation,
    SearcherConformance,
    forbidden_space,
    mixed_space,
    proposals,
    tiny_space,
)

optuna = needs("optuna", "optuna")

LINE = Space.parse({"x": Float(0.0, 1.0)})
PLANE = Space.parse({"x": Float(0.0, 1.0), "y": Float(1e-4, 1.0, log=True)})


@pytest.fixture(autouse=True)
def _importable():
    """Samplers of this file are imported by its name."""
    sys.modules["test_optuna"] = sys.modules[__name__]
    sys.path.insert(0, str(Path(__file__).parent))
    yield
    sys.path.remove(str(Path(__file__).parent))


class TestOptuna(SearcherConformance):
    import_path = "rungwise.searchers:OptunaSearcher"


def bowl(config):
    return (config["x"] - 0.3) ** 2 + (math.log10(config["y"]) + 2) ** 2


def history_of(space, count, loss=lambda _: 1.0, seed=0):
    history, rng = ListHistory(space), np.random.default_rng(seed)
    for _ in range(count):
        config = space.sample(rng)
        history.add(config, loss(config))
    return history


def late_losses(searcher, count, seed):
    history = ListHistory(PLANE)
    for number in range(count):
        config = searcher.propose(PLANE, history, np.random.default_rng([seed, number]))
        history.add(config, bowl(config))
    return np.mean([trial.losses[0] for trial in list(history)[count // 2 :]])


def test_tpe_finds_a_bowl_faster_than_chance():
    chance = np.mean([late_losses(RandomSearcher(), 40, seed) for seed in range(3)])
    late = [late_losses(OptunaSearcher(), 40, seed) for seed in range(3)]
    assert np.mean(late) < 0.5 * chance


def test_cma_es_learns_although_every_sampler_is_a_fresh_one():
    needs("cmaes")
    chance = np.mean([late_losses(RandomSearcher(), 40, seed) for seed in range(3)])
    late = [late_losses(OptunaSearcher("cmaes"), 40, seed) for seed in range(2)]
    assert np.mean(late) < 0.25 * chance


def test_cma_es_learns_in_a_space_with_conditions():
    """Optuna gives up when a parameter that all trials had is missing in one."""
    needs("cmaes")
    numbers = [
        {"name": name, "type": "float", "low": 0.0, "high": 1.0, "log": False} for name in "wxyz"
    ]
    numbers[0]["when"] = {"name": "deep", "op": "==", "value": 1}
    deep = {"name": "deep", "type": "int", "low": 0, "high": 1, "log": False}
    space = Space.from_json({"version": 1, "parameters": [deep, *numbers], "forbidden": []})
    history, rng, seen = ListHistory(space), np.random.default_rng(0), []
    for number in range(44):
        config = (
            {"deep": 1, "w": 0.5, **{name: rng.random() for name in "xyz"}}
            if number < 12
            else OptunaSearcher("cmaes").propose(space, history, np.random.default_rng(number))
        )
        seen.append(sum((config[name] - 0.8) ** 2 for name in "xyz"))
        history.add(config, seen[-1])
    assert len({"w" in trial.config for trial in history}) == 2
    assert np.mean(seen[30:]) < 0.3 * np.mean(seen[:12])


def test_nsga_breeds_from_the_good_ones():
    """Children take their numbers from parents; a fresh sampler would only draw at random."""
    searcher = OptunaSearcher("nsgaii", population_size=8, mutation_prob=0.0)
    history = history_of(PLANE, 40, bowl)
    known = {trial.config["x"] for trial in history}
    made = [searcher.propose(PLANE, history, np.random.default_rng(n))["x"] for n in range(8)]
    assert sum(x in known for x in made) >= 6


@pytest.mark.parametrize("name", ["gp", "cmaes", "qmc", "random", "nsgaii", "nsgaiii"])
@pytest.mark.parametrize("make_space", SPACES)
def test_every_sampler_stays_in_the_space(name, make_space):
    if name in ("gp", "cmaes"):
        needs({"gp": "torch", "cmaes": "cmaes"}[name])
    space = make_space()
    options = {"n_startup_trials": 4} if name == "gp" else {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = proposals(OptunaSearcher(name, options), space, 1, 6 if name == "gp" else 16)
    for config in made:
        assert space.key(space.validate(config)) == space.key(config)
    count = FINITE_SPACES.get(make_space, len(made))
    assert len({space.key(config) for config in made}) == min(count, len(made))


def test_brute_force_uses_up_a_space():
    made = proposals(OptunaSearcher("bruteforce"), tiny_space(), 0, 6)
    assert len({tiny_space().key(config) for config in made}) == 6


def test_a_sequence_goes_on_although_every_sampler_is_a_fresh_one():
    made = [config["x"] for config in proposals(OptunaSearcher("qmc"), LINE, 0, 65)][1:]
    assert np.histogram(made, bins=16, range=(0, 1))[0].tolist() == [4] * 16
    shifted = proposals(OptunaSearcher("qmc", scramble=True, seed=5), LINE, 0, 9)
    assert shifted[1:] != proposals(OptunaSearcher("qmc", scramble=True), LINE, 0, 9)[1:]
    assert shifted[1:] == proposals(OptunaSearcher("qmc", scramble=True, seed=5), LINE, 1, 9)[1:]


def test_options_of_a_choice_keep_their_types():
    made = proposals(OptunaSearcher(n_startup_trials=5), mixed_space(), 0, 40)
    assert {(type(c["flag"]), c["flag"]) for c in made} == {
        (bool, True), (int, 1), (float, 1.0), (str, "1"),
    }  # fmt: skip
    assert {c["act"] for c in made} == {"relu", "tanh", None}


def test_ordered_options_and_numbers_are_told_as_such(monkeypatch):
    seen = []

    class Looking(optuna.samplers.RandomSampler):
        def infer_relative_search_space(self, study, trial):
            seen[:] = study.get_trials(deepcopy=False)[:-1]
            return {}

    monkeypatch.setattr("rungwise.searchers.samplers.find_sampler", lambda _: Looking)
    space = Space.parse(
        {
            "a": Float(1.0, 9.0, log=True), "b": Int(2, 64, log=True), "c": ["p", "q"],
            "d": Choice(["s", "m", "l"], ordered=True), "e": 7,
        }
    )  # fmt: skip
    history = ListHistory(space)
    history.add({"a": 3.0, "b": 8, "c": "q", "d": "l", "e": 7}, 0.5)
    history.add({"a": 4.0, "b": 9, "c": "p", "d": "s", "e": 7})
    OptunaSearcher().propose(space, history, np.random.default_rng(0))
    done, running = seen
    assert done.params == {"a": 3.0, "b": 8, "c": 1, "d": 2}
    kinds = optuna.distributions
    assert list(done.distributions.values()) == [
        kinds.FloatDistribution(1.0, 9.0, log=True), kinds.IntDistribution(2, 64, log=True),
        kinds.CategoricalDistribution((0, 1)), kinds.IntDistribution(0, 2),
    ]  # fmt: skip
    assert (done.state.name, running.state.name) == ("COMPLETE", "RUNNING")
    assert running.params == {"a": 4.0, "b": 9, "c": 0, "d": 0}


@pytest.mark.parametrize(
    "space",
    [
        Space.parse({"only": 3}),
        Space.parse({"x": Float(-1.7e308, 1.7e308)}),
        Space.parse({"k": Int(-(2**53), 2**53), "a b: é": [None, "✓"]}),
    ],
)
@pytest.mark.filterwarnings("ignore::rungwise.ModelWarning")
def test_the_oddest_spaces_are_searched(space):
    for config in proposals(OptunaSearcher(n_startup_trials=2), space, 0, 5):
        assert space.key(space.validate(config)) == space.key(config)


def test_tpe_keeps_away_from_what_is_under_way():
    def spread(pending):
        history = history_of(LINE, 30, lambda c: (c["x"] - 0.5) ** 2)
        for _ in range(pending):
            history.add({"x": 0.5})
        made = [
            OptunaSearcher().propose(LINE, history, np.random.default_rng(n))["x"]
            for n in range(20)
        ]
        return np.mean(np.abs(np.array(made) - 0.5))

    assert spread(30) > 1.5 * spread(0)


def test_who_came_further_is_better_and_then_the_lower_loss():
    class Levels(ListHistory):
        levels = (1.0, 3.0)

    history = Levels(LINE)
    history.add({"x": 0.1}, 0.1)  # good, but at the first level only
    history.add({"x": 0.2}, 9.0, 8.0, 7.0)
    history.add({"x": 0.3}, 5.0, 4.0, 3.0, 99.0)  # beyond the last level there is no competition
    history.add({"x": 0.4}, 1.0, 1.0, math.inf)
    history.add({"x": 0.5}, 0.0, failed=True)
    history.add({"x": 0.6}, failed=True)
    history.add({"x": 0.7})
    history._append(Observation(7, {"x": 0.8}, [0.5], [0.0]))  # not yet at a level
    found = standings(history)
    ranked = sorted(zip(found.scores, (trial.id for trial in found.trials), strict=True))
    assert [number for _, number in ranked] == [2, 1, 0, 7, 3, 4, 5]
    assert len({score for score, _ in ranked}) == 5  # the last three are equally bad
    assert found.levels.tolist() == [1.0, 3.0, 3.0, 3.0, 1.0, 0.0, 0.5]
    assert [trial.id for trial in found.pending] == [6]


def test_tpe_follows_the_higher_level():
    """Early losses point left, late ones right."""
    history = ListHistory(LINE)
    for x in np.linspace(0.02, 0.98, 40):
        history.add({"x": float(x)}, *([float(x)] if x < 0.6 else [float(x), 1 - float(x)]))
    made = [
        OptunaSearcher().propose(LINE, history, np.random.default_rng(seed))["x"]
        for seed in range(8)
    ]
    assert np.median(made) > 0.8


def test_a_forbidden_proposal_is_asked_for_again_and_then_chance_decides():
    searcher = OptunaSearcher("test_optuna:Stubborn")
    space, history = forbidden_space(), ListHistory(forbidden_space())
    Stubborn.asked = 0
    config = searcher.propose(space, history, np.random.default_rng(0))
    assert space.validate(config) == config
    assert 1 < Stubborn.asked < 100


class Stubborn(optuna.samplers.RandomSampler):
    """Always suggests the lower bound."""

    asked = 0

    def sample_independent(self, study, trial, param_name, param_distribution):
        Stubborn.asked += 1
        return param_distribution.low


class Broken(optuna.samplers.RandomSampler):
    def sample_independent(self, study, trial, param_name, param_distribution):
        raise KeyError("lost")


def unseeded():
    return optuna.samplers.TPESampler(seed=1, multivariate=True)


def not_a_sampler(seed):
    return {"seed": seed}


def test_a_sampler_that_fails_is_told_once_and_proposals_are_random():
    with pytest.warns(rw.ModelWarning, match="Broken.*KeyError: 'lost'.*random") as told:
        made = proposals(OptunaSearcher(Broken), LINE, 0, 5)
    assert len(told) == 1
    assert len({config["x"] for config in made}) == 5


def test_a_function_of_ones_own_makes_the_sampler():
    history = history_of(PLANE, 15, bowl)
    first, second = (
        OptunaSearcher(unseeded).propose(PLANE, history, np.random.default_rng(n)) for n in (0, 1)
    )
    assert first == second  # it has a seed of its own
    with pytest.raises(rw.InvalidArgumentError, match="must make a sampler"):
        OptunaSearcher(not_a_sampler).propose(PLANE, history, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (OptunaSearcher("tpe", multivariate=True), ("tpe", (("multivariate", True),))),
        (OptunaSearcher("tpe", {"multivariate": True}), ("tpe", (("multivariate", True),))),
        (OptunaSearcher(optuna.samplers.TPESampler, group=True), ("tpe", (("group", True),))),
        (OptunaSearcher("optuna.samplers:QMCSampler", seed=2), ("qmc", (("seed", 2),))),
        (OptunaSearcher(optuna.samplers.GridSampler), ("optuna.samplers:GridSampler", ())),
        (OptunaSearcher(Stubborn), (f"{__name__}:Stubborn", ())),
        (OptunaSearcher(unseeded), (f"{__name__}:unseeded", ())),
    ],
)
def test_a_study_file_keeps_a_name_and_plain_options(given, kept):
    assert (given.sampler, given.options) == kept
    study = Study(PASHA(max_resource=9), Limits(trials=2), space=LINE, searcher=given)
    text = codec.to_text(codec.study_to_json(study))
    assert codec.study_from_json(json.loads(text)).searcher == given
    assert pickle.loads(pickle.dumps(given)) == given  # noqa: S301 - our own


def test_a_sampler_that_is_made_already_is_refused():
    with pytest.raises(rw.InvalidArgumentError, match=r"OptunaSearcher\(TPESampler, option=…\)"):
        OptunaSearcher(optuna.samplers.TPESampler(seed=3))


@pytest.mark.parametrize(
    ("sampler", "options", "match"),
    [
        ("bayes", {}, "sampler is 'bayes', but it must be one of tpe, gp"),
        (lambda: None, {}, "must be defined in a module"),
        ("tpe", {"gamma": len}, "options is .*plain JSON"),
        ("tpe", {"n_startup_trials": math.nan}, "options is .*plain JSON"),
        ("tpe", 3, "options is .*plain JSON"),
        ("tpe", {"seed": 3}, "seed is 3, but every proposal gets its own seed"),
    ],
)
def test_what_cannot_be_kept_is_refused_at_once(sampler, options, match):
    with pytest.raises(rw.InvalidArgumentError, match=match):
        OptunaSearcher(sampler, options)


@pytest.mark.parametrize(
    ("searcher", "match"),
    [
        (OptunaSearcher("tpe", n_startup=3), "options is .*n_startup"),
        (OptunaSearcher("qmc", qmc_type="dice"), "options is .*dice"),
        (OptunaSearcher("no_such_module:Sampler"), "cannot be imported"),
        (OptunaSearcher(".relative:Sampler"), "cannot be imported"),
        (OptunaSearcher("os:environ"), "sampler is 'os:environ', but it must be a class or "),
        (OptunaSearcher("math:sqrt"), "options is {}, but math:sqrt does not accept them"),
        (OptunaSearcher(f"{__name__}:raising"), "cannot be made: KeyError: 'colour'"),
    ],
)
def test_what_a_sampler_does_not_take_is_told_at_the_first_proposal(searcher, match):
    with pytest.raises(rw.InvalidArgumentError, match=match):
        searcher.propose(LINE, ListHistory(LINE), np.random.default_rng(0))


def raising():
    raise KeyError("colour")


@pytest.mark.parametrize("options", [{"n_startup_trials": "abc"}, {"n_ei_candidates": "many"}])
def test_options_that_break_a_sampler_are_told_before_a_study_begins(options, tmp_path):
    searcher = OptunaSearcher("tpe", {"n_startup_trials": 0, **options})
    with pytest.raises(rw.InvalidArgumentError, match=r"options is .*tpe cannot propose"):
        rw.tune(
            print, LINE, metric="loss", goal="min", max_resource=3, searcher=searcher,
            study=tmp_path / "s.db", show="quiet",
        )  # fmt: skip
    assert list(tmp_path.iterdir()) == []


def test_a_package_that_a_sampler_needs_is_named(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(rw.InvalidArgumentError, match="needs the package cmaes"):
        OptunaSearcher("cmaes").propose(LINE, ListHistory(LINE), np.random.default_rng(0))


def test_without_optuna_the_extra_is_named_and_a_study_can_still_be_read():
    code = (
        "import sys; sys.modules['optuna'] = None\n"
        "import numpy as np, rungwise as rw\n"
        "from rungwise.testing.searchers import ListHistory\n"
        "space = rw.Space.parse({'x': rw.Float(0.0, 1.0)})\n"
        "searcher = rw.searchers.OptunaSearcher('tpe', options=[['group', True]])\n"
        "try: searcher.propose(space, ListHistory(space), np.random.default_rng(0))\n"
        "except rw.MissingExtraError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "rungwise[optuna]" in done.stdout


def test_nothing_is_printed_or_warned_and_optuna_stays_as_loud_as_it_was(capfd):
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(logging.INFO)  # as it is at first
    space, records = mixed_space(), []
    listener = logging.Handler()
    listener.emit = records.append
    logging.getLogger("optuna").addHandler(listener)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        proposals(OptunaSearcher(multivariate=True, group=True, n_startup_trials=3), space, 0, 8)
        proposals(OptunaSearcher("qmc", scramble=True), space, 0, 8)
        proposals(OptunaSearcher("nsgaii", population_size=4), space, 0, 8)
    logging.getLogger("optuna").removeHandler(listener)
    assert records == []
    assert capfd.readouterr() == ("", "")
    assert optuna.logging.get_verbosity() == logging.INFO
    optuna.logging.set_verbosity(before)


def test_a_study_runs_with_it_and_is_read_again(tmp_path):
    searcher = OptunaSearcher(n_startup_trials=4)
    rw.tune(
        _train, LINE, metric="loss", goal="min", max_resource=9, searcher=searcher, workers=1,
        trials=12, show="quiet", study=tmp_path / "a.rungwise", seed=1,
    )  # fmt: skip
    again = rw.load(tmp_path / "a.rungwise")
    assert again.trials == 12
    assert again.engine.study.searcher == searcher


def _train(config, run):
    for step in run.resources():
        run.report(step, loss=(config["x"] - 0.3) ** 2 + 1 / step)
