"""The effect of a searcher: findings about methods that choose what they draw.

Law of this file: as in :mod:`rungwise.lab.reproduction.findings`, every sentence follows from the
figures by a rule that is the same for every benchmark and every method; above all where a searcher
does not beat random sampling.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from rungwise.formatting import format_percent
from rungwise.lab.reproduction import number_text, statistics
from rungwise.lab.reproduction.methods import METHODS, PEER
from rungwise.lab.reproduction.results import Row, Section
from rungwise.lab.reproduction.statistics import Runs

MEASURE = (
    "Methods with a searcher choose what they draw. For all methods, “better in the end” and "
    "regret compare with the sample that is drawn at random with the same seed: a regret below 0 "
    "is better than the whole sample. Speed-ups are against ASHA with the same searcher. “At equal "
    "resource” compares the choices, seed by seed, at the total resource of the study that spent "
    "less."
)
"""How to read the figures if samples differ."""

PEER_ENDS = (
    "is a study of Optuna alone (TPE and HyperbandPruner): it ends when all its trials have ended, "
    "under both protocols, and chooses the best of its trials that were trained in full. Its "
    "speed-up is against ASHA with random sampling."
)
"""How a study of Optuna alone differs."""


def write_findings(section: Section, runs: Runs) -> Iterator[str]:
    """The findings about searchers; nothing if the section has none."""
    searching = [row for row in section.rows if METHODS[row.method].plain]
    if not searching:
        return
    yield MEASURE
    for row in searching:
        plain = section.row(METHODS[row.method].plain)
        if plain is not None and row.method != PEER:  # its scheduler differs as well
            yield _beside_chance(section, row, plain, runs)
    peer = section.row(PEER)
    if peer is not None:
        yield f"{peer.label} {PEER_ENDS}"
        yield _beside_peer(section, peer, runs)


def _beside_chance(section: Section, row: Row, plain: Row, runs: Runs) -> str:
    searched, random = runs[row.method], runs[plain.method]
    gain, error = statistics.compare_pairs(section, searched, random)
    *equally, spent = statistics.at_equal_resource(searched, random)
    equal_gain, equal_error = statistics.compare_pairs(section, *equally)
    return (
        f"{row.label} against {plain.label}: {statistics.format_gain(section, gain, error)}; "
        f"{_compare(gain, error)}. Resource spent: {row.spent.mean:,.0f} against "
        f"{plain.spent.mean:,.0f}{_in_time(row, plain)}. At equal resource, {spent:,.0f}: "
        f"{statistics.format_gain(section, equal_gain, equal_error)}; "
        f"{_compare(equal_gain, equal_error)}."
    )


def _compare(gain: float, error: float) -> str:
    """Whether a gain is better than random sampling."""
    certainty = "a single run says little" if math.isnan(error) else "by more than a standard error"
    if gain > statistics.margin(error):
        return f"it beats random sampling ({certainty})"
    if gain < -statistics.margin(error):
        return f"it is worse than random sampling ({certainty})"
    return "it does not beat random sampling"


def _in_time(row: Row, other: Row) -> str:
    """The runtime of one, relative to the other."""
    if not other.seconds.mean:
        return ""
    return f", in {format_percent(row.seconds.mean / other.seconds.mean)} of the time"


def _beside_peer(section: Section, peer: Row, runs: Runs) -> str:
    parts = []
    for row in section.rows:
        if row is peer or not row.seconds.mean or not peer.spent.mean:
            continue
        gain = statistics.format_gain(
            section, *statistics.compare_pairs(section, runs[row.method], runs[peer.method])
        )
        faster = number_text.speedup(peer.seconds.mean / row.seconds.mean)
        share = format_percent(row.spent.mean / peer.spent.mean)
        parts.append(f"{row.label} ({gain}, {faster} the speed, {share} of its resource)")
    return f"Against {peer.label}: {'; '.join(parts)}." if parts else ""
