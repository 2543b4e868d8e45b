"""The experiments of the paper: which methods are compared, and in which tables of the paper.

A new method goes to :mod:`rungwise.lab.reproduction.methods` and its name to ``methods`` below.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from rungwise.benchmarks.card import Card
from rungwise.errors import InvalidArgumentError
from rungwise.formatting import join_words
from rungwise.lab.reproduction import available
from rungwise.lab.reproduction.methods import METHODS, PEER, Method
from rungwise.lab.reproduction.paper import LCBENCH, find_number
from rungwise.lab.reproduction.protocols import PAPER
from rungwise.lab.reproduction.results import Settings

ALL = "all"
"""The name for all experiments that are run by default."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """A comparison of methods.

    Attributes:
        name: its name on the command line.
        title: what is compared.
        methods: the names of the methods, in the paper's order.
        tables: the labels of the paper's tables with their figures.
        labels: labels of methods that differ from their usual ones in this comparison.
        by_name_only: why it is run only if it is named (and under the paper's protocol unless
            another is given); empty for all others.
    """

    name: str
    title: str
    methods: tuple[str, ...]
    tables: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    by_name_only: str = ""

    def label(self, method: Method) -> str:
        """The label of a method in this comparison."""
        return self.labels.get(method.name, method.label)

    @property
    def whereabouts(self) -> str:
        """The paper's tables with these figures: ``the paper's table 1``; empty if it has none."""
        numbers = [str(number) for number in sorted({find_number(name) for name in self.tables})]
        if not numbers:
            return ""
        return f"the paper's table{'s' * (len(numbers) > 1)} {join_words(numbers)}"


_CRITERIA = (
    "direct",
    *(f"soft-{epsilon:g}" for epsilon in (0.01, 0.02, 0.025, 0.03, 0.05)),
    *("soft-1sigma", "soft-2sigma", "soft-3sigma", "soft-mean", "soft-median"),
    *("rbo-1.0", "rbo-0.5", "rrr-1.0", "rrr-0.5", "arrr-1.0", "arrr-0.5"),
)
_MAIN = ("nas201", "hpo_experiments_pd1")

_EXPERIMENTS = (
    Experiment(
        "table1",
        "PASHA, ASHA and the baselines",
        ("asha", "pasha", "one-epoch", "random"),
        _MAIN,
    ),
    Experiment(
        "eta",
        "Reduction factors",
        ("asha-eta2", "pasha-eta2", "asha", "pasha", "asha-eta4", "pasha-eta4"),
        ("reduction_factor_full", "reduction_factor", *_MAIN),  # η=3 is in the main tables
        {"asha": "ASHA, η=3", "pasha": "PASHA, η=3"},
    ),
    Experiment(
        "rankings",
        "Ranking functions",
        ("asha", "pasha", *_CRITERIA, "one-epoch", "random"),
        (
            *("cifar10_rank_f", "cifar100_rank_f", "imagenet16_rank_f", "pd1_rank_f"),
            "cifar100_rank_f_subset",
        ),
    ),
    Experiment(
        "epochs",
        "A few epochs for every configuration",
        ("asha", "pasha", "one-epoch", "two-epoch", "three-epoch", "five-epoch", "random"),
        ("nas201_epoch_baselines_more_baselines", "hpo_experiments_more_baselines"),
    ),
    Experiment(
        "percentiles",
        "The percentile of the noise that is ε",
        ("asha", "noise-100", "noise-95", "pasha", "noise-80", "one-epoch", "random"),
        ("nas201pc",),
        {"pasha": "PASHA N=90%"},
    ),
    Experiment(
        "resources",
        "The maximum resource: all of it against a quarter",
        ("asha", "pasha", "asha-quarter", "pasha-quarter"),
        ("nas201-50e",),
        {"asha": "ASHA, all", "pasha": "PASHA, all"},
    ),
    Experiment(
        "granularity",
        "Resources finer than an epoch",
        ("asha-coarse", "pasha-coarse", "asha", "pasha"),
        (),
        {"asha": "ASHA, fine", "pasha": "PASHA, fine"},
    ),
    Experiment(
        "lcbench",
        "LCBench",
        ("asha", "pasha", "one-epoch", "random"),
        ("lcbench_experiments",),
    ),
    Experiment(
        "bo",
        "Bayesian optimisation",
        (
            *("asha", "pasha", "asha-bo", "pasha-bo", "asha-kde", "pasha-kde"),
            *("asha-tpe", "pasha-tpe", PEER),
        ),
        ("nasbench_BO",),
        {"asha": "ASHA, random", "pasha": "PASHA, random"},
        by_name_only="it takes tens of minutes, so it is run only by name (rungwise reproduce bo)",
    ),
)

EXPERIMENTS: Mapping[str, Experiment] = MappingProxyType(
    {experiment.name: experiment for experiment in _EXPERIMENTS}
)
"""Every experiment, by name, in the order they are reported."""


def chosen(names: Sequence[str]) -> tuple[str, ...]:
    """The experiments of these names, in the order they are reported.

    ``"all"`` means all except those that are run by name only.
    """
    for name in names:
        if name != ALL and name not in EXPERIMENTS:
            rule = f"it must be {ALL} or one of {', '.join(EXPERIMENTS)}"
            raise InvalidArgumentError("experiment", name, rule)
    return tuple(
        name
        for name, experiment in EXPERIMENTS.items()
        if name in names or (ALL in names and not experiment.by_name_only)
    )


def shortest(names: Sequence[str]) -> tuple[str, ...]:
    """The shortest list of names for which :func:`chosen` returns these experiments."""
    usual = chosen((ALL,))
    if not set(usual) <= set(names):
        return tuple(names)
    return (ALL, *(name for name in names if name not in usual))


def protocols_for(experiment: Experiment, settings: Settings) -> tuple[str, ...]:
    """The protocols that an experiment is run under."""
    if experiment.by_name_only and not settings.everywhere and PAPER.name in settings.protocols:
        return (PAPER.name,)
    return settings.protocols


def points_per_epoch(card: Card) -> int:
    """How many points per epoch a benchmark has; 1 if its card does not say."""
    points = card.details.get("points_per_epoch", 1)
    return points if type(points) is int and points >= 1 else 1


def unfit(experiment: Experiment, card: Card) -> str:
    """Why an experiment cannot be run on a benchmark; empty if it can."""
    if experiment.name == "granularity" and points_per_epoch(card) < 2:
        return "its curves have at most one point per epoch"
    if experiment.name == "granularity" and card.resources < points_per_epoch(card):
        return "its curves are shorter than one epoch"
    if experiment.name == "lcbench" and not card.name.startswith(LCBENCH):
        return "it is not a data set of LCBench"
    if experiment.name == "bo" and card.space is None:
        return "its table has no search space to search in"
    return ""


def plan(
    experiments: Sequence[str], cards: Sequence[Card], *, everything: bool
) -> list[tuple[Experiment, Card]]:
    """Which experiment is run on which benchmark.

    Args:
        experiments: the names of experiments.
        cards: the cards of the benchmarks.
        everything: whether no benchmarks were named; then LCBench's 35 are used only in the
            experiment about LCBench.
    """
    pairs = []
    for name in experiments:
        experiment = EXPERIMENTS[name]
        for card in cards:
            elsewhere = everything and name != "lcbench" and card.name.startswith(LCBENCH)
            if experiment.methods and not elsewhere and not unfit(experiment, card):
                pairs.append((experiment, card))
    return pairs


def methods_for(experiment: Experiment, card: Card) -> list[Method]:
    """The methods of an experiment that fit the length of a benchmark and are installed."""
    methods = (METHODS[name] for name in experiment.methods)
    return [
        method
        for method in methods
        if method.at_least <= card.resources and available.is_installed(method.extra)
    ]
