"""Files that somebody else made, that were crafted, copied, cut or put in a study's place."""

import json
import os
import socket
import sqlite3
import tarfile
import time

import pytest
from command_line import run_here

import rungwise as rw
from rungwise.checkpoints.folder import TrialFolder
from rungwise.errors import (
    CorruptLogError,
    InvalidArgumentError,
    LogUnavailableError,
    StoreUnavailableError,
)
from rungwise.locking import FileLock
from rungwise.storage.schema import chain_checksum
from rungwise.storage.study_file import StudyFile
from rungwise.tuning import requests, trust
from rungwise.tuning.archive import write_archive
from rungwise.tuning.exports import list_rows, to_csv
from rungwise.tuning.spool import Spool
from rungwise.tuning.verification import verify_study

SPACE = {"x": rw.Float(0, 1)}


def train(config, run):
    for epoch in run.resources():
        run.report(epoch, loss=config["x"] / epoch)


def rungwise(folder, *arguments, code=0):
    done = run_here(arguments, folder=folder)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home of its own, with a key of its own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(trust, "_made_here", set())
    return tmp_path / "state"


@pytest.fixture
def study(tmp_path, home):
    """A study that was stopped in the middle, as another process of this user finds it."""

    def stop(_):
        raise ZeroDivisionError

    path = tmp_path / "study.db"
    with pytest.raises(ZeroDivisionError):
        rw.tune(
            train, SPACE, metric="loss", goal="min", max_resource=9, trials=3,
            backend=rw.Threads(1), study=path, on_report=stop, show="quiet",
        )  # fmt: skip
    trust._made_here.clear()
    return path


def alter(path, statement, *values):
    database = sqlite3.connect(path)
    database.execute(statement, values)
    database.commit()
    database.close()


# -- trust -------------------------------------------------------------------------------------


def test_a_file_of_ones_own_is_resumed_without_a_word(study):
    assert rw.resume(study, show="quiet").ended


def test_a_file_of_somebody_else_runs_nothing_unless_it_is_trusted(study, home):
    (home / "rungwise" / "key").unlink()
    with pytest.raises(InvalidArgumentError, match="not made by you on this machine") as refused:
        rw.resume(study, show="quiet")
    assert ":train" in str(refused.value)
    assert "--trust" in str(refused.value)
    assert not rw.load(study).ended
    assert rw.resume(study, trust=True, show="quiet").ended
    # From then on it is one of this user's own.
    assert rw.resume(study, show="quiet").ended


def test_naming_the_function_needs_no_trust_and_gives_none(study, home):
    (home / "rungwise" / "key").unlink()
    assert rw.resume(study, train, show="quiet").ended
    with pytest.raises(InvalidArgumentError, match="not made by you"):
        rw.resume(study, show="quiet")


@pytest.mark.parametrize("change", ["train", "backend"])
def test_what_was_changed_in_a_signed_file_is_not_run(study, change):
    with StudyFile(study) as file:
        about = file.about
        if change == "train":
            changed = {"train": {"command": ["sh", "-c", "echo gone"]}}
        else:
            backend = {"type": "Local", "preload": ["antigravity"]}
            changed = {"run": {**about.run, "backend": backend}}
        file.change_about(about.__class__(**{**_fields(about), **changed}))
    with pytest.raises(InvalidArgumentError, match="not made by you") as refused:
        rw.resume(study, *(() if change == "train" else (train,)), show="quiet")
    assert ("echo gone" if change == "train" else "antigravity") in str(refused.value)


def _fields(about):
    return {name: getattr(about, name) for name in about.__slots__}


def test_the_commands_ask_for_trust(study, home, tmp_path):
    (home / "rungwise" / "key").unlink()
    for command in ("resume", "retrain"):
        said = rungwise(tmp_path, command, study, code=2)
        assert "--trust" in said
    assert "--trust" in rungwise(tmp_path, "resume", "--help")


