"""The whole reproduction as one web page, with figures, that needs nothing but itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import groupby

from rungwise._version import __version__
from rungwise.benchmarks import catalog
from rungwise.errors import MissingExtraError, RungwiseError
from rungwise.formatting import format_count, join_words
from rungwise.lab.reproduction import figures, number_text, summary
from rungwise.lab.reproduction.chunks import Load
from rungwise.lab.reproduction.experiments import EXPERIMENTS
from rungwise.lab.reproduction.markdown import command
from rungwise.lab.reproduction.paper import LCBENCH
from rungwise.lab.reproduction.protocols import PROTOCOLS
from rungwise.lab.reproduction.results import Reproduction, Section
from rungwise.lab.reproduction.tables import Grid, grids
from rungwise.plots.figure import Figure, load_scripts
from rungwise.plots.html import make_page, make_place

TITLE = "PASHA, reproduced"
PAPER = "paper"
"""What the heading of the first of the paper's columns begins with, and all that is shown of it."""

STYLE = """
nav { position: fixed; inset: 0 auto 0 0; width: 250px; overflow-y: auto; padding: 20px;
  box-sizing: border-box; border-right: 1px solid var(--rule); font-size: 14px; }
nav ol { list-style: none; margin: 0; padding: 0; } nav ol ol { padding-left: 14px; }
nav a { color: inherit; text-decoration: none; display: block; padding: 2px 0; }
nav a:hover, nav a:focus { text-decoration: underline; }
main { margin-left: 250px; padding: 20px 40px 80px; }
main > * { max-width: 1200px; }
h2 { margin-top: 56px; border-bottom: 1px solid var(--rule); } h3 { margin-top: 36px; }
p, li, dd { max-width: 85ch; } dl { display: grid; grid-template-columns: max-content 1fr; }
dt { font-weight: bold; padding-right: 24px; } dd { margin: 0 0 6px 0; }
.wide { overflow-x: auto; max-width: 100%; }
table { border-collapse: collapse; font-size: 14px; font-variant-numeric: tabular-nums; }
th, td { padding: 4px 12px; text-align: right; white-space: nowrap;
  border-bottom: 1px solid var(--rule); }
th { vertical-align: bottom; white-space: normal; }
th:first-child, td:first-child { text-align: left; }
.words th, .words td { text-align: left; white-space: normal; }
.paper { background: rgba(128, 136, 145, 0.14); }
.losses { border-left: 4px solid #D55E00; padding-left: 16px; }
figure { margin: 24px 0; } figcaption { font-size: 14px; max-width: 85ch; }
@media (max-width: 900px), print {
  nav { position: static; width: auto; border: 0; } main { margin: 0; padding: 20px; }
  nav ol ol { display: none; } dl { display: block; }
}
"""

COLUMNS = {
    "final value": "what the chosen configuration comes to when it is trained in full; the worst "
    "of the table where that is unknown or diverged",
    "runtime, speed-up": "how long the search takes, the winner's full training not counted, and "
    "ASHA's mean runtime over that",
    "max resource, resource spent": "how far the furthest configuration was trained, and all "
    "training together",
    "better in the end": "the share of the sampled configurations that end better than the chosen",
    "regret": "(best − chosen) / (best − median) of the sample's final values: 0 is its best, 1 "
    "its median",
}


