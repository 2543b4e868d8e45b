"""tune(checkpoints="s3://…"): which addresses are taken, and what becomes of studies there."""

import os
import secrets
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from extras import needs

import rungwise as rw
from rungwise.checkpoints import FsspecStore, fsspec_store, scratch

fsspec = needs("fsspec", "fsspec")

SPACE = {"x": rw.Float(0, 1)}


def train(config, run):
    done = int((run.latest / "model").read_text()) if run.latest else 0
    assert done == run.start
    for epoch in run.resources():
        with run.checkpoint(epoch) as folder:
            (folder / "model").write_text(str(epoch))
            (folder / "x").write_text(str(config["x"]))
        run.report(epoch, loss=abs(config["x"] - 0.3) + 1 / epoch)


def tune(function=train, **options):
    given = {"metric": "loss", "goal": "min", "max_resource": 9, "trials": 9, "show": "quiet"}
    return rw.tune(function, SPACE, **{**given, **options})


@pytest.fixture
def study(tmp_path):
    return tmp_path / "digits.db"


@pytest.fixture
def memory():
    return f"memory://{secrets.token_hex(8)}/x"


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "rule"),
    [
        ("s3://", "must name a place, such as s3://bucket/path"),
        ("S3://bucket", "an address such as s3://bucket/path"),
        ("nosuch://bucket/x", "does not know this kind of address"),
        ("simplecache::s3://bucket/x", "an address such as"),
        ("s3://bucket/x?key=SECRET", "an address such as"),
        ("sftp://me:SECRET@host/x", "no credentials belong in it, since the study file keeps it"),
        ("gdrive://x/y", "a package is missing"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused(study, address, rule):
    with pytest.raises(rw.InvalidArgumentError, match=rule) as caught:
        tune(checkpoints=address, study=study)
    assert "SECRET" not in str(caught.value)
    assert not list(study.parent.iterdir())


def test_the_extra_is_named(study, monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(rw.MissingExtraError, match=r"rungwise\[fsspec\]"):
        tune(checkpoints="s3://bucket/x", study=study)
    assert not list(study.parent.iterdir())


def test_memory_is_for_threads_only(study, memory):
    with pytest.raises(rw.InvalidArgumentError, match="backend='threads', or another address"):
        tune(checkpoints=memory, study=study, workers=1)
    assert not list(study.parent.iterdir())


@pytest.mark.parametrize("place", ["/proc/nothing/here", "file:///proc/nothing/here"])
def test_a_place_that_cannot_be_written_is_refused_before_anything_is_trained(study, place):
    with pytest.raises(rw.StoreUnavailableError, match="/proc/nothing/here"):
        tune(checkpoints=place, study=study)
    assert not list(study.parent.iterdir())


def test_and_before_a_study_is_resumed_there(study, memory):
    tune(checkpoints=memory, study=study, backend=rw.Threads(1), trials=1)
    with pytest.raises(rw.StoreUnavailableError):
        rw.resume(study, train, checkpoints="file:///proc/nothing/here", show="quiet")


# -- studies ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", [rw.Local(workers=2), rw.Threads(workers=2)])
def test_checkpoints_are_kept_behind_the_address(study, memory, backend):
    address = memory if isinstance(backend, rw.Threads) else (study.parent / "there").as_uri()
    result = tune(checkpoints=address, study=study, backend=backend, keep=2)
    assert result.failures == ()
    store = FsspecStore(f"{address}/digits.db.files")
    assert len(list(store.places())) == 2
    best = rw.load(study).best
    assert str(best.checkpoint).startswith(f"{address}/digits.db.files/trial-")
    assert (best.checkpoint / "x").read_text() == str(best.config["x"])
    assert Path(os.fspath(best.checkpoint), "model").exists()
    full = result.retrain(train, resource=10)
    assert (full.checkpoint / "model").read_text() == "10"
    assert (full.best_checkpoint / "model").read_text() == str(int(full.best_resource))
    assert full.to_json()["best_checkpoint"] == str(full.best_checkpoint)


def test_an_interrupted_study_goes_on_from_there(study, memory):
    seen = []

    def interrupt(report):
        seen.append(report)
        if len(seen) == 9:
            raise KeyboardInterrupt

    given = {"checkpoints": memory, "study": study, "backend": rw.Threads(1)}
    with pytest.raises(KeyboardInterrupt):
        tune(**given, on_report=interrupt)
    result = tune(**given)
    assert (result.failures, result.trials) == ((), 9)
    assert dict(result._about.run)["checkpoints"] == memory


# -- faults ----------------------------------------------------------------------------------------


def die_once(config, run):
    """SIGKILL in the middle of an upload: the first time after a file, then before the mark."""
    marks = Path(os.environ["MARKS"])
    from fsspec.implementations.local import LocalFileSystem  # noqa: PLC0415

    put, commit = LocalFileSystem.put_file, fsspec_store._commit

    def die(name):
        if run.trial == 0 and not (marks / name).exists():
            (marks / name).touch()
            os.kill(os.getpid(), signal.SIGKILL)

    def put_and_die(self, *given, **more):
        put(self, *given, **more)
        die("put")

    def die_and_commit(*given):
        die("commit")
        commit(*given)

    LocalFileSystem.put_file, fsspec_store._commit = put_and_die, die_and_commit
    try:
        train(config, run)
    finally:
        LocalFileSystem.put_file, fsspec_store._commit = put, commit


def test_a_kill_in_the_middle_of_an_upload(study, tmp_path, monkeypatch):
    marks, there = tmp_path / "marks", tmp_path / "there"
    marks.mkdir()
    monkeypatch.setenv("MARKS", str(marks))
    address = there.as_uri()
    result = tune(die_once, checkpoints=address, study=study, workers=1, retries=2, keep="all")
    assert {path.name for path in marks.iterdir()} == {"put", "commit"}
    assert [failure.trial for failure in result.failures] == [0, 0]
    assert all("SIGKILL" in failure.reason for failure in result.failures)
    files = [path for path in there.rglob("*") if path.is_file()]
    prefixes = {path.relative_to(there).parts[1:4] for path in files}
    marked = {path.relative_to(there).parts[1:4] for path in files if path.name == "COMMITTED"}
    assert prefixes == marked  # what was not finished is gone


def test_what_a_killed_process_had_copied_is_removed_by_the_next_one(tmp_path, monkeypatch):
    monkeypatch.setattr(scratch, "_folders", {})
    monkeypatch.setattr(scratch.tempfile, "tempdir", str(tmp_path))
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait(60)
    left = tmp_path / f"{scratch._here()}{ended.pid}-abc"
    other = tmp_path / f"{scratch._here()}{os.getppid()}-abc"
    for folder in (left, other):
        (folder / "model").mkdir(parents=True)
    assert scratch.make_scratch().is_dir()
    assert (left.exists(), other.exists()) == (False, True)
    scratch.remove_scratch()
    assert list(tmp_path.iterdir()) == [other]


class Outage:
    """A storage that fails a number of times."""

    def __init__(self, monkeypatch, method, times):
        from fsspec.implementations.memory import MemoryFileSystem  # noqa: PLC0415

        original = getattr(MemoryFileSystem, method)
        self.left, self.waited = times, []

        def fail(*given, **more):
            if self.left > 0:
                self.left -= 1
                raise ConnectionError("the network is away")
            return original(*given, **more)

        monkeypatch.setattr(MemoryFileSystem, method, fail)
        # Only there: threads that other tests have left behind sleep as well.
        monkeypatch.setattr(fsspec_store, "time", SimpleNamespace(sleep=self.waited.append))


def test_what_fails_is_tried_again_with_longer_and_longer_waits(memory, monkeypatch):
    outage = Outage(monkeypatch, "put_file", 3)
    trial = FsspecStore(memory).trial("trial-00001")
    with trial.writing(1, 0) as folder:
        (folder / "model").write_text("x")
    assert outage.waited == [0.2, 1.0, 3.0]
    assert len(trial.committed()) == 1


def test_training_goes_on_while_the_storage_is_away(study, memory, monkeypatch, capfd):
    Outage(monkeypatch, "put_file", 10**6)
    result = tune(checkpoints=memory, study=study, backend=rw.Threads(1), show="lines", trials=2)
    assert (result.failures, result.best.checkpoint) == ((), None)
    assert (
        "the checkpoints cannot be reached: the checkpoint at 1 was not" in capfd.readouterr().err
    )


def test_a_storage_that_is_away_costs_a_trial_no_retry(study, memory, monkeypatch):
    outage = Outage(monkeypatch, "get_file", 0)

    def count(report):
        if report.resource == 1 and report.trial == 2:
            outage.left = 6  # the next that is promoted cannot read its checkpoint

    given = {"checkpoints": memory, "study": study, "backend": rw.Threads(1), "retries": 0}
    result = tune(**given, on_report=count)
    assert (outage.left, result.failures) == (0, ())


@pytest.mark.parametrize("options", [{}, {"checkpoint_quota": 1}])
def test_a_storage_that_lets_nothing_be_removed_does_not_end_the_study(
    study, memory, monkeypatch, capfd, options
):
    """Neither while it runs, to keep to a quota, nor when it has ended and is tidied up."""
    outage = Outage(monkeypatch, "rm", 10**6)
    result = tune(checkpoints=memory, study=study, backend=rw.Threads(1), show="lines", **options)
    assert result.why.startswith("Done: 9 configurations compared; ")
    assert len(outage.waited) > 0
    said = capfd.readouterr().err
    assert said.count("checkpoints could not be removed") == 1
    assert "ConnectionError: the network is away" in said
    assert ("checkpoint quota: checkpoints could not be removed" in said) == bool(options)


def test_a_checkpoint_of_which_something_is_missing_is_not_used(memory):
    trial = FsspecStore(memory).trial("trial-00001")
    for resource in (1, 2):
        with trial.writing(resource, 0) as folder:
            (folder / "a").write_text("a")
            (folder / "b").write_text("bb")
    files = fsspec.filesystem("memory")
    (lost,) = (name for name in files.find(memory) if "at-2" in name and name.endswith("/b"))
    files.rm_file(lost)
    with pytest.warns(UserWarning, match="at-2-job-0-1.* is not used: b is missing"):
        assert trial.latest(at_most=9).resource == 1
    files.pipe_file(lost, b"b")
    with pytest.warns(UserWarning, match="b has 1 bytes instead of 2"):
        assert trial.latest(at_most=9).resource == 1
    assert (trial.fetch(trial.latest(at_most=1)) / "b").read_text() == "bb"
    trial.release()


def test_copies_are_removed_with_the_job(memory):
    trial = FsspecStore(memory).trial("trial-00001")
    with trial.writing(1, 0) as folder:
        (folder / "model").write_text("x")
    assert not folder.exists()
    copy = trial.fetch(trial.latest(at_most=1))
    assert copy == trial.fetch(trial.latest(at_most=1))
    trial.release()
    assert not copy.exists()
