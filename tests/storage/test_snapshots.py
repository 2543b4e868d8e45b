"""Snapshots of studies: they change nothing but the time that reading takes."""

import importlib
import json
import math
import shutil
import sqlite3
import sys
from dataclasses import fields, is_dataclass

import pytest

import rungwise as rw
from rungwise.core.decisions import Done
from rungwise.core.engine import Engine
from rungwise.core.limits import Limits
from rungwise.core.study import Study
from rungwise.errors import CorruptLogError, LogUnavailableError, SchemaError
from rungwise.session import snapshot_keeper
from rungwise.session.snapshot_keeper import SnapshotKeeper
from rungwise.storage import engine_state, snapshots
from rungwise.storage.engine_state import digest_engine
from rungwise.storage.object_graphs import GraphReader
from rungwise.storage.snapshots import read_snapshot
from rungwise.storage.sqlite import SqliteLog
from rungwise.storage.study_file import StudyFile
from rungwise.tuning import folding, requests
from rungwise.tuning.folding import fold
from rungwise.tuning.verification import verify_study

SPACE = {"x": rw.Float(0, 1), "kind": rw.Choice(["a", 2, None, True])}


def train(config, run):
    for epoch in run.resources():
        if config["x"] > 0.9 and epoch > 1:
            raise ValueError("too large")
        run.report(epoch, loss=abs(config["x"] - 0.3) + 1 / epoch + 0.1 * (epoch % 3))


@pytest.fixture(autouse=True)
def frequent(monkeypatch):
    monkeypatch.setattr(snapshot_keeper, "EVERY", 25)


def tuned(path, **options):
    plain = {"max_resource": 9, "trials": 14, "retries": 0, "backend": rw.Threads(1)}
    return rw.tune(
        train, SPACE, metric="loss", goal="min", study=path, show="quiet", **{**plain, **options}
    )


def forget(path):
    change(path, "DELETE FROM snapshot")


def change(path, *statement):
    database = sqlite3.connect(path)
    database.execute(*statement)
    database.commit()
    database.close()


def read(path):
    with StudyFile(path, mode="read") as file:
        return read_snapshot(file.log)


def folded(path, **options):
    with StudyFile(path, mode="read") as file, file.log.snapshot():
        return digest_engine(*fold(file, **options))


@pytest.mark.parametrize("searcher", ["random", "kde", "gp:startup=4", "tpe", "grid"])
def test_a_study_goes_on_from_its_snapshot_as_from_its_entries(tmp_path, searcher):
    short, whole = tmp_path / "short.db", tmp_path / "whole.db"
    tuned(short, searcher=searcher, target=None)
    assert read(short) is not None
    shutil.copy(short, whole)
    forget(whole)
    assert read(whole) is None
    assert folded(short) == folded(short, whole=True) == folded(whole)
    for path in (short, whole):
        rw.resume(path, train, trials=20, max_resource=27, show="quiet")
    results = [rw.load(path).to_json(top=None) for path in (short, whole)]
    for result in results:
        del result["seconds"], result["study"], result["way_on"]
    assert results[0] == results[1]
    assert rw.load(short).curves() == rw.load(whole).curves()
    verify_study(short)


def test_only_what_came_after_it_is_replayed(tmp_path, monkeypatch):
    path = tmp_path / "study.db"
    tuned(path)
    entries = read(path).entries
    change(path, "DELETE FROM curves WHERE number > 99")
    seen = []
    monkeypatch.setattr(
        folding, "replay", lambda *_, after, **__: seen.append(after[1]) or after[0]
    )
    with StudyFile(path, mode="read") as file:
        fold(file)
        assert seen == [entries] == [len(file.log)]


def test_curves_are_stored_in_chunks_of_what_is_new(tmp_path):
    path = tmp_path / "study.db"
    tuned(path, trials=30)
    database = sqlite3.connect(path)
    sizes = [size for (size,) in database.execute("SELECT length(points) FROM curves")]
    database.close()
    reports = rw.load(path).reports
    assert len(sizes) > 2
    assert sum(sizes) <= reports * 32 + len(sizes) * 8  # each point once


def test_a_small_study_has_one_while_no_tuner_works_on_it(tmp_path, monkeypatch):
    monkeypatch.setattr(snapshot_keeper, "EVERY", 10_000)
    path = tmp_path / "study.db"
    found = []
    tuned(path, on_report=lambda _: found.append(read(path)))
    assert found == [None] * len(found) != []
    with StudyFile(path, mode="read") as file:
        assert read_snapshot(file.log).entries == len(file.log)


