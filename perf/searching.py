"""What proposals cost: CPU seconds of a study of 256 configurations, and of one proposal.

    python perf/searching.py [--configs 256] [--observations 10,100,1000]

The study is ASHA with 4 workers on the recorded table `fashion-nas`, so that all CPU time beyond
random search's is the searcher's. Optuna's Gaussian process is the peer: it proposes through
`OptunaSearcher`, with the same observations and the same thread. Needs
rungwise[optuna] and torch.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence

import numpy as np

import rungwise as rw
from rungwise import benchmarks
from rungwise.core.searcher import Searcher
from rungwise.searchers import GP, KDE, TPE, OptunaSearcher, RandomSearcher
from rungwise.space import Space
from rungwise.testing.searchers import ListHistory, Observation

TABLE = "fashion-nas"
LEVELS = (1, 3, 9, 27, 81)
SHARES = (0.66, 0.22, 0.08, 0.03, 0.01)
"""How many trials stand at each level, about as under ASHA."""
SEARCHERS: dict[str, Callable[[], Searcher]] = {
    "random": RandomSearcher,
    "TPE": TPE,
    "KDE": KDE,
    "GP": GP,
    "Optuna TPE": lambda: OptunaSearcher("tpe"),
    "Optuna GP": lambda: OptunaSearcher("gp"),
}


class AtRungs(ListHistory):
    """A history whose trials are compared at the rungs."""

    @property
    def levels(self) -> Sequence[float]:
        """The rungs."""
        return LEVELS


def history_of(benchmark: benchmarks.Benchmark, count: int) -> AtRungs:
    """Random rows, each trained to some rung."""
    assert benchmark.space is not None
    assert benchmark.configs is not None
    rng = np.random.default_rng(0)
    values = np.nan_to_num(benchmark.values(0))
    trials = []
    for number in range(count):
        row, until = int(rng.integers(benchmark.rows)), int(rng.choice(LEVELS, p=SHARES))
        losses = (1 - values[row, :until]).tolist()
        resources = [float(e) for e in range(1, until + 1)]
        trials.append(Observation(number, benchmark.configs[row], resources, losses))
    return AtRungs(benchmark.space, trials)


def cpu_of(act: Callable[[int], object], repeats: int) -> float:
    """Mean CPU seconds of a call, after one that is not counted."""
    act(0)
    start = time.process_time()
    for number in range(repeats):
        act(number)
    return (time.process_time() - start) / repeats


def asking(searcher: Searcher, space: Space, history: ListHistory) -> Callable[[int], object]:
    """Asks for one proposal, with the seed that it is given."""
    return lambda number: searcher.propose(space, history, np.random.default_rng(number))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--configs", type=int, default=256, help="configurations of a study")
    parser.add_argument("--observations", default="10,100,1000", help="trials known already")
    parser.add_argument(
        "--searcher", action="append", choices=SEARCHERS, help="only this; may be repeated"
    )
    given = parser.parse_args()
    counts = [int(count) for count in given.observations.split(",")]
    benchmark = benchmarks.load(TABLE)
    table, space = benchmark.table(0), benchmark.space
    assert space is not None
    histories = {count: history_of(benchmark, count) for count in counts}
    heads = " | ".join(f"{count:,} known" for count in counts)
    print(f"| CPU seconds | {given.configs} configurations | a proposal, {heads} |")
    print("|---|---:|" + "---:|" * len(counts))
    for name in given.searcher or SEARCHERS:
        searcher = SEARCHERS[name]()
        times = [cpu_of(asking(searcher, space, histories[count]), 5) for count in counts]
        start = time.process_time()
        scheduler = rw.ASHA(max_resource=table.resources)
        rw.simulate(table, scheduler, searcher=searcher, trials=given.configs)
        total = time.process_time() - start
        cells = " | ".join(f"{seconds:.3f}" for seconds in times)
        print(f"| {name} | {total:.1f} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
