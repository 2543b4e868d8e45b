"""The paper's pattern on real learning curves (skipped where LCBench is not at hand)."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDER = ROOT.parent / "shared" / "data" / "lcbench"

pytestmark = pytest.mark.skipif(
    not (FOLDER / "lcbench_final.npz").exists(), reason="LCBench is not at hand"
)


@pytest.fixture(scope="module")
def lines():
    sys.path.insert(0, str(ROOT / "perf"))
    try:
        import lcbench  # noqa: PLC0415 - a script, not a package
    finally:
        sys.path.pop(0)
    return {line.scheduler: line for line in lcbench.measure(FOLDER, 256, 1, "drain")}


def test_pasha_keeps_the_quality_of_asha_with_fewer_epochs(lines):
    # The paper's appendix D: on-par accuracy, 1.0–1.4× (only 5 rungs on 50 epochs).
    assert 1.0 <= lines["PASHA"].fewer_epochs_than_asha <= 1.4
    assert lines["PASHA"].furthest < lines["ASHA"].furthest
    assert abs(lines["PASHA"].test_accuracy - lines["ASHA"].test_accuracy) < 0.5


def test_a_direct_ranking_saves_next_to_nothing(lines):
    assert 0.95 <= lines["PASHA, direct ranking"].fewer_epochs_than_asha <= 1.05


def test_few_epochs_for_all_are_worse(lines):
    assert lines["one epoch"].test_accuracy < lines["PASHA"].test_accuracy - 0.5
    assert lines["one epoch"].regret > lines["PASHA"].regret


def test_the_leader_criterion_stops_earlier(lines):
    assert lines["PASHA, leader"].epochs < lines["PASHA"].epochs
