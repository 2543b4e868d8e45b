"""Worker processes on this machine: fresh interpreters that live as long as the study.

What a job does to its process, a crash, a leak or a kill, reaches no other job and not the tuner.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from rungwise.backends import hardware
from rungwise.backends.base import PreparedBackend, Workplace, workers_option
from rungwise.backends.processes import ProcessLauncher, Watchdog
from rungwise.backends.shipping import check_function, pack
from rungwise.backends.workers import WorkerBackend
from rungwise.errors import WorkerStartError
from rungwise.options import (
    check_modules,
    check_not_negative,
    check_options,
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

    Example:
        >>> Local(workers=4, preload=["torch"])
        Local(workers=4, gpus_per_worker=None, preload=('torch',))
    """

    workers: int | Literal["auto"] = workers_option(
        "one per GPU, or one per processor where there is no GPU"
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

    def prepare(self, train: Any) -> PreparedBackend:
        """Pack the training function, and share the machine out."""
        if os.name != "posix":
            raise WorkerStartError("worker processes need Linux or macOS; on Windows use WSL")
        check_function(train)
        shares = hardware.share_out(self.workers, self.gpus_per_worker)
        starter = partial(open_workers, pack(train), shares, self.preload)
        return PreparedBackend(len(shares), starter)

    def single(self) -> Local:
        """One worker, which may have all GPUs that were shared out among several."""
        given = self.gpus_per_worker
        share = None if given is None or given >= 1 else min(given, float(len(hardware.gpus())))
        return replace(self, workers=1, gpus_per_worker=share)


def open_workers(
    function: bytes,
    shares: Sequence[Mapping[str, str]],
    preload: Sequence[str],
    workplace: Workplace,
) -> WorkerBackend:
    """Start worker processes.

    Args:
        function: the training function, packed.
        shares: the environment variables of each worker.
        preload: modules that workers import before their first job.
        workplace: what the tuner gives.
    """

    def launcher(on_notice: Callable[[str], None]) -> ProcessLauncher:
        grace = max(1.0, workplace.grace)
        watchdog = Watchdog(workplace.locks, workplace.temporary, on_notice, grace)
        return ProcessLauncher(shares, watchdog)

    return WorkerBackend(
        launcher,
        len(shares),
        setup={"cwd": os.getcwd(), "preload": list(preload)},  # noqa: PTH109 - as text
        function=function,
        workplace=workplace,
    )
