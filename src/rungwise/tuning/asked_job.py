"""A job of an ask/tell study, as the loop that asked for it sees it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rungwise.errors import InvalidArgumentError
from rungwise.run import ROUNDING, Assignment
from rungwise.validation import real


@dataclass(frozen=True, slots=True)
class Job:
    """A trial to be trained to its next rung.

    Attributes:
        id: the number of the job, from 0.
        trial: the number of the trial, from 0; name checkpoints after it.
        config: its configuration.
        start: how far it has been trained: resume from there, if that was kept. 0 for a new one.
        until: how far it is trained now.
        seed: a number for random generators; the same for all jobs of a trial.
        max_resource: the furthest that any trial may be trained; None when open-ended.
    """

    id: int
    trial: int
    config: Mapping[str, Any]
    start: float
    until: float
    seed: int = 0
    max_resource: float | None = None

    @classmethod
    def of(cls, given: Assignment) -> Job:
        """The job of an assignment."""
        return cls(
            given.job,
            given.trial,
            given.config,
            given.start,
            given.until,
            given.seed,
            given.max_resource,
        )

    def resources(self, step: float = 1) -> Iterator[float]:
        """The resources to train and report at: after each step, and at the end of the job.

        Args:
            step: how much is trained between two reports: 1 epoch, 100 images, …
        """
        size = real("step", step)
        if size <= 0:
            raise InvalidArgumentError("step", step, "it must be above 0")
        count, resource = 0, self.start
        while resource < self.until:
            count += 1
            resource = self.start + count * size
            resource = self.until if resource > self.until - size * ROUNDING else resource
            yield int(resource) if float(resource).is_integer() else resource
