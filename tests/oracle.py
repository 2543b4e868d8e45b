"""A second, slow opinion on every algorithm: plain Python, everything from scratch at every step.

The law of this file: it shares nothing with ``rungwise``. Kept between two events are only facts:
the curves reported, who entered which rung with what loss, who was sent up, the ceiling, epsilon's
last value, and the reports still to come. Every answer (who is promotable? is the ranking stable?
what is epsilon?) is recomputed from them by sorting lists. "Trial i" is the i-th configuration
drawn and trains row ``rows[i]`` of the table; inside, everything is a loss to be minimised.
"""

import math
import statistics
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np

INF = math.inf


@dataclass
class Outcome:
    jobs: list[tuple[int, float, float]]  # (row, resource already trained, resource to reach)
    ceilings: list[tuple[int, int]]  # (reports so far, level of the ceiling from then on)
    best: tuple[int, float, float] | None  # (row, value, resource)
    seconds: float
    max_resource: float
    resource_spent: float
    reports: int
    rungs: list[dict[int, float]]  # per level: trial -> loss


def run(
    values,
    rows,
    *,
    kind,
    variant="promotion",
    min_resource=1,
    max_resource,
    eta=3,
    criterion=None,
    promote="floor",
    check="rung",
    finish="drain",
    workers=1,
    seconds=1.0,
    goal="min",
    extensions=(),
) -> Outcome:
    """Play a whole study over a table: ``values[row][e - 1]`` is the metric after resource e.

    ``extensions`` are what it goes on with whenever it has ended: (further rows, higher maximum).

    ``kind="fixed"`` knows one level only, ``max_resource``, and so has one rung.
    ``criterion=None`` is the paper's choice, ``("noise", 90)``.
    """
    assert kind in ("asha", "pasha", "fixed", "sh"), kind
    assert variant in ("promotion", "stopping"), variant
    assert promote in ("floor", "quantile"), promote
    assert check in ("rung", "report"), check
    assert finish in ("drain", "paper"), finish
    assert goal in ("min", "max"), goal
    assert kind != "sh" or (variant, promote) == ("promotion", "floor"), "sh has no variants"
    study = Study()
    study.values, study.rows, study.kind, study.variant = values, list(rows), kind, variant
    study.eta, study.criterion, study.promote = eta, criterion or ("noise", 90), promote
    study.check, study.finish, study.workers = check, finish, workers
    study.seconds, study.goal = seconds, goal
    study.levels = [max_resource] if kind == "fixed" else ladder(min_resource, max_resource, eta)
    study.top = len(study.levels) - 1
    study.ceiling = min(1, study.top) if kind == "pasha" else study.top
    study.extensions = extensions
    return study.play()


def ladder(lowest, highest, eta):
    """r, r·eta, r·eta², … while below R, then R."""
    levels, level = [], lowest
    while level < highest:
        levels.append(level)
        level *= eta
    levels.append(highest)
    assert all(level == int(level) for level in levels), levels
    return levels


