"""The arrays of a benchmark, and what must hold between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rungwise.benchmarks.card import Card
from rungwise.benchmarks.encoding import Numbers
from rungwise.errors import InvalidArgumentError, TableError, Words
from rungwise.formatting import format_count
from rungwise.space import Space

_SHAPE = "it must be [seeds, rows, resources] with at least one of each"


@dataclass(frozen=True, slots=True)
class Arrays:
    """What is measured, and of which configurations.

    Attributes:
        values: the curves [seeds, rows, resources].
        seconds: the time of a unit of resource: (), [rows], [seeds, rows] or like values.
        final: what is reported after full training [seeds, rows], None if that is the last value.
        configs: the configuration of each row.
        names: a name for each row.
    """

    values: Numbers
    seconds: Numbers
    final: Numbers | None = None
    configs: tuple[dict[str, Any], ...] | None = None
    names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        shape = self.values.shape
        if len(shape) != 3 or 0 in shape:
            raise TableError("values", Words(f"of shape {shape}"), _SHAPE)
        seeds, rows, _ = shape
        if self.seconds.shape not in ((), (rows,), (seeds, rows), shape):
            rule = f"it must be one number, or of shape {(rows,)}, {(seeds, rows)} or {shape}"
            raise TableError("seconds", Words(f"of shape {self.seconds.shape}"), rule)
        if self.final is not None and self.final.shape != (seeds, rows):
            rule = f"it must be of shape {(seeds, rows)}"
            raise TableError("final", Words(f"of shape {self.final.shape}"), rule)
        for name, items in (("configs", self.configs), ("names", self.names)):
            if items is not None and len(items) != rows:
                rule = f"it needs one for each of {rows} rows"
                raise TableError(name, Words(f"of length {len(items)}"), rule)

    def check(self, card: Card) -> None:
        """Check that a card is the card of these arrays."""
        seeds, rows, resources = self.values.shape
        for noun, said, found in (
            ("seed", len(card.seeds), seeds),
            ("row", card.rows, rows),
            ("resource", card.resources, resources),
        ):
            if said != found:
                rule = f"the curves have {format_count(found, noun)}"
                raise TableError(f"number of {noun}s of the card", said, rule)


def make_arrays(
    card: Card,
    *,
    values: Any,
    seconds: Any,
    final: Any = None,
    configs: Any = None,
    names: Any = None,
) -> Arrays:
    """Arrays from the arguments of a caller."""
    space = card.search_space()
    curves = _to_floats("values", values)
    times = _to_floats("seconds", seconds)
    check_seconds(times)
    checked = None if configs is None else validate_configs(space, _to_tuple("configs", configs))
    called = None if names is None else _to_tuple("names", names)
    if called is not None and not all(isinstance(name, str) for name in called):
        raise TableError("names", names, "each must be text")
    return Arrays(
        Numbers(curves),
        Numbers(times),
        None if final is None else Numbers(_to_floats("final", final)),
        checked,
        called,
    )


def check_seconds(times: NDArray[np.float64]) -> None:
    """Check that times are finite and not negative."""
    wrong = ~(np.isfinite(times) & (times >= 0))
    if wrong.any():
        rule = "every unit of resource must take a finite, non-negative time"
        raise TableError("seconds", float(times[wrong].ravel()[0]), rule)


def validate_configs(space: Space | None, configs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Configurations as the space knows them; as they are, if there is none."""
    if space is None:
        return configs
    return tuple(_validate_config(number, config, space) for number, config in enumerate(configs))


def _to_floats(name: str, given: Any) -> NDArray[np.float64]:
    try:
        array = np.asarray(given)
    except (TypeError, ValueError, OverflowError):
        raise TableError(name, given, "it must be an array of numbers") from None
    if array.dtype.kind not in "biuf":
        raise TableError(name, given, "it must be an array of numbers")
    return np.array(array, dtype=np.float64)


def _to_tuple(name: str, given: Any) -> tuple[Any, ...]:
    if isinstance(given, str) or not isinstance(given, (Sequence, np.ndarray)):
        raise TableError(name, given, "it must be a sequence, one item per row")
    return tuple(given.tolist() if isinstance(given, np.ndarray) else given)


def _validate_config(number: int, config: Any, space: Space) -> dict[str, Any]:
    try:
        return dict(space.validate(config))
    except InvalidArgumentError as error:
        raise TableError(f"configs[{number}]", config, f"{error}".rstrip(".")) from None
