"""Layers of many small networks at once: convolution and batch norm.

Each has two forms: plain PyTorch, for any device, and the kernels of ``kernels.py``, for a GPU.
Both take activations as [model, image, row, column, channel].
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch.autograd import Function

EPS = 1e-5
FORGET = 0.1
"""How fast the running statistics of a batch norm follow, as in PyTorch."""

Tensor = torch.Tensor


def fused(x: Tensor) -> bool:
    """Whether the kernels are used: on a GPU, or where Triton interprets them."""
    return x.is_cuda or os.environ.get("TRITON_INTERPRET") == "1"


def numbers(n: int, like: Tensor) -> Tensor:
    """0, 1, 2, … on the device of another tensor."""
    return torch.arange(n, dtype=torch.int32, device=like.device)


def tile_of(positions: int) -> int:
    """How many positions a program of a kernel takes at a time."""
    return 128 if positions >= 128 else 64


def grid(positions: int, rows: int, loop: int = 1) -> tuple[int, int]:
    """How many programs: over the positions, and over the rows."""
    return (-(-positions // (tile_of(positions) * loop)), rows)


@dataclass
class Running:
    """The running mean and variance of batch norms, [n, channels]."""

    mean: Tensor
    var: Tensor

    @classmethod
    def fresh(cls, n: int, channels: int, device: str) -> Running:
        """Of norms that have seen nothing."""
        return cls(torch.zeros(n, channels, device=device), torch.ones(n, channels, device=device))

    def follow(self, rows: slice, mean: Tensor, var: Tensor) -> None:
        """Move towards the statistics of a batch."""
        self.mean[rows].lerp_(mean, FORGET)
        self.var[rows].lerp_(var, FORGET)


# -- convolution -------------------------------------------------------------------------------


def launch_conv(x: Tensor, reads: Tensor, w: Tensor, y: Tensor, **options: Any) -> None:
    """Run the kernel `conv`; see there."""
    import kernels  # noqa: PLC0415 - Triton is there on a GPU machine only

    n, k, _, ci, co = w.shape
    height, width = x.shape[-3:-1]
    positions = x.shape[-4] * height * width
    gate, gates = options.get("gate", x), options.get("gates", reads)
    sums, squares = options.get("sums", x), options.get("squares", x)
    kernels.conv[grid(positions, n)](
        x, reads, w, y, gate, gates, sums, squares,
        positions, height, width, ci, co, k,
        options.get("relu", False), "gate" in options, "sums" in options, tile_of(positions),
    )  # fmt: skip


def launch_weights(x: Tensor, reads: Tensor, dy: Tensor, dw: Tensor, *, relu: bool) -> None:
    """Run the kernel `conv_weights`; see there."""
    import kernels  # noqa: PLC0415

    n, k, _, ci, co = dw.shape
    height, width = x.shape[-3:-1]
    positions = x.shape[-4] * height * width
    tile = tile_of(positions)
    split = max(1, min(-(-positions // tile), 2000 // (n * k * k)))
    kernels.conv_weights[(k * k, n, split)](
        x, reads, dy, dw, positions, height, width, ci, co, k, relu, tile, split
    )


def turned(w: Tensor) -> Tensor:
    """The weights of the transposed convolution."""
    return w.flip(1, 2).transpose(-1, -2).contiguous()


class _Conv(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, w: Tensor) -> Tensor:
        rounded = w.to(x.dtype)
        y = torch.empty((*x.shape[:-1], w.shape[-1]), dtype=x.dtype, device=x.device)
        launch_conv(x, numbers(len(x), x), rounded, y)
        ctx.save_for_backward(x, rounded)
        return y

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, Tensor]:
        x, w = ctx.saved_tensors
        dy = dy.contiguous()
        dx = torch.empty_like(x)
        models = numbers(len(x), x)
        launch_conv(dy, models, turned(w), dx)
        dw = torch.zeros(w.shape, device=w.device)
        launch_weights(x, models, dy, dw, relu=False)
        return dx, dw


def conv(x: Tensor, w: Tensor) -> Tensor:
    """K×K convolution of [n, b, h, w, ci] with [n, k, k, ci, co], stride 1, same size."""
    return _Conv.apply(x, w) if fused(x) else conv_plain(x, w)


def conv_plain(x: Tensor, w: Tensor) -> Tensor:
    """`conv` in plain PyTorch."""
    n, b, height, width, ci = x.shape
    k, co = w.shape[1], w.shape[-1]
    if n == 0:
        return x.new_zeros((0, b, height, width, co))
    grouped = x.permute(1, 0, 4, 2, 3).reshape(b, n * ci, height, width)
    weights = w.permute(0, 4, 3, 1, 2).reshape(n * co, ci, k, k).to(x.dtype)
    y = F.conv2d(grouped, weights, padding=k // 2, groups=n)
    return y.reshape(b, n, co, height, width).permute(1, 0, 3, 4, 2)


# -- batch norm --------------------------------------------------------------------------------


def statistics(sums: Tensor, squares: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Mean and variance."""
    mean = sums / count
    return mean, (squares / count - mean * mean).clamp_min_(0)


