"""A model of a study for the state machine: facts only, every answer from its definition.

Shares nothing with ``rungwise`` but the table of moves (tested on its own) and the names of states.
"""

import math
from dataclasses import dataclass, field

import numpy as np
import oracle

from rungwise.core.trials import MOVES, Cause, State

INF = math.inf
ON_A_WORKER = {State.RUNNING, State.PAUSING, State.STOPPING}


@dataclass
class Fact:
    """What is known of a trial."""

    id: int
    bracket: int = 0
    until: float = 0
    state: State = State.NEW
    curve: dict = field(default_factory=dict)  # {resource: loss}, ascending
    aims: list = field(default_factory=list)  # the levels its jobs ran to

    @property
    def furthest(self):
        return max(self.curve, default=0)

    @property
    def dropped(self):
        return self.state in (State.FAILED, State.ENDED)

    def move(self, cause):
        self.state = MOVES[self.state, cause]


class Model:
    """A study with one ladder a bracket.

    Args:
        ladders: the levels of each bracket; the last one serves all that follow.
        kind: "promotion", "stopping", "synchronous", or "fixed" (all are trained equally long).
        brackets: whether every rung has a bracket that starts there.
        criterion: name and parameters in the oracle, None for a fixed ceiling.
    """

    def __init__(
        self, ladders, *, kind, eta, promote="floor", check="rung", criterion=None, brackets=False
    ):
        self.ladders, self.kind, self.eta, self.brackets = ladders, kind, eta, brackets
        self.promote, self.check, self.criterion = promote, check, criterion
        self.trials = []
        self.lost = []
        self.cut = []  # paused between rungs because the study was over, in that order
        self.behind = []  # trained to an earlier maximum, where all are trained equally long
        self.starts = []  # the rung at which each bracket starts
        self.reports = 0
        self.epsilon = 0.0
        self.ceiling = len(self.levels(0)) - 1
        if criterion is not None:
            self.ceiling = min(1, self.ceiling)
        self.ceilings = [(0, self.levels(0)[self.ceiling])]

    def levels(self, bracket):
        while len(self.starts) <= bracket:  # one after the other, then again from the lowest rung
            last = self.starts[-1] if self.starts else -1
            self.starts.append((last + 1) % len(self.ladders))
        return self.ladders[self.starts[bracket]]

    def open(self):
        return [trial for trial in self.trials if trial.state in ON_A_WORKER]

    # ---- rungs -----------------------------------------------------------------------------------

    def aim(self, trial):
        """The level a trial is judged at next."""
        if self.kind != "stopping":
            return trial.until
        return next(level for level in self.levels(trial.bracket) if level > trial.furthest)

    def loss_at(self, trial, level):
        """The first report at or beyond a level; +inf if it left on the way; None if not there."""
        for resource, loss in trial.curve.items():
            if resource >= level:
                return loss
        return INF if trial.dropped and level <= self.aim(trial) else None

    def report_at(self, trial, level):
        """The resource of the first report at or beyond a level."""
        return next(resource for resource in trial.curve if resource >= level)

    def rung(self, bracket, k):
        level = self.levels(bracket)[k]
        members = [trial for trial in self.trials if trial.bracket == bracket]
        found = {trial.id: self.loss_at(trial, level) for trial in members}
        return {trial: loss for trial, loss in found.items() if loss is not None}

    def best_part(self, rung):
        """The trials of a rung that may go on: a prefix of the ranking."""
        n, at_least = len(rung), int(self.kind == "stopping")
        ranked = sorted(rung, key=lambda trial: (rung[trial], trial))
        if self.promote == "floor":
            good = ranked[: max(n // self.eta, at_least)]
        elif n >= 2 - at_least:
            edge = np.sort(list(rung.values()))[(n - 1) // self.eta]
            good = [trial for trial in ranked if rung[trial] <= edge]
        else:
            good = []
        return [trial for trial in good if rung[trial] < INF]

    def promotion(self):
        """(trial, start, until) that a free worker gets by promotion; asynchronous kinds only."""
        if self.kind == "stopping":
            return None
        if self.behind:
            trial = self.trials[self.behind[0]]
            return trial.id, trial.furthest, self.levels(0)[0]
        for bracket in range(len(self.ladders)):
            levels = self.levels(bracket)
            highest = len(levels) - 1 if self.brackets else self.ceiling
            for k in range(highest - 1, -1, -1):
                for number in self.best_part(self.rung(bracket, k)):
                    trial = self.trials[number]
                    waits = trial.state is State.PAUSED and trial.furthest < levels[k + 1]
                    if waits and trial.furthest >= trial.until:
                        return number, trial.furthest, levels[k + 1]
        return None

    # ---- reports ---------------------------------------------------------------------------------

    def report(self, trial, resource, loss):
        """A running trial went further than ever; what it is told unless the study is over."""
        before, met = trial.furthest, self.ceiling
        trial.curve[resource] = loss
        self.reports += 1
        self.maybe_raise(before, resource)
        levels = self.levels(trial.bracket)
        passed = [k for k, level in enumerate(levels) if before < level <= resource]
        if self.kind == "stopping":
            good = all(trial.id in self.best_part(self.rung(trial.bracket, k)) for k in passed)
            return "continue" if not passed or (good and passed[-1] < met) else "stop"
        if resource < trial.until:
            return "continue"
        goal = trial.until if self.kind == "synchronous" else resource
        return "stop" if goal >= levels[-1] else "pause"

    def maybe_raise(self, before, resource):
        levels = self.levels(0)
        if self.criterion is None or self.ceiling == len(levels) - 1:
            return
        self.update_epsilon()
        if self.check == "report" or before < levels[self.ceiling] <= resource:
            self.compare()

    def update_epsilon(self):
        if self.criterion[0] in ("noise", "leader"):
            low, high = self.levels(0)[self.ceiling - 1 : self.ceiling + 1]
            distances = oracle.noise_distances([t.curve for t in self.trials], low, high)
            if distances:
                self.epsilon = float(np.percentile(distances, self.criterion[1]))

    def compare(self):
        """Raise the ceiling by one rung unless its ranking is stable."""
        levels = self.levels(0)
        low, high = levels[self.ceiling - 1], levels[self.ceiling]
        # Those who left on the way are in the rung, but not in the comparison; nor are those
        # who entered both rungs with one report, unless there is nobody else: then it rises.
        there = [t for t in self.trials if t.furthest >= high]
        told = [t for t in there if self.report_at(t, low) != self.report_at(t, high)]
        now = {t.id: self.loss_at(t, high) for t in told}
        then = {t.id: self.loss_at(t, low) for t in told}
        name, *parameters = self.criterion
        blind = there and not told
        if blind or (now and not oracle.CRITERIA[name](now, then, self.epsilon, *parameters)):
            self.ceiling += 1
            self.ceilings.append((self.reports, levels[self.ceiling]))

    # ---- extensions ------------------------------------------------------------------------------

    def extend(self, maximum):
        """The study goes on; under a higher maximum if one is given, and then no job is open."""
        now = [trial for trial in self.cut if self.trials[trial].state is State.PAUSED]
        for trial in now:
            self.trials[trial].move(Cause.EXTEND)
        self.cut = [trial for trial in self.cut if trial not in now]
        self.lost += now
        if maximum is None:
            return
        old = self.levels(0)
        if self.kind == "fixed":
            self.ladders = [[maximum]]
        else:
            new, level = list(old), old[-1] * self.eta
            while level < maximum:
                new, level = [*new, level], level * self.eta
            new.append(maximum)
            count = len(new) if self.brackets else 1
            self.ladders = [new[k:] for k in range(count)]
        for trial in self.trials:
            if trial.state is State.LOST and self.kind in ("stopping", "fixed"):
                trial.until = maximum
            further = self.kind == "synchronous" or trial.furthest < maximum
            if trial.state is State.STOPPED and further and self.kind != "stopping":
                trial.move(Cause.EXTEND)
                if self.kind == "fixed" and list(trial.curve.values())[-1] < INF:
                    self.behind.append(trial.id)
        self.raise_at_extension(len(old) - 1, maximum)

    def raise_at_extension(self, old, maximum):
        levels = self.levels(0)
        if self.criterion is None:
            self.ceiling = len(levels) - 1
            self.ceilings.append((self.reports, maximum))
        elif self.ceiling == old:
            if old == 0:
                self.ceiling = 1
                self.ceilings.append((self.reports, levels[1]))
            if self.ceiling < len(levels) - 1:
                self.update_epsilon()
                self.compare()

    # ---- the result ------------------------------------------------------------------------------

    def best(self):
        """(loss, trial, resource) of the best report, or None."""
        seen = [(loss, t.id, e) for t in self.trials for e, loss in t.curve.items()]
        found = min(seen, default=(INF,))
        return None if found[0] == INF else found

    def run(self, trial, until):
        trial.move(Cause.RUN)
        trial.until = until
        trial.aims.append(until)
