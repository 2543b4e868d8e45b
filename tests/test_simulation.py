"""Tables, and what `simulate` promises."""

import math
import re

import numpy as np
import pytest

import rungwise as rw
from rungwise.core.decisions import StartJob
from rungwise.core.events import Reported
from rungwise.simulation import SimulationResult


def test_the_documented_call_gives_the_documented_fields():
    table = rw.power_laws(300, 200, seed=0)
    result = rw.simulate(
        table,
        rw.PASHA(
            min_resource=1,
            max_resource=200,
            eta=3,
            ranking=rw.rankings.Noise(percentile=90),
            promote="floor",
            check="rung",
        ),
        trials=256,
        workers=4,
        seed=0,
        finish="drain",
    )
    assert table.values[result.best.row, result.best.resource - 1] == result.best.value
    assert result.seconds > 0
    assert result.max_resource == max(until for _, _, until in result.jobs)
    assert result.resource_spent == result.reports == sum(u - s for _, s, u in result.jobs)
    assert result.ceilings[0] == (0, 3)
    assert result.ceilings[-1][1] == result.max_resource
    assert all(epsilon >= 0 for _, epsilon in result.epsilons)
    assert [n for n, _ in result.epsilons] == sorted({n for n, _ in result.epsilons})
    assert len(set(result.rows)) == 256
    assert re.fullmatch(r"The study ended because [^.]*; the ceiling [^;]*\.", result.rule)
    done = r"Done: 256 configurations compared; trial \d+ won at resource \d+\."
    assert re.fullmatch(done, result.why)


def test_best_is_the_best_reported_value_anywhere():
    # Row 1 is best at its first epoch and gets worse; row 0 goes on to the end.
    table = rw.Table([[0.5, 0.4, 0.3], [0.1, 0.9, 0.9], [0.6, 0.6, 0.6]])
    result = rw.simulate(table, rw.RandomSearch(), trials=[0, 1, 2], workers=1)
    assert (result.best.row, result.best.value, result.best.resource) == (1, 0.1, 1)


def test_ties_for_the_best_go_to_the_first_drawn():
    table = rw.Table([[0.5], [0.2], [0.2]])
    result = rw.simulate(table, rw.FixedResource(1), trials=[0, 2, 1], workers=2)
    assert result.best.row == 2


@pytest.mark.parametrize("goal", ["min", "max"])
@pytest.mark.parametrize("workers", [1, 4])
def test_leads_tell_who_was_best_when_how_much_was_spent(goal, workers):
    rng = np.random.default_rng(8)
    values = np.round(rng.normal(size=(30, 27)), 1)  # with ties
    log = rw.MemoryLog()
    result = rw.simulate(
        rw.Table(values, goal=goal), rw.ASHA(), trials=30, workers=workers, log=log
    )
    sign = 1 if goal == "min" else -1
    jobs, reached, best, expected = {}, {}, None, []
    for event, decision in log.read_from():
        if isinstance(decision, StartJob):
            jobs[decision.job.id] = decision.job.trial
        if isinstance(event, Reported):
            trial = jobs[event.job]
            reached[trial] = event.resource
            new = (sign * event.value, trial)
            if best is None or new < best:
                if best is None or best[1] != trial:
                    expected.append((sum(reached.values()), result.rows[trial]))
                best = new
    assert len(expected) > 2
    assert result.leads == expected
    assert result.leads[-1][1] == result.best.row


def test_maximised_values_keep_their_sign():
    table = rw.Table([[0.1, 0.7], [0.3, 0.9]], goal="max")
    result = rw.simulate(table, rw.RandomSearch(2), trials=2)
    assert (result.best.row, result.best.value) == (1, 0.9)


def test_time_is_virtual_and_workers_share_it():
    table = rw.Table(np.ones((4, 2)), seconds=[10, 1, 1, 1])
    # One worker: 2 × (10 + 1 + 1 + 1). Two: the slow row on one, the others on the other.
    assert rw.simulate(table, rw.RandomSearch(), trials=range(4), workers=1).seconds == 26
    assert rw.simulate(table, rw.RandomSearch(), trials=range(4), workers=2).seconds == 20


def test_seconds_may_differ_by_resource():
    table = rw.Table([[1.0, 1.0, 1.0]], seconds=[[5, 1, 0]])
    assert rw.simulate(table, rw.RandomSearch(), trials=1).seconds == 6


def test_without_a_maximum_the_table_is_the_maximum():
    table = rw.power_laws(40, 12, seed=3)
    assert rw.simulate(table, rw.ASHA(), trials=40).max_resource == 12


