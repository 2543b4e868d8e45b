"""Writes ``docs/states.md`` and its picture from the tables in ``rungwise.core.trials``.

python docs/draw_states.py
"""

from __future__ import annotations

from pathlib import Path

from rungwise.core.trials import MEANING, MOVES, Cause, State

PAGE = Path(__file__).with_name("states.md")
PICTURE = Path(__file__).with_name("states.svg")

PLACES = {
    "new": (70, 150), "running": (260, 150), "lost": (260, 290),
    "pausing": (520, 60), "stopping": (520, 150), "ended": (520, 220), "failed": (520, 290),
    "paused": (780, 60), "stopped": (780, 150),
}  # fmt: skip
"""Where each state stands; one that is missing here stands in a row at the bottom."""

WIDTH, HEIGHT, HALF = 880, 345, (52, 16)


def draw_picture() -> str:
    """The states and their changes as an SVG."""
    others = [state.value for state in State if state.value not in PLACES]
    row = {name: (70 + 150 * n, HEIGHT + 20) for n, name in enumerate(others)}
    places = {state.value: (PLACES | row)[state.value] for state in State}
    height = HEIGHT + 60 * bool(others)
    causes: dict[tuple[str, str], list[str]] = {}
    for (old, cause), new in MOVES.items():
        causes.setdefault((old.value, new.value), []).append(cause.value)
    edges = [
        _draw_edge(places[old], places[new], _join_causes(words), back=(new, old) in causes)
        for (old, new), words in causes.items()
    ]
    boxes = [_draw_box(name, *place) for name, place in places.items()]
    return "\n".join(
        [
            (
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
                'font-family="Arial,Helvetica,sans-serif" font-size="12">'
            ),
            '<rect width="100%" height="100%" fill="#fff"/>',
            (
                '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" '
                'markerHeight="8" orient="auto"><path d="M0 0L8 4L0 8z" fill="#57606a"/>'
                "</marker></defs>"
            ),
            *edges,
            *boxes,
            "</svg>\n",
        ]
    )


def _join_causes(causes: list[str]) -> str:
    """``job ended, failed, lost``: their common first word once."""
    first = causes[0].partition(" ")[0]
    same = all(cause.startswith(f"{first} ") for cause in causes)
    return ", ".join([causes[0], *(c.removeprefix(f"{first} ") if same else c for c in causes[1:])])


def _draw_box(name: str, x: int, y: int) -> str:
    wide, high = HALF
    return (
        f'<rect x="{x - wide}" y="{y - high}" width="{2 * wide}" height="{2 * high}" rx="6" '
        f'fill="#e8f1f8" stroke="#0072B2"/><text x="{x}" y="{y + 4}" text-anchor="middle" '
        f'font-size="14" fill="#24292f">{name}</text>'
    )


def _draw_edge(start: tuple[int, int], end: tuple[int, int], label: str, *, back: bool) -> str:
    """An arrow with its causes; one that has a counterpart, or leads back to the left, is bent."""
    (x1, y1), (x2, y2) = start, end
    wide, high = HALF
    if x1 == x2:  # one below the other
        side = 18 if y2 > y1 else -18
        path = f"M{x1 + side} {y1 + (high if y2 > y1 else -high)}"
        path += f"L{x2 + side} {y2 - (high if y2 > y1 else -high)}"
        anchor = "start" if back and side > 0 else "end"
        middle = (x1 + side + (6 if anchor == "start" else -6), (y1 + y2) // 2 + 4)
    elif x2 < x1 and y2 > HEIGHT // 2:  # back to the left, around everything below
        low = y2 + high + 26
        path = f"M{x1 + wide} {y1}C{x1 + 110} {y1} {x1 + 90} {low} {x1 - 60} {low}"
        path += f"L{x2 + 60} {low}Q{x2} {low} {x2} {y2 + high}"
        middle, anchor = ((x1 + x2) // 2, low - 6), "middle"
    elif x2 < x1:  # back to the left, above everything
        path = f"M{x1} {y1 - high}C{x1} 0 {x2} 0 {x2} {y2 - high}"
        middle, anchor = ((x1 + x2) // 2, 18), "middle"
    else:
        begin, stop = x1 + wide, x2 - wide
        path = f"M{begin} {y1}C{begin + 70} {y1} {stop - 90} {y2} {stop} {y2}"
        middle, anchor = (stop - 8, y2 - 6), "end"
    return (
        f'<path d="{path}" fill="none" stroke="#57606a" marker-end="url(#tip)"/>'
        f'<text x="{middle[0]}" y="{middle[1]}" text-anchor="{anchor}" fill="#57606a" '
        f'paint-order="stroke" stroke="#fff" stroke-width="4">{label}</text>'
    )


def draw() -> str:
    """The page as Markdown."""
    lines = [
        "# The states of a trial",
        "",
        "Written by `docs/draw_states.py` from the tables that the engine itself uses.",
        "",
        "| state | meaning |",
        "|---|---|",
        *(f"| `{state.value}` | {MEANING[state]} |" for state in State),
        "",
        "Leaderboards, exports and `rungwise show` call a stopped trial that was trained to the",
        "maximum `completed`.",
        "",
        "![The states, and what leads from one to another](states.svg)",
        "",
        "| from | when | to |",
        "|---|---|---|",
        *(
            f"| `{old.value}` | {cause.value} | `{MOVES[old, cause].value}` |"
            for old in State
            for cause in Cause
            if (old, cause) in MOVES
        ),
        "",
        "A report changes the state of a trial only if the answer is to pause or to stop. Every",
        "change that is not in the table is illegal: the engine raises `IllegalEventError`, whose",
        "message lists what happened to the trial, and the engine is unchanged.",
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(draw(), encoding="utf-8")
    PICTURE.write_text(draw_picture(), encoding="utf-8")
    print(f"wrote {PAGE.name} and {PICTURE.name}")
