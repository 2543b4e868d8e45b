"""The recorder of learning curves, as far as a CPU goes: real training, only smaller."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from extras import needs

needs("recording")

RECORDING = Path(__file__).parents[2] / "recording"


def script(name, *arguments, **env):
    return subprocess.run(
        [sys.executable, RECORDING / name, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1", **env},
        timeout=600,
    )


def succeeds(code):
    """Code that imports the recorder, in a process of its own: its modules have common names."""
    head = "import sys; sys.path.insert(0, sys.argv[1])\n"
    done = subprocess.run(
        [sys.executable, "-c", head + code, RECORDING],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """The parts of all four tables, made by --smoke."""
    out = tmp_path_factory.mktemp("parts")
    tables = ("fashion-nas", "fashion-hpo", "text-hpo", "mlp-hpo")
    done = script("record.py", *tables, "--smoke", "--out", out)
    assert done.returncode == 0, done.stderr
    return {name: dict(np.load(out / f"{name}.parts.npz")) for name in tables}, out


@pytest.mark.parametrize(
    ("name", "rows", "points"),
    [("fashion-nas", 10, 2), ("fashion-hpo", 16, 2), ("text-hpo", 8, 6), ("mlp-hpo", 24, 2)],
)
def test_every_model_has_its_curve(parts, name, rows, points):
    found = parts[0][name]
    chunks = sorted({key.split("/")[0] for key in found})
    assert len(chunks) >= 2
    trained = np.concatenate([found[f"{chunk}/rows"] for chunk in chunks])
    assert sorted(trained.tolist()) == list(range(rows))
    for chunk in chunks:
        valid, test = found[f"{chunk}/valid"], found[f"{chunk}/test"]
        assert valid.shape == (len(found[f"{chunk}/rows"]), points)
        assert test.shape == valid.shape[:1]
        assert found[f"{chunk}/seconds"] > 0


def test_models_learn(parts):
    # Ten noisy patterns, moved, in 100 images: 10 right answers are chance, 25 are five sigma.
    found = parts[0]["fashion-nas"]
    last = np.concatenate([found["1-0/valid"][:, -1], found["1-5/valid"][:, -1]])
    assert last.max() > 30
    assert np.median(last) > 15


def test_a_finished_chunk_is_not_trained_again(parts, tmp_path):
    kept = {key: value for key, value in parts[0]["fashion-hpo"].items() if "1-0/" in key}
    kept["1-0/valid"] = np.full_like(kept["1-0/valid"], 77)
    np.savez(tmp_path / "fashion-hpo.parts.npz", **kept)
    done = script("record.py", "fashion-hpo", "--smoke", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    again = np.load(tmp_path / "fashion-hpo.parts.npz")
    assert (again["1-0/valid"] == 77).all()
    np.testing.assert_array_equal(again["1-8/valid"], parts[0]["fashion-hpo"]["1-8/valid"])


def test_it_stops_when_there_is_no_time(tmp_path):
    done = script("record.py", "fashion-hpo", "--smoke", "--out", tmp_path, "--seconds", "-1")
    assert done.returncode == 3
    assert "for want of time" in done.stdout
    assert not list(tmp_path.iterdir())


def test_data_or_smoke_is_needed(tmp_path):
    done = script("record.py", "fashion-hpo", "--out", tmp_path)
    assert done.returncode == 2
    assert "--smoke" in done.stderr


def usage(done, *words):
    """A script that ended with its usage and one line of advice, not a traceback."""
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    last = done.stderr.splitlines()[-1]
    for word in words:
        assert word in last


def test_missing_data_is_told_before_anything_is_made(tmp_path):
    lost, out = tmp_path / "lost", tmp_path / "out"
    done = script("record.py", "fashion-hpo", "text-hpo", "--data", lost, "--out", out)
    usage(done, f"--data {lost} has no t10k-images", "text.txt")
    assert not out.exists()


@pytest.mark.parametrize("name", ["record.py", "timing.py"])
def test_a_folder_that_cannot_be_written_to_is_told(tmp_path, name):
    (tmp_path / "file").touch()
    tables = ("fashion-hpo", "--smoke") if name == "record.py" else ()
    done = script(name, *tables, "--out", tmp_path / "file")
    usage(done, f"--out {tmp_path / 'file'} cannot be written to")


def test_parts_that_are_not_there_are_told(tmp_path):
    given = ("--commit", "abc", "--created", "2026-11-16", "--table", "mlp-hpo")
    done = script("assemble.py", "--parts", tmp_path, *given)
    usage(done, f"--parts {tmp_path} has no mlp-hpo.parts.npz, seconds.npz")


def test_a_model_that_diverges_is_recorded_as_lost():
    # A text model with a learning rate of up to 10 and no norm of its slopes: some must be lost,
    # or the mark is never tried. Six points of tiny models rarely diverge, so it is forced here.
    code = (
        "import torch, training\n"
        "logits = torch.zeros(3, 4, 2); logits[1, 2, 0] = float('nan'); logits[2, 0, 1] = 1\n"
        "right, finite = training.count_correct(logits, torch.zeros(4, dtype=torch.int64))\n"
        "assert right.tolist()[::2] == [4, 3] and finite.tolist() == [True, False, True]\n"
        "examiner = training.Examiner(lambda x: logits[:, :2], 3, torch.zeros(4, 1), "
        "torch.zeros(4, dtype=torch.int64), 2)\n"
        "assert examiner().tolist() == [4, 4, 2], examiner()\n"
        "logits[1, 0, 0] = float('inf')\n"
        "assert examiner().tolist() == [4, training.MISSING, 2], examiner()\n"
    )
    succeeds(code)


def test_architectures_are_balanced_and_different():
    code = (
        "import numpy as np, spaces\n"
        "drawn = spaces.draw_architectures(1040, 520, seed=201)\n"
        "assert len({tuple(row) for row in drawn.tolist()}) == 1040\n"
        "for half in (drawn[:520], drawn[520:]):\n"
        "    for edge in half.T:\n"
        "        assert np.bincount(edge).tolist() == [104] * 5\n"
        "assert (drawn == spaces.draw_architectures(1040, 520, seed=201)).all()\n"
    )
    succeeds(code)


def test_models_that_collapse_at_once_are_noticed():
    code = (
        "import numpy as np, assemble\n"
        "rng = np.random.default_rng(0)\n"
        "values = 0.8 + 0.02 * rng.standard_normal((1, 500, 100))\n"
        "for row in range(40): values[0, row, rng.integers(30, 90):] = 0.1  # one at a time\n"
        "assert assemble.collapses(values) == []\n"
        "values[0, 100:115, 59:] = np.nan  # fifteen together\n"
        "assert [point for point, _ in assemble.collapses(values)] == [60]\n"
    )
    succeeds(code)
