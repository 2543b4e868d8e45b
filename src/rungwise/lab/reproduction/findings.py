"""The findings of a section, in sentences; above all where PASHA is not the best choice.

Law of this file: every sentence follows from the figures of its section by a rule that is the same
for every benchmark and every method. No sentence is chosen by hand.
"""

from __future__ import annotations

import math

from rungwise.benchmarks.card import Card
from rungwise.formatting import format_percent, join_words
from rungwise.lab.reproduction import number_text, paper, searcher_findings, statistics
from rungwise.lab.reproduction.experiments import points_per_epoch
from rungwise.lab.reproduction.methods import METHODS
from rungwise.lab.reproduction.outcomes import choose_final_metric
from rungwise.lab.reproduction.results import Rival, Row, Section, Settings
from rungwise.lab.reproduction.statistics import Runs

LESS = 0.99
"""Below this share of PASHA's runtime a method took less time; 99.5 % rounds to the same time."""

DRAWN = 256
"""How many configurations the paper draws."""

PD1_PARTS = ("matched", "unmatched")
"""The files of PD1 that the paper's table is made from."""


def write_findings(section: Section, runs: Runs) -> tuple[str, ...]:
    """The findings of a section.

    Args:
        section: the figures.
        runs: the runs they are computed from.
    """
    notes = [_pair(section, row, runs) for row in section.rows if _is_pasha(row)]
    if section.experiment == "eta":
        notes.append(_most_speedup(section))
    if section.experiment in ("resources", "granularity"):
        notes += _more_rungs(section, runs)
    notes += searcher_findings.write_findings(section, runs)
    notes += _note_untrained(section, runs)
    notes += _without_regret(section, runs)
    notes += [section.part] if section.part else _beside_the_paper(section)
    return tuple(note for note in notes if note)


def find_rivals(section: Section, runs: Runs) -> tuple[Rival, ...]:
    """Methods that took less time than PASHA and are not worse by more than a standard error.

    The random baseline is not among them: one draw per scheduler seed says little about it.
    """
    pasha = section.row("pasha")
    if pasha is None:
        return ()
    found = []
    for row in section.rows:
        if not row.spent.mean:
            continue
        gain, error = statistics.compare_pairs(section, runs[row.method], runs["pasha"])
        share = _share(row, pasha)
        if row is not pasha and share < LESS and gain >= -statistics.margin(error):
            found.append(Rival(row.method, row.label, gain, error, share))
    return tuple(found)


def find_better(section: Section, runs: Runs) -> tuple[Rival, ...]:
    """Every ASHA that ends better than PASHA in the same setting by more than a standard error."""
    found = []
    for row in filter(_is_pasha, section.rows):
        asha = section.row(METHODS[row.method].reference)
        if asha is None:
            continue
        gain, error = statistics.compare_pairs(section, runs[asha.method], runs[row.method])
        if gain > statistics.margin(error):
            found.append(Rival(asha.method, asha.label, gain, error, _share(asha, row)))
    return tuple(found)


def find_losses(section: Section) -> tuple[str, ...]:
    """Where PASHA is not the best choice: slower or worse than ASHA, or with rivals."""
    losses = [_slower(row, section) for row in section.rows if _is_pasha(row)]
    losses += [_behind(row, section) for row in section.rows if _is_pasha(row)]
    pasha = section.row("pasha")
    if pasha is not None and section.rivals:
        rivals = [
            f"{rival.label} ({statistics.format_gain(section, rival.gain, rival.error)}, "
            f"{format_percent(rival.time_share)} of its time)"
            for rival in section.rivals
        ]
        losses.append(
            f"In less time than {pasha.label}, and not worse "
            f"{number_text.describe_certainty(pasha.n)}: {'; '.join(rivals)}."
        )
    return tuple(loss for loss in losses if loss)


