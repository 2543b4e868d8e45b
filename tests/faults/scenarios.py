"""Tuners to be killed, and what is to be seen of them from outside."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

import rungwise as rw
from rungwise.core.events import Reported
from rungwise.core.replay import replay
from rungwise.storage import SqliteLog

PATIENCE = 60.0
"""Seconds until something that must happen counts as not happening, on the busiest machine."""

MOMENT = 10.0
"""Seconds in which what a dead tuner has left behind must be gone; it takes milliseconds."""


def eventually(condition, *, within=PATIENCE, pause=0.002):
    """Wait for a condition and give its value; fail when it does not come."""
    deadline = time.monotonic() + within
    while not (value := condition()):
        assert time.monotonic() < deadline, f"not within {within} s: {condition}"
        time.sleep(pause)
    return value


class Launcher:
    """Starts tuners at once, without the price of an import each."""

    def __init__(self):
        script = Path(__file__).with_name("tuner.py")
        environ = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        environ["PYTHONPATH"] = os.pathsep.join(p for p in sys.path if p)
        self._process = subprocess.Popen(
            [sys.executable, str(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environ,
            start_new_session=True,
        )

    def ask(self, request):
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self):
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


class Tuner:
    """One process that tunes."""

    def __init__(self, launcher, request):
        self._launcher = launcher
        self._folder = Path(request["folder"])
        self.code = None
        self.pid = launcher.ask({"start": request})

    def poll(self):
        if self.code is None:
            self.code = self._launcher.ask({"poll": self.pid})
        return self.code

    def signal(self, number):
        os.kill(self.pid, number)

    def kill(self):
        """SIGKILL; whether it was still running then."""
        if self.poll() is not None:
            return False
        self.signal(signal.SIGKILL)
        return self.wait() == -signal.SIGKILL

    def wait(self, *, within=PATIENCE):
        eventually(lambda: self.poll() is not None, within=within)
        return self.code

    def outcome(self, *, within=PATIENCE):
        """What came of it."""
        code = self.wait(within=within)
        assert code == 0, (code, (self._folder / "tuner.out").read_text())
        return json.loads((self._folder / f"outcome-{self.pid}").read_text())


class Scene:
    """A folder with a study in it.

    Args:
        launcher: starts tuners.
        folder: where everything is.
        study: where the study file is, if somewhere else.
    """

    def __init__(self, launcher, folder, *, study=None):
        self._launcher = launcher
        self.folder = folder
        self.study = folder / "study.db" if study is None else study
        self._tuners = []

    def start(self, train, *, call="tune", pace=0.0, mischief=None, environ=None, **options):
        """Start a tuner."""
        defaults = {"max_resource": 27, "trials": 12, "workers": 1}
        request = {
            "folder": str(self.folder),
            "study": str(self.study),
            "train": train,
            "call": call,
            "mischief": mischief or {},
            "environ": {"PACE": str(pace), **(environ or {})},
            "options": options if call == "resume" else {**defaults, **options},
        }
        tuner = Tuner(self._launcher, request)
        self._tuners.append(tuner)
        return tuner

    def finish(self, train, *, call="tune", within=PATIENCE, **options):
        """Run a tuner to the end of the study."""
        outcome = self.start(train, call=call, **options).outcome(within=within)
        assert outcome.get("ended"), outcome.get("trace")
        return outcome

    def close(self):
        for tuner in self._tuners:
            tuner.kill()
        for pid in self.processes():
            os.kill(pid, signal.SIGKILL)

    # -- what the trials say -----------------------------------------------------------------------

    def side(self, *kinds):
        """The facts that trials told, in order."""
        try:
            lines = (self.folder / "side").read_text().splitlines()
        except FileNotFoundError:
            return []
        facts = []
        for line in lines:
            with suppress(ValueError):  # the last one is being written
                facts.append(json.loads(line))
        return [fact for fact in facts if not kinds or fact["kind"] in kinds]

    def size(self):
        """Grows whenever a trial tells a fact."""
        try:
            return (self.folder / "side").stat().st_size
        except FileNotFoundError:
            return 0

    def notices(self):
        try:
            return (self.folder / "notices").read_text()
        except FileNotFoundError:
            return ""

    # -- processes ---------------------------------------------------------------------------------

    def processes(self):
        """Workers, watchdogs and what they started: they carry the folder in their environment.

        Zombies do not count: that nobody buries them says something about the machine only.
        """
        mark = b"FAULTS=" + os.fsencode(self.folder) + b"\0"
        found = []
        for place in Path("/proc").iterdir():
            if place.name.isdecimal():
                try:
                    carries = mark in (place / "environ").read_bytes() + b"\0"
                except OSError:
                    continue
                if carries:
                    found.append(int(place.name))
        return found

    def watchdogs(self):
        """Those that clean up after tuners."""
        return [pid for pid in self.processes() if "watchdog.py" in _command(pid)]

    def assert_left_alone(self, *, within=MOMENT):
        """Nothing that a tuner has started lives on."""
        eventually(lambda: not self.processes(), within=within)

    # -- what the log says -------------------------------------------------------------------------

    def entries(self):
        with SqliteLog(self.study, mode="read") as log:
            return list(log.read_from())

    def engine(self):
        """The study, every decision checked."""
        return rw.load(self.study).engine

    def assert_sound(self):
        """What must hold of a study whatever happened to it."""
        with SqliteLog(self.study, mode="read") as log:
            study, entries = log.study, list(log.read_from())
        engine = replay(study, entries)
        logged = defaultdict(dict)
        for event, _ in entries:
            if isinstance(event, Reported):
                logged[engine.jobs[event.job].trial].setdefault(event.resource, event.value)
        for fact in self.side("ack"):
            kept = logged[fact["trial"]].get(fact["resource"])
            assert kept == fact["value"], f"acknowledged and not in the log: {fact}"
        for fact in self.side("leg"):
            assert fact["start"] <= engine.jobs[fact["job"]].start, f"starts too far: {fact}"
        assert not self.side("violation")
        times = [event.at for event, _ in entries]
        assert times == sorted(times)
        assert len({fact["job"] for fact in self.side("leg")}) <= len(engine.jobs)
        return engine


def _command(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def course(entries):
    """[(trial, resource, value, decision), …] of the reports that brought something new."""
    trials, reached, told = {}, defaultdict(float), []
    for event, decision in entries:
        if type(decision).__name__ == "StartJob":
            trials[decision.job.id] = decision.job.trial
        elif isinstance(event, Reported):
            trial = trials[event.job]
            if event.resource > reached[trial]:
                reached[trial] = event.resource
                told.append((trial, event.resource, event.value, type(decision).__name__))
    return told


def ending(engine):
    """How a study stands, whatever way it took."""
    return {
        "why": engine.why(),
        "best": (engine.best and engine.best.id, engine.best_loss, engine.best_resource),
        "ceilings": list(engine.scheduler.ceilings),
        "states": [trial.state for trial in engine.trials],
        "configs": [dict(trial.config) for trial in engine.trials],
    }
