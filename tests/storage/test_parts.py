"""Several studies in one file: a study of its own, and the retrainings of its winners."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import started
from hypothesis import given, settings
from hypothesis import strategies as st

import rungwise as rw
from rungwise.core.decisions import CONTINUE, NOTED, STOP, WAIT, Job, StartJob
from rungwise.core.events import JobEnded, JobRequested, Reported
from rungwise.core.failures import Failure
from rungwise.core.limits import Limits
from rungwise.core.study import Study
from rungwise.errors import CorruptLogError, InvalidArgumentError
from rungwise.schedulers.baselines import FixedResource
from rungwise.storage import SqliteLog, sqlite
from rungwise.storage.record import StudyRecord
from rungwise.storage.schema import MIGRATIONS
from rungwise.storage.study_file import StudyFile, StudyPart

STUDY = Study(rw.PASHA(max_resource=9), Limits(trials=2), initial=[{"x": 1}, {"x": 2}])
ABOUT = StudyRecord(metric="acc")
OLD = Path(__file__).parents[1] / "data" / "studies_0_1_0"


def retraining_of(config, until=27):
    return Study(FixedResource(until), Limits(trials=1), initial=[config])


FIRST, SECOND = retraining_of({"x": 1}), retraining_of({"x": 2}, until=81)
FAILURE = Failure(0, 0, 4.0, 2.5, "ZeroDivisionError: …", "Traceback\n  ☃", "last words")


def story(name, length=4):
    """Entries that no other story has."""
    begin = (JobRequested(), StartJob(Job(0, 0, {"of": name}, 0, 27)))
    reports = [
        (Reported(0, n, n / 10, metrics=((name, n + 0.5),)), CONTINUE) for n in range(1, length - 1)
    ]
    return [begin, *reports, (JobEnded(0, at=3.0), NOTED)]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "study.db"


def begun(path):
    file = StudyFile(path)
    file.begin_with(STUDY, ABOUT)
    return file


def fill(path):
    """A file with three studies; entries 0–3 are of the study, 4, 6, 8, 10 of part 1, …"""
    with begun(path) as file:
        file.extend(story("main"))
        first, second = file.begin_retraining(FIRST, 1), file.begin_retraining(SECOND, 2)
        for of_first, of_second in zip(story("first"), story("second"), strict=True):
            first.extend([of_first])
            second.extend([of_second])
        file.main.extend([(JobRequested(at=5.0), WAIT)])


def alter(path, statement, *values):
    database = sqlite3.connect(path)
    database.execute(statement, values)
    database.commit()
    database.close()


def rows(path, table="entries"):
    database = sqlite3.connect(path)
    found = database.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall()  # noqa: S608
    database.close()
    return found


def read_all(path, mode="read"):
    with StudyFile(path, mode=mode) as file:
        parts = [file.main, *(part for _, part in file.retrainings())]
        return [list(part.read_from()) for part in parts]


# -- read back separately ----------------------------------------------------------------------


def test_studies_with_entries_among_each_other_are_read_back_separately(path):
    fill(path)
    with StudyFile(path, mode="read") as file:
        assert file.main.study == file.log.study == STUDY
        assert list(file.main.read_from()) == [*story("main"), (JobRequested(at=5.0), WAIT)]
        assert list(file.read_from()) == list(file.main.read_from())
        found = file.retrainings()
        assert [(trial, part.number) for trial, part in found] == [(1, 1), (2, 2)]
        assert [part.study for _, part in found] == [FIRST, SECOND]
        assert [list(part.read_from()) for _, part in found] == [story("first"), story("second")]
        assert len(file.log) == 13  # of all studies together


def test_positions_are_counted_per_study(path):
    fill(path)
    with StudyFile(path, mode="read") as file:
        for part, held in [
            (file.main, [*story("main"), (JobRequested(at=5.0), WAIT)]),
            (file.retrainings()[0][1], story("first")),
            (file.retrainings()[1][1], story("second")),
        ]:
            for start in range(len(held) + 2):
                assert list(part.read_from(start)) == held[start:]


def test_a_file_goes_on_with_any_of_its_studies(path):
    fill(path)
    more = (Reported(0, 9, 0.25), STOP)
    with StudyFile(path) as file:
        for _, part in reversed(file.retrainings()):
            part.extend([more])
        part = file.begin_retraining(FIRST, 1)  # once more
        part.extend([more])
        assert part.number == 3
        file.extend([more])
    main, first, second, third = read_all(path)
    assert (main[-1], len(main)) == (more, 6)
    assert first == [*story("first"), more]
    assert second == [*story("second"), more]
    assert third == [more]


WHO = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), max_size=12)


@given(WHO)
@settings(max_examples=40)
def test_any_order_of_entries_is_read_back(tmp_path_factory, order):
    path = tmp_path_factory.mktemp("parts") / "study.db"
    held = [[], [], []]
    with begun(path) as file:
        parts = [file.main, file.begin_retraining(FIRST, 1), file.begin_retraining(SECOND, 2)]
        for number, (part, count) in enumerate(order):
            entries = [(Reported(part, number + 1, float(n)), CONTINUE) for n in range(count)]
            parts[part].extend(entries)
            held[part] += entries
        assert [list(part.read_from()) for part in parts] == held
    assert read_all(path) == held


def test_an_iterator_that_breaks_off_leaves_nothing_in_any_study(path):
    def breaking_off():
        yield (Reported(0, 5, 0.5), CONTINUE)
        raise ZeroDivisionError

    fill(path)
    before = read_all(path)
    with StudyFile(path) as file:
        ((_, first), _) = file.retrainings()
        with pytest.raises(ZeroDivisionError):
            first.extend(breaking_off())
        file.extend([(Reported(0, 6, 0.5), CONTINUE)])
    main, *others = read_all(path)
    assert main == [*before[0], (Reported(0, 6, 0.5), CONTINUE)]
    assert others == before[1:]


def test_a_reader_sees_a_retraining_that_begins_after_it_has_opened_the_file(path):
    with begun(path) as writer, StudyFile(path, mode="read") as reader:
        assert reader.retrainings() == []
        writer.begin_retraining(FIRST, 1).extend(story("first"))
        ((trial, part),) = reader.retrainings()
        assert (trial, part.study) == (1, FIRST)
        assert list(part.read_from()) == story("first")
        assert list(reader.read_from()) == []


def test_a_retraining_needs_a_study_that_was_begun(path):
    """A log without a study has no parts: the first that is begun is its own."""
    with SqliteLog(path) as log:
        with pytest.raises(InvalidArgumentError, match="it contains no study"):
            log.read_study(1)
        assert log.begin_part(STUDY) == 0
        assert log.begin_part(FIRST) == 1
        with pytest.raises(InvalidArgumentError, match="it already contains a study"):
            log.begin(STUDY)
        assert (log.study, log.read_study(1)) == (STUDY, FIRST)


# -- failures ----------------------------------------------------------------------------------


def test_failures_of_a_retraining_do_not_mix_with_those_of_the_study(path):
    of_first = replace(FAILURE, reason="of the first")
    of_second = [replace(FAILURE, reason=f"of the second, {n}") for n in range(2)]
    with begun(path) as file:
        file.note_failure(FAILURE)
        file.extend(story("main"))
        first, second = file.begin_retraining(FIRST, 1), file.begin_retraining(SECOND, 2)
        for part, failure in [(second, of_second[0]), (first, of_first), (second, of_second[1])]:
            part.note_failure(failure)
            part.extend([(Reported(0, 1, 0.5), CONTINUE)])
    with StudyFile(path, mode="read") as file:
        first, second = (part for _, part in file.retrainings())
        assert file.failures() == file.main.failures() == [FAILURE]
        assert first.failures() == file.failures(part=1) == [of_first]
        assert second.failures() == of_second


def test_the_tenth_retraining_is_not_taken_for_the_first(path):
    with begun(path) as file:
        for trial in range(11):
            part = file.begin_retraining(FIRST, trial)
            part.note_failure(replace(FAILURE, trial=trial))
            part.extend([(Reported(trial, 1, 0.5), CONTINUE)])
    with StudyFile(path, mode="read") as file:
        for trial, part in file.retrainings():
            assert [failure.trial for failure in part.failures()] == [trial]
            assert [event.job for event, _ in part.read_from()] == [trial]


# -- damage ------------------------------------------------------------------------------------


def test_a_flipped_bit_in_a_retraining_is_noticed_by_name(path):
    fill(path)
    (number, event, *_) = rows(path)[6]
    data = bytearray(path.read_bytes())
    place = data.index(event.encode())
    data[place + event.index("0.1")] ^= 1  # the value that was reported
    path.write_bytes(data)
    for mode in ("read", "write"):
        with StudyFile(path, mode=mode) as file:
            for part in (file.main, *(part for _, part in file.retrainings())):
                with pytest.raises(CorruptLogError, match=f"entry {number} was altered") as refused:
                    list(part.read_from())
                assert str(path) in str(refused.value)


@pytest.mark.parametrize("number", [0, 4, 5, 11, 12])
def test_an_altered_entry_of_one_study_is_noticed_by_readers_of_all(path, number):
    fill(path)
    alter(path, 'UPDATE entries SET decision = \'{"kind": "Pause"}\' WHERE number = ?', number)
    with StudyFile(path, mode="read") as file:
        for part in (file.main, *(part for _, part in file.retrainings())):
            with pytest.raises(CorruptLogError, match=f"entry {number} was altered"):
                list(part.read_from())


def test_a_retraining_of_a_large_study_is_read_without_what_came_before(path, monkeypatch):
    fill(path)
    with StudyFile(path, mode="read") as file:
        parts = [part for _, part in file.retrainings()]
        before = [list(part.read_from()) for part in parts]
    first = min(row[0] for row in rows(path) if row[4])
    assert first > 0
    alter(path, "UPDATE entries SET decision = '' WHERE number = 0")  # it is not looked at
    monkeypatch.setattr(sqlite, "MANY", 1)
    with StudyFile(path, mode="read") as file:
        assert [list(part.read_from()) for _, part in file.retrainings()] == before
    alter(path, "UPDATE entries SET decision = '' WHERE number = ?", first + 1)
    with (
        StudyFile(path, mode="read") as file,
        pytest.raises(CorruptLogError, match=f"entry {first + 1} was altered"),
    ):
        list(StudyPart(file, 1).read_from())


WHOSE = {0: 0, 5: 2, 8: 1, 12: 0}  # entry → its study


@pytest.mark.parametrize(
    ("number", "part"),
    [(n, part) for n, own in WHOSE.items() for part in (0, 1, 2, 3, -1, "x", 1.5) if part != own],
)
def test_an_altered_part_number_of_an_entry_is_noticed(path, number, part):
    fill(path)
    assert rows(path)[number][-1] == WHOSE[number]
    alter(path, "UPDATE entries SET part = ? WHERE number = ?", part, number)
    for study in range(3):
        with (
            SqliteLog(path, mode="read") as log,
            pytest.raises(CorruptLogError, match=f"entry {number} was altered"),
        ):
            list(log.read_from(part=study))


def test_entries_that_changed_places_are_noticed(path):
    fill(path)
    for old, new in [(4, 99), (5, 4), (99, 5)]:
        alter(path, "UPDATE entries SET number = ? WHERE number = ?", new, old)
    with (
        StudyFile(path, mode="read") as file,
        pytest.raises(CorruptLogError, match="entry 4 was altered"),
    ):
        list(file.read_from())


@pytest.mark.parametrize("mode", ["read", "write"])
def test_a_last_entry_that_is_gone_is_noticed(path, mode):
    """Also when it is of a retraining: the lock file knows how many there were of all."""
    with begun(path) as file:
        file.extend(story("main"))
        file.begin_retraining(FIRST, 1).extend(story("first"))
    alter(path, "DELETE FROM entries WHERE number = 7")
    with pytest.raises(CorruptLogError, match="it has 7 entries, but 8 were committed"):
        StudyFile(path, mode=mode)


@pytest.mark.parametrize(
    ("statement", "damage"),
    [
        ("DELETE FROM study WHERE part = 0", "its study 0 is missing"),
        ("DELETE FROM study WHERE part = 1", "its study 1 is missing"),
        ("DELETE FROM study WHERE part = 2", "its study 2 is missing"),
        ("UPDATE study SET part = 3 - part WHERE part > 0", "its study was altered"),
        ("UPDATE study SET part = 1 WHERE part = 2", "its study 2 is missing"),
        ("UPDATE study SET document = replace(document, '81', '27')", "its study was altered"),
        ("UPDATE study SET part = 'x' WHERE part = 2", "its study 2 is missing"),
    ],
)
def test_a_study_that_was_altered_or_is_gone_is_noticed(path, statement, damage):
    fill(path)
    alter(path, statement)
    with pytest.raises(CorruptLogError, match=damage):
        studies_in(path)


def studies_in(path):
    with StudyFile(path) as file:
        return [part.study for _, part in file.retrainings()]


# -- crashes -----------------------------------------------------------------------------------


def test_a_crash_before_the_first_entry_of_a_retraining_leaves_a_file_that_opens(path):
    command = [sys.executable, "-c", textwrap.dedent(CRASH), str(path)]
    with started(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout.readline() == "begun\n"
        os.kill(writer.pid, signal.SIGKILL)
    assert read_all(path) == [[(JobRequested(), WAIT)], []]
    with StudyFile(path) as file:
        ((trial, part),) = file.retrainings()
        assert (trial, part.study, part.failures()) == (4, FIRST, [])
        part.extend(story("first"))
        file.extend([(JobRequested(at=1.0), WAIT)])
    assert read_all(path) == [
        [(JobRequested(), WAIT), (JobRequested(at=1.0), WAIT)],
        story("first"),
    ]


CRASH = """
    import sys, time
    import rungwise as rw
    from rungwise.core.decisions import WAIT
    from rungwise.core.events import JobRequested
    from rungwise.core.limits import Limits
    from rungwise.core.study import Study
    from rungwise.schedulers.baselines import FixedResource
    from rungwise.storage.record import StudyRecord
    from rungwise.storage.study_file import StudyFile
    file = StudyFile(sys.argv[1])
    study = Study(rw.PASHA(max_resource=9), Limits(trials=1), initial=[{"x": 1}])
    file.begin_with(study, StudyRecord("acc"))
    file.extend([(JobRequested(), WAIT)])
    file.begin_retraining(Study(FixedResource(27), Limits(trials=1), initial=[{"x": 1}]), 4)
    print("begun", flush=True)
    time.sleep(60)
