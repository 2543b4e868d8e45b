"""Search spaces of Ray Tune, as spaces of rungwise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rungwise.errors import InvalidArgumentError
from rungwise.space import Choice, Float, Int, Space

DOMAINS = (Float, Int, Choice, list, tuple, range)


def split_constants(space: Any) -> tuple[dict[str, Any], Any]:
    """The entries that are the same for all trials, and the rest."""
    if not isinstance(space, Mapping):
        return {}, space
    open_ = {name for name, value in space.items() if _is_domain(value)}
    constants = {name: value for name, value in space.items() if name not in open_}
    return constants, {name: value for name, value in space.items() if name in open_}


def _is_domain(value: Any) -> bool:
    nested = isinstance(value, Mapping) and any(map(_is_domain, value.values()))
    return nested or isinstance(value, DOMAINS) or _is_of_ray(value) or _is_grid(value)


def _is_grid(value: Any) -> bool:
    return isinstance(value, Mapping) and "grid_search" in value


def _is_of_ray(value: Any) -> bool:
    return type(value).__module__ == "ray.tune.search.sample"


def convert_space(space: Any) -> Any:
    """The same space with domains of rungwise.

    Raises:
        InvalidArgumentError: a domain of Ray has no counterpart.
    """
    if isinstance(space, Space) or not isinstance(space, Mapping):
        return space
    return {name: _convert(f"space[{name!r}]", value) for name, value in space.items()}


def _convert(argument: str, value: Any) -> Any:
    if _is_grid(value):
        rule = "a grid is drawn by searcher='grid': give the values as a list"
        raise InvalidArgumentError(argument, value, rule)
    if isinstance(value, Mapping):
        rule = "nested spaces are not supported: give each parameter a name of its own"
        raise InvalidArgumentError(argument, value, rule)
    if not _is_of_ray(value):
        return value
    kind, sampler = type(value).__name__, value.get_sampler()
    step = getattr(sampler, "q", None)
    inner = type(sampler if step is None else sampler.sampler).__name__
    if kind == "Categorical":
        return list(value.categories)
    if kind not in ("Float", "Integer") or inner.lstrip("_") not in ("Uniform", "LogUniform"):
        rule = "only uniform, loguniform, randint, lograndint and choice have a counterpart here"
        raise InvalidArgumentError(argument, str(value), rule)
    more = {"log": inner.lstrip("_") == "LogUniform"}
    if kind == "Float":
        return Float(value.lower, value.upper, **more, **({"step": step} if step else {}))
    # Ray leaves the upper end out, unless the values have a step.
    if step is not None and step != 1:
        return Int(value.lower, value.upper, **more, step=step)
    return Int(value.lower, value.upper - (step is None), **more)
