"""Writes ``docs/states.md`` from the tables in ``rungwise.core.trials``.

python docs/draw_states.py
"""

from __future__ import annotations

from pathlib import Path

from rungwise.core.trials import MEANING, MOVES, Cause, State

PAGE = Path(__file__).with_name("states.md")


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
        "```mermaid",
        "stateDiagram-v2",
        *(f"    {old.value} --> {new.value}: {cause.value}" for (old, cause), new in MOVES.items()),
        "```",
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
    print(f"wrote {PAGE.name}")
