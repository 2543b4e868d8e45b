"""Gaps, groups and errors, worked out by hand."""

import math

import numpy as np
import pytest

from rungwise.lab.frontier.api import summarise
from rungwise.lab.frontier.results import Run, Settings, Study
from rungwise.lab.frontier.scores import find_gap, find_groups
from rungwise.lab.frontier.studies import Judge, choose_sizes

LINE = (Study(100, 0.8), Study(200, 0.6), Study(400, 0.2))


def run(benchmark, seed, *, spent, regret, line=LINE, table_seed=0):
    studies = {"asha": line[-1], "halving": Study(spent, regret)}
    guesses = dict.fromkeys(("asha-low", "asha-high", "pasha-low", "pasha-high"), line[-1])
    return Run(benchmark, table_seed, seed, line, studies, guesses)


def test_regret_is_in_units_of_the_way_from_best_to_median():
    losses = np.array([0.0, 1.0, 2.0, 4.0, 100.0, 3.0])
    judge = Judge(losses, [0, 1, 2, 3, 4])  # median 2
    assert [judge.regret(row) for row in (0, 1, 2, 3)] == [0, 0.5, 1, 2]
    assert judge.regret(4) == judge.regret(-1) == 3  # at most
    assert judge.regret(5) == 1.5  # a row that the sample does not have


def test_a_sample_without_differences_has_no_regret_but_for_the_worst():
    judge = Judge(np.array([1.0, 1.0, 1.0, 5.0]), [0, 1, 2, 3])
    assert [judge.regret(row) for row in range(4)] == [0, 0, 0, 3]


@pytest.mark.parametrize(
    ("spent", "regret", "gap"),
    [(200, 0.6, 0), (300, 0.4, 0), (300, 0.5, 0.1), (50, 0.9, 0.1), (800, 0.1, -0.1)],
)
def test_the_gap_is_to_asha_for_the_same_resource(spent, regret, gap):
    assert find_gap(Study(spent, regret), LINE) == pytest.approx(gap)
    assert find_gap(Study(spent, regret), LINE[::-1]) == pytest.approx(gap)


def test_tables_of_one_public_benchmark_are_a_group():
    names = ["lcbench-a", "text-hpo", "lcbench-b-c", "deepobs_x", "lcbench-d", "text-nas"]
    assert find_groups(names) == {
        "lcbench": ["lcbench-a", "lcbench-b-c", "lcbench-d"],
        "text-hpo": ["text-hpo"],
        "deepobs_x": ["deepobs_x"],
        "text-nas": ["text-nas"],
    }


def test_groups_count_the_same_whatever_their_size():
    runs = [run(f"many-{table}", seed, spent=200, regret=0.7) for table in "abc" for seed in (0, 1)]
    runs += [run("single", 0, spent=100, regret=0.6), run("single", 1, spent=100, regret=0.8)]
    found = summarise(runs, Settings(methods=("asha", "halving")))
    asha, halving = found.scores
    assert (asha.saving, asha.gap, asha.error) == (1, 0, 0)
    assert halving.saving == pytest.approx(math.sqrt(2 * 4))
    assert halving.regret == pytest.approx(0.7)
    assert halving.gap == pytest.approx((0.1 - 0.1) / 2)
    # The means of the seeds are (0.1 − 0.2) / 2 and (0.1 + 0) / 2.
    assert halving.error == pytest.approx(np.std([-0.05, 0.05], ddof=1) / math.sqrt(2))
    assert found.worst["halving"] == "many"
    expected = [(0.25, 0.8), (0.5, 0.6), (1, 0.2)]
    np.testing.assert_allclose(found.line, expected)
    assert [group.scores[1].gap for group in found.groups] == pytest.approx([0.1, -0.1])


def test_training_seeds_of_a_table_are_repetitions():
    runs = [run("one", 0, spent=200, regret=0.6 + 0.1 * n, table_seed=n) for n in range(2)]
    (group,) = summarise(runs, Settings(methods=("asha", "halving"))).groups
    assert group.benchmarks == ("one",)
    assert group.scores[1].gap == pytest.approx(0.05)
    assert math.isnan(group.scores[1].error)


def test_ashas_numbers_of_trials():
    assert choose_sizes(256) == (16, 32, 48, 64, 96, 128, 192, 256)
    assert choose_sizes(50) == (16, 32, 48, 50)
    assert choose_sizes(8) == (8,)
