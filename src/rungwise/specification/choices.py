"""Schedulers, searchers, criteria and metrics by the names that a person gives them."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping
from typing import Any, Literal

from rungwise import rankings, schedulers, searchers
from rungwise.core.scheduling import Recipe
from rungwise.errors import InvalidArgumentError
from rungwise.rankings import Ranking
from rungwise.scalars import scalar
from rungwise.searchers.base import Searcher

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

SEARCHERS: Mapping[str, str] = {
    "random": "RandomSearcher",
    "sobol": "Sobol",
    "grid": "Grid",
    "kde": "KDE",
    "tpe": "KDE",
    "gp": "GP",
    "optuna": "OptunaSearcher",
}
"""The class in :mod:`rungwise.searchers` behind each name; BOHB's KDE is a TPE."""

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


def searcher(text: str, argument: str = "--searcher") -> Searcher:
    """A searcher from ``NAME`` or ``NAME:option,option``; an option is a value or ``name=value``.

    Args:
        text: what a person wrote.
        argument: where, for the errors.

    Example:
        >>> searcher("gp:startup=20,points=200")
        GP(startup=20, fit_points=100, points=200, candidates=600, reports='rungs', aim='rung')
        >>> searcher("grid:7")
        Grid(points=7, seed=0)
    """
    name, _, written = text.partition(":")
    kind = searcher_kind(name, argument, text)
    known = tuple(known_options(kind))
    options: dict[str, Any] = {}
    for place, part in enumerate(written.split(",") if written else ()):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not part.strip():
            raise InvalidArgumentError(argument, text, "there must be an option beside each comma")
        if not equals:
            if place >= len(known):
                raise InvalidArgumentError(argument, text, _has(name, kind))
            key, value = known[place], key
        if key in options:
            raise InvalidArgumentError(argument, text, f"it must give {key!r} once")
        try:
            options[key] = scalar(value)
        except ValueError:
            raise InvalidArgumentError(argument, text, "the number must not be so long") from None
    return build_searcher(name, options, argument, text)


def searcher_kind(name: str, argument: str, given: Any) -> Any:
    """The class that a name means: one of ours, or that of the class itself."""
    own = {kind.lower(): kind for kind in SEARCHERS.values()}
    found = {**own, **SEARCHERS}.get(name.lower())
    if found is None:
        rule = f"its name must be one of {', '.join(SEARCHERS)}"
        raise InvalidArgumentError(argument, given, rule)
    return getattr(searchers, found)


def known_options(kind: Any) -> list[str]:
    """What a searcher can be told, in order; more of any name where it passes them on."""
    found = inspect.signature(kind).parameters.values()
    return [
        one.name for one in found if one.kind is one.POSITIONAL_OR_KEYWORD and one.name != "options"
    ]


def build_searcher(name: str, options: Mapping[str, Any], argument: str, given: Any) -> Searcher:
    """A searcher by name, with options by name.

    Args:
        name: of the searcher.
        options: what it is told.
        argument: where that was written, for the errors.
        given: what was written there.
    """
    kind = searcher_kind(name, argument, given)
    found = inspect.signature(kind).parameters.values()
    if not any(one.kind is one.VAR_KEYWORD for one in found):
        for key in options:
            if key not in known_options(kind):
                near = difflib.get_close_matches(key, known_options(kind), n=1)
                meant = f"did you mean {near[0]!r}? " if near else ""
                raise InvalidArgumentError(argument, given, f"{meant}{_has(name, kind)}")
    try:
        made: Searcher = kind(**options)
    except InvalidArgumentError as error:
        place = f"{error.argument} of {argument}"
        raise InvalidArgumentError(place, error.value, error.rule) from None
    except TypeError:  # a name that no option can have, where any is passed on
        raise InvalidArgumentError(argument, given, _has(name, kind)) from None
    return made


def _has(name: str, kind: Any) -> str:
    known = known_options(kind)
    if not known:
        return f"{name} has no options"
    return f"the options of {name} are {', '.join(known)}"
