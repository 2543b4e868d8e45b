"""Training functions that do real small work, and some that misbehave.

They are imported by worker processes. What they do they tell in a side file, one line a fact,
which the test compares with the log afterwards. ``FAULTS`` in the environment is the folder for
that, ``PACE`` the seconds an epoch takes.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import hashlib
import json
import math
import os
import resource as limits
import signal
import subprocess
import sys
import time
from pathlib import Path

from rungwise.scripts import Script

FOLDER = Path(os.environ.get("FAULTS", "."))
PACE = float(os.environ.get("PACE", "0"))
METRIC = "score"


def note(kind, **facts):
    """Append a fact to the side file: one write, so that it is there whole or not at all."""
    line = json.dumps({"kind": kind, "pid": os.getpid(), **facts}).encode() + b"\n"
    place = os.open(FOLDER / "side", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(place, line)
    finally:
        os.close(place)


@contextlib.contextmanager
def alone(run):
    """Hold the trial's own lock; that somebody else holds it is what must never happen."""
    with (FOLDER / f"trial-{run.trial}.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            note("violation", trial=run.trial, job=run._assignment.job)
        yield


def score(config, epoch, digest):
    """A learning curve with noise, so that configurations overtake each other."""
    noise = int.from_bytes(digest[:4], "big") / 2**32 - 0.5
    return config["a"] * (1 - math.exp(-epoch / (3 + 20 * config["b"]))) + 0.06 * noise


class Model:
    """All it has learnt is a chain of digests: a link left out or trained twice shows."""

    def __init__(self, config, run):
        self.config, self.epoch = config, 0
        self.digest = repr(sorted(config.items())).encode()
        if run.latest:
            kept = json.loads((run.latest / "state.json").read_text())
            self.epoch, self.digest = kept["epoch"], bytes.fromhex(kept["digest"])

    def fit(self):
        for _ in range(200):
            self.digest = hashlib.sha256(self.digest).digest()
        self.epoch += 1
        time.sleep(PACE)

    def save(self, folder, ballast=0):
        document = {"epoch": self.epoch, "digest": self.digest.hex()}
        (folder / "state.json").write_text(json.dumps(document))
        if ballast:
            (folder / "ballast").write_bytes(b"x" * ballast)

    def evaluate(self):
        return score(self.config, self.epoch, self.digest)


def epochs(config, run, *, ballast=0):
    """Train as everybody does; a generator, so that others can misbehave in between."""
    with alone(run):
        note("leg", trial=run.trial, job=run._assignment.job, start=run.start)
        model = Model(config, run)
        assert model.epoch == run.start, (model.epoch, run.start)
        for epoch in run.resources():
            note("epoch", trial=run.trial, job=run._assignment.job, resource=epoch)
            model.fit()
            with run.checkpoint(epoch) as folder:
                model.save(folder, ballast)
            value = model.evaluate()
            run.report(epoch, score=value)
            note("ack", trial=run.trial, job=run._assignment.job, resource=epoch, value=value)
            yield epoch
        note("end", trial=run.trial, job=run._assignment.job)


def steady(config, run):
    for _ in epochs(config, run):
        pass


def heavy(config, run):
    """Checkpoints of 400 kB each."""
    for _ in epochs(config, run, ballast=400_000):
        pass


def gated(config, run):
    """Goes on after an epoch when the gate is open, not before."""
    for _ in epochs(config, run):
        while not (FOLDER / "gate").exists():
            time.sleep(0.01)


def sleeper(config, run):
    """The first epochs are short, then one takes for ever."""
    for epoch in epochs(config, run):
        if epoch == 2:
            note("asleep", trial=run.trial)
            time.sleep(600)


def surrounded(config, run):
    """Fails as long as what it needs is gone: a disk that was remounted, a module, a GPU."""
    for _ in epochs(config, run):
        if (FOLDER / "gone").exists():
            exec((FOLDER / "gone").read_text(), {})  # noqa: S102 - the test's own words


scripted = Script((sys.executable, str(Path(__file__).with_name("scripted.py"))), flags=False)
"""A program of its own; it tells its facts itself."""


# -- ways to fail ---------------------------------------------------------------------------------


def _raises():
    raise RuntimeError("the learning rate is too high\nand more in a second line")


def _segfaults():
    ctypes.string_at(0)


def _eats_memory():
    # Room for what the interpreter itself needs, none for what is asked for.
    used = int(Path("/proc/self/statm").read_text().split()[0]) * limits.getpagesize()
    limits.setrlimit(limits.RLIMIT_AS, (used + 2**26, limits.RLIM_INFINITY))
    bytearray(2**31)


def _hangs():
    time.sleep(600)


def _hangs_and_ignores_sigterm():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(600)


FAILURES = {
    "raises": _raises,
    "sys.exit": lambda: sys.exit(3),
    "os._exit": lambda: os._exit(7),
    "segfault": _segfaults,
    "memory": _eats_memory,
    "oom-killer": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "hangs": _hangs,
    "ignores-sigterm": _hangs_and_ignores_sigterm,
}


MISDEEDS = (*FAILURES, "nan", "no-report")


def stillborn(config, run):
    """Trials with even numbers fail before their first report, each in the way MISDEEDS names."""
    if run.trial % 2 == 0:
        note("leg", trial=run.trial, job=run._assignment.job, start=run.start)
        print(f"trial {run.trial} is about to fail", flush=True)  # noqa: T201
        how = os.environ["MISDEEDS"].split(",")[run.trial // 2]
        if how == "nan":
            run.report(1, score=math.nan)
        elif how != "no-report":
            FAILURES[how]()
        return
    steady(config, run)


def crawling(config, run):
    """Every process survives one epoch, whatever was said of it."""
    for epoch in epochs(config, run):
        if epoch > run.start:
            os.kill(os.getpid(), signal.SIGKILL)


# -- bad manners -------------------------------------------------------------------------------


def chatty(config, run):
    """The first trial writes 100 MB to its standard output."""
    if run.trial == 0 and run.start == 0:
        line = b"x" * 1023 + b"\n"
        for _ in range(100 * 1024):
            os.write(1, line)
        note("said-it-all")
    steady(config, run)


def _child(seconds=600):
    pid = os.fork()
    if pid == 0:
        time.sleep(seconds)
        os._exit(0)
    note("child", child=pid)
    return pid


def forking(config, run):
    """Every leg leaves a child behind, which holds all that its parent had open."""
    _child()
    steady(config, run)


def forking_and_sleeping(config, run):
    """Leaves a child behind, and then takes for ever over an epoch."""
    _child()
    sleeper(config, run)


def forking_and_dying(config, run):
    """The first leg of the first trial leaves a child that holds its socket, and is killed."""
    if run.trial == 0 and not (FOLDER / "died").exists():
        (FOLDER / "died").touch()
        _child()
        os.kill(os.getpid(), signal.SIGKILL)
    steady(config, run)


def daemons(config, run):
    """Leaves a child behind in a session of its own."""
    if run.trial == 0 and run.start == 0:
        started = subprocess.Popen(
            [sys.executable, "-S", "-c", "import time; time.sleep(600)"],
            start_new_session=True,
            env={"DAEMON": str(FOLDER)},
        )
        note("child", child=started.pid)
        started.returncode = 0  # nobody waits for it
    steady(config, run)


def sets_sid(config, run):
    """A worker leads its session already: it may not found another."""
    if run.trial == 0:
        os.setsid()
    steady(config, run)


def deaf(config, run):
    """Ignores SIGTERM, and the first trial sleeps for ever."""
    note("handler", trial=run.trial, deaf=signal.getsignal(signal.SIGTERM) is signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if run.trial == 0:
        note("asleep", trial=run.trial)
        (FOLDER / "asleep").touch()
        while True:
            time.sleep(600)
    while not (FOLDER / "asleep").exists():
        time.sleep(0.01)
    steady(config, run)


def mute(config, run):
    """Closes its standard output and error: as streams or as descriptors."""
    if run.trial == 0:
        print("unflushed", end="")  # noqa: T201
        sys.stdout.close()
    elif run.trial == 1:
        os.close(1)
        os.close(2)
    elif run.trial == 2:
        sys.stdout = sys.stderr = None
    steady(config, run)
    if run.trial == 1:
        time.sleep(1)


def wanderer(config, run):
    """Ends in another folder than it began in."""
    note("cwd", trial=run.trial, cwd=os.getcwd())  # noqa: PTH109
    place = FOLDER / f"place-{run.trial}-{run._assignment.job}"
    place.mkdir()
    os.chdir(place)
    steady(config, run)
    if run.trial % 2:
        place.rmdir()


def timekeeper(config, run):
    """Its clock goes back an hour with every look."""
    hours = iter(range(10**6))
    time.time = lambda: 2e9 - 3600 * next(hours)
    steady(config, run)
