"""Study files: the log, and what is known of a real study besides."""

import errno
import json
import math
import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

import rungwise as rw
from rungwise.core.decisions import CONTINUE, WAIT
from rungwise.core.events import JobRequested, Reported
from rungwise.core.failures import Failure
from rungwise.core.limits import Limits
from rungwise.core.study import Study
from rungwise.errors import CorruptLogError, InvalidArgumentError, LogUnavailableError, SchemaError
from rungwise.storage import SqliteLog, opening
from rungwise.storage.record import StudyRecord
from rungwise.storage.schema import chain_checksum
from rungwise.storage.sqlite import AT_ONCE
from rungwise.storage.study_file import StudyFile, study_folder

STUDY = Study(rw.PASHA(max_resource=9), Limits(trials=2), initial=[{"x": 1}, {"x": 2}])
ABOUT = StudyRecord(
    metric="acc",
    open_ended=True,
    train={"function": "module:train"},
    run={"keep": "all"},
    workers=2,
    created="2026-11-16T12:00:00+00:00",
    version="0.1",
)
FAILURE = Failure(3, 1, 4.0, 2.5, "ZeroDivisionError: …", "Traceback\n  ☃", "last \ufffd words")
ENTRY = (Reported(0, 1, 0.5), CONTINUE)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "study.db"


def begun(path, **options):
    file = StudyFile(path, **options)
    file.begin_with(STUDY, ABOUT)
    return file


class Interrupted:
    """A database whose commits are interrupted when they are done."""

    def __init__(self, database):
        self._database = database

    def __getattr__(self, name):
        return getattr(self._database, name)

    def execute(self, text, *values):
        found = self._database.execute(text, *values)
        if text == "COMMIT":
            raise KeyboardInterrupt
        return found


@pytest.mark.parametrize("entries", [0, 1])
def test_an_interrupt_after_a_commit_leaves_a_file_that_opens(path, entries):
    file = begun(path)
    database = file.log._database
    file.note_notice(1.0, "a worker is late")
    file.log._database = Interrupted(database)
    with pytest.raises(KeyboardInterrupt):
        file.extend([ENTRY] * entries)
    file.log._database = database
    file.close()
    with StudyFile(path, mode="read") as read:
        assert read.notices() == [(1.0, "a worker is late")]
        assert len(list(read.read_from())) == entries
    StudyFile(path).close()  # to go on with it


def test_what_it_says_about_its_study_comes_back(path):
    begun(path).close()
    with StudyFile(path, mode="read") as file:
        assert file.begun
        assert file.about == ABOUT
        assert file.log.study == STUDY
        assert (file.failures(), file.extras(), file.retrains()) == ([], {}, [])
        assert (file.retrainings(), file.main.failures()) == ([], [])
        assert (file.main.number, file.main.study) == (0, STUDY)
        assert list(file.read_from()) == list(file.main.read_from()) == []


def test_a_fresh_file_holds_no_study(path):
    with StudyFile(path) as file:
        assert not file.begun
        with pytest.raises(SchemaError, match="it was not written by"):
            _ = file.about


def test_a_second_study_is_refused_and_leaves_the_first(path):
    with (
        begun(path) as file,
        pytest.raises(InvalidArgumentError, match="it already contains a study"),
    ):
        file.begin_with(STUDY, replace(ABOUT, metric="other"))
    with StudyFile(path) as file:
        assert file.about == ABOUT


def test_study_and_about_are_begun_together_or_not_at_all(path):
    with StudyFile(path) as file:
        with pytest.raises(TypeError):
            file.begin_with(STUDY, replace(ABOUT, options={"workers": object()}))
        assert not file.begun
    with StudyFile(path) as file:
        assert not file.begun


def test_its_files_lie_beside_it(path):
    with StudyFile(path) as file:
        assert file.folder == study_folder(path) == study_folder(str(path)) == Path(f"{path}.files")
        assert not file.folder.exists()


# -- what is noted goes with the entries -------------------------------------------------------


