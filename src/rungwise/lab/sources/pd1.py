"""PD1: large networks and the four hyperparameters of their optimiser, from its own files.

``pd1.tar.gz`` holds ``pd1_matched_phase1_results.jsonl.gz`` and the same unmatched; each line is a
training run with its task, its hyperparameters and arrays over its evaluations. Matched runs share
their hyperparameters over all tasks, unmatched ones do not; both belong to the table, as in the
paper. A unit of resource is one evaluation, which the paper calls an epoch (1,414 of WMT, 251 of
ImageNet). Only the files wanted are read, line by line; nothing is unpacked to disk.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np

from rungwise.benchmarks.card import Card
from rungwise.errors import SpaceError, TableError, Words
from rungwise.lab.sources.conversion import (
    ConvertedBenchmark,
    Floats,
    Progress,
    clip_to_range,
    drop_equal_axes,
    fill_seconds,
    note_left_out,
    pad_curves,
    parse_floats,
    today,
)
from rungwise.lab.sources.source_errors import DAMAGE, damaged, malformed
from rungwise.lab.sources.streams import (
    LARGEST_PIECE,
    count_reading,
    iterate_members,
    open_uncompressed,
)
from rungwise.space import Float, Space

SPACE = Space.parse(
    {
        "learning_rate": Float(1e-5, 10, log=True),
        "decay_power": Float(0.1, 2),
        "decay_fraction": Float(0.01, 0.99),
        "one_minus_momentum": Float(1e-3, 1, log=True),
    }
)
"""The paper's space: learning rate η, power p, decay fraction λ and 1 − β."""

RESULTS = re.compile(r"pd1_(matched|unmatched)_phase1_results\.jsonl(\.gz)?")
"""The files that are read."""

MOST_RUNS = 200_000
"""The most lines of a file; PD1 has about ten thousand."""

MOST_VALUES = 100_000_000
"""The most values of all curves, also when each is as long as the longest of its task."""

_COLUMNS = {
    "learning_rate": "hps.lr_hparams.initial_value",
    "decay_power": "hps.lr_hparams.power",
    "decay_fraction": "hps.lr_hparams.decay_steps_factor",
    "one_minus_momentum": "hps.opt_hparams.momentum",  # it holds 1 − β, whatever its name says
}
_SHORT_NAMES = {"translate_wmt": "wmt", "xformer_translate": "xformer"}
_CITATION = (
    "Z. Wang, G. E. Dahl, K. Swersky, C. Lee, Z. Nado, J. Gilmer, J. Snoek and Z. Ghahramani. "
    "Pre-trained Gaussian Processes for Bayesian Optimization. JMLR 25, 2024."
)

Stream = tuple[str, str, IO[bytes]]
"""Which file it is, for errors; matched or unmatched; and its lines."""


@dataclass(frozen=True, slots=True)
class TrainingRun:
    """A training run.

    Attributes:
        config: its hyperparameters.
        errors: the validation error at each evaluation, NaN where it is unknown.
        seconds: the time up to each evaluation from the one before.
        steps: the training steps at the last evaluation.
    """

    config: dict[str, float]
    errors: Floats
    seconds: Floats
    steps: float


@dataclass(slots=True)
class Task:
    """A task: what is trained, with which batches.

    Attributes:
        dataset: as in the files.
        model: as in the files.
        activation: as in the files; None where it is fixed.
        batch_size: how many examples a step has.
        runs: one per configuration.
        outside: how many runs have hyperparameters outside of the space, or none.
        twice: how many runs repeat a configuration.
    """

    dataset: str
    model: str
    activation: str | None
    batch_size: int
    runs: dict[tuple[float, ...], TrainingRun] = field(default_factory=dict)
    outside: int = 0
    twice: int = 0

    @property
    def called(self) -> str:
        """The name of the task, as others use it."""
        parts = (self.dataset, self.model, *(() if self.activation is None else (self.activation,)))
        return f"{'_'.join(parts)}_batch_size_{self.batch_size}"

    @property
    def name(self) -> str:
        """The name of the benchmark."""
        parts = (self.dataset, self.model, self.activation or "", str(self.batch_size))
        short = [_SHORT_NAMES.get(part, part).replace("_", "-") for part in parts if part]
        return "-".join(("pd1", *short))

    def add(self, run: TrainingRun) -> None:
        """Add a run; of two runs of a configuration the longer one stays."""
        key = tuple(run.config.values())
        known = self.runs.get(key)
        if known is not None:
            self.twice += 1
        if known is None or len(run.errors) > len(known.errors):
            self.runs[key] = run


