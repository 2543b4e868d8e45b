"""A study as flat rows: columns that keep out of each other's way, and formats."""

import csv
import io
import json
import math
import sys

import pytest
from backend_kinds import on_backend
from extras import needs

import rungwise as rw
from rungwise.storage.study_file import StudyFile, StudyPart
from rungwise.tuning import exports

FIXED = {"trial", "job", "resource", "seconds", "decision"}


def train(config, run):
    extras = {"trial": -1, "job": -2, "decision": -3, "resource": -4, "twice": -5}
    extras |= {"config.x": -6, "metric.seconds": -7, "gone": math.nan}
    for epoch in run.resources():
        run.report(epoch, seconds=1000 + config["x"], **extras)


@pytest.fixture(scope="module")
def path(tmp_path_factory, backend):
    """A study whose metrics are named like everything else."""
    path = tmp_path_factory.mktemp("study") / "s.db"
    space = {"x": rw.Float(0, 1), "seconds": [1, "two", None]}
    options = {"max_resource": 3, "trials": 4, "workers": 1, "show": "quiet", "study": path}
    rw.tune(train, space, metric="seconds", goal="min", **on_backend(options))
    return path


def test_no_column_replaces_another(path):
    rows = exports.list_rows(path)
    assert rows
    engine = rw.load(path).engine
    for row in rows:
        job = engine.jobs[row["job"]]
        assert row["trial"] == job.trial
        assert 0 < row["resource"] <= 3
        assert 0 <= row["seconds"] < 1000
        assert row["decision"] in {"Continue", "Pause", "Stop"}
        assert row["config.x"] == job.config["x"]
        assert row["config.seconds"] == job.config["seconds"]
        assert row["metric.seconds"] == 1000 + job.config["x"]
        assert [row[f"metric.{name}"] for name in ("trial", "job", "decision")] == [-1, -2, -3]
        assert (row["metric.resource"], row["twice"]) == (-4, -5)
        assert (row["metric.config.x"], row["metric.metric.seconds"]) == (-6, -7)
    assert FIXED == set(exports.REPORT_COLUMNS) <= set(rows[0])


def test_a_study_is_exported_while_it_grows(path, tmp_path, monkeypatch):
    """Every look at the log finds more in it, but all rows come from one look."""
    with StudyFile(path, mode="read") as file:
        study, about = file.log.study, file.about
        entries = list(file.read_from())
    complete = exports.list_rows(path)
    growing = tmp_path / "growing.db"
    parts = [entries[at : at + 7] for at in range(0, len(entries), 7)]
    read = StudyPart.read_from
    with StudyFile(growing) as tuner:
        tuner.begin_with(study, about)

        def append():
            tuner.extend(parts.pop(0) if parts else [])

        def while_it_grows(part, start=0, **after):
            append()
            for entry in read(part, start, **after):
                append()
                yield entry
            append()

        append()
        monkeypatch.setattr(StudyPart, "read_from", while_it_grows)
        seen = 0
        while parts:
            rows = exports.list_rows(growing)
            assert rows == complete[: len(rows)]
            assert len(rows) >= seen
            seen = len(rows)
        assert 0 < seen < len(complete)
        assert exports.list_rows(growing) == complete


def test_a_row_a_trial_keeps_its_columns(path):
    rows = exports.list_rows(path, "trials")
    assert [row["rank"] for row in rows] == [1, 2, 3, 4]
    assert all(row["value"] == 1000 + row["config.x"] for row in rows)
    with pytest.raises(rw.InvalidArgumentError, match="'reports' or 'trials'"):
        exports.list_rows(path, "jobs")


def test_csv_has_every_column_once(path):
    rows = exports.list_rows(path)
    text = exports.to_csv(rows)
    header = text.splitlines()[0].split(",")
    assert len(header) == len(set(header))
    found = list(csv.DictReader(io.StringIO(text)))
    assert [float(row["metric.seconds"]) for row in found] == [r["metric.seconds"] for r in rows]
    assert found[0]["gone"] == "nan"


def test_csv_leaves_a_gap_where_a_row_has_no_value():
    assert exports.to_csv([{"a": 1}, {"b": "x,y"}]) == 'a,b\n1,\n,"x,y"\n'


def test_json_has_null_for_what_is_not_finite(path):
    rows = json.loads(exports.to_json(exports.list_rows(path)), parse_constant=pytest.fail)
    assert {row["gone"] for row in rows} == {None}
    odd = [{"a": math.inf, "b": -math.inf, "c": 1.5, "d": "nan", "e": True}]
    assert json.loads(exports.to_json(odd)) == [
        {"a": None, "b": None, "c": 1.5, "d": "nan", "e": 1}
    ]
    assert exports.to_json([]) == "[]\n"


def test_parquet_holds_the_same(path, tmp_path):
    parquet = needs("parquet", "pyarrow.parquet")
    rows = exports.list_rows(path)
    exports.to_parquet(rows, tmp_path / "rows.parquet")
    table = parquet.read_table(tmp_path / "rows.parquet")
    assert table.column_names == exports.list_columns(rows)
    assert table["metric.seconds"].to_pylist() == [row["metric.seconds"] for row in rows]
    kinds = [row["config.seconds"] for row in rows]
    assert table["config.seconds"].to_pylist() == exports._column(kinds)


def test_without_pyarrow_the_extra_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(rw.MissingExtraError, match="parquet"):
        exports.to_parquet([{"a": 1}], tmp_path / "rows.parquet")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("values", "column"),
    [
        ([], []),
        ([None, None], [None, None]),
        ([1, 2, None], [1, 2, None]),
        ([1, 2.5, None], [1.0, 2.5, None]),
        ([True, False], [True, False]),
        ([True, 1], ["True", "1"]),
        ([1, "two", None], ["1", "two", None]),
        (["a", "b"], ["a", "b"]),
    ],
)
def test_a_column_has_one_type(values, column):
    found = exports._column(values)
    assert found == column
    assert [type(value) for value in found] == [type(value) for value in column]
