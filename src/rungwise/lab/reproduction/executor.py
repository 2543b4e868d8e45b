"""Run every study that is needed, once, in several processes.

Law of this file: the result depends on the plan alone. Studies are grouped into chunks of one
benchmark, one training seed and one scheduler seed, so that a process loads a table once for many
studies; the outcomes are in the order of the plan, whichever process computed them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.synchronize import Event

from rungwise import process_pools
from rungwise.benchmarks import catalog
from rungwise.benchmarks.card import Card
from rungwise.lab.reproduction.chunks import Chunk, Load, TableCache, run_chunk
from rungwise.lab.reproduction.experiments import Experiment, methods_for, protocols_for
from rungwise.lab.reproduction.methods import METHODS
from rungwise.lab.reproduction.results import Outcome, Settings
from rungwise.validation import whole

Progress = Callable[[int, int], None]
"""Called with (studies done, studies in total)."""

Runs = tuple[tuple[str, str], ...]
"""(method, protocol) of studies."""

SURROGATE = "1-nn"
"""The surrogate in a card's details, if any configuration of the space may be evaluated."""

PD1 = "pd1-"
"""The prefix of PD1's tasks: the paper evaluates them by the nearest neighbour."""


def uses_nearest(card: Card, settings: Settings) -> bool:
    """Whether configurations are drawn from the space of a benchmark instead of its rows."""
    says_so = str(card.details.get("surrogate", "")).lower() == SURROGATE
    return settings.nearest or says_so or card.name.startswith(PD1)


def plan_chunks(pairs: Sequence[tuple[Experiment, Card]], settings: Settings) -> list[Chunk]:
    """Every study that the experiments need, once, in a fixed order."""
    needed: dict[str, dict[tuple[str, str], None]] = {}
    cards = {card.name: card for _, card in pairs}
    for experiment, card in pairs:
        runs = needed.setdefault(card.name, {})
        for method in methods_for(experiment, card):
            protocols = protocols_for(experiment, settings)
            runs.update(dict.fromkeys((method.name, name) for name in protocols))
    return [
        Chunk(
            benchmark=name,
            table_seed=table_seed,
            seed=seed,
            runs=part,
            configs=settings.configs,
            workers=settings.workers,
            nearest=uses_nearest(cards[name], settings),
        )
        for name, runs in needed.items()
        for table_seed in range(len(cards[name].seeds))
        for seed in range(settings.seeds)
        for part in _parts(tuple(runs))
    ]


def _parts(runs: Runs) -> Iterator[Runs]:
    """The quick runs on the same sample together; each run with a searcher alone."""
    quick = tuple(run for run in runs if not METHODS[run[0]].plain)
    if quick:
        yield quick
    yield from ((run,) for run in runs if run not in quick)


def run(
    chunks: Sequence[Chunk],
    *,
    load: Load = catalog.load,
    processes: int = 1,
    progress: Progress | None = None,
) -> list[Outcome]:
    """The outcomes of all chunks, in their order.

    Args:
        chunks: what to run.
        load: loads a benchmark.
        processes: how many processes run them; with one, it is the current process.
        progress: called after each chunk.
    """
    whole("processes", processes, at_least=1)
    total = sum(len(chunk.runs) for chunk in chunks)
    done = 0
    found: dict[int, list[Outcome]] = {}
    for number, outcomes in _run_chunks(chunks, load, min(processes, len(chunks))):
        found[number] = outcomes
        done += len(outcomes)
        if progress is not None:
            progress(done, total)
    return [outcome for number in range(len(chunks)) for outcome in found[number]]


def _run_chunks(
    chunks: Sequence[Chunk], load: Load, processes: int
) -> Iterator[tuple[int, list[Outcome]]]:
    """(number, outcomes) of each chunk, when it is finished."""
    if processes <= 1:
        cache = TableCache(load)
        for number, chunk in enumerate(chunks):
            yield number, run_chunk(chunk, cache)
        return
    context = process_pools.spawn_context()
    cancel = context.Event()
    pool = ProcessPoolExecutor(
        processes, mp_context=context, initializer=_init_worker, initargs=(load, cancel)
    )
    tasks = [(each,) for each in chunks]
    yield from process_pools.run_in_pool(pool, _run_in_worker, tasks, cancel=cancel.set)


# -- within a worker process --------------------------------------------------------------------

_WORKER_STATE: list[tuple[TableCache, Event]] = []
"""The state of a worker process: one entry once it is initialised."""


def _init_worker(load: Load, cancel: Event) -> None:
    _WORKER_STATE.append((TableCache(load), cancel))
    process_pools.die_with_parent()


def _run_in_worker(chunk: Chunk) -> list[Outcome]:
    cache, cancel = _WORKER_STATE[0]
    return run_chunk(chunk, cache, cancelled=cancel.is_set)
