"""The methods of others that are only compared with."""

from collections import Counter

import numpy as np
import pytest

import rungwise as rw
from rungwise.lab.frontier.adaptive_brackets import AdaptiveHyperband
from rungwise.lab.frontier.baselines import Deepening, TopK
from rungwise.testing import SchedulerConformance

PLACE = "from rungwise.lab.frontier.baselines import Deepening, TopK; "


class TestTopK(SchedulerConformance):
    source = f"{PLACE}TopK(1, 5, max_resource=27)"
    test_a_log_replays_through_json = None  # it is not a scheduler that logs know


class TestDeepening(SchedulerConformance):
    source = f"{PLACE}Deepening(max_resource=27)"
    test_a_log_replays_through_json = None


def reach(table, recipe, workers):
    """{the furthest level: how many rows}."""
    found = rw.simulate(table, recipe, trials=table.rows, workers=workers)
    furthest = {}
    for row, _, until in found.jobs:
        furthest[row] = max(furthest.get(row, 0), until)
    return Counter(furthest.values())


class TestAdaptiveHyperband(SchedulerConformance):
    source = (
        "from rungwise.lab.frontier.adaptive_brackets import AdaptiveHyperband; "
        "AdaptiveHyperband(max_resource=27)"
    )
    test_a_log_replays_through_json = None


def test_brackets_start_low_where_early_rankings_can_be_trusted():
    epochs = np.arange(1, 28)
    ends = np.linspace(0.1, 0.9, 120)[:, None]
    trusted = ends + 1 / epochs
    misleading = np.where(epochs < 9, 1 - ends, ends)
    low, high = (start_levels(rw.Table(values)) for values in (trusted, misleading))
    assert low[1] > 2 * high[1]
    assert high[9] > low[9]


def start_levels(table):
    """{the level of a first job: how many} of ASHA's Hyperband with adaptive brackets."""
    rows = np.random.default_rng(1).permutation(table.rows).tolist()
    found = rw.simulate(table, AdaptiveHyperband(27), trials=rows)
    return Counter(until for _, start, until in found.jobs if start == 0)


@pytest.mark.parametrize("workers", [1, 4, 50])
def test_the_best_k_are_trained_in_full(workers):
    table = rw.power_laws(90, 81, seed=1)
    assert reach(table, TopK(1, 5, max_resource=81), workers) == {1: 85, 81: 5}


@pytest.mark.parametrize("workers", [1, 4, 50])
def test_a_maximum_that_is_raised_reuses_what_was_done(workers):
    """10, 30 and 90 trials in all; at each level as many as halving of all 90 would have."""
    table = rw.power_laws(90, 81, seed=1)
    found = reach(table, Deepening(max_resource=81), workers)
    assert found.total() == 90
    assert found[81] == 1
    above_3 = sum(count for level, count in found.items() if level > 3)
    assert 10 <= above_3 <= 10 + 3  # the best of all, and those promoted before
