"""The conformance suite of adapters: the same events, the same decisions as in the simulator.

An adapter puts rungwise into a host that runs trials itself: a loop of your own, Ray Tune,
scikit-learn, Optuna. The suite gives it a table of learning curves to "train" on. It then compares
what the host has trained, measurement by measurement, with what the simulator trains; and it lets
a fresh engine decide on the events that the adapter has recorded, in their order.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from rungwise.benchmarks.generated import power_laws
from rungwise.benchmarks.table import Table
from rungwise.core.decisions import Continue, Pause, StartJob, Stop
from rungwise.core.engine import Engine
from rungwise.core.events import JobFailed, Reported
from rungwise.core.limits import Limits
from rungwise.core.scheduler import Recipe
from rungwise.core.study import Study
from rungwise.schedulers import ASHA, PASHA
from rungwise.simulation import simulate
from rungwise.storage import MemoryLog
from rungwise.storage.base import Entry
from rungwise.storage.study_file import StudyFile
from rungwise.validation import Goal

RESOURCES = 27


class BrokenTrial(Exception):  # noqa: N818 - it is what a user's training raises, not our error
    """What the training of a trial that is to fail raises."""


@dataclass(frozen=True, slots=True)
class HostStudy:
    """What a host is to run: trial n has the configuration ``{"row": n}``, drawn in this order.

    It can be pickled, so that hosts may train in other processes.

    Attributes:
        values: the learning curves, a row for each trial.
        goal: whether they are minimised or maximised.
        recipe: the scheduler; its maximum is the length of the curves.
        workers: how many trials are trained at a time.
        broken: trials whose training raises, at every attempt, and at which resource.
        folder: a place for files of the test.
    """

    values: tuple[tuple[float, ...], ...]
    goal: Goal
    recipe: Recipe
    workers: int
    broken: tuple[tuple[int, int], ...]
    folder: Path

    @property
    def trials(self) -> int:
        """How many trials there are."""
        return len(self.values)

    @property
    def max_resource(self) -> int:
        """How far a trial may be trained."""
        return len(self.values[0])

    def configs(self) -> list[dict[str, int]]:
        """The configurations in the order to be drawn."""
        return [{"row": row} for row in range(self.trials)]

    def train(self, row: int, resource: int) -> float:
        """Train one unit of resource and measure; call it once for each, in the trial's own code.

        Args:
            row: the trial.
            resource: the resource that it has been trained to then.

        Raises:
            BrokenTrial: the trial is one of those that fail.
        """
        failing = any(row == each and resource >= at for each, at in self.broken)
        line = json.dumps([row, resource, not failing]) + "\n"
        # One write to the end of the file is whole, whichever processes write.
        file = os.open(self._record, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            os.write(file, line.encode())
        finally:
            os.close(file)
        if failing:
            raise BrokenTrial(f"trial {row} is broken at {resource}")
        return self.values[row][resource - 1]

    @property
    def _record(self) -> Path:
        return self.folder / "trained"

    def list_trained(self) -> list[tuple[int, int]]:
        """[(row, resource), …]: what was trained and measured, in order."""
        text = self._record.read_text(encoding="utf-8") if self._record.exists() else ""
        found = [json.loads(line) for line in text.splitlines()]
        return [(row, resource) for row, resource, whole in found if whole]


@dataclass(frozen=True, slots=True)
class HostRecord:
    """What came of a host's study.

    Attributes:
        entries: the events and decisions, in order, with the configurations ``{"row": n}``.
        best: the row of the best trial, as the host names it to its user; None for none.
    """

    entries: Sequence[Entry]
    best: int | None

    @classmethod
    def read(cls, study: Path, best: int | None) -> HostRecord:
        """The record of a host whose adapter keeps a study file."""
        with StudyFile(study, mode="read") as file:
            return cls(list(file.read_from()), best)


class AdapterConformance:
    """Subclass it and give :meth:`run_host`.

    Attributes:
        recipes: the schedulers that the adapter takes, each with a maximum of 27.
        in_order: whether the host, with one worker, trains in the order of the simulator: it asks
            for a job whenever one has left. A host that asks for several before it trains any does
            not.

    Example::

        class TestMyHost(AdapterConformance):
            def run_host(self, study):
                path = study.folder / "study.db"
                best = run_my_host(study.configs(), study.train, study.recipe, study.workers, path)
                return HostRecord.read(path, best)
    """

    recipes: ClassVar[Sequence[Recipe]] = (
        PASHA(max_resource=RESOURCES),
        ASHA(max_resource=RESOURCES),
    )
    in_order: ClassVar[bool] = True

    def run_host(self, study: HostStudy) -> HostRecord:
        """Run a study in the host, to its end."""
        raise NotImplementedError

    def find_best(self, engine: Engine) -> int | None:
        """The row that the host should name as the best, once the study has ended."""
        return None if engine.best is None else int(engine.best.config["row"])

    # -- what is run ---------------------------------------------------------------------------

    def _study(
        self,
        table: Table,
        folder: Path,
        recipe: Recipe,
        *,
        workers: int = 1,
        broken: Iterable[tuple[int, int]] = (),
    ) -> HostStudy:
        values = tuple(tuple(float(value) for value in row) for row in table.values)
        return HostStudy(values, table.goal, recipe, workers, tuple(broken), folder)

    def _run(self, study: HostStudy) -> HostRecord:
        record = self.run_host(study)
        engine = _check_record(study, record)
        best = self.find_best(engine)
        assert record.best == best, f"the host says that {record.best} is best, but it is {best}"
        return record

    # -- checks --------------------------------------------------------------------------------

    def test_one_worker_trains_what_the_simulator_trains(self, tmp_path: Path) -> None:
        """Measurement by measurement, in the same order."""
        if not self.in_order:
            pytest.skip("this host does not ask for one job after another")
        for number, recipe in enumerate(self.recipes):
            folder = tmp_path / str(number)
            folder.mkdir()
            table = power_laws(20, RESOURCES, seed=number)
            study = self._study(table, folder, recipe)
            self._run(study)
            log = MemoryLog()
            simulate(table, recipe, trials=list(range(20)), workers=1, log=log)
            assert study.list_trained() == _list_reports(log.entries)

    @pytest.mark.parametrize("workers", [1, 3])
    def test_decisions_are_those_of_the_engine(self, workers: int, tmp_path: Path) -> None:
        """A fresh engine decides the same on the same events; the host has acted accordingly."""
        for number, recipe in enumerate(self.recipes):
            folder = tmp_path / str(number)
            folder.mkdir()
            table = power_laws(18, RESOURCES, seed=10 + number)
            record = self._run(self._study(table, folder, recipe, workers=workers))
            drawn = {row for row, _ in _list_reports(record.entries)}
            simulated = simulate(table, recipe, trials=list(range(18)), workers=workers)
            assert drawn == set(simulated.rows), "not every trial was drawn"

    def test_the_goal_is_only_a_sign(self, tmp_path: Path) -> None:
        """Maximising the negative metric trains the same."""
        table = power_laws(15, RESOURCES, seed=21)
        mirrored = Table(-table.values, table.seconds, "max")
        trained = []
        for name, each in (("min", table), ("max", mirrored)):
            folder = tmp_path / name
            folder.mkdir()
            study = self._study(each, folder, self.recipes[0])
            best = self._run(study).best
            trained.append((study.list_trained(), best))
        assert trained[0] == trained[1]

    def test_a_trial_that_fails_takes_nothing_down(self, tmp_path: Path) -> None:
        """It never wins, it is not trained beyond its failure, and all others are trained."""
        table = power_laws(15, RESOURCES, seed=22)
        best = int(np.argmin(table.values[:, 0]))
        # The best trial of all fails at its second rung, another one at once.
        other = (best + 1) % 15
        broken = ((best, 2), (other, 1))
        study = self._study(table, tmp_path, self.recipes[0], broken=broken)
        record = self._run(study)
        rows = {row for row, _ in study.list_trained()}
        assert rows == set(range(15)) - {other}
        assert all(resource < 2 for row, resource in study.list_trained() if row == best)
        assert record.best not in (None, other)

    def test_a_trial_that_diverges_is_never_promoted(self, tmp_path: Path) -> None:
        """NaN is worse than anything."""
        values = power_laws(15, RESOURCES, seed=23).values.copy()
        values[::3] = math.nan
        study = self._study(Table(values), tmp_path, self.recipes[0])
        record = self._run(study)
        assert record.best is not None
        assert record.best % 3
        first = study.recipe.build(trials=15).levels[0]
        assert all(resource <= first for row, resource in study.list_trained() if row % 3 == 0)

    def test_one_trial_is_enough(self, tmp_path: Path) -> None:
        """The smallest study ends."""
        record = self._run(self._study(power_laws(1, RESOURCES), tmp_path, self.recipes[0]))
        assert record.best == 0


def _list_reports(entries: Iterable[Entry]) -> list[tuple[int, int]]:
    """[(row, resource), …] of the reports, in order."""
    rows: dict[int, int] = {}
    found = []
    for event, decision in entries:
        if isinstance(decision, StartJob):
            rows[decision.job.id] = int(decision.job.config["row"])
        elif isinstance(event, Reported):
            found.append((rows[event.job], int(event.resource)))
    return found


def _check_record(study: HostStudy, record: HostRecord) -> Engine:
    """What holds of every study, whatever the host's order of events; a fresh engine of it."""
    limits = Limits(trials=study.trials)
    plan = Study(study.recipe, limits, goal=study.goal, initial=study.configs())
    engine, reached = Engine(plan), dict.fromkeys(range(study.trials), 0)
    stopped: set[int] = set()
    for event, decision in record.entries:
        again = engine.handle(event)
        assert again == decision, f"after {event} the adapter decided {decision}, not {again}"
        if isinstance(decision, StartJob):
            row = int(decision.job.config["row"])
            assert decision.job.start == reached[row], f"trial {row} did not start where it was"
            assert row not in stopped, f"trial {row} was stopped, and started again"
        elif isinstance(event, Reported):
            row = int(engine.jobs[event.job].config["row"])
            reached[row] = int(event.resource)
            expected = study.values[row][int(event.resource) - 1]
            same = event.value == expected or (math.isnan(event.value) and math.isnan(expected))
            assert same, f"trial {row} measured {expected}, but {event.value} was reported"
            assert isinstance(decision, (Continue, Pause, Stop))
            if isinstance(decision, Stop):
                stopped.add(row)
        elif isinstance(event, JobFailed):
            stopped.add(int(engine.jobs[event.job].config["row"]))
    assert engine.ended is not None, "the study has not ended"
    assert not engine.open_jobs, "a job has not left"
    _check_training(study, record.entries)
    return engine


def _check_training(study: HostStudy, entries: Sequence[Entry]) -> None:
    """The trials were trained as far as was reported, without a gap, and no further."""
    reports, trained = _list_reports(entries), study.list_trained()
    for row in range(study.trials):
        told = [resource for each, resource in reports if each == row]
        done = [resource for each, resource in trained if each == row]
        values = [study.values[row][resource - 1] for resource in done]
        if told or not any(math.isnan(value) for value in values):  # divergence may be a failure
            assert done == told, f"trial {row} was trained to {done}, but {told} was reported"
