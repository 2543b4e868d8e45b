"""Hyperband's numbers, and who goes to which bracket."""

from collections import Counter

import rungwise as rw
from rungwise.core.ladder import Ladder
from rungwise.schedulers.hyperband import bracket_sizes


def test_brackets_have_the_sizes_of_the_hyperband_paper():
    # Li et al. (2018), table 1: R = 81, η = 3 starts 81, 34, 15, 8 and 5 configurations.
    assert bracket_sizes(Ladder.between(1, 81, eta=3)) == (81, 34, 15, 8, 5)


def first_levels(recipe, trials, workers=1):
    result = rw.simulate(rw.power_laws(trials, 81), recipe, trials=trials, workers=workers)
    return [until for _, start, until in result.jobs if start == 0]


def test_synchronous_brackets_follow_each_other():
    levels = first_levels(rw.Hyperband(max_resource=81), 81 + 34 + 15 + 8 + 5 + 3)
    assert levels == [1] * 81 + [3] * 34 + [9] * 15 + [27] * 8 + [81] * 5 + [1] * 3


def test_a_waiting_bracket_lets_the_next_begin():
    recipe = rw.Hyperband(max_resource=9, eta=3)  # brackets of 9, 5 and 3
    result = rw.simulate(rw.power_laws(17, 9, seed=1), recipe, trials=17, workers=8)
    untils = [until for _, _, until in result.jobs]
    assert untils[:9] == [1] * 9
    # The ninth leg is under way when the first eight are back: their workers begin bracket two.
    assert untils[9] == 3
    assert result.jobs[9][1] == 0


def test_asynchronous_brackets_get_their_share():
    counts = Counter(first_levels(rw.AsyncHyperband(max_resource=81), 143, workers=4))
    assert counts == {1: 81, 3: 34, 9: 15, 27: 8, 81: 5}


def test_each_asynchronous_bracket_promotes_on_its_own():
    result = rw.simulate(
        rw.power_laws(143, 81, seed=2), rw.AsyncHyperband(max_resource=81), trials=143, workers=4
    )
    begun = {row: until for row, start, until in result.jobs if start == 0}
    promoted = Counter(begun[row] for row, start, _ in result.jobs if start > 0)
    assert promoted[1] > promoted[3] > promoted[9] > promoted[27] > 0
    assert promoted[81] == 0