OTHER = replace(FAILURE, job=4, reason="another")


def test_what_is_noted_is_kept_with_the_next_entries(path):
    with begun(path) as file:
        file.note_failure(FAILURE)
        file.note_failure(OTHER)
        assert file.failures() == []
        file.extend([ENTRY])
        file.extend([(JobRequested(), WAIT)])  # and not once more
    with StudyFile(path, mode="read") as file:
        assert file.failures() == [FAILURE, OTHER]
        assert len(list(file.read_from())) == 2
        assert list(file.read_from(1)) == [(JobRequested(), WAIT)]


def refuse_notes(file):
    with file.log.transaction() as database:
        database.execute(
            "CREATE TEMP TRIGGER no_more BEFORE INSERT ON notes "
            "BEGIN SELECT RAISE(ABORT, 'no more notes'); END"
        )


@pytest.mark.parametrize("count", [3, 3 * AT_ONCE])
def test_entries_that_are_stored_together_are_all_stored_or_none(path, count):
    entries = [(JobRequested(float(at)), WAIT) for at in range(count)]
    with begun(path) as file:
        file.log._database.execute(
            "CREATE TEMP TRIGGER no_last BEFORE INSERT ON entries "
            f"WHEN NEW.number = {count - 1} BEGIN SELECT RAISE(ABORT, 'not the last'); END"
        )
        with pytest.raises(CorruptLogError, match="not the last"):
            file.extend(entries)
        assert (len(file.log), list(file.read_from())) == (0, [])
        file.log._database.execute("DROP TRIGGER no_last")
        file.extend(entries)
        assert file.log.lock.noted()[0] == count
        assert list(file.read_from()) == entries
    with StudyFile(path, mode="read") as file:
        assert list(file.read_from()) == entries


def test_entries_and_what_was_noted_are_one_transaction(path):
    """Whichever of the two cannot be written, neither is."""
    with begun(path) as file:
        file.note_failure(FAILURE)
        with pytest.raises(Exception, match="object"):
            file.extend([ENTRY, (Reported(0, 2, object()), CONTINUE)])
        assert (list(file.read_from()), file.failures()) == ([], [])
        refuse_notes(file)
        file.note_failure(FAILURE)
        with pytest.raises(rw.RungwiseError, match="no more notes"):
            file.extend([ENTRY])
        assert len(file.log) == 0
    with StudyFile(path) as file:
        assert (list(file.read_from()), file.failures()) == ([], [])
        file.extend([ENTRY])
        assert list(file.read_from()) == [ENTRY]


def test_after_a_failed_write_the_log_goes_on_where_it_was(path):
    with begun(path) as file:
        file.extend([ENTRY])
        refuse_notes(file)
        file.note_failure(FAILURE)
        with pytest.raises(rw.RungwiseError, match="no more notes"):
            file.extend([ENTRY, ENTRY])
        file.extend([(JobRequested(), WAIT)])
        assert list(file.read_from()) == [ENTRY, (JobRequested(), WAIT)]


def test_what_was_noted_without_entries_is_not_kept(path):
    """It belongs to events: a crash before they are logged leaves neither."""
    with begun(path) as file:
        file.note_failure(FAILURE)
    with StudyFile(path) as file:
        assert file.failures() == []


def test_a_reader_writes_nothing(path):
    begun(path).close()
    with StudyFile(path, mode="read") as file:
        with pytest.raises(LogUnavailableError, match="readonly"):
            file.extend([ENTRY])
        with pytest.raises(LogUnavailableError, match="readonly"):
            file.begin_retraining(STUDY, 1)
        assert file.retrainings() == []


def test_a_reader_sees_what_the_writer_adds(path):
    with begun(path) as writer, StudyFile(path, mode="read") as reader:
        writer.note_failure(FAILURE)
        writer.extend([ENTRY])
        assert list(reader.read_from()) == [ENTRY]
        assert reader.failures() == [FAILURE]


# -- the other metrics of a report -------------------------------------------------------------

