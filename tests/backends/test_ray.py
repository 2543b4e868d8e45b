"""Real studies on a real Ray, with several nodes on this machine."""

import importlib
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import backend_kinds
import pytest
from command_line import started
from extras import needs
from faults.ray_campaign import NONE, Campaign
from ray_clusters import KeptActors, add_node, add_odd_node, extra_nodes, running_cluster
from tuning import test_tune as shared

import rungwise as rw
from rungwise.backends import demand, listener, ray_check, ray_cluster, ray_launcher
from rungwise.backends.ray_check import check_nodes
from rungwise.checkpoints import FolderStore
from rungwise.core.events import JobLost, Reported
from rungwise.errors import InvalidArgumentError, WorkerStartError
from rungwise.storage.study_file import StudyFile
from rungwise.testing import ProcessBackendConformance

ray = needs("ray", "ray")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.no_cover,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # of Ray itself
]


@pytest.fixture(scope="module")
def cluster():
    with running_cluster({"resources": {"slot": 8, "pair": 1}}) as started:
        ray.init(address=started.address, log_to_driver=False, logging_level="ERROR")
        started.wait_for_nodes()
        yield started
        KeptActors.kept.clear()
        ray.shutdown()


@pytest.fixture(scope="module")
def spare(cluster):
    """One more node, with what the others do not have."""
    node = add_node(cluster, num_gpus=4, resources={"pair": 1, "late": 1})
    yield node
    cluster.remove_node(node, allow_graceful=False)


@pytest.fixture(autouse=True)
def _kept_actors(cluster, monkeypatch):
    monkeypatch.setattr(ray_launcher, "Actors", KeptActors)
    monkeypatch.setitem(backend_kinds.OTHERS, "ray", on_slots)
    backend_kinds.use("ray")
    yield
    backend_kinds.use("local")


class TestRay(ProcessBackendConformance):
    """What every backend promises, and every one with processes."""

    def make_recipe(self, workers):
        return rw.Ray(workers, resources={"slot": 1})


def train(config, run):
    """Resumes from its checkpoint, and says when it does not."""
    assert run.start in (0, run.start if run.latest else 0)
    for epoch in run.resources():
        time.sleep(config.get("seconds", 0))
        with run.checkpoint(epoch) as folder:
            (folder / "epoch").write_text(str(epoch))
        run.report(epoch, loss=config["x"] / epoch)


def tune(train, study=None, **changes):
    arguments = {
        "metric": "loss",
        "goal": "min",
        "max_resource": 9,
        "trials": 6,
        "show": "quiet",
        "retries": 0,
        **changes,
    }
    space = {"x": rw.Float(0, 1), **arguments.pop("space", {})}
    return rw.tune(train, space, study=study, **arguments)


def on_slots(workers, **more):
    return rw.Ray(workers, resources={"slot": 1}, **more)


class Notes:
    """A display that keeps what it is given."""

    def __init__(self, act=lambda snapshot: None):
        self.notices, self.views, self.act = [], [], act

    def begin(self, snapshot):
        self.update(snapshot)

    def due(self):
        return True

    def update(self, snapshot):
        self.views.append(list(snapshot.workers))
        self.act(snapshot)

    def notice(self, text):
        self.notices.append(text)

    def end(self, snapshot, text):
        pass


def once(condition, act):
    """Do something once, as soon as a snapshot fulfils a condition."""
    done = []

    def watch(snapshot):
        if not done and condition(snapshot):
            done.append(True)
            act(snapshot)

    return watch


def busy(snapshot):
    return [view for view in snapshot.workers if view.trial is not None]


def test_callbacks_are_told_of_trials_on_ray(tmp_path):
    file = tmp_path / "reports.csv"
    result = tune(train, tmp_path / "s.db", backend=on_slots(2), callbacks=[rw.callbacks.CSV(file)])
    assert len(file.read_text().splitlines()) == result.reports + 1


# -- what is refused before anything is trained --------------------------------------------------


def test_what_no_node_has_is_refused(tmp_path):
    with pytest.raises(InvalidArgumentError, match="no node of the cluster has any tpu"):
        tune(train, tmp_path / "s.db", backend=rw.Ray(2, resources={"tpu": 1}))
    assert not (tmp_path / "s.db").exists()


