"""LCBench: funnel-shaped networks on 35 tabular data sets, 2,000 configurations, 50 epochs.

The original is one JSON text, ``data_2k_lw.json`` (or ``data_2k.json``, or the zip file of either),
of a gigabyte or more: it is read one run at a time. From it comes what the paper used: validation
accuracy, and seconds as the differences of the logged clock.

There are also arrays of a part of it, ``lcbench_val_cross_entropy_curves.npz`` and
``lcbench_final.npz``, without accuracies and clocks: there the metric is the validation
cross-entropy, which is minimised, and what is reported in the end is the test accuracy.

A log has 52 entries: before training, after each of 50 epochs, and a closing evaluation; the 50 are
used.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np

from rungwise.benchmarks import npz
from rungwise.benchmarks.card import Card
from rungwise.errors import SpaceError, TableError, Words
from rungwise.lab.sources.conversion import (
    ConvertedBenchmark,
    Floats,
    Progress,
    check_bounds,
    clip_to_range,
    drop_equal_axes,
    fill_seconds,
    note_left_out,
    pad_curves,
    parse_floats,
    today,
)
from rungwise.lab.sources.json_stream import iterate_entries
from rungwise.lab.sources.source_errors import DAMAGE, damaged
from rungwise.lab.sources.streams import count_reading
from rungwise.space import Float, Int, Space

EPOCHS = 50

SPACE = Space.parse(
    {
        "batch_size": Int(16, 512, log=True),
        "learning_rate": Float(1e-4, 1e-1, log=True),
        "momentum": Float(0.1, 0.99),
        "weight_decay": Float(1e-5, 1e-1),
        "num_layers": Int(1, 5),
        "max_units": Int(64, 1024, log=True),
        "max_dropout": Float(0, 1),
    }
)
"""The space that the authors drew from."""

MOST_RUNS = 200_000
"""The most runs of a file; there are 70,000."""

MEMBERS = ("data_2k.json", "data_2k_lw.json")
"""The files in the zip files."""

_CITATION = (
    "L. Zimmer, M. Lindauer and F. Hutter. Auto-PyTorch Tabular: Multi-Fidelity MetaLearning for "
    "Efficient and Robust AutoDL. IEEE TPAMI 43(9), 2021."
)


@dataclass(frozen=True, slots=True)
class TrainingRun:
    """A training run.

    Attributes:
        config: its hyperparameters.
        accuracies: the validation accuracy after each epoch, from 0 to 1.
        seconds: the time of each epoch.
        final: the test accuracy in the end, from 0 to 1; NaN where it is unknown.
    """

    config: dict[str, Any]
    accuracies: Floats
    seconds: Floats
    final: float


@dataclass(slots=True)
class DataSet:
    """The runs on a data set.

    Attributes:
        runs: by the number of their configuration.
        outside: how many are outside of the space.
        about: what is the same for all runs.
    """

    runs: dict[int, TrainingRun] = field(default_factory=dict)
    outside: int = 0
    about: dict[str, Any] = field(default_factory=dict)


# -- the original ------------------------------------------------------------------------------


def read(path: Path, on_progress: Progress | None = None) -> dict[str, DataSet]:
    """The data sets of the JSON text, or of a zip file with it."""
    sets: dict[str, DataSet] = {}
    try:
        with path.open("rb") as raw, _text(path, raw, on_progress) as (name, stream):
            runs = iterate_entries(
                stream, name, lambda dataset: sets.setdefault(dataset, DataSet())
            )
            for count, (dataset, number, record) in enumerate(runs, start=1):
                place = f"{name}: {dataset!r}, configuration {number!r}"
                _take(sets[dataset], number, record, place)
                if count > MOST_RUNS:
                    raise TableError(
                        place, Words("one too many"), f"at most {MOST_RUNS:,} are read"
                    )
    except DAMAGE as error:
        raise damaged(path, error) from error
    return sets


@contextmanager
def _text(
    path: Path, raw: IO[bytes], on_progress: Progress | None
) -> Iterator[tuple[str, IO[bytes]]]:
    """The JSON text, and what to call it."""
    file = count_reading(raw, path.stat().st_size, 0, on_progress)
    if not zipfile.is_zipfile(raw):
        raw.seek(0)
        yield str(path), file
        return
    raw.seek(0)
    with zipfile.ZipFile(file) as archive:
        found = [info for info in archive.infolist() if info.filename in MEMBERS]
        if len(found) != 1:
            rule = f"it must hold {' or '.join(MEMBERS)}, once"
            raise TableError(str(path), Words("an unexpected zip file"), rule)
        if found[0].compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            # The others decompress all at once: of a kilobyte, gigabytes.
            rule = "it must be stored or deflated"
            raise TableError(str(path), Words("compressed in another way"), rule)
        with archive.open(found[0]) as stream:
            yield f"{path}: {found[0].filename}", stream


def _take(found: DataSet, number: str, record: Any, place: str) -> None:
    """Add a run to its data set."""
    if not number.isascii() or not number.isdecimal() or len(number) > 9:
        raise TableError(place, Words("not a run of LCBench"), "configurations have numbers")
    parts = [record.get(key) if isinstance(record, dict) else None for key in _PARTS]
    if not all(isinstance(part, dict) for part in parts):
        rule = f"it must have the objects {', '.join(map(repr, _PARTS))}"
        raise TableError(place, Words("not a run of LCBench"), rule)
    config, results, log = parts
    assert isinstance(config, dict)  # they all are
    assert isinstance(results, dict)
    assert isinstance(log, dict)
    if int(number) in found.runs:
        raise TableError(place, Words("present twice"), "each configuration must have one run")
    try:
        legal = SPACE.validate({name: config.get(name) for name in SPACE.names})
    except SpaceError:
        found.outside += 1
        return
    if "Train/val_accuracy" not in log:
        rule = "its log must have 'Train/val_accuracy'"
        raise TableError(place, Words("not a run of LCBench"), rule)
    where = f"{place}, Train/val_accuracy"
    accuracies = clip_to_range(
        parse_floats(log["Train/val_accuracy"], where)[1 : EPOCHS + 1], 100, where
    )
    clock = parse_floats(log.get("time"), f"{place}, time")[: EPOCHS + 1]
    found.runs[int(number)] = TrainingRun(
        dict(legal),
        accuracies / 100,
        np.diff(clock),
        _final(results, log, place) / 100,
    )
    for key in ("OpenML_task_id", "instances", "classes", "features"):
        value = results.get(key, config.get(key))
        if type(value) in {int, str} or (type(value) is float and np.isfinite(value)):
            found.about.setdefault(key, value)


_PARTS = ("config", "results", "log")


def _final(results: Mapping[str, Any], log: Mapping[str, Any], place: str) -> float:
    """The test accuracy in percent; the last logged one where no result is given."""
    where = f"{place}, final_test_accuracy"
    given = clip_to_range(parse_floats([results.get("final_test_accuracy")], where), 100, where)[0]
    if not np.isnan(given):
        return float(given)
    where = f"{place}, Train/test_result"
    logged = clip_to_range(
        parse_floats(log.get("Train/test_result"), where)[: EPOCHS + 1], 100, where
    )
    return float(logged[-1]) if len(logged) > 1 else np.nan


def make(sets: Mapping[str, DataSet], source: Path) -> Iterator[ConvertedBenchmark]:
    """The benchmarks of the data sets that were read."""
    useful = {
        name: found
        for name, found in sets.items()
        if any(np.isfinite(run.accuracies).any() for run in found.runs.values())
    }
    if not useful:
        raise TableError(
            str(source), Words("without runs of LCBench"), "it must contain at least one run"
        )
    for name, found in useful.items():
        yield _benchmark(name, found, note_left_out(name for name in sets if name not in useful))


def _benchmark(name: str, found: DataSet, notes: list[str]) -> ConvertedBenchmark:
    numbers = sorted(found.runs)
    runs = [found.runs[number] for number in numbers]
    values = pad_curves([run.accuracies for run in runs])
    width = values.shape[1]
    times = pad_curves([*(run.seconds for run in runs), np.zeros(width)])[:-1, :width]
    seconds, filled = fill_seconds(times)
    final = np.array([run.final for run in runs])
    tested = bool(np.isfinite(final).any())
    if found.outside:
        notes.append(f"{found.outside:,} runs outside of the space are left out")
    if not tested:
        notes.append("there are no test accuracies: the last validation accuracy is reported")
    card = _card(
        name,
        metric="validation accuracy",
        goal="max",
        final_metric=_FINAL if tested else "",
        unit_seconds="an epoch, from the differences of the logged clock",
        source="LCBench, original JSON",
        details={**found.about, "form": "original", "dataset": name, "notes": notes},
        checks={
            "runs_outside_the_space": found.outside,
            "units_with_usual_seconds": filled,
            "runs_that_ended_early": int((~np.isfinite(values[:, -1])).sum()),
            "runs_without_a_test_accuracy": int((~np.isfinite(final)).sum()),
        },
    )
    return ConvertedBenchmark(
        card=card,
        values=values[None],
        seconds=drop_equal_axes(seconds[None]),
        final=final[None] if tested else None,
        configs=[run.config for run in runs],
        names=[str(number) for number in numbers],
    )


_FINAL = "test accuracy after 50 epochs"


def _card(name: str, **more: Any) -> Card:
    """What is the same for both forms."""
    return Card(
        name=f"lcbench-{name}",
        title=f"LCBench: funnel-shaped networks on {name}",
        description=(
            f"Multi-layer perceptrons, each layer narrower than the one before, trained on {name} "
            f"with stochastic gradient descent and cosine annealing over {EPOCHS} epochs."
        ),
        resource="epoch",
        seeds=(0,),
        licence="Apache-2.0",
        citation=_CITATION,
        created=today(),
        space=SPACE.to_json(),
        **more,
    )


# -- the arrays --------------------------------------------------------------------------------

ARRAYS = ("lcbench_val_cross_entropy_curves.npz", "lcbench_final.npz")
"""The files of the arrays."""


def make_from_arrays(folder: Path) -> Iterator[ConvertedBenchmark]:
    """The benchmarks of the arrays in a folder; test accuracies need the second file."""
    path, final_path = (folder / name for name in ARRAYS)
    needed = ("val_cross_entropy", "dataset_names", "config_names", "configs")
    curves, set_names, column_names, rows = _arrays(path, needed)
    try:
        sets, columns = _texts(set_names, path), _texts(column_names, path)
    except ValueError as error:  # bytes that are no letters
        raise damaged(path, error) from error
    configs = _configs(rows, columns, path)
    many = (len(sets), len(configs))
    if curves.dtype.kind != "f" or curves.shape[:-1] != many or 0 in many or curves.shape[2] < 2:
        rule = f"its curves must be of {many[0]} data sets and {many[1]} configurations"
        raise TableError(str(path), Words(f"{curves.dtype} of shape {curves.shape}"), rule)
    check_bounds(curves, str(path))
    if len(set(sets)) < len(sets):
        raise TableError(str(path), Words("ambiguous"), "the names of its data sets must differ")
    finals = None
    if final_path.is_file():
        (finals,) = _arrays(final_path, ("final_test_accuracy",))
        if finals.dtype.kind not in "iuf" or finals.shape != many:
            rule = f"it must be of shape {many}, as {path.name}"
            raise TableError(
                str(final_path), Words(f"{finals.dtype} of shape {finals.shape}"), rule
            )
        finals = clip_to_range(finals, 100, f"{final_path}: final_test_accuracy")
    values = curves[:, :, 1 : EPOCHS + 1]
    known = np.isfinite(values).any(axis=(1, 2))
    if not known.any():
        raise TableError(str(path), Words("without a value"), "at least one must be finite")
    notes = note_left_out(name for name, there in zip(sets, known, strict=True) if not there)
    for number in np.flatnonzero(known):
        yield ConvertedBenchmark(
            card=_array_card(sets[number], notes, tested=finals is not None),
            values=values[number : number + 1],
            seconds=np.array(1.0),
            final=None if finals is None else finals[number : number + 1] / 100,
            configs=configs,
            names=[str(row) for row in range(len(configs))],
        )


def _array_card(name: str, notes: list[str], *, tested: bool) -> Card:
    return _card(
        name,
        metric="validation cross-entropy",
        goal="min",
        final_metric=_FINAL if tested else "",
        unit_seconds="1 per epoch: the arrays have no times",
        source="LCBench, arrays of the validation cross-entropy",
        details={
            "form": "arrays",
            "dataset": name,
            # The curves fall, the final figure rises.
            **({"final_goal": "max"} if tested else {}),
            "notes": [
                *notes,
                "tuned on cross-entropy, not on accuracy as in the paper; time counts epochs",
            ],
        },
    )


def _configs(rows: Any, columns: Iterable[str], path: Path) -> list[dict[str, Any]]:
    names = list(columns)
    whole = {"batch_size", "num_layers", "max_units"}
    plain = rows.ndim == 2 and rows.dtype.kind in "iuf" and np.isfinite(rows).all()
    if sorted(names) != sorted(SPACE.names) or not plain or rows.shape[1] != len(names):
        raise TableError(
            str(path), Words("in an unknown format"), f"it must have {sorted(SPACE.names)}"
        )
    configs = [
        {
            name: int(value) if name in whole else float(value)
            for name, value in zip(names, row, strict=True)
        }
        for row in rows.tolist()
    ]
    try:
        return [dict(SPACE.validate(config)) for config in configs]
    except SpaceError as error:
        found = Words("a file with other parameters")
        raise TableError(str(path), found, f"{error}".rstrip(".")) from None


def _texts(array: Any, path: Path) -> list[str]:
    if array.ndim != 1 or array.dtype.kind != "U":
        raise TableError(str(path), Words("of another form"), "its names must be a list of texts")
    return [str(text) for text in array]


def _arrays(path: Path, names: Iterable[str]) -> list[Any]:
    """Some arrays of an ``.npz`` file."""
    found = npz.unpack_arrays(path, npz.read_file(path, npz.LIMIT), foreign=True)
    missing = sorted(set(names) - set(found))
    if missing:
        rule = f"it must have the arrays {missing}"
        raise TableError(str(path), Words(f"of {sorted(found)}"), rule)
    return [found[name] for name in names]