METRICS = (("accuracy", 0.25), ("gap", math.inf), ("loss ☃", -math.inf), ("steps", 3), ("n", -0.0))


def test_other_metrics_come_back_with_their_report(path):
    entries = [
        (Reported(0, 1, 0.5, metrics=METRICS), CONTINUE),
        (Reported(0, 2, math.inf, metrics=METRICS), CONTINUE),  # it is written by other code
        ENTRY,
    ]
    with begun(path) as file:
        file.extend(entries)
    with StudyFile(path, mode="read") as file:
        assert [repr(entry) for entry in file.read_from()] == [repr(entry) for entry in entries]


@pytest.mark.parametrize("value", [0.5, math.inf])
def test_metrics_that_are_nan_come_back_as_nan(path, value):
    with begun(path) as file:
        file.extend([(Reported(0, 1, value, metrics=(("a", math.nan), ("b", 1.0))), CONTINUE)])
    with StudyFile(path, mode="read") as file:
        ((event, _),) = file.read_from()
    assert [name for name, _ in event.metrics] == ["a", "b"]
    assert math.isnan(event.metrics[0][1])


def test_a_report_without_other_metrics_is_written_as_version_0_1_0_did(path):
    with begun(path) as file:
        file.extend([ENTRY])
    assert json.loads(event_in(path, 0)) == {
        "kind": "Reported",
        "job": 0,
        "resource": 1,
        "value": 0.5,
        "at": 0.0,
        "cost": 0.0,
    }


@pytest.mark.parametrize(
    ("damaged", "rule"),
    [
        ('{"accuracy": "good"}', "Reported.metrics.accuracy is 'good', but a number"),
        ('{"accuracy": null}', "Reported.metrics.accuracy is None, but a number"),
        ('{"accuracy": true}', "Reported.metrics.accuracy is True, but a number"),
        ('[["accuracy", 0.25]]', "Reported.metrics is .*, but an object"),
        ("null", "Reported.metrics is None, but an object"),
        ('{"accuracy": }', "Expecting value"),
    ],
)
def test_damaged_metrics_are_refused(path, damaged, rule):
    with begun(path) as file:
        file.extend([(Reported(0, 1, 0.5, metrics=(("accuracy", 0.25),)), CONTINUE)])
    text = event_in(path, 0).replace('{"accuracy": 0.25}', damaged)
    alter(path, "UPDATE entries SET event = ?", text)
    with StudyFile(path) as file, pytest.raises(CorruptLogError, match="entry 0 was altered"):
        list(file.read_from())
    # And when the checksum was altered with them:
    checksum = chain_checksum(text, '{"kind": "Continue"}')
    alter(path, "UPDATE entries SET checksum = ?", checksum)
    with pytest.raises(CorruptLogError, match="entry 0 is not the one that was committed"):
        StudyFile(path)
    path.with_name(f"{path.name}.lock").unlink()
    with pytest.raises(CorruptLogError, match="it does not end as it did when it was closed"):
        StudyFile(path)
    alter(path, "UPDATE closing SET checksum = ?", checksum)
    with StudyFile(path) as file, pytest.raises(SchemaError, match=rule) as refused:
        list(file.read_from())
    assert f"entry 0 of {path}" in str(refused.value)


def event_in(path, number):
    database = sqlite3.connect(path)
    query = "SELECT event FROM entries WHERE number = ?"
    ((text,),) = database.execute(query, (number,)).fetchall()
    database.close()
    return text


# -- what version 0.1.0 noted ------------------------------------------------------------------


def note(file, kind, document):
    """As version 0.1.0 did."""
    file._note(kind, document)
    with file.log.transaction():
        file._flush()


