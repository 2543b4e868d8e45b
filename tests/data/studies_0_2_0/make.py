"""Makes the study files of this folder, as version 0.2.0 wrote them.

    python make.py FOLDER

Run it with that version only: what is tested is that later versions read, replay and resume what
it wrote. ``expected.json`` is what version 0.2.0 itself makes of them: as they are, and, of those
that are unfinished, resumed. ``state`` holds the key that they were signed with.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from describing import describe
from training_0_2_0 import measure, train, train_badly, train_slowly, train_worse

import rungwise as rw
from rungwise.tuning import requests

SPACE = {
    "x": rw.Float(0, 1),
    "rate": rw.Float(0.01, 1, log=True),
    "kind": ["a", "b"],
    "layers": rw.Int(1, 4),
}
COMMON = {"metric": "loss", "goal": "min", "show": "quiet", "backend": rw.Threads(1)}
UNFINISHED = ("killed", "adaptive", "asked", "requested")


def stop_after(reports):
    """A callback that interrupts a study."""
    seen = []

    def count(*event):
        seen.append(event)
        if len(seen) == reports:
            raise KeyboardInterrupt

    return count


def make_ended(path):
    rw.tune(train_badly, SPACE, study=path, trials=24, seed=1, retries=1, **COMMON)
    requests.label(path, tags=["first", "of two"], note="made by 0.2.0: ☃")


def make_killed(path):
    environment = {**os.environ, "RUNGWISE_TEST_PAUSE": "0.02"}
    child = subprocess.Popen([sys.executable, __file__, "child", path], env=environment)
    while True:
        time.sleep(0.02)
        with suppress(rw.RungwiseError):
            if rw.load(path).reports >= 15:
                break
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    time.sleep(1.0)


def tune_slowly(path):
    rw.tune(train_slowly, SPACE, study=path, max_resource=27, scheduler="asha", trials=15, **COMMON)


def make_adaptive(path):
    with suppress(rw.StudyInterrupted):
        rw.tune(
            train,
            SPACE,
            study=path,
            max_resource=27,
            trials=24,
            searcher="tpe",
            seed=3,
            keep=1,
            initial=[{"x": 0.5, "rate": 0.5, "kind": "a", "layers": 2}],
            on_report=stop_after(40),
            **COMMON,
        )


def make_extended(path):
    def run(**limits):
        rw.tune(train, SPACE, study=path, scheduler="pasha", seed=4, keep=1, **limits, **COMMON)

    run(max_resource=9, trials=9)
    run(max_resource=27, trials=12)
    run(max_resource=27, trials=16)


def make_retrained(path):
    result = rw.tune(train, SPACE, study=path, max_resource=9, trials=9, seed=5, keep=1, **COMMON)
    result.retrain(train, resource=12)
    other = next(row.trial for row in result.view.leaderboard()[1:])
    with suppress(rw.StudyInterrupted):
        result.retrain(train, resource=20, trial=other, on_report=stop_after(10))


def open_asked(path):
    return rw.open_study(path, SPACE, metric="loss", goal="min", max_resource=9, trials=12, seed=6)


def make_asked(path):
    subprocess.run([sys.executable, __file__, "ask", path], check=True)


def ask(path):
    with open_asked(path) as study:
        jobs = [study.ask() for _ in range(3)]
        for _ in range(8):
            job = jobs.pop(0)
            for epoch in job.resources():
                if not study.report(job, epoch, measure(job.config, epoch)):
                    break
            jobs.append(study.ask())
        study.report(jobs[0], 1, measure(jobs[0].config, 1), doubled=2.0)
        os._exit(0)  # with the other jobs open


def go_on_asking(path):
    with open_asked(path) as study:
        for job in study.jobs():
            for epoch in job.resources():
                if not study.report(job, epoch, measure(job.config, epoch)):
                    break


def make_winner(path):
    more = {"max_resource": 9, "trials": 16, "winner": "best", "seed": 7}
    rw.tune(train_worse, SPACE, study=path, **more, **COMMON)


def make_transferred(path):
    earlier = path.with_name("ended.db")
    rw.tune(train_slowly, SPACE, study=path, max_resource=9, trials=10, transfer=earlier, **COMMON)


def make_requested(path):
    with suppress(rw.StudyInterrupted):
        rw.tune(
            train_slowly,
            SPACE,
            study=path,
            scheduler="asha",
            max_resource=27,
            trials=12,
            seed=8,
            keep=1,
            on_report=stop_after(25),
            **COMMON,
        )
    rows = rw.load(path).view.leaderboard()
    requests.add(path, [{"x": 0.31, "rate": 0.9, "kind": "a", "layers": 1}])
    requests.stop(path, rows[-2].trial, reason="not needed")
    requests.fail(path, rows[-1].trial, reason="a bad node")


def resume(path):
    if path.name == "asked.db":
        go_on_asking(path)
    else:
        rw.resume(path, show="quiet")


MAKERS = {
    "ended": make_ended,
    "killed": make_killed,
    "adaptive": make_adaptive,
    "extended": make_extended,
    "retrained": make_retrained,
    "asked": make_asked,
    "winner": make_winner,
    "transferred": make_transferred,
    "requested": make_requested,
}


def tidy(path):
    """Leave what a later version needs: the checkpoints of unfinished work."""
    files = Path(f"{path}.files")
    if path.stem not in UNFINISHED:
        for found in [*files.glob("trial-*"), *files.glob("retrain-*-to-12")]:
            shutil.rmtree(found)
    for place in ("requests", "output"):
        shutil.rmtree(files / place, ignore_errors=True)
    if files.is_dir() and not any(each.is_file() for each in files.rglob("*")):
        shutil.rmtree(files)
    path.with_name(f"{path.name}-shm").unlink(missing_ok=True)


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    os.environ["XDG_STATE_HOME"] = str(folder / "state")
    expected = {}
    for name, make in MAKERS.items():
        path = folder / f"{name}.db"
        make(path)
        tidy(path)
        expected[name] = describe(path)
        if name in UNFINISHED:
            copy = folder / "copy" / path.name
            copy.parent.mkdir()
            for found in folder.glob(f"{path.name}*"):
                take = shutil.copytree if found.is_dir() else shutil.copy
                take(found, copy.parent / found.name)
            resume(copy)
            expected[f"{name}, resumed"] = describe(copy)
            shutil.rmtree(copy.parent)
        tidy(path)
    (folder / "expected.json").write_text(json.dumps(expected, indent=None, sort_keys=True) + "\n")


if __name__ == "__main__":
    if sys.argv[1] == "child":
        tune_slowly(sys.argv[2])
    elif sys.argv[1] == "ask":
        ask(sys.argv[2])
    else:
        main(Path(sys.argv[1]).resolve())
