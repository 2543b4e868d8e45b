"""The live view, drawn: the state of a study as lines of a terminal.

From top to bottom: the study, its ladder with the ceiling on top, the facts a person asks for,
the workers, the last notices. The lower parts are left out when the terminal is short.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from rungwise.backends.base import WorkerView
from rungwise.display.base import Snapshot
from rungwise.display.estimate import TimeLeft
from rungwise.display.phrases import (
    describe_draws,
    describe_failures,
    describe_scheduler,
)
from rungwise.formatting import (
    format_amount,
    format_bytes,
    format_clock,
    format_config,
    format_count,
    format_place,
    format_resource,
    format_value,
    strip_controls,
)
from rungwise.views import BestTrial, RungView
from rungwise.views.savings import Savings

BAR, MARK, LABEL, GOOD, BAD = "cyan", "yellow", "bright_black", "bold green", "red"

ROOMY, WIDE = 72, 58
"""Columns below which less is shown."""

LEADERS = (4, 10)
"""Free lines below which no leaders are listed, and how many are at most."""

CELL, NODE = 34, 18
"""Columns for one worker, and for the name of its node where there are several."""

Lines = list[list[Segment]]


@dataclass(frozen=True, slots=True)
class Scene:
    """All that the picture shows.

    Attributes:
        snapshot: the study.
        ladder: its rungs.
        saved: what was saved, if it is known.
        left: how long it may still take; None when it is over.
        notices: the last ones, oldest first.
    """

    snapshot: Snapshot
    ladder: Sequence[RungView]
    saved: Savings | None
    left: TimeLeft | None
    notices: Sequence[str]


class Frame:
    """Lines that are rendered already."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in self.lines:
            yield from line
            yield Segment.line()


def draw(scene: Scene, console: Console) -> Frame:
    """The scene, fitted to the terminal: narrow ones lose columns, short ones lower parts."""
    width, room = console.width, max(1, console.height - 1)
    blank = Text("")
    base: list[RenderableType] = [_header(scene, width), blank, _ladder(scene, width), blank]
    lines = _render(console, Group(*base, _facts(scene, width)))
    if scene.left is not None:
        lines += _part(console, room - len(lines), _workers(scene, width, room - len(lines) - 1))
    lines += _part(console, room - len(lines), _notices(scene, width, room - len(lines) - 1))
    if scene.left is not None:  # what stays on the screen at the end is short
        lines += _part(console, room - len(lines), _leaders(scene, width, room - len(lines) - 1))
    return Frame(lines[:room])


def _render(console: Console, part: RenderableType) -> Lines:
    return console.render_lines(part, console.options.update(height=None), pad=False)


def _part(console: Console, room: int, part: RenderableType | None) -> Lines:
    """A part with a blank line above it, if there is room for both."""
    if part is None or room < 2:
        return []
    return [[], *_render(console, part)]


def _header(scene: Scene, width: int) -> Table:
    snapshot = scene.snapshot
    name = snapshot.study or "study"
    left = Text.assemble(("rungwise ", "bold"), strip_controls(name), overflow="ellipsis")
    arrow = "↑" if snapshot.view.goal == "max" else "↓"
    recipe = f"{describe_scheduler(snapshot)}   " if width >= WIDE else ""
    right = Text.assemble(
        (f"{strip_controls(snapshot.metric)} {arrow}   {recipe}", LABEL),
        format_clock(snapshot.elapsed),
    )
    grid = Table.grid(expand=True, padding=(0, 1))
    grid.add_column(ratio=1, no_wrap=True)
    grid.add_column(justify="right", no_wrap=True)
    grid.add_row(left, right)
    return grid


def _ladder(scene: Scene, width: int) -> Table:
    """The rungs with the highest on top, as on a ladder."""
    headings = ("trials", "waiting", "running", "best") if width >= WIDE else ("trials", "best")
    grid = Table(box=None, expand=True, padding=(0, 1), pad_edge=False, header_style=LABEL)
    grid.add_column("level", justify="right", no_wrap=True)
    grid.add_column("", ratio=1, no_wrap=True)
    for heading in headings:
        grid.add_column(heading, justify="right", no_wrap=True)
    grid.add_column("", no_wrap=True)
    beyond = _beyond(scene)
    if beyond:
        grid.add_row(Text("⋯", style=LABEL), Text(beyond, style=LABEL, overflow="ellipsis"))
    highest = scene.snapshot.view.ceiling
    full = max((rung.entered for rung in scene.ladder), default=0)
    for rung in reversed(scene.ladder):
        top = rung.level == highest
        cells = {
            "trials": _count(rung.entered),
            "waiting": _count(rung.waiting),
            "running": _count(rung.running_to),
            "best": Text(format_value(rung.best), style=LABEL if rung.best is None else ""),
        }
        grid.add_row(
            Text(format_resource(rung.level), style=MARK if top else ""),
            _Bar(rung.entered / full if full else 0.0, MARK if top else BAR),
            *(cells[heading] for heading in headings),
            Text("◂ ceiling" if width >= ROOMY else "◂", style=MARK) if top else "",
        )
    return grid


def _beyond(scene: Scene) -> str:
    """What lies above the ceiling and was not needed so far."""
    if scene.snapshot.max_resource is None:
        return "open-ended"
    shown = {rung.level for rung in scene.ladder}
    above = [format_resource(level) for level in scene.snapshot.view.levels if level not in shown]
    return f"{', '.join(above)} not needed so far" if above else ""


