"""``rungwise reproduce frontier``: every method against ASHA at equal resource."""

from __future__ import annotations

from contextlib import suppress

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rungwise.cli.console import ending_when_interrupted, progress
from rungwise.errors import MissingExtraError
from rungwise.lab.frontier import Frontier, Settings, compare, report

__all__ = ["NAME", "Settings", "run"]

NAME = "frontier"
"""The name of the experiment on the command line."""


def run(settings: Settings, processes: int, screen: Console) -> dict[str, str]:
    """Run it, print it, and return the content of each file."""
    with ending_when_interrupted("nothing was written"):
        with progress("simulating") as advance:
            found = compare(settings, processes=processes, progress=advance)
        show(found, screen)
        return make_files(found)


def show(frontier: Frontier, screen: Console) -> None:
    """Print the tables; the sentence comes last, where it is visible."""
    ascii_only = not screen.is_terminal
    screen.print(_table("By group", *report.list_groups(frontier), ascii_only=ascii_only))
    guesses = report.list_guesses(frontier)
    title = "Maximum guessed wrongly"
    screen.print(_table(title, report.GUESS_HEAD, guesses, ascii_only=ascii_only))
    scores = report.list_scores(frontier)
    screen.print(_table("At equal resource", report.HEAD, scores, ascii_only=ascii_only))
    screen.print(Text(report.summarise(frontier)))


def make_files(frontier: Frontier) -> dict[str, str]:
    """The content of each file, by name."""
    files = {"frontier.csv": report.runs_csv(frontier)}
    with suppress(MissingExtraError):
        files[report.FIGURE] = _draw(frontier)
    return {"frontier.md": report.markdown(frontier, figure=report.FIGURE in files), **files}


def _draw(frontier: Frontier) -> str:
    from rungwise.lab.frontier import figure  # noqa: PLC0415 - plots are not for every command
    from rungwise.plots.figure import make_svg  # noqa: PLC0415

    return make_svg(figure.draw(frontier))


def _table(
    title: str, head: tuple[str, ...], lines: list[tuple[str, ...]], *, ascii_only: bool
) -> Table:
    shown = Table(title=Text(title), box=box.ASCII if ascii_only else box.HEAVY_HEAD)
    for number, heading in enumerate(head):
        shown.add_column(Text(heading), justify="right" if number else "left", overflow="fold")
    for line in lines:
        shown.add_row(*map(Text, line))
    return shown
