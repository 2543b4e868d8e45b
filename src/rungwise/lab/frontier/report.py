"""The comparison as Markdown, CSV and tables for the terminal."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence

from rungwise.formatting import format_count
from rungwise.lab.frontier.methods import GUESSES, METHODS, SHARE
from rungwise.lab.frontier.results import WORST, Frontier, Score, Settings
from rungwise.lab.frontier.scores import find_gap

FIGURE = "frontier.svg"
"""The file of the figure, beside the page."""

Line = tuple[str, ...]

HEAD = (
    *("method", "times less than ASHA", "regret", "gap to ASHA at equal resource"),
    *("worst group", "top winner: regret", "top winner: gap"),
)
GUESS_HEAD = HEAD[:4]


def command(settings: Settings) -> str:
    """The command that gives the same figures."""
    default = Settings()
    words = ["rungwise reproduce frontier"]
    for name in ("seeds", "configs", "workers"):
        if getattr(settings, name) != getattr(default, name):
            words += [f"--{name}", str(getattr(settings, name))]
    if settings.methods != tuple(METHODS):
        words += [f"--method {name}" for name in settings.methods]
    if settings.curves:
        words.append("--curves FOLDER")
    return " ".join([*words, *(f"--benchmark {name}" for name in settings.benchmarks)])


def summarise(frontier: Frontier) -> str:
    """The result in a sentence, whatever it is."""
    rivals = [one for one in frontier.scores if one.method != "asha" and one.saving > 1]
    better = [one for one in rivals if one.gap < -margin(one)]
    worse = [one for one in rivals if one.gap > margin(one)]
    trains = "trains" if len(rivals) == 1 else "train"
    return (
        f"Of {format_count(len(rivals), 'method')} that {trains} less than ASHA with "
        f"{frontier.settings.configs} trials, {_say_ends(len(better))} better than ASHA with fewer "
        "trials for the same resource by more than a standard error, and "
        f"{_say_ends(len(worse))} worse."
    )


def _say_ends(number: int) -> str:
    return f"{number} {'ends' if number == 1 else 'end'}"


def margin(one: Score) -> float:
    """The standard error of a gap; 0 where there is only one seed."""
    return 0.0 if math.isnan(one.error) else one.error


def list_scores(frontier: Frontier) -> list[Line]:
    """A line for each method over all groups."""
    worst = {
        method: max(group.scores[number].gap for group in frontier.groups)
        for number, method in enumerate(frontier.settings.methods)
    }
    lines = []
    for one in frontier.scores:
        gap = f"{worst[one.method]:+.3f} ({frontier.worst[one.method]})"
        own = "" if one.method == "asha" else gap
        top_gap = "0" if one.method == "asha" else f"{one.top_gap:+.3f}"
        lines.append((*_line(METHODS[one.method].label, one), own, f"{one.top:.3f}", top_gap))
    return lines


def list_guesses(frontier: Frontier) -> list[Line]:
    """A line for each maximum that was guessed wrongly."""
    labels = {guess.name: guess.label for guess in GUESSES}
    return [_line(labels[one.method], one) for one in frontier.guesses]


def list_groups(frontier: Frontier) -> tuple[Line, list[Line]]:
    """(head, a line for each method with its gap on every group)."""
    head = ("gap (times less)", *(group.name for group in frontier.groups))
    lines = []
    for number, method in enumerate(frontier.settings.methods):
        if method == "asha":
            continue
        scores = [group.scores[number] for group in frontier.groups]
        cells = (f"{_gap(one)} ({one.saving:.1f}×)" for one in scores)
        lines.append((METHODS[method].label, *cells))
    return head, lines


def _line(label: str, one: Score) -> Line:
    gap = "0" if one.method == "asha" else _gap(one)
    return (label, f"{one.saving:.2f}×", f"{one.regret:.3f}", gap)


def _gap(one: Score) -> str:
    return f"{one.gap:+.3f}" if math.isnan(one.error) else f"{one.gap:+.3f} ± {one.error:.3f}"


# -- Markdown ----------------------------------------------------------------------------------


def markdown(frontier: Frontier, *, figure: bool) -> str:
    """The page.

    Args:
        frontier: the comparison.
        figure: whether there is a figure beside it.
    """
    return "\n".join(_write(frontier, figure=figure)).rstrip() + "\n"


def _write(frontier: Frontier, *, figure: bool) -> Iterator[str]:
    settings = frontier.settings
    yield from ("# At equal resource", "")
    yield (
        f"A method that trains less than ASHA with {settings.configs} trials has a rival that "
        "costs nothing to build: ASHA with fewer trials. This page compares every method with it. "
        f"{summarise(frontier)}"
    )
    yield from ("", *_explain(frontier), "")
    if figure:
        yield from (f"![Regret against resource]({FIGURE})", "")
    yield from ("## All methods", "")
    yield from _table(HEAD, list_scores(frontier))
    yield from ("", "## By group", "")
    head, lines = list_groups(frontier)
    # Groups are lines here: there are more of them than methods fit beside each other.
    yield from _table(("group", *(line[0] for line in lines)), _transpose(head, lines))
    yield from ("", f"## A maximum that was guessed {SHARE} times too low or too high", "")
    yield (
        "The reference is ASHA with the right maximum, the length of the table. Beyond it, curves "
        "go on level: training longer brings nothing and costs as much. The winner is always "
        "trained in full."
    )
    yield ""
    yield from _table(GUESS_HEAD, list_guesses(frontier))
    yield from ("", "## The tables", "")
    for group in frontier.groups:
        yield f"- {group.name}: {', '.join(f'`{name}`' for name in group.benchmarks)}"


def _explain(frontier: Frontier) -> Iterator[str]:
    settings = frontier.settings
    sizes = ", ".join(map(str, frontier.sizes))
    yield f"- Made by `{command(settings)}`; the same command gives the same figures."
    yield (
        f"- {settings.configs} random configurations (all of a smaller table), {settings.workers} "
        f"workers, {format_count(settings.seeds, 'sample')} for each training seed of a table; "
        "all methods draw the same configurations, with the defaults of rungwise."
    )
    yield (
        "- Regret: (best − chosen) / (best − median) of the sample's final values, at most "
        f"{WORST:g}. A choice that diverged counts as the worst of its table."
    )
    yield (
        "- Gap: a method's regret minus that of ASHA for the same resource, in the same sample, "
        f"between ASHA with {sizes} trials. Below 0 is better than ASHA with fewer trials. A "
        "method that spends more than ASHA with all trials is compared with that one."
    )
    yield (
        "- The choice is the best value at any resource, and for adaptive and sharp halving the "
        "best of those that were trained furthest, by its value there: their default. Top winner: "
        "that is the choice of every method, ASHA included."
    )
    if "adaptive" in settings.methods:
        yield (
            "- The rule of adaptive halving was chosen on the tables of the package, LCBench and 7 "
            "other groups of curves: on unseen ones expect less."
        )
    yield (
        "- Groups count the same, and so do the tables in a group; times less is the geometric "
        "mean. ± is the standard error over samples."
    )


def _transpose(head: Line, lines: Sequence[Line]) -> list[Line]:
    return [
        (name, *(line[number] for line in lines)) for number, name in enumerate(head) if number > 0
    ]


def _table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for line in lines:
        yield f"| {' | '.join(line)} |"


# -- CSV ---------------------------------------------------------------------------------------


def runs_csv(frontier: Frontier) -> str:
    """One line per study; figures are not rounded."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        ("benchmark", "table_seed", "seed", "method", "trials", "spent", "regret", "gap", "top")
    )
    for run in frontier.runs:
        labels = (run.benchmark, run.table_seed, run.seed)
        for size, study in zip(frontier.sizes, run.line, strict=True):
            writer.writerow((*labels, "asha", size, study.spent, study.regret, 0.0, study.top))
        for name, study in (*run.studies.items(), *run.guesses.items()):
            if name != "asha":
                gap = find_gap(study, run.line)
                figures = (study.spent, study.regret, gap, study.top)
                writer.writerow((*labels, name, frontier.sizes[-1], *figures))
    return text.getvalue()
