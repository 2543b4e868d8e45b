"""A criterion of your own: PASHA that asks whether the best three stay the best three.

    python examples/own_criterion.py

One frozen dataclass with ``judge`` and ``explain``; ``rungwise.testing.RankingConformance`` tests
it like the ones that come with rungwise.
"""

from dataclasses import dataclass

import rungwise as rw
from rungwise.rankings import Ranking, Standing, Verdict


@dataclass(frozen=True, slots=True)
class Podium(Ranking):
    """Stable if rung K and rung K−1 have the same ``places`` configurations in front."""

    places: int = 3

    def judge(self, standing: Standing, noise: object) -> Verdict:
        now, before = set(standing.order[: self.places]), set(standing.order_below[: self.places])
        return Verdict(stable=now == before, measure=len(now - before), bound=0)

    def explain(self, verdict: Verdict) -> str:
        return f"{verdict.measure:g} of the first {self.places} had not been among them"


table = rw.power_laws(rows=128, resources=81, seed=3)
for ranking in (Podium(), rw.rankings.Noise(), rw.rankings.Exact()):
    result = rw.simulate(table, rw.PASHA(max_resource=81, ranking=ranking), trials=128)
    print(f"{type(ranking).__name__:8} {result.resource_spent:5} epochs. {result.why}")
