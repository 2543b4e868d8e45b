"""From outcomes to sections: one experiment on one benchmark under one protocol."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from rungwise.benchmarks.card import Card
from rungwise.lab.reproduction import paper
from rungwise.lab.reproduction.experiments import Experiment, methods_for, protocols_for
from rungwise.lab.reproduction.findings import (
    describe_part,
    find_better,
    find_losses,
    find_rivals,
    write_findings,
)
from rungwise.lab.reproduction.methods import Method
from rungwise.lab.reproduction.outcomes import choose_final_metric, figure
from rungwise.lab.reproduction.results import Outcome, PaperRow, Row, Section, Settings

Pairs = Sequence[tuple[Experiment, Card]]


def make_sections(
    pairs: Pairs, settings: Settings, outcomes: Sequence[Outcome]
) -> Iterator[Section]:
    """The sections of a plan, from its outcomes."""
    runs: dict[tuple[str, str], dict[str, list[Outcome]]] = {}
    for outcome in outcomes:
        methods = runs.setdefault((outcome.benchmark, outcome.protocol), {})
        methods.setdefault(outcome.method, []).append(outcome)
    for experiment, card in pairs:
        for protocol in protocols_for(experiment, settings):
            yield make_section(experiment, card, protocol, runs[card.name, protocol])


def make_section(
    experiment: Experiment, card: Card, protocol: str, runs: Mapping[str, Sequence[Outcome]]
) -> Section:
    """One experiment on one benchmark under one protocol."""
    report = choose_final_metric(card)
    rows = []
    for method in methods_for(experiment, card):
        own = runs[method.name]
        reference = runs.get(method.reference, ())
        found = paper.find(card.name, method.name, experiment.tables)
        label = experiment.label(method) if found is None else found.label
        rows.append(make_row(method, label, own, reference=reference, found=found))
    section = Section(
        experiment=experiment.name,
        title=experiment.title,
        benchmark=card.name,
        protocol=protocol,
        final_metric=report.metric,
        final_goal=report.goal,
        percent=report.percent,
        rows=tuple(rows),
        part=describe_part(card),
    )
    section = replace(section, rivals=find_rivals(section, runs), ahead=find_better(section, runs))
    return replace(section, notes=write_findings(section, runs), losses=find_losses(section))


def make_row(
    method: Method,
    label: str,
    outcomes: Sequence[Outcome],
    *,
    reference: Sequence[Outcome],
    found: PaperRow | None,
) -> Row:
    """One method over all its runs.

    The speed-up is the ratio of mean runtimes, as in the paper (for its epoch baselines on WMT
    43.7 h / 27.6 = 1.6 h and 43.7 h / 17.3 = 2.5 h, the runtimes it prints).
    """
    seconds = figure(outcome.seconds for outcome in outcomes)
    compared = figure(outcome.seconds for outcome in reference)
    return Row(
        method=method.name,
        label=label,
        n=len(outcomes),
        final=figure(outcome.final for outcome in outcomes),
        seconds=seconds,
        speedup=compared.mean / seconds.mean if seconds.mean > 0 and reference else None,
        max_resource=figure(outcome.max_resource for outcome in outcomes),
        spent=figure(outcome.spent for outcome in outcomes),
        better_share=figure(outcome.better_share for outcome in outcomes),
        regret=figure(outcome.regret for outcome in outcomes),
        untrained=sum(not outcome.trained for outcome in outcomes),
        paper=found,
    )
