"""Files of learning curves: ``curves``, ``final`` and ``better``."""

import numpy as np
import pytest
from source_stories import refused

from rungwise.benchmarks import store
from rungwise.lab.sources import convert

NAN = np.nan
CURVES = np.array([[0.1, 0.2, 0.3], [0.4, 0.5, NAN], [0.6, NAN, NAN], [NAN, NAN, NAN]])
FINAL = np.array([0.35, 0.55, NAN, 0.0])


def write(path, **changes):
    arrays = {"curves": CURVES, "final": FINAL, "better": np.array("higher"), **changes}
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})
    return path


def test_a_file_becomes_a_benchmark_of_its_name(tmp_path):
    hp = {"hp_names": np.array(["lr", "width"]), "hp": np.arange(8.0).reshape(4, 2)}
    path = write(tmp_path / "some nets.npz", **hp)
    assert convert(path, into=tmp_path / "out") == ["some-nets"]
    made = store.read(tmp_path / "out", "some-nets")
    assert (made.goal, made.rows, made.resources, made.seeds) == ("max", 4, 3, 1)
    assert made.card.details["final_goal"] == "max"
    # A run that ended keeps its last value; one that diverged has none.
    np.testing.assert_allclose(made.values()[1], [0.4, 0.5, 0.5])
    np.testing.assert_allclose(made.values()[2], [0.6, NAN, NAN])
    np.testing.assert_allclose(made.final(), FINAL)
    assert made.configs[3] == {"lr": 6.0, "width": 7.0}
    assert "1 curves end early" in " ".join(made.card.notes)


def test_a_folder_of_them(tmp_path):
    write(tmp_path / "b.npz")
    write(tmp_path / "a.npz", better=np.array("lower"), hp=np.zeros((4, 1)))
    np.savez(tmp_path / "other.npz", values=np.zeros(3))
    assert convert(tmp_path, into=tmp_path / "out") == ["a", "b"]
    made = store.read(tmp_path / "out", "a")
    assert made.goal == "min"
    assert made.configs is None  # values without names


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"better": np.array("more")}, ("better", "'more'", '"higher" or "lower"')),
        ({"better": np.array(1)}, ("better", "higher")),
        ({"curves": np.zeros(4)}, ("curves", "[configurations, resources]")),
        ({"final": np.zeros(3)}, ("final", "each of 4 configurations")),
        ({"curves": np.full((4, 2), NAN)}, ("without a single finite value",)),
        ({"curves": np.full((4, 2), 1e200)}, ("curves",)),
        ({"hp_names": np.array(["lr"]), "hp": np.zeros((3, 1))}, ("hp",)),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path, changes, words):
    refused(write(tmp_path / "odd.npz", **changes), tmp_path, *words)


def test_the_real_files(shared, tmp_path):
    names = convert(shared / "curves" / "deepobs_mnist_vae.npz", into=tmp_path)
    made = store.read(tmp_path, names[0])
    assert (made.rows, made.resources, made.goal) == (108, 50, "min")
    assert 0.3 < np.isnan(made.final()).mean() < 0.6  # half of them diverged
