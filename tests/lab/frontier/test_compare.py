"""The comparison on small tables and on files of curves."""

from dataclasses import replace

import numpy as np
import pytest
import typer
from extras import needs
from reproduction_stories import write_curves, write_tiny
from typer.testing import CliRunner

import rungwise as rw
from rungwise.benchmarks import catalog
from rungwise.cli import reproduce as command
from rungwise.errors import InvalidArgumentError, RungwiseError, TableError
from rungwise.lab.frontier import METHODS, Settings, compare, report
from rungwise.lab.frontier.studies import Tables, Task, draw_sample, find_top, simulate_task

APP = typer.Typer(rich_markup_mode=None)
APP.command()(command.reproduce)

SMALL = Settings(methods=("asha", "halving", "one-unit"), seeds=2, configs=20, workers=2)


def write_file(folder, name, *, rows=30, resources=9, better="higher", **more):
    rng = np.random.default_rng(len(name))
    curves = rng.random((rows, resources)).cumsum(axis=1)
    final = curves[:, -1].copy()
    curves[1, 4:] = np.nan  # it had ended
    curves[2, 2:], final[2] = np.nan, np.nan  # it diverged
    arrays = {"curves": curves, "final": final, "better": np.array(better), **more}
    folder.mkdir(exist_ok=True)
    np.savez(folder / f"{name}.npz", **arrays)
    return curves, final


def test_a_study_is_the_one_that_simulate_runs(folder):
    write_curves(folder, "own")
    settings = replace(SMALL, methods=tuple(METHODS))
    found = compare(settings)
    table = catalog.load("own").table()
    sample = draw_sample(table, 20, seed=1)
    assert sample == rw.simulate(table, rw.RandomSearch(), trials=20, seed=1).rows
    run = next(run for run in found.runs if run.seed == 1)
    for name, recipe in (("asha", rw.ASHA()), ("pasha", rw.PASHA()), ("halving", "halving")):
        expected = rw.simulate(table, recipe, trials=sample, workers=2)
        assert run.studies[name].spent == expected.resource_spent
    few = rw.simulate(table, rw.ASHA(), trials=sample[:16], workers=2)
    assert run.line[0].spent == few.resource_spent
    assert [len(one.line) for one in found.runs] == [2, 2]


def test_a_maximum_guessed_wrongly(folder):
    write_curves(folder, "own")
    tables = Tables(catalog.load("own"), 0)
    run = simulate_task(Task("own", 0, 0), tables, SMALL)
    table = tables.plain
    sample = draw_sample(table, 20, seed=0)
    low = rw.simulate(table, rw.ASHA(max_resource=27 // 4), trials=sample, workers=2)
    assert run.guesses["asha-low"].spent == low.resource_spent
    assert run.guesses["asha-high"].spent >= run.studies["asha"].spent
    # Beyond its end a curve goes on level.
    longer = tables.longer
    assert longer.resources == 4 * 27
    np.testing.assert_array_equal(longer.values[:, :27], table.values)
    np.testing.assert_array_equal(longer.values[:, -1], table.values[:, -1])


def test_the_number_of_processes_changes_nothing(folder, tmp_path):
    write_curves(folder, "own", seeds=2)
    write_file(tmp_path / "files", "other")
    settings = replace(SMALL, curves=str(tmp_path / "files"))
    one, two = compare(settings), compare(settings, processes=2)
    assert one == two
    assert [run.benchmark for run in one.runs] == ["own"] * 4 + ["other"] * 2
    assert report.markdown(one, figure=False) == report.markdown(two, figure=False)


def test_the_winner_at_the_highest_rung_may_be_another(folder):
    values = np.array([[0.9, 0.1, 0.2], [0.1, 0.2, 0.3], [0.0, 0.0, 0.9]])
    table = rw.Table(values, goal="max")
    everything = rw.simulate(table, rw.RandomSearch(), trials=[0, 1])
    assert everything.best.row == 0  # an early peak
    assert find_top(everything, table) == 1
    diverged = rw.Table([[np.nan], [1.0]])
    assert find_top(rw.simulate(diverged, rw.RandomSearch(), trials=[0]), diverged) == -1


def test_a_small_table_is_drawn_whole(folder):
    write_tiny(folder)
    (run,) = compare(replace(SMALL, seeds=1)).runs
    assert run.studies["one-unit"].spent == 3
    assert run.line[0] == run.line[-1]  # 16 and 20 trials are the same 3


def test_the_command_prints_and_writes(folder, tmp_path):
    write_curves(folder, "own")
    write_file(tmp_path / "files", "other")
    words = ("--configs", "20", "--method", "asha", "--method", "halving", "--quick")
    places = ("--curves", str(tmp_path / "files"), "--out", str(tmp_path / "out"))
    call = CliRunner(env={"COLUMNS": "200"}).invoke
    found = call(APP, ["frontier", *words, *places, "--processes", "1"])
    assert found.exit_code == 0, found.output
    assert "Synchronous halving" in found.output
    assert "for the same resource" in found.output
    page = (tmp_path / "out" / "frontier.md").read_text()
    assert "`rungwise reproduce frontier --seeds 1 --configs 20" in page
    lines = (tmp_path / "out" / "frontier.csv").read_text().splitlines()
    assert lines[0] == "benchmark,table_seed,seed,method,trials,spent,regret,gap,top"
    # Two tables: ASHA with 16 and 20 trials, halving, and four wrong guesses.
    assert len(lines) == 1 + 2 * (2 + 1 + 4)
    other = call(APP, ["frontier", "table1"])
    assert other.exit_code != 0
    assert isinstance(other.exception, InvalidArgumentError)
    assert "alone" in str(other.exception)
    with pytest.raises(InvalidArgumentError, match="only the experiment frontier"):
        call(APP, ["table1", "--method", "asha"], catch_exceptions=False)


def test_the_figure_has_the_line_and_the_points(folder):
    needs("plots")
    from rungwise.lab.frontier import figure  # noqa: PLC0415 - an extra
    from rungwise.plots.figure import make_svg  # noqa: PLC0415

    write_curves(folder, "own")
    drawn = make_svg(figure.draw(compare(SMALL)))
    for text in ("Regret against resource", "1  Synchronous halving", "2  One unit for all"):
        assert text in drawn


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (Settings(methods=("aha",)), "it must be one of asha, "),
        (Settings(curves="nowhere"), "nowhere"),
        (Settings(seeds=0), "seeds"),
        (Settings(benchmarks=("unknown",)), "unknown"),
    ],
)
def test_what_cannot_be_run_is_refused(folder, settings, words):
    write_tiny(folder)
    with pytest.raises(RungwiseError, match=words):
        compare(settings)


def test_a_folder_without_such_files_is_refused(folder, tmp_path):
    np.savez(tmp_path / "other.npz", values=np.zeros(3))
    with pytest.raises(TableError, match="at least one"):
        compare(replace(SMALL, curves=str(tmp_path)))