@dataclass(slots=True)
class Page:
    """The page as it grows.

    Attributes:
        parts: its content.
        entries: (level, id, text) of its headings.
        figures: how many figures it has.
    """

    parts: list[str] = field(default_factory=list)
    entries: list[tuple[int, str, str]] = field(default_factory=list)
    figures: int = 0

    def heading(self, text: str, level: int = 2) -> None:
        """A heading, which the navigation leads to."""
        place = f"part-{len(self.entries) + 1}"
        self.entries.append((level, place, text))
        self.parts.append(f'<h{level} id="{place}">{escape(text)}</h{level}>')

    def text(self, text: str) -> None:
        """A paragraph."""
        self.parts.append(f"<p>{escape(text)}</p>")

    def bullets(self, sentences: Iterable[str]) -> None:
        """A list."""
        items = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
        if items:
            self.parts.append(f"<ul>{items}</ul>")

    def terms(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Words and what they mean."""
        items = "".join(f"<dt>{escape(a)}</dt><dd>{escape(b)}</dd>" for a, b in pairs)
        self.parts.append(f"<dl>{items}</dl>")

    def table(self, head: Sequence[str], lines: Iterable[Sequence[str]], *, kind: str = "") -> None:
        """A table; a column of the paper stands right of ours, set apart by its colour."""
        columns, papers = _beside(head)
        marks = [' class="paper"' if n in papers else "" for n in columns]
        titles = [PAPER if n in papers else head[n] for n in columns]
        heads = "".join(
            f'<th scope="col"{mark}>{escape(cell)}</th>'
            for mark, cell in zip(marks, titles, strict=True)
        )
        rows = []
        for line in lines:
            cells = zip(marks, (line[n] for n in columns), strict=True)
            rows.append("".join(f"<td{mark}>{escape(cell)}</td>" for mark, cell in cells))
        body = "\n".join(f"<tr>{row}</tr>" for row in rows)
        self.parts.append(
            f'<div class="wide"><table class="{kind}"><thead><tr>{heads}</tr></thead>\n'
            f"<tbody>{body}</tbody></table></div>"
        )

    def figure(self, figure: Figure, caption: str) -> None:
        """A figure with its caption."""
        self.figures += 1
        drawn = make_place(figure.spec, f"figure-{self.figures}")
        self.parts.append(f"<figure>{drawn}<figcaption>{escape(caption)}</figcaption></figure>")

    def navigation(self) -> str:
        """The headings as links, those of the third level under those of the second."""
        items = []
        for _, chapter in groupby(self.entries, key=self._chapter):
            (_, place, text), *below = chapter
            links = "".join(f'<li><a href="#{at}">{escape(word)}</a></li>' for _, at, word in below)
            under = f"<ol>{links}</ol>" if links else ""
            items.append(f'<li><a href="#{place}">{escape(text)}</a>{under}</li>')
        return f"<nav aria-label='Contents'><ol>{''.join(items)}</ol></nav>"

    def _chapter(self, entry: tuple[int, str, str]) -> int:
        """The number of the chapter that a heading is in."""
        return sum(level == 2 for level, _, _ in self.entries[: self.entries.index(entry) + 1])


def _beside(head: Sequence[str]) -> tuple[list[int], range]:
    """(the order of the columns, which of them are the paper's).

    The paper's columns come last; each goes right of ours with the same heading. One without a
    counterpart of its name has it in the first column of figures.
    """
    first = next((n for n, cell in enumerate(head) if cell.startswith(PAPER)), len(head))
    partners: dict[int, list[int]] = {}
    for paper in range(first, len(head)):
        name = head[paper].removeprefix(f"{PAPER}: ")
        mine = head.index(name) if name in head[:first] else 1
        partners.setdefault(mine, []).append(paper)
    columns = [n for mine in range(first) for n in (mine, *partners.get(mine, ()))]
    return columns, range(first, len(head))


def html(reproduction: Reproduction, *, load: Load | None = catalog.load) -> str:
    """The report as the text of an HTML file: the same reproduction, the same bytes.

    Without the extra ``rungwise[plots]`` it has everything but the figures, and says how to get
    them.

    Args:
        reproduction: the result of :func:`rungwise.lab.reproduction.reproduce`.
        load: where the curves of a benchmark come from, for figures of them and of single
            studies; None leaves these out.
    """
    page = Page()
    scripts = _load_scripts()
    drawing = bool(scripts)
    _introduction(page, reproduction)
    if not drawing:
        page.text(f"There are no figures: {MissingExtraError('drawing them', 'plots')}.")
    _in_short(page, reproduction)
    _benchmarks(page, reproduction)
    for name, group in groupby(grids(reproduction.sections), key=lambda pair: pair[0].experiment):
        _chapter(page, reproduction, name, list(group), drawing=drawing)
    if drawing:
        _pictures(page, reproduction, load)
    if reproduction.left_out:
        page.heading("Left out")
        page.bullets(reproduction.left_out)
    content = "\n".join(page.parts)
    body = f"{page.navigation()}\n<main>\n<h1>{escape(TITLE)}</h1>\n{content}\n</main>"
    return make_page(TITLE, body, scripts=scripts if page.figures else "", style=STYLE)


def _load_scripts() -> str:
    """What draws the figures; empty where the extra is not installed."""
    try:
        return load_scripts()
    except MissingExtraError:
        return ""


def _introduction(page: Page, reproduction: Reproduction) -> None:
    settings = reproduction.settings
    page.heading("How it was run")
    page.text(
        "The evaluation of the PASHA paper (Bohdal et al., ICLR 2023) on the benchmarks below, "
        "its figures beside ours where it has any. Figures are mean ± population standard "
        f"deviation over all runs. {number_text.describe_samples(settings)}"
    )
    seeds = format_count(settings.seeds, "scheduler seed")
    protocols = [(f"protocol {name}", PROTOCOLS[name].description) for name in settings.protocols]
    page.terms(
        [
            ("command", command(settings)),
            ("configurations a study", f"{settings.configs:,}"),
            ("workers", f"{settings.workers:,}"),
            ("runs", f"{seeds} × the training seeds of each benchmark"),
            *protocols,
            ("rungwise", __version__),
        ]
    )
    page.heading("The columns", 3)
    page.terms(COLUMNS.items())


def _in_short(page: Page, reproduction: Reproduction) -> None:
    """PASHA beside ASHA and one epoch for all, and everything that speaks against it."""
    head, lines = summary.table(reproduction)
    against = summary.against(reproduction)
    if lines or against:
        page.heading("In short")
    if lines:
        page.table(head, lines)
    _losses(page, against, summary.AGAINST)


def _losses(
    page: Page, losses: Sequence[str], words: str = "Where PASHA is not the best choice:"
) -> None:
    if losses:
        page.parts.append(f'<div class="losses"><p>{escape(words)}</p>')
        page.bullets(losses)
        page.parts.append("</div>")


def _benchmarks(page: Page, reproduction: Reproduction) -> None:
    page.heading("The benchmarks")
    head = ("benchmark", "what", "rows × resources × seeds", "studies see", "reported", "licence")
    lines = [
        (
            card.name,
            card.title,
            card.shape,
            card.metric,
            card.final_metric or f"{card.metric} at the end",
            card.licence,
        )
        for card in reproduction.benchmarks.values()
    ]
    page.table(head, lines, kind="words")
    # What is said of several benchmarks is said once.
    said: dict[str, list[str]] = {}
    for name in reproduction.benchmarks:
        for remark in reproduction.remarks.get(name, ()):
            said.setdefault(remark, []).append(name)
    page.bullets(f"{join_words(names)}: {remark}" for remark, names in said.items())


def _chapter(
    page: Page,
    reproduction: Reproduction,
    name: str,
    drawn: Sequence[tuple[Section, Grid]],
    *,
    drawing: bool,
) -> None:
    experiment = EXPERIMENTS[name]
    where = f" ({experiment.whereabouts})" if experiment.whereabouts else ""
    page.heading(f"{experiment.title}{where}")
    for _, grid in drawn:
        page.heading(grid.title, 3)
        page.table(grid.head, grid.lines)
        page.bullets(grid.notes)
        _losses(page, grid.losses)
    if name == "lcbench" and drawing:
        for picture in figures.draw_speed(reproduction):
            page.figure(picture.figure, picture.caption)


def _pictures(page: Page, reproduction: Reproduction, load: Load | None) -> None:
    """A chapter of figures for every benchmark; LCBench's many have their tables and bars."""
    names = [name for name in reproduction.benchmarks if not name.startswith(LCBENCH)]
    if names:
        page.heading("Figures")
    for name in names:
        page.heading(name, 3)
        for figure, caption in _draw_benchmark(reproduction, name, load):
            if figure is None:
                page.text(caption)
            else:
                page.figure(figure, caption)


def _draw_benchmark(
    reproduction: Reproduction, name: str, load: Load | None
) -> Iterator[tuple[Figure | None, str]]:
    """(figure, caption) of a benchmark; no figure where only something is to be said."""
    for picture in figures.draw_results(reproduction, name):
        yield picture.figure, picture.caption
    if load is None:
        return
    try:
        benchmark = load(name)
    except RungwiseError as error:
        yield None, f"Its curves could not be read again for more figures: {error}"
        return
    for picture in figures.draw_studies(reproduction, benchmark):
        yield picture.figure, picture.caption
