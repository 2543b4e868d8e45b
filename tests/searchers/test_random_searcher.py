from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from rungwise.searchers import RandomSearcher, Searcher
from rungwise.space import Float, Int, Space
from rungwise.testing.searchers import (
    FINITE_SPACES,
    ListHistory,
    SearcherConformance,
    conditional_space,
    proposals,
    tiny_space,
)


class TestRandomSearcher(SearcherConformance):
    import_path = "rungwise.searchers:RandomSearcher"


def test_it_is_a_searcher_and_a_value():
    searcher: Searcher = RandomSearcher()
    assert searcher == RandomSearcher()
    with pytest.raises((AttributeError, TypeError)):  # which one depends on the Python version
        searcher.memory = 1


@pytest.mark.parametrize(("make_space", "count"), FINITE_SPACES.items())
def test_every_pass_uses_up_the_space(make_space, count):
    space = make_space()
    made = [space.key(config) for config in proposals(RandomSearcher(), space, 0, 3 * count)]
    for start in (0, count, 2 * count):
        assert set(made[start : start + count]) == set(space.all_keys())
    assert made[:count] != made[count : 2 * count]


def test_what_was_drawn_least_often_is_next():
    space = tiny_space()
    history = ListHistory(space)
    *often, rare = space.configurations()
    for config in often:
        history.add(config)
        history.add(config)
    history.add(rare)
    assert RandomSearcher().propose(space, history, np.random.default_rng(0)) == rare


def test_the_least_drawn_are_equally_likely():
    space = Space.parse({"x": Int(1, 400)})
    history = ListHistory(space)
    for x in range(1, 397):
        history.add({"x": x})
    counts = Counter(
        RandomSearcher().propose(space, history, np.random.default_rng(seed))["x"]
        for seed in range(400)
    )
    assert set(counts) == {397, 398, 399, 400}
    assert all(abs(count - 100) < 45 for count in counts.values())


def test_the_first_draw_is_a_plain_draw_from_the_space():
    space = conditional_space()
    drawn = RandomSearcher().propose(space, ListHistory(space), np.random.default_rng(3))
    assert drawn == space.sample(np.random.default_rng(3))


def test_an_infinite_space_is_never_looked_up():
    class Unasked(ListHistory):
        def times_drawn(self, key):
            raise AssertionError(key)

    space = Space.parse({"x": Float(0, 1)})
    assert RandomSearcher().propose(space, Unasked(space), np.random.default_rng(0))


def test_a_huge_space_that_seems_used_up_still_gives_a_configuration():
    class Everything(ListHistory):
        def times_drawn(self, key):
            return 1

    space = Space.parse({"a": Int(1, 2000), "b": Int(1, 2000)})
    config = RandomSearcher().propose(space, Everything(space), np.random.default_rng(0))
    assert space.validate(config) == config
