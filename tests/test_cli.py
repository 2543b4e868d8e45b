"""The command line, as a person runs it, mostly in this process."""

import contextlib
import io
import json
import os
import pty
import subprocess
import sys

import numpy as np
import pytest
from command_line import run_here, run_process
from rich.console import Console

import rungwise as rw
from rungwise.cli import console


def rungwise(*arguments, check=True, alone=False):
    """A command in this process, or ``alone`` in one of its own."""
    done = (run_process if alone else run_here)(arguments)
    assert not check or done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def curves(tmp_path_factory):
    path = tmp_path_factory.mktemp("tables") / "curves.npz"
    rw.power_laws(60, 27, seed=1).save(path)
    return path


def test_version():
    assert rungwise("--version", alone=True).stdout == f"rungwise {rw.__version__}\n"


def test_help_teaches():
    text = rungwise("--help", alone=True).stdout
    assert "demo" in text
    assert "simulate" in text
    assert "--ranking" in rungwise("simulate", "--help").stdout


@pytest.mark.parametrize(
    ("arguments", "same"),
    [
        (["-h"], ["--help"]),
        (["help"], ["--help"]),
        (["export", "-h"], ["export", "--help"]),
        (["help", "benchmark", "info"], ["benchmark", "info", "--help"]),
    ],
)
def test_help_has_short_forms(arguments, same):
    assert rungwise(*arguments).stdout == rungwise(*same).stdout


@pytest.mark.parametrize("command", ["tune", "simulate", "demo", "reproduce", "list", "delete"])
def test_values_are_words_in_capitals(command):
    text = rungwise(command, "--help").stdout
    for shown in ("<int", "<str", "<path", "<float", "<list", "<bool"):
        assert shown not in text


def test_the_simulated_demo_compares_and_says_what_was_saved():
    out = rungwise("demo", "--simulated", "--trials", 64, "--epochs", 81, "--runs", 2)
    for words in ("PASHA", "ASHA", "one epoch", "fewer epochs than ASHA", "Done: "):
        assert words in out.stdout
    assert "\x1b" not in out.stdout  # plain text without a terminal
    assert out.stderr == ""


def test_the_simulated_demo_for_machines():
    lines = json.loads(rungwise("demo", "--simulated", "--runs", 1, "--json").stdout)
    assert [line["scheduler"] for line in lines] == ["PASHA", "ASHA", "one epoch"]
    assert lines[0]["epochs"] < lines[1]["epochs"]


def test_simulate_gives_what_the_library_gives(curves):
    printed = json.loads(rungwise("simulate", curves, "--json", "--seed", 3).stdout)
    expected = rw.simulate(rw.Table.load(curves), rw.PASHA(), trials=60, seed=3)
    assert printed == json.loads(json.dumps(expected.to_json()))


def test_simulate_takes_every_option(curves):
    options = (
        "--scheduler pasha --ranking leader:80 --min-resource 1 --max-resource 27 --eta 2 "
        "--promote quantile --check report --variant stopping --trials 30 --workers 2 --seed 1 "
        "--finish paper --goal max --key values --columns 0:27 --json"
    )
    printed = json.loads(rungwise("simulate", curves, *options.split()).stdout)
    table = rw.Table.load(curves, goal="max")
    recipe = rw.PASHA(
        max_resource=27,
        eta=2,
        ranking=rw.rankings.Leader(80),
        promote="quantile",
        check="report",
        variant="stopping",
    )
    expected = rw.simulate(table, recipe, trials=30, workers=2, seed=1, finish="paper")
    assert printed == json.loads(json.dumps(expected.to_json()))


@pytest.mark.parametrize("name", ["asha", "halving", "hyperband", "async-hyperband", "random"])
def test_simulate_knows_every_scheduler(curves, name):
    assert (
        "Done: 60 configurations compared"
        in rungwise("simulate", curves, "--scheduler", name).stdout
    )


def test_fixed_resource_takes_the_maximum_as_its_resource(curves):
    out = rungwise("simulate", curves, "--scheduler", "fixed", "--max-resource", 3, "--json")
    assert json.loads(out.stdout)["max_resource"] == 3


