"""The studies of one sample of one table, and the shelf that keeps what they read."""

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
"""name → benchmark; it must be importable by name where there are several processes."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Studies on the same sample of the same table.

    Attributes:
        benchmark: the name of the benchmark.
        table_seed: which training seed.
        seed: which scheduler seed.
        runs: (method, protocol) of each study.
        configs: how many configurations are drawn.
        workers: how many train at a time.
        nearest: whether they are drawn from the space and answered by the nearest row.
    """

    benchmark: str
    table_seed: int
    seed: int
    runs: tuple[tuple[str, str], ...]
    configs: int
    workers: int
    nearest: bool


class Shelf:
    """Keeps the benchmark in hand, so that chunks that follow each other load it once.

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

    def take(self, chunk: Chunk) -> tuple[Table, Finals]:
        """The table of a chunk, and what its rows come to."""
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

    def coarse(self, chunk: Chunk) -> tuple[Table, int]:
        """The table of the chunk in hand at whole epochs, and how many points an epoch has."""
        assert self._benchmark is not None, "take it first"
        points = points_per_epoch(self._benchmark.card)
        if self._coarse is None:
            epochs = range(points, self._benchmark.resources + 1, points)
            self._coarse = self._benchmark.table(chunk.table_seed, resources=epochs)
        return self._coarse, points


def run_chunk(
    chunk: Chunk, shelf: Shelf, *, enough: Callable[[], bool] = lambda: False
) -> list[Outcome]:
    """The outcomes of a chunk.

    Args:
        chunk: what to run.
        shelf: where its table is.
        enough: asked after each study, and within those that take long; when it says so, that one
            and those that remain are left out.
    """
    outcomes = []
    try:
        for outcome in _studies(chunk, shelf, enough):
            if enough():
                break
            outcomes.append(outcome)
    except _EnoughError:
        return outcomes
    except RungwiseError as error:
        # As plain text: not every exception finds its way back from another process.
        raise RungwiseError(f"benchmark {chunk.benchmark}: {error}") from None
    return outcomes


class _EnoughError(Exception):
    """Nobody waits for this study any more."""


def _studies(chunk: Chunk, shelf: Shelf, enough: Callable[[], bool]) -> Iterator[Outcome]:
    def heed(*_: int) -> None:
        if enough():
            raise _EnoughError

    fine, finals = shelf.take(chunk)
    sample = draw_sample(fine, chunk)
    for name, protocol in chunk.runs:
        method = METHODS[name]
        table, points = shelf.coarse(chunk) if method.coarse else (fine, 1)
        case = Case(table, sample, PROTOCOLS[protocol], chunk.workers, chunk.seed)
        if method.plain:  # a model takes half a minute; to ask costs more than other studies do
            case = replace(case, on_progress=heed)
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

    A table with fewer rows than configurations asked for gives each of its rows once.
    """
    number = chunk.configs if table.nearest else min(chunk.configs, table.rows)
    return simulate(table, FixedResource(1), trials=number, seed=chunk.seed).rows
