"""NAS-Bench-201's cell, for many architectures at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from layers import (
    EPS,
    Running,
    conv_plain,
    fused,
    grid,
    launch_conv,
    launch_norm_slopes,
    launch_weights,
    norm_plain,
    statistics,
    tile_of,
    turned,
)
from torch.autograd import Function

Tensor = torch.Tensor

OPERATIONS = ("none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")
EDGES = ((0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3))
"""(source, target) of the six edges, in the order of NAS-Bench-201's names."""
_KIND = np.array([0, 1, 2, 2, 3])


class Plan:
    """Which rows of the weights belong to which edge of which architecture.

    The convolutions that leave a node stand together, the 3×3 before the 1×1, so that a node's
    are two launches, whatever the architectures.
    """

    def __init__(self, operations: np.ndarray, device: str) -> None:
        models = len(operations)
        kinds = _KIND[operations.T]
        rows = np.zeros((len(EDGES), models), dtype=np.int32)
        reads: list[int] = []
        gets: list[int] = []
        self.models = models
        self.starts: list[tuple[int, int, int]] = []  # (3×3 from, 1×1 from, end) of each source
        self.weight_starts: list[tuple[int, int]] = []
        n3 = n1 = 0
        for source in range(3):
            first = len(reads)
            self.weight_starts.append((n3, n1))
            for operation in (3, 2):
                for edge, (start, target) in enumerate(EDGES):
                    if start == source:
                        mine = np.flatnonzero(operations[:, edge] == operation)
                        rows[edge, mine] = len(reads) + np.arange(len(mine))
                        reads += (source * models + mine).tolist()
                        gets += (target * models + mine).tolist()
                if operation == 3:
                    middle = len(reads)
            self.starts.append((first, middle, len(reads)))
            n3 += middle - first
            n1 += len(reads) - middle
        self.convolutions3, self.convolutions1 = n3, n1

        def on_device(values: Any) -> Tensor:
            return torch.tensor(np.ascontiguousarray(values), dtype=torch.int32, device=device)

        self.kinds, self.rows = on_device(kinds), on_device(rows)
        self.reads, self.gets = on_device(reads), on_device(gets)
        self.numbers = on_device(np.arange(max(len(reads), 1)))

    def take(self, other: Plan) -> None:
        """Become the other plan, of the same shape, in the same memory (for a captured graph)."""
        for name in ("kinds", "rows", "reads", "gets"):
            getattr(self, name).copy_(getattr(other, name))

    @property
    def same_shape(self) -> tuple[object, ...]:
        """What two plans must have alike to be taken for each other."""
        return (self.models, tuple(self.starts), tuple(self.weight_starts))


