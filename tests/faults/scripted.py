"""A training script that can be killed: it holds its trial's lock and tells what it does."""

import fcntl
import json
import os
import sys
import time
from pathlib import Path

FOLDER = Path(os.environ["FAULTS"])


def tell(kind, **facts):
    line = json.dumps({"kind": kind, "pid": os.getpid(), "trial": TRIAL, **facts}) + "\n"
    with (FOLDER / "side").open("a") as file:
        file.write(line)


TRIAL = int(os.environ["RUNGWISE_TRIAL"])
config = json.loads(os.environ["RUNGWISE_CONFIG"])
save, latest = Path(os.environ["RUNGWISE_SAVE"]), os.environ["RUNGWISE_LATEST"]
epoch = int(json.loads(Path(latest, "state").read_text())) if latest else 0
with (FOLDER / f"trial-{TRIAL}.lock").open("w") as lock:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        tell("violation")
    if epoch != float(os.environ["RUNGWISE_START"]):
        tell("violation", epoch=epoch)
    tell("script", start=epoch)
    with Path(os.environ["RUNGWISE_REPORTS"]).open("a") as reports:
        while epoch < float(os.environ["RUNGWISE_UNTIL"]):
            epoch += 1
            time.sleep(float(os.environ.get("PACE", "0")))
            place = save / f"epoch-{epoch}"
            place.mkdir()
            (place / "state").write_text(str(epoch))
            value = config["a"] * epoch / (epoch + 10 * config["b"])
            report = {"resource": epoch, "score": value, "checkpoint": place.name}
            reports.write(json.dumps(report) + "\n")
            reports.flush()
sys.exit(0)
