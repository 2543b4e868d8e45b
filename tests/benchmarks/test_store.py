"""Benchmarks on disk: what is written is read, and the same bytes each time."""

import hashlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rungwise as rw
from rungwise.benchmarks import Card, json_arrays, npz, store
from rungwise.benchmarks.encoding import LARGEST
from rungwise.errors import InvalidArgumentError, TableError
from rungwise.space import Space

NAN, INF = float("nan"), float("inf")
SPACE = Space.parse({"lr": rw.Float(1e-5, 10, log=True), "units": rw.Int(1, 64)})


def written(folder, *, card=None, values=((0.5, 0.25), (0.75, NAN)), seconds=1.0, **more):
    """Write a small benchmark and read it again."""
    card = Card(name="tiny", goal="max") if card is None else card
    array = np.array(values, dtype=float)
    store.write(
        folder, card, values=array if array.ndim == 3 else array[None], seconds=seconds, **more
    )
    return store.read(folder, card.name)


def same(left, right):
    np.testing.assert_array_equal(left, np.asarray(right, dtype=float))


# -- what is written is read -----------------------------------------------------------------


def test_curves_come_back(tmp_path):
    values = np.array([[[0.9123, 0.0], [NAN, INF]], [[-INF, 1.0], [0.0001, 0.5]]])
    made = written(tmp_path, card=Card(name="tiny", seeds=[3, 4]), values=values, quantum=1e-4)
    same(made.values(0), values[0])
    same(made.values(1), values[1])
    assert made.card.encoding["values"]["dtype"] == "uint16"


def test_paths_and_computed_fields(tmp_path):
    folder = tmp_path / "new" / "folder"
    path = store.write(folder, Card(name="tiny"), values=[[[1, 2, 3], [4, 5, 6]]], seconds=1)
    assert path == folder / "tiny.npz"
    card = store.read_card(folder, "tiny")
    assert (card.rows, card.resources, card.seeds) == (2, 3, (0,))
    assert card.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert sorted(path.name for path in folder.iterdir()) == ["tiny.json", "tiny.npz"]


@pytest.mark.parametrize("per_unit", [100, 7, 3, 10000, 60000])
def test_counts_come_back_as_they_are_written(tmp_path, per_unit):
    """k/n is the nearest float to it, not k × (1/n)."""
    values = [[[count / per_unit for count in range(min(per_unit, 400))]]]
    same(written(tmp_path, values=values, quantum=1 / per_unit).values(), values[0])


def test_values_go_to_the_nearest_quantum(tmp_path):
    made = written(tmp_path, values=[[[0.26, 0.24, -0.26]]], quantum=0.25)
    same(made.values(), [[0.25, 0.25, -0.25]])


def test_a_range_may_lie_anywhere(tmp_path):
    values = [[[-3.0, LARGEST - 3.0, NAN, INF, -INF]]]
    made = written(tmp_path, values=values, quantum=1.0)
    assert made.card.encoding["values"]["offset"] == -3
    same(made.values(), values[0])


def test_the_largest_count(tmp_path):
    made = written(tmp_path, values=[[[0.0, LARGEST]]], quantum=1)
    assert made.card.encoding["values"]["offset"] == 0
    same(made.values(), [[0.0, LARGEST]])
    above = written(tmp_path, values=[[[5.0, LARGEST]]], quantum=1)
    assert above.card.encoding["values"]["offset"] == 0  # only where it must be
    with pytest.raises(TableError, match=r"values is from 0 to 65533, .* larger quantum"):
        written(tmp_path, values=[[[0.0, LARGEST + 1]]], quantum=1)


def test_nothing_but_missing_values_can_be_stored(tmp_path):
    same(written(tmp_path, values=[[[NAN, INF]]], quantum=0.1).values(), [[NAN, INF]])
    same(written(tmp_path, values=[[[NAN, INF]]]).values(), [[NAN, INF]])


def test_without_a_quantum_values_are_single_precision(tmp_path):
    values = np.array([[[0.1, 1e30, -INF], [NAN, -2.5, 1e-40]]])
    same(written(tmp_path, values=values).values(), values[0].astype(np.float32))


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 3, 4)])
def test_seconds_of_every_shape(tmp_path, shape):
    rng = np.random.default_rng(1)
    seconds = rng.random(shape).astype(np.float32)
    made = written(
        tmp_path,
        card=Card(name="tiny", seeds=[0, 1]),
        values=rng.random((2, 3, 4)),
        seconds=seconds,
    )
    for seed in range(2):
        same(made.seconds(seed), seconds[seed] if len(shape) > 1 else seconds)


def test_one_number_of_seconds_is_not_one_a_row(tmp_path):
    assert written(tmp_path, values=[[[1.0]]], seconds=2.0).seconds().shape == ()
    assert written(tmp_path, values=[[[1.0]]], seconds=[2.0]).seconds().shape == (1,)