def test_resuming_a_small_study_checks_every_decision(tmp_path, monkeypatch):
    monkeypatch.setattr(snapshot_keeper, "EVERY", 10_000)
    path = tmp_path / "study.db"
    tuned(path)
    forge(path, lambda document: document["engine"].update(spent=1))
    assert rw.load(path).resource_spent == 1  # as verifying it would say
    found = rw.resume(path, train, trials=16, show="quiet")
    assert found.resource_spent > 14
    verify_study(path)  # the snapshot is another one now


SCHEDULERS = ["pasha", "asha:variant=stopping", "hyperband", "fixed:9", "adaptive"]


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_what_is_printed_is_the_same_with_and_without_one(tmp_path, monkeypatch, scheduler):
    monkeypatch.setattr(snapshot_keeper, "EVERY", 10_000)
    path = tmp_path / "study.db"
    tuned(path, scheduler=scheduler)
    assert read(path) is not None
    short = rw.load(path)
    forget(path)
    assert read(path) is None
    whole = rw.load(path)
    assert type(short.engine) is type(whole.engine) is Engine
    assert short.to_json(top=None) == whole.to_json(top=None)
    assert short.rungs() == whole.rungs()
    assert short.best == whole.best
    assert short.why == whole.why
    assert short.failures == whole.failures
    assert short.view.savings == whole.view.savings


def test_a_later_one_takes_the_place_of_one_that_entries_came_after(tmp_path):
    path = tmp_path / "study.db"
    tuned(path)
    requests.add(path, [{"x": 0.5, "kind": 2}])  # an entry behind the snapshot
    with StudyFile(path) as file:
        assert read_snapshot(file.log).entries < len(file.log)
        engine, _ = fold(file)
        SnapshotKeeper(file.main, engine).close()
        assert read_snapshot(file.log).entries == len(file.log)
    verify_study(path)


DAMAGE = {
    "another document": "UPDATE snapshot SET document = replace(document, 'paused', 'failed')",
    "of another code": "UPDATE snapshot SET layout = 'x'",
    "another place": "UPDATE snapshot SET entries = entries - 1",
    "another chain": "UPDATE snapshot SET checksum = checksum + 1",
    "another type": "UPDATE snapshot SET document = 7",
    "a place that is text": "UPDATE snapshot SET entries = 'x'",
    "a blob": "UPDATE snapshot SET document = zeroblob(9), chunks = zeroblob(9)",
    "an altered chunk": "UPDATE curves SET points = zeroblob(length(points)) WHERE number = 0",
    "a missing chunk": "DELETE FROM curves WHERE number = 0",
    "chunks that are numbers": "UPDATE curves SET points = 5",
    "two rows": "INSERT INTO snapshot SELECT * FROM snapshot",
    "an empty table": "DELETE FROM snapshot",
}


