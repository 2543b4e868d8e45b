"""NAS-Bench-201, from the files of NATS-Bench's topology search space (``tss``).

It comes as a folder ``NATS-tss-v1_0-3ffb9-simple`` of one pickle per architecture, and as a tar
file of that folder. Both are read one architecture at a time, in child processes with limits. One
pickle of them all, ``NATS-tss-v1_0-3ffb9.pickle.pbz2``, takes 33 GB of memory and is refused.

As in the paper, the metric is the accuracy on ``ori-test`` for all three data sets (the combined
validation and test set of the benchmark's creators), an epoch takes its training and evaluation
time, and a seed that is missing is filled in with the mean of those that are there.
"""

from __future__ import annotations

import bz2
import io
import re
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rungwise.benchmarks import npz
from rungwise.benchmarks.card import Card
from rungwise.errors import TableError, Words
from rungwise.lab.sources import unpickling
from rungwise.lab.sources.conversion import (
    ConvertedBenchmark,
    Progress,
    drop_equal_axes,
    find_quantum,
    note_left_out,
    today,
)
from rungwise.lab.sources.limited_processes import map_limited
from rungwise.lab.sources.source_errors import DAMAGE, damaged
from rungwise.lab.sources.streams import iterate_members
from rungwise.space import Choice, Space

TOTAL = 15_625
"""How many architectures there are: five operations on six edges."""

SEEDS = (777, 888, 999)
EPOCHS = 200

OPERATIONS = ("none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")

EDGES = ("edge_0_to_1", "edge_0_to_2", "edge_1_to_2", "edge_0_to_3", "edge_1_to_3", "edge_2_to_3")
"""The edges of the cell, in the order of the architecture's text; node 0 is its input, node 3 its
output."""

SPACE = Space.parse({edge: Choice(OPERATIONS) for edge in EDGES})

MEMBER = re.compile(r"([0-9]{6})\.pickle\.pbz2")
"""The name of an architecture's file."""

_DATASETS = {
    # Name of the benchmark: name in the files, title, images of ``ori-test``.
    "nasbench201-cifar10": ("cifar10", "CIFAR-10", 10_000),
    "nasbench201-cifar100": ("cifar100", "CIFAR-100", 10_000),
    "nasbench201-imagenet16-120": ("ImageNet16-120", "ImageNet16-120", 6_000),
}
_EVALUATIONS = tuple(f"ori-test@{epoch}" for epoch in range(EPOCHS))
_NUMBERS = frozenset({int, float, np.float64, np.float32})
_FROM = [rf"({'|'.join(OPERATIONS)})~{node}" for node in range(3)]
_TEXT = re.compile(r"\+".join(r"\|" + r"\|".join(_FROM[:node]) + r"\|" for node in (1, 2, 3)))
_CITATION = (
    "X. Dong and Y. Yang. NAS-Bench-201: Extending the Scope of Reproducible Neural Architecture "
    "Search. ICLR 2020. X. Dong, L. Liu, K. Musial and B. Gabrys. NATS-Bench: Benchmarking NAS "
    "Algorithms for Architecture Topology and Size. IEEE TPAMI, 2021."
)

Singles = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Architecture:
    """What is kept of one architecture.

    Attributes:
        index: its number, 0 to 15,624.
        text: the operations on its edges.
        accuracies: in percent, [data sets, seeds, epochs]; NaN where there is no such run.
        seconds: the time of each epoch, of the same shape.
    """

    index: int
    text: str
    accuracies: Singles
    seconds: Singles


# -- reading -----------------------------------------------------------------------------------


def read_folder(
    folder: Path, *, workers: int = 1, on_progress: Progress | None = None
) -> Iterator[Architecture]:
    """The architectures of a folder, one file at a time.

    Args:
        folder: with files ``000000.pickle.pbz2`` and so on; not all of them need be there.
        workers: how many processes read.
        on_progress: is called with the number of files read, and of all.
    """
    paths = sorted(path for path in folder.iterdir() if MEMBER.fullmatch(path.name))
    tasks = ((str(path), path) for path in paths)
    found = map_limited(read_architecture, tasks, min(workers, max(len(paths), 1)))
    for done, architecture in enumerate(found, start=1):
        if on_progress is not None:
            on_progress(done, len(paths))
        yield architecture


def read_tar(
    path: Path, *, workers: int = 1, on_progress: Progress | None = None
) -> Iterator[Architecture]:
    """The architectures of a tar file of the folder; nothing is unpacked to disk."""
    with closing(_tar_members(path, on_progress)) as tasks:
        yield from map_limited(read_architecture, tasks, workers)


