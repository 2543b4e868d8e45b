"""What an engine knows of its study, in groups of facts that change together.

The names of facts are unique across the groups: a snapshot holds them side by side.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field

from rungwise.core.extension import ExtensionRecord
from rungwise.core.limits import Limits
from rungwise.core.trials import Cause, Trial


@dataclass(slots=True)
class Totals:
    """What was done so far.

    Attributes:
        reports: the number of reports that brought something new.
        spent: the resource trained in total; what was trained twice counts twice.
        cost: the reported costs in total.
    """

    reports: int = 0
    spent: float = 0
    cost: float = 0.0


@dataclass(slots=True)
class Lead:
    """The best report so far, and how long ago that was.

    Attributes:
        best: the trial that has it; None while there is none.
        best_loss: its loss.
        best_resource: its resource.
        leads: [(the resource spent by then, trial), …] whenever another trial became the best.
        newest: the newest trial that has led; −1 if none has.
        unimproved: how many have reported or failed for the first time since that took the lead.
    """

    best: Trial | None = None
    best_loss: float = math.inf
    best_resource: float = 0
    leads: list[tuple[float, int]] = field(default_factory=list)
    newest: int = -1
    unimproved: int = 0


@dataclass(slots=True)
class Ending:
    """Why nothing more is done, or drawn.

    Attributes:
        ended: why the study is over, or None. These clauses are part of the log (``Done``), and a
            replay compares them: their words must not change.
        drained: whether it ended because nothing was left to do.
        exhausted: whether the searcher had nothing left to propose.
        stalled: whether no more are drawn because none got better.
    """

    ended: str | None = None
    drained: bool = False
    exhausted: bool = False
    stalled: bool = False


@dataclass(slots=True)
class Work:
    """Jobs that are on workers, and trials that are to get one or to lose it.

    Attributes:
        open: job → its trial, of those on workers, in the order issued.
        lost: the trials whose jobs will be started again before any other, in order.
        dismissed: trial → what is to become of it, of those stopped or failed on request whose
            jobs have not left yet.
        cut: the trials that the end of the study has paused between rungs, by id.
        settled: grows whenever something happened that a waiting worker may profit from.
    """

    open: dict[int, Trial] = field(default_factory=dict)
    lost: deque[Trial] = field(default_factory=deque)
    dismissed: dict[int, Cause] = field(default_factory=dict)
    cut: dict[int, Trial] = field(default_factory=dict)
    settled: int = 0


@dataclass(slots=True)
class Asked:
    """What people have asked for since the study began.

    Attributes:
        requests: the requests that have been applied.
        extensions: how the study was extended, in order.
        added: the number of configurations added on request, on top of the limits.
    """

    requests: set[str] = field(default_factory=set)
    extensions: list[ExtensionRecord] = field(default_factory=list)
    added: int = 0


@dataclass(slots=True)
class Bounds:
    """The limits of the study, as they are compared.

    Attributes:
        target: the loss that ends it; NaN, which nothing reaches, if there is none.
        watched: whether a report can end it.
        most: how many trials are drawn at most.
        last: the number of trials at which it ends at once, if it does.
    """

    target: float = math.nan
    watched: bool = False
    most: float = math.inf
    last: float | None = None

    def read(self, limits: Limits, *, sign: float, added: int) -> None:
        """Take over limits.

        Args:
            limits: the limits.
            sign: turns values into losses.
            added: how many trials there are beyond them.
        """
        self.target = find_target(limits, sign)
        self.watched = limits.watches_reports
        self.most = math.inf if limits.trials is None else limits.trials + added
        self.last = self.most if limits.finish == "paper" else None


def find_target(limits: Limits, sign: float) -> float:
    """The loss that ends a study; NaN if there is none."""
    return math.nan if limits.target is None else sign * limits.target
