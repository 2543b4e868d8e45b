"""What came of a retraining as text: both values, their other metrics, both checkpoints."""

from __future__ import annotations

from rich.console import Console

from rungwise.cli.summary import format_metrics, line
from rungwise.formatting import format_resource
from rungwise.tuning.result import TuningResult
from rungwise.tuning.retrained import (
    Retrained,
    compare_with_tuning,
    describe_retrained,
    list_models,
)


def print_retrained(console: Console, result: TuningResult, found: Retrained) -> None:
    """What came of it in a sentence, then what else was reported, and where the models are."""
    sentence = line(describe_retrained(found, result.metric))
    console.print(f"{sentence[:1].upper()}{sentence[1:]}", soft_wrap=True)
    if found.metrics:
        at = format_resource(found.resource)
        console.print(f"  at {at}: {format_metrics(found.metrics)}", soft_wrap=True)
    if found.best_metrics and found.best_resource not in (None, found.resource):
        at = format_resource(found.best_resource)
        console.print(f"  at {at}: {format_metrics(found.best_metrics)}", soft_wrap=True)
    for words, place in list_models(found).items():
        console.print(f"  {words}: {line(str(place))}", soft_wrap=True)


def print_all_retrained(console: Console, result: TuningResult) -> None:
    """All retrainings of a study, and which of them got worse than the study had seen."""
    for found in result.retrained:
        print_retrained(console, result, found)
        worse = compare_with_tuning(found, result.curve(found.trial), result.goal)
        if worse:
            console.print(f"  {worse}", soft_wrap=True)
