"""Parts of the reproduction as Markdown; ``pages.py`` makes pages of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rungwise.formatting import format_count
from rungwise.lab.reproduction import number_text
from rungwise.lab.reproduction.experiments import shortest
from rungwise.lab.reproduction.paper import LCBENCH
from rungwise.lab.reproduction.protocols import PROTOCOLS
from rungwise.lab.reproduction.results import Reproduction, Section, Settings
from rungwise.lab.reproduction.tables import Grid

COLUMNS = {
    "final value": "the value of the chosen configuration after full training. If that is unknown "
    "or diverged, the worst final value of the whole table counts instead; no run is left out",
    "runtime": "how long the search takes, without training the winner in full",
    "speed-up": "ASHA's mean runtime over the method's",
    "max resource": "how far the furthest configuration was trained",
    "resource spent": "all training of the search together",
    "better in the end": "the share of the sampled configurations that end better than the chosen "
    "one; accuracies are close together, and this shows how much was missed",
    "regret": "(best − chosen) / (best − median) of the sample's final values: 0 is the best of "
    "the sample, 1 is its median",
}
"""What each column means."""


def command(settings: Settings) -> str:
    """The command that writes this page."""
    default = Settings(settings.experiments)
    words = ["rungwise reproduce", *shortest(settings.experiments)]
    for name in ("seeds", "configs", "workers"):
        if getattr(settings, name) != getattr(default, name):
            words += [f"--{name}", str(getattr(settings, name))]
    if settings.protocols != default.protocols:
        words += ["--protocol", settings.protocols[0]]
    elif settings.everywhere:
        words += ["--protocol", "both"]
    if settings.nearest:
        words.append("--nearest")
    return " ".join([*words, *(f"--benchmark {name}" for name in settings.benchmarks)])


def write_introduction(settings: Settings) -> Iterator[str]:
    """How it was run, and what the columns mean."""
    yield (
        "The evaluation of the PASHA paper (Bohdal et al., ICLR 2023), run by "
        f"`{command(settings)}` on the benchmarks below. "
        f"{settings.configs} configurations, {settings.workers} workers, "
        f"{format_count(settings.seeds, 'scheduler seed')} × the training seeds of the table; "
        "every figure is mean ± population standard deviation over these runs. "
        f"{number_text.describe_samples(settings)} The same command gives the same page, byte for "
        "byte."
    )
    yield ""
    for name in settings.protocols:
        yield f"- Protocol `{name}`: {PROTOCOLS[name].description}."
    yield ""
    yield from ("The columns:", "", *(f"- {name}: {text}." for name, text in COLUMNS.items()), "")


def write_benchmarks(reproduction: Reproduction) -> Iterator[str]:
    """The benchmarks, with what a reader needs to know about each."""
    yield from ("## The benchmarks", "")
    cards = list(reproduction.benchmarks.values())
    plain = [card for card in cards if not card.name.startswith(LCBENCH)]
    head = ("benchmark", "contents", "rows × resources × seeds", "study metric", "final value")
    lines = [
        (
            f"`{card.name}`",
            card.title,
            card.shape,
            card.metric,
            card.final_metric or f"{card.metric} at the end",
        )
        for card in plain
    ]
    several = [card for card in cards if card.name.startswith(LCBENCH)]
    forms: dict[tuple[str, str, str], list[str]] = {}
    for card in several:  # all equal, unless they were converted from different files
        form = (card.shape, card.metric, card.final_metric)
        forms.setdefault(form, []).append(card.name)
    together = [
        (
            _together(names, len(forms) == 1),
            f"LCBench, {format_count(len(names), 'data set')}",
            *form,
        )
        for form, names in forms.items()
    ]
    yield from write_table(head, [*lines, *together])
    yield ""
    for card in plain:
        yield f"- `{card.name}`: {_cell(' '.join(reproduction.remarks[card.name]))}"
    # Most data sets of LCBench have the same remarks.
    remarks = {card.name: " ".join(reproduction.remarks[card.name]) for card in several}
    for text in dict.fromkeys(remarks.values()):
        names = [name for name, remark in remarks.items() if remark == text]
        yield f"- {_together(names, len(names) > len(several) / 2)}: {_cell(text)}"
    yield ""


def _together(names: Sequence[str], usual: bool) -> str:  # noqa: FBT001 - clear at its calls
    """Some data sets of LCBench; the usual ones are named by their common prefix."""
    if usual and len(names) > 3:
        return f"`{LCBENCH}…`"
    listed = ", ".join(f"`{name}`" for name in names[:3])
    return listed if len(names) < 4 else f"{listed} and {len(names) - 3} others"


def write_sections(name: str, drawn: Sequence[tuple[Section, Grid]]) -> Iterator[str]:
    """The tables of an experiment, each with what it shows."""
    for section, grid in drawn:
        benchmark = "LCBench" if name == "lcbench" else section.benchmark
        yield from (f"## {benchmark}, protocol {section.protocol}", "")
        yield from write_table(grid.head, grid.lines)
        yield ""
        if grid.notes or grid.losses:
            yield from write_bullets([*grid.notes, *grid.losses])


def write_table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> Iterator[str]:
    """A table."""
    yield f"| {' | '.join(_cell(cell) for cell in head)} |"
    yield f"|{'---|' * len(head)}"
    for line in lines:
        yield f"| {' | '.join(_cell(cell) for cell in line)} |"


def write_bullets(sentences: Sequence[str]) -> Iterator[str]:
    """A list."""
    yield from (f"- {_cell(sentence)}" for sentence in sentences)
    yield ""


def _cell(text: str) -> str:
    """Text for one cell: in one line, without markup."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
