"""Simulate a study on a table of learning curves, in virtual time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rungwise.backends.simulator import Simulator
from rungwise.benchmarks.row_proposer import RowProposer
from rungwise.benchmarks.table import Table
from rungwise.core.codec import jsonable
from rungwise.core.engine import Engine
from rungwise.core.limits import Finish, Limits
from rungwise.core.scheduler import Recipe
from rungwise.core.searcher import Searcher
from rungwise.core.seeding import generator
from rungwise.core.study import Study
from rungwise.driver import Driver, Hooks
from rungwise.errors import InvalidArgumentError
from rungwise.options.registry import SEARCHERS
from rungwise.options.scheduler_options import choose_scheduler
from rungwise.schedulers import FixedResource
from rungwise.searchers import AmongRows
from rungwise.searchers.checking import check_searcher
from rungwise.space import Space
from rungwise.storage.base import EventLog
from rungwise.validation import Goal, must_be, one_of, whole
from rungwise.views import BestTrial, StudyResult, StudyView, Winner
from rungwise.views.ended import EndedStudy


@dataclass(frozen=True, slots=True)
class Best(BestTrial):
    """The best configuration that a simulated study found; it has no checkpoint.

    Attributes:
        config: what was drawn: ``{"row": …}``, or what a searcher proposed.
        value: the value that it won by, as the table has it; NaN where nothing was trained.
        row: its row of the table.
    """

    resource: int
    row: int = field(kw_only=True)


def _nothing() -> StudyView:
    return StudyView(EndedStudy.from_curves((), "min"))


@dataclass(frozen=True, slots=True)
class SimulationResult(StudyResult):
    """The result of a simulated study.

    Attributes:
        best: the best configuration, None if nothing finite was reported.
        seconds: how long the study took, in virtual time.
        max_resource: how far the furthest configuration was trained.
        resource_spent: the resource trained in total.
        reports: how many reports there were.
        jobs: [(row, start, until), …] in the order issued.
        ceilings: [(number of reports so far, level), …], from the first ceiling on.
        epsilons: [(number of reports so far, ε), …] whenever a check used ε and it had
            changed; empty if the criterion has none.
        rows: the rows drawn, in order.
        leads: [(the resource spent by then, row), …] whenever another row became the best.
        view: the whole study, for reading. It is ignored when results are compared.
    """

    # field(): without it, the dataclass would use the property of the base class as a default.
    best: Best | None = field()
    seconds: float = field()
    max_resource: int = field()
    resource_spent: int = field()
    reports: int = field()
    jobs: list[tuple[int, int, int]]
    ceilings: list[tuple[int, int]] = field()  # type: ignore[assignment]  # levels are whole here
    epsilons: list[tuple[int, float]] = field()
    rows: list[int]
    leads: list[tuple[int, int]] = field(default_factory=list)
    view: StudyView = field(default_factory=_nothing, compare=False, repr=False)

    @property
    def trials(self) -> int:
        """How many rows were drawn."""
        return len(self.rows)

    def to_json(self, *, top: int | None = 10) -> dict[str, Any]:
        """Everything as plain JSON values; what is not finite is null.

        Args:
            top: how many rows of the leaderboard; None for all.
        """
        # Not super(): a dataclass with slots is another class than the one this was written in.
        document = StudyResult.to_json(self, top=top)
        more = {"jobs": self.jobs, "rows": self.rows, "leads": self.leads}
        return {**document, **jsonable(more)}


def simulate(
    table: Table,
    scheduler: Recipe | str,
    *,
    trials: int | Sequence[int],
    searcher: Searcher | str | None = None,
    workers: int = 4,
    seed: int = 0,
    finish: Finish = "drain",
    stall: int | None = None,
    winner: Winner | None = None,
    log: EventLog | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> SimulationResult:
    """Run a study on a table, in virtual time: same arguments, same result.

    Args:
        table: the learning curves.
        scheduler: decides what is trained next and how far, for example
            ``rw.PASHA(max_resource=200)``, or its name, ``"asha"``; without a maximum, the table's
            last resource is the maximum.
        trials: how many rows are drawn at random, each once before any is repeated; or the row
            numbers, in the order to be drawn. From a table with ``nearest``, this number of
            configurations is drawn from its space, as the paper does on PD1, and each gets the
            curve of the nearest row; so a row may be used more than once.
        searcher: proposes what is drawn, for example ``rw.searchers.GP()`` or ``"gp"``, if the
            table has configurations and a space; each proposal becomes the nearest row that was
            not drawn yet, or, with a table with ``nearest``, gets the curve of the nearest row.
            Rows are drawn at random by default.
        workers: how many configurations are trained at the same time.
        seed: which rows are drawn.
        finish: ``"drain"``: end when nothing more can be promoted; ``"paper"``: end as soon as
            the last configuration has started, as in the paper's experiments.
        stall: draw no further row once this number in a row have not improved on the best.
        winner: which row wins: ``"top"``, the best of those at the highest rung, or ``"best"``, the
            best value at any resource; by default what suits the scheduler.
        log: stores every event and decision, if given.
        on_progress: called with (trials drawn, trials in total) after every report.

    Example:
        >>> import rungwise as rw
        >>> table = rw.power_laws(rows=64, resources=81, seed=1)
        >>> result = rw.simulate(table, rw.PASHA(max_resource=81), trials=64, workers=4)
        >>> result.max_resource <= 81
        True
    """
    must_be("table", table, Table, "a rungwise.Table")
    recipe, _ = choose_scheduler(scheduler, {})
    proposer = SEARCHERS.resolve("searcher", searcher)
    whole("workers", workers, at_least=1)
    whole("seed", seed, at_least=0)
    if winner is not None:
        one_of("winner", winner, ("top", "best"))
    recipe = _within(recipe, table)
    engine, rows, number = _make_engine(table, recipe, trials, proposer, (seed, finish, stall))
    if log is not None:
        log.begin(engine.study)
    simulator = Simulator(table, workers=workers, rows=rows)
    on_fact = None
    if on_progress is not None:
        notify = on_progress

        def on_fact(*_: object) -> None:
            notify(len(engine.trials), number)

    Driver(engine, simulator, log=log, hooks=Hooks(on_fact=on_fact)).run()
    return make_result(engine, rows, seconds=simulator.now, winner=winner)


def _make_engine(
    table: Table, scheduler: Recipe, trials: Any, searcher: Searcher | None, settings: Any
) -> tuple[Engine, list[int], int]:
    """The engine, the row of each trial (a list that grows), and how many trials there will be."""
    seed, finish, stall = settings
    if searcher is None:
        rows = _choose_rows(table, trials, seed)
        limits = Limits(trials=len(rows), finish=finish, stall=stall)
        initial = [{"row": row} for row in rows]
        study = Study(scheduler, limits, goal=table.goal, initial=initial, seed=seed)
        return Engine(study), rows, len(rows)
    number = whole("trials", trials, at_least=1)
    limits = Limits(trials=number, finish=finish, stall=stall)
    study = Study(
        scheduler, limits, goal=table.goal, space=_find_space(table, searcher),
        searcher=searcher if table.nearest else AmongRows(searcher),
        seed=seed,
    )  # fmt: skip
    engine = Engine(study)
    among = RowProposer(engine.proposals, table)
    engine.proposer = among
    return engine, among.rows, number


def make_result(
    engine: Engine, rows: Sequence[int], *, seconds: float, winner: Winner | None = None
) -> SimulationResult:
    """What an engine that has simulated rows came to."""
    ended = EndedStudy.record(engine)
    view = StudyView(ended, winner=winner)
    found, best = view.best, None
    if found is not None:
        at, row = int(found.resource), rows[found.trial]
        values = found.config, found.value, at
        peak = found.peak_value, found.peak_resource
        best = Best(found.trial, *values, *peak, problem=found.problem, row=row)
    return SimulationResult(
        best=best,
        seconds=seconds,
        max_resource=int(max((trial.resource for trial in engine.trials), default=0)),
        resource_spent=int(engine.spent),
        reports=engine.reports,
        jobs=[(rows[job.trial], int(job.start), int(job.until)) for job in engine.jobs],
        ceilings=[(reports, int(level)) for reports, level in engine.scheduler.ceilings],
        epsilons=list(engine.scheduler.epsilons),
        rows=list(rows[: len(engine.trials)]),
        leads=[(int(spent), rows[trial]) for spent, trial in engine.leads],
        view=view,
    )


def random_configuration(table: Table, *, seed: int = 0) -> SimulationResult:
    """The paper's random baseline: a configuration drawn at random, without any training.

    It is the first row that :func:`simulate` draws with the same seed.

    Args:
        table: where it is drawn from.
        seed: which one.
    """
    must_be("table", table, Table, "a rungwise.Table")
    whole("seed", seed, at_least=0)
    return untrained(_choose_rows(table, 1, seed), table.goal)


def untrained(rows: Sequence[int], goal: Goal) -> SimulationResult:
    """The result of choosing the first of the rows drawn, without any training.

    Args:
        rows: the rows drawn, in order.
        goal: of the table they are from.
    """
    why = "The study ended because a configuration was drawn at random; nothing was trained."
    ended = EndedStudy.from_curves([({"row": row}, ()) for row in rows], goal, why)
    return SimulationResult(
        best=Best(0, {"row": rows[0]}, float("nan"), 0, row=rows[0]),
        seconds=0.0,
        max_resource=0,
        resource_spent=0,
        reports=0,
        jobs=[],
        ceilings=[(0, 0)],
        epsilons=[],
        rows=list(rows),
        view=StudyView(ended),
    )


def _within(scheduler: Recipe, table: Table) -> Recipe:
    """The scheduler with a maximum; an error if the table's curves are shorter."""
    if scheduler.max_resource is None:
        scheduler = scheduler.limited_to(table.resources)
    furthest = scheduler.max_resource
    if furthest is not None and furthest > table.resources:
        # The error names the option that the baseline has: resource or max_resource.
        name = "resource" if isinstance(scheduler, FixedResource) else "max_resource"
        rule = f"the table's curves end at resource {table.resources}"
        raise InvalidArgumentError(name, furthest, rule)
    return scheduler


