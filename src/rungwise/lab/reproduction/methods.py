"""The methods that the paper compares, by name.

A method is a name, the paper's label, and a recipe for a table of a given length under a given
protocol. To add one is to add a row to :data:`METHODS`, and its name to an experiment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from rungwise.benchmarks.table import Table
from rungwise.core.scheduler import Recipe
from rungwise.lab.reproduction import optuna_peer
from rungwise.lab.reproduction.protocols import Protocol
from rungwise.rankings import (
    ARRR,
    RBO,
    RRR,
    Exact,
    Noise,
    Ranking,
    Soft,
    SoftMean,
    SoftMedian,
    SoftSigma,
)
from rungwise.schedulers import ASHA, PASHA, FixedResource
from rungwise.searchers import GP, KDE, OptunaSearcher, Searcher
from rungwise.simulation import SimulationResult, simulate, untrained

ETA = 3
"""The reduction factor of the paper, except in the comparison of reduction factors."""

PEER = "optuna"
"""The name of a study that Optuna runs alone, with its own scheduler."""

Maker = Callable[[int, Protocol], Recipe]
"""(the table's length, the protocol) → a recipe."""


@dataclass(frozen=True, slots=True)
class Case:
    """One study to be simulated.

    Attributes:
        table: the curves.
        sample: the rows to be drawn, in order; the same for every method.
        protocol: how the study is run.
        workers: how many configurations are trained at the same time.
        seed: the scheduler's seed.
        on_progress: called with (trials drawn, trials in total) after every report, if given.
    """

    table: Table
    sample: Sequence[int]
    protocol: Protocol
    workers: int
    seed: int
    on_progress: Callable[[int, int], None] | None = None


Player = Callable[[Case], SimulationResult]
"""Runs one study."""


@dataclass(frozen=True, slots=True)
class Method:
    """One line of the paper's tables.

    Attributes:
        name: its name here.
        label: its name in the paper.
        play: runs it.
        reference: the method that its speed-up is relative to.
        at_least: how many resources a table must have for it.
        coarse: whether it uses whole epochs only, on tables that are recorded more finely.
        plain: for a method with a searcher, the same method with random draws; empty for a method
            that gets the sample.
        extra: the extra of rungwise that it needs.
    """

    name: str
    label: str
    play: Player
    reference: str = "asha"
    at_least: int = 1
    coarse: bool = False
    plain: str = ""
    extra: str = ""


def make_player(make: Maker, searcher: Searcher | None = None) -> Player:
    """A player that runs a recipe on the sample, or on the same number of rows from a searcher."""

    def play(case: Case) -> SimulationResult:
        return simulate(
            case.table,
            make(case.table.resources, case.protocol),
            trials=case.sample if searcher is None else len(case.sample),
            searcher=searcher,
            workers=case.workers,
            seed=case.seed,
            finish=case.protocol.finish,
            on_progress=case.on_progress,
        )

    return play


def at_random(case: Case) -> SimulationResult:
    """The paper's random baseline: the first configuration of the sample, without any training."""
    return untrained(case.sample, case.table.goal)


def asha(eta: int = ETA, share: int = 1, searcher: Searcher | None = None) -> Player:
    """ASHA up to the end of the table, or to a share of it."""
    return make_player(
        lambda resources, protocol: ASHA(
            max_resource=resources // share, eta=eta, promote=protocol.promote
        ),
        searcher,
    )


def pasha(
    ranking: Ranking | None = None,
    eta: int = ETA,
    share: int = 1,
    searcher: Searcher | None = None,
) -> Player:
    """PASHA with a criterion, the paper's by default."""
    criterion = Noise() if ranking is None else ranking
    return make_player(
        lambda resources, protocol: PASHA(
            max_resource=resources // share,
            eta=eta,
            ranking=criterion,
            promote=protocol.promote,
            check=protocol.check,
        ),
        searcher,
    )


def equally_long(resource: int) -> Player:
    """Every configuration is trained for the same few epochs."""
    return make_player(lambda _resources, _protocol: FixedResource(resource))


def _few_epochs() -> Iterable[Method]:
    for resource, word in ((1, "One"), (2, "Two"), (3, "Three"), (5, "Five")):
        play = equally_long(resource)
        yield Method(
            f"{word.lower()}-epoch", f"{word}-epoch baseline", play, at_least=max(1, resource)
        )


def _reduction_factors() -> Iterable[Method]:
    for eta in (2, 4):
        reference = f"asha-eta{eta}"
        yield Method(reference, f"ASHA, η={eta}", asha(eta), reference)
        yield Method(f"pasha-eta{eta}", f"PASHA, η={eta}", pasha(eta=eta), reference)


def _criteria() -> Iterable[Method]:
    """Appendix C.1, with the paper's parameters."""
    yield Method("direct", "PASHA direct ranking", pasha(Exact()))
    for epsilon in (0.01, 0.02, 0.025, 0.03, 0.05):
        name = f"soft-{epsilon:g}"
        yield Method(name, f"PASHA soft ranking ε={epsilon:g}", pasha(Soft(epsilon)))
    for k in (1, 2, 3):
        yield Method(f"soft-{k}sigma", f"PASHA soft ranking {k}σ", pasha(SoftSigma(k)))
    yield Method("soft-mean", "PASHA soft ranking mean distance", pasha(SoftMean()))
    yield Method("soft-median", "PASHA soft ranking median distance", pasha(SoftMedian()))
    for p in (1.0, 0.5):
        yield Method(f"rbo-{p}", f"PASHA RBO p={p}, t=0.5", pasha(RBO(p=p, t=0.5)))
    for p in (1.0, 0.5):
        yield Method(f"rrr-{p}", f"PASHA RRR p={p}, t=0.05", pasha(RRR(p=p, t=0.05)))
    for p in (1.0, 0.5):
        yield Method(f"arrr-{p}", f"PASHA ARRR p={p}, t=0.05", pasha(ARRR(p=p, t=0.05)))


def _percentiles() -> Iterable[Method]:
    for percentile in (100, 95, 80):
        play = pasha(Noise(percentile))
        yield Method(f"noise-{percentile}", f"PASHA N={percentile}%", play)


def _list_searched() -> Iterable[Method]:
    """Table 3, where the searcher is MOBSTER, and other searchers."""
    searchers: Sequence[tuple[str, str, Searcher, str]] = (
        ("bo", "GP", GP(), ""),
        ("kde", "KDE", KDE(), ""),
        ("tpe", "Optuna's TPE", OptunaSearcher("tpe"), "optuna"),
    )
    for name, label, searcher, extra in searchers:
        reference = f"asha-{name}"
        for plain, play in (("asha", asha(searcher=searcher)), ("pasha", pasha(searcher=searcher))):
            title = f"{plain.upper()} + {label}"
            yield Method(f"{plain}-{name}", title, play, reference, plain=plain, extra=extra)
    yield Method(PEER, "Optuna's Hyperband", optuna_peer.play, plain="asha", extra="optuna")


def _methods() -> Iterable[Method]:
    yield Method("asha", "ASHA", asha())
    yield Method("pasha", "PASHA", pasha())
    yield from _few_epochs()
    yield Method("random", "Random baseline", at_random)
    yield from _reduction_factors()
    yield from _criteria()
    yield from _percentiles()
    # A quarter of the table's length is the paper's 50 of 200 epochs.
    yield Method("asha-quarter", "ASHA, a quarter", asha(share=4), "asha-quarter", at_least=4)
    yield Method("pasha-quarter", "PASHA, a quarter", pasha(share=4), "asha-quarter", at_least=4)
    yield Method("asha-coarse", "ASHA, whole epochs", asha(), "asha-coarse", coarse=True)
    yield Method("pasha-coarse", "PASHA, whole epochs", pasha(), "asha-coarse", coarse=True)
    yield from _list_searched()


METHODS: Mapping[str, Method] = MappingProxyType({method.name: method for method in _methods()})
"""Every method, by name."""
