"""One trial in two processes: rank 0 reports, and all ranks leave in the same step.

    python examples/distributed_two_processes.py

Both processes train on their share of the data, and torch.distributed adds their gradients up, as
DistributedDataParallel does. ``run.share()`` is the run for child processes. On GPUs use
torch.multiprocessing.spawn and "nccl": CUDA does not survive a fork, and what is spawned must be
in a module that can be imported.
"""
# needs torch

import tempfile
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

import rungwise as rw

RANKS = 2


def train(config: dict, run: rw.Run) -> None:
    """Start the ranks, and wait for them."""
    with tempfile.TemporaryDirectory() as meeting:
        given = (config, run.share(), meeting)
        mp.start_processes(train_rank, given, nprocs=RANKS, start_method="fork")


def train_rank(rank: int, config: dict, run: rw.SharedRun, meeting: str) -> None:
    """What one rank does."""
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", init_method=Path(meeting, "ranks").as_uri(), rank=rank, world_size=RANKS
    )
    torch.manual_seed(run.seed)
    inputs = torch.linspace(-1, 1, 64).unsqueeze(1)
    wanted = torch.sin(3 * inputs)
    mine = slice(rank, None, RANKS)
    model = nn.Sequential(nn.Linear(1, config["width"]), nn.Tanh(), nn.Linear(config["width"], 1))
    if run.latest:
        model.load_state_dict(torch.load(run.latest / "model.pt"))
    for epoch in run.resources():
        for _ in range(20):
            model.zero_grad()
            nn.functional.mse_loss(model(inputs[mine]), wanted[mine]).backward()
            with torch.no_grad():
                for weights in model.parameters():
                    dist.all_reduce(weights.grad)
                    weights.sub_(config["lr"] * weights.grad / RANKS)
        go_on = torch.ones(1)
        if rank == 0:
            with run.checkpoint(epoch) as folder:
                torch.save(model.state_dict(), folder / "model.pt")
            with torch.no_grad():
                loss = nn.functional.mse_loss(model(inputs), wanted)
            go_on[0] = run.report(epoch, loss=loss)
        dist.broadcast(go_on, src=0)  # without it, the others would wait for rank 0 for ever
        if not go_on:
            break
    dist.destroy_process_group()


if __name__ == "__main__":
    result = rw.tune(
        train,
        {"lr": rw.Float(1e-3, 1.0, log=True), "width": rw.Int(4, 64, log=True)},
        metric="loss",
        goal="min",
        max_resource=9,
        trials=4,
        workers=1,
        preload=["torch"],
        show="quiet",
    )
    print(result.why)
    print(f"loss {result.best.value:.4f} with {result.best.config}")