def test_ragged_curves_are_runs_that_diverged():
    table = rw.Table([[0.9, 0.8, 0.7], [0.2], [0.5, 0.4]])
    result = rw.simulate(table, rw.ASHA(eta=2), trials=[0, 1, 2], workers=1)
    assert result.best.row == 2  # a run that broke down wins over no other, whatever it reported
    assert result.leaderboard()[-1].problem.startswith("diverged")
    alone = rw.simulate(table, rw.RandomSearch(), trials=[1], workers=1)
    assert alone.best.problem.startswith("diverged")


def test_nothing_finite_reported_is_no_best():
    table = rw.Table([[math.nan, 0.5], [math.inf, 0.5], [-math.inf, 0.5]])
    result = rw.simulate(table, rw.FixedResource(1), trials=3)
    assert result.best is None
    assert result.to_json()["best"] is None


def test_rows_are_drawn_once_until_all_have_been():
    table = rw.power_laws(10, 3)
    rows = rw.simulate(table, rw.FixedResource(1), trials=25, seed=4).rows
    assert sorted(rows[:10]) == sorted(rows[10:20]) == list(range(10))
    assert len(set(rows[20:])) == 5


def test_seeds_draw_different_rows_and_equal_seeds_equal_ones():
    table = rw.power_laws(50, 3)
    rows = [rw.simulate(table, rw.FixedResource(1), trials=20, seed=s).rows for s in (0, 1, 0)]
    assert rows[0] == rows[2] != rows[1]


def test_the_random_baseline_trains_nothing():
    table = rw.power_laws(50, 3)
    result = rw.random_configuration(table, seed=7)
    assert result.best.row == rw.simulate(table, rw.FixedResource(1), trials=1, seed=7).rows[0]
    assert (result.resource_spent, result.seconds, result.max_resource) == (0, 0, 0)
    assert math.isnan(result.best.value)
    assert isinstance(result, SimulationResult)


def test_paper_finish_with_no_report_has_no_best():
    result = rw.simulate(rw.power_laws(3, 9), rw.PASHA(), trials=3, workers=4, finish="paper")
    assert (result.best, result.reports, len(result.jobs)) == (None, 0, 3)


def test_progress_is_told():
    told = []
    rw.simulate(
        rw.power_laws(9, 9), rw.ASHA(), trials=9, on_progress=lambda *state: told.append(state)
    )
    assert told[-1] == (9, 9)


def test_tables_survive_files(tmp_path):
    table = rw.power_laws(5, 4, seed=2)
    table.save(tmp_path / "table.npz")
    again = rw.Table.load(tmp_path / "table.npz")
    assert np.array_equal(again.values, table.values)
    assert np.array_equal(again.seconds, table.seconds)
    assert again.goal == table.goal


def test_tables_cannot_be_changed_behind_their_back():
    values = np.ones((2, 2))
    table = rw.Table(values)
    values[0, 0] = 7
    assert table.values[0, 0] == 1
    with pytest.raises(ValueError, match="read-only"):
        table.values[0, 0] = 7


TABLE = rw.power_laws(5, 9)