def test_what_version_0_1_0_noted_is_read(path):
    retrained = {"trial": 3, "value": 0.5, "curve": [[1, 0.75], [9, 0.5]], "checkpoint": None}
    with StudyFile(path) as file:
        file.log.begin(STUDY)
        about = {"metric": "acc", "open_ended": True, "train": None, "options": {"keep": 3}}
        note(file, "about", {"version_of_about": 1, **about, "created": "", "version": "0.1.0"})
        for resource, metrics in ((1.0, {"a": 0.25}), (2.5, {"a": 0.5, "gap": math.inf})):
            note(file, "extras", {"job": 0, "resource": resource, "metrics": metrics})
        note(file, "retrain", retrained)
        note(file, "retrain", {**retrained, "trial": 1})
        file.note_failure(FAILURE)
        file.extend([ENTRY])
    with StudyFile(path, mode="read") as file:
        assert file.about == StudyRecord("acc", open_ended=True, run={"keep": 3}, version="0.1.0")
        assert file.extras() == {(0, 1.0): {"a": 0.25}, (0, 2.5): {"a": 0.5, "gap": math.inf}}
        assert file.retrains() == [retrained, {**retrained, "trial": 1}]
        assert (file.failures(), file.retrainings()) == ([FAILURE], [])


def test_what_it_noted_of_metrics_is_checked(path):
    with begun(path) as file:
        note(file, "extras", {"job": 0, "metrics": {}})
    with (
        StudyFile(path) as file,
        pytest.raises(CorruptLogError, match="a metric cannot be read: 'resource'"),
    ):
        file.extras()


# -- damage ------------------------------------------------------------------------------------


def alter(path, statement, *values):
    database = sqlite3.connect(path)
    database.execute(statement, values)
    database.commit()
    database.close()


@pytest.mark.parametrize(
    ("text", "error", "told"),
    [
        ("{", CorruptLogError, "a note cannot be read"),
        ("[]", SchemaError, "by a later version"),
        ("{}", SchemaError, "by a later version"),
        ('{"version_of_about": 1}', CorruptLogError, "description of its study cannot be read"),
        ('{"version_of_about": 1, "metric": "a", "new": 1}', CorruptLogError, "cannot be read"),
        ('{"version_of_about": 2, "metric": "a"}', SchemaError, "by a later version"),
    ],
)
def test_what_cannot_be_read_about_a_study_is_told(path, text, error, told):
    begun(path).close()
    checksum = chain_checksum("about", text)
    alter(path, "UPDATE notes SET document = ?, checksum = ?", text, checksum)
    with StudyFile(path) as file, pytest.raises(error, match=told) as refused:
        _ = file.about
    assert str(path) in str(refused.value)


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        (
            "UPDATE notes SET document = replace(document, 'last', 'best') WHERE number = 1",
            "note 1",
        ),
        ("UPDATE notes SET kind = 'retrain' WHERE number = 1", "note 1 was altered"),
        ("UPDATE notes SET number = 7 WHERE number = 0", "note 0 is missing"),
        ("DELETE FROM notes WHERE number = 1", "it has 1 notes, but 2 were committed"),
        ("UPDATE notes SET document = CAST(document AS BLOB)", "a note cannot be read"),
        ("UPDATE study SET document = replace(document, '9', '8')", "its study was altered"),
        ("UPDATE study SET document = CAST(document AS BLOB)", "it holds no log"),
        (
            "UPDATE study SET checksum = NULL, document = replace(document, '9', '8')",
            "its study was altered",
        ),
    ],
)
def test_what_was_altered_besides_the_log_is_noticed(path, statement, told):
    with begun(path) as file:
        file.note_failure(FAILURE)
        file.extend([ENTRY])
    alter(path, statement)
    with (
        pytest.raises(CorruptLogError, match=told) as refused,
        StudyFile(path, mode="read") as file,
    ):
        _ = file.about
    assert str(path) in str(refused.value)


# -- what was committed and is gone ------------------------------------------------------------


