"""``rungwise demo`` as a person runs it, only smaller: it trains for real."""

import contextlib
import itertools
import json
import os
import pickle
import pty
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from command_line import run_here
from extras import needs

import rungwise as rw
from rungwise.cli import demo_recorded, digits
from rungwise.lab.reproduction.results import Figure, Rival
from rungwise.tuning.retrained import describe_retrained

needs("demo")

SMALL = ("--trials", "9", "--epochs", "9")
SENTENCE = "was simulated on this study's own curves with 2 workers"


def command(*arguments):
    return [sys.executable, "-m", "rungwise", "demo", *map(str, arguments)]


def demo(*arguments, check=True, **env):
    done = subprocess.run(
        command(*arguments),
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **env},
        timeout=300,
    )
    assert not check or done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A small demo whose study was kept: (its file, what it printed)."""
    path = tmp_path_factory.mktemp("demo") / "digits.db"
    return path, demo(*SMALL, "--study", path, "--versus-asha")


def test_it_ends_with_all_that_matters(kept):
    path, done = kept
    plain = re.sub(r"\s+", " ", done.stdout)
    held = rw.load(path)
    assert f"validation {held.best.value:.2%} correct after {held.best.resource:g} epochs" in plain
    assert f"PASHA spent {held.resource_spent:g} epochs on 9 configurations" in plain
    for words in ("winner learning_rate=", "Done: ", SENTENCE, "ASHA, run", "test "):
        assert words in plain
    assert plain.index("Recorded architectures (fashion-nas)") > plain.index("Done: ")
    assert "PASHA saved" in plain
    assert "Training the winner in full" in done.stderr
    (retrained,) = held.retrained or [held.retrain(digits.train)]
    model = f"best model validation {retrained.best_value:.2%}, test images "
    assert f"in full {describe_retrained(retrained, 'accuracy')} {model}" in plain
    assert f"correct, after {retrained.best_resource:g} epochs" in plain
    assert f"\ncheckpoint: {retrained.best_checkpoint}\n" in done.stdout
    assert "\x1b" not in done.stdout


def test_a_kept_study_is_not_run_again(kept):
    path, _ = kept
    before = rw.load(path).reports
    done = demo(*SMALL, "--study", path, "--json")
    assert rw.load(path).reports == before
    told = json.loads(done.stdout)
    assert told["study"] == str(path)
    assert_best(told)
    model = told["model"]
    assert digits.test(Path(model["checkpoint"])) == model["test_accuracy"]


def test_another_study_is_not_mixed_in(kept):
    done = demo("--trials", 8, "--epochs", 9, "--study", kept[0], "--json", check=False)
    assert done.returncode == 2
    assert "trials" in done.stderr
    assert "Traceback" not in done.stderr


def test_for_machines():
    done = demo(*SMALL, "--seed", 3, "--workers", 1, "--json", "--versus-asha")
    assert done.stderr == ""
    told = json.loads(done.stdout)
    assert told["max_epochs"] == 9
    assert told["study"] is None
    for name in ("pasha", "asha_run"):
        part = told[name]
        assert (part["trials"], part["failures"]) == (9, 0)
        assert 9 < part["epochs"] <= 81
        assert part["furthest"] <= 9
        assert 0 < part["winner"]["accuracy"] <= 1
        assert set(part["winner"]["config"]) == set(digits.SPACE)
        assert part["why"].startswith("Done: ")
    simulated = told["asha_simulated"]
    assert simulated["ratio"] == simulated["epochs"] / told["pasha"]["epochs"]
    assert simulated["held"] <= simulated["reports"]
    if told["pasha"]["furthest"] == 9:  # no value had to be held: it is what ASHA did
        assert (simulated["held"], simulated["epochs"]) == (0, told["asha_run"]["epochs"])
    assert told["recorded"]["asha"]["epochs"] > told["recorded"]["pasha"]["epochs"] > 256
    assert_best(told)
    assert told["retrained"]["epochs"] == 9
    assert 0.1 < told["model"]["test_accuracy"] <= 1
    assert told["model"]["checkpoint"] is None  # it is gone with the study


def assert_best(told):
    """No model that was seen is better than the one that is presented."""
    seen = [told["pasha"]["winner"]["accuracy"]]
    seen += [told["retrained"][name] for name in ("accuracy", "best_accuracy")]
    assert told["model"]["accuracy"] == max(seen)
    assert told["model"]["epoch"] == told["retrained"]["best_epoch"]


def test_quiet_tells_the_figures_only():
    done = demo(*SMALL, "--quiet")
    assert done.stderr == ""
    assert "Done: " in done.stdout


def test_a_terminal_gets_the_live_view():
    parent, child = pty.openpty()
    env = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "120", "LINES": "50"}
    process = subprocess.Popen(command(*SMALL), stdout=child, stderr=child, env=env)
    os.close(child)
    seen = b""
    with contextlib.suppress(OSError):  # the terminal is gone with the process
        while piece := os.read(parent, 65536):
            seen += piece
    os.close(parent)
    assert process.wait(60) == 0
    assert "\x1b[" in seen.decode()
    assert "test" in seen.decode()


@pytest.mark.parametrize("keep", [True, False], ids=["kept", "temporary"])
def test_ctrl_c_says_how_to_go_on(keep, tmp_path):
    path = tmp_path / "digits.db"
    arguments = ["--trials", 200, "--epochs", 81, *(["--study", path] if keep else [])]
    process = subprocess.Popen(command(*arguments), stderr=subprocess.PIPE, text=True)
    seen = ""
    while "new best" not in seen:
        seen += process.stderr.readline()
    process.send_signal(signal.SIGINT)
    seen += process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert "Traceback" not in seen
    assert (f"rungwise resume {path}" in seen) is keep
    assert ("With --study FILE" in seen) is not keep


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--simulated", "--study", "x.db"], "--study is 'x.db', but with --simulated nothing"),
        (["--simulated", "--versus-asha"], "--versus-asha is True, but with --simulated nothing"),
        (["--runs", "2"], "--runs is 2, but it can only be used with --simulated"),
        (["--noise", "0"], "--noise is 0.0, but it can only be used with --simulated"),
    ],
)
def test_options_that_do_not_go_together(arguments, message):
    done = run_here(["demo", *arguments])
    assert done.returncode == 2
    assert message in done.stderr


def test_without_scikit_learn_it_names_the_extra(tmp_path):
    (tmp_path / "sklearn").mkdir()
    (tmp_path / "sklearn" / "__init__.py").write_text("raise ImportError('hidden')")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = demo(*SMALL, check=False, PYTHONPATH=path)
    assert done.returncode == 2
    assert "pip install 'rungwise[demo]'" in done.stderr


# -- recorded architectures --------------------------------------------------------------------


@pytest.fixture(scope="module")
def recorded():
    return demo_recorded.compared(talk=False)


def by_hand(scheduler):
    """(final accuracies, seconds, epochs, furthest) of the runs that the demo takes the mean of."""
    found = rw.benchmarks.load("fashion-nas")
    runs = []
    for table_seed, seed in itertools.product(range(found.seeds), range(5)):
        result = rw.simulate(found.table(table_seed), scheduler, trials=256, seed=seed)
        final = found.final(table_seed)[result.best.row]
        runs.append((final, result.seconds, result.resource_spent, result.max_resource))
    return np.array(runs).T


@pytest.mark.no_cover
def test_recorded_figures_are_those_of_simulations(recorded):
    told = json.loads(json.dumps(demo_recorded.figures(recorded)))
    assert list(told) == ["asha", "pasha", "one-epoch", "random"]
    schedulers = (rw.ASHA(max_resource=200), rw.PASHA(max_resource=200), rw.FixedResource(1))
    for name, scheduler in zip(told, schedulers, strict=False):
        means = by_hand(scheduler).mean(axis=1)
        names = ("test_accuracy", "seconds", "epochs", "furthest")
        assert [told[name][key] for key in names] == pytest.approx(list(means))
        assert told[name]["runs"] == 15
    found = rw.benchmarks.load("fashion-nas")
    chance = np.mean([found.final(seed) for seed in range(found.seeds)])
    assert told["random"]["test_accuracy"] == pytest.approx(chance)
    assert (told["random"]["seconds"], told["random"]["epochs"]) == (0, 0)


def test_recorded_figures_are_told_in_a_table(recorded, capsys):
    demo_recorded.print_section(recorded)
    text = re.sub(r"[|\s]+", " ", capsys.readouterr().out)
    assert "Recorded architectures (fashion-nas): 256 drawn, mean of 15 runs" in text
    told = demo_recorded.figures(recorded)
    for label, name in (("ASHA", "asha"), ("PASHA", "pasha"), ("One-epoch baseline", "one-epoch")):
        spread = by_name(recorded, name).final.std
        assert f" {label} {told[name]['test_accuracy']:.2%} ± {100 * spread:.2f} " in text
        assert f" {told[name]['epochs']:,.0f} {told[name]['furthest']:.0f} " in text
    assert f" one at random {told['random']['test_accuracy']:.2%} ± " in text
    assert "Random baseline" not in text, "five draws tell little of chance"
    asha, pasha = told["asha"], told["pasha"]
    saved, whole = ((asha["seconds"] - pasha["seconds"]) / 60, asha["seconds"] / 60)
    better = 100 * (pasha["test_accuracy"] - asha["test_accuracy"])
    sentence = (
        f"PASHA saved {saved:.1f} min of ASHA's {whole:.1f} min, and its architectures are "
        f"{abs(better):.2f} points {'better on average' if better > 0 else 'worse'}"
    )
    assert sentence in text


def by_name(section, name):
    return next(row for row in section.rows if row.method == name)


@pytest.mark.parametrize(
    ("seconds", "accuracy", "sentence"),
    [
        (400.0, 0.8, "PASHA saved 80.0 s of ASHA's 8.0 min, and its architectures are as good."),
        (
            480.0,
            0.81,
            "PASHA saved 0.0 s of ASHA's 8.0 min, and its architectures are 1.00 points ",
        ),
        (
            8480.0,
            0.7,
            "took 2.2 h more than ASHA's 8.0 min, and its architectures are 10.00 points worse, ",
        ),
        (480.0, 0.79, "its architectures are 1.00 points worse, within a standard error."),
    ],
)
def test_whatever_comes_of_it_is_told_as_it_is(recorded, capsys, seconds, accuracy, sentence):
    asha, pasha, *others = recorded.rows
    asha = replace(asha, seconds=Figure(480.0, 1.0), final=Figure(0.8, 0.01))
    pasha = replace(pasha, seconds=Figure(seconds, 1.0), final=Figure(accuracy, 0.01))
    ahead = (Rival("asha", "ASHA", 0.1, 0.02, 1.0),) if accuracy == 0.7 else ()
    demo_recorded.print_section(replace(recorded, rows=(asha, pasha, *others), ahead=ahead))
    assert sentence in re.sub(r"\s+", " ", capsys.readouterr().out)


# -- the training function -------------------------------------------------------------------------


class Paper:
    """Stands in for a run: one leg, everything kept in a folder."""

    def __init__(self, folder, epochs, latest=None):
        self.seed, self.latest = 7, latest
        self.folder, self.epochs, self.reports = folder, epochs, []

    def resources(self):
        yield from self.epochs

    @contextlib.contextmanager
    def checkpoint(self, epoch):
        self.folder.mkdir(exist_ok=True)
        yield self.folder

    def report(self, epoch, **metrics):
        self.reports.append((epoch, metrics))


CONFIG = {
    "learning_rate": 0.1,
    "momentum": 0.9,
    "batch_size": 64,
    "hidden_units": 16,
    "activation": "relu",
    "l2": 1e-4,
}


def test_legs_make_no_difference_to_what_is_trained(tmp_path):
    whole = Paper(tmp_path / "whole", range(1, 5))
    digits.train(CONFIG, whole)
    first = Paper(tmp_path / "first", range(1, 3))
    digits.train(CONFIG, first)
    second = Paper(tmp_path / "second", range(3, 5), latest=first.folder)
    digits.train(CONFIG, second)
    assert first.reports + second.reports == whole.reports
    ends = [pickle.loads((run.folder / "model.pickle").read_bytes()) for run in (whole, second)]  # noqa: S301
    assert all(map(np.array_equal, ends[0].coefs_, ends[1].coefs_))


def test_only_the_model_in_the_end_sees_the_test_images(tmp_path, monkeypatch):
    run, data = Paper(tmp_path / "run", range(1, 2)), digits.load()
    monkeypatch.setattr(digits, "load", lambda: data._replace(test=None))
    digits.train(CONFIG, run)
    assert set(run.reports[0][1]) == {"accuracy"}
    monkeypatch.setattr(digits, "load", lambda: data._replace(training=None, validation=None))
    assert 0.1 < digits.test(run.folder) <= 1


def test_the_parts_of_the_data_have_no_image_in_common():
    data = digits.load()
    sizes = [len(part.digits) for part in data]
    assert sizes == [1079, 359, 359]
    assert all(set(part.digits) == set(range(10)) for part in data)
    together = np.concatenate([part.images for part in data])
    assert len(np.unique(together, axis=0)) == len(together)
