"""Studies as HTML, for notebooks: results, the best trial, leaderboards, trials.

Law of this file: all that is a user's or a trial's text is escaped, so that it is shown and never
becomes part of the page.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rungwise.formatting import format_amount, format_place, format_value, strip_controls

NUMBER = "text-align:right;font-variant-numeric:tabular-nums"
"""The style of cells with numbers."""

LONGEST = 60
"""How many characters of a value are shown; its title has all of them."""


def escape(text: Any) -> str:
    """A text that is safe in a page, between tags and in attributes."""
    return html.escape(strip_controls(str(text)), quote=True)


def make_table(heads: Sequence[str], rows: Iterable[Sequence[Any]], caption: str = "") -> str:
    """A table; numbers are aligned on the right."""
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    body = "".join(f"<tr>{''.join(map(_make_cell, row))}</tr>" for row in rows)
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def make_leaderboard(rows: Sequence[Any], metric: str = "value") -> str:
    """A leaderboard, with a column per hyperparameter."""
    names = list(dict.fromkeys(name for row in rows for name in row.config))
    heads = ["#", "trial", metric, "at", "state", *names]
    cells = [
        [row.rank, row.trial, row.value, row.resource, row.state]
        + [row.config.get(name, "") for name in names]
        for row in rows
    ]
    return make_table(heads, cells)


def make_best(best: Any, metric: str = "value", unit: str = "resource") -> str:
    """The best trial: what it reached, and its configuration."""
    where = f"{format_place(best.resource, unit)}, trial {best.trial}"
    if best.problem:
        where += f"; no healthy trial has a finite value, and this one {best.problem}"
    text = f"<p><b>{escape(metric)} = {format_value(best.value, 6)}</b> {escape(where)}</p>"
    if best.checkpoint is not None:
        text += f"<p>checkpoint: <code>{escape(best.checkpoint)}</code></p>"
    return text + make_config(best.config)


def make_retrained(found: Any, sentence: str, models: Mapping[str, Any]) -> str:
    """A retraining: what came of it, which models there are, and its configuration."""
    text = f"<p>{escape(sentence[:1].upper() + sentence[1:])}</p>"
    for words, place in models.items():
        text += f"<p>{escape(words)}: <code>{escape(place)}</code></p>"
    return text + make_config(found.config)


def make_config(config: Mapping[str, Any]) -> str:
    """A configuration."""
    return make_table(["hyperparameter", "value"], config.items())


def make_result(result: Any) -> str:
    """A result: the best, why, what it cost, and the leaderboard."""
    view = result.view
    best = view.best
    if best is None:
        found = "<p><b>No trial has reported a finite value.</b></p>"
    else:
        found = make_best(best, view.metric, view.unit)
    spent = (
        f"{view.trials} trials, {view.reports} reports, "
        f"{format_amount(view.resource_spent, view.unit)}"
    )
    rows = make_leaderboard(view.leaderboard(10), view.metric)
    stands = escape(f"{result.why} {result.numbers}".rstrip())
    return f"<div>{found}<p>{stands}</p><p>{escape(spent)}</p>{rows}</div>"


def make_trial(trial: Any, metric: str = "value") -> str:
    """A trial: what happened to it, its configuration and its curve."""
    story = "".join(f"<li>{escape(sentence)}</li>" for sentence in trial.story())
    curve = make_table(["resource", metric], trial.curve())
    return f"<div><ul>{story}</ul>{make_config(trial.config)}{curve}</div>"


def _make_cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return f'<td style="{NUMBER}">–</td>'
    if isinstance(value, float):
        return f'<td style="{NUMBER}" title="{value!r}">{format_value(value, 6)}</td>'
    if isinstance(value, int) and not isinstance(value, bool):
        return f'<td style="{NUMBER}">{value}</td>'
    text = str(value)
    short = text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
    return f'<td title="{escape(text)}">{escape(short)}</td>'