class Study:
    """The settings (set by ``run``), the facts, and the virtual clock."""

    def play(self) -> Outcome:
        # The facts.
        self.curves = []  # per trial drawn: {resource: loss}
        self.rungs = [{} for _ in self.levels]  # per level: {trial: loss}
        self.sent_up = [set() for _ in self.levels]  # per level: trials promoted from it
        self.epsilon = 0.0
        self.reports = 0
        self.jobs = []
        self.ceilings = [(0, self.levels[self.ceiling])]
        # The clock: reports to come as (time, sequence number, trial, resource, until).
        self.now = 0.0
        self.sequence = 0
        self.to_come = []

        self.behind = []  # kind "fixed": who was trained to an earlier maximum
        self.proceed()
        for rows, maximum in self.extensions:
            self.extend(rows, maximum)
            self.proceed()
        return self.outcome()

    def proceed(self):
        self.ask()
        while self.to_come and not self.ended():
            event = min(self.to_come)  # sequence numbers differ: later fields never decide
            self.to_come.remove(event)
            self.now, _, trial, resource, until = event
            if self.report(trial, resource, until) == "continue":
                self.schedule(trial, resource + 1, until)
            self.ask()

    def extend(self, rows, maximum):
        """More rows; further levels above the old maximum, which stays one."""
        self.rows += rows
        if maximum is None:
            return
        if self.kind == "fixed":
            self.behind += [t for t in order(self.rungs[0]) if self.rungs[0][t] < INF]
            self.behind.sort()
            self.levels, self.rungs = [maximum], [{}]
            self.ceilings.append((self.reports, maximum))
            return
        old = self.top
        self.levels += ladder(self.levels[-1], maximum, self.eta)[1:]
        self.top = len(self.levels) - 1
        self.rungs += [{} for _ in self.levels[old + 1 :]]
        self.sent_up += [set() for _ in self.levels[old + 1 :]]
        if self.kind != "pasha":
            self.ceiling = self.top
            self.ceilings.append((self.reports, maximum))
        elif self.ceiling == old:
            if old == 0:  # with one level there was nothing to compare
                self.raise_ceiling()
            if self.ceiling < self.top:
                self.update_epsilon()
                if not self.stable():
                    self.raise_ceiling()

    def raise_ceiling(self):
        self.ceiling += 1
        self.ceilings.append((self.reports, self.levels[self.ceiling]))

    # ---- workers and time ------------------------------------------------------------------

    def ask(self):
        """Every free worker asks. They are all alike: once one gets nothing, so do the others."""
        while len(self.to_come) < self.workers and not self.ended():
            job = self.get_job()
            if job is None:
                return
            trial, start, until = job
            self.jobs.append((self.rows[trial], start, until))
            self.schedule(trial, start + 1, until)

    def ended(self):
        """As in the paper's experiments: over as soon as the last row has been drawn."""
        return self.finish == "paper" and len(self.curves) == len(self.rows)

    def schedule(self, trial, resource, until):
        moment = self.now + self.seconds_of(self.rows[trial], resource)
        self.to_come.append((moment, self.sequence, trial, resource, until))
        self.sequence += 1

    def seconds_of(self, row, resource):
        cost = self.seconds
        if hasattr(cost, "__len__"):
            cost = cost[row]
        if hasattr(cost, "__len__"):
            cost = cost[int(resource) - 1]
        return float(cost)

    # ---- which job next --------------------------------------------------------------------

    def get_job(self):
        """Promote if possible, else draw, else nothing: (trial, start, until) or None."""
        if self.behind:
            trial = self.behind.pop(0)
            return trial, max(self.curves[trial]), self.levels[0]
        if self.kind == "sh":
            return self.draw() or self.promote_synchronously()
        if self.kind == "fixed" or self.variant == "stopping":
            return self.draw()
        for k in reversed(range(self.ceiling)):  # K-1, …, 1, 0
            for trial in self.candidates(k):
                if trial not in self.sent_up[k]:
                    return self.send_up(trial, k)
        return self.draw()

    def draw(self):
        trial = len(self.curves)
        if trial == len(self.rows):
            return None
        self.curves.append({})
        whole = self.variant == "stopping" and self.kind != "fixed"
        return trial, 0, self.levels[-1] if whole else self.levels[0]

    def send_up(self, trial, k):
        self.sent_up[k].add(trial)
        return trial, self.levels[k], self.levels[k + 1]

    def candidates(self, k):
        """Who may leave rung k upwards, best first; the diverged never."""
        rung = self.rungs[k]
        n = len(rung)
        if self.promote == "floor":
            good = order(rung)[: int(n // self.eta)]
        elif n >= 2:
            good = [trial for trial in order(rung) if rung[trial] <= self.quantile(rung)]
        else:
            good = []
        return [trial for trial in good if math.isfinite(rung[trial])]

    def quantile(self, rung):
        """The loss of rank floor((n - 1) / eta) + 1: what the 1/eta quantile lets through."""
        return sorted(rung.values())[int((len(rung) - 1) // self.eta)]

    def promote_synchronously(self):
        """Walk up from rung 0, where all rows were sent, to the first rung with work to give."""
        sent_here = set(range(len(self.rows)))
        for k in range(self.top):
            if set(self.rungs[k]) != sent_here:
                return None  # not all have arrived
            # Who was sent up stays there (before the study was extended perhaps); the best of the
            # others join them.
            places = int(len(self.rungs[k]) // self.eta) - len(self.sent_up[k])
            others = [trial for trial in order(self.rungs[k]) if trial not in self.sent_up[k]]
            if places > 0 and others and self.rungs[k][others[0]] < INF:
                return self.send_up(others[0], k)
            sent_here = set(self.sent_up[k])
        return None

    # ---- what a report does ----------------------------------------------------------------

    def report(self, trial, resource, until):
        """Rung entry, epsilon, check, decision: in this order."""
        loss = self.loss(self.rows[trial], resource)
        self.curves[trial][resource] = loss
        self.reports += 1
        k = self.levels.index(resource) if resource in self.levels else None
        if k is not None:
            self.rungs[k][trial] = loss

        ceiling_met = self.ceiling
        if self.kind == "pasha" and self.ceiling < self.top:
            self.update_epsilon()
            if (self.check == "report" or k == self.ceiling) and not self.stable():
                self.raise_ceiling()

        if self.variant == "stopping" and self.kind != "fixed":
            if k is None:
                return "continue"
            leave = k in (ceiling_met, self.top) or not self.survives(trial, k)
            return "stop" if leave else "continue"
        return "continue" if resource < until else "pause"

    def loss(self, row, resource):
        value = float(self.values[row][int(resource) - 1])
        if not math.isfinite(value):
            return INF
        return -value if self.goal == "max" else value

    def survives(self, trial, k):
        rung = self.rungs[k]
        if rung[trial] == INF:
            return False
        if self.promote == "quantile":
            return rung[trial] <= self.quantile(rung)
        return trial in order(rung)[: max(1, int(len(rung) // self.eta))]

    def update_epsilon(self):
        if self.criterion[0] in ("noise", "leader"):
            low, high = self.levels[self.ceiling - 1], self.levels[self.ceiling]
            distances = noise_distances(self.curves, low, high)
            if distances:
                self.epsilon = float(np.percentile(distances, self.criterion[1]))

    def stable(self):
        now = self.rungs[self.ceiling]
        before = {trial: self.rungs[self.ceiling - 1][trial] for trial in now}
        name, *parameters = self.criterion
        return not now or CRITERIA[name](now, before, self.epsilon, *parameters)

    @staticmethod
    def is_sound(curve):
        return bool(curve) and math.isfinite(curve[max(curve)])

    # ---- the result ------------------------------------------------------------------------

    def outcome(self):
        seen = [
            (loss, trial, resource)
            for trial, curve in enumerate(self.curves)
            for resource, loss in curve.items()
        ]
        best = None
        # Who has diverged wins only if all have.
        sound = {trial for trial, curve in enumerate(self.curves) if self.is_sound(curve)}
        ranked = [one for one in seen if one[1] in sound] or seen
        if any(math.isfinite(loss) for loss, _, _ in ranked):
            _, trial, resource = min(ranked)
            row = self.rows[trial]
            best = (row, float(self.values[row][int(resource) - 1]), resource)
        return Outcome(
            jobs=self.jobs,
            ceilings=self.ceilings,
            best=best,
            seconds=self.now,
            max_resource=max((resource for _, _, resource in seen), default=0),
            resource_spent=len(seen),
            reports=self.reports,
            rungs=self.rungs,
        )


# ---- criteria: now = {trial: loss in rung K}, before = {the same trials: loss in rung K-1} -------


def order(losses):
    """The trials, best first; ties by trial number."""
    return sorted(losses, key=lambda trial: (losses[trial], trial))


def distance(a, b):
    """|a - b|, with inf - inf = 0."""
    return 0.0 if a == b else abs(a - b)


def exact(now, before, _epsilon):
    return order(now) == order(before)


def soft(now, before, _epsilon, width):
    places = zip(order(now), order(before), strict=True)
    return all(distance(before[c], before[p]) * (1 - 1e-9) <= width for c, p in places)


def finite(before):
    return [loss for loss in before.values() if math.isfinite(loss)]


def sigma(now, before, _epsilon, k):
    losses = finite(before)
    width = k * statistics.pstdev(losses) if len(losses) >= 2 else 0.0
    return soft(now, before, None, width)


def mean(now, before, _epsilon):
    gaps = [abs(a - b) for a, b in combinations(finite(before), 2)]
    return soft(now, before, None, statistics.fmean(gaps) if gaps else 0.0)


def median(now, before, _epsilon):
    gaps = [abs(a - b) for a, b in combinations(finite(before), 2)]
    return soft(now, before, None, statistics.median(gaps) if gaps else 0.0)


def noise(now, before, epsilon, _percentile):
    return soft(now, before, None, epsilon)


def leader(now, before, epsilon, _percentile):
    return distance(now[order(before)[0]], now[order(now)[0]]) * (1 - 1e-9) <= epsilon


def rbo(now, before, _epsilon, p, t):
    return overlap(order(now), order(before), p) >= t


def rrr(now, before, _epsilon, p, t):
    return regret(now, before, p) <= t + 1e-12


def arrr(now, before, _epsilon, p, t):
    return regret(now, before, p, absolute=True) <= t + 1e-12


CRITERIA = {
    "exact": exact,
    "soft": soft,
    "sigma": sigma,
    "mean": mean,
    "median": median,
    "noise": noise,
    "leader": leader,
    "rbo": rbo,
    "rrr": rrr,
    "arrr": arrr,
}


def overlap(one, other, p):
    """Σ w_d · |A_d ∩ B_d| / d with w_d = p^(d-1) / Σ p^(d-1); in fractions, rounded once."""
    assert 0 < p <= 1, p
    depths = range(1, len(one) + 1)
    weights = [Fraction(p) ** (d - 1) for d in depths]
    agreements = [Fraction(len(set(one[:d]) & set(other[:d])), d) for d in depths]
    return float(sum(w * a for w, a in zip(weights, agreements, strict=True)) / sum(weights))


def regret(now, before, p, *, absolute=False):
    """Σ w_i (f′_i - f_i) / |f_i| with w_i = p^i / Σ p^i.

    f are rung K's losses in their own order, f′ the same losses in rung K-1's order. For a
    maximised metric m = -loss this is Σ w_i (m_i - m′_i) / |m_i|: the same number.
    """
    assert 0 < p <= 1, p
    own = [now[trial] for trial in order(now)]
    assumed = [now[trial] for trial in order(before)]
    terms = [relative(f, g) for f, g in zip(own, assumed, strict=True)]
    if absolute:
        terms = [abs(term) for term in terms]
    if INF in terms:  # a diverged trial too high up, or f = 0; +inf wins over -inf
        return INF
    total = math.fsum(p**i for i in range(len(terms)))
    return math.fsum(p**i / total * term for i, term in enumerate(terms))


def relative(f, g):
    """(g - f) / |f|, where 0/0 is 0 and x/0 is ±inf."""
    if f == g:
        return 0.0
    if g == INF:
        return INF
    if f == INF:  # then another place has g = inf, which decides
        return 0.0
    return math.copysign(INF, g - f) if f == 0 else (g - f) / abs(f)


def noise_distances(curves, low, high):
    """|difference| at the last common resource of every pair that criss-crosses.

    Both must have been measured beyond ``low`` (level K-1); compared are the resources up to
    ``high`` (level K) at which both were; the signs there must change at least twice.
    """
    measured = [{e: loss for e, loss in c.items() if math.isfinite(loss)} for c in curves]
    beyond = [curve for curve in measured if any(e > low for e in curve)]
    distances = []
    for a, b in combinations(beyond, 2):
        common = sorted(e for e in a if e in b and e <= high)
        above = [a[e] > b[e] for e in common if a[e] != b[e]]
        if sum(x != y for x, y in pairwise(above)) >= 2:
            distances.append(abs(a[common[-1]] - b[common[-1]]))
    return distances
