"""One row per log, and what a file must withstand."""

import math
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time

import pytest

import rungwise as rw
from rungwise.core.decisions import CONTINUE, WAIT
from rungwise.core.events import JobRequested, Reported
from rungwise.errors import (
    CorruptLogError,
    InvalidArgumentError,
    LogInUseError,
    LogUnavailableError,
    SchemaError,
)
from rungwise.storage import MemoryLog, SqliteLog
from rungwise.storage.schema import MIGRATIONS
from rungwise.storage.study_file import StudyFile
from rungwise.testing import LogConformance


class TestMemoryLog(LogConformance):
    def make_log(self, folder):
        return MemoryLog()


class TestMemoryLogThroughLines(LogConformance):
    def make_log(self, folder):
        return MemoryLog()

    def reopen(self, log, folder):
        return MemoryLog.from_lines(log.to_lines())


class TestStudyFile(LogConformance):
    """A study file keeps a log like any other, whatever was noted besides."""

    def make_log(self, folder):
        return Noting(folder / "study.db")

    def reopen(self, log, folder):
        log.close()
        return Noting(folder / "study.db")


class Noting(StudyFile):
    """A study file with something to write beside every entry."""

    def __init__(self, path):
        super().__init__(path)
        self.append, self.begin = self._append, self.log.begin

    @property
    def study(self):
        return self.log.study

    def _append(self, event, decision):
        self.extend([(event, decision)])

    def extend(self, entries):
        self._note("something", {"accuracy": 0.5})
        super().extend(entries)


class TestSqliteLog(LogConformance):
    def make_log(self, folder):
        return SqliteLog(folder / "study.db")

    def reopen(self, log, folder):
        log.close()
        return SqliteLog(folder / "study.db")


@pytest.mark.parametrize("row", [TestMemoryLogThroughLines, TestStudyFile, TestSqliteLog])
def test_a_log_keeps_the_other_metrics_of_reports(tmp_path, row):
    metrics = (("accuracy", 0.5), ("é ☃", -0.0), ("gap", math.inf), ("none", math.nan), ("n", 3))
    odd = (("half a pair \udc80", 1.0), ("", 2.0), ('"\n\x00', 3.0))
    entries = [
        (Reported(0, 0.25, 0.5, metrics=odd), CONTINUE),
        (Reported(0, 0.5, math.nan, metrics=odd), CONTINUE),
        (Reported(0, 1, 0.5, metrics=metrics), CONTINUE),
        (Reported(0, 2, math.nan, metrics=metrics), CONTINUE),
        (Reported(0, 3, 0.5), CONTINUE),
    ]
    row = row()
    log = row.make_log(tmp_path)
    log.extend(entries)
    again = row.reopen(log, tmp_path)
    assert [repr(entry) for entry in again.read_from()] == [repr(entry) for entry in entries]
    if hasattr(again, "close"):
        again.close()


def filled(path, entries=5):
    with SqliteLog(path) as log:
        rw.simulate(rw.power_laws(9, 9), rw.PASHA(), trials=9, log=log)
        for number in range(entries):
            log.append(JobRequested(at=float(number)), WAIT)
        return len(log)


def child(code, *arguments):
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
        stdout=subprocess.PIPE,
        text=True,
    )


WRITER = """
    import sys
    from rungwise.core.decisions import CONTINUE
    from rungwise.core.events import Reported
    from rungwise.storage import SqliteLog
    log = SqliteLog(sys.argv[1])
    for number in range(1, 1_000_000):
        log.append(Reported(0, number, 0.5), CONTINUE)
        print(number, flush=True)
"""


@pytest.mark.parametrize("patience", [0.0, 0.05, 0.2])
def test_killing_the_writer_loses_nothing_it_acknowledged(tmp_path, patience):
    path = tmp_path / "study.db"
    writer = child(WRITER, path)
    assert writer.stdout.readline() == "1\n"
    time.sleep(patience)
    os.kill(writer.pid, signal.SIGKILL)
    told = [1, *map(int, writer.stdout.read().split())]
    writer.wait(60)
    writer.stdout.close()
    with SqliteLog(path) as log:  # the lock died with its holder
        kept = [event.resource for event, _ in log.read_from()]
        assert kept == list(range(1, len(kept) + 1))
        assert len(told) <= len(kept) <= len(told) + 1
        log.append(Reported(0, 7, 0.5), CONTINUE)


def test_a_second_writer_is_told_who_has_the_file_and_a_reader_is_welcome(tmp_path):
    path = tmp_path / "study.db"
    writer = child(WRITER, path)
    assert writer.stdout.readline() == "1\n"
    try:
        with pytest.raises(LogInUseError, match=f"being written by process {writer.pid} on"):
            SqliteLog(path)
        with SqliteLog(path, mode="read") as log:
            assert len(list(log.read_from())) >= 1
    finally:
        writer.kill()
        writer.wait(60)
        writer.stdout.close()


