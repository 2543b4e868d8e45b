"""Schedulers, criteria and metrics by the names that a person gives them, in files and commands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from rungwise import rankings, schedulers
from rungwise.core.scheduling import Recipe
from rungwise.errors import InvalidArgumentError
from rungwise.rankings import Ranking

RANKINGS: Mapping[str, Callable[..., Ranking]] = {
    "noise": rankings.Noise,
    "leader": rankings.Leader,
    "exact": rankings.Exact,
    "soft": rankings.Soft,
    "sigma": rankings.SoftSigma,
    "mean": rankings.SoftMean,
    "median": rankings.SoftMedian,
    "rbo": rankings.RBO,
    "rrr": rankings.RRR,
    "arrr": rankings.ARRR,
}

SCHEDULERS: Mapping[str, Callable[..., Recipe]] = {
    "pasha": schedulers.PASHA,
    "asha": schedulers.ASHA,
    "halving": schedulers.SuccessiveHalving,
    "hyperband": schedulers.Hyperband,
    "async-hyperband": schedulers.AsyncHyperband,
    "fixed": schedulers.FixedResource,
    "random": schedulers.RandomSearch,
}

GOALS: Mapping[Literal["min", "max"], tuple[str, ...]] = {
    "max": (
        *("accuracy", "acc", "auc", "f1", "precision", "recall"),
        *("score", "reward", "r2", "bleu", "map", "iou"),
    ),
    "min": (
        *("loss", "error", "err", "mse", "rmse", "mae", "nll"),
        *("perplexity", "ppl", "cost", "regret", "wer", "cer"),
    ),
}
"""Metrics that everybody wants large, or small."""

TURNING = ("neg", "negative", "minus", "inverse", "reduction", "drop")
"""Words that turn the meaning of a metric round: with one of them its name tells nothing."""


def goal_of_metric(name: str) -> Literal["min", "max"] | None:
    """The goal that the name of a metric tells: a well-known one, or one with such a part.

    Parts are separated by underscores, and capitals do not matter. None for a name that is not
    known, or whose parts contradict each other.

    Args:
        name: of the metric.

    Example:
        >>> goal_of_metric("val_accuracy"), goal_of_metric("test_loss")
        ('max', 'min')
        >>> goal_of_metric("speed"), goal_of_metric("neg_loss"), goal_of_metric("loss_score")
        (None, None, None)
    """
    parts = set(name.lower().split("_"))
    found = [goal for goal, names in GOALS.items() if parts.intersection(names)]
    return found[0] if len(found) == 1 and parts.isdisjoint(TURNING) else None


def ranking(text: str) -> Ranking:
    """A criterion from ``NAME`` or ``NAME:number,number``, for example ``rbo:0.5,0.5``."""
    name, _, numbers = text.partition(":")
    if name not in RANKINGS:
        rule = f"its name must be one of {', '.join(RANKINGS)}"
        raise InvalidArgumentError("--ranking", text, rule)
    kind: Any = RANKINGS[name]
    names = tuple(kind.__dataclass_fields__)
    try:
        return RANKINGS[name](*(float(number) for number in numbers.split(",") if numbers))
    except InvalidArgumentError:
        raise
    except (TypeError, ValueError):
        wanted = f"{name}:{','.join(names).upper()}" if names else name
        rule = f"it must be {wanted}, with a number for each name"
        raise InvalidArgumentError("--ranking", text, rule) from None


def scheduler(name: str, **options: Any) -> Recipe:
    """A scheduler by name, with those of the options that it has; None means its default."""
    if name not in SCHEDULERS:
        rule = f"it must be one of {', '.join(SCHEDULERS)}"
        raise InvalidArgumentError("--scheduler", name, rule)
    kind: Any = SCHEDULERS[name]
    known = set(kind.__dataclass_fields__)
    given = {key: value for key, value in options.items() if value is not None}
    if "resource" in known:
        given["resource"] = given.get("max_resource", 1)
    unused = sorted(set(given) - known - {"max_resource"})
    if unused:
        flags = ", ".join("--" + key.replace("_", "-") for key in unused)
        raise InvalidArgumentError("--scheduler", name, f"it has no {flags}")
    recipe: Recipe = kind(**{key: value for key, value in given.items() if key in known})
    return recipe
