"""``rungwise benchmark convert`` and ``fetch``: convert public benchmarks."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from rungwise.benchmarks import Card, catalog, store
from rungwise.cli.console import ending_when_interrupted, grid, out, progress
from rungwise.cli.summary import line
from rungwise.errors import RungwiseError

Source = Annotated[
    Path,
    typer.Argument(
        help=(
            "A file or folder as it was downloaded: NAS-Bench-201 (NATS-tss…), PD1 (pd1.tar.gz) "
            "or LCBench (data_2k_lw.zip, data_2k.json); or .npz files with the arrays curves "
            "[configurations, resources], final [configurations] and better (higher or lower)."
        )
    ),
]
Name = Annotated[str, typer.Argument(help="nasbench201, pd1 or lcbench.")]
Into = Annotated[
    Path | None,
    typer.Option(metavar="FOLDER", help="The folder to write to; the data folder by default."),
]
Downloads = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="The folder for the download; a folder in the data folder by default.",
    ),
]
Workers = Annotated[
    int,
    typer.Option(help="Number of processes that read the files of a folder or tar file.", min=1),
]


def convert(source: Source, into: Into = None, workers: Workers = 2) -> None:
    """Convert the files of a public benchmark; their format is detected from their content.

    A source is read in one pass with little memory, and nothing is written unless all of it is
    valid.
    """
    with ending_when_interrupted(
        "files that were written are complete; run the command again for the rest"
    ):
        _convert(source, into, workers)


def fetch(name: Name, into: Into = None, downloads: Downloads = None, workers: Workers = 2) -> None:
    """Download a public benchmark and convert it.

    A download that was interrupted is continued; a complete one is checked, and kept.
    """
    with ending_when_interrupted("what was downloaded is kept; run the command again to continue"):
        from rungwise.lab import sources  # noqa: PLC0415 - few commands need the network

        with progress("downloading (MiB)") as advance:
            path = sources.fetch(name, into=downloads, on_progress=advance)
        out().print(f"{line(str(path))} is complete and was checked.", soft_wrap=True)
        _convert(path, into, workers)


def _convert(source: Path, into: Path | None, workers: int) -> None:
    from rungwise.lab import sources  # noqa: PLC0415

    folder = catalog.data_folder() if into is None else into
    before = {path.stem: _card(folder, path.stem) for path in folder.glob("*.json")}
    with progress("converting") as advance:
        names = sources.convert(source, into=into, on_progress=advance, workers=workers)
    _show(names, folder, before)


def _card(folder: Path, name: str) -> Card | None:
    """The card of an earlier file; None if it cannot be read, which is no reason to stop."""
    try:
        return store.read_card(folder, name)
    except RungwiseError:
        return None


def _replaced(old: Card | None, new: Card) -> str:
    """What a benchmark replaces, if that was another one; else nothing."""
    if old is None:
        return f"Replaced: {new.name}, whose card could not be read"
    same = (old.shape, old.metric, old.goal) == (new.shape, new.metric, new.goal)
    return "" if same else f"Replaced: {new.name} was {old.shape}, {old.metric}"


def _show(names: Sequence[str], folder: Path, before: Mapping[str, Card | None]) -> None:
    """What was written, notes about it, and what to do next."""
    console = out()
    cards = [store.read_card(folder, name) for name in names]
    shown = grid(console, f"Written to {line(str(folder))}")
    for title in ("name", "rows × resources × seeds", "metric"):
        shown.add_column(title, overflow="fold")
    for card in cards:
        shown.add_row(line(card.name), card.shape, line(f"{card.metric} ({card.goal})"))
    console.print(shown)
    for card in cards:
        replaced = _replaced(before[card.name], card) if card.name in before else ""
        if replaced:
            console.print(line(f"{replaced}."), soft_wrap=True)
    for note in dict.fromkeys(note for card in cards for note in card.notes):
        whose = [card.name for card in cards if note in card.notes]
        of = "all" if len(whose) == len(cards) else ", ".join(whose)
        console.print(line(f"Note ({of}): {note}."), soft_wrap=True)
    there = ""
    if folder.resolve() != catalog.data_folder().resolve():
        there = f"{catalog.VARIABLE}={shlex.quote(str(folder.absolute()))} "
    console.print(line(f"Next: {there}rungwise benchmark info {names[0]}"), soft_wrap=True)
