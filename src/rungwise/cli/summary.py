"""The result of a study as text: the winner, why, what was spent, rungs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.markup import escape

from rungwise.cli.tables import print_columns
from rungwise.core.codec import jsonable
from rungwise.formatting import (
    format_amount,
    format_count,
    format_place,
    format_runtime,
    format_value,
    strip_controls,
)
from rungwise.session.failure_text import describe_failure
from rungwise.tuning.result import TuningResult


def result_to_json(result: TuningResult, *, top: int = 10) -> dict[str, Any]:
    """A result as plain JSON values."""
    return result.to_json(top=top)


def print_summary(
    console: Console, result: TuningResult, *, why: bool = True, explain: bool = False
) -> None:
    """The winner, how the study stands (unless that was shown), what it cost, and how to go on.

    Args:
        console: where to.
        result: the study.
        why: whether its headline is printed.
        explain: whether the rule behind it is, too.
    """
    view = result.view
    if view.best is None:
        console.print("[bold]No trial has reported a finite value.[/bold]")
    else:
        _print_best(console, result)
    if why:
        console.print(line(f"{result.why} {result.numbers}".rstrip()))
    if explain:
        console.print(line(result.rule))
    if view.way_on and not view.ended:
        console.print(f"Go on with: {line(view.way_on)}", soft_wrap=True)
    tags, note = result.labels
    if tags:
        console.print(f"Tags: {line(', '.join(tags))}", soft_wrap=True)
    if note:
        console.print(f"Note: {line(note)}", soft_wrap=True)
    failed = f", {len(result.failures)} failed attempts" if result.failures else ""
    again = view.resource_repeated
    repeated = f" ({again:g} of them trained again, without a checkpoint)" if again else ""
    spent = format_amount(result.resource_spent, view.unit)
    console.print(
        f"{format_count(result.trials, 'trial')}, {format_count(result.reports, 'report')}, "
        f"{line(spent)}{repeated}, {format_runtime(result.seconds)}{failed}"
    )
    saved = str(view.savings) if view.best is not None else ""
    if saved:
        console.print(line(saved))


def _print_best(console: Console, result: TuningResult) -> None:
    best, unit = result.best, result.view.unit
    console.print(
        f"[bold]Best: {line(result.metric)} = {format_value(best.value, 6)}[/bold] "
        f"{line(format_place(best.resource, unit))}, trial {best.trial}"
    )
    if best.peak_value is not None and best.peak_value != best.value:
        peak = format_place(best.peak_resource or 0, unit)
        console.print(f"  its best was {format_value(best.peak_value, 6)} {line(peak)}")
    if best.problem:
        console.print(f"  No healthy trial has a finite value. This one {line(best.problem)}.")
    for name, value in best.config.items():
        console.print(f"  {line(name)} = {line(repr(value))}", soft_wrap=True)
    if best.checkpoint is not None:
        held = ""
        if best.checkpoint_resource is not None:
            held = f" ({format_place(best.checkpoint_resource, unit)}"
            if best.checkpoint_resource != best.resource:
                there = format_place(best.resource, unit)
                held += f"; --keep-best keeps the one {there} too"
            held += ")"
        console.print(f"  checkpoint{held}: {line(str(best.checkpoint))}", soft_wrap=True)


def print_rungs(console: Console, result: TuningResult) -> None:
    """How many trials have reached each rung."""
    ceiling = result.view.ceiling
    rows = [
        [
            f"{rung.level:g}{' ← ceiling' if rung.level == ceiling else ''}",
            str(rung.entered),
            str(rung.waiting),
            str(rung.running_to),
            format_value(rung.best, 6, missing="-"),
        ]
        for rung in result.rungs()
    ]
    best = f"best {line(result.metric)}"
    print_columns(console, "Rungs", ["level", "reached", "waiting", "running to it", best], rows)


def print_failures(console: Console, result: TuningResult, limit: int = 5) -> None:
    """Why attempts failed, the most frequent reasons first."""
    reasons = [describe_failure(failure) for failure in result.failures]
    often = sorted(dict.fromkeys(reasons), key=lambda reason: -reasons.count(reason))
    for reason in often[:limit]:
        console.print(f"  {reasons.count(reason)} × {lines(reason)}", soft_wrap=True)


def print_trial(console: Console, result: TuningResult, number: int) -> None:
    """One trial's story, its curve, and how it failed."""
    for sentence in result.view.trial(number).story():
        console.print(lines(sentence), soft_wrap=True)
    curve = ", ".join(
        f"{resource:g}: {format_value(value, 6)}" for resource, value in result.curve(number)
    )
    console.print(f"{line(result.metric)} at {curve}" if curve else "no reports", soft_wrap=True)
    for failure in result.failures:
        if failure.trial == number:
            console.print(
                f"[bold]job {failure.job} failed "
                f"{line(format_place(failure.resource, result.view.unit))}:[/bold] "
                f"{lines(failure.reason)}",
                soft_wrap=True,
            )
            for text in (failure.trace, failure.output):
                if text.strip():
                    console.print(lines(text.rstrip()), soft_wrap=True)


def format_metrics(metrics: Mapping[str, float]) -> str:
    """Other metrics than the study's, as a list in one line."""
    return line(", ".join(f"{name} = {format_value(value, 6)}" for name, value in metrics.items()))


def as_line(document: dict[str, Any]) -> str:
    """A document as one line of JSON; what is not finite is null."""
    return json.dumps(jsonable(document), allow_nan=False)


def lines(text: str) -> str:
    """Text that a trial may have written, safe for a terminal and for rich; ends of line stay."""
    return escape(strip_controls(text))


def line(text: str) -> str:
    """The same in one line."""
    return lines(text).replace("\n", " ")
