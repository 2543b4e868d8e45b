"""What a file or folder is: seen from its content, not from its name alone."""

from __future__ import annotations

import bz2
import gzip
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from rungwise.errors import TableError, Words
from rungwise.lab.sources import curve_files, lcbench, nats, pd1
from rungwise.lab.sources.conversion import ConvertedBenchmark, Progress
from rungwise.lab.sources.source_errors import DAMAGE, damaged

Maker = Callable[[Progress | None, int], Iterator[ConvertedBenchmark]]

WANTED = (
    "NAS-Bench-201 (the folder NATS-tss-v1_0-3ffb9-simple, or its tar file), PD1 (pd1.tar.gz, or "
    "the folder in it), LCBench (data_2k_lw.json or data_2k.json, plain or zipped, or the folder "
    "of its arrays), or .npz files with the arrays curves, final and better"
)
"""What can be converted."""

_NAMES = ("pd1.tar.gz", "data_2k.zip", "data_2k_lw.zip", *lcbench.MEMBERS)
_HEAD = 4096


@dataclass(frozen=True, slots=True)
class Source:
    """Something that can be converted.

    Attributes:
        what: which benchmark it is.
        make: reads it and gives the benchmarks in it.
    """

    what: str
    make: Maker


def recognise(path: Path) -> list[Source]:
    """What is at a path: one source, or several in a folder.

    Raises:
        TableError: there is nothing that can be converted.
    """
    try:
        if path.is_dir():
            # Archives are often unpacked into a folder of their own.
            folders = [path, *sorted(child for child in path.iterdir() if child.is_dir())]
            sources = [source for folder in folders for source in _folder(folder)]
            # Of two forms of a benchmark the first is read.
            found = list({source.what: source for source in reversed(sources)}.values())[::-1]
        elif path.is_file():
            found = [_file(path)]
        elif path.exists():
            raise TableError(str(path), Words("a device or pipe"), "it must be a file or folder")
        else:
            raise TableError(str(path), Words("missing"), "the file or folder must exist")
    except DAMAGE as error:
        raise damaged(path, error) from error
    if not found:
        single = [child for child in path.iterdir() if _is_single(child)]
        raise nats.refuse_single_file(single[0]) if single else _strange(path)
    return found


def _folder(folder: Path) -> list[Source]:
    names = {child.name for child in folder.iterdir()}
    found = []
    if any(nats.MEMBER.fullmatch(name) for name in names):
        found.append(
            Source(
                "NAS-Bench-201",
                lambda on_progress, workers: nats.make(
                    nats.read_folder(folder, workers=workers, on_progress=on_progress), folder
                ),
            )
        )
    results = _results(folder, names)
    if results:
        found.append(_lines(results, folder))
    found += [source for name in sorted(names) for source in _find_named(folder / name)]
    if lcbench.ARRAYS[0] in names:  # after the original, which has more
        found.append(_arrays(folder))
    curves = [folder / name for name in sorted(names) if curve_files.is_curve_file(folder / name)]
    if curves:
        found.append(_curves(f"curves in {folder.name}", curves))
    return found


def _results(folder: Path, names: set[str]) -> list[Path]:
    """The result files of PD1, each once, matched before unmatched."""
    chosen: dict[str, Path] = {}
    for name in sorted(names):  # the compressed one comes last, and is read
        found = pd1.RESULTS.fullmatch(name)
        if found is not None:
            chosen[found[1]] = folder / name
    return [chosen[kind] for kind in sorted(chosen)]


def _find_named(path: Path) -> list[Source]:
    """A file of a well-known name in a folder; others are not looked into."""
    known = path.name in _NAMES or (path.name.startswith("NATS-tss-") and not _is_single(path))
    return [_file(path)] if known and path.is_file() else []


def _is_single(path: Path) -> bool:
    """Whether a name is that of the one pickle of all architectures."""
    return path.name.startswith("NATS-tss-") and path.name.endswith(".pbz2")


def _file(path: Path) -> Source:
    """A file, by its first bytes."""
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if head.startswith(b"BZh"):
        _refuse_pickle(path)
    if head.startswith(b"\x1f\x8b"):
        with gzip.open(path) as stream:
            inner = stream.read(_HEAD)
        return _tar(path) if _is_tar(inner) else _text(path, inner)
    if _is_tar(head):
        return _tar(path)
    if zipfile.is_zipfile(path):
        return _zip(path)
    return _text(path, head)


def _refuse_pickle(path: Path) -> NoReturn:
    """Refuse one pickle of NAS-Bench-201: it is one architecture, or all in one."""
    if nats.MEMBER.fullmatch(path.name):
        rule = "give the folder of all of them"
        raise TableError(str(path), Words("one architecture of NAS-Bench-201"), rule)
    with bz2.open(path) as stream:
        pickled = stream.read(1) == b"\x80"
    raise nats.refuse_single_file(path) if pickled else _strange(path)


def _is_tar(head: bytes) -> bool:
    return head[257:262] == b"ustar"


def _tar(path: Path) -> Source:
    """A tar file: that of PD1 is compressed, that of NATS-Bench is not, but its members are."""
    with path.open("rb") as file:
        plain = _is_tar(file.read(_HEAD))
    if plain and not _holds_results(path):
        return Source(
            "NAS-Bench-201",
            lambda on_progress, workers: nats.make(
                nats.read_tar(path, workers=workers, on_progress=on_progress), path
            ),
        )
    return Source(
        "PD1",
        lambda on_progress, _workers: pd1.make(*pd1.read(pd1.open_tar(path, on_progress)), path),
    )


def _holds_results(path: Path) -> bool:
    return any(True for _ in pd1.open_tar(path, None))


def _curves(what: str, paths: list[Path]) -> Source:
    return Source(what, lambda _on_progress, _workers: curve_files.make(paths))


def _zip(path: Path) -> Source:
    if curve_files.is_curve_file(path):
        return _curves(path.stem, [path])
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    if any(name in lcbench.MEMBERS for name in names):
        return _json(path)
    if path.name in lcbench.ARRAYS:
        return _arrays(path.parent)
    raise _strange(path)


def _text(path: Path, head: bytes) -> Source:
    """A JSON text: runs of PD1 hold texts and numbers, data sets of LCBench hold objects."""
    begin = head.lstrip()
    if not begin.startswith(b"{") or b"".join(head.split()) == b"{}":
        raise _strange(path)
    value = begin.partition(b":")[2].lstrip()
    if value.startswith(b"{") and not head.startswith(b"\x1f\x8b"):
        return _json(path)
    # The matched and the unmatched runs belong together.
    siblings = _results(path.parent, {child.name for child in path.parent.iterdir()})
    return _lines(siblings if path in siblings else [path], path)


def _lines(paths: list[Path], source: Path) -> Source:
    return Source(
        "PD1",
        lambda on_progress, _workers: pd1.make(
            *pd1.read(pd1.open_files(paths, on_progress)), source
        ),
    )


def _json(path: Path) -> Source:
    return Source(
        "LCBench", lambda on_progress, _workers: lcbench.make(lcbench.read(path, on_progress), path)
    )


def _arrays(folder: Path) -> Source:
    return Source("LCBench", lambda _on_progress, _workers: lcbench.make_from_arrays(folder))


def _strange(path: Path) -> TableError:
    return TableError(str(path), Words("in an unknown format"), f"it must be {WANTED}")
