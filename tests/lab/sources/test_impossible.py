"""Values that no measurement gives are refused with their place, and rounding is forgiven."""

import json

import numpy as np
import pytest
from source_stories import json_lines, lcbench_config, lcbench_run, pd1_run, refused

from rungwise.benchmarks import store
from rungwise.lab.sources import convert, lcbench

INF = float("inf")


@pytest.mark.parametrize("wrong", [1.00001, -0.00001, 50.0, -1e30])
def test_an_error_rate_of_pd1_outside_of_0_to_1(tmp_path, wrong):
    path = tmp_path / "mine.jsonl"
    path.write_bytes(json_lines([pd1_run(0.1), pd1_run(0.2, [0.5, wrong, 0.5])]))
    place = f"mine.jsonl, line 2, valid/error_rate is {wrong:g}"
    refused(path, tmp_path, place, "it must be from 0 to 1")


def test_an_infinite_error_rate_means_diverged(tmp_path):
    path = tmp_path / "mine.jsonl"
    path.write_bytes(json_lines([pd1_run(0.1, [0.5, INF, -INF]), pd1_run(0.2, [INF] * 3)]))
    convert(path, into=tmp_path / "out")
    benchmark = store.read(tmp_path / "out", "pd1-wmt-xformer-64")
    np.testing.assert_array_equal(benchmark.values(), [[0.5, np.nan, np.nan], [np.nan] * 3])
    assert benchmark.card.checks["runs_without_a_value"] == 1


def test_rounding_is_forgiven(tmp_path):
    path = tmp_path / "mine.jsonl"
    path.write_bytes(json_lines([pd1_run(0.1, [1 + 5e-7, -5e-7, 0.0])]))
    convert(path, into=tmp_path / "out")
    values = store.read(tmp_path / "out", "pd1-wmt-xformer-64").values()
    assert values.tolist() == [[0.0, 1.0, 1.0]]


@pytest.mark.parametrize("wrong", [100.01, -0.01, 200.0, INF])
@pytest.mark.parametrize(
    "where", ["Train/val_accuracy", "final_test_accuracy", "Train/test_result"]
)
def test_an_accuracy_of_lcbench_outside_of_0_to_100(tmp_path, where, wrong):
    curve = [50.0] * 52
    curve[-2] = wrong
    run = lcbench_run(7, **({where: curve} if where.startswith("Train") else {}))
    run["results"]["final_test_accuracy"] = wrong if where.startswith("final") else None
    path = tmp_path / "data_2k.json"
    path.write_text(json.dumps({"adult": {"7": run}}))
    place = f"'adult', configuration '7', {where} is {wrong:g}"
    refused(path, tmp_path, place, "it must be from 0 to 100")


@pytest.mark.parametrize("wrong", [101.0, -1.0, INF])
def test_a_final_accuracy_of_the_arrays(tmp_path, wrong):
    names = list(lcbench.SPACE.names)
    np.savez(
        tmp_path / lcbench.ARRAYS[0],
        val_cross_entropy=np.ones((1, 2, 52)),
        dataset_names=np.array(["adult"]),
        config_names=np.array(names),
        configs=np.array([[lcbench_config(row)[name] for name in names] for row in range(2)]),
    )
    np.savez(tmp_path / lcbench.ARRAYS[1], final_test_accuracy=np.array([[100, np.nan]]))
    convert(tmp_path, into=tmp_path / "fine")
    assert store.read(tmp_path / "fine", "lcbench-adult").final().tolist()[0] == 1.0
    np.savez(tmp_path / lcbench.ARRAYS[1], final_test_accuracy=np.array([[100, wrong]]))
    place = f"{lcbench.ARRAYS[1]}: final_test_accuracy is {wrong:g}"
    refused(tmp_path, tmp_path, place, "it must be from 0 to 100")
