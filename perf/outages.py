"""Does the rule for outages leave healthy studies alone, and stop the others in time?

Runs whole studies (engine, policy, driver) in virtual time. In *healthy* ones every job fails with
a given probability, whatever the others do, quickly or after some of its reports; none of them may
be stopped. In the others every job fails from some moment on; they must be stopped, with no more
than three trials marked as failed after that moment.

    python perf/outages.py
    python perf/outages.py --studies 100000 --rates 0.3 --workers 1 4 16 64
"""

from __future__ import annotations

import argparse
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

import rungwise as rw
from rungwise.backends.base import WorkerView
from rungwise.backends.messages import Crashed, Ended, Message, Reported
from rungwise.core.engine import Engine
from rungwise.core.events import JobFailed
from rungwise.core.limits import Limits
from rungwise.core.study import Study
from rungwise.driver import Driver, Hooks
from rungwise.policy import Policy
from rungwise.run import Assignment
from rungwise.session.failures import Rules

ORDINARY = "RuntimeError: it diverged"
RECOGNISED = "OSError: [Errno 30] Read-only file system"


class FailingBackend:
    """Jobs in virtual time that fail at random, and all of them once an outage has begun.

    Args:
        workers: how many run at a time.
        rate: the probability that a job fails of itself.
        seed: of everything random.
        outage: after how many reports all jobs fail; never by default.
        reason: what they fail with then.
        reports_first: whether they send their next report before that.
    """

    def __init__(
        self,
        workers: int,
        rate: float,
        seed: int,
        *,
        outage: float = math.inf,
        reason: str = "",
        reports_first: bool = False,
    ) -> None:
        self.now = 0.0
        self._workers, self._rate = workers, rate
        self._outage, self._reason = outage, reason
        self._reports_first = reports_first
        self._random = random.Random(seed)  # noqa: S311 - a simulation
        self._agenda: list[tuple[float, int, int]] = []
        self._jobs: dict[int, Assignment] = {}
        self._reached: dict[int, int] = {}
        self._fails_at: dict[int, float] = {}  # by job: the resource that it never reports
        self._left: list[Message] = []
        self._count = self._reports = 0

    @property
    def out(self) -> bool:
        """Whether the outage has begun."""
        return self._reports >= self._outage

    def idle(self) -> int:
        return self._workers - len(self._jobs) - len(self._left)

    def start(self, assignment: Assignment) -> None:
        job, start = assignment.job, int(assignment.start)
        self._jobs[job], self._reached[job] = assignment, start
        fails = self._random.random() < self._rate
        steps = self._random.choice((1, 1, 1, 2, 3)) if fails else math.inf
        self._fails_at[job] = min(start + steps, assignment.until) if fails else math.inf
        # Failures may be far quicker than training.
        self._plan(job, quick=steps == 1 and self._random.random() < 0.5)

    def _plan(self, job: int, *, quick: bool = False) -> None:
        self._count += 1
        seconds = self._random.lognormvariate(-7.0 if quick else 0.0, 1.0)
        heappush(self._agenda, (self.now + seconds, self._count, job))

    def answer(self, job: int, go_on: bool) -> None:  # noqa: FBT001 - the answer itself
        if job not in self._jobs:
            return
        if self.out and self._reports_first:
            self._leave(Crashed(job, self._reason))
        elif go_on:
            self._plan(job)
        else:
            self._leave(Ended(job))

    def ask_to_leave(self, job: int, why: str) -> None:  # noqa: ARG002
        if job in self._jobs:
            self._leave(Ended(job))

    def _leave(self, message: Ended | Crashed) -> None:
        del self._jobs[message.job]
        self._left.append(message)

    def poll(self) -> Sequence[Message]:
        if self._left:
            return (self._left.pop(0),)
        while self._agenda:
            self.now, _, job = heappop(self._agenda)
            if job not in self._jobs:
                continue
            reached = self._reached[job] + 1
            if (self.out and not self._reports_first) or reached >= self._fails_at[job]:
                reason = self._reason if self.out else ORDINARY
                self._leave(Crashed(job, reason))
                return (self._left.pop(0),)
            self._reached[job] = reached
            self._reports += 1
            return (Reported(job, reached, self._random.random()),)
        return ()

    def wake(self) -> None:
        """poll() never waits."""

    def views(self) -> Sequence[WorkerView]:
        return ()

    def close(self) -> None:
        """Nothing runs."""


