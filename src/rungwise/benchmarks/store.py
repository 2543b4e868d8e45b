"""Benchmarks on disk: the pair of files ``NAME.npz`` (arrays) and ``NAME.json`` (the card).

::

    values    [seeds, rows, resources]   the learning curves, see encoding.py
    seconds   (), [rows], [seeds, rows] or [seeds, rows, resources]
    final     [seeds, rows]              what is reported after full training; optional
    configs   a JSON list of objects     the configuration of each row; optional
    names     a JSON list of texts       a name for each row; optional

The arrays are those of any ``.npz`` file (``np.load`` reads them), the same arguments give the same
bytes, nothing is pickled, and a file appears whole or not at all.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike, NDArray

from rungwise.benchmarks import encoding, json_arrays, npz
from rungwise.benchmarks.arrays import Arrays, check_seconds, make_arrays, validate_configs
from rungwise.benchmarks.benchmark import Benchmark
from rungwise.benchmarks.card import Card, check_name
from rungwise.errors import InvalidArgumentError, TableError, Words
from rungwise.validation import must_be

ATTEMPTS, PAUSE = 3, 0.02
"""How often, after how many seconds, a pair of files is read that does not fit together."""

STALE = 3600
"""After so many seconds no process is still writing a file."""

CARD_LIMIT = 16 * 2**20
"""The most bytes of a card."""


def write(
    folder: str | PathLike[str],
    card: Card,
    *,
    values: ArrayLike,
    seconds: ArrayLike,
    final: ArrayLike | None = None,
    configs: Sequence[Mapping[str, Any]] | None = None,
    names: Sequence[str] | None = None,
    quantum: float | None = None,
    final_quantum: float | None = None,
) -> Path:
    """Write a benchmark; gives the path of its ``.npz`` file.

    Args:
        folder: where to; it is created if it does not exist.
        card: what is known about it; rows, resources, encoding and checksum are filled in.
        values: the curves [seeds, rows, resources], NaN where a run ended early or diverged.
        seconds: how long a unit of resource takes: one number, [rows], [seeds, rows] or [seeds,
            rows, resources].
        final: what is reported after full training [seeds, rows]; the last value if not given.
        configs: the configuration of each row.
        names: a name for each row.
        quantum: store values as multiples of this, to the nearest one, in 16 bits (for accuracies
            over 10,000 images 1/10000, which loses nothing); as 32-bit floats if not given.
        final_quantum: the same for ``final``.
    """
    must_be("card", card, Card, "a rungwise.benchmarks.Card")
    arrays = make_arrays(
        card, values=values, seconds=seconds, final=final, configs=configs, names=names
    )
    stored, forms = _encode(arrays, {"values": quantum, "final": final_quantum})
    content = npz.pack_arrays(stored)
    _, rows, resources = arrays.values.shape
    card = replace(
        card,
        rows=rows,
        resources=resources,
        encoding=forms,
        sha256=hashlib.sha256(content).hexdigest(),
    )
    arrays.check(card)
    document = card.to_bytes()
    where = Path(folder)
    where.mkdir(parents=True, exist_ok=True)
    path = where / f"{card.name}.npz"
    _put({path: content, path.with_suffix(".json"): document})
    return path


def read(folder: str | PathLike[str], name: str) -> Benchmark:
    """Read a benchmark, checked against its card."""
    path = Path(folder) / f"{check_name(name)}.npz"
    for attempt in range(ATTEMPTS):
        card = read_card(folder, name)
        content = npz.read_file(path, npz.LIMIT)
        found = hashlib.sha256(content).hexdigest()
        if found == card.sha256:
            break
        if attempt < ATTEMPTS - 1:  # another process may be between the two files
            time.sleep(PAUSE)
    else:
        what = Words(f"a file of {len(content):,} bytes with the SHA-256 {found}")
        rule = f"{name}.json says {card.sha256}: it is damaged, or of another version"
        raise TableError(str(path), what, rule)
    stored = npz.unpack_arrays(path, content)
    try:
        return Benchmark(card, _decode(card, stored))
    except InvalidArgumentError as error:
        raise _add_path(path, error) from error


def read_card(folder: str | PathLike[str], name: str) -> Card:
    """Read the card of a benchmark."""
    path = Path(folder) / f"{check_name(name)}.json"
    text = npz.read_file(path, CARD_LIMIT)
    try:
        card = Card.from_json(json.loads(text.decode()))
    except InvalidArgumentError as error:
        raise _add_path(path, error) from error
    except (ValueError, RecursionError) as error:
        raise TableError(str(path), Words("not JSON"), "a data card must be JSON") from error
    if card.name != name:
        rule = "the card and its file must have the same name"
        raise TableError(str(path), Words(f"the card of {card.name!r}"), rule)
    return card


def _encode(
    arrays: Arrays, quanta: Mapping[str, float | None]
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """What is stored, in the order of the file, and how it is to be read."""
    stored: dict[str, NDArray[Any]] = {}
    forms: dict[str, Any] = {}
    for name in ("values", "seconds", "final"):
        array = getattr(arrays, name)
        if array is not None:
            stored[name], forms[name] = encoding.encode(name, array[...], quanta.get(name))
    if arrays.configs is not None:
        stored["configs"] = json_arrays.pack_configs(arrays.configs)
    if arrays.names is not None:
        stored["names"] = json_arrays.pack_json("names", list(arrays.names))
    return stored, forms


def _decode(card: Card, stored: Mapping[str, NDArray[Any]]) -> Arrays:
    """The arrays behind what is stored."""
    for name in ("values", "seconds"):
        if name not in stored:
            raise TableError("list of arrays", sorted(stored), f"it must have {name!r}")
    for name in stored:
        if name not in ("values", "seconds", "final", "configs", "names"):
            raise TableError("array", name, "a benchmark has no array of this name")
    numbers = {
        name: encoding.decode(name, stored[name], card.encoding.get(name))
        for name in ("values", "seconds", "final")
        if name in stored
    }
    found = Arrays(numbers["values"], numbers["seconds"], numbers.get("final"))
    found.check(card)  # before its number of rows is relied on
    check_seconds(found.seconds[...])
    configs = None
    if "configs" in stored:
        configs = validate_configs(
            card.search_space(), json_arrays.unpack_configs(stored["configs"], card.rows)
        )
    return replace(found, configs=configs, names=_names(stored.get("names")))


def _names(stored: NDArray[Any] | None) -> tuple[str, ...] | None:
    if stored is None:
        return None
    names = json_arrays.unpack_json("names", stored)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise TableError("names", names, "it must be a list of texts")
    return tuple(names)


def _add_path(path: Path, error: InvalidArgumentError) -> TableError:
    """An error with the file that it is in."""
    return TableError(f"{path}: {error.argument}", error.value, error.rule)


def _put(files: Mapping[Path, bytes]) -> None:
    """Write files beside their places, then move them there: each is whole or not there."""
    beside = {path: path.with_name(f".{path.name}.{secrets.token_hex(4)}.part") for path in files}
    try:
        for path, content in files.items():
            with beside[path].open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        # All at once, so that there is hardly a time with files that do not fit together.
        for path, part in beside.items():
            part.replace(path)
    finally:
        for path, part in beside.items():
            part.unlink(missing_ok=True)
            _sweep(path)


def _sweep(path: Path) -> None:
    """Remove what a process that was killed left beside a file."""
    old = time.time() - STALE
    for part in path.parent.glob(f".{path.name}.????????.part"):
        with suppress(OSError):  # another process may do the same
            if part.stat().st_mtime < old:
                part.unlink()