def test_a_lost_write_ahead_log_is_noticed(path):
    file = begun(path)
    file.extend([ENTRY] * 50)
    beside = path.with_name("copy.db")  # as after a kill: most of it is in the -wal file still
    for suffix in ("", ".lock"):
        shutil.copy(f"{path}{suffix}", f"{beside}{suffix}")
    file.close()
    for mode in ("read", "write"):
        with pytest.raises(CorruptLogError, match="50 were committed") as refused:
            StudyFile(beside, mode=mode)
    assert f"rungwise verify --accept-loss {beside}" in str(refused.value)
    # Without the lock file it is not the whole either, and says so itself.
    beside.with_name("copy.db.lock").unlink()
    with pytest.raises(CorruptLogError):
        StudyFile(beside, mode="read")
    with SqliteLog(beside, accept_loss=True) as log:
        assert len(log) < 50


def copied(path, name, *endings):
    """The file as another process sees it now, or after a kill."""
    beside = path.with_name(name)
    for ending in endings:
        shutil.copy(f"{path}{ending}", f"{beside}{ending}")
    return beside


def test_the_main_file_alone_of_a_study_that_was_not_closed_is_refused(path):
    with begun(path) as file:
        file.extend([ENTRY] * 5)
    with StudyFile(path) as file:
        file.extend([ENTRY] * 5)
        alone = copied(path, "alone.db", "")
        both = copied(path, "both.db", "", "-wal")
    for mode in ("read", "write"):
        with pytest.raises(CorruptLogError, match="rungwise export --archive"):
            StudyFile(alone, mode=mode)
    with StudyFile(both, mode="read") as file:
        assert len(file.log) == 10
    closed = copied(path, "closed.db", "")  # all of it is in the main file now
    with StudyFile(closed, mode="read") as file:
        assert len(file.log) == 10
    with SqliteLog(alone, accept_loss=True) as log, log.transaction():
        assert len(log) == 5
    with StudyFile(alone, mode="read") as file:  # from now on it is the whole
        assert len(file.log) == 5


def test_a_file_that_another_study_has_replaced_is_noticed(path):
    other = path.with_name("other.db")
    for place, value in ((path, 0.5), (other, 0.25)):
        with begun(place) as file:
            file.extend([(Reported(0, 1, value), CONTINUE)] * 5)
    other.replace(path)
    with pytest.raises(CorruptLogError, match="replaced by that of another study"):
        StudyFile(path, mode="read")


def test_a_deleted_end_is_noticed_without_the_lock(path):
    with begun(path) as file:
        file.note_failure(FAILURE)
        file.extend([ENTRY] * 5)
    path.with_name(f"{path.name}.lock").unlink()
    for table, last in (("entries", 4), ("notes", 1)):
        kept = path.read_bytes()
        alter(path, f"DELETE FROM {table} WHERE number = {last}")  # noqa: S608
        with pytest.raises(CorruptLogError, match="it does not end as it did when it was closed"):
            StudyFile(path, mode="read")
        path.write_bytes(kept)


def test_a_new_file_does_not_inherit_what_another_of_its_name_had(path):
    with begun(path) as file:
        file.extend([ENTRY] * 50)
    path.unlink()
    with begun(path) as file:
        file.extend([ENTRY])
    with StudyFile(path) as file:
        assert len(file.log) == 1


# -- files of version 1 ------------------------------------------------------------------------


@pytest.fixture
def of_version_1(path):
    with SqliteLog(path) as log:
        rw.simulate(rw.power_laws(4, 9), rw.PASHA(), trials=4, log=log)
    for statement in (
        "DROP INDEX later_parts",
        "ALTER TABLE study DROP COLUMN checksum",
        "ALTER TABLE study DROP COLUMN part",
        "ALTER TABLE entries DROP COLUMN part",
        "DROP TABLE notes",
        "DROP TABLE closing",
        "DROP TABLE summary",
        "DROP TABLE snapshot",
        "DROP TABLE curves",
        "PRAGMA user_version = 1",
    ):
        alter(path, statement)
    return path


def tables_of(path):
    database = sqlite3.connect(path)
    found = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
    database.close()
    return found


