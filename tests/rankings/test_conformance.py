"""One row a criterion."""

import pytest

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
    "RungNoise": rankings.RungNoise(),
}

PROPER_NAMES = ()
"""Names with which an explanation may begin, as in "Kendall's tau is …"."""

for name, row in ROWS.items():
    suite = {"make_ranking": lambda self, row=row: row, "proper_names": PROPER_NAMES}
    globals()[f"Test{name}"] = type(f"Test{name}", (RankingConformance,), suite)


class Speaks(rankings.Exact):
    text = ""

    def explain(self, verdict):
        return self.text


@pytest.mark.parametrize(
    ("text", "names", "problem"),
    [
        ("Kendall's tau is 0.4", ("Kendall",), None),
        ("Kendall's tau is 0.4", (), "begins with a small letter"),
        ("The tau is 0.4", ("Kendall",), "begins with a small letter"),
        ("the tau is 0.4.", (), "without a full stop"),
        ("", (), "said nothing"),
    ],
)
def test_the_suite_notices_what_is_no_clause(monkeypatch, text, names, problem):
    row = type("Row", (RankingConformance,), {"make_ranking": lambda _: Speaks()})()
    monkeypatch.setattr(Speaks, "text", text)
    monkeypatch.setattr(type(row), "proper_names", names)
    if problem is None:
        row.test_explains_itself()
    else:
        with pytest.raises(AssertionError, match=problem):
            row.test_explains_itself()


def test_every_criterion_has_a_row():
    concrete = {
        kind
        for kind in (getattr(rankings, name) for name in rankings.__all__)
        if hasattr(kind, "__dataclass_fields__") and issubclass(kind, rankings.Ranking)
    }
    assert concrete == {type(row) for row in ROWS.values()}
