"""Studies in every state, for the tests of the page."""

import contextlib
import time
from pathlib import Path

import rungwise as rw
from rungwise.tuning import requests

SPACE = {"lr": rw.Float(1e-4, 1, log=True), "units": rw.Int(1, 99), "kind": ["sgd", "adam", "lion"]}
HOSTILE = '<img src=x onerror="document.title=1">'


def train(config, run):
    """Some fail, some report another metric, all print."""
    if config["kind"] == "lion" and config["units"] > 80:
        raise RuntimeError("out of memory")
    for epoch in run.resources():
        print(f"epoch {epoch}")  # noqa: T201 - its output is shown
        loss = abs(config["lr"] - 0.01) ** 0.2 + config["units"] / 500 + 1 / epoch
        with run.checkpoint(epoch) as folder:
            (folder / "model.txt").write_text(str(epoch))
        run.report(epoch, loss=loss, accuracy=1 - loss)


def tune(path, function=train, space=None, **changes):
    arguments = {
        "max_resource": 27,
        "trials": 40,
        "workers": 2,
        "metric": "loss",
        **changes,
    }
    return rw.tune(
        function, space or SPACE, goal="min", show="quiet", study=path, **arguments
    )  # fmt: skip


def make_finished(folder):
    path = Path(folder) / "finished.db"
    tune(path)
    return path


def make_interrupted(folder):
    path = Path(folder) / "interrupted.db"

    def stop(event):
        if event.trial == 12:
            raise KeyboardInterrupt

    with contextlib.suppress(KeyboardInterrupt, rw.StudyInterrupted):
        tune(path, on_report=stop)
    return path


def make_failed(folder):
    path = Path(folder) / "failed.db"

    def fail(config, run):
        raise ValueError(HOSTILE)

    with contextlib.suppress(rw.NothingFoundError):
        tune(path, fail, retries=0, trials=12)
    return path


def make_hostile(folder):
    """Markup wherever a study may hold text."""
    path = Path(folder) / "<b>hostile.db"
    name = "<script>document.title=2</script>"

    def fail_with_markup(config, run):
        if config[name] > 0.8:
            raise RuntimeError(HOSTILE)
        for epoch in run.resources():
            print(f"\x1b[31m{HOSTILE}</pre></script>")  # noqa: T201 - the same
            run.report(epoch, loss=config[name] + 1 / epoch)

    tune(
        path,
        fail_with_markup,
        {name: rw.Float(0, 1), "option": [HOSTILE, "</script><script>document.title=3</script>"]},
        max_resource=9,
        trials=16,
    )
    requests.label(path, tags=[HOSTILE.replace(",", "")], note=f"{HOSTILE}</script>")
    return path


SLOW = """
import sys, time
sys.path[:0] = {paths!r}
import rungwise as rw
from pathlib import Path

def train(config, run):
    for epoch in run.resources():
        time.sleep(0.02)
        while Path({hold!r}).exists():
            time.sleep(0.02)
        run.report(epoch, loss=config["x"] + 1 / epoch)

rw.tune(train, {{"x": rw.Float(0, 1)}}, metric="loss", goal="min", max_resource=9, trials={trials},
        backend="threads:2", show="quiet", study={study!r})
"""


def write_slow(folder, study, trials=400):
    """A script whose study goes on for long; it waits while the file `hold` is there."""
    script = Path(folder) / "slow.py"
    script.write_text(
        SLOW.format(paths=[], hold=str(Path(folder, "hold")), study=str(study), trials=trials)
    )
    return script


def wait_until(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)