# -- crafted files -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "document",
    [
        '"text"',
        "[1, 2]",
        '{"metric": 7, "version_of_about": 1}',
        '{"metric": "loss", "options": [], "version_of_about": 1}',
        "[" * 100_000,
        '{"a":' * 100_000,
    ],
)
def test_an_odd_description_is_named_and_hides_no_other_study(study, tmp_path, document):
    with StudyFile(study) as file:
        file.log.lock.note(0)
    number = chain_checksum("about", document, before=0)
    alter(study, "UPDATE notes SET document = ?, checksum = ? WHERE number = 0", document, number)
    alter(study, "DELETE FROM notes WHERE number > 0")
    alter(study, "UPDATE closing SET notes = 1")
    began = time.monotonic()
    with pytest.raises((CorruptLogError, rw.errors.SchemaError)):
        rw.load(study)
    assert time.monotonic() - began < 30
    other = tmp_path / "other.db"
    rw.tune(
        train, SPACE, metric="loss", goal="min", max_resource=3, trials=1,
        backend=rw.Threads(1), study=other, show="quiet",
    )  # fmt: skip
    said = json.loads(rungwise(tmp_path, "list", "--json"))
    states = {row["study"]: row["state"] for row in said["studies"]}
    assert states["other.db"] == "finished"
    assert states["study.db"].startswith("cannot be read")


def test_a_view_that_never_ends_is_refused(study):
    for statement in (
        "ALTER TABLE entries RENAME TO hidden",
        """CREATE VIEW entries AS WITH RECURSIVE n(number) AS (SELECT 0 UNION ALL SELECT number
        FROM n) SELECT number, '' AS event, '' AS decision, 0 AS checksum, 0 AS part FROM n""",
    ):
        alter(study, statement)
    with pytest.raises(CorruptLogError, match="'entries', which is no plain table"):
        rw.load(study)


COMPUTING = {
    "a trigger": "CREATE TRIGGER evil AFTER INSERT ON entries BEGIN DELETE FROM entries; END",
    "a check": "CREATE TABLE evil (a CHECK (length(randomblob(1000000000)) > 0))",
    "a computed column": "CREATE TABLE evil (a, b AS(hex(zeroblob(1000000000))))",
    "an index of what is computed": "CREATE INDEX evil ON entries (printf('%.*c', 999, event))",
}


@pytest.mark.parametrize("statement", COMPUTING.values(), ids=COMPUTING)
def test_what_computes_when_it_is_read_or_written_is_refused(study, statement):
    alter(study, statement)
    for use in (rw.load, lambda path: rw.resume(path, train, show="quiet")):
        with pytest.raises(CorruptLogError, match="'evil', which is no plain table"):
            use(study)


def test_tables_and_indexes_of_your_own_do_no_harm(study):
    alter(study, "CREATE TABLE mine (remark)")
    alter(study, "CREATE INDEX quick ON entries (part, number)")
    assert rw.resume(study, train, show="quiet").ended


