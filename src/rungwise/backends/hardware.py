"""What the machine has, and each worker's share of it."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

from rungwise.errors import InvalidArgumentError
from rungwise.validation import real, whole

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)
"""Where numerical libraries read how many threads they may start."""

VISIBLE = "CUDA_VISIBLE_DEVICES"
_DEVICE = re.compile(r"nvidia\d+")


def cores() -> int:
    """How many processors this process may use."""
    try:
        allowed = len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS
        allowed = os.cpu_count() or 1
    quota = _quota()
    return allowed if quota >= allowed else max(1, math.ceil(quota))


def _quota() -> float:
    """The share of processors that a container may use."""
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split()
        return float(quota) / float(period)
    except (OSError, ValueError):  # "max" is no number: there is no limit
        return math.inf


def gpus() -> tuple[str, ...]:
    """The names of the GPUs this process may use, as CUDA_VISIBLE_DEVICES spells them."""
    given = os.environ.get(VISIBLE)
    if given is not None:
        names = (name.strip() for name in given.split(","))
        # CUDA itself looks no further than the first -1.
        return tuple(name for name in takewhile(lambda name: name != "-1", names) if name)
    # CUDA numbers the devices it sees from 0 on, whatever the numbers of their files are.
    devices = [path for path in Path("/dev").glob("nvidia*") if _DEVICE.fullmatch(path.name)]
    return tuple(str(number) for number in range(len(devices)))


def share_out(
    workers: Any, gpus_per_worker: Any, *, devices: Sequence[str] | None = None
) -> list[dict[str, str]]:
    """The environment variables of each worker.

    Args:
        workers: how many, or ``"auto"``: one per GPU where there are GPUs, else one per processor.
        gpus_per_worker: how many GPUs each gets; a fraction shares one among several; None
            shares out what there is.
        devices: the GPUs; those of this machine by default.
    """
    devices = gpus() if devices is None else devices
    share = _share(gpus_per_worker, devices)
    number = _number(workers, share, devices)
    if share is None:
        share = float(len(devices) // number)
    threads = str(max(1, cores() // number))
    common = {name: os.environ.get(name, threads) for name in THREAD_VARIABLES}
    if share == 0 and gpus_per_worker is None:
        if not devices:
            return [dict(common) for _ in range(number)]  # nothing to hide
        # More workers than devices: as evenly as possible.
        return [{**common, VISIBLE: devices[w * len(devices) // number]} for w in range(number)]
    return [{**common, VISIBLE: ",".join(_slice(devices, share, w))} for w in range(number)]


def _share(given: Any, devices: Sequence[str]) -> float | None:
    if given is None:
        return None
    share = real("gpus_per_worker", given, at_least=0)
    if share > 1 and not share.is_integer():
        rule = "it must be a whole number, or a fraction below 1 (several workers share one GPU)"
        raise InvalidArgumentError("gpus_per_worker", given, rule)
    if share > len(devices):
        raise InvalidArgumentError("gpus_per_worker", given, _too_few(devices))
    return share


def _too_few(devices: Sequence[str]) -> str:
    """What is wrong with asking for more GPUs than there are, and what to do."""
    if not devices:
        return f"no GPU was found: leave it out, or check {VISIBLE} if the machine has GPUs"
    plural = "s were" if len(devices) > 1 else " was"
    return f"only {len(devices)} GPU{plural} found: ask for at most {len(devices)}"


def _number(workers: Any, share: float | None, devices: Sequence[str]) -> int:
    if isinstance(workers, str):
        if workers != "auto":
            rule = "it must be a whole number of at least 1, or 'auto'"
            raise InvalidArgumentError("workers", workers, rule)
        return _count_shares(share or 1, devices) if devices and share != 0 else cores()
    number = whole("workers", workers, at_least=1)
    if share and number > _count_shares(share, devices):
        rule = (
            f"{number} × {share:g} GPUs do not fit on the {len(devices)} found: at most "
            f"{_count_shares(share, devices)} workers are possible"
        )
        raise InvalidArgumentError("workers", workers, rule)
    return number


def _count_shares(share: float, devices: Sequence[str]) -> int:
    """How many shares the devices hold; a share below 1 lies on one device."""
    if share < 1:
        return len(devices) * _on_a_device(share)
    return len(devices) // int(share)


def _on_a_device(share: float) -> int:
    return math.floor(1 / share + 1e-9)


def _slice(devices: Sequence[str], share: float, worker: int) -> Sequence[str]:
    if share == 0:
        return ()
    if share < 1:
        return (devices[worker // _on_a_device(share)],)  # one device is filled before the next
    first = worker * int(share)
    return devices[first : first + int(share)]


def environment(share: Mapping[str, str]) -> dict[str, str]:
    """The whole environment of a worker."""
    return {**os.environ, **share}
