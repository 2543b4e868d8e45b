"""What a searcher brings: sentences about methods that choose what they draw.

Law of this file: as in :mod:`rungwise.lab.reproduction.findings`, every sentence follows from the
figures by a rule that is the same for every benchmark and every method; above all where a searcher
does not beat chance.
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
    "Methods with a searcher choose what they draw. “Better in the end” and regret are told "
    "against the sample that is drawn at random with the same seed, for all methods alike: a "
    "regret below 0 is better than all of it. Speed-ups are against ASHA with the same searcher. "
    "“At equal resource” compares the choices, seed by seed, as they stood when as much had been "
    "trained as the thriftier of the two studies came to in all."
)
"""How figures are to be read where samples differ."""

PEER_ENDS = (
    "is a study of Optuna alone (TPE and HyperbandPruner): it ends when all its trials have ended, "
    "under either protocol, and chooses its best trial of those trained in full. Its speed-up is "
    "against ASHA at random."
)
"""What is special about Optuna's own study."""


def write_findings(section: Section, runs: Runs) -> Iterator[str]:
    """What the figures say of searchers; nothing where there are none."""
    searching = [row for row in section.rows if METHODS[row.method].plain]
    if not searching:
        return
    yield MEASURE
    for row in searching:
        plain = section.row(METHODS[row.method].plain)
        if plain is not None and row.method != PEER:  # its scheduler is another as well
            yield _beside_chance(section, row, plain, runs)
    peer = section.row(PEER)
    if peer is not None:
        yield f"{peer.label} {PEER_ENDS}"
        yield _beside_peer(section, peer, runs)


def _beside_chance(section: Section, row: Row, plain: Row, runs: Runs) -> str:
    mine, theirs = runs[row.method], runs[plain.method]
    gain, error = statistics.paired(section, mine, theirs)
    *equally, spent = statistics.at_equal_resource(mine, theirs)
    fair, unsure = statistics.paired(section, *equally)
    return (
        f"{row.label} against {plain.label}: {statistics.told(section, gain, error)}; "
        f"{_verdict(gain, error)}. Resource spent: {row.spent.mean:,.0f} against "
        f"{plain.spent.mean:,.0f}{_in_time(row, plain)}. At equal resource, {spent:,.0f}: "
        f"{statistics.told(section, fair, unsure)}; {_verdict(fair, unsure)}."
    )


def _verdict(gain: float, error: float) -> str:
    """Whether that is better than chance."""
    sure = "a single run says little" if math.isnan(error) else "by more than a standard error"
    if gain > statistics.margin(error):
        return f"it beats random sampling ({sure})"
    if gain < -statistics.margin(error):
        return f"it is worse than random sampling ({sure})"
    return "it does not beat random sampling"


def _in_time(row: Row, other: Row) -> str:
    """How long one took, in terms of the other."""
    if not other.seconds.mean:
        return ""
    return f", in {format_percent(row.seconds.mean / other.seconds.mean)} of the time"


def _beside_peer(section: Section, peer: Row, runs: Runs) -> str:
    parts = []
    for row in section.rows:
        if row is peer or not row.seconds.mean or not peer.spent.mean:
            continue
        gain = statistics.told(
            section, *statistics.paired(section, runs[row.method], runs[peer.method])
        )
        faster = number_text.speedup(peer.seconds.mean / row.seconds.mean)
        share = format_percent(row.spent.mean / peer.spent.mean)
        parts.append(f"{row.label} ({gain}, {faster} the speed, {share} of its resource)")
    return f"Against {peer.label}: {'; '.join(parts)}." if parts else ""
