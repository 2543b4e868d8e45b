"""Configurations as text to be copied, and parameters as axes."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Mapping
from typing import Any

from rungwise.core.codec import jsonable
from rungwise.core.engine import Engine
from rungwise.space.domains import Choice, Float, Int


def write_config(config: Mapping[str, Any]) -> dict[str, str]:
    """A configuration as Python, YAML and flags of a command line."""
    plain = jsonable(config)
    return {
        "python": repr(dict(config)),
        "yaml": "\n".join(f"{_yaml(name)}: {_yaml(value)}" for name, value in plain.items()),
        "flags": " ".join(
            shlex.quote(f"--{name}={value if isinstance(value, str) else json.dumps(value)}")
            for name, value in plain.items()
        ),
    }


def _yaml(value: Any) -> str:
    """A scalar as YAML 1.1 reads it back: JSON is YAML, but for floats such as 1e-05."""
    if isinstance(value, float):
        text = repr(value)
        mantissa, sign, exponent = text.partition("e")
        return text if not sign or "." in mantissa else f"{mantissa}.0e{exponent}"
    if isinstance(value, str) and value.isidentifier() and value.lower() not in _WORDS:
        return value
    return json.dumps(value)


_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n", "nan", "inf"})
"""Words that YAML takes for something else than text."""


def list_parameters(engine: Engine) -> list[dict[str, Any]]:
    """The parameters in the user's order, each with how its values lie on an axis."""
    space = engine.study.space
    found = []
    if space is not None:
        by_name = {one.name: one.domain for one in space.parameters}
        names = [name for name in space.written if name in by_name]
        names += [name for name in by_name if name not in names]
        found = [_describe(name, by_name[name]) for name in names]
    known = {one["name"] for one in found}
    others = dict.fromkeys(name for trial in engine.trials[:500] for name in trial.config)
    found += [
        {"name": name, "kind": "options", "options": []} for name in others if name not in known
    ]
    return found


def _describe(name: str, domain: Any) -> dict[str, Any]:
    if isinstance(domain, (Float, Int)):
        kind = "log" if domain.log else "linear"
        return {"name": name, "kind": kind, "low": domain.low, "high": domain.high}
    options = jsonable(list(domain.options)) if isinstance(domain, Choice) else []
    return {"name": name, "kind": "options", "options": options}


def short(value: float | None, digits: int = 7) -> float | None:
    """A number as a figure needs it; what is not finite is None."""
    if value is None or not math.isfinite(value):
        return None
    return float(f"{value:.{digits}g}")
