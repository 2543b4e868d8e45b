"""``rungwise benchmark list|info|convert|fetch``: tables of learning curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console

from rungwise.benchmarks import catalog, store
from rungwise.benchmarks.benchmark import Benchmark
from rungwise.benchmarks.card import Card
from rungwise.benchmarks.catalog import Place
from rungwise.cli.benchmark_get import convert, fetch
from rungwise.cli.commands import Command, Group, make_app
from rungwise.cli.console import grid, out
from rungwise.cli.summary import as_line, line, lines
from rungwise.errors import RungwiseError
from rungwise.formatting import format_bytes, format_count, format_value

app = make_app(
    name="benchmark",
    cls=Group,
    help=(
        "Manage tables of learning curves: those of the package, and public ones.\n\n"
        "Start with `rungwise benchmark list`."
    ),
    no_args_is_help=True,
)

Name = Annotated[str, typer.Argument(help="Name of a benchmark, see `rungwise benchmark list`.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one line of JSON instead.")]

QUANTILES = (0, 5, 25, 50, 75, 95, 100)
"""The percentiles of the final values that are shown."""


@app.command("list", cls=Command)
def list_benchmarks(
    each: Annotated[
        bool,
        typer.Option(
            "--all", help="Print one line per benchmark, also for families of many data sets."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List installed benchmarks, and public ones that can be downloaded."""
    from rungwise.lab import sources  # noqa: PLC0415 - it brings in the network

    here = [_entry(place) for place in catalog.places()]
    names = catalog.names()
    there = [
        _source_to_json(source) for source in sources.KNOWN if not _is_here(source.name, names)
    ]
    folder = str(catalog.data_folder())
    if as_json:
        typer.echo(as_line({"benchmarks": here, "available": there, "data_folder": folder}))
        return
    console = out()
    if here:
        _print_installed(console, here if each else _by_family(here))
    else:
        console.print("No benchmark is installed.")
    if there:
        _print_available(console, there)
    console.print(f"The data folder is {line(folder)}.", soft_wrap=True)


@app.command(cls=Command)
def info(name: Name, as_json: AsJson = False) -> None:
    """Show a benchmark: its data card, its search space, and how good its rows are."""
    place = catalog.find(name)
    benchmark = store.read(place.folder, name)
    quantiles = _quantiles(benchmark)
    files = [place.folder / f"{name}{suffix}" for suffix in (".npz", ".json")]
    if as_json:
        document = {
            "card": benchmark.card.to_json(),
            "where": str(place.folder),
            "packaged": place.packaged,
            "bytes": files[0].stat().st_size,
            "final": quantiles,
        }
        typer.echo(as_line(document))
        return
    console = out()
    where = "packaged" if place.packaged else str(place.folder)
    size = f"{where}, {format_bytes(sum(file.stat().st_size for file in files))}"
    _print_card(console, benchmark.card, size)
    _print_space(console, benchmark)
    _print_quantiles(console, benchmark.card, quantiles)


app.command(cls=Command)(convert)
app.command(cls=Command)(fetch)


def _entry(place: Place) -> dict[str, Any]:
    """An installed benchmark, in plain values; what is wrong with it is its ``fault``."""
    entry: dict[str, Any] = {
        "name": place.name,
        "where": str(place.folder),
        "packaged": place.packaged,
        "fault": None,
    }
    try:
        catalog.find(place.name)
        card = store.read_card(place.folder, place.name)
    except RungwiseError as error:
        return {**entry, "fault": str(error)}
    names = ("title", "rows", "resources", "metric", "goal", "resource", "licence")
    return {**entry, **{name: getattr(card, name) for name in names}, "seeds": len(card.seeds)}


FAMILY = 6
"""As many data sets of one public benchmark are shown as one line."""