class _Bar:
    """A thin bar over a part of its column; anything above 0 can be seen."""

    def __init__(self, part: float, style: str) -> None:
        self._part = part
        self._style = style

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        halves = math.ceil(2 * options.max_width * self._part)
        yield Text("━" * (halves // 2) + "╸" * (halves % 2), style=self._style, no_wrap=True)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(1, options.max_width)


def _count(number: int) -> Text:
    return Text(f"{number:,}") if number else Text("·", style=LABEL)


def _labelled() -> Table:
    """A grid with a dim label in front of every row."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style=LABEL, no_wrap=True, min_width=7)
    return grid


def _facts(scene: Scene, width: int) -> Table:
    snapshot, view = scene.snapshot, scene.snapshot.view
    grid = _labelled()
    grid.add_column(overflow="fold")
    best = view.best
    if best is not None:
        grid.add_row("best", _best(best, view.unit, width))
    why = view.explanation
    label = "ceiling" if why.startswith("the ceiling ") else "rule"
    grid.add_row(label, Text(why.removeprefix("the ceiling ")))
    epsilon = view.epsilon
    if epsilon is not None:
        note = ("   smaller differences count as equal", LABEL)
        grid.add_row("noise", Text.assemble(f"{epsilon:.3g}", note))
    parts = [describe_draws(snapshot), format_count(view.reports, "report")]
    parts.append(f"{format_amount(view.resource_spent, view.unit)} spent")
    if snapshot.checkpoints_bytes:
        parts.append(f"{format_bytes(snapshot.checkpoints_bytes)} on disk")
    grid.add_row("so far", Text("   ".join(parts)))
    if snapshot.failures:
        grid.add_row("failed", Text(describe_failures(snapshot), style=BAD))
    if scene.saved is not None and str(scene.saved):
        grid.add_row("cost", Text(str(scene.saved)))
    if scene.left is not None:
        grid.add_row("left", Text(str(scene.left)))
    return grid


def _best(best: BestTrial, unit: str, width: int) -> Text:
    """The best so far, in two lines at most however long its configuration is."""
    value, where = format_value(best.value), _place(best, unit)
    config = format_config(best.config)
    room = find_room(best, unit, width)
    if len(config) > room:
        config = config[: room - 1] + "…"
    return Text.assemble((value, GOOD), where, (config, LABEL))


def find_room(best: BestTrial, unit: str, width: int) -> int:
    """How many characters of the best configuration are shown."""
    return max(16, 2 * (width - 9) - len(format_value(best.value) + _place(best, unit)) - 12)


def _place(best: BestTrial, unit: str) -> str:
    problem = f" ({best.problem})" if best.problem else ""
    return f" {format_place(best.resource, unit)}, trial {best.trial}{problem}   "


def _workers(scene: Scene, width: int, room: int) -> Table | None:
    """As many workers as fit, the busy ones first."""
    workers = sorted(scene.snapshot.workers, key=lambda worker: worker.trial is None)
    if not workers or room < 1:
        return None
    cell = CELL + (NODE if any(worker.node for worker in workers) else 0)
    columns = max(1, min((width - 9) // cell, 4))
    rows = min(room, -(-len(workers) // columns))
    shown = workers[: rows * columns]
    cells = [_worker(scene.snapshot, worker) for worker in shown]
    if len(shown) < len(workers):
        rest = len(workers) - len(shown) + 1
        cells[-1] = Text(f"and {rest:,} more", style=LABEL)
    grid = _labelled()
    for _ in range(columns):
        grid.add_column(no_wrap=True, width=cell - 2)
    for row in range(rows):
        first = "workers" if row == 0 else ""
        grid.add_row(first, *cells[row * columns : (row + 1) * columns])
    return grid


def _worker(snapshot: Snapshot, worker: WorkerView) -> Text:
    number = (f"{worker.number:>2}  ", LABEL)
    node = (f"   {worker.node}" if worker.node else "", LABEL)
    if worker.trial is None:
        return Text.assemble(number, ("idle" if worker.ready else "starting", LABEL), node)
    level = snapshot.view.trial(worker.trial).next_level
    goal = worker.until if level is None else min(level, worker.until)
    way = format_resource(worker.resource)
    way += f" → {format_resource(goal)}" if worker.resource < goal else " reached"
    return Text.assemble(
        number,
        f"trial {worker.trial:<5} {way}",
        (f"   {format_clock(worker.since)}", LABEL),
        node,
        overflow="ellipsis",
    )


def _leaders(scene: Scene, width: int, room: int) -> Table | None:
    """The best trials, where a high terminal has room for some."""
    if room < LEADERS[0] or width < WIDE:
        return None
    board = scene.snapshot.view.leaderboard(min(room, LEADERS[1]))
    rows = [row for row in board if row.value is not None]
    if len(rows) < 2:
        return None
    cells = [
        [
            f"{row.rank}.",
            format_value(row.value),
            "at –" if row.resource is None else f"at {format_resource(row.resource)}",
            f"trial {row.trial}",
            row.state,
        ]
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    grid = _labelled()
    grid.add_column(no_wrap=True, overflow="ellipsis", max_width=max(1, width - 9))
    for row, parts in zip(rows, cells, strict=True):
        facts = "   ".join(part.rjust(size) for part, size in zip(parts, widths, strict=True))
        line = Text.assemble(facts, (f"   {format_config(row.config)}", LABEL))
        grid.add_row("leaders" if row.rank == 1 else "", line)
    return grid


def _notices(scene: Scene, width: int, room: int) -> Table | None:
    """The last notices, one line each."""
    last = list(scene.notices)[-min(room, 3) :] if room > 0 else []
    if not last:
        return None
    grid = _labelled()
    grid.add_column(no_wrap=True, overflow="ellipsis", max_width=max(1, width - 9))
    for index, text in enumerate(last):
        grid.add_row("" if index else "notices", Text(text.partition("\n")[0]))
    return grid
