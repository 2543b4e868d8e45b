"""LCBench: the original JSON made here, with holes and damage, and the real arrays."""

import io
import json
import tracemalloc
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from source_stories import lcbench_config, lcbench_run, refused

from rungwise.benchmarks import npz, store
from rungwise.errors import TableError
from rungwise.lab.sources import convert, json_stream, lcbench


def load(folder, name="lcbench-adult"):
    return store.read(folder, name)


def written(tmp_path, sets, name="data_2k_lw.json", **options):
    path = tmp_path / name
    path.write_text(json.dumps(sets, **options), encoding="utf-8")
    return path


# -- the original ------------------------------------------------------------------------------


def test_accuracies_seconds_and_test_accuracies(tmp_path):
    sets = {
        "adult": {"0": lcbench_run(0), "1": lcbench_run(1, start=20.0)},
        "Fashion-MNIST": {"0": lcbench_run(0)},
    }
    names = convert(written(tmp_path, sets), into=tmp_path / "out")
    assert names == ["lcbench-adult", "lcbench-Fashion-MNIST"]
    benchmark = load(tmp_path / "out")
    assert (benchmark.goal, benchmark.rows, benchmark.resources) == ("max", 2, 50)
    # Entry 0 is before training, and 51 a closing evaluation.
    np.testing.assert_allclose(benchmark.values()[0], 0.5 + 0.005 * np.arange(1, 51), atol=1e-7)
    np.testing.assert_allclose(benchmark.values()[1, -1], 0.45, atol=1e-7)
    np.testing.assert_allclose(benchmark.seconds(), [2, 2])
    np.testing.assert_allclose(benchmark.final(), [0.70, 0.71], atol=1e-7)
    expected = {key: lcbench_config(1)[key] for key in lcbench.SPACE.names}
    assert benchmark.configs[1] == expected
    assert type(benchmark.configs[1]["batch_size"]) is int
    assert benchmark.names == ("0", "1")
    assert benchmark.card.details["OpenML_task_id"] == 1234
    assert "final_goal" not in benchmark.card.details


def test_rows_are_in_the_order_of_their_numbers(tmp_path):
    runs = {str(number): lcbench_run(number) for number in (10, 9, 100, 0)}
    convert(written(tmp_path, {"adult": runs}), into=tmp_path / "out")
    assert load(tmp_path / "out").names == ("0", "9", "10", "100")
    assert [config["max_units"] for config in load(tmp_path / "out").configs] == [64, 73, 74, 164]


def test_holes(tmp_path):
    key = "Train/val_accuracy"
    short = lcbench_run(1)
    short["log"][key] = short["log"][key][:11]
    short["log"]["time"] = short["log"]["time"][:11]
    holes = lcbench_run(2)
    holes["log"][key][5] = None
    holes["log"]["time"][7] = None
    backwards = lcbench_run(3)
    backwards["log"]["time"][9] = 0.0
    dark = lcbench_run(4, **{key: None, "time": None})
    outside = lcbench_run(5)
    outside["config"]["num_layers"] = 6
    runs = [lcbench_run(0), short, holes, backwards, dark, outside]
    sets = {"adult": {str(number): run for number, run in enumerate(runs)}}
    convert(written(tmp_path, sets), into=tmp_path / "out")
    benchmark = load(tmp_path / "out")
    finite = np.isfinite(benchmark.values())
    assert finite.sum(axis=1).tolist() == [50, 10, 49, 50, 0]
    assert not finite[2, 4]
    np.testing.assert_array_equal(benchmark.seconds()[[0, 1, 2, 4]], np.full((4, 50), 2.0))
    assert benchmark.seconds()[3, 8:10].tolist() == [2, 23]
    checks = benchmark.card.checks
    assert checks["runs_outside_the_space"] == 1
    assert checks["runs_that_ended_early"] == 2
    assert checks["units_with_usual_seconds"] == 40 + 2 + 1 + 50


