"""Study files that version 0.1.0 wrote: they open, replay and resume, and decide as they did."""

import json
import shutil
import sys
from pathlib import Path

import pytest

import rungwise as rw
from rungwise.storage import sqlite
from rungwise.storage.study_file import StudyFile
from rungwise.tuning.exports import list_rows

PLACE = Path(__file__).parents[1] / "data" / "studies_0_1_0"
EXPECTED = json.loads((PLACE / "expected.json").read_text())

sys.path.insert(0, str(PLACE))
from training import make_train  # noqa: E402

sys.path.remove(str(PLACE))


@pytest.fixture
def old(tmp_path):
    """A copy of one of the files, with its checkpoints."""

    def copy(name):
        shutil.copytree(PLACE / f"{name}.db.files", tmp_path / f"{name}.db.files")
        return shutil.copy(PLACE / f"{name}.db", tmp_path / f"{name}.db")

    return copy


def described(path):
    result = rw.load(path)
    rows = [{k: v for k, v in row.items() if k != "seconds"} for row in list_rows(path)]
    return {
        "best": [result.best.trial, result.best.value, result.best.resource],
        "why": result.rule,
        "trials": result.trials,
        "reports": result.reports,
        "spent": result.resource_spent,
        "jobs": [[job.trial, job.start, job.until] for job in result.engine.jobs],
        "failures": [[f.job, f.trial, f.resource, f.reason] for f in result.failures],
        "exported": rows,
    }


@pytest.mark.parametrize("name", ["killed", "ended"])
def test_they_are_read_as_the_version_that_wrote_them_read_them(old, name):
    path = Path(old(name))
    before = path.read_bytes()
    assert described(path) == EXPECTED[name]
    assert path.read_bytes() == before


def test_one_whose_tuner_was_killed_is_resumed_to_the_same_end(old, tmp_path):
    path = old("killed")
    (tmp_path / "died-3").touch()  # these had died before
    (tmp_path / "died-8").touch()
    result = rw.resume(path, make_train(tmp_path), show="quiet")
    assert result.ended
    assert described(path) == EXPECTED["killed, resumed"]


def test_its_trials_go_on_from_their_checkpoints(old, tmp_path):
    path = old("killed")
    starts = tmp_path / "starts"

    def train(config, run):
        with starts.open("a") as file:
            file.write(f"{run.trial} {run.start}\n")
        for epoch in run.resources():
            x = config["x"]
            run.report(epoch, loss=(x - 0.3) ** 2 + abs(x - 0.8) / epoch)

    known = {trial.id: trial.resource for trial in rw.load(path).engine.trials}
    rw.resume(path, train, show="quiet")
    told = [[int(number) for number in line.split()] for line in starts.read_text().splitlines()]
    first = {}
    for trial, start in told:
        first.setdefault(trial, start)
    again = {trial: start for trial, start in first.items() if known.get(trial, 0) > 0}
    assert again
    assert all(start == known[trial] for trial, start in again.items())


def test_the_same_call_of_tune_takes_it_up(old, tmp_path):
    path = old("killed")
    arguments = {"metric": "loss", "goal": "min", "max_resource": 27, "trials": 24, "workers": 1}
    space = {"x": rw.Float(0, 1), "kind": ["a", "b"]}
    (tmp_path / "died-3").touch()
    (tmp_path / "died-8").touch()
    rw.tune(make_train(tmp_path), space, study=path, show="quiet", **arguments)
    assert described(path) == EXPECTED["killed, resumed"]


def test_a_winner_that_was_retrained_is_known(old, capsys):
    from rungwise.cli.show import show  # noqa: PLC0415 - slow to import

    show(Path(old("ended")))
    shown = capsys.readouterr().out
    assert "Trial 1, trained from scratch in " in shown
    assert " s: loss = 0.0478528 at 30, its best\n" in shown


@pytest.mark.parametrize("moment", ["opened", "first transaction"])
def test_one_whose_tuner_is_killed_before_its_first_report_is_whole(
    old, tmp_path, monkeypatch, moment
):
    path, left = Path(old("ended")), tmp_path / "left"

    def leave(*_):
        """What a writer that is killed now leaves behind."""
        left.mkdir()
        for found in tmp_path.glob("ended.db*"):
            if found.is_file():
                shutil.copyfile(found, left / found.name)

    if moment == "opened":
        with StudyFile(path):
            leave()
    else:
        StudyFile(path).close()
        path.with_name("ended.db.lock").unlink()  # it was moved, in one file
        mark_open = sqlite.mark_open
        monkeypatch.setattr(
            sqlite, "mark_open", lambda database: (mark_open(database), leave(database))
        )
        with StudyFile(path) as file, file.log.transaction():
            pass
    assert described(left / "ended.db") == EXPECTED["ended"]


def test_what_is_printed_names_what_was_retrained(old, tmp_path):
    path = old("ended")
    before = rw.load(path).retrained
    rw.resume(path, make_train(tmp_path), show="quiet")  # which leaves a snapshot
    assert rw.load(path).retrained == before != ()
