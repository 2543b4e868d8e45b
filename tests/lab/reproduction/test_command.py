"""``rungwise reproduce``: what it prints, writes and refuses."""

import csv
import inspect
import os
import subprocess
import sys

import pytest
import typer
from reproduction_stories import write_curves, write_tiny
from typer.testing import CliRunner

from rungwise.backends import hardware
from rungwise.cli import reproduce as command
from rungwise.errors import InvalidArgumentError, TableError

APP = typer.Typer(rich_markup_mode=None)
APP.command()(command.reproduce)

QUICK = ("--quick", "--processes", "1")


def call(*words):
    return CliRunner(env={"COLUMNS": "200"}).invoke(APP, [*words, *QUICK])


def test_tables_are_printed_with_what_they_say(folder):
    write_tiny(folder)
    found = call("table1")
    assert found.exit_code == 0, found.output
    assert "tiny, protocol paper" in found.output
    assert "tiny, protocol ours" in found.output
    assert "| One-epoch baseline | " in found.output
    assert "PASHA against ASHA on the same samples" in found.output
    assert "The paper has no figures for it." in found.output


def test_everything_is_the_default(folder):
    write_curves(folder, "own")
    found = call("--configs", "20")
    assert found.exit_code == 0, found.output
    for title in ("Reduction factors", "Ranking functions", "The maximum resource"):
        assert title in found.output
    assert "Bayesian optimisation (bo, the paper's table 3) was left out" in found.output


def test_one_protocol_and_one_benchmark(folder):
    write_tiny(folder)
    write_tiny(folder, "other")
    found = call("table1", "--protocol", "ours", "--benchmark", "other")
    assert "other, protocol ours" in found.output
    assert "tiny" not in found.output
    assert "protocol paper" not in found.output


def test_files_are_written_whole_and_alike(folder, tmp_path):
    write_curves(folder, "own")
    first, second = tmp_path / "a" / "b", tmp_path / "c"
    for out in (first, second):
        found = call("table1", "--configs", "20", "--out", str(out))
        assert found.exit_code == 0, found.output
    names = sorted(str(path.relative_to(first)) for path in first.rglob("*") if path.is_file())
    pictures = [name for name in names if name.endswith(".svg")]
    assert [name for name in names if name not in pictures] == [
        *("report.html", "results.md", "results/how-it-was-run.md", "results/table1.md"),
        *("runs.csv", "summary.csv"),
    ]
    assert len(pictures) in (0, 2)  # none without the extra plots
    for name in names:
        assert (first / name).read_bytes() == (second / name).read_bytes()
    assert (first / "results.md").read_text("utf-8").startswith("# Results\n")
    with (first / "runs.csv").open(encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == 8  # four methods, two protocols
    with (first / "summary.csv").open(encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == 8


def test_a_folder_that_cannot_be_is_refused_before_anything_is_run(folder, tmp_path, monkeypatch):
    write_tiny(folder)
    monkeypatch.setattr(command, "run", lambda *_, **__: pytest.fail("it was run"))
    (tmp_path / "file").write_text("no folder")
    found = call("table1", "--out", str(tmp_path / "file" / "sub"))
    assert isinstance(found.exception, InvalidArgumentError)
    assert "--out is " in str(found.exception)


def test_a_file_in_the_way_is_refused(folder, tmp_path):
    write_tiny(folder)
    (tmp_path / "out" / "runs.csv").mkdir(parents=True)
    found = call("table1", "--out", str(tmp_path / "out"))
    assert isinstance(found.exception, InvalidArgumentError)
    assert "runs.csv" in str(found.exception)
    assert not list((tmp_path / "out").glob(".*"))  # no half of a file is left behind


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["table9"], "experiment is 'table9', but it must be all or one of table1, eta"),
        (["table1", "--protocol", "theirs"], "--protocol is 'theirs'"),
        (["table1", "--seeds", "3"], "--quick means one seed"),
        (["table1", "--benchmark", "nope"], "installed: tiny"),
    ],
)
def test_mistakes_are_told(folder, words, error):
    write_tiny(folder)
    found = call(*words)
    assert isinstance(found.exception, (InvalidArgumentError, TableError))
    assert error in str(found.exception)


def test_no_benchmark_installed_says_where_to_get_one(folder):
    found = call("table1")
    assert isinstance(found.exception, TableError)
    assert "rungwise benchmark convert" in str(found.exception)


def test_an_interrupt_writes_nothing(folder, tmp_path, monkeypatch):
    write_tiny(folder)

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "run", interrupted)
    found = call("table1", "--out", str(tmp_path / "out"))
    assert found.exit_code == 130
    assert "interrupted" in found.output
    assert not list((tmp_path / "out").iterdir())


def test_settings_reach_the_run(folder, monkeypatch):
    write_tiny(folder)
    seen = []

    def run(names, benchmarks, *, settings, processes, progress):
        seen.append((names, benchmarks, settings, processes))
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "run", run)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)), raising=False)
    monkeypatch.setattr(hardware, "_quota", lambda: 4.5)
    words = ["eta", "table1", "--protocol", "paper", "--nearest", "--processes", "3"]
    words += ["--seeds", "7", "--configs", "64", "--workers", "8"]
    CliRunner().invoke(APP, [*words, "--benchmark", "x", "--benchmark", "y"])
    CliRunner().invoke(APP, [])
    (names, benchmarks, settings, processes), (all_names, none, default, own) = seen
    assert (names, benchmarks, processes) == (("eta", "table1"), ["x", "y"], 3)
    assert (settings.seeds, settings.configs, settings.workers) == (7, 64, 8)
    assert (settings.protocols, settings.nearest) == (("paper",), True)
    assert (all_names, none) == (("all",), None)
    assert own == 5, "as many as a container may use"
    assert (default.seeds, default.configs, default.workers) == (5, 256, 4)
    assert (default.protocols, default.nearest) == (("paper", "ours"), False)
    assert not default.everywhere


def test_both_protocols_are_for_bo_too_where_they_are_asked_for(folder, monkeypatch):
    write_tiny(folder)
    seen = []

    def run(*_, settings, **__):
        seen.append((settings.protocols, settings.everywhere))
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "run", run)
    for words in ([], ["--protocol", "both"], ["--protocol", "ours"]):
        CliRunner().invoke(APP, ["bo", *words])
    assert seen == [
        (("paper", "ours"), False),
        (("paper", "ours"), True),
        (("ours",), False),
    ]


def test_help_explains_every_option():
    found = CliRunner(env={"COLUMNS": "200"}).invoke(APP, ["--help"])
    names = inspect.signature(command.reproduce).parameters
    told = {option.name: option.help for option in typer.main.get_command(APP).params}
    assert all(told[name] for name in names)
    for word in (
        "table1",
        "rankings",
        "granularity",
        "the extra optuna for some rows",
        "--nearest",
        "paper: as in the authors' code",
    ):
        assert word in found.output


def test_as_a_command_of_its_own(folder, tmp_path):
    write_curves(folder, "own")
    words = ("reproduce", "table1", "--seeds", "2", "--configs", "20", "--processes", "2")
    done = subprocess.run(
        [sys.executable, "-m", "rungwise", *words, "--out", "results", "--benchmark", "own"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "own, protocol ours" in done.stdout
    assert (
        "Written to results: results.md, results/, runs.csv, summary.csv, report.html"
        in done.stdout
    )
    with (tmp_path / "results" / "runs.csv").open(encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == 16
