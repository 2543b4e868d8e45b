"""Configurations of one's own first, then another searcher."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import rungwise as rw
from rungwise.core.limits import Limits
from rungwise.core.study import Study
from rungwise.schedulers import PASHA
from rungwise.searchers import GP, KDE, TPE, Grid, Initial, RandomSearcher, Sobol
from rungwise.space import Float, Space
from rungwise.storage import codec
from rungwise.testing.searchers import ListHistory, SearcherConformance, proposals, tiny_space

LINE = Space.parse({"x": Float(0.0, 1.0)})
FIRST = [{"x": 0.25}, {"x": 1}]


@dataclass(frozen=True)
class Beginning(rw.searchers.Searcher):
    """An Initial whose configurations fit the space it is asked for, as the suite has several."""

    def propose(self, space, history, rng):
        first = proposals(RandomSearcher(), space, 99, 3)
        return Initial(first, KDE()).propose(space, history, rng)


class TestInitial(SearcherConformance):
    import_path = "test_initial:Beginning"
    types = (Beginning,)

    @pytest.fixture(autouse=True, scope="class")
    @staticmethod
    def _importable():
        """The child process of the suite imports the searcher by the name of this file."""
        sys.modules["test_initial"] = sys.modules[__name__]
        sys.path.insert(0, str(Path(__file__).parent))
        yield
        sys.path.remove(str(Path(__file__).parent))


def test_the_given_come_first_in_their_order_and_then_the_other_is_asked():
    made = proposals(Initial(FIRST, Sobol()), LINE, 0, 6)
    assert made[:2] == [{"x": 0.25}, {"x": 1.0}]
    assert made[2:] == proposals(Sobol(), LINE, 0, 6)[2:]
    assert type(made[1]["x"]) is float


def test_random_search_follows_by_default_and_repeats_nothing_in_a_finite_space():
    space = tiny_space()
    first = [{"act": "tanh", "layers": 2}, {"act": "relu", "layers": 3}]
    for seed in range(5):
        made = proposals(Initial(first), space, seed, 6)
        assert made[:2] == first
        assert len({space.key(config) for config in made}) == 6


def test_the_end_of_the_other_is_its_end():
    assert len(proposals(Initial(FIRST[:1], Grid(points=3)), LINE, 0, 20)) < 6


def test_a_mistake_in_the_last_is_told_before_the_first_is_proposed():
    searcher = Initial([{"x": 0.1}, {"x": 7.0}])
    with pytest.raises(rw.SpaceError, match=r"configs\[1\]\['x'\] is 7.0, but .* 0.0 to 1.0"):
        searcher.propose(LINE, ListHistory(LINE), np.random.default_rng(0))
    with pytest.raises(rw.SpaceError, match=r"configs\[0\] is \{\}, but it must also give 'x'"):
        Initial([{}]).propose(LINE, ListHistory(LINE), np.random.default_rng(0))


@pytest.mark.parametrize(
    ("configs", "place"),
    [
        ([], "configs is"),
        ("x", "configs is"),
        ({"x": 0.5}, "configs is"),
        ([{"x": 0.5}, 3], r"configs\[1\] is 3"),
        ([{"x": float("nan")}], r"configs\[0\]"),
        ([{"x": [1]}], r"configs\[0\]"),
        ([{1: 0.5}], r"configs\[0\]"),
    ],
)
def test_what_are_no_configurations_is_refused(configs, place):
    with pytest.raises(rw.InvalidArgumentError, match=place):
        Initial(configs)


@pytest.mark.parametrize("then", [None, "kde", KDE])
def test_what_is_no_searcher_is_refused(then):
    with pytest.raises(rw.InvalidArgumentError, match="then is"):
        Initial(FIRST, then)


def test_the_configurations_given_cannot_be_changed_afterwards():
    config = {"x": np.float64(0.5)}
    searcher = Initial([config])
    config["x"] = 7.0
    assert searcher.configs == ({"x": 0.5},)
    proposals(searcher, LINE, 0, 1)[0]["x"] = 8.0
    assert searcher.configs == ({"x": 0.5},)


def test_it_is_as_slow_as_the_other():
    assert Initial(FIRST, GP()).slow
    assert not Initial(FIRST, KDE()).slow


@pytest.mark.parametrize(
    "then", [RandomSearcher(), KDE(good=0.3), Initial([{"x": 0.75}] * 3, Sobol(seed=2))]
)
def test_a_study_file_keeps_it_and_what_is_in_it(then):
    study = Study(
        PASHA(max_resource=9), Limits(trials=8), space=LINE, searcher=Initial(FIRST, then)
    )
    text = codec.to_text(codec.study_to_json(study))
    again = codec.study_from_json(json.loads(text))
    assert again.searcher == study.searcher
    assert proposals(again.searcher, LINE, 1, 8) == proposals(study.searcher, LINE, 1, 8)


def test_a_study_with_it_is_read_from_its_file(tmp_path):
    arguments = {
        "metric": "loss", "goal": "min", "max_resource": 3, "workers": 1, "show": "quiet",
        "searcher": Initial([{"x": 0.25}, {"x": 0.5}], KDE()), "study": tmp_path / "a.rungwise",
    }  # fmt: skip
    rw.tune(_train, LINE, trials=3, **arguments)
    result = rw.load(arguments["study"])
    assert [trial.config["x"] for trial in result.engine.trials][:2] == [0.25, 0.5]
    assert result.engine.study.searcher == arguments["searcher"]


def _train(config, run):
    for step in run.resources():
        run.report(step, loss=(config["x"] - 0.3) ** 2 / step)


@pytest.mark.parametrize("searcher", [KDE(good=0.2), TPE(good=0.2)])
def test_study_files_tell_kde_from_tpe(searcher):
    study = Study(PASHA(max_resource=9), Limits(trials=2), space=LINE, searcher=searcher)
    document = codec.study_to_json(study)
    assert document["searcher"]["type"] == type(searcher).__name__
    assert codec.study_from_json(document).searcher == searcher
