"""One row a criterion."""

from rungwise import rankings
from rungwise.testing import RankingConformance

ROWS = {
    "Exact": rankings.Exact(),
    "Soft": rankings.Soft(0.025),
    "SoftZero": rankings.Soft(0),
    "SoftSigma": rankings.SoftSigma(2),
    "SoftMean": rankings.SoftMean(),
    "SoftMedian": rankings.SoftMedian(),
    "Noise": rankings.Noise(),
    "NoiseAll": rankings.Noise(percentile=100),
    "RboAverage": rankings.RBO(1.0, 0.5),
    "RboTop": rankings.RBO(0.5, 0.5),
    "RboStrict": rankings.RBO(0.9, 1.0),
    "Rrr": rankings.RRR(1.0, 0.05),
    "RrrTop": rankings.RRR(0.5, 0.05),
    "Arrr": rankings.ARRR(1.0, 0.05),
    "ArrrTop": rankings.ARRR(0.5, 0.05),
    "Leader": rankings.Leader(),
}

for name, row in ROWS.items():
    suite = {"make_ranking": lambda self, row=row: row}
    globals()[f"Test{name}"] = type(f"Test{name}", (RankingConformance,), suite)


def test_every_criterion_has_a_row():
    concrete = {
        kind
        for kind in (getattr(rankings, name) for name in rankings.__all__)
        if hasattr(kind, "__dataclass_fields__") and issubclass(kind, rankings.Ranking)
    }
    assert concrete == {type(row) for row in ROWS.values()}