def test_a_lock_that_is_a_link_is_refused_and_its_target_untouched(study, tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("do not touch")
    lock = study.with_name("study.db.lock")
    lock.unlink()
    lock.symlink_to(precious)
    with pytest.raises(LogUnavailableError, match="lock"):
        rw.resume(study, train, show="quiet")
    assert "lock" in rungwise(tmp_path, "delete", "--yes", study, code=2)
    assert precious.read_text() == "do not touch"
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(OSError, match="regular"):
        FileLock(tmp_path / "fifo").take()


def test_absurd_numbers_of_workers_are_refused_at_once():
    for backend in (rw.Local, rw.Threads):
        with pytest.raises(InvalidArgumentError, match="at most 10000"):
            backend(workers=100_000_000)


# -- reading, moving, checking -----------------------------------------------------------------


def test_reading_leaves_no_files(study):
    rw.resume(study, show="quiet")
    before = {path.name: path.read_bytes() for path in study.parent.iterdir() if path.is_file()}
    rw.load(study)
    list_rows(study)
    after = {path.name: path.read_bytes() for path in study.parent.iterdir() if path.is_file()}
    assert after == before
    assert not {"study.db-wal", "study.db-shm"} & set(after)


def test_an_archive_is_the_whole_study(study, tmp_path):
    archive = tmp_path / "moved.tar"
    assert write_archive(study, archive) >= 1
    place = tmp_path / "elsewhere"
    place.mkdir()
    with tarfile.open(archive) as packed:
        packed.extractall(place, filter="data")
    moved = place / "study.db"
    assert rw.load(moved).to_json()["leaderboard"] == rw.load(study).to_json()["leaderboard"]
    assert rw.resume(moved, train, show="quiet").ended
    assert verify_study(moved).trials == 3


def test_an_archive_holds_links_and_empty_folders_but_nothing_that_is_no_file(study, tmp_path):
    folder = tmp_path / "study.db.files" / "odd"
    (folder / "empty").mkdir(parents=True)
    (folder / "link").symlink_to("empty")
    (folder / "dangling").symlink_to("nowhere")
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / "socket"))
    write_archive(study, tmp_path / "moved.tar")
    with tarfile.open(tmp_path / "moved.tar") as packed:
        kinds = {member.name.rpartition("/")[2]: member.type for member in packed}
    assert kinds["empty"] == tarfile.DIRTYPE
    assert kinds["link"] == kinds["dangling"] == tarfile.SYMTYPE
    assert not {"pipe", "socket"} & set(kinds)


def test_an_archive_takes_the_place_of_nothing_but_a_file(study, tmp_path):
    os.mkfifo(tmp_path / "device")
    for place, why in {"device": "not a regular file", "nowhere/a.tar": "does not exist"}.items():
        said = rungwise(tmp_path, "export", study, "--archive", "-o", tmp_path / place, code=2)
        assert why in said
    assert (tmp_path / "device").is_fifo()


def deny(*_, **__):
    raise PermissionError(13, "Permission denied", "checkpoints")


def test_an_archive_that_would_lack_something_is_not_written(study, tmp_path, monkeypatch):
    def walk(folder, onerror):
        onerror(PermissionError(13, "Permission denied", str(folder)))
        return iter(())

    monkeypatch.setattr(os, "walk", walk)
    with pytest.raises(StoreUnavailableError, match="Permission denied"):
        write_archive(study, tmp_path / "moved.tar")
    assert not (tmp_path / "moved.tar").exists()


def test_a_study_is_shown_although_its_checkpoints_may_not_be_read(study, monkeypatch):
    monkeypatch.setattr(TrialFolder, "committed", deny)
    assert rw.load(study).best.checkpoint is None


def test_a_request_that_cannot_be_left_is_an_error_by_name(study, monkeypatch):
    monkeypatch.setattr(Spool, "send", deny)
    with pytest.raises(LogUnavailableError, match="Permission denied"):
        requests.label(study, tags=["a"])


def test_verify_checks_everything(study, tmp_path):
    assert "is sound" in rungwise(tmp_path, "verify", study)
    alter(study, "UPDATE entries SET event = replace(event, '0.', '1.') WHERE number = 1")
    assert "entry 1" in rungwise(tmp_path, "verify", study, code=2)


def test_a_loss_can_be_accepted(study, tmp_path):
    alter(study, "DELETE FROM entries WHERE number = (SELECT max(number) FROM entries)")
    assert "--accept-loss" in rungwise(tmp_path, "verify", study, code=2)
    alter(study, "DELETE FROM closing")  # as after a power failure
    assert "is sound" in rungwise(tmp_path, "verify", "--accept-loss", study)
    assert rw.resume(study, train, show="quiet").ended


def test_csv_holds_no_formulas_and_no_escapes():
    rows = [{"=name": "=1+1", "b": "\x1b[31mred", "c": -1.5, "d": "plain", "e": None}]
    assert to_csv(rows) == "'=name,b,c,d,e\n'=1+1,\\x1b[31mred,-1.5,plain,\n"
    assert to_csv(rows, raw=True) == "=name,b,c,d,e\n=1+1,\x1b[31mred,-1.5,plain,\n"
