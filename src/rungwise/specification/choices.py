"""Short forms: the goal from the name of a metric, a scheduler from its name and options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from rungwise.core.scheduler import Recipe
from rungwise.errors import InvalidArgumentError
from rungwise.registry import RANKINGS, SCHEDULERS

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
"""Metrics that are always maximised, or minimised."""

REVERSING = ("neg", "negative", "minus", "inverse", "reduction", "drop")
"""Words that reverse the meaning of a metric: with one of them its name says nothing."""


def guess_goal(name: str) -> Literal["min", "max"] | None:
    """The goal that the name of a metric implies: a well-known one, or one with such a part.

    Parts are separated by underscores, and capitals do not matter. None for a name that is not
    known, or whose parts contradict each other.

    Args:
        name: of the metric.

    Example:
        >>> guess_goal("val_accuracy"), guess_goal("test_loss")
        ('max', 'min')
        >>> guess_goal("speed"), guess_goal("neg_loss"), guess_goal("loss_score")
        (None, None, None)
    """
    parts = set(name.lower().split("_"))
    found = [goal for goal, names in GOALS.items() if parts.intersection(names)]
    return found[0] if len(found) == 1 and parts.isdisjoint(REVERSING) else None


def build_scheduler(text: str | None, **options: Any) -> Recipe:
    """A scheduler by name, with those of the options that it has; None means its default.

    Args:
        text: ``NAME`` or ``NAME:option,…``; the default scheduler if None.
        options: the flags, by the names of the scheduler's fields; ``max_resource`` is passed over
            where it has none.
    """
    word, written = SCHEDULERS.parse(text or SCHEDULERS.words()[0], "--scheduler")
    kind: Any = SCHEDULERS.find(word)
    known = set(kind.__dataclass_fields__)
    given = {key: value for key, value in options.items() if value is not None}
    if isinstance(given.get("ranking"), str):
        given["ranking"] = RANKINGS.build(given["ranking"], "--ranking")
    if isinstance(written.get("ranking"), str):
        written["ranking"] = RANKINGS.build(written["ranking"], "ranking of --scheduler")
    if "resource" in known and "resource" not in written:
        given["resource"] = given.get("max_resource", 1)
    for key in sorted(set(given) & set(written)):
        rule = f"it must be given once, here or with --{key.replace('_', '-')}"
        raise InvalidArgumentError(f"{key} of --scheduler", written[key], rule)
    unused = sorted(set(given) - known - {"max_resource"})
    if unused:
        flags = ", ".join("--" + key.replace("_", "-") for key in unused)
        raise InvalidArgumentError("--scheduler", word, f"it has no {flags}")
    recipe: Recipe = kind(**written, **{key: given[key] for key in given if key in known})
    return recipe