def _find_space(table: Table, searcher: Searcher) -> Space:
    must_be("searcher", searcher, Searcher, "a searcher such as rungwise.searchers.GP()")
    if table.space is None or table.configs is None:
        rule = "the table has no configurations or no space to search in"
        raise InvalidArgumentError("searcher", searcher, rule)
    check_searcher(searcher, table.space)
    return table.space


def _choose_rows(table: Table, trials: Any, seed: int) -> list[int]:
    if isinstance(trials, (bytes, str)) or not isinstance(trials, (Sequence, np.ndarray)):
        number = _number_of_rows(trials)
        if table.nearest:
            return _nearest_rows(table, number, seed)
        drawn: list[int] = []
        while len(drawn) < number:  # all rows once, then all again
            rng = generator(seed, "rows", len(drawn) // table.rows)
            drawn += rng.permutation(table.rows).tolist()
        return drawn[:number]
    if np.ndim(trials) != 1:
        raise InvalidArgumentError("trials", trials, "row numbers must be a flat sequence")
    rows = [whole("trials", row, at_least=0) for row in trials]
    if not rows:
        raise InvalidArgumentError("trials", trials, "it must contain at least one row number")
    for row in rows:
        if row >= table.rows:
            rule = f"the table has the rows 0 to {table.rows - 1}"
            raise InvalidArgumentError("trials", row, rule)
    return rows


def _nearest_rows(table: Table, number: int, seed: int) -> list[int]:
    """The rows of configurations drawn from the space."""
    assert table.space is not None
    # The generators are those of a study: a random search with this seed draws the same, except
    # that in a finite space it avoids repetitions.
    rngs = (generator(seed, "searcher", trial) for trial in range(number))
    return table.find_rows([table.space.sample(rng) for rng in rngs])


def _number_of_rows(trials: Any) -> int:
    try:
        return whole("trials", trials, at_least=1)
    except InvalidArgumentError as error:
        rule = f"{error.rule}, or a sequence of row numbers"
        raise InvalidArgumentError("trials", trials, rule) from None
