"""Child processes of a job that report and write checkpoints for it."""

import json
import math
import multiprocessing
import os
import pickle
from multiprocessing import connection

import pytest
import sharing_children as children
from faults.scenarios import eventually
from test_run import Study, make_run

import rungwise as rw
from rungwise.run import Unwound
from rungwise.sharing import ShareClient

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")

SPACE = {"x": rw.Float(0, 1)}


@pytest.fixture
def study():
    return Study(enough_at=3)


@pytest.fixture
def run(tmp_path, study):
    run = make_run(tmp_path / "trial-00007", study)
    yield run
    run.close(unwound=True)


def copy(shared):
    """As another process gets it, with a connection of its own."""
    return pickle.loads(pickle.dumps(shared))  # noqa: S301


def start(method, target, shared):
    context = multiprocessing.get_context(method)
    results = context.SimpleQueue()
    child = context.Process(target=target, args=(shared, results))
    child.start()
    return child, results


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_child_reports_and_hears_the_answer(run, study, method):
    child, results = start(method, children.report_until_enough, run.share())
    answers, enough, latest, trial, metric = results.get()
    child.join()
    assert (child.exitcode, enough, latest, trial, metric) == (0, True, "None", 7, "loss")
    assert answers == [(1, True), (2, True), (3, False)]
    assert study.reports == [(n, 1 / n, {"extra": n}) for n in (1, 2, 3)]
    assert study.checkpoints == [(1, 1), (2, 1), (3, 1)]
    assert run.enough
    assert run.reported
    with pytest.raises(Unwound):  # of the job itself, whose loop should have ended
        run.report(4, loss=1)


def test_it_knows_what_the_run_knows(tmp_path, study):
    first = make_run(tmp_path / "trial-00007", study)
    with first.checkpoint(2) as folder:
        (folder / "model").write_text("two")
    run = make_run(tmp_path / "trial-00007", study, job=1, start=2)
    shared = copy(run.share())
    names = ("trial", "phase", "metric", "seed", "until", "max_resource", "start", "latest")
    assert [getattr(shared, n) for n in names] == [getattr(run, n) for n in names]
    assert (shared.folder, shared.enough) == (run.folder, False)
    assert (shared.latest / "model").read_text() == "two"
    assert list(shared.resources())[:2] == [3, 4]
    assert shared.share() is shared
    run.close()


def test_one_process_speaks_at_a_time(run, study):
    one, other = copy(run.share()), copy(run.share())
    assert one.report(1, loss=1)
    with pytest.raises(rw.ShareError, match=rf"process {os.getpid()} reports.*rank 0 alone"):
        other.report(1, loss=1)
    assert one.report(2, loss=1)
    one._client._connection.close()  # as if its process had ended
    eventually(lambda: spoke(other))
    assert [resource for resource, *_ in study.reports] == [1, 2, 2.5]


def spoke(shared):
    try:
        return shared.report(2.5, loss=1)
    except rw.ShareError:
        return False


def test_resources_grow_whoever_reports(run, study):
    assert run.report(2, loss=1)
    with pytest.raises(rw.ShareError, match="resources must grow, and 2 was reported"):
        copy(run.share()).report(1, loss=1)
    with pytest.raises(rw.NotFiniteError):
        copy(run.share()).report(3, loss=math.nan)
    assert len(study.reports) == 1


def test_without_the_token_nothing_is_relayed(run, study):
    shared = run.share()
    client = ShareClient(shared._client.address, b"wrong")
    with pytest.raises(rw.ShareError, match="refused the token"):
        client.ask("report", 1, 1, {})
    for said in (b"", b"[", json.dumps(["report", 1, 1, {}]).encode()):
        stranger = connection.Client(shared._client.address)
        stranger.send_bytes(said)
        stranger.close()
    assert study.reports == []
    assert copy(shared).report(1, loss=1)


def test_what_is_no_request_ends_its_connection_only(run, study):
    client = copy(run.share())._client
    client._connection = client._connect()
    client._owner = os.getpid()
    client._connection.send_bytes(b"{")
    with pytest.raises(EOFError):
        client._connection.recv_bytes()
    assert copy(run.share()).report(1, loss=1)


def test_a_job_that_has_left_answers_nothing(run, study):
    shared, late = copy(run.share()), copy(run.share())
    assert shared.report(1, loss=1)
    run.close()
    for each in (shared, late):
        with pytest.raises(Unwound, match="the job has left"):
            each.report(2, loss=1)
    assert len(study.reports) == 1


def test_children_end_with_a_job_that_is_unwound(run, study):
    child, results = start("fork", children.sleep, run.share())
    assert results.get() == child.pid
    run.close(unwound=True)
    assert child.exitcode is not None


def test_the_run_itself_is_refused_in_a_child(run, study):
    child, results = start("fork", children.report_a_run, run)
    for name in ("report", "checkpoint", "share"):
        said = results.get()
        assert said.startswith(f"run.{name}() was called in process {child.pid}, a child of")
        assert "run.share()" in said
    child.join()
    with pytest.raises(rw.ShareError, match=r"run\.share\(\)"):
        pickle.dumps(run)
    assert study.reports == []


# -- in studies ------------------------------------------------------------------------------------


def tune(train, **options):
    given = {"metric": "loss", "goal": "min", "max_resource": 9, "trials": 3, "show": "quiet"}
    return rw.tune(train, SPACE, **{**given, **options})


@pytest.mark.parametrize(
    ("train", "backend"),
    [
        (children.train_in_forked_child, rw.Local(workers=2)),
        (children.train_in_spawned_child, rw.Threads(workers=1)),
    ],
)
def test_a_study_whose_trials_train_in_children(train, backend):
    result = tune(train, backend=backend)
    assert (result.failures, result.trials) == ((), 3)
    values = [value for curve in result.curves().values() for _, value in curve]
    assert result.best.value == min(values)


def test_a_hanging_child_ends_with_its_job(tmp_path, monkeypatch):
    pids = tmp_path / "pids"
    monkeypatch.setenv("SHARING_PIDS", str(pids))
    result = tune(
        children.train_with_hanging_child, workers=1, trials=1, retries=1, report_timeout=0.5
    )
    assert [failure.resource for failure in result.failures] == [0.5, 0.5]
    assert "report_timeout" in result.failures[0].reason
    for pid in pids.read_text().split():
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid), 0)


def test_a_child_that_reports_without_share_fails_its_trial():
    result = tune(children.train_in_child_without_share, workers=1, trials=1, retries=0)
    (failure,) = result.failures
    assert failure.reason == "RuntimeError: the child ended with 1"
    assert "ShareError: run.report() was called in process" in failure.output
