"""Optuna itself, as a user would run it: its TPE proposes, its Hyperband prunes, n_jobs workers.

No part of rungwise decides here. The study is Optuna's, in memory; this file only adds virtual
time: each worker has a trial and trains a row of the table, and after every unit of resource it
reports and asks whether to continue, as the loop of an objective does.

The differences from a user's script: a proposal becomes the nearest row of the table that was not
drawn yet, and the parameters of the trial are set to those of that row, so that Optuna learns from
what was trained. Steps count from 1, so that Hyperband's minimum resource of 1 is one unit. Optuna
assigns brackets by the name of the study, so the name follows from the seed.

Reference:
    Akiba et al. (2019), Optuna: a next-generation hyperparameter optimization framework;
    Li et al. (2018), Hyperband: a novel bandit-based approach to hyperparameter optimization.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

from rungwise.benchmarks.row_proposer import RowAssigner
from rungwise.benchmarks.table import Table
from rungwise.errors import InvalidArgumentError
from rungwise.searchers.optuna import has_choice, suggest_config, to_distribution
from rungwise.searchers.samplers import library, silence_optuna
from rungwise.simulation import Best, SimulationResult
from rungwise.space import Choice
from rungwise.validation import find_sign
from rungwise.views import StudyView
from rungwise.views.ended import EndedStudy

if TYPE_CHECKING:
    from rungwise.lab.reproduction.methods import Case

ETA = 3
"""Hyperband's reduction factor; it is Optuna's default as well."""


def play(case: Case) -> SimulationResult:
    """One study of Optuna; the protocol does not matter, it ends when all its trials have ended.

    The choice is Optuna's ``best_trial``: the best final value of the trials that were trained in
    full. If there is none, it is the best last value of the pruned ones.
    """
    with silence_optuna():
        return _Peer(case.table, trials=len(case.sample), seed=case.seed).run(case.workers)


@dataclass(slots=True)
class _Run:
    """A running trial."""

    trial: Any
    row: int
    values: list[float]
    seconds: list[float]
    done: int = 0


@dataclass(slots=True)
class _Course:
    """What has happened so far."""

    now: float = 0.0
    scheduled: int = 0
    agenda: list[tuple[float, int, _Run]] = field(default_factory=list)
    spent: int = 0
    ended: dict[int, _Run] = field(default_factory=dict)


class _Peer:
    """A study of Optuna over a table."""

    def __init__(self, table: Table, *, trials: int, seed: int) -> None:
        if table.space is None or table.configs is None:
            rule = "it must have configurations and a space for Optuna to search in"
            raise InvalidArgumentError("table", table, rule)
        optuna = library()
        self._table = table
        self._space = table.space
        self._configs = table.configs
        self._trials = trials
        self._rows = RowAssigner(table)
        self._course = _Course()
        self._storage = optuna.storages.InMemoryStorage()
        name = f"rungwise-{seed}"
        self._study = optuna.create_study(
            study_name=name,
            storage=self._storage,
            direction="minimize" if table.goal == "min" else "maximize",
            sampler=optuna.samplers.TPESampler(seed=seed),
            pruner=optuna.pruners.HyperbandPruner(
                min_resource=1, max_resource=table.resources, reduction_factor=ETA
            ),
        )
        self._id = self._storage.get_study_id_from_name(name)

    def run(self, workers: int) -> SimulationResult:
        course = self._course
        for _ in range(min(workers, self._trials)):
            self._start()
        while course.agenda:
            course.now, _, run = heappop(course.agenda)
            if self._train(run):
                self._schedule(run)
            elif len(self._rows.drawn) < self._trials:
                self._start()
        return self._result()

    def _start(self) -> None:
        """Start a trial on a free worker."""
        trial = self._study.ask()
        proposed = suggest_config(self._space, trial)
        row = self._rows.draw(proposed)
        if not self._table.nearest:
            self._correct(trial, self._configs[row])
        self._schedule(_Run(trial, row, *self._table.leg(row, 0, self._table.resources)))

    def _schedule(self, run: _Run) -> None:
        # At equal times, the one scheduled first is first, as in rungwise's simulator.
        course = self._course
        course.scheduled += 1
        heappush(course.agenda, (course.now + run.seconds[run.done], course.scheduled, run))

    def _train(self, run: _Run) -> bool:
        """Train one unit of resource; returns whether the trial continues.

        A value of NaN is reported as it is: Optuna prunes the trial at its next rung, and a trial
        that ends with NaN fails.
        """
        value = run.values[run.done]
        run.done += 1
        self._course.spent += 1
        run.trial.report(value, run.done)
        if run.trial.should_prune():
            self._study.tell(run.trial, state=library().trial.TrialState.PRUNED)
        elif run.done == len(run.values):
            self._study.tell(run.trial, value)
        else:
            return True
        self._course.ended[run.trial.number] = run
        return False

    def _correct(self, trial: Any, config: Mapping[str, Any]) -> None:
        """Set the trial's parameters to those of its row."""
        number = self._storage.get_trial_id_from_study_id_trial_number(self._id, trial.number)
        for parameter in self._space.parameters:
            name, domain = parameter.name, parameter.domain
            if name in config and has_choice(domain):
                value = domain.index(config[name]) if isinstance(domain, Choice) else config[name]
                distribution = to_distribution(domain)
                internal = distribution.to_internal_repr(value)
                self._storage.set_trial_param(number, name, internal, distribution)

    def _result(self) -> SimulationResult:
        best, how = self._best()
        ended = [self._course.ended[number] for number in sorted(self._course.ended)]
        why = f"The study ended because all trials of Optuna had ended; its choice is {how}."
        curves = [({"row": run.row}, run.values[: run.done]) for run in ended]
        return SimulationResult(
            best=best,
            seconds=self._course.now,
            max_resource=max(run.done for run in ended),
            resource_spent=self._course.spent,
            reports=self._course.spent,
            jobs=[(run.row, 0, run.done) for run in ended],
            ceilings=[(0, self._table.resources)],
            epsilons=[],
            rows=self._rows.drawn,
            view=StudyView(EndedStudy.from_curves(curves, self._table.goal, why)),
        )

    def _best(self) -> tuple[Best | None, str]:
        """The configuration that a user would choose, and how it was found."""
        states = library().trial.TrialState
        how = "its best trial of those trained in full"
        if self._study.get_trials(deepcopy=False, states=(states.COMPLETE,)):
            number = self._study.best_trial.number
        else:
            how = "the best by its last value, since no trial was trained in full"
            sign = find_sign(self._table.goal)
            last = {number: run.values[run.done - 1] for number, run in self._course.ended.items()}
            losses = [(sign * value, n) for n, value in last.items() if math.isfinite(value)]
            if not losses:
                return None, "none, since nothing finite was reported last"
            number = min(losses)[1]
        run = self._course.ended[number]
        value = run.values[run.done - 1]
        return Best(number, {"row": run.row}, value, run.done, row=run.row), how
