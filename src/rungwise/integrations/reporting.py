"""What the reporters of training libraries share: names of metrics, and the order of saving.

Law of this file: a checkpoint is committed before its report is made, because the answer to a
report may end the job.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from rungwise.errors import MISSING, InvalidArgumentError
from rungwise.run import Run
from rungwise.validation import read_number, whole

ENDLESS = 1_000_000
"""Epochs or rounds that a library is asked for where there is no maximum: the answers end it."""


class Reporter:
    """Reports what a library has measured.

    Args:
        run: the run of the training function.
        monitor: the library's name of the metric that the study compares; by default the one
            that has the name of the study's metric, or the only one.
        every: report once in so many epochs or rounds, and at the end of a job.
    """

    def __init__(self, run: Any, monitor: str | None = None, every: int = 1) -> None:
        if not isinstance(run, Run):
            rule = "it must be the second argument of the training function, or what it shares"
            raise InvalidArgumentError("run", run, rule)
        self.run: Run = run
        self.monitor = monitor
        self.every = whole("every", every, at_least=1)

    def is_due(self, resource: float) -> bool:
        """Whether to report at a resource."""
        ends = (self.run.until, self.run.max_resource)
        return resource % self.every == 0 or resource in ends

    @property
    def end(self) -> int:
        """How far to train at most."""
        maximum = self.run.max_resource
        return ENDLESS if maximum is None else int(maximum)

    def report(
        self, resource: float, values: Mapping[str, Any], save: Callable[[Path], object] | None
    ) -> bool:
        """Save, then report; whether to train on.

        Args:
            resource: how much has been trained in all.
            values: what was measured, by the library's names.
            save: writes the model into a folder; None for no checkpoint.
        """
        monitor = self.choose(values)
        found = {clean_name(name): find_number(values[name]) for name in values if name != monitor}
        others = {
            name: number
            for name, number in found.items()
            if number is not None and name != self.run.metric
        }
        if save is not None:
            with self.run.checkpoint(resource) as folder:
                save(folder)
        return self.run.report(resource, **{**others, self.run.metric: values[monitor]})

    def choose(self, values: Mapping[str, Any]) -> str:
        """The library's name of the metric that the study compares."""
        names = list(values)
        wanted = self.run.metric if self.monitor is None else self.monitor
        fitting = [name for name in names if wanted in (name, clean_name(name))]
        # "auc" is "valid_0 auc", if there is only one such.
        fitting = fitting or [name for name in names if name.rpartition(" ")[2] == wanted]
        if not fitting and self.monitor is None:
            fitting = names
        if len(fitting) == 1:
            return fitting[0]
        if self.monitor is not None:
            raise InvalidArgumentError("monitor", self.monitor, _describe(fitting or names))
        raise InvalidArgumentError("monitor", MISSING, f"give it: {_describe(fitting)}")

    def check_goal(self, name: str, goal: Literal["min", "max"], library: str) -> None:
        """Raise if a library optimises a metric in the other direction.

        Args:
            name: of the metric.
            goal: what the library holds to be better.
            library: its name.
        """
        if self.run.goal not in (None, goal):
            rule = f"{library} holds that a {'higher' if goal == 'max' else 'lower'} {name} is "
            rule += f"better: give goal={goal!r} to the study, or another monitor"
            raise InvalidArgumentError("goal", self.run.goal, rule)


def clean_name(name: str) -> str:
    """A name that ``run.report`` takes: ``valid_0 l2`` is ``valid_0_l2``."""
    clean = re.sub(r"\W+", "_", str(name)).strip("_") or "metric"
    return f"m_{clean}" if clean[0].isdigit() else clean


def find_number(value: Any) -> float | None:
    """What can be reported beside the metric, also in an array of its own; None if it cannot."""
    try:
        plain = value.item() if hasattr(value, "item") else value
        return float(plain) if isinstance(plain, bool) else read_number("metric", plain)
    except (InvalidArgumentError, TypeError, ValueError, RuntimeError):
        return None


def _describe(names: list[str]) -> str:
    if not names:
        return "nothing was measured: give the library data to evaluate on"
    return f"it must be one of what was measured: {', '.join(map(repr, names))}"
