"""Optuna's own study in virtual time: Optuna decides, the table answers, the clock is ours."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from extras import needs
from reproduction_stories import searchable

import rungwise as rw
from rungwise.errors import InvalidArgumentError
from rungwise.lab.reproduction import optuna_peer
from rungwise.lab.reproduction.methods import Case
from rungwise.lab.reproduction.protocols import OURS, PAPER

optuna = needs("optuna", "optuna")

ROWS = 40


def case(table, *, trials=ROWS, workers=4, seed=0, protocol=PAPER):
    return Case(table, list(range(trials)), protocol, workers, seed)


def by_optuna_itself(table, trials, seed):
    """(row, units trained) of each trial, and the number of the best, by ``study.optimize``."""
    trained = []

    def objective(trial):
        config = {  # in the order of the space, which is that of names
            "kind": "abc"[trial.suggest_categorical("kind", (0, 1, 2))],
            "lr": trial.suggest_float("lr", 1e-4, 1.0, log=True),
            "width": trial.suggest_int("width", 8, 64, log=True),
        }
        row = table.find_row(config)
        trained.append([row, 0])
        for step in range(1, table.resources + 1):
            trained[-1][1] = step
            trial.report(table.values[row, step - 1], step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return table.values[row, -1]

    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    study = optuna.create_study(
        study_name=f"rungwise-{seed}",
        direction="maximize",
        sampler=optuna.samplers.TPESampler(seed=seed),
        pruner=optuna.pruners.HyperbandPruner(
            min_resource=1, max_resource=table.resources, reduction_factor=3
        ),
    )
    study.optimize(objective, n_trials=trials)
    optuna.logging.set_verbosity(before)
    return [tuple(pair) for pair in trained], study.best_trial.number


@pytest.mark.parametrize("seed", [0, 3])
def test_one_worker_does_what_optimize_does(seed):
    # With nearest a proposal is trained as it is, so nothing of ours is between.
    table = searchable(ROWS, nearest=True)
    trained, best = by_optuna_itself(table, 50, seed)
    result = optuna_peer.play(case(table, trials=50, workers=1, seed=seed))
    assert [(row, until) for row, start, until in result.jobs if start == 0] == trained
    row = trained[best][0]
    assert (result.best.row, result.best.resource) == (row, table.resources)
    assert result.best.value == table.values[row, -1]
    units = [table.seconds[row] * until for row, until in trained]
    assert result.seconds == pytest.approx(sum(units))
    assert len({until for _, until in trained}) > 2  # it does prune, and not everything


def test_rows_are_drawn_once_and_never_trained_beyond_the_end():
    table = searchable(ROWS, resources=20)
    result = optuna_peer.play(case(table))
    assert sorted(result.rows) == list(range(ROWS))
    assert [row for row, _, _ in result.jobs] == result.rows
    assert {start for _, start, _ in result.jobs} == {0}
    assert max(until for _, _, until in result.jobs) == result.max_resource == 20
    total = sum(until for _, _, until in result.jobs)
    assert total == result.resource_spent == result.reports
    in_full = [row for row, _, until in result.jobs if until == 20]
    best = max(in_full, key=lambda row: table.values[row, -1])
    assert result.best.row == best
    assert "trained in full" in result.rule


def test_workers_share_the_work():
    table = searchable(ROWS)
    result = optuna_peer.play(case(table, workers=4))
    work = sum(table.seconds[row] * until for row, _, until in result.jobs)
    longest = max(table.seconds) * table.resources
    assert work / 4 <= result.seconds <= work / 4 + longest
    few = optuna_peer.play(case(table, trials=2, workers=4))
    assert len(few.rows) == 2


def test_optuna_learns_from_the_rows_that_were_trained():
    table = searchable(ROWS)
    with optuna_peer.silence_optuna():
        peer = optuna_peer._Peer(table, trials=ROWS, seed=1)
        result = peer.run(2)
    told = peer._study.trials
    assert len(told) == ROWS
    for trial, row in zip(told, result.rows, strict=True):
        config = table.configs[row]
        kind = "abc".index(config["kind"])
        assert trial.params == {"lr": config["lr"], "width": config["width"], "kind": kind}


def test_the_same_seed_gives_the_same_study_and_another_another():
    table = searchable(ROWS)
    first, again = (optuna_peer.play(case(table, seed=2)) for _ in range(2))
    assert first == again
    assert optuna_peer.play(case(table, seed=2, protocol=OURS)) == first
    assert optuna_peer.play(case(table, seed=5)).rows != first.rows


def test_another_process_does_the_same():
    code = (
        "from reproduction_stories import searchable\n"
        "from rungwise.lab.reproduction import optuna_peer\n"
        "from rungwise.lab.reproduction.methods import Case\n"
        "from rungwise.lab.reproduction.protocols import PAPER\n"
        f"case = Case(searchable({ROWS}), list(range({ROWS})), PAPER, 4, 0)\n"
        "print(optuna_peer.play(case).jobs)\n"
    )
    tests = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONHASHSEED": "77", "PYTHONPATH": tests},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stdout.strip() == str(optuna_peer.play(case(searchable(ROWS))).jobs)
    assert done.stderr == ""


# -- what is no number --------------------------------------------------------------------------


def changed(table, values):
    return rw.Table(values, table.seconds, table.goal, configs=table.configs, space=table.space)


def test_a_diverged_row_is_pruned_at_a_rung_or_fails_and_is_never_chosen():
    table = searchable(ROWS)
    values = table.values.copy()
    values[::2] = np.nan
    result = optuna_peer.play(case(changed(table, values)))
    rungs = {1, 3, 9, 27}
    assert {until for row, _, until in result.jobs if row % 2 == 0} <= rungs
    assert result.best.row % 2 == 1
    assert sorted(result.rows) == list(range(ROWS))


def test_where_nothing_is_trained_in_full_the_best_last_value_is_chosen():
    table = searchable(ROWS, resources=20)
    values = table.values.copy()
    values[:, -1] = np.nan  # whoever is trained to the end fails there
    result = optuna_peer.play(case(changed(table, values)))
    last = {row: table.values[row, until - 1] for row, _, until in result.jobs if until < 20}
    assert result.max_resource == 20
    assert result.best.row == max(last, key=last.__getitem__)
    assert result.best.value == last[result.best.row]
    assert "no trial was trained in full" in result.rule


def test_where_nothing_is_finite_nothing_is_chosen():
    table = searchable(8)
    values = np.full_like(table.values, np.nan)
    values[0, 1] = 0.5  # a table has one finite value at least; nobody ends with this one
    result = optuna_peer.play(case(changed(table, values), trials=8))
    assert result.best is None
    assert len(result.rows) == 8


def test_smaller_values_are_better_where_the_table_says_so():
    table = searchable(ROWS)
    mirrored = rw.Table(
        1 - table.values, table.seconds, "min", configs=table.configs, space=table.space
    )
    found = optuna_peer.play(case(mirrored))
    in_full = [row for row, _, until in found.jobs if until == table.resources]
    assert found.best.row == max(in_full, key=lambda row: table.values[row, -1])


def test_a_table_without_a_space_is_refused():
    plain = rw.power_laws(rows=4, resources=9)
    with pytest.raises(InvalidArgumentError, match="configurations and a space"):
        optuna_peer.play(case(plain, trials=4))
