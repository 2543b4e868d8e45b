"""Draws ``docs/climb.svg``: how PASHA climbs, from a simulated study.

    python docs/draw_climb.py

It is ``rungwise.plots.ladder`` with a few words in it. The study is the one of
``rungwise demo --simulated``'s first repetition, so the picture shows what the library does, not a
sketch.
"""

from __future__ import annotations

from bisect import bisect_right
from pathlib import Path
from typing import Any

import rungwise as rw
from rungwise import plots
from rungwise.plots.figure import make_svg
from rungwise.plots.theme import PALETTE, SOFT_INK

PICTURE = Path(__file__).with_name("climb.svg")
EPOCHS = 200
END = 1130
"""Where the horizontal axis ends: right of the reports there is room for words."""


def draw() -> str:
    """The picture as SVG text."""
    table = rw.power_laws(256, EPOCHS, seed=0)
    result = rw.simulate(table, rw.PASHA(max_resource=EPOCHS), trials=256)
    figure = plots.ladder(result).with_titles(
        f"PASHA on 256 configurations, at most {EPOCHS} epochs", y="rungs (epochs)"
    )
    spec = figure.spec
    spec["height"] = 440
    spec["config"]["legend"].update(orient="bottom", offset=10, columnPadding=44)
    spec["encoding"]["x"]["scale"] = {"domain": [0, END], "nice": False}
    spec["title"]["subtitle"] = f"{result.resource_spent:,} epochs trained; thin lines: promotions"
    levels = result.view.levels
    axis = spec["encoding"]["y"]
    axis["scale"]["domain"] = [0.7, EPOCHS * 1.5]
    axis["axis"]["values"] = list(levels)
    spec["layer"] += [_write_counts(result, levels), *_write_rises(result)]
    return make_svg(figure)


def _write_counts(result: rw.SimulationResult, levels: Any) -> dict[str, Any]:
    """How many trials got to each rung, right of its line."""
    counts = {rung.level: f"{rung.entered} trials" for rung in result.rungs()}
    rows = [
        {"x": END, "y": level, "text": counts.get(level, "never trained that far")}
        for level in levels
    ]
    mark = {"type": "text", "align": "right", "dx": -6, "dy": -9, "fontSize": 12, "color": SOFT_INK}
    return {"data": {"values": rows}, "mark": mark, "encoding": {"text": {"field": "text"}}}


def _write_rises(result: rw.SimulationResult) -> list[dict[str, Any]]:
    """Why the ceiling rose or stayed, beside its line."""
    rises = []
    ends = [*(reports for reports, _ in result.ceilings[2:]), result.reports]
    for (reports, level), end in zip(result.ceilings[1:], ends, strict=True):
        at = bisect_right(result.epsilons, (reports, float("inf"))) - 1
        text = f"unstable, so on to {level} (ε = {result.epsilons[at][1]:.3f})"
        # Beside the line where there is no room above it.
        rises.append({"x": reports if end - reports > 300 else end, "y": level, "text": text})
    last = result.ceilings[-1][1]
    stays = [{"x": result.reports, "y": last, "text": f"stable: stays at {last}"}]
    mark = {"type": "text", "align": "left", "dx": 8, "dy": -9, "fontSize": 12, "color": PALETTE[1]}
    words = {"text": {"field": "text"}}
    return [
        {"data": {"values": rises}, "mark": mark, "encoding": words},
        {
            "data": {"values": stays},
            "mark": {**mark, "align": "right", "dx": -4},
            "encoding": words,
        },
    ]


if __name__ == "__main__":
    PICTURE.write_text(draw(), encoding="utf-8")
    print(f"wrote {PICTURE.name}")
