"""``reproduce()``: plan the studies, run them, collect the results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rungwise.benchmarks import catalog, store
from rungwise.benchmarks.card import Card
from rungwise.errors import InvalidArgumentError, TableError
from rungwise.formatting import join_words
from rungwise.lab.reproduction import available, executor
from rungwise.lab.reproduction.experiments import (
    ALL,
    EXPERIMENTS,
    Experiment,
    chosen,
    plan,
    protocols_for,
    unfit,
)
from rungwise.lab.reproduction.findings import list_remarks
from rungwise.lab.reproduction.methods import METHODS
from rungwise.lab.reproduction.outcomes import choose_final_metric, everything
from rungwise.lab.reproduction.protocols import PROTOCOLS
from rungwise.lab.reproduction.results import Reproduction, Settings
from rungwise.lab.reproduction.sections import Pairs, make_sections
from rungwise.validation import must_be, one_of, whole


def reproduce(
    experiments: Sequence[str] = (ALL,),
    benchmarks: Sequence[str] | None = None,
    *,
    settings: Settings | None = None,
    processes: int = 1,
    progress: executor.Progress | None = None,
) -> Reproduction:
    """Run the paper's experiments on installed benchmarks.

    The same arguments give the same result, whatever the number of processes.

    Args:
        experiments: names from :data:`EXPERIMENTS`, or ``"all"``, which is all but ``"bo"``: that
            one takes tens of minutes.
        benchmarks: names of installed benchmarks; all of them by default, and then LCBench's 35
            are used only in the experiment about LCBench.
        settings: seeds, configurations, workers and protocols; the paper's by default. The
            experiments in it are replaced by those given here.
        processes: how many processes run it. With more than one, call it from the main module
            under ``if __name__ == "__main__":``, since they start as new interpreters.
        progress: called with (studies done, studies in total).
    """
    experiments = _texts("experiments", experiments)
    benchmarks = None if benchmarks is None else _texts("benchmarks", benchmarks)
    names = chosen(experiments)
    if not names:
        raise InvalidArgumentError("experiments", experiments, "at least one is required")
    settings = _check_settings(Settings(names) if settings is None else settings, names)
    settings = replace(settings, benchmarks=tuple(benchmarks or ()))
    cards = _cards(benchmarks)
    pairs = plan(names, list(cards.values()), everything=benchmarks is None)
    left_out = _left_out(experiments, names, cards, {experiment.name for experiment, _ in pairs})
    if not pairs:
        raise InvalidArgumentError("experiments", ", ".join(names), " ".join(left_out).rstrip("."))
    chunks = executor.plan_chunks(pairs, settings)
    outcomes = executor.run(chunks, processes=processes, progress=progress)
    used = {card.name: card for _, card in pairs}
    return Reproduction(
        sections=tuple(make_sections(pairs, settings, outcomes)),
        outcomes=tuple(outcomes),
        benchmarks=used,
        settings=settings,
        remarks={
            name: (
                *list_remarks(card, settings, nearest=executor.uses_nearest(card, settings)),
                *_describe_random_baseline(name, pairs),
            )
            for name, card in used.items()
        },
        left_out=left_out,
    )


def _texts(argument: str, given: Any) -> tuple[str, ...]:
    """Names, or a single one."""
    if isinstance(given, str):
        return (given,)
    if not isinstance(given, Sequence) or not all(isinstance(name, str) for name in given):
        raise InvalidArgumentError(argument, given, "it must be a name or a list of names")
    return tuple(given)


def _describe_random_baseline(name: str, pairs: Pairs) -> tuple[str, ...]:
    """The mean of the random baseline over all draws; a run has one draw, as in the paper."""
    run_here = [experiment for experiment, card in pairs if card.name == name]
    if name.startswith("lcbench-") or not any(
        "random" in experiment.methods for experiment in run_here
    ):
        return ()  # LCBench's many tables are described together
    benchmark = catalog.load(name)
    overall = everything(benchmark)
    if not choose_final_metric(benchmark.card).percent:
        return ()
    figures = f"{100 * overall.mean:.2f} ± {100 * overall.std:.2f} %"
    sentence = (
        "The random baseline is one draw per run, as in the paper; the mean over all "
        f"configurations of the table is {figures}."
    )
    return (sentence,)


def _check_settings(settings: Settings, names: tuple[str, ...]) -> Settings:
    must_be("settings", settings, Settings, "rungwise.lab.reproduction.Settings(…)")
    if not settings.protocols:
        raise InvalidArgumentError("protocols", settings.protocols, "at least one is required")
    for protocol in settings.protocols:
        one_of("protocol", protocol, tuple(PROTOCOLS))
    protocols = tuple(name for name in PROTOCOLS if name in settings.protocols)
    settings = replace(settings, protocols=protocols)
    used = {one for name in names for one in protocols_for(EXPERIMENTS[name], settings)}
    return replace(
        settings,
        experiments=names,
        protocols=tuple(name for name in protocols if name in used),
        seeds=whole("seeds", settings.seeds, at_least=1),
        configs=whole("configs", settings.configs, at_least=2),
        workers=whole("workers", settings.workers, at_least=1),
    )


def _cards(names: Sequence[str] | None) -> Mapping[str, Card]:
    """The cards of the benchmarks, in the order given; others may be damaged."""
    if names is None:
        cards = catalog.cards()
        if not cards:
            rule = (
                "it contains no benchmark: convert one (`rungwise benchmark convert`), or set "
                f"{catalog.VARIABLE} to the folder of your benchmarks"
            )
            raise TableError("data folder", str(catalog.data_folder()), rule)
        return cards
    if not names:
        raise InvalidArgumentError("benchmarks", names, "at least one is required")
    return {name: store.read_card(catalog.find(name).folder, name) for name in names}


def _left_out(
    asked: Sequence[str], names: Sequence[str], cards: Mapping[str, Card], run: set[str]
) -> tuple[str, ...]:
    """Why an experiment was not run at all, or not on a benchmark that was named."""
    sentences = []
    for name, experiment in EXPERIMENTS.items():
        title = f"{experiment.title} ({', '.join(filter(None, (name, experiment.whereabouts)))})"
        if name not in names:
            if ALL in asked:
                sentences.append(f"{title} was left out: {experiment.by_name_only}.")
        elif name == "lcbench" and name not in run:
            why = (
                "none of these benchmarks is from LCBench; download it with `rungwise benchmark "
                "fetch lcbench`"
            )
            sentences.append(f"{title} was left out: {why}.")
        elif name not in run:
            reasons = {unfit(experiment, card) for card in cards.values()} - {""}
            why = "; ".join(sorted(reasons)) or "no benchmark for it is installed"
            sentences.append(f"{title} was left out: {why}.")
        elif name in asked:
            sentences += _without_extras(experiment, title)
            for card in cards.values():
                if unfit(experiment, card):
                    reason = unfit(experiment, card)
                    sentences.append(f"{title} was left out on {card.name}: {reason}.")
    return tuple(sentences)


def _without_extras(experiment: Experiment, title: str) -> Iterator[str]:
    """Sentences about methods whose extra is not installed."""
    missing: dict[str, list[str]] = {}
    for method in (METHODS[name] for name in experiment.methods):
        if not available.is_installed(method.extra):
            missing.setdefault(method.extra, []).append(method.label)
    for extra, labels in missing.items():
        why = f"they need an extra: pip install 'rungwise[{extra}]'"
        yield f"Of {title}, {join_words(labels)} were left out: {why}."