def test_another_address_than_that_of_the_program_is_refused(tmp_path):
    with pytest.raises(InvalidArgumentError, match="is connected to the cluster at"):
        tune(train, tmp_path / "s.db", backend=rw.Ray(2, address="10.0.0.1:6379"))
    with pytest.raises(InvalidArgumentError, match=r"ray\.init itself: give it there"):
        tune(train, tmp_path / "s.db", backend=rw.Ray(2, runtime_env={"env_vars": {}}))


def test_nodes_with_other_versions_are_refused_by_name(tmp_path, monkeypatch):
    here = {"rungwise": "9.9", "python": "3.99.0"}
    monkeypatch.setattr(ray_check, "describe_versions", lambda: here)
    with pytest.raises(WorkerStartError, match=r"has rungwise .*the tuner has rungwise 9\.9 on"):
        tune(train, tmp_path / "s.db", backend=on_slots(1))
    assert rw.load(tmp_path / "s.db").trials == 0


class Elsewhere:
    """A store that nodes look for in another place than the tuner."""

    def __init__(self, here, there):
        self.here, self.there = FolderStore(str(here)), FolderStore(str(there))

    def trial(self, place):
        return self.here.trial(place)

    def to_json(self):
        return self.there.to_json()

    def __str__(self):
        return str(self.here)


@pytest.mark.parametrize(
    ("there", "rule"),
    [
        ("there", "does not see the checkpoints that the tuner writes"),
        ("/proc/nothing", "cannot use the checkpoints: |does not see"),
    ],
)
def test_a_node_that_cannot_see_the_checkpoints_is_refused_by_name(tmp_path, there, rule):
    cluster = ray_cluster.Cluster(ray, ours=False)
    (node,) = [node for node in cluster.nodes() if "slot" in node.total]
    store = Elsewhere(tmp_path / "here", tmp_path / there)
    share = ray_cluster.Share(resources={"slot": 1})
    with pytest.raises(WorkerStartError, match=rule) as caught:
        check_nodes(cluster, share, store, print)
    assert node.name in str(caught.value)
    assert "a disk that all nodes share" in str(caught.value)
    assert list(store.here.places()) == []


class Unloadable:
    def __call__(self, config, run):
        raise AssertionError

    def __reduce__(self):
        return (importlib.import_module, ("a_module_of_the_tuner_only",))


def test_a_function_that_no_node_can_load_is_refused_with_the_node(tmp_path):
    with pytest.raises(WorkerStartError, match=r"a_module_of_the_tuner_only.*, process \d+"):
        tune(Unloadable(), tmp_path / "s.db", backend=on_slots(2))


# -- how workers are started ---------------------------------------------------------------------


def test_the_token_is_in_no_command_line_and_a_large_function_arrives(tmp_path, monkeypatch):
    """Every user of a machine can read the arguments of its processes."""
    token = "5ec4e7" * 10
    monkeypatch.setattr(listener.secrets, "token_hex", lambda _: token)
    data = os.urandom(3_000_000)

    def train(config, run):
        lines = [file.read_bytes() for file in Path("/proc").glob("[0-9]*/cmdline")]
        assert any(b"rungwise.backends.worker" in line for line in lines)
        seen = sum(token.encode() in line for line in lines)
        run.report(1, loss=seen, size=len(data), typed=len(sys.stdin.read()))

    said = []
    more = {"trials": 1, "max_resource": 1, "on_report": said.append}
    tune(train, tmp_path / "s.db", backend=on_slots(1), **more)
    (event,) = said
    assert (event.value, dict(event.metrics)) == (0, {"size": 3_000_000, "typed": 0})


@pytest.mark.usefixtures("spare")
def test_each_worker_has_gpus_of_its_own(tmp_path):
    """As many as were asked for, of those that Ray says a node has."""

    def train(config, run):
        (tmp_path / f"trial-{run.trial}").touch()
        deadline = time.monotonic() + 60
        while len(list(tmp_path.glob("trial-*"))) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)  # until the other worker trains, too
        run.report(1, loss=int("".join(os.environ["CUDA_VISIBLE_DEVICES"].split(","))))

    seen = []
    more = {"trials": 2, "max_resource": 1, "on_report": seen.append}
    tune(train, tmp_path / "s.db", backend=rw.Ray(2, gpus_per_worker=2), **more)
    with pytest.raises(InvalidArgumentError, match=r"the most that a node .* has is 4"):
        tune(train, tmp_path / "t.db", backend=rw.Ray(2, gpus_per_worker=8))
    assert {event.value for event in seen} == {1, 23}  # 0 and 1, 2 and 3


