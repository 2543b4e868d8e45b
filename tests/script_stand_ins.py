"""Scripts written by the tests, and a run that only records the calls it gets."""

import shutil
import sys
from contextlib import contextmanager
from pathlib import Path

from rungwise.scripts import Script, processes

EXAMPLES = Path(__file__).parents[1] / "examples"
REPORT = """
import json, os, sys, time
from pathlib import Path
def report(resource, **metrics):
    with open(os.environ["RUNGWISE_REPORTS"], "a") as file:
        file.write(json.dumps({"resource": resource, **metrics}) + chr(10))
save = Path(os.environ["RUNGWISE_SAVE"])
"""


class Unwound(BaseException):
    pass


class FakeRun:
    """A run that answers "enough" from a resource on and keeps its checkpoints."""

    def __init__(self, folder, *, until=3, enough=None, start=0, latest=None, max_resource=9):
        self.trial, self.phase, self.metric, self.seed = 7, "tune", "loss", 11
        self.folder, self.until, self.start, self.latest = folder, until, start, latest
        self.max_resource = max_resource
        self.enough = until if enough is None else enough
        self.told = []
        self.on_report = lambda resource: None

    def report(self, resource, /, **metrics):
        if any(resource >= self.enough for kind, resource, _ in self.told if kind == "report"):
            raise Unwound
        self.told.append(("report", resource, metrics))
        self.on_report(resource)
        return resource < self.enough

    @contextmanager
    def checkpoint(self, resource):
        target = self.folder / "checkpoints" / str(resource)
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        yield target
        names = sorted(str(path.relative_to(target)) for path in target.rglob("*"))
        self.told.append(("checkpoint", resource, names))
        self.latest = target

    def reports(self):
        return [(resource, metrics) for kind, resource, metrics in self.told if kind == "report"]

    def checkpoints(self):
        return [(at, names) for kind, at, names in self.told if kind == "checkpoint"]


def python(code, **options):
    return Script((sys.executable, "-c", escaped(REPORT + code)), **options)


def shell(code, **options):
    return Script(("sh", "-c", escaped(code), "train.sh"), **options)


def escaped(code):
    return code.replace("{", "{{").replace("}", "}}")


def running(pid):
    return processes._stat(pid) is not None


def noted_pid(path):
    return int(path.read_text())