# -- reading -----------------------------------------------------------------------------------


def open_files(paths: Sequence[Path], on_progress: Progress | None) -> Iterator[Stream]:
    """The lines of extracted files, compressed or not."""
    sizes = [path.stat().st_size for path in paths]
    for number, path in enumerate(paths):
        kind = RESULTS.fullmatch(path.name)
        before = sum(sizes[:number])
        try:
            with (
                path.open("rb") as raw,
                open_uncompressed(count_reading(raw, sum(sizes), before, on_progress)) as lines,
            ):
                yield str(path), "given" if kind is None else kind[1], lines
        except OSError as error:
            raise damaged(path, error) from error


def open_tar(path: Path, on_progress: Progress | None) -> Iterator[Stream]:
    """The lines of the files wanted in ``pd1.tar.gz``, or in a plain tar file."""
    seen = set()
    try:
        with (
            path.open("rb") as raw,
            open_uncompressed(count_reading(raw, path.stat().st_size, 0, on_progress)) as plain,
        ):
            for tar, member in iterate_members(plain):
                found = RESULTS.fullmatch(member.name.removeprefix("./").removeprefix("pd1/"))
                if found is None:
                    continue  # a README, the first phase, or a path that leads elsewhere
                if not member.isreg() or found[1] in seen:
                    rule = f"{member.name} must be in it once, as a plain file"
                    raise TableError(str(path), Words("a suspicious archive"), rule)
                seen.add(found[1])
                file = tar.extractfile(member)
                assert file is not None  # it is a regular file
                with open_uncompressed(file) as lines:
                    yield f"{path}: {member.name}", found[1], lines
            plain.read(LARGEST_PIECE)  # to the end, where a compressed stream checks its sum
    except DAMAGE as error:
        raise damaged(path, error) from error


def read(streams: Iterable[Stream]) -> tuple[list[Task], list[str]]:
    """The tasks of some files, and which files they were: matched, unmatched."""
    tasks: dict[str, Task] = {}
    kinds, held = [], 0
    for name, kind, lines in streams:
        kinds.append(kind)
        try:
            for number, record in _records(name, lines):
                held += _take(record, f"{name}, line {number}", tasks)
                if held > MOST_VALUES:
                    rule = f"its curves must have at most {MOST_VALUES:,} values"
                    raise TableError(name, Words("not a file of PD1"), rule)
        except DAMAGE as error:
            if isinstance(error, TableError):
                raise  # with itself as its cause it would keep the file open
            raise damaged(name, error) from error
    return list(tasks.values()), kinds


def _records(name: str, lines: IO[bytes]) -> Iterator[tuple[int, dict[str, Any]]]:
    for number in range(1, MOST_RUNS + 1):
        line = lines.readline(LARGEST_PIECE + 1)
        if not line:
            return
        if len(line) > LARGEST_PIECE:
            rule = f"line {number} must have at most {LARGEST_PIECE:,} bytes"
            raise TableError(name, Words("not a file of PD1"), rule)
        if line.isspace():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise malformed(f"{name}, line {number}", error) from None
        if not isinstance(record, dict):
            raise TableError(
                name, Words("not a file of PD1"), f"line {number} must be a JSON object"
            )
        yield number, record
    raise TableError(name, Words("not a file of PD1"), f"it must have at most {MOST_RUNS:,} lines")


def _take(record: dict[str, Any], place: str, tasks: dict[str, Task]) -> int:
    """Add a run to its task; gives the length of its curve."""
    dataset, model = record.get("dataset"), record.get("model")
    batch, activation = record.get("hps.batch_size"), record.get("hps.activation_fn")
    if not isinstance(dataset, str) or not isinstance(model, str):
        raise TableError(place, Words("not a run of PD1"), "it must have its dataset and model")
    if isinstance(batch, float) and batch.is_integer():
        batch = int(batch)  # pandas writes a column with gaps as floats
    if type(batch) is not int or batch < 1 or not isinstance(activation, (str, type(None))):
        rule = "it must have its batch size, and its activation or null"
        raise TableError(place, Words("not a run of PD1"), rule)
    found = Task(dataset, model, activation, batch)
    task = tasks.setdefault(found.called, found)
    try:
        config = SPACE.validate({name: record.get(key) for name, key in _COLUMNS.items()})
    except SpaceError:
        task.outside += 1
        return 0
    where = f"{place}, valid/error_rate"
    errors = parse_floats(record.get("valid/error_rate"), where)
    # An infinite one means that the run diverged.
    errors = clip_to_range(np.where(np.isinf(errors), np.nan, errors), 1, where)
    seconds = parse_floats(record.get("eval_time"), f"{place}, eval_time")
    steps = parse_floats(record.get("global_step"), f"{place}, global_step")
    known = steps[np.isfinite(steps)]  # a diverged run may end in null
    task.add(
        TrainingRun(
            {name: float(config[name]) for name in _COLUMNS},  # type: ignore[arg-type]
            errors,
            seconds[: len(errors)].copy(),  # the rest is not stored
            float(known[-1]) if len(known) else 0.0,
        )
    )
    return len(errors)