def test_a_closed_log_can_be_written_by_the_next(tmp_path):
    path = tmp_path / "study.db"
    length = filled(path)
    with SqliteLog(path) as log:
        assert len(log) == length


def alter(path, statement):
    database = sqlite3.connect(path)
    database.execute(statement)
    database.commit()
    database.close()


@pytest.mark.parametrize(
    ("statement", "damage"),
    [
        ('UPDATE entries SET decision = \'{"kind": "Noted"}\' WHERE number = 3', "entry 3 was"),
        ("DELETE FROM entries WHERE number = 2", "entry 2 is missing"),
        ("UPDATE entries SET checksum = 0 WHERE number = 4", "entry 4 was altered"),
        ("UPDATE study SET document = '{}'", "its study was altered"),
        ("UPDATE study SET document = '{}', checksum = NULL", "its study was altered"),
        ("UPDATE study SET part = 1", "its study 0 is missing"),
        ("UPDATE entries SET part = 1 WHERE number = 5", "entry 5 was altered"),
        ("UPDATE entries SET part = 'x' WHERE number = 5", "entry 5 was altered"),
    ],
)
def test_an_edited_file_is_noticed(tmp_path, statement, damage):
    path = tmp_path / "study.db"
    filled(path)
    alter(path, statement)
    with pytest.raises(CorruptLogError, match=damage) as refused, SqliteLog(path) as log:
        list(log.read_from())
    assert str(path) in str(refused.value)


@pytest.mark.parametrize("keep", [0.3, 0.6, 0.9])
def test_a_file_cut_short_is_noticed(tmp_path, keep):
    path = tmp_path / "study.db"
    filled(path, entries=400)
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * keep)])
    with pytest.raises(CorruptLogError), SqliteLog(path) as log:
        list(log.read_from())


def test_overwritten_bytes_are_noticed(tmp_path):
    path = tmp_path / "study.db"
    filled(path, entries=400)
    data = bytearray(path.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 600] = bytes(range(200)) * 3
    path.write_bytes(data)
    with pytest.raises((CorruptLogError, SchemaError)), SqliteLog(path) as log:
        list(log.read_from())


def test_other_files_are_left_as_they_are(tmp_path):
    path = tmp_path / "notes.db"
    path.write_text("not a database, and long enough to look like a file of somebody's own")
    before = path.read_bytes()
    with pytest.raises(CorruptLogError, match=r"notes\.db"):
        SqliteLog(path)
    assert path.read_bytes() == before
    other = tmp_path / "other.db"
    alter(other, "CREATE TABLE mine (x)")
    with pytest.raises(CorruptLogError, match="not a log of rungwise"):
        SqliteLog(other)


def test_a_file_of_a_later_version_is_refused(tmp_path):
    path = tmp_path / "study.db"
    filled(path)
    alter(path, f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    with pytest.raises(SchemaError, match="a later version of rungwise wrote it"):
        SqliteLog(path)


def test_bad_arguments_are_named(tmp_path):
    with pytest.raises(InvalidArgumentError, match="mode is 'append'"):
        SqliteLog(tmp_path / "x.db", mode="append")
    with pytest.raises(InvalidArgumentError, match="no such file to read"):
        SqliteLog(tmp_path / "x.db", mode="read")
    with pytest.raises(LogUnavailableError, match="nowhere"):
        SqliteLog(tmp_path / "nowhere" / "x.db")


def fill_up(log):
    while True:
        log.append(JobRequested(), WAIT)


def test_a_full_disk_is_reported_and_survived(tmp_path):
    """A limit on pages stands in for the disk: SQLite says the same of both."""
    with SqliteLog(tmp_path / "study.db") as log:
        log.append(JobRequested(), WAIT)
        pages = log._database.execute("PRAGMA page_count").fetchone()[0]
        log._database.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(LogUnavailableError, match="full"):
            fill_up(log)
        kept = len(log)
        assert len(list(log.read_from())) == kept > 1
        log._database.execute("PRAGMA max_page_count = 100000")
        log.append(JobRequested(), WAIT)
        assert len(list(log.read_from())) == kept + 1


def test_a_copied_file_is_a_log_of_its_own(tmp_path):
    filled(tmp_path / "study.db")
    shutil.copy(tmp_path / "study.db", tmp_path / "copy.db")
    with SqliteLog(tmp_path / "study.db"), SqliteLog(tmp_path / "copy.db") as copy:
        assert copy.study.limits.trials == 9
