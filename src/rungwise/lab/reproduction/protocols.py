"""Two ways to run a study: as the authors' code does, and as rungwise does by default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from rungwise.core.limits import Finish
from rungwise.schedulers.ceilings import Check
from rungwise.schedulers.presets import Promote


@dataclass(frozen=True, slots=True)
class Protocol:
    """How a study ends, which trials may be promoted, and when rankings are compared.

    Attributes:
        name: ``"paper"`` or ``"ours"``.
        description: what it is, for a reader.
        finish: when a study ends.
        promote: which trials may be promoted.
        check: when PASHA compares rankings.
    """

    name: str
    description: str
    finish: Finish
    promote: Promote
    check: Check


PAPER = Protocol(
    name="paper",
    description="the paper's protocol, as in the authors' code: the study ends as soon as the "
    "last configuration has started, losses up to the 1/η quantile of a rung are promoted, and "
    "rankings are compared after every report",
    finish="paper",
    promote="quantile",
    check="report",
)
OURS = Protocol(
    name="ours",
    description="the defaults of rungwise: every configuration is evaluated and the study ends "
    "when nothing more can be promoted, the best ⌊n/η⌋ of a rung are promoted, and rankings are "
    "compared when a configuration arrives in the top rung",
    finish="drain",
    promote="floor",
    check="rung",
)
PROTOCOLS: Mapping[str, Protocol] = MappingProxyType({"paper": PAPER, "ours": OURS})
