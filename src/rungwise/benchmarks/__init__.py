"""Benchmarks: tables of learning curves, generated or loaded."""

from rungwise.benchmarks.generated import power_laws
from rungwise.benchmarks.table import Table

__all__ = ["Table", "power_laws"]
