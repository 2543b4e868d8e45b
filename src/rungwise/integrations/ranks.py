"""The ranks of a distributed training: who reports, and how all hear the answer.

Law of this file: whatever happens in rank 0, the others are sent an answer: they wait for it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from rungwise.run import Run


def find_rank() -> tuple[int, int]:
    """The rank of this process in torch.distributed, and how many there are; (0, 1) without it."""
    dist: Any = import_module("torch.distributed")
    if not (dist.is_available() and dist.is_initialized()):
        return 0, 1
    return int(dist.get_rank()), int(dist.get_world_size())


def report_once(run: Run, resource: float, report: Callable[[], bool]) -> bool:
    """Report in rank 0 only; every rank returns its answer, in the same step.

    Args:
        run: the run, in every rank.
        resource: what is reported.
        report: makes the report, and returns its answer.
    """
    rank, count = find_rank()
    if count == 1:
        return report()
    if rank:
        go_on = broadcast(go_on=False)
        run.take_answer(resource, go_on=go_on)
        return go_on
    go_on = False
    try:
        go_on = report()
    finally:  # also when the report has unwound the training
        broadcast(go_on=go_on)
    return go_on


def wait_for_ranks() -> None:
    """Return when every rank has called this: what each was to write is written then."""
    if find_rank()[1] > 1:
        dist: Any = import_module("torch.distributed")
        dist.barrier()


def broadcast(*, go_on: bool) -> bool:
    """The answer of rank 0, in every rank.

    Args:
        go_on: the answer; of rank 0 only.
    """
    torch: Any = import_module("torch")
    dist: Any = import_module("torch.distributed")
    device = "cpu"
    if dist.get_backend() == "nccl":
        device = f"cuda:{torch.cuda.current_device()}"
    answer = torch.tensor([int(go_on)], dtype=torch.uint8, device=device)
    dist.broadcast(answer, src=0)
    return bool(answer.item())
