"""What came of training a configuration in full: its last value and its best, and both models.

Law of this file: whatever says how far a retraining got says it with the sentences below.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rungwise.checkpoints import RemoteCheckpoint
from rungwise.checkpoints.base import TrialCheckpoints, parse_name
from rungwise.core.events import Reported
from rungwise.core.trials import Trial
from rungwise.formatting import format_resource, format_runtime, format_value
from rungwise.validation import Goal, find_sign
from rungwise.views.html import make_retrained

Curve = Sequence[tuple[float, float]]
"""[(resource, value), …]."""


@dataclass(frozen=True, slots=True)
class Retrained:
    """The winner, trained in full. The model to keep is ``best_checkpoint``.

    Attributes:
        trial: which trial's configuration it is.
        config: the configuration.
        value: the last value of the metric.
        resource: how far it was trained.
        metrics: the other metrics of the last report (a test accuracy, for example).
        curve: [(resource, value), …].
        seconds: how long it took, in all attempts; downtimes are not counted.
        checkpoint: the folder of the last checkpoint, None if there was none.
        best_value: the best value of the metric; None if none was finite.
        best_resource: where that was first reported.
        best_metrics: the other metrics of that report.
        best_checkpoint: the folder of the last checkpoint up to there, None if there was none. Its
            name says how far it was trained: not as far, if none was saved with that report.
        stopped_early: the ``early_stop`` that ended it, None if none did.
        from_trial: whether nothing was retrained, because the study itself had trained the trial as
            far: then all this is of the trial.
    """

    trial: int
    config: Mapping[str, Any]
    value: float
    resource: float
    metrics: Mapping[str, float] = field(default_factory=dict)
    curve: list[tuple[float, float]] = field(default_factory=list)
    seconds: float = 0.0
    checkpoint: Path | RemoteCheckpoint | None = None
    best_value: float | None = None
    best_resource: float | None = None
    best_metrics: Mapping[str, float] = field(default_factory=dict)
    best_checkpoint: Path | RemoteCheckpoint | None = None
    stopped_early: int | None = None
    from_trial: bool = False

    def __repr__(self) -> str:
        # Without the curve, which may have thousands of points.
        return f"<{describe_retrained(self)}; {len(self.curve)} reports>"

    def _repr_html_(self) -> str:
        return make_retrained(self, describe_retrained(self), list_models(self))

    def to_json(self) -> dict[str, Any]:
        """As plain JSON."""
        places = {name: getattr(self, name) for name in ("checkpoint", "best_checkpoint")}
        texts = {name: None if place is None else str(place) for name, place in places.items()}
        return {**asdict(self), **texts}


# -- from what was reported ----------------------------------------------------------------------


def find_best(curve: Curve, goal: Goal) -> tuple[float, float] | None:
    """(resource, value) of the first best value; None if none is finite."""
    finite = [point for point in curve if math.isfinite(point[1])]
    if not finite:
        return None
    values = [value for _, value in finite]
    return finite[values.index(min(values) if goal == "min" else max(values))]


def make_retrained_of(
    number: int,
    trial: Trial,
    reports: Iterable[Reported],
    goal: Goal,
    checkpoints: TrialCheckpoints | None,
    **more: Any,
) -> Retrained:
    """What the reports of a trial amount to.

    Args:
        number: the trial whose configuration it is.
        trial: what the engine knows of its training.
        reports: its reports; of several at one resource the first counts.
        goal: ``"min"`` or ``"max"``.
        checkpoints: where its checkpoints are; None if they were removed.
        more: the other fields.
    """
    sign = find_sign(goal)
    losses = zip(trial.resources, trial.losses, strict=True)
    curve = [(resource, sign * loss) for resource, loss in losses]
    best = find_best(curve, goal)
    wanted = {trial.resource, *(() if best is None else best[:1])}
    found: dict[float, Reported] = {}
    for report in reports:
        if report.resource in wanted:
            found.setdefault(report.resource, report)
    last = found[trial.resource]
    places = {
        resource: None if checkpoints is None else checkpoints.locate(at_most=resource)
        for resource in wanted
    }
    if best is not None:
        at, value = best
        more |= {"best_value": value, "best_resource": at, "best_checkpoint": places[at]}
        more["best_metrics"] = dict(found[at].metrics)
    return Retrained(
        trial=number,
        config=dict(trial.config),
        value=last.value,
        resource=last.resource,
        metrics=dict(last.metrics),
        curve=curve,
        checkpoint=places[last.resource],
        **more,
    )


# -- sentences -----------------------------------------------------------------------------------


def describe_values(
    value: float | None, resource: float, best: tuple[float, float] | None, *, digits: int = 6
) -> str:
    """``0.9685 at 60; its best was 0.98 at 23``.

    Args:
        value: the last value; None before the first report.
        resource: where it was reported.
        best: (resource, value) of the best; None if none was finite.
        digits: how many significant digits values have.
    """
    text = f"{format_value(value, digits)} at {format_resource(resource)}"
    if best is None:
        return text
    if best[0] == resource:
        return f"{text}, its best"
    return f"{text}; its best was {format_value(best[1], digits)} at {format_resource(best[0])}"


def describe_retrained(found: Retrained, metric: str = "value") -> str:
    """What came of it, as a sentence without a full stop."""
    best = None
    if found.best_resource is not None and found.best_value is not None:
        best = found.best_resource, found.best_value
    if found.from_trial:
        way = "already trained by the study itself"
    else:
        way = f"trained from scratch in {format_runtime(found.seconds)}"
    early = ""
    if found.stopped_early is not None:
        early = f"; stopped early, since {found.stopped_early} more brought no better one"
    values = describe_values(found.value, found.resource, best)
    return f"trial {found.trial}, {way}: {metric} = {values}{early}"


def list_models(found: Retrained) -> dict[str, Path | RemoteCheckpoint]:
    """What checkpoints there are, by words for them: one, if the last is that of the best."""
    last, best = found.checkpoint, found.best_checkpoint
    if last is None:  # then there is no earlier one either
        return {}
    if best == last or str(best) == str(last):
        return {"checkpoint": last}
    models = {"last checkpoint": last}
    if best is not None:
        held = parse_name(str(best).rpartition("/")[2], Path())
        apart = held is not None and held.resource != found.best_resource
        of = f" (of {format_resource(held.resource)})" if held is not None and apart else ""
        models = {f"checkpoint of its best{of}": best, **models}
    return models


def compare_with_tuning(
    found: Retrained, curve: Curve, goal: Goal, own: Callable[[float], object] = lambda _: None
) -> str:
    """A sentence, if the last or even the best value is worse than tuning had seen; else empty.

    Args:
        found: the retraining.
        curve: what the trial had reported while the study tuned. What was beyond the retraining
            does not count, unless that was stopped early.
        goal: ``"min"`` or ``"max"``.
        own: the trial's own checkpoint up to a resource, None if there is none.
    """
    early = found.stopped_early is not None
    seen = find_best([point for point in curve if early or point[0] <= found.resource], goal)
    if seen is None or found.from_trial:
        return ""
    sign = find_sign(goal)

    def is_worse(value: float | None) -> bool:
        return value is None or not sign * value <= sign * seen[1]

    if not is_worse(found.value):
        return ""
    tuned = f"{format_value(seen[1], 6)} at {format_resource(seen[0])}"
    if not is_worse(found.best_value):
        return (
            f"the last value of the retraining of trial {found.trial} is worse than what tuning "
            f"had seen of it, {tuned}: keep the checkpoint of its best value (best_checkpoint)"
        )
    kept = own(seen[0])
    return (
        f"even the best value of the retraining of trial {found.trial} is worse than what tuning "
        f"had seen of it, {tuned}{'' if kept is None else f': keep that of the trial, {kept}'}"
    )