def test_final_values(tmp_path):
    final = [[0.25, NAN]]
    same(written(tmp_path, final=final).final(), final[0])
    counted = written(tmp_path, final=[[0.9123, 0.1]], final_quantum=1e-4)
    same(counted.final(), [0.9123, 0.1])
    assert counted.card.encoding["final"]["dtype"] == "uint16"
    assert counted.card.encoding["values"]["dtype"] == "float32"


def test_names_come_back(tmp_path):
    names = ("|conv~0|", "η\0 \ud800")
    assert written(tmp_path, names=names).names == names
    assert written(tmp_path).names is None


def test_configurations_come_back_with_their_types(tmp_path):
    configs = (
        {"i": 3, "f": 3.0, "b": True, "s": "x", "m": 1, "n": None, "big": 2**70},
        {"i": -(2**63), "f": 1e-300, "b": False, "s": "", "m": 1.0, "n": "None", "big": 1},
        {"i": 2**63 - 1, "f": -2.5, "b": True, "s": "η", "m": True, "n": 0, "big": 0},
    )
    made = written(tmp_path, values=np.zeros((1, 3, 2)), configs=configs)
    assert made.configs == configs
    for read, given_ in zip(made.configs, configs, strict=True):
        assert [type(value) for value in read.values()] == [type(v) for v in given_.values()]
        assert list(read) == list(given_)


def test_parameters_may_be_absent(tmp_path):
    configs = ({"a": 1}, {"a": 2, "b": "x", "c": 0.5}, {"b": "y"}, {})
    made = written(tmp_path, values=np.zeros((1, 4, 1)), configs=configs)
    assert made.configs == configs


def test_numpy_scalars_become_plain(tmp_path):
    made = written(tmp_path, configs=[{"a": np.int64(3)}, {"a": np.int64(4)}])
    assert [type(config["a"]) for config in made.configs] == [int, int]


def test_many_options(tmp_path):
    configs = [{"a": f"option {number}"} for number in range(300)]
    made = written(tmp_path, values=np.zeros((1, 300, 1)), configs=configs)
    assert made.configs == tuple(configs)


def test_configurations_are_those_of_the_space(tmp_path):
    card = Card(name="tiny", space=SPACE)
    made = written(tmp_path, card=card, configs=[{"units": 3.0, "lr": 1}, {"units": 4, "lr": 0.1}])
    assert made.configs == ({"lr": 1.0, "units": 3}, {"lr": 0.1, "units": 4})
    assert type(made.configs[0]["units"]) is int
    assert made.space == SPACE
    with pytest.raises(TableError, match=r"configs\[1\].*units is 65"):
        written(tmp_path, card=card, configs=[{"units": 3, "lr": 1}, {"units": 65, "lr": 1}])


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
NAMES = st.text(min_size=1).filter(lambda name: "\0" not in name)


def typed(configs):
    return [{name: (type(value), value) for name, value in row.items()} for row in configs]


@given(st.lists(st.dictionaries(NAMES, SCALARS, max_size=4), min_size=1, max_size=6))
def test_any_configurations_come_back(configs):
    content = npz.pack_arrays({"configs": json_arrays.pack_configs(configs)})
    arrays = npz.unpack_arrays(Path("x.npz"), content)
    assert typed(json_arrays.unpack_configs(arrays["configs"], len(configs))) == typed(configs)


@given(
    st.lists(
        st.lists(st.integers(0, LARGEST) | st.just(NAN) | st.just(INF), min_size=4, max_size=4),
        min_size=1,
        max_size=5,
    ),
    st.sampled_from([1.0, 1e-4, 1 / 7, 0.3]),
)
def test_any_counts_come_back(tmp_path_factory, rows, quantum):
    folder = tmp_path_factory.mktemp("counts")
    values = np.array([rows], dtype=float) * quantum
    found = written(folder, values=values, quantum=quantum).values()
    np.testing.assert_allclose(found, values[0], rtol=1e-12)
    again = written(folder, values=found[None], quantum=quantum).values()
    same(again, found)


@given(st.lists(st.floats(width=32), min_size=1, max_size=8))
def test_any_single_precision_curve_comes_back(tmp_path_factory, curve):
    same(written(tmp_path_factory.mktemp("floats"), values=[[curve]]).values(), [curve])


# -- the files -------------------------------------------------------------------------------


def story(folder):
    rng = np.random.default_rng(3)
    configs = [SPACE.sample(rng) for _ in range(5)]
    card = Card(name="tiny", seeds=[7, 8], space=SPACE, details={"b": 1, "a": 2})
    store.write(
        folder,
        card,
        values=rng.random((2, 5, 6)),
        seconds=rng.random((2, 5)),
        final=rng.random((2, 5)),
        configs=configs,
        names=list("abcde"),
        quantum=1e-4,
    )
    return [(folder / f"tiny.{end}").read_bytes() for end in ("npz", "json")]


