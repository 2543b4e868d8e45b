"""Schedulers: which trial is trained next, and how far."""

from rungwise.schedulers.adaptive import AdaptiveHalving
from rungwise.schedulers.baselines import FixedResource, RandomSearch
from rungwise.schedulers.early_stopping import EarlyStopping
from rungwise.schedulers.presets import (
    ASHA,
    PASHA,
    AsyncHyperband,
    Hyperband,
    SuccessiveHalving,
)
from rungwise.schedulers.rush import Rush
from rungwise.schedulers.sharp import SharpHalving

__all__ = [
    "ASHA",
    "PASHA",
    "AdaptiveHalving",
    "AsyncHyperband",
    "EarlyStopping",
    "FixedResource",
    "Hyperband",
    "RandomSearch",
    "Rush",
    "SharpHalving",
    "SuccessiveHalving",
]
