"""Many workers at one tuner: what a message costs does not depend on how many there are."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

from rungwise.backends.worker_slot import Worker

SCRIPT = Path(__file__).parents[2] / "perf" / "scale.py"


@pytest.fixture(scope="module")
def scale():
    spec = importlib.util.spec_from_file_location("scale", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules["scale"] = module  # its dataclass looks for its module
    spec.loader.exec_module(module)
    return module


def test_the_script_counts_durable_reports(scale, capsys):
    scale.measure_tuner(20, 60)
    assert re.search(r"20 workers +60 trials +\d+ reports +[\d,]+ durable", capsys.readouterr().out)


def test_the_script_simulates(scale, capfd):
    scale.measure_simulator("asha", 1000, 500)
    assert re.search(r"1000 workers +500 trials +\d+ reports", capfd.readouterr().out)


def count_looks(scale, monkeypatch, workers):
    """How often the tuner asks whether a worker is free, per report, once all are at work."""
    looks, free = [], Worker.free

    def look(worker):
        looks.append(worker)
        return free.fget(worker)

    seen = []

    def append(moment):
        seen.append(len(looks))

    monkeypatch.setattr(Worker, "free", property(look))
    monkeypatch.setattr(scale.time, "perf_counter", lambda: append(None) or len(seen))
    scale.measure_tuner(workers, 600)
    middle, end = len(seen) // 3, 2 * len(seen) // 3
    return (seen[end] - seen[middle]) / (end - middle)


def test_a_report_costs_no_look_at_all_workers(scale, monkeypatch):
    few = count_looks(scale, monkeypatch, 4)
    monkeypatch.undo()
    many = count_looks(scale, monkeypatch, 100)
    assert few < 10
    assert many < 10
