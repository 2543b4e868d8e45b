"""Schedulers: which trial is trained next, and how far."""

from rungwise.schedulers.baselines import FixedResource, RandomSearch
from rungwise.schedulers.hedged import HedgedHalving
from rungwise.schedulers.presets import (
    ASHA,
    PASHA,
    AsyncHyperband,
    Hyperband,
    SuccessiveHalving,
)
from rungwise.schedulers.rush import Rush

__all__ = [
    "ASHA",
    "PASHA",
    "AsyncHyperband",
    "FixedResource",
    "HedgedHalving",
    "Hyperband",
    "RandomSearch",
    "Rush",
    "SuccessiveHalving",
]
