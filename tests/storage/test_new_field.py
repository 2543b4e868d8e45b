"""One more field of an event, as a later version may have it: one line, and nothing else changes.

A copy of the package is given that line. It reads the study files of version 0.2.0, writes the
same bytes as this version does, and keeps what the field says.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import unmeasured

import rungwise
from rungwise.errors import SchemaError
from rungwise.storage.study_file import StudyFile

ROOT = Path(rungwise.__file__).parent
OLD = Path(__file__).parents[1] / "data" / "studies_0_2_0"
LINE = "    again: Again = 0.0\n"
NEW = '    place: Text = ""\n'

PROGRAM = """
import shutil, sqlite3, sys
from dataclasses import replace
from pathlib import Path

from rungwise.core.decisions import CONTINUE
from rungwise.core.events import Reported
from rungwise.storage import codec, tail
from rungwise.storage.sqlite import SqliteLog
from rungwise.storage.study_file import StudyFile
from rungwise.tuning.verification import verify_study

folder = Path(sys.argv[1])
slow, read_slowly = [], codec.entry_from_texts

def read_and_count(what, *rest):
    slow.append(what)
    return read_slowly(what, *rest)

for path in sorted(folder.glob("*.db")):
    verify_study(path)
    with SqliteLog(path, mode="read") as log:
        rows = log.select("SELECT event, decision FROM entries ORDER BY number")
        entries = [codec.entry_from_texts(*row, "here") for row in rows]
        assert [codec.entry_to_texts(entry) for entry in entries] == rows, path
        codec.entry_from_texts = read_and_count
        slow.clear()
        found, _ = tail.read_tail(log, tail.Position())
        codec.entry_from_texts = read_slowly
    assert [entry for _, entry in found] == entries, path
    reports = [what for what, _ in rows if '"kind": "Reported"' in what]
    plain = [what for what in reports if "metrics" not in what and "NaN" not in what
             and "again" not in what]
    assert not set(plain) & set(slow), path
    assert not any("place" in what for what, _ in rows)

path = folder / "killed.db"
report = Reported(12, 4, 0.5, 9.0, place="\\u2603 there")
both = [(report, CONTINUE), (replace(report, resource=5, metrics=(("a", 1.0),)), CONTINUE)]
with StudyFile(path) as file:
    before = len(file.log)
    file.main.extend(both)
with StudyFile(path, mode="read") as file:
    assert list(file.read_from(before)) == both
    assert [entry for _, entry in tail.read_tail(file.log, tail.Position())[0]][before:] == both
    rows = file.log.select("SELECT event FROM entries ORDER BY number")
assert rows[before][0].endswith(', "cost": 0.0, "place": "\\u2603 there"}'), rows[before]
print("kept")
"""


@pytest.fixture(scope="module")
def later(tmp_path_factory):
    """The folder of a package whose reports have one more field."""
    place = tmp_path_factory.mktemp("later")
    shutil.copytree(ROOT, place / "rungwise", ignore=shutil.ignore_patterns("__pycache__"))
    path = place / "rungwise" / "core" / "events.py"
    text = path.read_text(encoding="utf-8")
    assert text.count(LINE) == 1
    path.write_text(text.replace(LINE, LINE + NEW), encoding="utf-8")
    return place


def test_one_more_field_of_a_report_is_one_line(later, tmp_path):
    for found in OLD.glob("*.db*"):
        take = shutil.copytree if found.is_dir() else shutil.copy
        take(found, tmp_path / found.name)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, tmp_path],
        env={**unmeasured(), "PYTHONPATH": str(later)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "kept\n"
    # This version says that it does not know the field.
    with (
        StudyFile(tmp_path / "killed.db", mode="read") as file,
        pytest.raises(SchemaError, match=r"has the unknown \['place'\]"),
    ):
        list(file.read_from())
