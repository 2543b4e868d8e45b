"""The conformance suite of schedulers."""

from __future__ import annotations

import copy
import json
import math
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import pytest

import rungwise as rw
from rungwise.backends.simulator import Simulator
from rungwise.benchmarks.generated import power_laws
from rungwise.benchmarks.table import Table
from rungwise.core import engine as engine_module
from rungwise.core.decisions import Continue, Done, Noted, Pause, StartJob, Stop, Wait
from rungwise.core.engine import Engine
from rungwise.core.events import JobEnded, JobFailed, JobLost, JobRequested, Reported
from rungwise.core.limits import Limits
from rungwise.core.replay import lost_jobs, replay
from rungwise.core.scheduler import Recipe
from rungwise.core.study import Study
from rungwise.core.trials import Trial
from rungwise.driver import Driver
from rungwise.errors import SchemaError
from rungwise.simulation import simulate
from rungwise.storage.engine_state import (
    digest_engine,
    engine_from_text,
    engine_to_text,
    pack_points,
)
from rungwise.storage.memory import MemoryLog
from rungwise.views import StudyView

# It does without this module, since pytest takes as long to import as everything else.
_CHILD = """
import json, sys
import rungwise as rw
module, _, expression = json.load(sys.stdin).rpartition(";")
names = {"rw": rw}
exec(module, names)
recipe = eval(expression, names)
result = rw.simulate(rw.power_laws(40, 27, seed=5), recipe, trials=40, workers=3, seed=2)
print(json.dumps(result.to_json(), sort_keys=True))
"""

RESOURCES = 27


def imported(source: str) -> Recipe:
    """The recipe that an expression in terms of ``rw`` gives."""
    module, _, expression = source.rpartition(";")
    names: dict[str, Any] = {"rw": rw}
    if module:
        exec(module, names)  # noqa: S102 - the suite's own source
    recipe: Recipe = eval(expression, names)  # noqa: S307 - the suite's own source
    return recipe


class _Guarded(Trial):
    """A trial that only the engine may change."""

    __slots__ = ()

    def __setattr__(self, name: str, value: object) -> None:
        writer = sys._getframe(1).f_globals["__name__"]  # noqa: SLF001 - who calls
        owners = (engine_module.__name__, Trial.__module__)
        assert writer in owners, f"{writer} changes a trial, which is for the engine to do"
        super().__setattr__(name, value)


