"""Kills everything that can be killed under a study on Ray, and checks that nothing is lost.

A cluster of a head and three nodes is emulated on this machine; a study with checkpoints runs on
it in a process of its own. Meanwhile, at random moments: SIGKILL of workers, of the actors that
hold them, of nodes; nodes that are drained and then killed; nodes that freeze (their raylet and
their actors are stopped, their workers go on) and come back; SIGKILL of the tuner, which is started
again. Then the study runs to its end, and these must hold:

- every report that a worker was answered is in the log, with its value;
- the log has no report twice, and every value is what training from the beginning gives: no
  checkpoint was lost, damaged or mixed up;
- a loss that is not the trial's own has cost it nothing: no trial has failed;
- all trials are accounted for, the log replays to the same decisions, and no worker is left.

    python tests/faults/ray_campaign.py --kills 60
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from ray_clusters import add_node, running_cluster

import rungwise as rw
from rungwise.core.events import JobFailed, JobLost, Reported
from rungwise.core.replay import replay
from rungwise.storage.study_file import StudyFile

SLOTS = 2
PATIENCE = 180
"""Seconds for anything to happen."""

TUNER = """
import os, sys, time
import rungwise as rw

def train(config, run):
    total = 0.0
    if run.latest:
        total = float((run.latest / "total").read_text())
    audit = os.path.join(sys_argv[3], f"{run.trial}")
    hurry = os.path.join(os.path.dirname(sys_argv[3]), "hurry")
    for epoch in run.resources():
        if not os.path.exists(hurry):
            time.sleep(0.1)
        total += config["x"] / epoch
        with run.checkpoint(epoch) as folder:
            (folder / "total").write_text(repr(total))
        run.report(epoch, loss=total)
        with open(audit, "a") as file:
            file.write(f"{epoch} {total!r}\\n")

