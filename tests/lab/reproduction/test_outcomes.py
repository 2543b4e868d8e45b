"""From a study to an outcome: final values, what was missed, what cannot be known."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rungwise.benchmarks import Benchmark
from rungwise.benchmarks.card import Card
from rungwise.errors import TableError
from rungwise.lab.reproduction.outcomes import Finals, choose_final_metric, figure, make_outcome
from rungwise.lab.reproduction.results import Figure
from rungwise.simulation import Best, SimulationResult


def benchmark(final, **facts):
    about = {"goal": "max", "metric": "validation accuracy", **facts}
    values = np.tile(np.linspace(0.1, 0.2, 3), (1, len(final), 1))
    return Benchmark.from_arrays(Card(name="made", **about), values=values, final=[final])


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"final_metric": "test accuracy after 9 epochs"}, ("max", True, False)),
        ({"final_metric": "test accuracy", "goal": "min", "metric": "loss"}, ("max", True, False)),
        ({"final_metric": "test error rate", "goal": "min"}, ("max", True, True)),
        ({"final_metric": "validation cross-entropy", "goal": "min"}, ("min", False, False)),
        ({"final_metric": "BLEU", "details": {"final_goal": "max"}}, ("max", False, False)),
        (
            {"final_metric": "accuracy lost", "details": {"final_goal": "min"}},
            ("min", False, False),
        ),
        ({"metric": "validation accuracy (1 − valid/error_rate)"}, ("max", True, False)),
        ({"metric": "", "goal": "min"}, ("min", False, False)),
    ],
)
def test_how_final_values_are_told(facts, expected):
    card = Card(name="made", **{"goal": "max", "metric": "accuracy", **facts})
    report = choose_final_metric(card)
    assert (report.goal, report.percent, report.turned) == expected


def test_errors_are_told_as_accuracies():
    card = Card(name="made", goal="min", final_metric="test error_rate after 9 epochs")
    assert choose_final_metric(card).metric == "test accuracy after 9 epochs"
    finals = Finals(benchmark([0.3, 0.1, math.nan], goal="min", final_metric="test error"), 0)
    assert finals.values == pytest.approx([0.7, 0.9, 0.7])


def test_a_goal_that_is_none_is_refused():
    with pytest.raises(ValueError, match="goal is 'up'"):
        choose_final_metric(Card(name="made", details={"final_goal": "up"}))


def test_a_row_against_its_sample_by_hand():
    finals = Finals(benchmark([0.5, 0.9, 0.7, 0.1, 0.8]), 0)
    # Of 0.5, 0.9, 0.7, 0.1 the best is 0.9 and the median 0.6.
    final, share, regret = finals.evaluate(0, [0, 1, 2, 3])
    assert (final, share) == (0.5, 0.5)
    assert regret == pytest.approx((0.9 - 0.5) / (0.9 - 0.6))
    assert finals.evaluate(1, [0, 1, 2, 3]) == (0.9, 0.0, 0.0)


def test_smaller_is_better_where_the_card_says_so():
    finals = Finals(benchmark([3.0, 1.0, 2.0, 9.0], goal="min", metric="loss"), 0)
    # The best is 1, the median 2.5.
    final, share, regret = finals.evaluate(2, [0, 1, 2, 3])
    assert (final, share) == (2.0, 0.25)
    assert regret == pytest.approx(1 / 1.5)


def test_what_diverged_counts_as_the_worst_of_the_table():
    finals = Finals(benchmark([0.5, math.nan, 0.9, 0.2, math.inf]), 0)
    assert finals.values.tolist() == [0.5, 0.2, 0.9, 0.2, 0.2]
    assert finals.trained.tolist() == [True, False, True, True, False]
    # 0.2 is in the table but not in the sample, and counts all the same.
    final, share, regret = finals.evaluate(1, [0, 1, 2])
    assert (final, share) == (0.2, pytest.approx(2 / 3))
    assert regret == pytest.approx((0.9 - 0.2) / (0.9 - 0.5))


def test_a_loss_that_diverged_counts_as_the_largest():
    finals = Finals(benchmark([3.0, math.nan, 1.0], goal="min", metric="loss"), 0)
    assert finals.values.tolist() == [3.0, 3.0, 1.0]


def test_nothing_found_is_the_worst_of_the_table():
    finals = Finals(benchmark([0.5, 0.9, 0.1]), 0)
    assert finals.evaluate(-1, [0, 1])[:2] == (0.1, 1.0)


def test_where_half_the_sample_ties_with_the_best_only_the_best_has_a_regret():
    finals = Finals(benchmark([0.9, 0.9, 0.9, 0.1]), 0)
    assert finals.evaluate(0, [0, 1, 2, 3]) == (0.9, 0.0, 0.0)
    final, share, regret = finals.evaluate(3, [0, 1, 2, 3])
    assert (final, share) == (0.1, 0.75)
    assert math.isnan(regret)


def test_a_table_without_final_values_is_refused():
    made = Benchmark.from_arrays(
        Card(name="made", goal="max"), values=[[[0.1, 0.2]]], final=[[math.nan]]
    )
    with pytest.raises(TableError, match="final values of made"):
        Finals(made, 0)


def result(best):
    return SimulationResult(best, 12.5, 9, 30, 30, [], [(0, 9)], [], [0, 1, 2])


def test_an_outcome_holds_what_the_study_came_to():
    finals = Finals(benchmark([0.5, math.nan, 0.9]), 0)
    labels = ("made", "asha", "ours", 2, 4)
    found = make_outcome(
        result(Best(0, {}, 0.3, 9, row=1)), finals, sample=[0, 1, 2], labels=labels
    )
    assert (found.benchmark, found.method, found.protocol) == ("made", "asha", "ours")
    assert (found.table_seed, found.seed) == (2, 4)
    assert (found.row, found.final, found.trained) == (1, 0.5, False)
    assert (found.seconds, found.max_resource, found.spent) == (12.5, 9, 30)
    assert (found.better_share, found.regret) == (pytest.approx(1 / 3), 1.0)
    assert make_outcome(
        result(Best(0, {}, 0.3, 9, row=2)), finals, sample=[0, 1, 2], labels=labels
    ).trained


def test_a_study_that_found_nothing_is_an_outcome_too():
    finals = Finals(benchmark([0.5, 0.7, 0.9]), 0)
    labels = ("made", "asha", "ours", 0, 0)
    found = make_outcome(result(None), finals, sample=[0, 1, 2], labels=labels)
    assert (found.row, found.final, found.trained) == (-1, 0.5, False)


def test_the_spread_is_that_of_the_paper():
    # PASHA's maximum resource on PD1-WMT: four times 27 and once 81 is the paper's 37.8 ± 21.6.
    found = figure([27, 27, 81, 27, 27])
    assert (found.mean, found.std) == pytest.approx((37.8, 21.6))


def test_figures_are_over_what_is_a_number():
    assert figure([1.0, math.nan, 3.0]) == Figure(2.0, 1.0)
    assert math.isnan(figure([math.nan]).mean)


accuracies = st.lists(st.floats(0, 1), min_size=2, max_size=12)


@given(accuracies, st.data())
def test_shares_and_regrets_agree_with_counting(final, data):
    row = data.draw(st.integers(0, len(final) - 1))
    _, share, regret = Finals(benchmark(final), 0).evaluate(row, range(len(final)))
    better = [value for value in final if value > final[row]]
    assert share == pytest.approx(len(better) / len(final))
    assert (regret == 0) == (not better)
    assert math.isnan(regret) or regret >= 0
