"""Makes the study files of this folder, as version 0.1.0 wrote them.

    python make.py FOLDER

Run it with that version only: what is tested is that later versions read, replay and resume what
it wrote. ``killed.db``: its tuner was killed in the middle of training. ``ended.db``: ended, and
its winner retrained. ``retraining.db``: ended, and the retraining of its winner was interrupted.
``expected.json``: what version 0.1.0 itself makes of them.
"""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from training import make_train

import rungwise as rw
from rungwise.tuning.exports import rows_of

SPACE = {"x": rw.Float(0, 1), "kind": ["a", "b"]}
COMMON = {"metric": "loss", "goal": "min", "max_resource": 27, "trials": 24, "workers": 1}


def tune(path, train):
    return rw.tune(train, SPACE, study=path, show="quiet", keep="all", **COMMON)


def described(path):
    result = rw.load(path)
    return {
        "best": [result.best.trial, result.best.value, result.best.resource],
        "why": result.why,
        "trials": result.trials,
        "reports": result.reports,
        "spent": result.resource_spent,
        "jobs": [[j.trial, j.start, j.until] for j in result.engine.jobs],
        "failures": [[f.job, f.trial, f.resource, f.reason] for f in result.failures],
        "exported": [
            {key: value for key, value in row.items() if key != "seconds"} for row in rows_of(path)
        ],
    }


def main(folder):  # noqa: C901 - one story
    folder.mkdir(parents=True, exist_ok=True)
    expected = {}
    deaths = folder / "deaths"
    deaths.mkdir()

    killed = folder / "killed.db"
    child = subprocess.Popen([sys.executable, __file__, "child", killed, deaths])
    while True:
        time.sleep(0.02)
        try:
            if rw.load(killed).reports >= 30:
                break
        except rw.RungwiseError:
            continue
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    time.sleep(1.0)
    database = sqlite3.connect(killed)
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    expected["killed"] = described(killed)
    copy = folder / "copy.db"
    shutil.copy(killed, copy)
    shutil.copytree(f"{killed}.files", f"{copy}.files")
    rw.resume(copy, make_train(deaths), show="quiet")
    expected["killed, resumed"] = described(copy)

    ended = folder / "ended.db"
    result = tune(ended, make_train())
    result.retrain(make_train(), resource=30)
    expected["ended"] = described(ended)

    retraining = folder / "retraining.db"
    shutil.copy(ended, retraining)
    shutil.copytree(f"{ended}.files", f"{retraining}.files")
    shutil.rmtree(next(Path(f"{retraining}.files").glob("retrain-*")))
    database = sqlite3.connect(retraining)
    database.execute("DELETE FROM notes WHERE kind = 'retrain'")
    database.commit()
    database.execute("VACUUM")
    database.close()
    result = rw.load(retraining)

    def cut(resource, value):
        if resource == 10:
            os.kill(os.getpid(), signal.SIGINT)

    with suppress(rw.StudyInterrupted):
        result.retrain(make_train(pause=0.05), resource=30, on_report=cut)
    for study in ("ended", "retraining"):
        for path in Path(f"{folder / study}.db.files").glob("trial-*"):
            if path.name != f"trial-{result.best.trial:05d}":
                shutil.rmtree(path)
    for path in folder.glob("*.lock"):
        path.unlink()
    for name in ("copy.db", "copy.db.files", "deaths"):
        place = folder / name
        shutil.rmtree(place) if place.is_dir() else place.unlink()
    (folder / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    if sys.argv[1] == "child":
        tune(sys.argv[2], make_train(sys.argv[3], pause=0.02))
    else:
        main(Path(sys.argv[1]))
