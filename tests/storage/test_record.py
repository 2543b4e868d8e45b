"""The typed record of a study: what earlier versions wrote is read, what later ones add is kept."""

import json
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import run_here

import rungwise as rw
from rungwise.errors import CorruptLogError, InvalidArgumentError, SchemaError
from rungwise.storage.record import FunctionNote, Labels, StudyRecord, TransferRecord
from rungwise.storage.study_file import StudyFile
from rungwise.tuning import requests

OLD = Path(__file__).parents[1] / "data"
FULL = StudyRecord(
    "loss",
    open_ended=True,
    train={"function": "module:train"},
    run={"retries": 3, "winner": "best", "unit": "epochs", "added later": [1]},
    workers=4,
    key="abc",
    kind="ask/tell",
    function=FunctionNote({"0": "train.py"}, "f00"),
    labels=Labels(("a", "b"), "a note"),
    transfer=TransferRecord(("/one.db", "/two.db"), 4),
    created="2026-11-16T12:00:00+00:00",
    version="0.2.0",
    signature="signed",
)
SPACE = {"x": rw.Float(0, 1)}
LIMITS = {"metric": "loss", "goal": "min", "max_resource": 3, "trials": 3}


def train(config, run):
    for epoch in run.resources():
        run.report(epoch, loss=config["x"] / epoch)


def documents(path):
    """What a file of any version holds of its study, as it was written."""
    database = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    rows = database.execute("SELECT document FROM notes WHERE kind = 'about'").fetchall()
    database.close()
    return [json.loads(text) for (text,) in rows]


@pytest.mark.parametrize("record", [StudyRecord("loss"), FULL], ids=["least", "full"])
def test_it_comes_back_as_it_was(record):
    assert StudyRecord.from_json(json.loads(json.dumps(record.to_json()))) == record


@pytest.mark.parametrize("path", sorted(OLD.glob("studies_0_*/*.db")), ids=lambda path: path.stem)
def test_what_earlier_versions_wrote_is_written_again(path):
    written = documents(path)
    for document in written:
        again = StudyRecord.from_json(document).to_json()
        assert again == {"signature": "", **document}
    assert written or path.name in ("killed.db", "asked.db")  # these have them in their -wal


def test_what_is_read_is_what_was_said():
    assert (FULL.winner, FULL.unit) == ("best", "epochs")
    assert (StudyRecord("loss").winner, StudyRecord("loss").unit) == (None, "resource")
    options = FULL.to_json()["options"]
    assert options["crew"] == 4
    assert options["asked"] is True
    assert options["transfer"] == {"files": ["/one.db", "/two.db"], "leaders": 4}
    assert options["added later"] == [1]


def test_what_a_later_version_says_of_a_run_survives_every_change(tmp_path):
    path = tmp_path / "s.db"
    rw.tune(train, SPACE, study=path, show="quiet", backend=rw.Threads(1), **LIMITS)
    with StudyFile(path) as file:
        run = {**file.about.run, "added later": {"a": [1]}}
        file.change_about(replace(file.about, run=run))
    requests.label(path, tags="a")
    rw.resume(path, train, show="quiet", trials=4, retries=2)
    with StudyFile(path, mode="read") as file:
        assert file.about.run["added later"] == {"a": [1]}
        assert file.about.run["retries"] == 2
        assert file.about.labels == (("a",), "")


@pytest.mark.parametrize(
    "change",
    [
        {"options": 3},
        {"options": {"crew": "many"}},
        {"options": {"transfer": 3}},
        {"options": {"function": "train"}},
        {"metric": 3},
        {"open_ended": 1},
        {"train": "module:train"},
        {"signature": None},
        {"more": 1},
        {"workers": 2},
    ],
    ids=str,
)
def test_what_cannot_be_read_is_said(tmp_path, change):
    path = tmp_path / "s.db"
    rw.tune(train, SPACE, study=path, show="quiet", backend=rw.Threads(1), **LIMITS)
    with StudyFile(path) as file:
        document = {**file.about.to_json(), **change}
        file._note("about", document)
        file._flush()
    with StudyFile(path, mode="read") as file, pytest.raises(CorruptLogError, match="description"):
        _ = file.about


def test_a_later_document_is_refused(tmp_path):
    path = tmp_path / "s.db"
    rw.tune(train, SPACE, study=path, show="quiet", backend=rw.Threads(1), **LIMITS)
    with StudyFile(path) as file:
        file._note("about", {**file.about.to_json(), "version_of_about": 2})
        file._flush()
    with StudyFile(path, mode="read") as file, pytest.raises(SchemaError, match="later version"):
        _ = file.about


# -- what one unit of resource is called -------------------------------------------------------


def unit_of(path):
    with StudyFile(path, mode="read") as file:
        return file.about.unit


def test_the_unit_is_kept_and_can_be_changed(tmp_path):
    path = tmp_path / "s.db"
    more = {"show": "quiet", "backend": rw.Threads(1)}
    rw.tune(train, SPACE, study=path, unit="epochs", **LIMITS, **more)
    assert unit_of(path) == "epochs"
    rw.resume(path, train, show="quiet")
    assert unit_of(path) == "epochs"
    rw.resume(path, train, unit="steps", show="quiet")
    assert unit_of(path) == "steps"


def test_it_is_an_option_of_open_study_of_flags_and_of_yaml(tmp_path, monkeypatch):
    path = tmp_path / "s.db"
    rw.open_study(path, SPACE, unit="mini-batches", **LIMITS).close()
    assert unit_of(path) == "mini-batches"
    monkeypatch.chdir(tmp_path)
    Path("space.yaml").write_text("x: {type: float, low: 0, high: 1}\n")
    Path("train.py").write_text(
        "def train(config, run):\n    for n in run.resources(): run.report(n, loss=config['x'])\n"
    )
    text = "train: train.py:train\nspace: space.yaml\nmetric: loss\nmax_resource: 3\ntrials: 2\n"
    Path("one.yaml").write_text(f"{text}unit: epochs\nshow: quiet\nbackend: threads\n")
    assert run_here(["tune", "one.yaml"]).returncode == 0
    assert unit_of("one.db") == "epochs"
    assert run_here(["resume", "one.db", "--unit", "rounds", "--show", "quiet"]).returncode == 0
    assert unit_of("one.db") == "rounds"


@pytest.mark.parametrize("unit", ["", "two words", "e" * 21, 3, None, "<b>", "km/h"])
def test_it_is_a_short_word(unit):
    with pytest.raises(InvalidArgumentError, match="it must be a word of at most 20 letters"):
        rw.tune(train, SPACE, unit=unit, show="quiet", **LIMITS)
