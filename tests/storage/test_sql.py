"""What a file holds, and how, is known to the storage package alone."""

import re
from pathlib import Path

import pytest

import rungwise

ROOT = Path(rungwise.__file__).parent
FOREIGN = re.compile(r'\b(SELECT|INSERT|DELETE FROM|PRAGMA|sqlite3)\b|"\{+"kind"|\'\{+"kind"')
"""SQL, and how the text of an event begins."""

HOME = (ROOT / "storage", ROOT / "core" / "fields.py")
"""Where both are at home: the tables of events are the format of their text."""

FILES = [path for path in sorted(ROOT.rglob("*.py")) if not {path, path.parent} & {*HOME}]


@pytest.mark.parametrize(
    "text", ['"SELECT number FROM x"', "import sqlite3", """_REPORT = '{"kind": "Reported"'"""]
)
def test_it_would_be_found(text):
    assert FOREIGN.search(text)


def test_no_other_package_has_sql_or_the_beginning_of_an_event():
    found = {
        str(path.relative_to(ROOT)): match[0]
        for path in FILES
        if (match := FOREIGN.search(path.read_text(encoding="utf-8")))
    }
    assert found == {}
