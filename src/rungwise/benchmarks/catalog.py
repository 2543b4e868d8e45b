"""The installed benchmarks: those of the package, and those in the data folder."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from rungwise.benchmarks import store
from rungwise.benchmarks.benchmark import Benchmark
from rungwise.benchmarks.card import Card
from rungwise.errors import TableError

PACKAGED = Path(__file__).parent / "recorded"
"""The tables that come with the package."""

VARIABLE = "RUNGWISE_DATA"
"""The environment variable that says where the data folder is."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a benchmark lies.

    Attributes:
        name: which one.
        folder: where its files are.
        packaged: whether it came with the package.
    """

    name: str
    folder: Path
    packaged: bool


def data_folder() -> Path:
    """Where converted and fetched benchmarks are kept; it need not exist yet."""
    chosen = os.environ.get(VARIABLE)
    try:
        if chosen:
            return Path(chosen).expanduser()
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Application Support" / "rungwise"
        # The base directory specification says that a relative path is to be ignored.
        shared = Path(os.environ.get("XDG_DATA_HOME", ""))
        return (shared if shared.is_absolute() else Path.home() / ".local" / "share") / "rungwise"
    except RuntimeError as error:  # no such user, or no HOME
        rule = f"it must name the data folder, since there is none by default ({error})"
        raise TableError(VARIABLE, chosen, rule) from None


def places() -> tuple[Place, ...]:
    """Every benchmark that has both of its files, by name; a name may be there twice."""
    found = [
        Place(path.stem, folder, packaged)
        for folder, packaged in _folders()
        for path in _cards(folder)
        if path.with_suffix(".npz").is_file()
    ]
    return tuple(sorted(found, key=lambda place: (place.name, not place.packaged)))


def _folders() -> list[tuple[Path, bool]]:
    """Where to look, and whether that is in the package."""
    try:
        return [(PACKAGED, True), (data_folder(), False)]
    except TableError:  # a user without a home can still use what comes with the package
        return [(PACKAGED, True)]


def _cards(folder: Path) -> list[Path]:
    try:
        return list(folder.glob("*.json")) if folder.is_dir() else []
    except OSError:  # it may lie in a folder that we must not look into
        return []


def names() -> tuple[str, ...]:
    """The names of the installed benchmarks."""
    return tuple(dict.fromkeys(place.name for place in places()))


def find(name: str) -> Place:
    """Where a benchmark lies."""
    return _only(name, places())


def _only(name: str, everywhere: tuple[Place, ...]) -> Place:
    """The one place of a benchmark."""
    found = [place for place in everywhere if place.name == name]
    if len(found) > 1:
        rule = (
            f"two benchmarks have this name, one of the package and one in {found[1].folder}: "
            "rename or remove that one"
        )
        raise TableError("benchmark", name, rule)
    if not found:
        listed = ", ".join(dict.fromkeys(place.name for place in everywhere)) or "none"
        rule = (
            f"there is no benchmark of this name; installed: {listed}; to get more: `rungwise "
            f"benchmark fetch` or `rungwise benchmark convert`; if they are in another folder than "
            f"{data_folder()}, set {VARIABLE}"
        )
        raise TableError("benchmark", name, rule)
    return found[0]


def load(name: str) -> Benchmark:
    """The benchmark of this name.

    Args:
        name: one of :func:`names`.
    """
    return store.read(find(name).folder, name)


def cards() -> dict[str, Card]:
    """The data card of every installed benchmark."""
    everywhere = places()
    alone = [_only(place.name, everywhere) for place in everywhere]
    return {place.name: store.read_card(place.folder, place.name) for place in alone}