# -- making ------------------------------------------------------------------------------------


def make(tasks: Iterable[Task], kinds: Iterable[str], source: Path) -> Iterator[ConvertedBenchmark]:
    """The benchmarks of the tasks that were read."""
    parts = sorted(set(kinds))
    useful: list[Task] = []
    useless: list[Task] = []
    for task in tasks:
        known = any(np.isfinite(run.errors).any() for run in task.runs.values())
        (useful if known else useless).append(task)
    if not useful:
        rule = "it must hold pd1_matched_phase1_results.jsonl.gz and the same unmatched, with runs"
        raise TableError(str(source), Words("without runs of PD1"), rule)
    if sum(max(len(run.errors) for run in t.runs.values()) * len(t.runs) for t in useful) > (
        MOST_VALUES
    ):
        rule = f"its tasks must have at most {MOST_VALUES:,} values"
        raise TableError(str(source), Words("not a source of PD1"), rule)
    by_name = {task.name: task for task in useful}
    if len(by_name) < len(useful):
        rule = f"the names of its {len(useful)} tasks must differ"
        raise TableError(str(source), Words("ambiguous"), rule)
    for name in sorted(by_name):
        yield _benchmark(
            by_name[name], parts, note_left_out(sorted(task.called for task in useless))
        )


def _benchmark(task: Task, parts: list[str], notes: list[str]) -> ConvertedBenchmark:
    runs = list(task.runs.values())
    values = 1 - pad_curves([run.errors for run in runs])
    width = values.shape[1]
    times = [run.seconds for run in runs]
    ends = [len(run.errors) for run in runs]
    # After the end of a run there is no value, so its time is never asked for.
    seconds, filled = fill_seconds(pad_curves([*times, np.zeros(width)])[:-1])
    finished = np.isfinite(values[:, -1])
    if parts != ["matched", "unmatched"]:
        notes.append(f"only the {' and '.join(parts) or 'given'} results: the others are missing")
    if task.outside:
        notes.append(f"{task.outside:,} runs outside of the space are left out")
    card = Card(
        name=task.name,
        title=f"PD1: {task.model} on {task.dataset}, batches of {task.batch_size}",
        description=(
            f"The optimiser of {task.model} on {task.dataset} with batches of {task.batch_size}"
            + (f" and {task.activation}" if task.activation else "")
            + ": learning rate, its decay, and momentum. The accuracy is 1 − valid/error_rate."
        ),
        metric="validation accuracy",
        goal="max",
        resource="evaluation (the paper's epoch)",
        unit_seconds="eval_time of each evaluation, as measured by the authors",
        seeds=(0,),
        licence="CC-BY-4.0",
        source="PD1, phase 1, matched and unmatched",
        citation=_CITATION,
        created=today(),
        details={
            "task": task.called,
            "dataset": task.dataset,
            "model": task.model,
            "activation": task.activation,
            "batch_size": task.batch_size,
            "steps": max(run.steps for run in runs),
            "parts": parts,
            "surrogate": "1-nn",  # how the paper asks for configurations that are not in it
            "notes": notes,
        },
        checks={
            "runs_outside_the_space": task.outside,
            "runs_that_repeat_a_configuration": task.twice,
            "runs_without_a_value": sum(not np.isfinite(row).any() for row in values),
            "runs_that_ended_early": int(sum(0 < end < width for end in ends)),
            "finished": int(finished.sum()),
            "units_with_usual_seconds": filled - int(sum(width - end for end in ends)),
            "best_final": float(values[finished, -1].max()) if finished.any() else None,
        },
        space=SPACE.to_json(),
    )
    return ConvertedBenchmark(
        card=card,
        values=values[None],
        seconds=drop_equal_axes(seconds[None]),
        configs=[run.config for run in runs],
    )
