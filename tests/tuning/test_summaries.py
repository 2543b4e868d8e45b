"""The summary in a study file: what is printed without a replay, and when it is not used."""

import json
import sqlite3

import pytest

import rungwise as rw
from rungwise.storage.schema import chain_checksum
from rungwise.storage.study_file import StudyFile
from rungwise.tuning import summaries
from rungwise.tuning.summaries import load_summary, read_summary_view

SPACE = {"x": rw.Float(0, 1)}
SCHEDULERS = ["pasha", "asha:variant=stopping", "hyperband", "fixed:27"]


def train(config, run):
    for epoch in run.resources():
        if config["x"] > 0.9 and epoch > 1:
            raise ValueError("too large")
        run.report(epoch, loss=abs(config["x"] - 0.3) + 1 / epoch + 0.1 * (epoch % 3))


def tuned(path, **options):
    defaults = {"max_resource": 27, "trials": 20, "retries": 0, "backend": rw.Threads(1)}
    return rw.tune(
        train, SPACE, metric="loss", goal="min", study=path, show="quiet", **{**defaults, **options}
    )


@pytest.fixture
def no_replay(monkeypatch):
    def refuse(*_):
        raise AssertionError("it was replayed")

    monkeypatch.setattr(summaries, "load", refuse)
    monkeypatch.setattr(summaries, "read_view", refuse)


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_what_is_printed_is_the_same_with_and_without_a_replay(tmp_path, no_replay, scheduler):
    path = tmp_path / "study.db"
    tuned(path, scheduler=scheduler)
    short, whole = load_summary(path), rw.load(path)
    assert short.to_json(top=None) == whole.to_json(top=None)
    assert short.rungs() == whole.rungs()
    assert short.best == whole.best
    assert short.why == whole.why
    assert short.failures == whole.failures
    assert short.view.savings == whole.view.savings
    view = read_summary_view(path)
    assert (view.trials, view.reports, view.ended) == (whole.trials, whole.reports, True)


def test_its_size_does_not_depend_on_the_number_of_reports(tmp_path):
    sizes = []
    for maximum in (27, 270):
        path = tmp_path / f"{maximum}.db"
        tuned(path, max_resource=maximum, trials=4, scheduler=f"asha:min_resource={maximum // 3}")
        with StudyFile(path, mode="read") as file:
            sizes.append(len(file.log.read_summary()))
    assert sizes[1] < 1.5 * sizes[0]


def change(path, **fields):
    database = sqlite3.connect(path)
    ((text,),) = database.execute("SELECT document FROM summary").fetchall()
    text = json.dumps({**json.loads(text), **fields})
    values = (text, chain_checksum(text))
    database.execute("UPDATE summary SET document = ?, own = ?", values)
    database.commit()
    database.close()


def test_one_of_0_2_0_is_read(tmp_path, no_replay):
    path = tmp_path / "study.db"
    expected = tuned(path, trials=5).to_json()
    with StudyFile(path, mode="read") as file:
        rows = json.loads(file.log.read_summary())["trials"]
    change(path, trials=[[*row[:3], 1, *row[3:]] for row in rows])  # with the rung of each trial
    assert load_summary(path).to_json() == expected


def test_one_that_does_not_fit_the_file_is_not_used(tmp_path):
    path = tmp_path / "study.db"
    tuned(path, trials=5)
    with StudyFile(path) as file:
        file._note("remark", {})
        file._flush()
    with StudyFile(path, mode="read") as file:
        assert file.log.read_summary() is None
    assert load_summary(path).reports == rw.load(path).reports


@pytest.mark.parametrize(
    "fields",
    [{"trials": 7}, {"trials": [[]]}, {"study": {}}, {"leads": "ab"}, {"best": 999}, {"spent": []}],
)
def test_an_odd_one_is_not_used(tmp_path, fields):
    path = tmp_path / "study.db"
    tuned(path, trials=3)
    change(path, **fields)
    assert load_summary(path).to_json() == rw.load(path).to_json()


def test_one_that_was_damaged_is_not_used(tmp_path, monkeypatch):
    path = tmp_path / "study.db"
    tuned(path, trials=3)
    database = sqlite3.connect(path)
    database.execute(
        "UPDATE summary SET document = replace(document, '\"reports\": ', '\"reports\": 1')"
    )
    database.commit()
    database.close()
    assert load_summary(path).reports == rw.load(path).reports
