"""Benchmarks: tables of learning curves, generated, recorded or converted."""

from rungwise.benchmarks.benchmark import Benchmark
from rungwise.benchmarks.card import Card
from rungwise.benchmarks.catalog import cards, data_folder, load, names
from rungwise.benchmarks.generated import power_laws
from rungwise.benchmarks.table import Table

__all__ = [
    "Benchmark",
    "Card",
    "Table",
    "cards",
    "data_folder",
    "load",
    "names",
    "power_laws",
]
