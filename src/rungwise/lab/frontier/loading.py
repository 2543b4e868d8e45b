"""The tables of a comparison: installed benchmarks, and files of curves in a folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rungwise.benchmarks import catalog, store
from rungwise.benchmarks.benchmark import Benchmark
from rungwise.benchmarks.card import Card
from rungwise.errors import InvalidArgumentError, TableError, Words
from rungwise.lab.sources import curve_files


@dataclass(frozen=True, slots=True)
class Loader:
    """Loads benchmarks by name; it can be sent to another process.

    Attributes:
        folder: a folder of ``.npz`` files with learning curves; empty for none.
    """

    folder: str = ""

    def load(self, name: str) -> Benchmark:
        """A file of the folder, or else an installed benchmark."""
        path = Path(self.folder, f"{name}.npz")
        if self.folder and path.is_file():
            made = curve_files.read(path)
            return Benchmark.from_arrays(
                made.card, values=made.values, seconds=made.seconds, final=made.final
            )
        return catalog.load(name)

    def find_cards(self, names: tuple[str, ...]) -> dict[str, Card]:
        """The cards of the benchmarks with these names; of all there are, if none is given."""
        files = {path.stem: path for path in self._list_files()}
        if names:
            installed = [name for name in names if name not in files]
            chosen = [name for name in names if name in files]
        else:
            installed = [name for name in catalog.cards() if name not in files]
            chosen = list(files)
        cards = {name: store.read_card(catalog.find(name).folder, name) for name in installed}
        cards |= {name: self.load(name).card for name in chosen}
        if not cards:
            rule = "it must contain at least one: convert one with `rungwise benchmark convert`"
            raise TableError("data folder", str(catalog.data_folder()), rule)
        return {name: cards[name] for name in (*names, *cards) if name in cards}

    def _list_files(self) -> list[Path]:
        if not self.folder:
            return []
        folder = Path(self.folder)
        if not folder.is_dir():
            raise InvalidArgumentError("curves", self.folder, "it must be a folder")
        files = [path for path in sorted(folder.glob("*.npz")) if curve_files.is_curve_file(path)]
        if not files:
            rule = "at least one .npz file in it must have the arrays curves, final and better"
            raise TableError(str(folder), Words("a folder without such files"), rule)
        return files