def _by_family(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Many sound data sets of one public benchmark become one entry."""
    families: dict[str, list[dict[str, Any]]] = {}
    for entry in entries:
        alone = entry["packaged"] or entry["fault"] is not None
        families.setdefault(
            entry["name"] if alone else f"{entry['name'].partition('-')[0]}-…", []
        ).append(entry)
    shown: list[dict[str, Any]] = []
    for name, members in families.items():
        shapes = {(one.get("rows"), one.get("resources"), one.get("seeds")) for one in members}
        if len(members) < FAMILY or len(shapes) > 1:
            shown += members
            continue
        title = f"{len(members)} data sets, {members[0]['name']} to {members[-1]['name']} (--all)"
        shown.append({**members[0], "name": name, "title": title})
    return shown


def _is_here(source: str, names: Sequence[str]) -> bool:
    """Whether any benchmark of a public source is installed; most have several data sets."""
    return any(name == source or name.startswith(f"{source}-") for name in names)


def _source_to_json(source: Any) -> dict[str, Any]:
    return {name: getattr(source, name) for name in ("name", "title", "size_note", "how")}


def _print_installed(console: Console, entries: list[dict[str, Any]]) -> None:
    shown = grid(console, "Installed benchmarks")
    for name in ("name", "what", "rows × resources × seeds", "metric", "from", "licence"):
        shown.add_column(name, overflow="fold")
    for entry in entries:
        where = "packaged" if entry["packaged"] else line(entry["where"])
        if entry["fault"] is not None:
            shown.add_row(line(entry["name"]), line(entry["fault"]), "", "", where, "")
            continue
        shape = f"{entry['rows']:,} × {entry['resources']:,} × {entry['seeds']}"
        metric = f"{entry['metric']} ({entry['goal']})"
        texts = (entry["name"], entry["title"], shape, metric)
        shown.add_row(*map(line, texts), where, line(entry["licence"]))
    console.print(shown)


def _print_available(console: Console, known: list[dict[str, Any]]) -> None:
    shown = grid(console, "Public benchmarks that are not installed")
    for name in ("name", "what", "size", "how to get it"):
        shown.add_column(name, overflow="fold")
    for source in known:
        shown.add_row(*(line(source[name]) for name in ("name", "title", "size_note", "how")))
    console.print(shown)


def _print_card(console: Console, card: Card, where: str) -> None:
    shown = grid(console, line(f"{card.name}: {card.title}" if card.title else card.name))
    shown.show_header = False
    seeds = ", ".join(map(str, card.seeds))
    times = format_count(len(card.seeds), "seed")
    rows = {
        "metric": f"{card.metric} ({card.goal}), after every {card.resource}",
        "final metric": card.final_metric or "the last value",
        "seconds": card.unit_seconds,
        "curves": f"{card.rows:,} configurations × {card.resources:,} × {times}",
        "seeds": seeds,
        "licence": card.licence,
        "source": card.source,
        "citation": card.citation,
        "created": card.created,
        "from": where,
        **{f"checks: {name}": _words(value) for name, value in card.checks.items()},
        **{f"details: {name}": _words(value) for name, value in card.details.items()},
    }
    for name, words in rows.items():
        if words:
            shown.add_row(line(name), lines(words))
    console.print(shown)
    if card.description:
        console.print(lines(card.description), soft_wrap=True)


def _print_space(console: Console, benchmark: Benchmark) -> None:
    if benchmark.space is None:
        return
    shown = grid(console, "Search space")
    shown.show_header = False
    for parameter in benchmark.space.parameters:
        shown.add_row(line(parameter.name), line(str(parameter)))
    for rule in benchmark.space.forbidden:
        shown.add_row("forbidden", line(str(rule)))
    console.print(shown)


def _print_quantiles(console: Console, card: Card, quantiles: dict[str, Any]) -> None:
    shown = grid(console, line(f"Quantiles of {card.final_metric or card.metric}"))
    for name in (*quantiles["percentiles"], "not finite"):
        shown.add_column(name if name == "not finite" else f"{name} %", justify="right")
    figures = (format_value(one) for one in quantiles["percentiles"].values())
    shown.add_row(*figures, f"{quantiles['not_finite']:.1%}")
    console.print(shown)


def _quantiles(benchmark: Benchmark) -> dict[str, Any]:
    """How the final values of all seeds are spread; what is not finite is counted apart."""
    values: NDArray[np.float64] = np.concatenate(
        [benchmark.final(seed) for seed in range(benchmark.seeds)]
    )
    finite = values[np.isfinite(values)]
    figures = np.percentile(finite, QUANTILES).tolist() if finite.size else [None] * len(QUANTILES)
    return {
        "percentiles": dict(zip(map(str, QUANTILES), figures, strict=True)),
        "not_finite": 1 - finite.size / values.size,
    }


def _words(value: Any) -> str:
    """A value of the card's free parts: text as it is, lists and short objects by their items."""
    if isinstance(value, Mapping) and not any(
        isinstance(one, (Mapping, list)) for one in value.values()
    ):
        return ", ".join(f"{name}: {_words(one)}" for name, one in value.items())
    if isinstance(value, float):
        return format_value(value)
    if isinstance(value, list) and not any(isinstance(one, (Mapping, list)) for one in value):
        return ", ".join(map(_words, value))
    return value if isinstance(value, str) else as_line(value)
