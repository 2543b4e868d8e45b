"""Only the engine changes a trial: nothing else does while studies run, and no other file could."""

import ast
import contextlib
import random
import sys
from array import array
from pathlib import Path

import pytest

import rungwise
import rungwise as rw
from rungwise.core import engine as engine_module
from rungwise.core import trials
from rungwise.core.decisions import Continue, Done, StartJob
from rungwise.core.engine import Engine
from rungwise.core.events import (
    JobEnded,
    JobFailed,
    JobLost,
    JobRequested,
    Reported,
    StudyExtended,
    TrialStopped,
)
from rungwise.core.limits import Limits
from rungwise.core.study import Study
from rungwise.errors import IllegalEventError

ROOT = Path(rungwise.__file__).parent
OWNERS = {engine_module.__file__, trials.__file__}

INNER = {
    "pasha": rw.PASHA(max_resource=9),
    "stopping": rw.PASHA(max_resource=9, variant="stopping"),
    "asha": rw.ASHA(max_resource=9),
    "halving": rw.SuccessiveHalving(max_resource=9),
    "hyperband": rw.Hyperband(max_resource=9),
    "async": rw.AsyncHyperband(max_resource=9),
    "adaptive": rw.AdaptiveHalving(max_resource=9),
    "sharp": rw.SharpHalving(max_resource=9),
    "random": rw.RandomSearch(max_resource=9),
}
RECIPES = {**INNER, **{f"rush {name}": rw.Rush(one, priors=2) for name, one in INNER.items()}}


def must_be_an_owner():
    writer = sys._getframe(2).f_code.co_filename
    assert writer in OWNERS, f"{writer} writes to a trial"


class WatchedCurve(array):
    def append(self, value):
        must_be_an_owner()
        super().append(value)


class WatchedTrial(trials.Trial):
    def __setattr__(self, name, value):
        must_be_an_owner()
        super().__setattr__(name, WatchedCurve("d") if isinstance(value, array) else value)


def happen(engine, rng, running, at):
    """Let one thing happen to one job."""
    job, progress = rng.choice(sorted(running.items()))
    fate = rng.random()
    if fate < 0.1:
        engine.handle(rng.choice([JobFailed, JobLost, JobEnded])(job, at=at))
        del running[job]
        return
    running[job] = progress + rng.choice([1, 1, 2])
    if not isinstance(engine.handle(Reported(job, running[job], rng.random(), at=at)), Continue):
        engine.handle(JobEnded(job, at=at))
        del running[job]


def run_wildly(engine, rng):
    """Run a study to its end, with failures, requests, and two extensions."""
    running, trials_asked, maximum = {}, 30, 9
    for at in range(5000):
        decision = engine.handle(JobRequested(at=at)) if len(running) < 4 else None
        if isinstance(decision, StartJob):
            running[decision.job.id] = decision.job.start
        elif running:
            happen(engine, rng, running, at)
        elif isinstance(decision, Done):
            if maximum == 81:
                return
            trials_asked, maximum = trials_asked + 10, maximum * 3
            engine.handle(StudyExtended(Limits(trials=trials_asked), maximum, at=at))
        if engine.trials and rng.random() < 0.02:
            number = rng.randrange(len(engine.trials))
            with contextlib.suppress(IllegalEventError):  # it is done already
                engine.handle(TrialStopped(number, rng.choice(["stopped", "failed"]), at=at))
    raise AssertionError("the study does not end")


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_only_the_engine_writes_to_a_trial(recipe, monkeypatch):
    monkeypatch.setattr(engine_module, "Trial", WatchedTrial)
    initial = [{"row": row} for row in range(50)]
    engine = Engine(Study(recipe, Limits(trials=30), initial=initial))
    run_wildly(engine, random.Random(1))  # noqa: S311 - not for secrets
    assert {type(trial) for trial in engine.trials} == {WatchedTrial}
    assert any(trial.losses for trial in engine.trials)


def test_the_check_notices_a_writer():
    trial = WatchedTrial(0, {}, 0)
    with pytest.raises(AssertionError, match="writes to a trial"):
        trial.until = 3
    with pytest.raises(AssertionError, match="writes to a trial"):
        trial.losses.append(0.5)


OTHER_THINGS = {
    ("counterfactual.py", "running.resource"): "a job of a replayed study",
    ("policy.py", "work.resource"): "a job on a worker",
    ("backends/simulator.py", "running.resource"): "a job of the simulator",
    ("backends/workers.py", "worker.resource"): "a worker",
    ("tuning/follower.py", "found.resource"): "a retraining as the page knows it",
    ("integrations/optuna_marks.py", "progress.resource"): "how far the marks of Optuna are read",
}
"""(file, what is assigned to): what it is, if it is no trial."""

CHANGES = {"append", "extend", "insert", "pop", "frombytes", "fromlist"}


def list_writes(tree):
    """What a file writes to that has the name of an attribute of a trial, but for its ``self``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, (ast.Store, ast.Del)):
            found = node
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            found = node.func.value if node.func.attr in CHANGES else None
            if not isinstance(found, ast.Attribute) or found.attr not in ("losses", "resources"):
                continue
        else:
            continue
        owner = ast.unparse(found.value)
        if found.attr in trials.Trial.__slots__ and owner != "self":
            yield f"{owner}.{found.attr}"


def test_no_other_file_writes_to_a_trial():
    found = {
        (path.relative_to(ROOT).as_posix(), target)
        for path in ROOT.rglob("*.py")
        if str(path) not in OWNERS
        for target in list_writes(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert found == set(OTHER_THINGS)


def test_writes_are_found():
    code = "trial.until = 3\na, trial.state = 1, 2\nx.trial.resource += 1\nt.losses.append(0.1)"
    expected = {"trial.until", "trial.state", "x.trial.resource", "t.losses"}
    assert set(list_writes(ast.parse(code))) == expected