def _tar_members(
    path: Path, on_progress: Progress | None
) -> Generator[tuple[str, bytes], None, None]:
    """The names and the compressed pickles of a tar file."""
    try:
        size = path.stat().st_size
        with path.open("rb") as raw:
            for tar, member in iterate_members(raw):
                name = member.name.rpartition("/")[2]
                if MEMBER.fullmatch(name) and member.isreg():
                    file = tar.extractfile(member)
                    assert file is not None  # it is a regular file
                    yield f"{path}: {member.name}", file.read(unpickling.LIMIT)
                    if on_progress is not None:
                        on_progress(member.offset >> 20, size >> 20)
    except DAMAGE as error:
        raise damaged(path, error) from error


def read_architecture(name: str, source: Path | bytes) -> Architecture:
    """The architecture of a compressed pickle; called in a process with limits.

    Args:
        name: which file it is, for errors.
        source: where it is, or its content.
    """
    content = source if isinstance(source, bytes) else npz.read_file(source, unpickling.LIMIT)
    try:
        with bz2.open(io.BytesIO(content)) as stream:
            record = unpickling.load(stream, name)
        if not _is_record(record):
            raise TableError(name, Words("a pickle of something else"), _RECORD)
        found = reduce_record(record, name)
    except MemoryError:
        raise
    except DAMAGE as error:  # such as a number too large for a float
        raise damaged(name, error) from error
    number = MEMBER.fullmatch(name[-len("000000.pickle.pbz2") :])
    if number is None or int(number[1]) != found.index:
        said = "has no number" if number is None else f"says {int(number[1])}"
        held = Words(f"a file that holds architecture {found.index}")
        raise TableError(name, held, f"its file name {said}")
    return found


def refuse_single_file(path: Path) -> TableError:
    """The error for the one pickle of all architectures, which takes 33 GB of memory to read."""
    rule = (
        "that takes more memory than most machines have: give the folder "
        "NATS-tss-v1_0-3ffb9-simple or its tar file (`rungwise benchmark fetch nasbench201` "
        "downloads it)"
    )
    return TableError(str(path), Words("all of NAS-Bench-201 in one pickle"), rule)


_RECORD = "it must be an architecture: a dict with the results of '200' epochs"


def _is_record(record: Any) -> bool:
    if not isinstance(record, dict) or not isinstance(record.get("200"), dict):
        return False
    return "all_results" in record["200"]


def reduce_record(record: Mapping[str, Any], name: str) -> Architecture:
    """The curves of an architecture."""
    long = record["200"]
    index, text, results = (long.get(key) for key in ("arch_index", "arch_str", "all_results"))
    if type(index) is not int or not 0 <= index < TOTAL:
        known = type(index) in (int, bool) and -TOTAL < index < 10 * TOTAL  # short to write
        found = Words(f"architecture {index}" if known else "of an unknown architecture")
        raise TableError(name, found, f"the number must be from 0 to {TOTAL - 1:,}")
    if not isinstance(text, str) or _TEXT.fullmatch(text) is None:
        found = Words(f"architecture {index}")
        raise TableError(name, found, "its text must name an operation for each of six edges")
    if not isinstance(results, dict):
        raise TableError(name, Words(f"architecture {index}"), _RECORD)
    shape = (len(_DATASETS), len(SEEDS), EPOCHS)
    accuracies, seconds = np.full(shape, np.nan, np.float32), np.full(shape, np.nan, np.float32)
    for d, (dataset, _, _) in enumerate(_DATASETS.values()):
        for s, seed in enumerate(SEEDS):
            if (dataset, seed) in results:
                curves = _curves(results[dataset, seed], f"{name}: {dataset}, seed {seed}")
                if curves is not None:
                    accuracies[d, s], seconds[d, s] = curves
    return Architecture(index, text, accuracies, seconds)