# -- nodes that come and go ----------------------------------------------------------------------


def hold(folder):
    """A training function that waits before the third trial until a file is there."""

    def train(config, run):
        deadline = time.monotonic() + 120
        while run.trial > 2 and not (folder / "told").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        for epoch in run.resources():
            time.sleep(0.1)
            with run.checkpoint(epoch) as place:
                (place / "epoch").write_text(str(epoch))
            run.report(epoch, loss=config["x"] / epoch, odd=float("ODD_NODE" in os.environ))

    return train


@pytest.mark.usefixtures("spare")
def test_workers_without_a_place_are_reported_and_the_others_train(tmp_path):
    notes = Notes(lambda snapshot: any(map(is_late, notes.notices)) and told.touch())
    told = tmp_path / "told"

    def is_late(text):
        return "not ready after" in text and "it waits for 1 CPU and 1 late (" in text

    backend = rw.Ray(3, resources={"late": 1}, start_timeout=0.2)
    tune(hold(tmp_path), tmp_path / "s.db", backend=backend, show=notes, max_resource=1)
    assert told.exists(), notes.notices
    assert max(len(views) for views in notes.views) == 3
    assert max(sum(view.ready for view in views) for views in notes.views) == 1


def test_a_node_that_dies_costs_no_retry_and_a_new_one_is_used(tmp_path, cluster):
    """With "auto": as many workers as the nodes can hold, whatever they are at that time."""

    def kill(snapshot):
        cluster.remove_node(first.result(), allow_graceful=False)
        add(resources={"spot": 3})

    def tell(snapshot):
        # Ray may count the places of the dead node for a moment more, on a busy machine.
        if len(snapshot.workers) == 3 and len(busy(snapshot)) == 3:
            told.touch()

    told = tmp_path / "told"
    kill_once = once(lambda snapshot: len(busy(snapshot)) == 2, kill)
    notes = Notes(lambda snapshot: (kill_once(snapshot), tell(snapshot)))
    with extra_nodes(cluster) as add:
        first = add(resources={"spot": 2})
        first.result()
        more = {"backend": rw.Ray("auto", resources={"spot": 1}), "show": notes, "trials": 8}
        result = tune(hold(tmp_path), tmp_path / "s.db", **more)
    assert result.ended
    assert result.failures == ()
    assert {trial.resource for trial in result.engine.trials} <= {1, 3, 9}
    assert any("costs no retry" in text for text in notes.notices)
    assert told.exists()


ODD = {
    "disk": r"does not see the checkpoints that the tuner writes.* that all nodes share",
    "version": r"has rungwise 9\.9 on Python",
}


@pytest.mark.usefixtures("spare")
def test_nodes_that_join_later_are_checked_before_anything_is_trained_there(tmp_path, cluster):
    """Those that fail are named; the others go on."""

    def join(snapshot):
        for oddity in ODD:
            add(add_odd_node, tmp_path / oddity, oddity, resources={"late": 1})

    told = tmp_path / "told"
    notes = Notes(once(lambda snapshot: snapshot.view.reports > 1, join))
    seen, found, keep = [], set(), notes.notice

    def notice(text):
        keep(text)
        found.update(oddity for oddity, rule in ODD.items() if re.search(rule, text))
        if len(found) == len(ODD):
            told.touch()

    notes.notice = notice
    with extra_nodes(cluster) as add:
        more = {"trials": 5, "max_resource": 1, "on_report": seen.append, "show": notes}
        backend = rw.Ray(3, resources={"late": 1})
        tune(hold(tmp_path), tmp_path / "s.db", backend=backend, **more)
    assert told.exists(), notes.notices
    assert [event.metrics["odd"] for event in seen] == [0] * 5