def test_a_file_of_version_1_is_brought_up_to_date_when_it_is_written(of_version_1):
    assert tables_of(of_version_1) == {"study", "entries"}
    with StudyFile(of_version_1) as file:
        assert file.log.version == len(opening.MIGRATIONS) == 5
        held = list(file.read_from())
        file.note_failure(FAILURE)
        file.extend([ENTRY])
    assert {"study", "entries", "notes"} <= tables_of(of_version_1)
    with StudyFile(of_version_1, mode="read") as file:
        assert list(file.read_from()) == [*held, ENTRY]
        assert len(held) > 10
        assert file.failures() == [FAILURE]
        assert file.log.study.limits.trials == 4
        assert file.retrainings() == []


def test_a_file_of_version_1_can_be_read_as_it_is(of_version_1):
    before = of_version_1.read_bytes()
    with StudyFile(of_version_1, mode="read") as file:
        assert file.log.version == 1
        assert len(list(file.read_from())) > 10
        assert (file.failures(), file.extras(), file.retrains()) == ([], {}, [])
        assert file.retrainings() == []
        with pytest.raises(SchemaError, match="it was not written by"):
            _ = file.about
    assert of_version_1.read_bytes() == before


@pytest.mark.parametrize("good", [1, 2])
def test_a_migration_that_fails_leaves_the_file_as_it_was(of_version_1, monkeypatch, good):
    """Those before it are kept: each is a transaction of its own."""

    def broken(database):
        database.execute("CREATE TABLE half (x)")
        raise ZeroDivisionError

    with SqliteLog(of_version_1, mode="read") as log:
        held = list(log.read_from())
    with monkeypatch.context() as patch:
        patch.setattr(opening, "MIGRATIONS", (*opening.MIGRATIONS[:good], broken))
        with pytest.raises(ZeroDivisionError):
            StudyFile(of_version_1)
    assert tables_of(of_version_1) == ({"study", "entries"} | ({"notes"} if good == 2 else set()))
    with StudyFile(of_version_1, mode="read") as file:
        assert file.log.version == good
        assert list(file.read_from()) == held
    with StudyFile(of_version_1) as file:
        assert file.log.version == len(opening.MIGRATIONS)
        assert list(file.read_from()) == held


def test_tuning_and_loading_do_not_mistake_a_simulated_log_for_theirs(of_version_1):
    with pytest.raises(SchemaError, match="it was not written by"):
        rw.load(of_version_1)
    with pytest.raises(SchemaError, match="it was not written by"):
        rw.resume(of_version_1)


# -- durability --------------------------------------------------------------------------------


@pytest.mark.parametrize(("durability", "level"), [("normal", 1), ("full", 2)])
def test_durability_is_what_sqlite_is_told(path, durability, level):
    with begun(path, durability=durability) as file:
        assert file.log.select("PRAGMA synchronous") == [(level,)]
        assert file.log.select("PRAGMA journal_mode") == [("wal",)]


def test_other_durabilities_are_refused_before_there_is_a_file(path):
    with pytest.raises(InvalidArgumentError, match="durability is 'none'"):
        StudyFile(path, durability="none")
    assert list(path.parent.iterdir()) == []


def test_about_is_plain_json(path):
    begun(path).close()
    database = sqlite3.connect(path)
    ((text,),) = database.execute("SELECT document FROM notes WHERE kind = 'about'").fetchall()
    database.close()
    assert json.loads(text)["metric"] == "acc"


def test_a_server_that_does_not_answer_is_no_loss(path, monkeypatch):
    def fail(_):
        raise OSError(errno.ESTALE, "Stale file handle")

    with begun(path) as file:
        assert file.log.find_loss() is None
        with monkeypatch.context() as patch:
            patch.setattr("rungwise.storage.known_files.identify_file", fail)
            assert file.log.find_loss() is None
        path.rename(path.with_name("moved.db"))
        assert "was deleted or moved" in file.log.find_loss()
        assert file.log.rescue() == path
    with StudyFile(path, mode="read") as file:
        assert file.begun