sys_argv = sys.argv
backend = rw.Ray(workers=6, resources={"spot": 1}, address=sys.argv[2])
result = rw.tune(
    train, {"x": rw.Float(0, 1)}, metric="loss", goal="min", scheduler=rw.ASHA(max_resource=27),
    trials=int(sys.argv[4]), study=sys.argv[1], backend=backend, retries=50, show="lines",
)
"""


def children(pid):
    """All processes below a process, with their command lines."""
    parents = {}
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError):
            fields = (place / "stat").read_text().rpartition(")")[2].split()
            if fields[0] != "Z":
                parents[int(place.name)] = int(fields[1])
    found, wanted = [], {pid}
    while wanted:
        below = {child for child, parent in parents.items() if parent in wanted}
        found += below
        wanted = below
    lines = {}
    for child in found:
        with suppress(OSError):
            lines[child] = Path(f"/proc/{child}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    return lines


def raylet_of(node):
    return node.all_processes["raylet"][0].process.pid


class Campaign:
    """A study under fire.

    Args:
        cluster: an emulated cluster.
        folder: for the study and what it is checked against.
        seed: of the moments and the victims.
        trials: of the study.
        on_blow: called after every blow, with a few words.
    """

    def __init__(self, cluster, folder, *, seed=0, trials=120, on_blow=lambda text: None):
        self.on_blow = on_blow
        self.cluster, self.folder, self.trials = cluster, Path(folder), trials
        self.random = random.Random(seed)  # noqa: S311
        self.nodes = []
        self.counts = Counter()
        self.log = (self.folder / "tuner.log").open("ab")
        (self.folder / "audit").mkdir(exist_ok=True)
        (self.folder / "tune.py").write_text(TUNER)
        self.study = self.folder / "study.db"
        self.tuner = None

    # -- the study -----------------------------------------------------------------------------

    def start(self):
        command = [sys.executable, str(self.folder / "tune.py"), str(self.study)]
        command += [self.cluster.address, str(self.folder / "audit"), str(self.trials)]
        self.tuner = subprocess.Popen(command, stdout=self.log, stderr=self.log)

    def acknowledged(self):
        """All reports that workers were answered: {(trial, resource): value}."""
        found = {}
        for file in (self.folder / "audit").iterdir():
            for line in file.read_text().splitlines():
                with suppress(ValueError):  # the last line of one that was killed
                    epoch, total = line.split()
                    found[int(file.name), int(epoch)] = float(total)
        return found

    def wait_for_progress(self):
        """Wait until something was reported."""
        before, deadline = len(self.acknowledged()), time.monotonic() + PATIENCE
        while len(self.acknowledged()) <= before and self.tuner.poll() is None:
            assert time.monotonic() < deadline, f"no progress, see {self.folder}/tuner.log"
            time.sleep(0.05)
        return self.tuner.poll() is None

    # -- what happens to it --------------------------------------------------------------------

    def kill_worker(self):
        return self._kill("rungwise.backends.worker")

    def kill_actor(self):
        return self._kill("ray::Slot")

    def _kill(self, text):
        found = [
            pid
            for node in self.nodes
            for pid, line in children(raylet_of(node)).items()
            if text in line
        ]
        if not found:
            return False
        with suppress(ProcessLookupError):
            os.kill(self.random.choice(found), signal.SIGKILL)
        return True

    def kill_raylet(self):
        node = self.random.choice(self.nodes)
        os.kill(raylet_of(node), signal.SIGKILL)
        self._replace(node)
        return True

    def kill_node(self):
        self._replace(self.random.choice(self.nodes))
        return True

    def drain_node(self):
        """Announced, as a spot node is taken away, and killed some seconds later."""
        from ray._raylet import GcsClient  # noqa: PLC0415
        from ray.core.generated import autoscaler_pb2 as words  # noqa: PLC0415

        node = self.random.choice(self.nodes)
        deadline = int(time.time() * 1000) + 4000
        reason = words.DrainNodeReason.DRAIN_NODE_REASON_PREEMPTION
        client = GcsClient(address=self.cluster.address)
        client.drain_node(node.node_id, reason, "campaign", deadline, timeout=30)
        time.sleep(4)
        self._replace(node)
        return True

    def freeze_node(self):
        """Its raylet and actors stop until Ray says that it is dead; its workers go on."""
        node = self.random.choice(self.nodes)
        below = children(raylet_of(node))
        stopped = [raylet_of(node), *(pid for pid, line in below.items() if "ray::" in line)]
        for pid in stopped:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
        deadline = time.monotonic() + PATIENCE
        while self._is_alive(node):
            assert time.monotonic() < deadline, "Ray does not notice that a node is frozen"
            time.sleep(0.1)
        time.sleep(1)  # so long it is dead, and not there again
        for pid in stopped:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        time.sleep(0.5)
        self._replace(node)
        return True

    def _is_alive(self, node):
        table = self.cluster.global_state.node_table()
        return any(each["NodeID"] == node.node_id and each["Alive"] for each in table)

    def kill_tuner(self):
        self.tuner.kill()
        self.tuner.wait()
        self.start()
        return True

    def _replace(self, node):
        self.nodes.remove(node)
        self.cluster.remove_node(node, allow_graceful=False)
        self.add_node()

    def add_node(self):
        self.nodes.append(add_node(self.cluster, num_cpus=SLOTS, resources={"spot": SLOTS}))

    KINDS = (
        "kill_worker",
        "kill_actor",
        "kill_raylet",
        "kill_node",
        "drain_node",
        "freeze_node",
        "kill_tuner",
    )
    WEIGHTS = (6, 4, 2, 3, 2, 2, 2)

    def run(self, kills, kinds=KINDS):
        """So many blows, each after some progress; then to the end. What was found, by name."""
        weights = [self.WEIGHTS[self.KINDS.index(kind)] for kind in kinds]
        plan = [*kinds, *self.random.choices(kinds, weights, k=max(0, kills - len(kinds)))][:kills]
        self.random.shuffle(plan)
        self.start()
        try:
            for kind in plan:
                if not self.wait_for_progress():
                    break
                time.sleep(self.random.uniform(0, 1))
                self.counts[kind] += bool(getattr(self, kind)())
                self.on_blow(f"{kind}, {len(self.acknowledged())} reports until now\n")
            (self.folder / "hurry").touch()
            code = self.tuner.wait(timeout=10 * PATIENCE)
        finally:
            if self.tuner.poll() is None:
                self.tuner.kill()
                self.tuner.wait()
        assert code == 0, f"the tuner ended with {code}, see {self.folder}/tuner.log"
        return self.check()

    # -- what must hold ------------------------------------------------------------------------

    def check(self):
        with StudyFile(self.study, mode="read") as file:
            entries = list(file.read_from())
            study = file.log.study
        result = rw.load(self.study)
        events = [event for event, _ in entries]
        trial_of = {}
        for _, decision in entries:
            job = getattr(decision, "job", None)
            if job is not None:
                trial_of[job.id] = job.trial
        reports = [(trial_of[e.job], e.resource, e.value) for e in events if type(e) is Reported]
        logged = {(trial, resource): value for trial, resource, value in reports}
        acknowledged = self.acknowledged()
        configs = {number: trial.config for number, trial in enumerate(result.engine.trials)}

        def expected(trial, resource):
            total = 0.0
            for epoch in range(1, int(resource) + 1):
                total += configs[trial]["x"] / epoch
            return total

        replayed = replay(study, entries)
        wrong = [k for k, v in acknowledged.items() if logged.get(k) != v]
        left = self._leftovers()
        return {
            "blows": sum(self.counts.values()),
            "reports": len(reports),
            "acknowledged": len(acknowledged),
            "acknowledged and not in the log": len(wrong),
            "in the log twice": len(reports) - len(logged),
            "with a wrong value": sum(v != expected(*k) for k, v in logged.items()),
            "jobs lost and issued again": sum(type(e) is JobLost for e in events),
            "trials failed": sum(type(e) is JobFailed for e in events),
            "failures counted": len(result.failures),
            "trials": len(result.engine.trials),
            "trials not accounted for": len(replayed.open_jobs)
            + self.trials
            - len(replayed.trials),
            "ended": bool(result.ended),
            "processes left": left,
        }

    def _leftovers(self):
        """Workers that are still there some seconds after the end."""
        deadline = time.monotonic() + 30
        while True:
            found = [
                line
                for line in children(1).values()
                if "rungwise.backends.worker" in line and "tcp:" in line
            ]
            if not found or time.monotonic() > deadline:
                return len(found)
            time.sleep(0.2)


NONE = (
    "acknowledged and not in the log",
    "in the log twice",
    "with a wrong value",
    "trials failed",
    "trials not accounted for",
    "processes left",
)
"""What there must be none of."""


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--trials", type=int, default=6000)
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="campaign-")
    begun = time.monotonic()
    with running_cluster() as cluster:
        campaign = Campaign(
            cluster, folder, seed=options.seed, trials=options.trials, on_blow=sys.stderr.write
        )
        for _ in range(3):
            campaign.add_node()
        found = campaign.run(options.kills)
    found["seconds"] = round(time.monotonic() - begun)
    sys.stdout.write(json.dumps({"by kind": campaign.counts, **found}, indent=1) + "\n")
    bad = {name: found[name] for name in NONE if found[name]}
    if bad or not found["ended"]:
        sys.exit(f"this must not happen: {bad or 'the study has not ended'}")


if __name__ == "__main__":
    main()
