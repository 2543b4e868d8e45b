"""Study files: the log, and what is known of a real study besides."""

import json
import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

import rungwise as rw
from rungwise.backends.base import Failure
from rungwise.core.decisions import CONTINUE, WAIT
from rungwise.core.events import JobRequested, Reported
from rungwise.core.limits import Limits
from rungwise.core.study import Study
from rungwise.errors import CorruptLogError, InvalidArgumentError, LogUnavailableError, SchemaError
from rungwise.storage import SqliteLog, sqlite
from rungwise.storage.schema import checksum_of
from rungwise.storage.study_file import About, StudyFile, files_of

STUDY = Study(rw.PASHA(max_resource=9), Limits(trials=2), initial=[{"x": 1}, {"x": 2}])
ABOUT = About(
    metric="acc",
    open_ended=True,
    train={"function": "module:train"},
    options={"workers": 2, "keep": "all"},
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


def test_what_it_says_about_its_study_comes_back(path):
    begun(path).close()
    with StudyFile(path, mode="read") as file:
        assert file.begun
        assert file.about == ABOUT
        assert file.log.study == STUDY
        assert (file.failures(), file.extras(), file.retrains()) == ([], {}, [])
        assert list(file.read_from()) == []


def test_a_fresh_file_holds_no_study(path):
    with StudyFile(path) as file:
        assert not file.begun
        with pytest.raises(SchemaError, match="not of a study that was tuned"):
            _ = file.about


def test_a_second_study_is_refused_and_leaves_the_first(path):
    with begun(path) as file, pytest.raises(InvalidArgumentError, match="holds a study already"):
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
        assert file.folder == files_of(path) == files_of(str(path)) == Path(f"{path}.files")
        assert not file.folder.exists()


# -- what is noted goes with the entries -------------------------------------------------------


def test_what_is_noted_is_kept_with_the_next_entries(path):
    with begun(path) as file:
        file.note_failure(FAILURE)
        file.note_extras(0, 1.0, {"accuracy": 0.25})
        file.note_extras(0, 2.5, {"accuracy": 0.5, "gap": float("inf")})
        assert (file.failures(), file.extras()) == ([], {})
        file.extend([ENTRY])
        file.extend([(JobRequested(), WAIT)])  # and not once more
    with StudyFile(path, mode="read") as file:
        assert file.failures() == [FAILURE]
        assert file.extras() == {
            (0, 1.0): {"accuracy": 0.25},
            (0, 2.5): {"accuracy": 0.5, "gap": float("inf")},
        }
        assert len(list(file.read_from())) == 2
        assert list(file.read_from(1)) == [(JobRequested(), WAIT)]


def refuse_notes(file):
    with file.log.transaction() as database:
        database.execute(
            "CREATE TRIGGER no_more BEFORE INSERT ON notes "
            "BEGIN SELECT RAISE(ABORT, 'no more notes'); END"
        )


def test_entries_and_what_was_noted_are_one_transaction(path):
    """Whichever of the two cannot be written, neither is."""
    with begun(path) as file:
        file.note_extras(0, 1, {"a": 1})
        with pytest.raises(Exception, match="object"):
            file.extend([ENTRY, (Reported(0, 2, object()), CONTINUE)])
        assert (list(file.read_from()), file.extras()) == ([], {})
        refuse_notes(file)
        file.note_extras(0, 1, {"a": 1})
        with pytest.raises(rw.RungwiseError, match="no more notes"):
            file.extend([ENTRY])
        assert len(file.log) == 0
    with StudyFile(path) as file:
        assert list(file.read_from()) == []
        file.extend([ENTRY])
        assert list(file.read_from()) == [ENTRY]


def test_after_a_failed_write_the_log_goes_on_where_it_was(path):
    with begun(path) as file:
        file.extend([ENTRY])
        refuse_notes(file)
        file.note_extras(0, 1, {"a": 1})
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


def test_retrains_are_kept_at_once_and_in_order(path):
    with begun(path) as file:
        file.note_retrain({"trial": 3, "value": 0.5})
        file.note_retrain({"trial": 1, "value": 0.25})
    with StudyFile(path, mode="read") as file:
        assert [document["trial"] for document in file.retrains()] == [3, 1]


def test_a_reader_writes_nothing(path):
    begun(path).close()
    with StudyFile(path, mode="read") as file:
        with pytest.raises(LogUnavailableError, match="readonly"):
            file.extend([ENTRY])
        with pytest.raises(LogUnavailableError, match="readonly"):
            file.note_retrain({})


def test_a_reader_sees_what_the_writer_adds(path):
    with begun(path) as writer, StudyFile(path, mode="read") as reader:
        writer.note_extras(0, 1, {"a": 2})
        writer.extend([ENTRY])
        assert list(reader.read_from()) == [ENTRY]
        assert reader.extras() == {(0, 1): {"a": 2}}


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
        ('{"version_of_about": 1}', CorruptLogError, "about its study cannot be read"),
        ('{"version_of_about": 1, "metric": "a", "new": 1}', CorruptLogError, "cannot be read"),
        ('{"version_of_about": 2, "metric": "a"}', SchemaError, "by a later version"),
    ],
)
def test_what_cannot_be_read_about_a_study_is_told(path, text, error, told):
    begun(path).close()
    checksum = checksum_of("about", text)
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
        ("DELETE FROM notes WHERE number = 0", "note 0 is missing"),
        ("UPDATE notes SET document = CAST(document AS BLOB)", "a note cannot be read"),
        ("UPDATE study SET document = replace(document, '9', '8')", "its study was altered"),
        ("UPDATE study SET document = CAST(document AS BLOB)", "it holds no log"),
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
    assert f"delete {beside}.lock" in str(refused.value)
    beside.with_name("copy.db.lock").unlink()
    with StudyFile(beside) as file:  # asked for
        assert not file.begun


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
        "ALTER TABLE study DROP COLUMN checksum",
        "DROP TABLE notes",
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
        assert file.log.version == len(sqlite.MIGRATIONS) == 2
        held = list(file.read_from())
        file.note_failure(FAILURE)
        file.extend([ENTRY])
    assert {"study", "entries", "notes"} <= tables_of(of_version_1)
    with StudyFile(of_version_1, mode="read") as file:
        assert list(file.read_from()) == [*held, ENTRY]
        assert len(held) > 10
        assert file.failures() == [FAILURE]
        assert file.log.study.limits.trials == 4


