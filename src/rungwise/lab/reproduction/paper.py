"""Every figure of every table of the paper, from ``paper.csv``.

The file has the lines of the fifteen tables in the paper's order, digits as printed; a test reads
the paper's source and compares. LCBench's table has two lines per data set, ASHA's and PASHA's.

Reference:
    Bohdal et al., PASHA: Efficient HPO and NAS with Progressive Resource Allocation (2023).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources

from rungwise.lab.reproduction.results import Figure, PaperRow

LCBENCH = "lcbench-"
"""The prefix of LCBench's data sets here."""

DATASETS: Mapping[str, str] = {
    "nasbench201-cifar10": "CIFAR-10",
    "nasbench201-cifar100": "CIFAR-100",
    "nasbench201-imagenet16-120": "ImageNet16-120",
    "pd1-wmt-xformer-64": "WMT",
    "pd1-imagenet-resnet-512": "ImageNet",
}
"""The paper's name of the data set of a benchmark."""


LENGTHS: Mapping[str, int] = {
    "nasbench201-": 200,
    "pd1-wmt-xformer-64": 1414,
    "pd1-imagenet-resnet-512": 251,
    LCBENCH: 50,
}
"""How many epochs the paper's curves have, by the prefix of the benchmark's name."""


@cache
def rows() -> tuple[PaperRow, ...]:
    """All lines of all tables, in the paper's order."""
    text = resources.files(__package__).joinpath("paper.csv").read_text(encoding="utf-8")
    numbers: dict[str, int] = {}
    found = []
    for line in csv.DictReader(text.splitlines()):
        number = numbers.setdefault(line["table"], len(numbers) + 1)
        accuracy = Figure(float(line["accuracy"]), float(line["accuracy_std"]))
        found.append(
            PaperRow(
                table=line["table"],
                number=number,
                dataset=line["dataset"],
                method=line["method"],
                label=line["label"],
                accuracy=accuracy,
                hours=_figure(line, "hours"),
                speedup=float(line["speedup"]) if line["speedup"] else None,
                max_resource=_figure(line, "max_resource"),
            )
        )
    return tuple(found)


def find(benchmark: str, method: str, tables: Sequence[str]) -> PaperRow | None:
    """The paper's line for a method on a benchmark, from the first of the tables that has one.

    Args:
        benchmark: the name of the benchmark here.
        method: the name of the method here.
        tables: the labels of the tables to look in, in this order.
    """
    dataset = _parse_dataset(benchmark)
    for table in tables:
        found = _index().get((table, dataset, method))
        if found is not None:
            return found
    return None


def find_number(table: str) -> int:
    """The number of a table in the paper."""
    return next(row.number for row in rows() if row.table == table)


def knows(benchmark: str) -> bool:
    """Whether the paper has figures for a benchmark."""
    return any(dataset == _parse_dataset(benchmark) for _, dataset, _ in _index())


def find_length(benchmark: str) -> int | None:
    """How many epochs the paper's curves have; None if the paper does not use the benchmark."""
    found = (length for begin, length in LENGTHS.items() if benchmark.startswith(begin))
    return next(found, None) if knows(benchmark) else None


@cache
def _index() -> Mapping[tuple[str, str, str], PaperRow]:
    return {(row.table, _plain(row.dataset), row.method): row for row in rows()}


def _parse_dataset(benchmark: str) -> str:
    if benchmark.startswith(LCBENCH):
        return _plain(benchmark.removeprefix(LCBENCH))
    return _plain(DATASETS.get(benchmark, ""))


def _plain(dataset: str) -> str:
    """A name without capitals and punctuation, since the paper's spelling differs."""
    return re.sub(r"[^a-z0-9]", "", dataset.lower())


def _figure(line: Mapping[str, str], name: str) -> Figure | None:
    return Figure(float(line[name]), float(line[f"{name}_std"])) if line[name] else None