def test_several_tables_in_one_file(tmp_path):
    path = tmp_path / "several.npz"
    np.savez(path, accuracy=np.random.default_rng(0).random((2, 20, 10)))
    out = rungwise("simulate", path, "--key", "accuracy", "--index", 1, "--columns", "1:", "--json")
    assert json.loads(out.stdout)["max_resource"] <= 9


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--eta", "1"], "--eta is 1, but it must be a whole number of at least 2"),
        (
            ["--ranking", "nose"],
            "--ranking is 'nose', but did you mean 'noise'? its name must be one of noise",
        ),
        (["--ranking", "soft"], "--ranking is 'soft', but it must be soft:EPSILON"),
        (["--ranking", "rbo:1,2,3"], "--ranking is 'rbo:1,2,3'"),
        (
            ["--scheduler", "asha", "--ranking", "exact"],
            "--ranking is 'exact', but the scheduler ASHA has no such option",
        ),
        (["--scheduler", "none"], "--scheduler is 'none'"),
        (["--columns", "a:b"], "--columns is 'a:b'"),
        (["--columns", "5"], "--columns is '5', but it must be START:STOP"),
        (["--index", "1"], "index is 1, but values holds a single table"),
        (["--size", "9"], "--size is 9, but the scheduler PASHA has no such option"),
        (["--max-resource", "99"], "--max-resource is 99, but the table's curves end at"),
        (["--goal", "most"], "goal is 'most'"),
    ],
)
def test_mistakes_get_one_clear_line(curves, arguments, message):
    done = rungwise("simulate", curves, *arguments, check=False)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_output_survives_an_encoding_without_greek(curves):
    for arguments in (["simulate", curves], ["simulate", curves, "--json"], ["simulate", "--help"]):
        done = subprocess.run(
            [sys.executable, "-m", "rungwise", *map(str, arguments)],
            capture_output=True,
            env={**os.environ, "PYTHONIOENCODING": "ascii"},
            check=False,
        )
        assert done.returncode == 0, done.stderr


def test_halving_has_a_size(curves):
    out = rungwise("simulate", curves, "--scheduler", "halving", "--size", 9, "--json")
    assert len(json.loads(out.stdout)["rows"]) == 9


def test_seconds_are_cut_with_the_columns_and_tables(tmp_path):
    path = tmp_path / "several.npz"
    rng = np.random.default_rng(0)
    np.savez(path, values=rng.random((2, 9, 6)), seconds=rng.uniform(1, 9, (2, 9, 6)))
    out = rungwise(
        "simulate",
        path,
        "--index",
        1,
        "--columns",
        "1:",
        "--scheduler",
        "random",
        "--workers",
        1,
        "--json",
    )
    assert json.loads(out.stdout)["seconds"] == pytest.approx(
        float(np.load(path)["seconds"][1, :, 1:].sum())
    )


def test_a_missing_file_is_named():
    done = rungwise("simulate", "nowhere.npz", check=False, alone=True)
    assert done.returncode == 2
    assert "nowhere.npz" in done.stderr


def test_a_terminal_gets_colours(curves):
    parent, child = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "rungwise", "simulate", str(curves)],
        stdout=child,
        stderr=child,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "120"},
    )
    os.close(child)
    seen = b""
    # Reading fails when the terminal is gone with the process.
    with contextlib.suppress(OSError):
        while piece := os.read(parent, 65536):
            seen += piece
    os.close(parent)
    assert process.wait(60) == 0
    assert "\x1b[" in seen.decode()
    assert "Done: 60 configurations compared" in seen.decode()


@pytest.mark.parametrize(("terminal", "delay"), [(True, 0), (True, 3600), (False, 0)])
def test_what_takes_long_shows_a_bar_on_a_terminal(monkeypatch, terminal, delay):
    monkeypatch.setattr(console, "PROGRESS_DELAY", delay)
    screen = Console(file=io.StringIO(), force_terminal=terminal, width=80)
    with console.progress("simulating", screen) as advance:
        advance(3, 10)
    shown = "simulating" in screen.file.getvalue()
    assert shown is (terminal and delay == 0)