class SchedulerConformance:
    """Subclass it and give :attr:`source`.

    Attributes:
        source: an expression in terms of ``rw`` that gives the recipe, with a maximum of 27; put
            imports before it, separated by a semicolon.
    """

    source: ClassVar[str]

    def make_recipe(self) -> Recipe:
        """A fresh recipe."""
        return imported(self.source)

    def run(self, table: Table, trials: int | Sequence[int], **options: Any) -> rw.SimulationResult:
        """A simulated study."""
        return simulate(table, self.make_recipe(), trials=trials, **options)

    def test_is_a_value(self) -> None:
        """Equal by its parameters, hashable, not to be changed, and reusable."""
        recipe, twin = self.make_recipe(), copy.deepcopy(self.make_recipe())
        assert recipe == twin
        assert hash(recipe) == hash(twin)
        with pytest.raises((AttributeError, TypeError)):
            recipe.something_new = 1  # type: ignore[attr-defined]
        table = power_laws(30, RESOURCES, seed=1)
        first = simulate(table, recipe, trials=30, workers=2)
        assert simulate(table, recipe, trials=30, workers=2) == first

    @pytest.mark.parametrize("workers", [1, 2, 5, 64])
    def test_ends_with_every_trial_started(self, workers: int) -> None:
        """No trial is lost, trained beyond the maximum, or run in two jobs at once."""
        result = self.run(power_laws(50, RESOURCES, seed=workers), 50, workers=workers)
        assert len(result.rows) == 50
        assert {row for row, _, _ in result.jobs} == set(result.rows)
        assert result.max_resource <= RESOURCES
        assert all(start < until <= RESOURCES for _, start, until in result.jobs)
        assert result.why.startswith("Done: 50 configurations compared; ")

    def test_one_trial_is_enough(self) -> None:
        """The smallest study ends."""
        assert self.run(power_laws(1, RESOURCES), 1, workers=3).best is not None

    def test_jobs_of_a_trial_follow_each_other(self) -> None:
        """Each job begins where the one before ended."""
        result = self.run(power_laws(60, RESOURCES, seed=2), list(range(60)), workers=4)
        reached: dict[int, int] = {}
        for row, start, until in result.jobs:
            assert start == 0 or start <= reached[row]
            reached[row] = until

    def test_diverged_trials_are_never_promoted(self) -> None:
        """A trial that reports NaN gets its first job and no other."""
        values = power_laws(30, RESOURCES, seed=4).values.copy()
        values[5:] = math.nan
        result = self.run(Table(values), list(range(30)), workers=3)
        again = [row for row, start, _ in result.jobs if start > 0]
        assert all(row < 5 for row in again)

    def test_leaves_trials_to_the_engine(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A trial is for reading."""
        monkeypatch.setattr(engine_module, "Trial", _Guarded)
        assert self.run(power_laws(30, RESOURCES, seed=11), 30, workers=3).best is not None

    def test_the_goal_is_only_a_sign(self) -> None:
        """Maximising the negative metric takes the same jobs."""
        table = power_laws(40, RESOURCES, seed=6)
        mirrored = Table(-table.values, table.seconds, "max")
        assert self.run(mirrored, 40).jobs == self.run(table, 40).jobs

    def test_paper_finish_ends_with_the_last_start(self) -> None:
        """The last job issued is the first of the last trial."""
        result = self.run(power_laws(40, RESOURCES, seed=7), 40, finish="paper")
        assert result.jobs[-1][:2] == (result.rows[-1], 0)
        assert len(result.rows) == 40

    @pytest.mark.parametrize("hash_seed", ["1", "random"])
    def test_repeats_itself_in_another_process(self, hash_seed: str) -> None:
        """The same decisions whatever the hash seed."""
        here = self.run(power_laws(40, RESOURCES, seed=5), 40, workers=3, seed=2)
        there = subprocess.run(  # noqa: S603 - our own interpreter
            [sys.executable, "-c", _CHILD],
            input=json.dumps(self.source),
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert json.loads(there.stdout) == json.loads(json.dumps(here.to_json()))

    def test_a_log_replays_through_json(self) -> None:
        """Every decision is taken again from what the log holds."""
        log = MemoryLog()
        table = power_laws(30, RESOURCES, seed=8)
        self.run(table, list(range(30)), log=log)
        engine = replay(self._study(30), MemoryLog.from_lines(log.to_lines()).read_from())
        assert engine.ended is not None

    def test_survives_a_crash_after_any_entry(self) -> None:
        """After any prefix of the log the open jobs are lost, and the study runs to its end."""
        log = MemoryLog()
        table = power_laws(12, RESOURCES, seed=9)
        rows = list(range(12))
        whole = self.run(table, rows, workers=1, log=log)
        for length in range(len(log)):
            engine = replay(self._study(12), log.entries[:length])
            for event in lost_jobs(engine):
                engine.handle(event)
            Driver(engine, Simulator(table, workers=1, rows=rows)).run()
            assert engine.ended is not None
            best = StudyView(engine).best
            assert best is not None
            assert whole.best is not None
            # With one worker a lost job is simply run again, so nothing else changes.
            assert (best.trial, best.value) == (whole.best.trial, whole.best.value)
            assert list(engine.scheduler.ceilings) == whole.ceilings

    def test_goes_on_from_a_snapshot_as_if_there_were_none(self) -> None:
        """A state that is stored and read again takes the same decisions from there on."""
        log, study = MemoryLog(), self._study(25)
        self.run(power_laws(25, RESOURCES, seed=3), list(range(25)), log=log)
        for length in range(0, len(log), max(1, len(log) // 4)):
            engine = replay(study, log.entries[:length])
            try:
                text = engine_to_text(engine, 0.0)
            except SchemaError as error:
                pytest.skip(f"large studies have no snapshots and are replayed: {error}")
            chunks = [pack_points(engine.trials, [])]
            again, *_ = engine_from_text(text, study, chunks, types=[type(self.make_recipe())])
            assert digest_engine(again, 0.0) == digest_engine(engine, 0.0)
            for which in (engine, again):
                replay(study, log.entries[length:], after=(which, length))
            assert digest_engine(again, 0.0) == digest_engine(engine, 0.0)
            assert again.why() == engine.why()

    @pytest.mark.parametrize("seed", range(5))
    def test_failures_never_take_the_study_down(self, seed: int) -> None:
        """Trials that fail, end by themselves or are lost: the study still ends."""
        rng = np.random.default_rng(seed)
        engine = Engine(self._study(25))
        running: dict[int, tuple[float, float]] = {}
        for _ in range(100_000):
            while len(running) < 4:
                decision = engine.handle(JobRequested())
                if not isinstance(decision, StartJob):
                    break
                job = decision.job
                running[job.id] = (job.start, job.until)
            if isinstance(decision, Done):
                return
            assert isinstance(decision, (StartJob, Wait))
            assert running, "the request was answered Wait although nothing runs"
            self._something_happens(engine, running, rng)
        pytest.fail("the study does not end")

    def _something_happens(
        self, engine: Engine, running: dict[int, tuple[float, float]], rng: np.random.Generator
    ) -> None:
        job = int(rng.choice(list(running)))
        at, until = running[job]
        fate = rng.random()
        if fate < 0.1:
            kind = (JobFailed, JobLost, JobEnded)[int(rng.integers(3))]
            assert isinstance(engine.handle(kind(job)), Noted)
            del running[job]
            return
        step = at + float(rng.choice([0.5, 1, 1, 2]))
        value = math.nan if fate < 0.2 else float(rng.random())
        decision = engine.handle(Reported(job, step, value))
        assert isinstance(decision, (Continue, Pause, Stop))
        running[job] = (step, until)
        if not isinstance(decision, Continue):
            engine.handle(JobEnded(job))
            del running[job]

    def _study(self, trials: int) -> Study:
        rows = [{"row": row} for row in range(trials)]
        return Study(self.make_recipe(), Limits(trials=trials), initial=rows)