def test_a_job_on_a_node_that_is_drained_leaves_at_its_next_report(tmp_path, monkeypatch):
    began, asked = tmp_path / "began", tmp_path / "asked"

    def draining(cluster):
        """All nodes, once and while a job is under way: Ray itself would place nothing there."""
        if not began.exists() or asked.exists():
            return frozenset()
        asked.touch()
        return frozenset(node["NodeID"] for node in ray.nodes())

    def train(config, run):
        for epoch in run.resources():
            if epoch == 2:
                began.touch()
                deadline = time.monotonic() + 60
                while not asked.exists() and time.monotonic() < deadline:
                    time.sleep(0.05)
            with run.checkpoint(epoch) as folder:
                (folder / "epoch").write_text(str(epoch))
            run.report(epoch, loss=config["x"] / epoch)

    monkeypatch.setattr(ray_cluster.Cluster, "draining", draining)
    notes = Notes()
    more = {"scheduler": rw.FixedResource(4), "max_resource": None, "trials": 2}
    result = tune(train, tmp_path / "s.db", backend=on_slots(1), show=notes, **more)
    assert result.ended
    assert result.failures == ()
    assert any("is being drained" in text for text in notes.notices)
    with StudyFile(tmp_path / "s.db", mode="read") as file:
        events = [event for event, _ in file.read_from()]
    assert [type(event) for event in events].count(JobLost) == 1
    reports = [e.resource for e in events if isinstance(e, Reported)]
    assert sorted(reports) == [1, 1, 2, 2, 3, 3, 4, 4]  # nothing was trained twice