@dataclass(frozen=True)
class Outcome:
    """How a study went.

    Attributes:
        stopped: whether it was stopped for an outage.
        jobs: how many jobs it started.
        burnt: how many trials were marked as failed after the outage had begun.
        failed: how many trials were marked as failed in all.
    """

    stopped: bool
    jobs: int
    burnt: int
    failed: int


def run_study(
    seed: int,
    *,
    rate: float,
    workers: int,
    trials: int = 256,
    retries: int = 0,
    outage: float = math.inf,
    reason: str = ORDINARY,
    reports_first: bool = False,
) -> Outcome:
    """Run one study of PASHA to its end, or to the outage."""
    initial = [{"row": row} for row in range(trials)]
    study = Study(rw.PASHA(max_resource=81), Limits(trials=trials), initial=initial)
    engine = Engine(study)
    backend = FailingBackend(
        workers, rate, seed, outage=outage, reason=reason, reports_first=reports_first
    )
    policy = Policy(engine, Rules(retries=retries))
    burnt = 0

    def count(fact: object, _: object) -> None:
        nonlocal burnt
        burnt += type(fact) is JobFailed and backend.out

    Driver(engine, backend, policy=policy, hooks=Hooks(on_fact=count)).run()
    failed = sum(trial.failed for trial in engine.trials)
    return Outcome(policy.failures.outage is not None, len(engine.jobs), burnt, failed)


def show_healthy(studies: int, trials: int, rates: list[float], workers: list[int]) -> None:
    """Print how many healthy studies were stopped."""
    print(f"Healthy: {studies} studies each, {trials} trials, PASHA to 81 epochs")
    print("| rate | workers | jobs a study | stopped |\n|---|---|---|---|")
    for rate in rates:
        for count in workers:
            seen = [
                run_study(seed, rate=rate, workers=count, trials=trials) for seed in range(studies)
            ]
            jobs = sum(one.jobs for one in seen) / len(seen)
            print(f"| {rate:g} | {count} | {jobs:.0f} | {sum(one.stopped for one in seen)} |")


def show_outages(studies: int, trials: int, workers: list[int]) -> None:
    """Print how many studies with an outage were stopped, and what they lost to it."""
    print(f"\nOutage after 1, 12, 23, … reports: {studies} studies each, 10 % fail before it")
    print("| cause | workers | stopped | most marked as failed | on average |")
    print("|---|---|---|---|---|")
    for what, reason in (("other", ORDINARY), ("recognised", RECOGNISED)):
        for count in workers:
            seen = [
                run_study(
                    seed,
                    rate=0.1,
                    workers=count,
                    trials=trials,
                    outage=1 + 11 * seed % trials,
                    reason=reason,
                )
                for seed in range(studies)
            ]
            burnt = [one.burnt for one in seen]
            stopped = sum(one.stopped for one in seen)
            mean = sum(burnt) / len(burnt)
            print(f"| {what} | {count} | {stopped} of {studies} | {max(burnt)} | {mean:.1f} |")


def main() -> None:
    """Run the simulations that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--studies", type=int, default=2000)
    parser.add_argument("--trials", type=int, default=256)
    parser.add_argument("--rates", type=float, nargs="*", default=[0.05, 0.1, 0.2, 0.3])
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 4, 16, 64])
    asked = parser.parse_args()
    show_healthy(asked.studies, asked.trials, asked.rates, asked.workers)
    show_outages(max(1, asked.studies // 20), asked.trials, asked.workers)


if __name__ == "__main__":
    main()
