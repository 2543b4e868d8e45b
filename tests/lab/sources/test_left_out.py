"""What has no value at all is left out of a conversion, and every card says so."""

import json

import numpy as np
import pytest
from source_stories import arch_record, lcbench_config, lcbench_run, pd1_run, refused

from rungwise.benchmarks import Card, store
from rungwise.errors import TableError
from rungwise.lab.sources import conversion, convert, lcbench

LEFT_OUT = "left out, since they have no value at all: "
EMPTY = {"Train/val_accuracy": [None] * 52}


def notes(folder, names):
    return [store.read_card(folder, name).details["notes"] for name in names]


def test_tasks_of_pd1(pd1_tar, tmp_path):
    runs = [
        pd1_run(0.1),
        pd1_run(0.1, dataset="imagenet", model="resnet"),
        pd1_run(0.1, None, dataset="lm1b", model="transformer"),
        pd1_run(99.0, dataset="cifar10", model="resnet"),  # outside of the space
    ]
    names = convert(pd1_tar(runs, []), into=tmp_path / "out")
    assert len(names) == 2
    told = f"{LEFT_OUT}cifar10_resnet_batch_size_64, lm1b_transformer_batch_size_64"
    assert notes(tmp_path / "out", names) == [[told], [told]]


def test_data_sets_of_lcbench(tmp_path):
    sets = {
        "adult": {"0": lcbench_run(0)},
        "allnan": {"0": lcbench_run(0, **EMPTY)},
        "nothing": {},
        "car": {"0": lcbench_run(0)},
    }
    path = tmp_path / "data_2k.json"
    path.write_text(json.dumps(sets))
    names = convert(path, into=tmp_path / "out")
    assert names == ["lcbench-adult", "lcbench-car"]
    assert notes(tmp_path / "out", names) == 2 * [[f"{LEFT_OUT}allnan, nothing"]]


def test_data_sets_of_nasbench201(nats_folder, tmp_path):
    folder = nats_folder({0: arch_record(0, datasets=("cifar100", "cifar10-valid"))})
    (told,) = notes(tmp_path / "out", convert(folder, into=tmp_path / "out"))
    assert told[0] == f"{LEFT_OUT}nasbench201-cifar10, nasbench201-imagenet16-120"


def arrays(folder, values, sets=("adult", "dark", "car")):
    folder.mkdir()
    configs = [[lcbench_config(row)[name] for name in lcbench.SPACE.names] for row in range(2)]
    np.savez(
        folder / lcbench.ARRAYS[0],
        val_cross_entropy=values,
        dataset_names=np.array(sets),
        config_names=np.array(list(lcbench.SPACE.names)),
        configs=np.array(configs),
    )
    return folder


def test_data_sets_of_the_arrays(tmp_path):
    values = np.arange(3 * 2 * 52, dtype="f4").reshape(3, 2, 52)
    values[1] = np.nan
    values[1, :, 0] = 1.0  # before training, which is not used
    names = convert(arrays(tmp_path / "in", values), into=tmp_path / "out")
    assert names == ["lcbench-adult", "lcbench-car"]
    assert [told[0] for told in notes(tmp_path / "out", names)] == 2 * [f"{LEFT_OUT}dark"]
    assert store.read(tmp_path / "out", "lcbench-car").values()[0, 0] == values[2, 0, 1]


def test_arrays_without_a_value_are_refused(tmp_path):
    values = np.full((3, 2, 52), np.nan, "f4")
    refused(arrays(tmp_path / "in", values), tmp_path, lcbench.ARRAYS[0], "without a value")


def test_no_converter_makes_a_benchmark_without_a_value():
    with pytest.raises(TableError, match="lost without a single finite value"):
        conversion.ConvertedBenchmark(
            card=Card(name="lost"),
            values=np.full((1, 1, 2), np.nan),
            seconds=np.ones(1),
            configs=[],
        )


def test_a_note_has_an_end():
    (told,) = conversion.note_left_out(["x" * 200, *map(str, range(conversion.MOST_NAMED + 1))])
    assert told.endswith(" and 2 more")
    assert "x" * 79 + "…" in told
    assert "x" * 80 not in told