def list_remarks(card: Card, settings: Settings, *, nearest: bool) -> tuple[str, ...]:
    """What a reader needs to know about a benchmark before reading its figures."""
    remarks = []
    if card.resource and card.resource != "epoch":
        remarks.append(
            f"A unit of resource: {card.resource}. “Epoch” in the names of methods is this unit."
        )
    if points_per_epoch(card) > 1:
        remarks.append(f"An epoch is {points_per_epoch(card)} units of resource.")
    if nearest:
        remarks.append(
            "Configurations are drawn from the search space, and each gets the curve of the "
            "nearest recorded one (1-NN), as in the paper on PD1."
        )
    elif card.rows < settings.configs:
        remarks.append(f"The table has {card.rows} configurations: each is drawn once.")
    if describe_part(card):
        remarks.append(describe_part(card))
    remarks += [f"From its card: {note}." for note in card.notes]
    report = choose_final_metric(card)
    if report.turned:
        remarks.append("The table has errors; 1 − error is reported.")
    if not paper.knows(card.name):
        remarks.append("The paper has no figures for it.")
    elif "accuracy" not in card.metric.lower() and "error" not in card.metric.lower():
        remarks.append(
            f"Studies use {card.metric or 'another metric'} here and accuracy in the paper, so the "
            "paper's figures are not of the same studies."
        )
    if card.unit_seconds:
        remarks.append(f"Runtime: {card.unit_seconds.rstrip('.')}.")
    return tuple(remarks)


def describe_part(card: Card) -> str:
    """Why a benchmark of the paper cannot be compared with it; empty if it can."""
    if not paper.knows(card.name):
        return ""
    reasons = []
    whole, parts = card.details.get("architectures_in_all"), card.details.get("parts")
    if type(whole) is int and whole > card.rows:
        reasons.append(
            f"only {card.rows:,} of {whole:,} architectures are in this table, and the paper draws "
            f"{DRAWN} from all of them"
        )
    elif card.rows < DRAWN:
        reasons.append(
            f"only {card.rows:,} configurations are in this table, and the paper draws {DRAWN}"
        )
    if isinstance(parts, list) and len(parts) < len(PD1_PARTS):
        held = ", ".join(map(str, parts)) or "none"
        reasons.append(f"this table has a part of the runs ({held})")
    length = paper.find_length(card.name)
    if length is not None and card.resources not in (0, length):
        reasons.append(f"its curves have {card.resources:,} points, and the paper's {length:,}")
    if not reasons:
        return ""
    text = "; ".join(reasons)
    return (
        f"{text[0].upper()}{text[1:]}: the paper's figures are shown beside ours, but cannot be "
        "compared with them."
    )


def _is_pasha(row: Row) -> bool:
    """Whether a row is PASHA with the paper's criterion, in any setting."""
    return row.method == "pasha" or row.method.startswith("pasha-")


def _pair(section: Section, row: Row, runs: Runs) -> str:
    """PASHA compared with ASHA in the same setting, on the same samples."""
    other = section.row(METHODS[row.method].reference)
    return "" if other is None else _against(section, row, other, runs)


def _against(section: Section, row: Row, other: Row, runs: Runs) -> str:
    """A method compared with another on the same samples, or with the same seeds."""
    searched = any(METHODS[one.method].plain for one in (row, other))
    how = "with the same seeds" if searched else "on the same samples"
    gain = statistics.format_gain(
        section, *statistics.compare_pairs(section, runs[row.method], runs[other.method])
    )
    faster = other.seconds.mean / row.seconds.mean if row.seconds.mean else None
    speed = "" if faster is None else f", {number_text.speedup(faster)} the speed"
    return (
        f"{row.label} against {other.label} {how}: {gain}{speed}; "
        f"{format_percent(row.better_share.mean)} of the sampled configurations end better than "
        f"its choice ({other.label}: {format_percent(other.better_share.mean)})."
    )


