"""An engine as text, and its curves as bytes: what a snapshot holds.

A state is used only by the very code that has written it (:func:`compute_layout`): a version that
decides differently, or keeps its state in another way, replays the log and writes its own.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
import sys
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

from rungwise import core, rankings, schedulers, searchers
from rungwise._version import __version__
from rungwise.core.decisions import Job
from rungwise.core.engine import Engine
from rungwise.core.study import Study
from rungwise.core.trials import State, Trial
from rungwise.errors import SchemaError
from rungwise.storage import codec
from rungwise.storage.object_graphs import PLAIN, GraphReader, GraphWriter, name_class

_PURE = (core, schedulers, rankings, searchers)
_OURS = tuple(f"{package.__name__}." for package in _PURE[:3])
_HEAD = struct.Struct("<q")


@cache
def _digest_code() -> str:
    """The digest of the code of rungwise whose state is stored."""
    digest = hashlib.sha256(f"{__version__} {sys.byteorder} {sys.version_info}".encode())
    for package in _PURE:
        for path in sorted(Path(package.__path__[0]).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


@cache
def _digest_module(name: str) -> str:
    path = getattr(sys.modules.get(name), "__file__", None)
    try:
        return hashlib.sha256(Path(str(path)).read_bytes()).hexdigest()
    except OSError as error:  # of a notebook, for example
        raise SchemaError(f"the code of the module {name} cannot be read: {error}") from None


def compute_layout(study: Study) -> str:
    """The digest of the code whose state is stored, the user's own modules among it.

    Raises:
        SchemaError: the study uses code that has no file, so that a change would not be noticed.
    """
    modules = sorted(each for each in _list_modules(study) if not each.startswith("rungwise."))
    return " ".join([_digest_code(), *map(_digest_module, modules)])


# -- curves ------------------------------------------------------------------------------------


def pack_points(trials: Sequence[Trial], lengths: list[int]) -> bytes:
    """The points of all curves beyond given lengths, which become those of now."""
    lengths += [0] * (len(trials) - len(lengths))
    numbers, counts = array("q"), array("q")
    resources, losses = array("d"), array("d")
    for trial in trials:
        start, end = lengths[trial.id], len(trial.losses)
        if end > start:
            numbers.append(trial.id)
            counts.append(end - start)
            resources.extend(trial.resources[start:end])
            losses.extend(trial.losses[start:end])
            lengths[trial.id] = end
    parts = (numbers, counts, resources, losses)
    return _HEAD.pack(len(numbers)) + b"".join(part.tobytes() for part in parts)


Curve = tuple["array[float]", "array[float]"]
"""The resources that a trial has reported, and its losses there."""


def unpack_points(data: bytes, curves: Sequence[Curve]) -> None:
    """Add the points that :func:`pack_points` wrote to the curves of trials, by their numbers."""
    (count,) = _HEAD.unpack_from(data)
    numbers, counts = array("q"), array("q")
    place = _HEAD.size
    for part in (numbers, counts):
        part.frombytes(data[place : place + 8 * count])
        place += 8 * count
    rest = memoryview(data)[place:]
    resources, losses = rest[: len(rest) // 2], rest[len(rest) // 2 :]
    place = 0
    for number, points in zip(numbers, counts, strict=True):
        end = place + 8 * points
        curves[number][0].frombytes(resources[place:end])
        curves[number][1].frombytes(losses[place:end])
        place = end


# -- everything else ---------------------------------------------------------------------------


def engine_to_text(engine: Engine, clock: float, *, arrays: bool = True) -> str:
    """An engine without its curves.

    Args:
        engine: the engine, between two events.
        clock: where the clock of the study stands.
        arrays: see :class:`GraphWriter`.

    Raises:
        SchemaError: its scheduler keeps something that cannot be stored.
    """
    try:
        return _to_text(engine, clock, arrays=arrays)
    except (TypeError, ValueError, LookupError, AttributeError, RecursionError) as error:
        # Of a scheduler of the user's own: a set that has no order, or a chain of many objects.
        raise SchemaError(f"its state cannot be stored: {error}") from error


def _to_text(engine: Engine, clock: float, *, arrays: bool) -> str:
    allowed = partial(_is_allowed, study=engine.study)
    writer = GraphWriter(engine.trials, allowed, arrays=arrays)
    trials, jobs = engine.trials, engine.jobs
    document = {
        "study": codec.study_to_json(engine.study),
        "clock": clock,
        "trials": {
            "config": [_write_config(writer, trial.config) for trial in trials],
            "state": [trial.state.value for trial in trials],
            **{name: [getattr(trial, name) for trial in trials] for name in _OF_TRIALS},
        },
        "lengths": [len(trial.losses) for trial in trials],
        "jobs": {name: [getattr(job, name) for job in jobs] for name in _OF_JOBS},
        "proposals": engine.proposals.take_state(),
        "engine": {name: writer.write(value) for name, value in engine.take_state().items()},
    }
    return json.dumps({**document, "nodes": writer.nodes})


def digest_engine(engine: Engine, clock: float) -> str:
    """A digest that two engines in the same state have in common."""
    digest = hashlib.sha256(engine_to_text(engine, clock, arrays=False).encode())
    digest.update(pack_points(engine.trials, []))
    return digest.hexdigest()


def engine_from_text(
    text: str, study: Study, chunks: Iterable[bytes], types: Sequence[type] = ()
) -> tuple[Engine, float, list[int]]:
    """The engine, where the clock of its study stands, and the lengths of its curves.

    Args:
        text: what :func:`engine_to_text` wrote.
        study: the study as it began.
        chunks: what :func:`pack_points` wrote, in order.
        types: recipes, rankings and searchers beyond those of rungwise.

    Raises:
        SchemaError: it cannot be read; other errors are possible if someone else wrote it.
    """
    document = json.loads(text)
    held = document["study"]
    if held != json.loads(json.dumps(codec.study_to_json(study))):
        study = codec.study_from_json(held, types=types)
    engine = Engine(study)
    trials: list[Trial] = []
    reader = GraphReader(document["nodes"], trials, partial(_find_class, study=study))
    configs = [
        reader.read(config) if isinstance(config, list) else config
        for config in document["trials"]["config"]
    ]
    curves: list[Curve] = [(array("d"), array("d")) for _ in configs]
    for chunk in chunks:
        unpack_points(chunk, curves)
    if document["lengths"] != [len(losses) for _, losses in curves]:
        raise SchemaError("curves are missing")
    trials.extend(_make_trials(document["trials"], configs, curves))
    if not all(map(_is_consistent, trials)):
        raise SchemaError("a trial is not what its reports say")
    columns = [_take_column(document["jobs"], *each) for each in _OF_JOBS.items()]
    rows = enumerate(zip(*columns, strict=True))
    if not set(columns[0]) <= set(range(len(trials))):
        raise SchemaError("a job is of no trial")
    jobs = [Job(n, of, trials[of].config, start, until) for n, (of, start, until) in rows]
    state = {name: reader.read(value) for name, value in document["engine"].items()}
    _check_types(state, engine.take_state())
    if not state["timeline"].has_jobs(len(jobs)):
        raise SchemaError("the times of jobs are missing")
    engine.restore_state(trials, jobs, state)
    engine.proposals.restore_state(document["proposals"])
    engine.why()  # now, rather than where it is printed, if it cannot be said
    return engine, float(document["clock"]), document["lengths"]


_OF_TRIALS: Mapping[str, tuple[type, ...]] = {
    "bracket": (int,),
    "until": (int, float),
    "resource": (int, float),
    "note": (str,),
}
_OF_JOBS: Mapping[str, tuple[type, ...]] = {
    "trial": (int,),
    "start": (int, float),
    "until": (int, float),
}
_OPTIONAL: Mapping[str, type] = {"ended": str, "best": Trial}


def _is_consistent(trial: Trial) -> bool:
    """Whether what is stored of a trial fits its curve."""
    last = trial.resources[-1] if trial.resources else 0
    return type(trial.config) is dict and trial.resource == last and math.isfinite(trial.until)


def _take_column(columns: Mapping[str, Any], name: str, kinds: tuple[type, ...]) -> list[Any]:
    """A column, of what it must be."""
    column = columns[name]
    if type(column) is not list or not set(map(type, column)) <= set(kinds):
        raise SchemaError(f"{name} is of another type")
    return column


def _check_types(state: Mapping[str, Any], fresh: Mapping[str, Any]) -> None:
    """Every part of a state is what it is in a new engine."""
    for name, value in state.items():
        kind, found = type(fresh[name]), type(value)
        same = found is kind or {found, kind} <= {int, float}
        if not same and not (name in _OPTIONAL and found in (type(None), _OPTIONAL[name])):
            raise SchemaError(f"{name} is of another type")


def _make_trials(
    columns: Mapping[str, Any], configs: Sequence[Any], curves: Sequence[Curve]
) -> Iterator[Trial]:
    states = {state.value: state for state in State}
    found = [_take_column(columns, *each) for each in _OF_TRIALS.items()]
    rows = zip(configs, curves, columns["state"], *found, strict=True)
    for number, (config, curve, state, bracket, *rest) in enumerate(rows):
        until, resource, note = rest
        known = {"state": states[state], "until": until, "resource": resource, "note": note}
        yield Trial.recall(number, config, bracket, **known, curve=curve)


def _write_config(writer: GraphWriter, config: Mapping[str, Any]) -> Any:
    plain = all(type(value) in PLAIN for value in config.values())
    return dict(config) if plain else writer.write(dict(config))


def _list_modules(study: Study) -> set[str]:
    """The modules of a study's own classes: those of its scheduler may be there as well."""
    return {kind.__module__ for kind in codec.list_study_types(study)}


def _is_allowed(kind: type, study: Study) -> bool:
    module = kind.__module__
    return module.startswith(_OURS) or module in _list_modules(study)


def _find_class(name: str, study: Study) -> type:
    module, _, path = name.partition(":")
    found: Any = sys.modules.get(module)
    if found is None or not (module.startswith(_OURS) or module in _list_modules(study)):
        raise SchemaError(f"no state holds objects of {name}")
    for part in path.split("."):
        found = vars(found)[part]
    if not isinstance(found, type) or name_class(found) != name:
        raise SchemaError(f"{name} is no class of a state")
    return found