BAD_CALLS = {
    "eta is 1": lambda: rw.PASHA(eta=1),
    "eta is 2.5": lambda: rw.ASHA(eta=2.5),
    "eta is True": lambda: rw.ASHA(eta=True),
    "min_resource is 0": lambda: rw.PASHA(min_resource=0),
    "min_resource is 5, but it must not exceed max_resource = 3": lambda: rw.PASHA(5, 3),
    "promote is 'ceil'": lambda: rw.PASHA(promote="ceil"),
    "check is 'epoch'": lambda: rw.PASHA(check="epoch"),
    "variant is 'pause'": lambda: rw.ASHA(variant="pause"),
    "ranking is 'noice'": lambda: rw.PASHA(ranking="noice"),
    "percentile is 101": lambda: rw.rankings.Noise(101),
    "epsilon is -1": lambda: rw.rankings.Soft(-1),
    "k is nan": lambda: rw.rankings.SoftSigma(math.nan),
    "p is 1.5": lambda: rw.rankings.RBO(1.5, 0.5),
    "resource is 0": lambda: rw.FixedResource(0),
    "goal is 'minimum', but it must be 'min' or 'max'": lambda: rw.Table([[1]], goal="minimum"),
    "values is of shape (3,)": lambda: rw.Table(np.ones(3)),
    "values is of shape (0, 0)": lambda: rw.Table([]),
    "values is 'abc', but it must hold numbers": lambda: rw.Table("abc"),
    "at least one value must be finite": lambda: rw.Table([[math.nan, math.inf]]),
    "seconds is -1.0": lambda: rw.Table([[1.0]], seconds=-1),
    "seconds is of shape (3,)": lambda: rw.Table([[1.0], [2.0]], seconds=[1, 2, 3]),
    "seconds is nan": lambda: rw.Table([[1.0]], seconds=math.nan),
    "configs is of length 2": lambda: rw.Table([[1.0]], configs=[{}, {}]),
    "names is of length 0": lambda: rw.Table([[1.0]], names=[]),
    "table is [[1.0]]": lambda: rw.simulate([[1.0]], rw.PASHA(), trials=1),
    "scheduler is 'pascha', but did you mean 'pasha'?": lambda: rw.simulate(
        TABLE, "pascha", trials=1
    ),
    "scheduler is 'fixed', but it must be fixed:RESOURCE": lambda: rw.simulate(
        TABLE, "fixed", trials=1
    ),
    "scheduler is <class": lambda: rw.simulate(TABLE, rw.PASHA, trials=1),
    "trials is 0": lambda: rw.simulate(TABLE, rw.PASHA(), trials=0),
    "trials is []": lambda: rw.simulate(TABLE, rw.PASHA(), trials=[]),
    "trials is 5, but the table has the rows 0 to 4": lambda: rw.simulate(
        TABLE, rw.PASHA(), trials=[1, 5]
    ),
    "trials is -1": lambda: rw.simulate(TABLE, rw.PASHA(), trials=[-1]),
    "trials is 'all'": lambda: rw.simulate(TABLE, rw.PASHA(), trials="all"),
    "trials is 2.5": lambda: rw.simulate(TABLE, rw.PASHA(), trials=2.5),
    "workers is 0": lambda: rw.simulate(TABLE, rw.PASHA(), trials=1, workers=0),
    "seed is -1": lambda: rw.simulate(TABLE, rw.PASHA(), trials=1, seed=-1),
    "finish is 'now'": lambda: rw.simulate(TABLE, rw.PASHA(), trials=1, finish="now"),
    "max_resource is 10, but the table's curves end at resource 9": lambda: rw.simulate(
        TABLE, rw.PASHA(max_resource=10), trials=1
    ),
    "resource is 10, but the table's curves end": lambda: rw.simulate(
        TABLE, rw.FixedResource(10), trials=1
    ),
    "min_resource is 20": lambda: rw.simulate(TABLE, rw.PASHA(min_resource=20), trials=1),
    "path is": lambda: rw.Table.load("/nonexistent/table.npz"),
}


@pytest.mark.parametrize("message", BAD_CALLS)
def test_bad_input_names_the_value_the_rule_and_the_argument(message):
    with pytest.raises(rw.InvalidArgumentError, match=re.escape(message)):
        BAD_CALLS[message]()


def test_broken_files_are_refused_by_name(tmp_path):
    path = tmp_path / "broken.npz"
    path.write_bytes(b"PK\x03\x04 not a zip")
    with pytest.raises(rw.TableError, match=r"broken\.npz"):
        rw.Table.load(path)
    np.savez(path, values=np.array([{"a": 1}], dtype=object))
    with pytest.raises(rw.TableError, match="pickle"):
        rw.Table.load(path)
    np.savez(path, losses=np.ones((2, 2)))
    with pytest.raises(rw.TableError, match=r"key is 'values'.*\['losses'\]"):
        rw.Table.load(path)
    np.savez(path, values=np.ones((2, 2, 2)))
    with pytest.raises(rw.TableError, match="index is None, but values holds 2 tables"):
        rw.Table.load(path)
    np.save(tmp_path / "bare.npy", np.ones((2, 2)))
    with pytest.raises(rw.TableError, match="named arrays"):
        rw.Table.load(tmp_path / "bare.npy")


def test_files_may_hold_several_tables(tmp_path):
    path = tmp_path / "several.npz"
    rng = np.random.default_rng(0)
    values, seconds = rng.random((2, 4, 6)), rng.random((2, 4))
    np.savez(path, accuracy=values, seconds=seconds, goal=np.array("max"))
    table = rw.Table.load(path, key="accuracy", index=1, columns=slice(1, None))
    assert np.array_equal(table.values, values[1, :, 1:])
    assert np.array_equal(table.seconds, seconds[1])
    assert table.goal == "max"
    with pytest.raises(rw.TableError, match="index is 2, but accuracy holds 2 tables"):
        rw.Table.load(path, key="accuracy", index=2)


def test_seconds_are_cut_with_the_columns(tmp_path):
    path = tmp_path / "one.npz"
    rng = np.random.default_rng(0)
    values = rng.random((4, 6))
    np.savez(path, values=values, seconds=values)
    table = rw.Table.load(path, columns=slice(2, 5))
    assert np.array_equal(table.seconds, values[:, 2:5])
    with pytest.raises(rw.TableError, match="holds a single table"):
        rw.Table.load(path, index=0)