def _share(row: Row, pasha: Row) -> float:
    """The runtime of a method as a share of PASHA's."""
    return row.seconds.mean / pasha.seconds.mean if pasha.seconds.mean else math.inf


def _behind(row: Row, section: Section) -> str:
    reference = METHODS[row.method].reference
    found = next((one for one in section.ahead if one.method == reference), None)
    if found is None:
        return ""
    by = number_text.difference(section, found.gain)
    if not math.isnan(found.error):
        by += f", standard error {number_text.difference(section, found.error)}"
    return (
        f"{row.label} ends worse than {found.label} {number_text.describe_certainty(row.n)}: "
        f"by {by}, at {number_text.speedup(row.speedup)} the speed."
    )


def _slower(row: Row, section: Section) -> str:
    if row.speedup is None or row.speedup >= 1:
        return ""
    other = section.row(METHODS[row.method].reference)
    return "" if other is None else f"{row.label} takes longer than {other.label}."


def _most_speedup(section: Section) -> str:
    pairs = [row for row in section.rows if _is_pasha(row) and row.speedup is not None]
    if len(pairs) < 2:
        return ""
    best = max(pairs, key=lambda row: row.speedup or 0.0)
    listed = join_words([f"{number_text.speedup(row.speedup)} ({row.label})" for row in pairs])
    agrees = "as in the paper" if best.method == "pasha-eta2" else "the paper's is with η=2"
    return (
        f"Speed-ups against ASHA with the same η: {listed}; the largest is {best.label}, {agrees}."
    )


def _more_rungs(section: Section, runs: Runs) -> list[str]:
    """Does the speed-up grow with the number of rungs, as the paper says?"""
    more = section.row("pasha")
    fewer = next((row for row in section.rows if _is_pasha(row) and row is not more), None)
    if more is None or fewer is None or more.speedup is None or fewer.speedup is None:
        return []
    agrees = "as the paper expects" if more.speedup > fewer.speedup else "unlike in the paper"
    faster = f"With more rungs PASHA's speed-up against ASHA is {number_text.speedup(more.speedup)}"
    return [
        _against(section, more, fewer, runs),
        f"{faster}, with fewer {number_text.speedup(fewer.speedup)}: {agrees}.",
    ]


def _note_untrained(section: Section, runs: Runs) -> list[str]:
    """Runs that chose nothing, and runs whose choice has no final value."""
    reasons = {
        "Runs that ended before a finite value was reported, and chose nothing": lambda run: (
            run.row < 0
        ),
        "Runs whose choice diverged in full training, or has no final value": lambda run: (
            run.row >= 0 and not run.trained
        ),
    }
    sentences = []
    for words, applies in reasons.items():
        counts = {row.label: sum(map(applies, runs[row.method])) for row in section.rows}
        found = [f"{row.label} {n} of {row.n}" for row in section.rows if (n := counts[row.label])]
        if found:
            rule = "they count as the worst final value of the table"
            sentences.append(f"{words} ({rule}): {join_words(found)}.")
    return sentences


def _without_regret(section: Section, runs: Runs) -> list[str]:
    missing = sum(
        math.isnan(outcome.regret) for row in section.rows for outcome in runs[row.method]
    )
    if not missing:
        return []
    total = sum(row.n for row in section.rows)
    why = "half of their sample is as good as its best, and their choice is not"
    return [f"{missing} of {total} runs have no regret ({why}); the means are over the others."]


def _beside_the_paper(section: Section) -> list[str]:
    gaps = [
        (100 * row.final.mean - row.paper.accuracy.mean, row.label, row.paper.accuracy.std)
        for row in section.rows
        if row.paper is not None and section.percent
    ]
    if not gaps:
        return []
    gap, label, std = max(gaps, key=lambda item: abs(item[0]))
    furthest = f"Furthest from the paper's accuracy: {label}, by {gap:+.2f} points"
    return [f"{furthest} (the paper's standard deviation is {std:.2f})."]