def _curves(result: Any, place: str) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Accuracies and seconds of a run, None if an epoch is missing (as in the authors' code)."""
    try:
        accuracies = [result["eval_acc1es"][key] for key in _EVALUATIONS]
        training = [result["train_times"][epoch] for epoch in range(EPOCHS)]
        evaluation = [result["eval_times"][key] for key in _EVALUATIONS]
    except LookupError:
        return None
    except TypeError:
        raise TableError(place, Words("malformed"), "its curves must be dicts") from None
    if not set(map(type, (*accuracies, *training, *evaluation))) <= _NUMBERS:
        raise TableError(place, Words("malformed"), "its curves must be of numbers")
    percent = np.array(accuracies, dtype=np.float64)
    times = np.array([training, evaluation], dtype=np.float64)
    if np.isnan(percent).any():
        return None  # a run without a result is none
    if not ((percent >= 0) & (percent <= 100)).all():
        raise TableError(place, Words("malformed"), "an accuracy must be from 0 to 100")
    if not (np.isfinite(times) & (times >= 0) & (times < 1e9)).all():
        raise TableError(place, Words("malformed"), "an epoch must take a finite, positive time")
    return percent, times.sum(axis=0)


# -- making ------------------------------------------------------------------------------------


def make(architectures: Iterable[Architecture], source: Path) -> Iterator[ConvertedBenchmark]:
    """The three benchmarks of what was read."""
    rows: dict[int, Architecture] = {}
    for architecture in architectures:
        if architecture.index in rows:
            found = Words(f"a source in which architecture {architecture.index} occurs twice")
            raise TableError(str(source), found, "each may occur only once")
        rows[architecture.index] = architecture
    if not rows:
        rule = "it must hold architectures, as 000000.pickle.pbz2"
        raise TableError(str(source), Words("empty"), rule)
    ordered = [rows[index] for index in sorted(rows)]
    texts: dict[str, int] = {}
    for row in ordered:
        if texts.setdefault(row.text, row.index) != row.index:
            pair = f"architectures {texts[row.text]} and {row.index}"
            found = Words(f"a source in which {pair} have the same operations")
            raise TableError(str(source), found, "each must have its own")
    if not any(np.isfinite(row.accuracies).any() for row in ordered):
        rule = f"at least one run must have all {EPOCHS} epochs on ori-test"
        raise TableError(str(source), Words("without results"), rule)
    lost = [
        name
        for number, name in enumerate(_DATASETS)
        if not any(np.isfinite(row.accuracies[number]).any() for row in ordered)
    ]
    for number, name in enumerate(_DATASETS):
        if name not in lost:
            yield _benchmark(ordered, number, name, note_left_out(lost))


def _benchmark(
    rows: list[Architecture], number: int, name: str, notes: list[str]
) -> ConvertedBenchmark:
    """The benchmark of one data set, which at least one architecture was trained on."""
    dataset, title, images = _DATASETS[name]
    kept = [row for row in rows if np.isfinite(row.accuracies[number]).any()]
    trained = np.array([np.isfinite(row.accuracies[number, :, 0]) for row in kept])
    values = _impute(np.stack([row.accuracies[number] for row in kept], axis=1) / 100)
    seconds = _impute(np.stack([row.seconds[number] for row in kept], axis=1))
    runs = trained.sum(axis=1)
    if len(kept) < TOTAL:
        notes.append(f"{len(kept):,} of {TOTAL:,} architectures: the source has only these")
    if not trained.all():
        notes.append(f"{int((~trained).sum()):,} missing seeds are the mean of the others")
    card = Card(
        name=name,
        title=f"NAS-Bench-201 on {title}",
        description=(
            f"Cells of four nodes and six edges with one of five operations each, stacked into a "
            f"network and trained on {title} for {EPOCHS} epochs. The accuracy is that on the "
            "combined validation and test set of the creators, as in the paper."
        ),
        metric="accuracy (ori-test)",
        goal="max",
        resource="epoch",
        unit_seconds="training and evaluation of an epoch, as measured by the authors",
        seeds=SEEDS,
        licence="MIT",
        source="NATS-Bench, topology search space, v1.0-3ffb9",
        citation=_CITATION,
        created=today(),
        details={
            "dataset": dataset,
            "evaluation_images": images,
            "architectures": len(kept),
            "architectures_in_all": TOTAL,
            "notes": notes,
        },
        checks={
            "runs_imputed": int((~trained).sum()),
            "architectures_by_runs": {str(n): int((runs == n).sum()) for n in (1, 2, 3)},
            "best_final_mean": round(float(values[:, :, -1].mean(axis=0).max()), 6),
        },
        space=SPACE.to_json(),
    )
    return ConvertedBenchmark(
        card=card,
        values=values,
        seconds=drop_equal_axes(seconds),
        configs=[parse_architecture(row.text) for row in kept],
        names=[row.text for row in kept],
        # The mean of two accuracies lies between two multiples of one image.
        quantum=find_quantum(values, [1 / images, 1 / (2 * images)]),
    )


def _impute(curves: NDArray[Any]) -> NDArray[np.float64]:
    """Curves [seeds, rows, epochs] with missing seeds filled in.

    The authors' code takes the mean of the two others even if one of those is missing too, which
    leaves an architecture with one run without the other two; the paper's text, and this, say the
    mean of those available.
    """
    full = curves.astype(np.float64)
    missing = np.isnan(full)
    known = (~missing).sum(axis=0)
    mean = np.where(missing, 0, full).sum(axis=0) / np.maximum(known, 1)
    return np.where(missing, mean[None], full)


def parse_architecture(text: str) -> dict[str, str]:
    """The configuration of an architecture's text.

    Example:
        >>> found = parse_architecture("|none~0|+|none~0|none~1|+|skip_connect~0|none~1|none~2|")
        >>> found["edge_0_to_3"]
        'skip_connect'
    """
    found = _TEXT.fullmatch(text)
    if found is None:
        raise TableError("architecture", text, "it must name an operation for each of six edges")
    return dict(zip(EDGES, found.groups(), strict=True))
