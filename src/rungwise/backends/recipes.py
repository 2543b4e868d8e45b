"""Backends as values: where a study's jobs run, and on how many workers.

A recipe is a frozen dataclass of plain JSON, kept in the study file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rungwise.options import (
    check_modules,
    check_not_negative,
    check_options,
    make_count_check,
    option,
)


@dataclass(frozen=True, slots=True)
class Local:
    """Worker processes on this machine.

    Args:
        workers: number of configurations trained at the same time; "auto": one per GPU, or one per
            processor where there is no GPU.
        gpus_per_worker: GPUs for each worker; a fraction lets several workers share one GPU.
        preload: modules that workers import before their first job.
    """

    workers: int | Literal["auto"] = option(
        "auto",
        text='number of configurations trained at the same time; "auto": one per GPU, or one per '
        "processor where there is no GPU.",
        check=make_count_check(1, "auto"),
        kind=int,
        words=("auto",),
    )
    gpus_per_worker: float | None = option(
        None,
        text="GPUs for each worker; a fraction lets several workers share one GPU.",
        check=check_not_negative,
        kind=float,
    )
    preload: Sequence[str] = option(
        (),
        text="modules that workers import before their first job.",
        check=check_modules,
        repeatable=True,
        metavar="MODULE",
    )

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True, slots=True)
class Threads:
    """Threads of this process: for training that releases the GIL, and for quick tests.

    Args:
        workers: number of configurations trained at the same time; "auto": one per processor.
    """

    workers: int | Literal["auto"] = option(
        "auto",
        text='number of configurations trained at the same time; "auto": one per processor.',
        check=make_count_check(1, "auto"),
        kind=int,
        words=("auto",),
    )

    def __post_init__(self) -> None:
        check_options(self)
