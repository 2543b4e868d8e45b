"""The first page of the reproduction: what a person can take in, with links to the details."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rungwise import plots
from rungwise.errors import MissingExtraError
from rungwise.formatting import format_percent
from rungwise.lab.reproduction import number_text, statistics
from rungwise.lab.reproduction.results import Outcome, Reproduction, Section
from rungwise.plots import theme
from rungwise.plots.figure import make_figure, make_svg
from rungwise.plots.layers import DOT, layer, legend, log_axis

SHOWN = {"pasha": "PASHA", "one-epoch": "one unit for all"}
"""The methods that are compared with ASHA."""


def list_main(reproduction: Reproduction) -> list[Section]:
    """The sections of the main experiment."""
    return [one for one in reproduction.sections if one.experiment == "table1"]


# -- where PASHA is not the best choice ------------------------------------------------------------


def table_against(
    sections: Sequence[Section],
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """(headings, lines): what speaks against PASHA on every benchmark, in two columns."""
    head = ("benchmark", "protocol", "against ASHA", "against one epoch for all")
    return head, [
        (f"`{one.benchmark}`", one.protocol, _against_asha(one), _against_one(one))
        for one in sections
    ]


def _against_asha(section: Section) -> str:
    found = next((one for one in section.ahead if one.method == "asha"), None)
    if found is None:
        return "not worse by more than a standard error"
    return f"**{_amount(section, found.gain, found.error)} worse**"


def _against_one(section: Section) -> str:
    found = next((one for one in section.rivals if one.method == "one-epoch"), None)
    if found is None:
        return "one epoch ends worse"
    word = "better" if found.gain > 0 else "worse"
    share = format_percent(found.time_share)
    return (
        f"**as good or better**: {_amount(section, found.gain, found.error)} {word}, "
        f"in {share} of the time"
    )


def _amount(section: Section, gain: float, error: float) -> str:
    words = number_text.difference(section, gain)
    return words if math.isnan(error) else f"{words} ± {number_text.difference(section, error)}"


# -- the figure ------------------------------------------------------------------------------------


def draw_overviews(reproduction: Reproduction) -> Iterator[tuple[str, str]]:
    """(protocol, SVG) of PASHA and one unit for all beside ASHA; none without the extra plots."""
    for protocol in reproduction.settings.protocols:
        sections = [one for one in list_main(reproduction) if one.protocol == protocol]
        rows = [row for one in sections if one.percent for row in _list_points(one, reproduction)]
        if not rows:
            continue
        try:
            yield protocol, make_svg(_draw(rows, protocol))
        except MissingExtraError:
            return


def _list_points(section: Section, reproduction: Reproduction) -> Iterator[dict[str, Any]]:
    runs: dict[str, list[Outcome]] = {}
    for outcome in reproduction.outcomes:
        if (outcome.benchmark, outcome.protocol) == (section.benchmark, section.protocol):
            runs.setdefault(outcome.method, []).append(outcome)
    for method, word in SHOWN.items():
        row = section.row(method)
        if row is None or not row.speedup or not runs.get(method) or not runs.get("asha"):
            continue
        gain, error = statistics.compare_pairs(section, runs[method], runs["asha"])
        error = 0.0 if math.isnan(error) else error
        yield {
            "label": theme.clean_text(section.benchmark),
            "method": word,
            "x": 100 / row.speedup,
            "y": 100 * gain,
            "bottom": 100 * (gain - error),
            "top": 100 * (gain + error),
        }


def _draw(rows: Sequence[Mapping[str, Any]], protocol: str) -> plots.Figure:
    shown = [dict(row) for row in rows]
    names = list(dict.fromkeys(row["label"] for row in shown))
    colour = legend("color", names, [theme.colour(number) for number in range(len(names))])
    text = {"type": "text", "align": "left", "dx": 8, "dy": -8, "fontSize": 11}
    even = {"type": "rule", "color": theme.INK, "strokeDash": [4, 3]}
    least = min(row["x"] for row in shown)
    return make_figure(
        [
            layer([{"y": 0}], even, x={"value": 0}, x2={"value": "width"}),
            layer(shown, {"type": "rule"}, y={"field": "bottom"}, y2={"field": "top"}, **colour),
            layer(shown, {**DOT, "size": 90}, **colour),
            layer(shown, text, text={"field": "method"}, **colour),
        ],
        title=f"Accuracy and time against ASHA, protocol {protocol}",
        note="ASHA is at 100 % of the time, on the dashed line; bars: ± 1 standard error",
        x={"title": "time (% of ASHA's)", **log_axis(min(least / 1.3, 4), 130)},
        y={"title": "final accuracy against ASHA's (points)"},
        height=380,
    )