def test_masked_and_object_arrays_are_read_as_they_are_meant():
    masked = np.ma.masked_array([[1.0, -5.0]], mask=[[False, True]])
    assert np.array_equal(rw.Table(masked).values, [[1.0, math.nan]], equal_nan=True)
    ragged = np.empty(2, dtype=object)
    ragged[:] = [[1.0, 2.0], [3.0]]
    assert np.array_equal(rw.Table(ragged).values, [[1, 2], [3, math.nan]], equal_nan=True)
    with pytest.raises(rw.TableError, match="must hold numbers"):
        rw.Table(np.array([[1 + 2j]]))
    with pytest.raises(rw.TableError, match="nested otherwise"):
        rw.Table([[[1.0]]])


def test_tables_may_know_their_configurations():
    space = {"lr": rw.Float(1e-5, 1, log=True)}
    table = rw.Table(
        [[1.0], [2.0]], configs=[{"lr": 0.1}, {"lr": 1}], space=space, names=["a", "b"]
    )
    assert table.configs == ({"lr": 0.1}, {"lr": 1.0})
    assert "2 rows × 1 resources" in repr(table)
    with pytest.raises(rw.SpaceError, match="lr is 5"):
        rw.Table([[1.0]], configs=[{"lr": 5}], space=space)


# -- searchers on tables ---------------------------------------------------------------------------


def searchable(rows=30, **options):
    """A table whose configurations lie on a line, the best at 0.3."""
    xs = [(0.5 + 7 * row) % rows / rows for row in range(rows)]
    curves = [[(x - 0.3) ** 2 + 1 / e for e in range(1, 10)] for x in xs]
    configs = [{"x": x} for x in xs]
    return rw.Table(curves, configs=configs, space={"x": rw.Float(0.0, 1.0)}, **options)


def test_a_searcher_chooses_among_the_rows_each_once():
    table = searchable()
    result = rw.simulate(table, rw.ASHA(), searcher=rw.searchers.KDE(random=0.0), trials=25)
    assert len(set(result.rows)) == 25
    assert result.best.value == min(table.values[row].min() for row in result.rows)
    again = rw.simulate(table, rw.ASHA(), searcher=rw.searchers.KDE(random=0.0), trials=25)
    assert again == result


def test_a_model_draws_better_rows_than_chance():
    table = searchable(rows=200)
    searched, drawn = (
        [
            np.mean([table.values[row, -1] for row in rw.simulate(
                table, rw.ASHA(), searcher=searcher, trials=60, seed=seed).rows[20:]])
            for seed in range(3)
        ]
        for searcher in (rw.searchers.KDE(random=0.0), None)
    )  # fmt: skip
    assert np.mean(searched) < 0.8 * np.mean(drawn)


def test_when_all_rows_were_drawn_they_come_again():
    result = rw.simulate(
        searchable(rows=4), rw.ASHA(), searcher=rw.searchers.RandomSearcher(), trials=8
    )
    assert sorted(result.rows[:4]) == sorted(result.rows[4:]) == [0, 1, 2, 3]


def test_a_table_with_nearest_takes_proposals_as_they_are():
    table = searchable(rows=5, nearest=True)
    log = rw.MemoryLog()
    searcher = rw.searchers.RandomSearcher()
    result = rw.simulate(table, rw.ASHA(), searcher=searcher, trials=20, seed=1, log=log)
    # A random search with this seed draws what the paper's setting draws.
    assert result.rows == rw.simulate(table, rw.ASHA(), trials=20, seed=1).rows
    configs = [trial.config for trial in rw.replay(log).trials]
    assert table.find_rows(configs) == result.rows
    assert len({config["x"] for config in configs}) == 20


def test_a_search_on_a_table_replays_from_its_log():
    log, table = rw.MemoryLog(), searchable()
    searcher = rw.searchers.KDE(random=0.0)
    result = rw.simulate(table, rw.PASHA(), searcher=searcher, trials=20, log=log)
    engine = rw.replay(rw.MemoryLog.from_lines(log.to_lines()))
    assert table.find_rows([trial.config for trial in engine.trials]) == result.rows


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        (rw.power_laws(9, 9), {}, "no space to search in"),
        (searchable(), {"trials": [1, 2, 3]}, "trials"),
        (searchable(), {"searcher": rw.searchers.KDE}, "searcher"),
    ],
)
def test_a_search_that_cannot_be_is_refused(table, options, message):
    given = {"searcher": rw.searchers.KDE(), "trials": 5, **options}
    with pytest.raises(rw.InvalidArgumentError, match=message):
        rw.simulate(table, rw.ASHA(), **given)


def test_schedulers_and_searchers_may_be_named():
    named = rw.simulate(TABLE, "asha:eta=2", trials=4, workers=2)
    assert named == rw.simulate(TABLE, rw.ASHA(eta=2), trials=4, workers=2)
    with pytest.raises(
        rw.InvalidArgumentError, match="searcher is 'sobool', but did you mean 'sobol'"
    ):
        rw.simulate(TABLE, "asha", trials=4, searcher="sobool")
