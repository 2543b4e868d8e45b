"""Public benchmarks: reading them in their own formats, and getting them.

Each source is read in one pass with little memory, trusted with nothing, and becomes benchmarks in
the format of :mod:`rungwise.benchmarks.store`:

=================  ==================================================================
``nats``           NAS-Bench-201 from the files of NATS-Bench
``pd1``            PD1
``lcbench``        LCBench: the original, and arrays of a part of it
``recognising``    which of them a file or folder is
``fetching``       where they can be had, and downloads that go on where they ended
=================  ==================================================================
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from rungwise.benchmarks.catalog import data_folder
from rungwise.errors import InvalidArgumentError, TableError, Words
from rungwise.lab.sources.conversion import Progress
from rungwise.lab.sources.detect import recognise
from rungwise.lab.sources.download import KNOWN, FetchError, Known, fetch
from rungwise.validation import whole

__all__ = ["KNOWN", "FetchError", "Known", "convert", "fetch"]


def convert(
    source: str | PathLike[str],
    *,
    into: str | PathLike[str] | None = None,
    on_progress: Progress | None = None,
    workers: int = 1,
) -> list[str]:
    """Convert a public benchmark into the format that :func:`rungwise.benchmarks.load` reads.

    Nothing is written unless all of the source could be read.

    Args:
        source: a file or folder; what it is, is seen from its content.
        into: the folder to write to; the data folder by default.
        on_progress: is told how much is read, of how much in all: files, or mebibytes.
        workers: how many processes read a folder of many files.

    Returns:
        The names of the benchmarks that were made.
    """
    folder = data_folder() if into is None else Path(into)
    whole("workers", workers, at_least=1)
    try:
        made = [
            benchmark
            for found in recognise(Path(source))
            for benchmark in found.make(on_progress, workers)
        ]
    except MemoryError:
        rule = "this machine has too little memory for it"
        raise TableError(str(source), Words("too large"), rule) from None
    except InvalidArgumentError as error:
        if str(source) in str(error):
            raise
        told = Words(f"a source whose {error.argument} is {error.value!r}"[:200])
        raise TableError(str(source), told, error.rule) from error
    try:
        return [benchmark.install(folder) for benchmark in made]
    except OSError as error:
        raise TableError(
            str(folder), Words("no folder to write to"), f"the system says: {error}"
        ) from error