def launch_norm_slopes(
    g: Tensor,
    gets: Tensor,
    y: Tensor,
    mean: Tensor,
    rstd: Tensor,
    gamma: Tensor,
    out: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor]:
    """dy, Σ g·ŷ (the slope of γ) and Σ g (that of β)."""
    import kernels  # noqa: PLC0415

    n, channels = mean.shape
    positions = y.numel() // (n * channels)
    tile, loop = tile_of(positions), 8
    sum_g, sum_gy = torch.zeros_like(mean), torch.zeros_like(mean)
    relu = out is not None
    kernels.norm_sums[grid(positions, n, loop)](
        g, gets, y, mean, rstd, y if out is None else out, sum_g, sum_gy,
        positions, channels, relu, tile, loop,
    )  # fmt: skip
    dy = torch.empty_like(y)
    kernels.norm_slopes[grid(positions, n)](
        g, gets, y, mean, rstd, gamma, y if out is None else out, sum_g, sum_gy, dy,
        positions, channels, relu, tile,
    )  # fmt: skip
    return dy, sum_gy, sum_g


class _Norm(Function):
    @staticmethod
    def forward(
        ctx: Any,
        y: Tensor,
        gamma: Tensor,
        beta: Tensor,
        running: Running,
        train: bool,
        relu: bool,
    ) -> Tensor:
        import kernels  # noqa: PLC0415

        n, channels = gamma.shape
        positions = y.numel() // (n * channels)
        tile = tile_of(positions)
        if train:
            sums = torch.zeros_like(running.mean)
            squares = torch.zeros_like(running.mean)
            kernels.moments[grid(positions, n, 8)](y, sums, squares, positions, channels, tile, 8)
            mean, var = statistics(sums, squares, positions)
            running.follow(slice(None), mean, var)
        else:
            mean, var = running.mean, running.var
        rstd = torch.rsqrt(var + EPS)
        scale = gamma * rstd
        out = torch.empty_like(y)
        kernels.affine[grid(positions, n)](
            y, scale, beta - mean * scale, out, positions, channels, relu, tile
        )
        ctx.save_for_backward(y, gamma, mean, rstd, *([out] if relu else []))
        return out

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, ...]:
        y, gamma, mean, rstd, *out = ctx.saved_tensors
        g = g.contiguous()
        dy, dgamma, dbeta = launch_norm_slopes(
            g, numbers(len(y), y), y, mean, rstd, gamma, out[0] if out else None
        )
        return dy, dgamma, dbeta, None, None, None


def norm(
    y: Tensor, gamma: Tensor, beta: Tensor, running: Running, *, train: bool, relu: bool = False
) -> Tensor:
    """Batch norm of [n, …, channels] with γ and β of [n, channels]; maybe rectified."""
    if fused(y):
        return _Norm.apply(y, gamma, beta, running, train, relu)
    out = norm_plain(y, gamma, beta, running, slice(None), train=train)
    return F.relu(out) if relu else out


def norm_plain(
    y: Tensor, gamma: Tensor, beta: Tensor, running: Running, rows: slice, *, train: bool
) -> Tensor:
    """`norm` of some rows in plain PyTorch."""
    shape = (y.shape[0], *[1] * (y.dim() - 2), y.shape[-1])
    if not len(y):
        return y
    if train:
        var, mean = torch.var_mean(y.float(), dim=tuple(range(1, y.dim() - 1)), correction=0)
        with torch.no_grad():
            running.follow(rows, mean, var)
    else:
        mean, var = running.mean[rows], running.var[rows]
    scale = gamma * torch.rsqrt(var + EPS)
    shift = beta - mean * scale
    return (y * scale.view(shape) + shift.view(shape)).to(y.dtype)