def test_the_last_logged_test_accuracy_stands_in(tmp_path):
    logged = lcbench_run(0, **{"Train/test_result": [float(e) for e in range(52)]})
    del logged["results"]["final_test_accuracy"]
    unknown = lcbench_run(1)
    unknown["results"]["final_test_accuracy"] = None
    sets = {"adult": {"0": logged, "1": unknown}, "car": {"0": unknown}}
    convert(written(tmp_path, sets), into=tmp_path / "out")
    np.testing.assert_allclose(load(tmp_path / "out").final(), [0.5, np.nan], atol=1e-7)
    assert load(tmp_path / "out").card.checks["runs_without_a_test_accuracy"] == 1
    none = load(tmp_path / "out", "lcbench-car")
    assert none.final()[0] == none.values()[0, -1]
    assert none.card.final_metric == ""
    assert "no test accuracies" in none.card.details["notes"][0]


def test_every_form_gives_the_same(tmp_path):
    sets = {"adult": {str(number): lcbench_run(number) for number in range(5)}}
    plain = written(tmp_path, sets)
    spaced = written(tmp_path, sets, "data_2k.json", indent=3)
    anything = written(tmp_path, sets, "download")
    zipped = tmp_path / "x.zip"
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("__MACOSX/._data_2k_lw.json", b"junk")
        archive.write(plain, "data_2k_lw.json")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "data_2k_lw.json").write_bytes(plain.read_bytes())
    sums = set()
    for number, source in enumerate([plain, spaced, anything, zipped, folder]):
        told = []
        into = tmp_path / f"out{number}"
        assert convert(source, into=into, on_progress=lambda *a, told=told: told.append(a)) == [
            "lcbench-adult"
        ]
        assert told
        sums.add(load(into).card.sha256)
    assert len(sums) == 1


def test_the_original_is_read_in_little_memory(tmp_path):
    """A gigabyte in all: what is kept of a run is its curves."""
    filler = {f"Train/layer_wise_gradient_{n}": [0.123456789] * 52 for n in range(100)}
    run = json.dumps(lcbench_run(0, **filler))
    path = tmp_path / "data_2k.json"
    with path.open("w") as file:
        file.write('{"adult": {')
        file.write(", ".join(f'"{number}": {run}' for number in range(300)))
        file.write("}}")
    assert path.stat().st_size > 20e6
    tracemalloc.start()
    try:
        sets = lcbench.read(path)
        assert tracemalloc.get_traced_memory()[1] < 12e6
    finally:
        tracemalloc.stop()
    assert len(sets["adult"].runs) == 300


BROKEN = {
    "no object": "[1]",
    "a data set that is a list": '{"adult": []}',
    "a run that is a number": '{"adult": {"0": 5}}',
    "a run without a log": '{"adult": {"0": {"config": {}, "results": {}}}}',
    "a number as a key": '{"adult": {0: {}}}',
    "no comma": '{"adult": {} "car": {}}',
    "something behind the end": json.dumps({"adult": {"0": lcbench_run(0)}}) + "{}",
    "a data set twice": '{"adult": {}, "adult": {}}',
    "deep nesting": '{"adult": {"0": ' + "[" * 200_000,
    "a configuration without a number": json.dumps({"adult": {"zero": lcbench_run(0)}}),
    "an enormous number": json.dumps({"adult": {"9" * 5000: lcbench_run(0)}}),
    "a path as a data set": json.dumps({"../up": {"0": lcbench_run(0)}}),
    "texts as accuracies": json.dumps(
        {"adult": {"0": lcbench_run(0, **{"Train/val_accuracy": ["1"] * 52})}}
    ),
    "no accuracies": json.dumps({"adult": {"0": {**lcbench_run(0), "log": {"time": [1.0] * 52}}}}),
    "nothing at all": "{}",
    "nothing in a data set": '{"adult": {}}',
    "nothing finite": json.dumps(
        {"adult": {"0": lcbench_run(0, **{"Train/val_accuracy": [None] * 52})}}
    ),
    "three budgets and seeds": json.dumps(
        {"adult": {"0": {"50": {"log": {"0": {}}, "results": {"0": {}}}, "config": {}}}}
    ),
}


