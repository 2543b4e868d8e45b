"""Schedulers: who is trained next, and how far."""

from rungwise.schedulers.baselines import FixedResource, RandomSearch
from rungwise.schedulers.presets import (
    ASHA,
    PASHA,
    AsyncHyperband,
    Hyperband,
    SuccessiveHalving,
)

__all__ = [
    "ASHA",
    "PASHA",
    "AsyncHyperband",
    "FixedResource",
    "Hyperband",
    "RandomSearch",
    "SuccessiveHalving",
]