class _Cell(Function):
    @staticmethod
    def forward(  # noqa: PLR0917 - autograd takes no keywords
        ctx: Any, x0: Tensor, w3: Tensor, w1: Tensor, gamma: Tensor, beta: Tensor, plan: Plan,
        running: Running, train: bool,
    ) -> Tensor:  # fmt: skip
        import kernels  # noqa: PLC0415

        models, b, height, width, channels = x0.shape
        positions = b * height * width
        n = len(plan.reads)
        x = torch.empty((4, *x0.shape), dtype=x0.dtype, device=x0.device)
        x[0].copy_(x0)
        y = torch.empty((n, *x0.shape[1:]), dtype=x0.dtype, device=x0.device)
        mean, rstd, scale, shift = (torch.empty_like(gamma) for _ in range(4))
        small3, small1 = w3.to(x.dtype), w1.to(x.dtype)
        sums, squares = torch.zeros_like(gamma), torch.zeros_like(gamma)
        nodes = x.view(4 * models, *x0.shape[1:])
        for source in range(4):
            if source:
                kernels.node[grid(positions, models)](
                    x, y, scale, shift, plan.kinds, plan.rows,
                    positions, models, height, width, channels, source, tile_of(positions),
                )  # fmt: skip
            if source == 3:
                break
            first, middle, end = plan.starts[source]
            of3, of1 = plan.weight_starts[source]
            for part, w in (
                (slice(first, middle), small3[of3 : of3 + middle - first]),
                (slice(middle, end), small1[of1 : of1 + end - middle]),
            ):
                if part.start < part.stop:
                    extra = {"sums": sums[part], "squares": squares[part]} if train else {}
                    launch_conv(nodes, plan.reads[part], w, y[part], relu=True, **extra)
            rows = slice(first, end)
            if train:
                mean[rows], var = statistics(sums[rows], squares[rows], positions)
                running.follow(rows, mean[rows], var)
            else:
                mean[rows], var = running.mean[rows], running.var[rows]
            rstd[rows] = torch.rsqrt(var + EPS)
            scale[rows] = gamma[rows] * rstd[rows]
            shift[rows] = beta[rows] - mean[rows] * scale[rows]
        ctx.save_for_backward(x, y, small3, small1, gamma, mean, rstd)
        ctx.plan = plan
        return x[3].clone()

    @staticmethod
    def backward(ctx: Any, g3: Tensor) -> tuple[Tensor | None, ...]:
        import kernels  # noqa: PLC0415

        x, y, w3, w1, gamma, mean, rstd = ctx.saved_tensors
        plan = ctx.plan
        models, b, height, width, channels = x.shape[1:]
        positions = b * height * width
        g = torch.empty_like(x)
        g[3].copy_(g3)
        nodes = x.view(4 * models, *x.shape[2:])
        dw3 = torch.zeros(w3.shape, device=x.device)
        dw1 = torch.zeros(w1.shape, device=x.device)
        dgamma, dbeta = torch.empty_like(gamma), torch.empty_like(gamma)
        for source in (2, 1, 0):
            first, middle, end = plan.starts[source]
            rows = slice(first, end)
            d = y
            if first < end:
                dy, dgamma[rows], dbeta[rows] = launch_norm_slopes(
                    g, plan.gets[rows], y[rows], mean[rows], rstd[rows], gamma[rows], None
                )
                d = torch.empty_like(dy)
                of3, of1 = plan.weight_starts[source]
                for part, w, dw in (
                    (slice(first, middle), w3[of3 : of3 + middle - first], dw3[of3:]),
                    (slice(middle, end), w1[of1 : of1 + end - middle], dw1[of1:]),
                ):
                    count = part.stop - part.start
                    if count:
                        here = slice(part.start - first, part.stop - first)
                        reads = plan.reads[part]
                        launch_conv(
                            dy[here], plan.numbers[:count], turned(w), d[here],
                            gate=nodes, gates=reads,
                        )  # fmt: skip
                        launch_weights(nodes, reads, dy[here], dw[:count], relu=True)
            kernels.node_slopes[grid(positions, models)](
                g, d, plan.kinds, plan.rows, positions, models, first,
                height, width, channels, source, tile_of(positions),
            )  # fmt: skip
        return g[0], dw3, dw1, dgamma, dbeta, None, None, None


@dataclass
class CellWeights:
    """The weights of a cell for all architectures of a plan, and its batch norms."""

    w3: Tensor
    w1: Tensor
    gamma: Tensor
    beta: Tensor
    running: Running


def cell(x0: Tensor, weights: CellWeights, plan: Plan, *, train: bool) -> Tensor:
    """A cell: ReLU-convolution-norm, pooling, skipping or nothing on each edge, summed in nodes."""
    w = weights
    if fused(x0):
        return _Cell.apply(x0, w.w3, w.w1, w.gamma, w.beta, plan, w.running, train)
    return _cell_plain(x0, w, plan, train=train)


def _cell_plain(x0: Tensor, weights: CellWeights, plan: Plan, *, train: bool) -> Tensor:
    nodes = [x0]
    normed: list[Tensor] = []
    for source in range(4):
        if source:
            nodes.append(_node_plain(nodes, normed, plan, source))
        if source == 3:
            break
        first, middle, end = plan.starts[source]
        of3, of1 = plan.weight_starts[source]
        models = plan.reads[first:end].long() - source * plan.models
        rectified = F.relu(nodes[source])[models]
        y = torch.cat(
            [
                conv_plain(rectified[: middle - first], weights.w3[of3 : of3 + middle - first]),
                conv_plain(rectified[middle - first :], weights.w1[of1 : of1 + end - middle]),
            ]
        )
        rows = slice(first, end)
        normed.append(
            norm_plain(
                y, weights.gamma[rows], weights.beta[rows], weights.running, rows, train=train
            )
        )
    return nodes[3]


def _node_plain(nodes: list[Tensor], normed: list[Tensor], plan: Plan, target: int) -> Tensor:
    total = torch.zeros_like(nodes[0])
    everything = torch.cat(normed)
    for source in range(target):
        edge = target * (target - 1) // 2 + source
        kinds = plan.kinds[edge]
        x = nodes[source]
        skips, convs, pools = (torch.nonzero(kinds == kind)[:, 0] for kind in (1, 2, 3))
        total = total.index_add(0, skips, x[skips])
        total = total.index_add(0, convs, everything[plan.rows[edge][convs].long()])
        _, b, height, width, channels = x.shape
        chosen = x[pools].permute(0, 1, 4, 2, 3).reshape(-1, channels, height, width)
        pooled = F.avg_pool2d(chosen, 3, stride=1, padding=1, count_include_pad=False)
        back = pooled.reshape(len(pools), b, channels, height, width).permute(0, 1, 3, 4, 2)
        total = total.index_add(0, pools, back)
    return total