"""


def test_a_retraining_is_begun_whole_or_not_at_all(path):
    fill(path)
    before = read_all(path)
    with StudyFile(path) as file:
        with file.log.transaction() as database:
            database.execute(
                "CREATE TEMP TRIGGER no_more BEFORE INSERT ON notes "
                "BEGIN SELECT RAISE(ABORT, 'no more notes'); END"
            )
        with pytest.raises(rw.RungwiseError, match="no more notes"):
            file.begin_retraining(FIRST, 1)
        with file.log.transaction() as database:
            database.execute("DROP TRIGGER no_more")
        part = file.begin_retraining(SECOND, 2)
        assert part.number == 3  # the one that failed has left no number behind
        part.extend(story("first"))
        assert len(file.retrainings()) == 3
    assert read_all(path) == [*before, story("first")]


# -- files of version 2 ------------------------------------------------------------------------


@pytest.fixture(params=sorted(path.name for path in OLD.glob("*.db")))
def of_version_2(request, tmp_path):
    return Path(shutil.copy(OLD / request.param, tmp_path / request.param))


def described(file):
    return {
        "study": file.main.study,
        "about": file.about,
        "entries": [repr(entry) for entry in file.read_from()],
        "failures": file.failures(),
        "extras": file.extras(),
        "retrains": file.retrains(),
        "retrainings": file.retrainings(),
    }


def columns(path, table):
    database = sqlite3.connect(path)
    found = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
    database.close()
    return found


def test_reading_a_file_of_version_2_does_not_change_it_by_a_byte(of_version_2):
    before = of_version_2.read_bytes()
    with StudyFile(of_version_2, mode="read") as file:
        assert file.log.version == 2
        found = described(file)
    assert len(found["entries"]) > 30
    assert found["retrainings"] == []
    assert of_version_2.read_bytes() == before
    assert "part" not in columns(of_version_2, "entries")


def test_writing_to_a_file_of_version_2_brings_it_up_to_date(of_version_2):
    with StudyFile(of_version_2, mode="read") as file:
        before = described(file)
    checksums = [row[3] for row in rows(of_version_2)]
    with StudyFile(of_version_2) as file:
        assert file.log.version == len(MIGRATIONS) == 5
        assert described(file) == before
    assert columns(of_version_2, "entries") == ["number", "event", "decision", "checksum", "part"]
    assert columns(of_version_2, "study") == ["document", "checksum", "part"]
    assert [row[3] for row in rows(of_version_2)] == checksums  # the chain is what it was
    assert {row[4] for row in rows(of_version_2)} == {0}
    with StudyFile(of_version_2, mode="read") as file:
        assert described(file) == before


def test_a_file_of_version_2_takes_a_retraining(of_version_2):
    with StudyFile(of_version_2, mode="read") as file:
        before = described(file)
    with StudyFile(of_version_2) as file:
        file.begin_retraining(FIRST, 1).extend(story("first"))
    with StudyFile(of_version_2, mode="read") as file:
        ((trial, part),) = file.retrainings()
        assert (trial, part.study, list(part.read_from())) == (1, FIRST, story("first"))
        assert {**described(file), "retrainings": []} == before


def test_a_file_of_version_2_that_was_altered_is_noticed_after_the_migration_too(of_version_2):
    text = "UPDATE entries SET event = replace(event, '\"at\": 0', '\"at\": 1') WHERE number = 0"
    alter(of_version_2, text)
    for mode in ("read", "write", "read"):
        with (
            StudyFile(of_version_2, mode=mode) as file,
            pytest.raises(CorruptLogError, match="entry 0 was altered"),
        ):
            list(file.read_from())