@pytest.mark.parametrize("statement", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_one_is_not_used(tmp_path, statement):
    path = tmp_path / "study.db"
    tuned(path)
    before = folded(path, whole=True)
    change(path, statement)
    assert read(path) is None
    assert folded(path) == before
    rw.resume(path, train, trials=20, show="quiet")
    assert read(path) is not None  # it was written again, as a whole
    assert folded(path) == folded(path, whole=True)


@pytest.mark.parametrize("table", ["summary", "snapshot", "curves"])
def test_a_study_does_without_the_tables_of_summary_and_snapshot(tmp_path, table):
    path = tmp_path / "study.db"
    tuned(path)
    change(path, f"DROP TABLE {table}")
    assert rw.load(path).trials == 14
    assert rw.resume(path, train, trials=20, show="quiet").trials == 20
    verify_study(path)


@pytest.mark.parametrize("table", ["summary", "snapshot", "curves"])
def test_further_columns_do_no_harm(tmp_path, table):
    path = tmp_path / "study.db"
    tuned(path)
    change(path, f"ALTER TABLE {table} ADD COLUMN more")
    assert rw.load(path).trials == 14
    assert rw.resume(path, train, trials=20, show="quiet").trials == 20
    verify_study(path)


@pytest.mark.parametrize("table", ["study", "entries", "notes", "closing"])
def test_a_table_that_is_missing_is_damage(tmp_path, table):
    path = tmp_path / "study.db"
    tuned(path)
    change(path, f"DROP TABLE {table}")
    with pytest.raises(CorruptLogError, match=f"no such table: {table}"):
        rw.load(path)


def forge(path, edit):
    """Change the document of a snapshot, with the right digest."""
    database = sqlite3.connect(path)
    (row,) = database.execute("SELECT * FROM snapshot").fetchall()
    document = json.loads(row[3])
    edit(document)
    parts = (*row[:3], json.dumps(document), row[4])
    database.close()
    change(
        path,
        "UPDATE snapshot SET document = ?, digest = ?",
        (parts[3], snapshots._compute_digest(*parts)),
    )


def test_verifying_notices_one_that_was_forged(tmp_path):
    path = tmp_path / "study.db"
    tuned(path)
    forge(path, lambda document: document["engine"].update(spent=1))
    assert read(path) is not None
    with pytest.raises(CorruptLogError, match="its snapshot is not what its entries lead to"):
        verify_study(path)


HOSTILE = [
    ["object", "os:system", [], []],
    ["object", "subprocess:Popen", ["args"], ["true"]],
    ["object", "rungwise.core.engine:Engine.handle", [], []],
    ["object", "rungwise.core.engine:math", [], []],
    ["object", "rungwise.core.rungs:Rung", ["__class__"], [1]],
    ["object", "rungwise.core.rungs:Rung", ["nothing"], [1]],
    ["array", "Z", ""],
    ["numpy", "O", [1], "AAAAAAAAAAA="],
    ["numpy", "f8", [10**12], ""],
    ["nothing", ["plain", []]],
    ["list", ["plain", [[1]]]],
    ["list", ["trials", [-1]]],
    7,
    None,
]


@pytest.mark.parametrize("node", HOSTILE, ids=str)
def test_a_hostile_one_runs_nothing_and_is_not_used(tmp_path, node):
    path = tmp_path / "study.db"
    tuned(path)
    before = folded(path, whole=True)
    forge(path, lambda document: document.update(nodes=[node] * len(document["nodes"])))
    assert read(path) is None
    assert folded(path) == before


ODD = {
    "a number that is text": lambda d: d["engine"].update(spent="1"),
    "a list that is a number": lambda d: d["engine"].update(leads=3),
    "no scheduler": lambda d: d["engine"].update(scheduler=None),
    "a note that is a number": lambda d: d["trials"].update(note=[1] * len(d["trials"]["note"])),
    "a job of no trial": lambda d: d["jobs"].update(trial=[-1] * len(d["jobs"]["trial"])),
    "a configuration that is text": lambda d: d["trials"]["config"].__setitem__(0, "x"),
    "a resource that is not a number": lambda d: d["trials"]["resource"].__setitem__(0, math.nan),
    "fewer columns": lambda d: d["trials"].pop("until"),
    "fewer trials": lambda d: d["trials"]["until"].pop(),
    "fewer points": lambda d: d["lengths"].append(3),
    "another study": lambda d: d["study"].update(seed="x"),
    "no proposals": lambda d: d.pop("proposals"),
    "deep nesting": lambda d: d.update(nodes=json.loads("[" * 900 + "]" * 900)),
}


@pytest.mark.parametrize("edit", ODD.values(), ids=ODD)
def test_an_odd_one_is_not_used(tmp_path, edit):
    path = tmp_path / "study.db"
    tuned(path)
    before = folded(path, whole=True)
    forge(path, edit)
    assert read(path) is None
    assert folded(path) == before


def test_only_classes_that_are_allowed_are_made():
    def refuse(name):
        raise SchemaError(name)

    with pytest.raises(SchemaError, match="os:system"):
        GraphReader([["object", "os:system", [], []]], [], refuse).read(["node", 0])


class Hoarder:
    """A scheduler that keeps what cannot be stored."""

    def __init__(self, inner):
        self._inner, self._file = inner, sys.stderr

    def __getattr__(self, name):
        return getattr(self._inner, name)


def test_a_study_whose_state_cannot_be_stored_is_replayed(tmp_path, monkeypatch):
    build = rw.PASHA.build
    monkeypatch.setattr(
        rw.PASHA, "build", lambda self, *, trials: Hoarder(build(self, trials=trials))
    )
    path = tmp_path / "study.db"
    tuned(path, scheduler=rw.PASHA(max_resource=9))
    assert read(path) is None
    assert rw.load(path).trials == 14


OWN = """
import rungwise as rw
from dataclasses import dataclass

class Own:
    def __init__(self, inner):
        self._inner = inner
        self.state = {state}

    def __getattr__(self, name):
        if name.startswith("__") or name == "_inner":
            raise AttributeError(name)
        return getattr(self._inner, name)

@dataclass(frozen=True)
class Recipe(rw.RandomSearch):
    max_resource: int = 9

    def build(self, *, trials):
        return Own(rw.ASHA(max_resource=self.max_resource).build(trials=trials))
"""

CHAIN = "[chain := [], [chain := [chain] for _ in range(3000)]][0] or chain"


def write_own(place, monkeypatch, state):
    """A module of the user's own; its scheduler keeps this."""
    (place / "own_scheduler.py").write_text(OWN.replace("{state}", state))
    monkeypatch.syspath_prepend(place)
    monkeypatch.delitem(sys.modules, "own_scheduler", raising=False)
    importlib.invalidate_caches()
    engine_state._digest_module.cache_clear()
    return importlib.import_module("own_scheduler").Recipe()


@pytest.mark.parametrize("state", ["{None, 1, 'a'}", CHAIN], ids=["no order", "a chain"])
def test_a_state_that_cannot_be_written_does_not_end_the_study(tmp_path, monkeypatch, state):
    path = tmp_path / "study.db"
    recipe = write_own(tmp_path, monkeypatch, state)
    assert tuned(path, scheduler=recipe, max_resource=None).trials == 14
    with StudyFile(path, mode="read", types=[type(recipe)]) as file:
        assert read_snapshot(file.log, [type(recipe)]) is None


def test_a_scheduler_of_ones_own_that_has_changed_is_replayed(tmp_path, monkeypatch):
    path = tmp_path / "study.db"

    def is_used(recipe):
        with StudyFile(path, mode="read", types=[type(recipe)]) as file:
            return read_snapshot(file.log, [type(recipe)]) is not None

    recipe = write_own(tmp_path, monkeypatch, "1")
    tuned(path, scheduler=recipe, max_resource=None)
    assert is_used(recipe)
    assert not is_used(write_own(tmp_path, monkeypatch, "2"))


def test_of_code_without_a_file_there_is_no_snapshot(tmp_path, monkeypatch):
    path = tmp_path / "study.db"
    recipe = write_own(tmp_path, monkeypatch, "1")
    monkeypatch.delattr(sys.modules["own_scheduler"], "__file__")
    assert tuned(path, scheduler=recipe, max_resource=None).trials == 14
    with StudyFile(path, mode="read", types=[type(recipe)]) as file:
        assert file.log.select("SELECT * FROM snapshot") == []


def test_nothing_is_kept_of_an_engine_that_is_ahead_of_its_log(tmp_path, monkeypatch):
    path = tmp_path / "study.db"
    extend = SqliteLog.extend

    def fail(self, entries, **part):
        if any(type(decision) is Done for _, decision in entries):
            raise LogUnavailableError(str(path), "the disk is full")
        extend(self, entries, **part)

    monkeypatch.setattr(SqliteLog, "extend", fail)
    with pytest.raises(LogUnavailableError):
        tuned(path)
    monkeypatch.setattr(SqliteLog, "extend", extend)
    assert not rw.load(path).ended
    assert folded(path) == folded(path, whole=True)
    assert rw.resume(path, train, show="quiet").ended
    verify_study(path)


def test_ask_and_tell_keep_them_too(tmp_path):
    path = tmp_path / "study.db"
    with rw.open_study(path, SPACE, metric="loss", goal="min", max_resource=9, trials=12) as study:
        while isinstance(job := study.ask(), rw.Job):
            for epoch in job.resources():
                if not study.report(job, epoch, job.config["x"] + 1 / epoch):
                    break
    assert read(path) is not None
    verify_study(path)


def test_all_that_an_engine_knows_is_stored_or_follows_from_that():
    engine = Engine(Study(rw.PASHA(max_resource=9), Limits(trials=3), initial=[{"x": 1}]))
    stored = {*engine.take_state(), "study", "trials", "jobs", "proposals"}
    follows = {"proposer", "_handlers", "_sign", "target", "watched", "last"}
    parts = {name: one for name, one in vars(engine).items() if is_dataclass(one)}
    facts = [each.name for name in parts.keys() - {"study"} for each in fields(parts[name])]
    assert len(set(facts)) == len(facts)
    assert {*(vars(engine).keys() - parts.keys()), "study", *facts} == stored | follows
