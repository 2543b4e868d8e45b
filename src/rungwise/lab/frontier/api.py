"""``compare()``: every method against ASHA at equal resource.

Law of this file: the result depends on the settings alone, whatever the number of processes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

from rungwise import process_pools
from rungwise.errors import InvalidArgumentError, RungwiseError
from rungwise.lab.frontier.loading import Loader
from rungwise.lab.frontier.methods import GUESSES, METHODS
from rungwise.lab.frontier.results import Frontier, Run, Settings
from rungwise.lab.frontier.scores import (
    draw_line,
    find_groups,
    pick_guess,
    pick_method,
    score,
    score_group,
)
from rungwise.lab.frontier.studies import Tables, Task, choose_sizes, simulate_task
from rungwise.validation import whole

Progress = Callable[[int, int], None]
"""Called with (samples done, samples in total)."""


def compare(
    settings: Settings | None = None, *, processes: int = 1, progress: Progress | None = None
) -> Frontier:
    """Run every method on every table, and ASHA with more and more trials beside it.

    Args:
        settings: what is run.
        processes: how many processes run it. With more than one, call it from the main module
            under ``if __name__ == "__main__":``, since they start as new interpreters.
        progress: called after each sample of a table.
    """
    settings = _check(Settings() if settings is None else settings)
    whole("processes", processes, at_least=1)
    loader = Loader(settings.curves)
    cards = loader.find_cards(settings.benchmarks)
    batches = [
        tuple(Task(name, table_seed, seed) for seed in range(settings.seeds))
        for name, card in cards.items()
        for table_seed in range(len(card.seeds))
    ]
    total = sum(map(len, batches))
    found: dict[int, list[Run]] = {}
    for number, runs in _simulate(batches, loader, settings, min(processes, len(batches))):
        found[number] = runs
        if progress is not None:
            progress(sum(map(len, found.values())), total)
    runs = [run for number in range(len(batches)) for run in found[number]]
    return summarise(runs, settings)


def summarise(runs: Sequence[Run], settings: Settings) -> Frontier:
    """The scores of some runs."""
    by_name: dict[str, list[Run]] = {}
    for run in runs:
        by_name.setdefault(run.benchmark, []).append(run)
    groups = {
        group: [run for name in names for run in by_name[name]]
        for group, names in find_groups(by_name).items()
    }
    methods = settings.methods
    scored = tuple(score_group(name, members, methods) for name, members in groups.items())
    worst = {
        method: max(scored, key=lambda group, n=number: group.scores[n].gap).name  # type: ignore[misc]
        for number, method in enumerate(methods)
    }
    return Frontier(
        settings=settings,
        sizes=choose_sizes(settings.configs),
        groups=scored,
        scores=tuple(score(method, groups, pick_method(method)) for method in methods),
        worst=worst,
        line=draw_line(groups),
        guesses=tuple(score(guess.name, groups, pick_guess(guess.name)) for guess in GUESSES),
        runs=tuple(runs),
    )


def _check(settings: Settings) -> Settings:
    for name in settings.methods:
        if name not in METHODS:
            raise InvalidArgumentError("method", name, f"it must be one of {', '.join(METHODS)}")
    return replace(
        settings,
        methods=settings.methods or tuple(METHODS),
        seeds=whole("seeds", settings.seeds, at_least=1),
        configs=whole("configs", settings.configs, at_least=2),
        workers=whole("workers", settings.workers, at_least=1),
    )


def _simulate(
    batches: Sequence[tuple[Task, ...]], loader: Loader, settings: Settings, processes: int
) -> Iterator[tuple[int, list[Run]]]:
    """(number, runs) of each batch, when it is finished."""
    if processes == 1:
        for number, tasks in enumerate(batches):
            yield number, _simulate_batch(tasks, loader, settings)
        return
    pool = ProcessPoolExecutor(
        processes,
        mp_context=process_pools.spawn_context(),
        initializer=process_pools.die_with_parent,
    )
    given = [(each, loader, settings) for each in batches]
    yield from process_pools.run_in_pool(pool, _simulate_batch, given)


def _simulate_batch(tasks: Sequence[Task], loader: Loader, settings: Settings) -> list[Run]:
    """All samples of one table and training seed."""
    name = tasks[0].benchmark
    try:
        tables = Tables(loader.load(name), tasks[0].table_seed)
        return [simulate_task(task, tables, settings) for task in tasks]
    except RungwiseError as error:
        # As plain text: not every exception can be sent back from another process.
        raise RungwiseError(f"benchmark {name}: {error}") from None