def test_the_same_bytes_each_time(tmp_path, monkeypatch):
    first = story(tmp_path / "a")
    monkeypatch.setattr("time.time", lambda: 2e9)
    monkeypatch.setattr("time.localtime", lambda *_: (2033, 5, 18, 3, 33, 20, 2, 138, 0))
    assert story(tmp_path / "b") == first
    assert story(tmp_path / "b") == first  # over itself


def test_the_same_bytes_in_another_process(tmp_path):
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from pathlib import Path; import test_store;"
        "test_store.story(Path(sys.argv[2]))"
    )
    subprocess.run(
        [sys.executable, "-c", code, Path(__file__).parent, tmp_path / "other"],
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "random"},
    )
    theirs = [(tmp_path / "other" / f"tiny.{end}").read_bytes() for end in ("npz", "json")]
    assert theirs == story(tmp_path / "mine")


def test_numpy_reads_the_file(tmp_path):
    values = [[[0.9123, 0.5], [0.25, NAN]]]
    configs = [{"lr": 0.5}, {"lr": 0.25}]
    made = written(tmp_path, values=values, configs=configs, quantum=1e-4)
    with np.load(tmp_path / "tiny.npz", allow_pickle=False) as arrays:
        assert arrays.files == ["values", "seconds", "configs"]
        assert arrays["values"].tolist() == [[[9123, 5000], [2500, 65535]]]
        assert json.loads(arrays["configs"].tobytes()) == configs
    assert made.rows == 2


def test_counts_take_less_room_than_floats(tmp_path):
    """Both compressed: plain, counts take half."""
    epochs = np.arange(1, 201)
    values = np.round(1 - np.linspace(0.5, 0.9, 300)[:, None] * epochs**-0.5, 4)
    path = store.write(tmp_path, Card(name="tiny"), values=values[None], seconds=1, quantum=1e-4)
    plain = io.BytesIO()
    np.savez_compressed(plain, values.astype(np.float32))
    assert path.stat().st_size < 0.75 * len(plain.getvalue())


def test_a_failed_write_leaves_what_was_there(tmp_path, monkeypatch):
    written(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        written(tmp_path, values=[[0.1]])
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


# -- arguments -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"values": [[1.0]]}, r"values is of shape \(1, 1\)"),
        ({"values": np.zeros((1, 0, 3))}, r"values is of shape \(1, 0, 3\)"),
        ({"values": [[["x"]]]}, "array of numbers"),
        ({"values": [[[1j]]]}, "array of numbers"),
        ({"values": [[[1.0], [1.0, 2.0]]]}, "array of numbers"),
        ({"values": [[[1e39]]]}, "32-bit float"),
        (
            {"values": np.zeros((2, 1, 1))},
            "number of seeds of the card is 1, but the curves have 2 seeds",
        ),
        ({"seconds": [1.0, 2.0]}, r"seconds is of shape \(2,\)"),
        ({"seconds": -1.0}, "seconds is -1.0, .* non-negative"),
        ({"seconds": NAN}, "seconds is nan"),
        ({"final": [1.0]}, r"final is of shape \(1,\)"),
        ({"final": [[1.0, 2.0]]}, r"final is of shape \(1, 2\)"),
        ({"configs": [{}, {}]}, "configs is of length 2"),
        ({"configs": {"a": 1}}, "sequence, one item per row"),
        ({"configs": [5]}, r"configs\[0\] is 5"),
        ({"configs": [{"a": [1]}]}, r"configs\[0\]\['a'\] is \[1\]"),
        ({"configs": [{"a": NAN}]}, "finite number"),
        ({"configs": [{"a": 10**5000}]}, "configs is not writable"),
        ({"configs": [{"": 1}]}, "not empty"),
        ({"configs": [{"a\0b": 1}]}, "parameter's name"),
        ({"configs": [{"\ud800": 1}]}, "parameter's name"),
        ({"configs": [{3: 1}]}, "parameter's name"),
        ({"names": ["a", "b"]}, "names is of length 2"),
        ({"names": "a"}, "sequence, one item per row"),
        ({"names": [1]}, "must be text"),
        ({"quantum": 0}, "quantum of values is 0"),
        ({"quantum": -1}, "quantum of values is -1"),
        ({"quantum": NAN}, "quantum of values is nan"),
        ({"card": {"name": "x"}}, "rungwise.benchmarks.Card"),
    ],
)
def test_wrong_arguments_are_refused_and_nothing_is_written(tmp_path, arguments, told):
    card = arguments.pop("card", Card(name="tiny"))
    arguments = {"values": [[[1.0]]], "seconds": 1.0, **arguments}
    with pytest.raises(InvalidArgumentError, match=told):
        store.write(tmp_path / "x", card, **arguments)
    assert not (tmp_path / "x").exists()
