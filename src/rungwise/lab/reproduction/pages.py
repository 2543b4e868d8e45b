"""The whole reproduction as pages of Markdown: an overview, and a page for each experiment.

``docs/results.md`` and ``docs/results/`` are made by it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from rungwise.lab.reproduction import markdown, overview, summary
from rungwise.lab.reproduction.experiments import EXPERIMENTS
from rungwise.lab.reproduction.results import Reproduction, Section
from rungwise.lab.reproduction.tables import Grid, grids

OVERVIEW = "results.md"
FOLDER = "results"
HOW = "how-it-was-run"


def make_pages(
    reproduction: Reproduction, pictures: Mapping[str, str] | None = None
) -> dict[str, str]:
    """{path: text} of all pages.

    Args:
        reproduction: the result of :func:`rungwise.lab.reproduction.reproduce`.
        pictures: the overview of each protocol as an SVG.
    """
    drawn = grids(reproduction.sections)
    chapters = {
        name: list(group) for name, group in groupby(drawn, key=lambda pair: pair[0].experiment)
    }
    pictures = {} if pictures is None else pictures
    pages = {
        OVERVIEW: _join(_write_overview(reproduction, list(chapters), list(pictures))),
        f"{FOLDER}/{HOW}.md": _join(_describe(reproduction)),
    }
    for name, found in chapters.items():
        pages[f"{FOLDER}/{name}.md"] = _join(_write_chapter(name, found))
    for protocol, picture in pictures.items():
        pages[f"{FOLDER}/overview-{protocol}.svg"] = picture
    return pages


def _join(lines: Iterator[str]) -> str:
    return "\n".join(lines).rstrip() + "\n"


def _write_overview(
    reproduction: Reproduction, chapters: Sequence[str], pictures: Sequence[str]
) -> Iterator[str]:
    settings = reproduction.settings
    yield from ("# Results", "")
    yield (
        "The evaluation of the PASHA paper (Bohdal et al., ICLR 2023) on recorded tables, run by "
        f"`{markdown.command(settings)}`: {settings.configs} configurations, {settings.workers} "
        f"workers. [How it was run]({FOLDER}/{HOW}.md) has the protocols, the benchmarks and what "
        "the columns mean. `rungwise reproduce frontier` adds the comparison of all methods with "
        "ASHA at equal resource."
    )
    yield ""
    for protocol in pictures:
        words = f"PASHA and one unit for all against ASHA, protocol {protocol}"
        yield from (f"![{words}]({FOLDER}/overview-{protocol}.svg)", "")
    head, lines = summary.table(reproduction)
    if lines:
        yield from ("## In short", "")
        yield from markdown.write_table(head, [(f"`{name}`", *rest) for name, *rest in lines])
        yield ""
    yield from _write_losses(reproduction)
    if chapters:
        yield from ("## Details", "")
        yield from markdown.write_table(("", "of the paper"), [_link(name) for name in chapters])
        yield ""
    if reproduction.left_out:
        yield from ("## Left out", "", *markdown.write_bullets(reproduction.left_out))


def _write_losses(reproduction: Reproduction) -> Iterator[str]:
    """Where PASHA is not the best choice: a table, and what was counted."""
    main = overview.list_main(reproduction)
    counted = [*summary.list_losses_on_lcbench(reproduction), *summary.count_losses(reproduction)]
    if not main and not counted:
        return
    yield from ("## Where PASHA is not the best choice", "", summary.RULE, "")
    if main:
        yield from markdown.write_table(*overview.table_against(main))
        yield ""
    if counted:
        yield from markdown.write_bullets(counted)


def _link(name: str) -> tuple[str, str]:
    experiment = EXPERIMENTS[name]
    return f"[{experiment.title}]({FOLDER}/{name}.md)", experiment.whereabouts


def _describe(reproduction: Reproduction) -> Iterator[str]:
    yield from ("# How it was run", "")
    yield from markdown.write_introduction(reproduction.settings)
    yield from markdown.write_benchmarks(reproduction)


def _write_chapter(name: str, drawn: Sequence[tuple[Section, Grid]]) -> Iterator[str]:
    experiment = EXPERIMENTS[name]
    where = f" ({experiment.whereabouts})" if experiment.whereabouts else ""
    yield from (f"# {experiment.title}{where}", "")
    yield from (f"[Results](../{OVERVIEW}) · [how it was run]({HOW}.md)", "")
    yield from markdown.write_sections(name, drawn)
