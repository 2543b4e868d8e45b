"""Builders for stories ("given events, expect decisions") and a deep snapshot of an engine."""

import math
from collections import deque
from collections.abc import Mapping
from enum import Enum

import numpy as np

from rungwise import Table
from rungwise.backends.simulator import Simulator
from rungwise.core.decisions import StartJob
from rungwise.core.engine import Engine
from rungwise.core.events import JobEnded, JobFailed, JobLost, JobRequested, Reported
from rungwise.core.limits import Limits
from rungwise.core.study import Study
from rungwise.core.trials import Trial
from rungwise.driver import Driver
from rungwise.rankings import Standing
from rungwise.rankings.crossings import SettledDistances
from rungwise.storage import MemoryLog


class Story:
    """One study told event by event; trials are named by id, jobs need no names.

    Args:
        recipe: the scheduler.
        trials: how many configurations are drawn.
        pool: how many configurations there are.
        limits: what else ends the study.
    """

    def __init__(self, recipe, *, trials=27, pool=None, goal="min", study=None, **limits):
        initial = [{"x": number} for number in range(pool or trials)]
        self.study = study or Study(
            recipe, Limits(trials=trials, **limits), goal=goal, initial=initial
        )
        self.engine = Engine(self.study)
        self.log = []

    def send(self, event):
        decision = self.engine.handle(event)
        self.log.append((event, decision))
        return decision

    def ask(self, at=0.0):
        """(trial, start, until) of the job a free worker gets, or the other decision."""
        decision = self.send(JobRequested(at=at))
        if not isinstance(decision, StartJob):
            return decision
        return decision.job.trial, decision.job.start, decision.job.until

    def start(self, number):
        """So many workers ask; the trials they get."""
        return [self.ask()[0] for _ in range(number)]

    def job(self, trial):
        return self.engine.list_jobs(trial)[-1].id

    def report(self, trial, resource, value, **more):
        return self.send(Reported(self.job(trial), resource, value, **more))

    def end(self, trial):
        return self.send(JobEnded(self.job(trial)))

    def fail(self, trial, reason=""):
        return self.send(JobFailed(self.job(trial), reason))

    def lose(self, trial):
        return self.send(JobLost(self.job(trial)))

    def reach(self, resource, values):
        """Trials report at a resource and leave their workers; what they were told."""
        told = []
        for trial, value in values.items():
            told.append(self.report(trial, resource, value))
            self.end(trial)
        return told

    def state(self, trial):
        return self.engine.trials[trial].state

    def rung(self, k):
        return self.engine.scheduler.rungs[k].losses


def rungs_of(engine):
    """{bracket: its rungs}, whatever the scheduler."""
    scheduler = engine.scheduler
    brackets = getattr(scheduler, "brackets", getattr(scheduler, "_brackets", None))
    parts = [scheduler] if brackets is None else brackets
    return {number: getattr(part, "rungs", []) for number, part in enumerate(parts)}


def snapshot(engine):
    """Everything that an engine knows, as plain values that can be compared."""
    return {
        name: [_of_trial(trial) for trial in value] if name == "trials" else _plain(value)
        for name, value in vars(engine).items()
        if name not in ("study", "_handlers", "_proposer")
    }


def _of_trial(trial):
    return {name: _plain(getattr(trial, name)) for name in Trial.__slots__}


def _plain(value):
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, float) and math.isnan(value):
        value = "NaN"
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Trial):  # its content is among the engine's trials
        return f"trial {value.id}"
    if isinstance(value, (list, tuple, deque)):
        return [_plain(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    if isinstance(value, Mapping):  # in the order kept: it may matter
        return [(_plain(key), _plain(item)) for key, item in value.items()]
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    return "a function" if callable(value) else _of_object(value)


def _of_object(value):
    names = {name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())}
    held = {
        name: getattr(value, name) for name in sorted(names | set(getattr(value, "__dict__", ())))
    }
    if isinstance(value, Standing):  # its arrays are longer than what they hold
        parts = ("size", "members", "_keys_top", "_keys_below")
        held = {name: getattr(value, name) for name in parts}
        held |= {
            "by_top": value._by_top[:, : value.size],
            "by_below": value._by_below[:, : value.size],
        }
    if isinstance(value, SettledDistances):
        held["_distances"] = value.distances
    return type(value).__name__, [(name, _plain(item)) for name, item in held.items()]


def curves(rows, resources, seed=0):
    """Noisy learning curves in multiples of 1/64 that cross often."""
    rng = np.random.default_rng(seed)
    falling = rng.random((rows, 1)) + rng.random((rows, 1)) / np.arange(1, resources + 1)
    return np.round((falling + 0.15 * rng.standard_normal((rows, resources))) * 64) / 64


def study_of(recipe, values, **limits):
    """A study whose trial k is row k of a table."""
    initial = [{"row": row} for row in range(len(values))]
    return Study(recipe, Limits(trials=len(values), **limits), initial=initial)


def drive(engine, values, log, *, workers=1):
    """Let an engine without open jobs run to its end on a table; whole seconds, exact sums."""
    seconds = 1 + np.arange(len(values)) % 3
    simulator = Simulator(
        Table(values, seconds=seconds), workers=workers, rows=list(range(len(values)))
    )
    Driver(engine, simulator, log=log).run()
    return engine


def recorded(recipe, values, *, workers=1, **limits):
    """A study run to its end: (study, engine, log)."""
    study, log = study_of(recipe, values, **limits), MemoryLog()
    return study, drive(Engine(study), values, log, workers=workers), log
