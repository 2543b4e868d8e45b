"""The studies of one sample of one table, and the cache of the table they use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from rungwise.benchmarks.benchmark import Benchmark
from rungwise.benchmarks.table import Table
from rungwise.errors import RungwiseError
from rungwise.lab.reproduction.experiments import points_per_epoch
from rungwise.lab.reproduction.methods import METHODS, Case
from rungwise.lab.reproduction.outcomes import Finals, make_outcome
from rungwise.lab.reproduction.protocols import PROTOCOLS
from rungwise.lab.reproduction.results import Outcome
from rungwise.schedulers import FixedResource
from rungwise.simulation import simulate

Load = Callable[[str], Benchmark]
"""name → benchmark; it must be importable by name if there are several processes."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Studies on the same sample of the same table.

    Attributes:
        benchmark: the name of the benchmark.
        table_seed: which training seed.
        seed: which scheduler seed.
        runs: (method, protocol) of each study.
        configs: how many configurations are drawn.
        workers: how many are trained at the same time.
        nearest: whether they are drawn from the space and get the curve of the nearest row.
    """

    benchmark: str
    table_seed: int
    seed: int
    runs: tuple[tuple[str, str], ...]
    configs: int
    workers: int
    nearest: bool


class TableCache:
    """Keeps the current benchmark, so that consecutive chunks load it once.

    Args:
        load: where benchmarks come from.
    """

    def __init__(self, load: Load) -> None:
        self._load = load
        self._benchmark: Benchmark | None = None
        self._key: tuple[str, int, bool] | None = None
        self._fine: Table | None = None
        self._coarse: Table | None = None
        self._finals: Finals | None = None

    def load(self, chunk: Chunk) -> tuple[Table, Finals]:
        """The table of a chunk, and the final values of its rows."""
        if self._benchmark is None or self._benchmark.name != chunk.benchmark:
            self._key = None
            self._benchmark = self._load(chunk.benchmark)
        key = (chunk.benchmark, chunk.table_seed, chunk.nearest)
        if self._key != key or self._fine is None or self._finals is None:
            self._coarse = None
            self._fine = self._benchmark.table(chunk.table_seed, nearest=chunk.nearest)
            self._finals = Finals(self._benchmark, chunk.table_seed)
            self._key = key
        return self._fine, self._finals

    def load_coarse(self, chunk: Chunk) -> tuple[Table, int]:
        """The table of the loaded chunk at whole epochs, and how many points an epoch has."""
        assert self._benchmark is not None, "load it first"
        points = points_per_epoch(self._benchmark.card)
        if self._coarse is None:
            epochs = range(points, self._benchmark.resources + 1, points)
            self._coarse = self._benchmark.table(chunk.table_seed, resources=epochs)
        return self._coarse, points


def run_chunk(
    chunk: Chunk, cache: TableCache, *, cancelled: Callable[[], bool] = lambda: False
) -> list[Outcome]:
    """The outcomes of a chunk.

    Args:
        chunk: what to run.
        cache: loads its table.
        cancelled: called after each study, and during those that take long; if it returns True,
            that study and the remaining ones are left out.
    """
    outcomes = []
    try:
        for outcome in _run_studies(chunk, cache, cancelled):
            if cancelled():
                break
            outcomes.append(outcome)
    except _CancelledError:
        return outcomes
    except RungwiseError as error:
        # As plain text: not every exception can be sent back from another process.
        raise RungwiseError(f"benchmark {chunk.benchmark}: {error}") from None
    return outcomes


class _CancelledError(Exception):
    """The result of this study is no longer needed."""


def _run_studies(
    chunk: Chunk, cache: TableCache, cancelled: Callable[[], bool]
) -> Iterator[Outcome]:
    def raise_if_cancelled(*_: int) -> None:
        if cancelled():
            raise _CancelledError

    fine, finals = cache.load(chunk)
    sample = draw_sample(fine, chunk)
    for name, protocol in chunk.runs:
        method = METHODS[name]
        table, points = cache.load_coarse(chunk) if method.coarse else (fine, 1)
        case = Case(table, sample, PROTOCOLS[protocol], chunk.workers, chunk.seed)
        if method.plain:  # a model takes half a minute; in other studies the check is too slow
            case = replace(case, on_progress=raise_if_cancelled)
        labels = (chunk.benchmark, name, protocol, chunk.table_seed, chunk.seed)
        outcome = make_outcome(method.play(case), finals, sample=sample, labels=labels)
        # In the table's own units, so that whole epochs and their parts can be compared.
        yield replace(
            outcome,
            max_resource=points * outcome.max_resource,
            spent=points * outcome.spent,
            leads=tuple((points * spent, final) for spent, final in outcome.leads),
        )


def draw_sample(table: Table, chunk: Chunk) -> list[int]:
    """The rows that a seed draws, the same as :func:`rungwise.simulate` draws with it.

    If a table has fewer rows than the number of configurations, each row is drawn once.
    """
    number = chunk.configs if table.nearest else min(chunk.configs, table.rows)
    return simulate(table, FixedResource(1), trials=number, seed=chunk.seed).rows
