"""The conformance suite of ranking criteria."""

from __future__ import annotations

import copy
import math
from typing import ClassVar

import numpy as np
import pytest

from rungwise.benchmarks.generated import power_laws
from rungwise.rankings import Ranking, Standing
from rungwise.rankings.base import GivenNoise
from rungwise.schedulers import PASHA
from rungwise.simulation import simulate


class RankingConformance:
    """Subclass it and give :meth:`make_ranking`.

    Attributes:
        notices_reversal: whether nine clearly different configurations that come out in exactly
            the opposite order must count as unstable (without any noise).
        proper_names: names that an explanation may begin with, as ``("Kendall",)``.
    """

    notices_reversal: ClassVar[bool] = True
    proper_names: ClassVar[tuple[str, ...]] = ()

    def make_ranking(self) -> Ranking:
        """A fresh criterion."""
        raise NotImplementedError

    def test_is_a_value(self) -> None:
        """Equal by its parameters, hashable, and not to be changed."""
        ranking, twin = self.make_ranking(), copy.deepcopy(self.make_ranking())
        assert ranking == twin
        assert hash(ranking) == hash(twin)
        with pytest.raises((AttributeError, TypeError)):
            ranking.something_new = 1  # type: ignore[attr-defined]

    def test_few_configurations_are_stable(self) -> None:
        """None or one cannot change places."""
        assert self.make_ranking().stable([], [])
        assert self.make_ranking().stable([0.3], [0.7])
        assert self.make_ranking().stable([math.nan], [0.7])

    @pytest.mark.parametrize("goal", ["min", "max"])
    def test_an_equal_ranking_is_stable(self, goal: str) -> None:
        """Losses that keep their order, whatever their values."""
        below = np.array([0.9, 0.1, 0.5, 0.3, 0.7])
        verdict = self.make_ranking().stable(0.5 * below, below, goal=goal)  # type: ignore[arg-type]
        assert verdict is True

    def test_a_reversal_is_not_stable(self) -> None:
        """The opposite order of clearly different configurations."""
        losses = np.arange(1.0, 10.0)
        assert self.make_ranking().stable(losses[::-1], losses) is not self.notices_reversal

    def test_the_order_of_listing_does_not_matter(self) -> None:
        """Without ties, only losses count."""
        rng = np.random.default_rng(0)
        for _ in range(30):
            top, below = rng.random(7), rng.random(7)
            order = rng.permutation(7)
            ranking = self.make_ranking()
            assert ranking.stable(top, below) == ranking.stable(top[order], below[order])

    def test_both_goals_are_one(self) -> None:
        """Maximising a metric is minimising its negative."""
        rng = np.random.default_rng(1)
        for _ in range(30):
            top, below = rng.random(6), rng.random(6)
            ranking = self.make_ranking()
            assert ranking.stable(top, below) == ranking.stable(-top, -below, goal="max")

    def test_diverged_configurations_do_no_harm(self) -> None:
        """Any mixture of NaN and infinities gets an answer, without a warning."""
        rng = np.random.default_rng(2)
        for _ in range(60):
            top, below = rng.random(6), rng.random(6)
            top[rng.random(6) < 0.4] = rng.choice([math.nan, math.inf, -math.inf])
            below[rng.random(6) < 0.3] = rng.choice([math.nan, math.inf, -math.inf])
            assert self.make_ranking().stable(top, below) in (True, False)

    def test_does_not_change_what_it_looks_at(self) -> None:
        """Judging twice gives the same, and the standing stays as it was."""
        standing = Standing.of([0.3, 0.1, 0.2], [0.1, 0.2, 0.3])
        before = [standing.top.copy(), standing.below.copy(), standing.order.copy()]
        ranking = self.make_ranking()
        assert ranking.judge(standing, GivenNoise(0.1)) == ranking.judge(standing, GivenNoise(0.1))
        for was, now in zip(before, (standing.top, standing.below, standing.order), strict=True):
            assert np.array_equal(was, now)

    def test_explains_itself(self) -> None:
        """A clause for a person, for both verdicts."""
        ranking = self.make_ranking()
        for top in ([0.1, 0.2], [0.2, 0.1]):
            clause = ranking.explain(ranking.judge(Standing.of(top, [0.1, 0.2]), GivenNoise()))
            assert clause, "explain() said nothing"
            assert not clause[0].isupper() or clause.startswith(self.proper_names), (
                f"{clause!r} is read within a sentence, so it begins with a small letter; "
                "a name that it may begin with belongs into proper_names of the suite"
            )
            assert not clause.endswith("."), f"{clause!r} is a clause, without a full stop"

    @pytest.mark.parametrize("check", ["rung", "report"])
    def test_serves_pasha_to_the_end(self, check: str) -> None:
        """A study ends, repeats itself, and its ceiling only rises."""
        table = power_laws(60, 27, seed=3)
        recipe = PASHA(max_resource=27, ranking=self.make_ranking(), check=check)  # type: ignore[arg-type]
        result = simulate(table, recipe, trials=60, workers=3)
        assert result == simulate(table, recipe, trials=60, workers=3)
        levels = [level for _, level in result.ceilings]
        assert levels == sorted(set(levels))
        assert result.best is not None