@pytest.mark.parametrize("what", BROKEN)
def test_broken_texts_are_refused(tmp_path, what):
    path = tmp_path / "data_2k.json"
    path.write_text(BROKEN[what], encoding="utf-8")
    refused(path, tmp_path)


def test_a_run_that_is_there_twice_is_refused(tmp_path):
    path = tmp_path / "data_2k.json"
    run = json.dumps(lcbench_run(0))
    path.write_text(f'{{"adult": {{"0": {run}, "0": {run}}}}}')
    refused(path, tmp_path, "'adult', configuration '0'", "present twice")


def test_the_place_is_told(tmp_path):
    run = lcbench_run(7, time="now")
    path = written(tmp_path, {"adult": {"7": run}})
    refused(path, tmp_path, "data_2k_lw.json: 'adult', configuration '7', time", "numbers")


def test_cut_files_are_refused(tmp_path):
    whole = json.dumps({"adult": {str(n): lcbench_run(n) for n in range(20)}}).encode()
    path = tmp_path / "data_2k.json"
    for end in (100, len(whole) // 2, len(whole) - 2, len(whole) - 1):
        path.write_bytes(whole[:end])
        refused(path, tmp_path, "data_2k.json")
    path.write_bytes(whole[:200] + b"\xff" + whole[200:])
    refused(path, tmp_path, "data_2k.json")


def test_cut_and_strange_zip_files_are_refused(tmp_path):
    path = tmp_path / "data_2k_lw.zip"
    text = json.dumps({"adult": {"0": lcbench_run(0)}})
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data_2k_lw.json", text)
    content = bytearray(path.read_bytes())
    content[200] ^= 0xFF
    path.write_bytes(content)
    refused(path, tmp_path, "data_2k_lw.zip")
    path.write_bytes(content[:300])
    refused(path, tmp_path, "data_2k_lw.zip")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("../data_2k_lw.json", text)
    refused(path, tmp_path, "in an unknown format")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data_2k_lw.json", text)
        archive.writestr("data_2k.json", text)
    refused(path, tmp_path, "data_2k.json or data_2k_lw.json, once")


# -- the walker --------------------------------------------------------------------------------

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@given(
    st.dictionaries(st.text(), st.dictionaries(st.text(), VALUES, max_size=4), max_size=4),
    st.sampled_from([None, 1]),
    st.booleans(),
    st.integers(1, 40),
)
def test_the_walker_sees_what_a_reader_sees(document, indent, ascii_only, chunk):
    text = json.dumps(document, indent=indent, ensure_ascii=ascii_only).encode()

    class Slow(io.BytesIO):
        def read(self, size=-1):
            return super().read(min(size, chunk))

    walked = [*json_stream.iterate_entries(Slow(text), "x")]
    assert walked == [(a, b, value) for a, inner in document.items() for b, value in inner.items()]


def test_an_entry_that_never_ends_is_refused(monkeypatch):
    monkeypatch.setattr(json_stream, "LARGEST_ENTRY", 2**20)

    class Endless(io.RawIOBase):
        total = 0

        def read(self, size=-1):
            self.total += size
            return b'{"a": {"0": [' + b"1," * 100 if self.total == size else b"1," * (size // 2)

    stream = Endless()
    with pytest.raises(TableError, match="at most 1,048,576 characters"):
        list(json_stream.iterate_entries(stream, "x"))
    assert stream.total < 2**24


# -- the arrays --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real(shared, tmp_path_factory):
    into = tmp_path_factory.mktemp("lcbench")
    names = convert(shared / "lcbench", into=into)
    return into, names, shared / "lcbench"


def test_the_real_arrays(real):
    into, names, folder = real
    assert len(names) == 35
    with np.load(folder / lcbench.ARRAYS[0]) as curves, np.load(folder / lcbench.ARRAYS[1]) as ends:
        for number in (0, 17, 34):
            name = str(curves["dataset_names"][number])
            benchmark = load(into, f"lcbench-{name}")
            expected = curves["val_cross_entropy"][number, :, 1:51]
            np.testing.assert_array_equal(benchmark.values(), expected)
            accuracy = ends["final_test_accuracy"][number] / 100
            np.testing.assert_allclose(benchmark.final(), accuracy, rtol=1e-6)
            row = dict(zip(curves["config_names"], curves["configs"][1999], strict=True))
            assert benchmark.configs[1999] == row
        assert (benchmark.goal, benchmark.rows, benchmark.resources) == ("min", 2000, 50)
        assert benchmark.seconds() == 1
        assert benchmark.card.details["final_goal"] == "max"
        assert benchmark.card.metric == "validation cross-entropy"


def arrays(folder, sets=("adult", "car"), rows=3, points=52, **more):
    folder.mkdir()
    configs = [lcbench_config(number) for number in range(rows)]
    given = {
        "val_cross_entropy": np.arange(len(sets) * rows * points, dtype="f4").reshape(
            len(sets), rows, points
        ),
        "dataset_names": np.array(sets),
        "config_names": np.array(list(lcbench.SPACE.names)),
        "configs": np.array([[config[n] for n in lcbench.SPACE.names] for config in configs]),
        **more,
    }
    kept = {name: array for name, array in given.items() if array is not None}
    np.savez_compressed(folder / lcbench.ARRAYS[0], **kept)
    return folder


def test_arrays_without_the_second_file(tmp_path):
    folder = arrays(tmp_path / "in")
    assert convert(folder, into=tmp_path / "out") == ["lcbench-adult", "lcbench-car"]
    benchmark = load(tmp_path / "out", "lcbench-car")
    assert benchmark.values()[0, 0] == 3 * 52 + 1
    np.testing.assert_array_equal(benchmark.final(), benchmark.values()[:, -1])
    assert "final_goal" not in benchmark.card.details
    assert convert(folder / lcbench.ARRAYS[0], into=tmp_path / "again") == [
        "lcbench-adult",
        "lcbench-car",
    ]


WRONG = {
    "of another shape": {"val_cross_entropy": np.ones((2, 4, 52))},
    "flat": {"val_cross_entropy": np.ones(5)},
    "without configurations": {"configs": None},
    "with other parameters": {"config_names": np.array(list("abcdefg"))},
    "with a name twice": {"dataset_names": np.array(["car", "car"])},
    "with a path as a name": {"dataset_names": np.array(["a", "../b"])},
    "of objects": {"val_cross_entropy": np.array([{}], dtype=object)},
    "outside of the space": {"configs": np.full((3, 7), 1e9)},
}


@pytest.mark.parametrize("what", WRONG)
def test_wrong_arrays_are_refused(tmp_path, what):
    refused(arrays(tmp_path / "in", **WRONG[what]), tmp_path)


def test_damaged_and_promising_arrays_are_refused(tmp_path, monkeypatch):
    folder = arrays(tmp_path / "in")
    path = folder / lcbench.ARRAYS[0]
    content = path.read_bytes()
    np.savez(folder / lcbench.ARRAYS[1], final_test_accuracy=np.ones((5, 5)))
    refused(folder, tmp_path, lcbench.ARRAYS[1], "of shape (5, 5)")
    path.write_bytes(content[:-50])
    refused(folder, tmp_path, lcbench.ARRAYS[0])
    path.write_bytes(content)
    monkeypatch.setattr(npz, "LIMIT", len(content) - 1)
    refused(folder, tmp_path, lcbench.ARRAYS[0], f"at most {len(content) - 1:,} are read")
