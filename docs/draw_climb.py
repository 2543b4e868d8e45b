"""Draws ``docs/climb.svg``: how PASHA climbs, from a simulated study.

    python docs/draw_climb.py

Every dot is a trial that arrived at a rung; the line is the ceiling. The study is the one of
``rungwise demo --simulated``'s first repetition, so the picture shows what the library does, not a
sketch.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from pathlib import Path

import rungwise as rw
from rungwise.core.decisions import Continue, StartJob
from rungwise.core.events import Reported
from rungwise.storage import MemoryLog

PICTURE = Path(__file__).with_name("climb.svg")
Place = Callable[[int], float]
WIDTH, HEIGHT = 820, 360
LEFT, RIGHT, TOP, BOTTOM = 70, 200, 46, 46
INK, FAINT, DOT, LINE, SHADE = "#1f2933", "#9aa5b1", "#3e7cb1", "#d1495b", "#f1f4f8"


def draw() -> str:
    """The picture as SVG text."""
    table = rw.power_laws(256, 200, seed=0)
    recipe = rw.PASHA(max_resource=200)
    log = MemoryLog()
    result = rw.simulate(table, recipe, trials=256, log=log)
    levels = recipe.ladder.levels
    arrivals = _arrivals(log)

    def x(report: int) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * report / result.reports

    def y(level: int) -> float:
        rung = levels.index(level)
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * rung / (len(levels) - 1)

    step = (HEIGHT - TOP - BOTTOM) / (len(levels) - 1)
    last = result.ceilings[-1][1]
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
            f'font-family="sans-serif" font-size="13" fill="{INK}">'
        ),
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        (
            f'<rect x="{LEFT}" y="{TOP - step / 2:.1f}" width="{WIDTH - LEFT - RIGHT}" '
            f'height="{y(last) - TOP:.1f}" fill="{SHADE}"/>'
        ),
        (
            f'<text x="{LEFT}" y="20" font-weight="bold">'
            f"PASHA on 256 configurations, at most 200 epochs</text>"
        ),
    ]
    for level in levels:
        count = sum(1 for _, reached in arrivals if reached == level)
        note = f"{count} trials" if count else "never trained that far"
        parts += [
            (
                f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(level):.1f}" y2="{y(level):.1f}" '
                f'stroke="{FAINT}" stroke-width="0.5"/>'
            ),
            f'<text x="{LEFT - 8}" y="{y(level) + 4:.1f}" text-anchor="end">{level}</text>',
            f'<text x="{WIDTH - RIGHT + 12}" y="{y(level) + 4:.1f}" fill="{FAINT}">{note}</text>',
        ]
    parts += [
        f'<circle cx="{x(n):.1f}" cy="{y(level):.1f}" r="2.6" fill="{DOT}" fill-opacity="0.55"/>'
        for n, level in arrivals
    ]
    parts.append(_ceiling(result, x, lambda level: y(level) - step / 2))
    parts += [
        f'<text x="{LEFT + 4}" y="{HEIGHT - 12}">reports →</text>',
        (
            f'<text transform="translate(16 {HEIGHT / 2:.0f}) rotate(-90)" text-anchor="middle">'
            f"rungs (epochs)</text>"
        ),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _arrivals(log: MemoryLog) -> list[tuple[int, int]]:
    """(number of reports so far, level) of every arrival at a rung."""
    arrivals, reports, untils = [], 0, {}
    for event, decision in log.read_from():
        if isinstance(decision, StartJob):
            untils[decision.job.id] = int(decision.job.until)
        elif isinstance(event, Reported):
            reports += 1
            if not isinstance(decision, Continue):
                arrivals.append((reports, untils[event.job]))
    return arrivals


def _ceiling(result: rw.SimulationResult, x: Place, y: Place) -> str:
    """The ceiling as a step line, with the times at which it rose."""
    path: list[str] = []
    labels: list[str] = []
    ends = [n for n, _ in result.ceilings[1:]] + [result.reports]
    for (start, level), end in zip(result.ceilings, ends, strict=True):
        move = "L" if path else "M"
        path.append(f"{move}{x(start):.1f} {y(level):.1f} L{x(end):.1f} {y(level):.1f}")
        if start:
            at = bisect_right(result.epsilons, (start, float("inf"))) - 1
            # Beside the line where there is no room above it.
            place = x(start) if x(end) - x(start) > 240 else x(end)
            labels.append(
                f'<text x="{place + 6:.1f}" y="{y(level) - 6:.1f}" fill="{LINE}">'
                f"unstable, so on to {level} (ε = {result.epsilons[at][1]:.3f})</text>"
            )
    labels.append(
        f'<text x="{x(result.reports) - 4:.1f}" y="{y(level) + 16:.1f}" fill="{LINE}" '
        f'text-anchor="end">stable: stays at {level}</text>'
    )
    line = f'<path d="{" ".join(path)}" fill="none" stroke="{LINE}" stroke-width="2.2"/>'
    return line + "".join(labels)


if __name__ == "__main__":
    PICTURE.write_text(draw(), encoding="utf-8")
    print(f"wrote {PICTURE.name}")
