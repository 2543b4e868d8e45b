"""What the axes of a figure span.

Vega rounds the numbers at an axis to how far it spans. Where all values are equal it spans nothing,
and the number would be wrong: such an axis becomes wider.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rungwise.errors import InvalidArgumentError, Words

LARGEST = 1e300
"""The largest number of a figure: beyond it Vega's sums are infinite."""

PAD = 0.05
"""How much wider an axis becomes to either side where all values are equal."""

FEW = 4
"""Over fewer steps Vega has ticks between whole numbers, whatever the smallest step."""

SAME = 1e-9
"""Values that differ by less than this share of them count as equal: no tick could show it."""


def set_domain(layers: Sequence[dict[str, Any]], name: str, channel: dict[str, Any]) -> None:
    """Widen an axis on which all values are equal.

    Args:
        layers: the layers of the figure.
        name: ``"x"`` or ``"y"``.
        channel: the axis; its scale may be changed.

    Raises:
        InvalidArgumentError: a value is too large to be drawn.
    """
    if channel["type"] != "quantitative":
        return
    scale = channel.get("scale", {})
    values = [*_iterate_values(layers, name), *scale.get("domain", ())]
    if not values:
        return
    low, high = min(values), max(values)
    if not -LARGEST <= low <= high <= LARGEST:
        rule = f"a figure can only show numbers from {-LARGEST:g} to {LARGEST:g}"
        found = Words(f"from {low:g} to {high:g}")
        raise InvalidArgumentError(channel["title"] or name, found, rule)
    if "domain" in scale:
        return
    if scale.get("zero"):
        low, high = min(low, 0), max(high, 0)
    if math.isclose(low, high, rel_tol=SAME):
        pad = PAD * max(abs(low), abs(high)) or 1
        channel["scale"] = {**scale, "domain": [low - pad, high + pad]}


def make_count_axis(places: Iterable[float]) -> dict[str, Any]:
    """The axis of a channel that counts, without ticks between whole numbers.

    Args:
        places: where something is; only if all are whole numbers is it known to count.
    """
    found = set(places)
    if not found or not all(float(place).is_integer() for place in found):
        return {}
    low, high = int(min(found)), int(max(found))
    if high - low < FEW:
        return {"axis": {"values": [*range(low, high + 1)], "format": ","}}
    return {"axis": {"tickMinStep": 1}}


def _iterate_values(layers: Sequence[dict[str, Any]], name: str) -> Iterator[float]:
    """Every number that the layers place on an axis."""
    for layer in layers:
        fields = {layer["encoding"].get(name, {"field": name}).get("field")}
        fields.add(layer["encoding"].get(f"{name}2", {}).get("field"))
        for row in layer["data"]["values"]:
            for field in fields & row.keys():
                found = row[field] if isinstance(row[field], list) else [row[field]]
                yield from (value for value in found if value is not None and not math.isnan(value))