def test_the_autoscaler_is_asked_and_released(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(ray_cluster.Cluster, "request", lambda self, bundles: asked.append(bundles))
    monkeypatch.setattr(demand, "RELEASE_TIME", 0.2)
    told = tmp_path / "told"
    notes = Notes(lambda snapshot: len(snapshot.workers) == 2 and told.touch())

    def wait(config, run):
        deadline = time.monotonic() + 60
        while not told.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        run.report(1, loss=1)

    more = {"trials": 1, "max_resource": 1, "show": notes}
    assert tune(wait, tmp_path / "s.db", backend=on_slots(4, autoscale=True), **more).ended
    room = [{"CPU": 1, "slot": 1}]
    assert asked == [room * 4, room * 2, []]  # of those without a job one is kept
    assert max(map(len, notes.views)) == 4
    tune(train, tmp_path / "t.db", backend=on_slots(2), trials=1)
    assert len(asked) == 3


# -- studies, as anywhere ------------------------------------------------------------------------


@pytest.mark.parametrize("scheduler", [rw.PASHA(max_resource=9), rw.Hyperband(max_resource=9)])
def test_decisions_are_those_of_a_simulation(tmp_path, scheduler):
    shared.test_every_scheduler_does_what_it_does_in_a_simulation(tmp_path, scheduler)


test_the_same_call_again = shared.test_the_same_call_again_gives_the_same_result_without_training
test_a_failed_trial_is_tried_again = shared.test_a_failed_trial_is_tried_again_from_its_checkpoint
test_retries_count_anew = shared.test_retries_count_anew_whenever_a_trial_has_got_further
test_repeats_count_once = shared.test_no_checkpoints_are_legal_and_repeats_count_once
test_a_quota_evicts = shared.test_a_quota_evicts_the_least_promising_and_nothing_else_changes
test_only_leaders_keep_checkpoints = shared.test_only_the_leaders_keep_their_checkpoints


@pytest.mark.integrations  # what is different there is tested above
def test_the_example_runs(tmp_path, cluster):
    example = Path(__file__).parents[2] / "examples" / "cluster" / "tune.py"
    command = [sys.executable, str(example), "--address", cluster.address, "--trials", "3"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=tmp_path, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert "BestTrial" in done.stdout


def test_a_study_says_where_it_trains_and_may_go_on_elsewhere(tmp_path):
    notes = Notes()
    stop = once(lambda snapshot: snapshot.view.reports > 3, lambda snapshot: 1 / 0)
    study = tmp_path / "s.db"
    with pytest.raises(ZeroDivisionError):
        tune(train, study, backend=on_slots(2), show=Notes(lambda s: (notes.update(s), stop(s))))
    assert rw.load(study)._options.backend == on_slots(2)
    wheres = {view.where for views in notes.views for view in views if view.ready}
    assert wheres
    assert all(re.fullmatch(r".+, process \d+", where) for where in wheres)
    result = rw.resume(study, train, backend="threads:1", show="quiet")
    assert result.ended
    assert rw.load(study).retrain(train, backend=on_slots(2), fresh=True).resource == 9


SCRIPT = """
import sys, ray, time, rungwise as rw
def train(config, run):
    print("words of a trial")
    for epoch in run.resources():
        time.sleep(0.05)
        with run.checkpoint(epoch) as folder:
            (folder / "m").write_text(str(epoch))
        run.report(epoch, loss=config["x"] / epoch)
rw.tune(train, {"x": rw.Float(0, 1)}, metric="loss", goal="min", max_resource=9, trials=8,
    study=sys.argv[1], backend=rw.Ray(2, resources={"slot": 1}, address=sys.argv[2]), show="lines")
"""


def test_a_tuner_may_be_stopped_and_resumed(tmp_path, cluster):
    study = tmp_path / "s.db"
    script = tmp_path / "tune.py"
    script.write_text(SCRIPT)
    command = [sys.executable, str(script), str(study), cluster.address]
    with started(command, stderr=subprocess.PIPE, start_new_session=True) as tuner:
        deadline = time.monotonic() + 120
        while not (study.exists() and len(entries_of(study)) > 12):
            assert time.monotonic() < deadline
            assert tuner.poll() is None, tuner.stderr.read()
            time.sleep(0.1)
        os.kill(tuner.pid, signal.SIGINT)
        said = tuner.stderr.read().decode()
        code = tuner.wait(60)
    assert "are kept in" in said
    assert code == 130
    before = entries_of(study)
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    result = rw.load(study)
    assert result.ended
    assert result.failures == ()
    assert entries_of(study)[: len(before)] == before
    words = (tmp_path / "s.db.files" / "trial-00000" / "output.log").read_text()
    assert words.startswith("words of a trial\n")


def entries_of(study):
    try:
        with StudyFile(study, mode="read") as file:
            return list(file.read_from()) if file.begun else []
    except (rw.LogUnavailableError, rw.CorruptLogError):  # it is just being created
        return []


def test_a_short_campaign_of_kills(tmp_path, cluster):
    """The long one is a script, see its docstring."""
    campaign = Campaign(cluster, tmp_path, trials=80)
    campaign.add_node()
    try:
        found = campaign.run(2, kinds=("freeze_node", "kill_tuner"))
    finally:
        for node in campaign.nodes:
            cluster.remove_node(node, allow_graceful=False)
    assert found["ended"]
    assert found["blows"] == 2
    assert {name: found[name] for name in NONE} == dict.fromkeys(NONE, 0)


def train_on_two_nodes(config, run):
    """Another node of the same worker does half of the work."""
    ray.init(
        address=os.environ["RUNGWISE_RAY_ADDRESS"],
        namespace=os.environ["RUNGWISE_RAY_NAMESPACE"],
        log_to_driver=False,
        logging_level="ERROR",
    )
    group = ray.util.get_placement_group(os.environ["RUNGWISE_PLACEMENT_GROUP"])
    other = ray.remote(lambda: ray.get_runtime_context().get_node_id()).options(
        num_cpus=1,
        scheduling_strategy=ray.util.scheduling_strategies.PlacementGroupSchedulingStrategy(
            group, placement_group_bundle_index=1
        ),
    )
    bundles = ray.util.placement_group_table(group)["bundles_to_node_id"]
    assert ray.get(other.remote()) == bundles[1] != bundles[0]
    run.report(1, loss=config["x"])


@pytest.mark.usefixtures("spare")
def test_a_worker_may_take_several_nodes(tmp_path):
    backend = rw.Ray(1, resources={"pair": 1}, nodes_per_worker=2)
    more = {"scheduler": rw.FixedResource(1), "max_resource": None, "trials": 1}
    assert tune(train_on_two_nodes, tmp_path / "s.db", backend=backend, **more).ended
    with pytest.raises(InvalidArgumentError, match="only 2 of the"):
        tune(train, backend=replace(backend, nodes_per_worker=3))