def test_a_file_of_version_1_can_be_read_as_it_is(of_version_1):
    before = of_version_1.read_bytes()
    with StudyFile(of_version_1, mode="read") as file:
        assert file.log.version == 1
        assert len(list(file.read_from())) > 10
        assert (file.failures(), file.extras(), file.retrains()) == ([], {}, [])
        with pytest.raises(SchemaError, match="not of a study that was tuned"):
            _ = file.about
    assert of_version_1.read_bytes() == before


def test_a_migration_that_fails_leaves_the_file_as_it_was(of_version_1, monkeypatch):
    def broken(database):
        database.execute("CREATE TABLE half (x)")
        raise ZeroDivisionError

    with monkeypatch.context() as patch:
        patch.setattr(sqlite, "MIGRATIONS", (*sqlite.MIGRATIONS[:1], broken))
        with pytest.raises(ZeroDivisionError):
            StudyFile(of_version_1)
    assert tables_of(of_version_1) == {"study", "entries"}
    with StudyFile(of_version_1) as file:
        assert file.log.version == 2


def test_tuning_and_loading_do_not_mistake_a_simulated_log_for_theirs(of_version_1):
    with pytest.raises(SchemaError, match="not of a study that was tuned"):
        rw.load(of_version_1)
    with pytest.raises(SchemaError, match="not of a study that was tuned"):
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
