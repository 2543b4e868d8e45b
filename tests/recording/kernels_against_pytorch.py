"""The Triton kernels, interpreted, against plain PyTorch: forward and backward, run as a script."""

import os
import sys

import numpy as np
import torch

sys.path.insert(0, sys.argv[1])

import cells
import layers
import training

ROWS, IMAGES, SIDE, CHANNELS = 12, 5, 7, 16


def results():
    """A cell, a convolution, a norm and a step of the optimiser: values and slopes."""
    torch.manual_seed(1)
    operations = np.random.default_rng(0).integers(0, 5, (ROWS, 6))
    plan = cells.Plan(operations, "cpu")
    n = len(plan.reads)
    x = torch.randn(ROWS, IMAGES, SIDE, SIDE, CHANNELS).requires_grad_()
    made = [
        torch.randn(plan.convolutions3, 3, 3, CHANNELS, CHANNELS) * 0.1,
        torch.randn(plan.convolutions1, 1, 1, CHANNELS, CHANNELS) * 0.2,
        1 + 0.1 * torch.randn(n, CHANNELS),
        0.1 * torch.randn(n, CHANNELS),
        torch.randn(ROWS, 3, 3, CHANNELS, 2 * CHANNELS) * 0.1,
        torch.ones(ROWS, 2 * CHANNELS),
        torch.zeros(ROWS, 2 * CHANNELS),
    ]
    weights = [one.requires_grad_() for one in made]
    w3, w1, gamma, beta, wide, gamma2, beta2 = weights
    running = layers.Running.fresh(n, CHANNELS, "cpu")
    running2 = layers.Running.fresh(ROWS, 2 * CHANNELS, "cpu")
    own = cells.CellWeights(w3, w1, gamma, beta, running)
    y = cells.cell(x, own, plan, train=True)
    z = layers.norm(layers.conv(y, wide), gamma2, beta2, running2, train=True, relu=True)
    (z * torch.randn(z.shape)).sum().backward()
    slopes = [x.grad.clone(), *[one.grad.clone() for one in weights]]
    sgd = training.Sgd(weights)
    for one in weights:
        one.grad = torch.randn(one.shape)
    rates = [
        training.Rates.alike(len(one), 0.1 + 0.01 * i, 0.9, 0.01, "cpu")
        for i, one in enumerate(weights)
    ]
    sgd.step(rates, torch.tensor(0.5))
    examined = cells.cell(x, own, plan, train=False)
    statistics = [running.mean, running.var, running2.mean, running2.var]
    everything = [y, z, *slopes, *statistics, examined, *weights, *sgd.velocity]
    return [one.detach().clone() for one in everything]


def keeps_nan():
    """A model that has diverged stays so: no rectifier makes 0 of NaN."""
    x = torch.zeros(2, 1, SIDE, SIDE, CHANNELS)
    x[1] = torch.nan
    plan = cells.Plan(np.full((2, 6), 3), "cpu")
    n = len(plan.reads)
    weights = cells.CellWeights(
        torch.ones(plan.convolutions3, 3, 3, CHANNELS, CHANNELS),
        torch.ones(plan.convolutions1, 1, 1, CHANNELS, CHANNELS),
        torch.ones(n, CHANNELS),
        torch.zeros(n, CHANNELS),
        layers.Running.fresh(n, CHANNELS, "cpu"),
    )
    y = cells.cell(x, weights, plan, train=False)
    running = layers.Running.fresh(2, CHANNELS, "cpu")
    ones, zeros = torch.ones(2, CHANNELS), torch.zeros(2, CHANNELS)
    z = layers.norm(x, ones, zeros, running, train=False, relu=True)
    return all(bool(out[0].isfinite().all() and out[1].isnan().all()) for out in (y, z))


def main():
    if not keeps_nan():
        sys.exit("a rectifier made something of NaN")
    interpreted = results()
    del os.environ["TRITON_INTERPRET"]
    plain = results()
    worst = max(float((a - b).norm() / a.norm()) for a, b in zip(plain, interpreted, strict=True))
    sys.stdout.write(f"{len(plain)} {worst}\n")
    sys.exit(0 if worst < 1e-4 else 1)


main()
