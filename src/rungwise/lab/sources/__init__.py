"""Public benchmarks: reading them in their own formats, and downloading them.

Each source is read in one pass with little memory, nothing in it is trusted, and it becomes
benchmarks in the format of :mod:`rungwise.benchmarks.store`:

=================  ==================================================================
``nats``           NAS-Bench-201 from the files of NATS-Bench
``pd1``            PD1
``lcbench``        LCBench: the original, and arrays of a part of it
``curve_files``    plain ``.npz`` files of learning curves
``detect``         which of them a file or folder is
``download``       where they are, and downloads that resume
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
        on_progress: is called with how much is read, and of how much in all: files, or mebibytes.
        workers: how many processes read the many files of NAS-Bench-201.

    Returns:
        The names of the benchmarks that were made.
    """
    folder = data_folder() if into is None else Path(into)
    whole("workers", workers, at_least=1)
    try:
        made = [
            benchmark
            for form in recognise(Path(source))
            for benchmark in form.make(on_progress, workers)
        ]
    except MemoryError:
        rule = "this machine has too little memory for it"
        raise TableError(str(source), Words("too large"), rule) from None
    except InvalidArgumentError as error:
        if str(source) in str(error):
            raise
        raise TableError(f"{source}: {error.argument}", error.value, error.rule) from error
    try:
        return [benchmark.install(folder) for benchmark in made]
    except OSError as error:
        raise TableError(str(folder), Words("not writable"), f"the system says: {error}") from error
