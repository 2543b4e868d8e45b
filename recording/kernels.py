"""Triton kernels for many small convolutional networks at once.

Everything is laid out as [model, image, row, column, channel]: what belongs to one model lies
together, so choosing models is choosing blocks, and no gathering copy is needed. Positions of a
model (image, row and column) are numbered in one line, P of them.

Rectifiers are written as "0 where negative": a maximum would make 0 of NaN, and a model that has
diverged would go on as if it had not.
"""

# Triton's compiler reads annotations such as tl.constexpr at run time.
import triton
import triton.language as tl


@triton.jit
def conv(
    x, reads, w, y, gate, gates, sums, squares,
    P, H: tl.constexpr, W: tl.constexpr, CI: tl.constexpr, CO: tl.constexpr, K: tl.constexpr,
    RELU: tl.constexpr, MASK: tl.constexpr, STATS: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """Convolve relu(x[reads[n]]) with w[n], K×K; with MASK, 0 where gate[gates[n]] ≤ 0."""
    n = tl.program_id(1).to(tl.int64)
    p = tl.program_id(0) * TILE + tl.arange(0, TILE)
    inside = p < P
    row = (p % (H * W)) // W
    column = p % W
    ci = tl.arange(0, CI)
    co = tl.arange(0, CO)
    source = tl.load(reads + n).to(tl.int64) * P * CI
    total = tl.zeros((TILE, CO), dtype=tl.float32)
    for tap in tl.static_range(K * K):
        down = tap // K - K // 2
        right = tap % K - K // 2
        there = inside & (row + down >= 0) & (row + down < H)
        there = there & (column + right >= 0) & (column + right < W)
        at = (p + down * W + right)[:, None] * CI + ci[None, :]
        value = tl.load(x + source + at, mask=there[:, None], other=0.0)
        if RELU:
            value = tl.where(value < 0, 0.0, value).to(x.dtype.element_ty)
        weight = tl.load(w + ((n * K * K + tap) * CI + ci[:, None]) * CO + co[None, :])
        total += tl.dot(value, weight)
    at = p[:, None] * CO + co[None, :]
    if MASK:
        open_at = tl.load(gates + n).to(tl.int64) * P * CO
        positive = tl.load(gate + open_at + at, mask=inside[:, None], other=0.0) > 0
        total = tl.where(positive, total, 0.0)
    rounded = total.to(y.dtype.element_ty)
    tl.store(y + n * P * CO + at, rounded, mask=inside[:, None])
    if STATS:
        total = tl.where(inside[:, None], rounded.to(tl.float32), 0.0)
        tl.atomic_add(sums + n * CO + co, tl.sum(total, 0))
        tl.atomic_add(squares + n * CO + co, tl.sum(total * total, 0))


@triton.jit
def conv_weights(
    x, reads, dy, dw,
    P, H: tl.constexpr, W: tl.constexpr, CI: tl.constexpr, CO: tl.constexpr, K: tl.constexpr,
    RELU: tl.constexpr, TILE: tl.constexpr, SPLIT: tl.constexpr,
):  # fmt: skip
    """dw[n, tap] += Σ over positions of relu(x[reads[n]])ᵀ · dy[n]."""
    tap = tl.program_id(0)
    n = tl.program_id(1).to(tl.int64)
    part = tl.program_id(2)
    down = tap // K - K // 2
    right = tap % K - K // 2
    ci = tl.arange(0, CI)
    co = tl.arange(0, CO)
    source = tl.load(reads + n).to(tl.int64) * P * CI
    total = tl.zeros((CI, CO), dtype=tl.float32)
    for tile in range(part, tl.cdiv(P, TILE), SPLIT):
        p = tile * TILE + tl.arange(0, TILE)
        inside = p < P
        row = (p % (H * W)) // W
        column = p % W
        there = inside & (row + down >= 0) & (row + down < H)
        there = there & (column + right >= 0) & (column + right < W)
        at = (p + down * W + right)[:, None] * CI + ci[None, :]
        value = tl.load(x + source + at, mask=there[:, None], other=0.0)
        if RELU:
            value = tl.where(value < 0, 0.0, value).to(x.dtype.element_ty)
        slope = tl.load(
            dy + n * P * CO + p[:, None] * CO + co[None, :], mask=inside[:, None], other=0.0
        )
        total += tl.dot(tl.trans(value), slope)
    at = ((n * K * K + tap) * CI + ci[:, None]) * CO + co[None, :]
    tl.atomic_add(dw + at, total)


@triton.jit
def moments(y, sums, squares, P, C: tl.constexpr, TILE: tl.constexpr, LOOP: tl.constexpr):
    """Sums and sums of squares over the positions, for each model and channel."""
    n = tl.program_id(1).to(tl.int64)
    c = tl.arange(0, C)
    first = tl.zeros((C,), dtype=tl.float32)
    second = tl.zeros((C,), dtype=tl.float32)
    for k in range(LOOP):
        p = (tl.program_id(0) * LOOP + k) * TILE + tl.arange(0, TILE)
        at = n * P * C + p[:, None] * C + c[None, :]
        value = tl.load(y + at, mask=(p < P)[:, None], other=0.0).to(tl.float32)
        first += tl.sum(value, 0)
        second += tl.sum(value * value, 0)
    tl.atomic_add(sums + n * C + c, first)
    tl.atomic_add(squares + n * C + c, second)


@triton.jit
def affine(y, scale, shift, out, P, C: tl.constexpr, RELU: tl.constexpr, TILE: tl.constexpr):
    """Out = y · scale + shift, for each model and channel; maybe rectified."""
    n = tl.program_id(1).to(tl.int64)
    c = tl.arange(0, C)
    p = tl.program_id(0) * TILE + tl.arange(0, TILE)
    at = n * P * C + p[:, None] * C + c[None, :]
    value = tl.load(y + at, mask=(p < P)[:, None], other=0.0).to(tl.float32)
    value = value * tl.load(scale + n * C + c)[None, :] + tl.load(shift + n * C + c)[None, :]
    if RELU:
        value = tl.where(value < 0, 0.0, value)
    tl.store(out + at, value.to(out.dtype.element_ty), mask=(p < P)[:, None])


@triton.jit
def norm_sums(
    g, gets, y, mean, rstd, out, sum_g, sum_gy,
    P, C: tl.constexpr, RELU: tl.constexpr, TILE: tl.constexpr, LOOP: tl.constexpr,
):  # fmt: skip
    """Σ g and Σ g·ŷ over the positions, ŷ the normalised y; with RELU, g where out > 0."""
    n = tl.program_id(1).to(tl.int64)
    c = tl.arange(0, C)
    from_g = tl.load(gets + n).to(tl.int64) * P * C
    m = tl.load(mean + n * C + c)[None, :]
    r = tl.load(rstd + n * C + c)[None, :]
    first = tl.zeros((C,), dtype=tl.float32)
    second = tl.zeros((C,), dtype=tl.float32)
    for k in range(LOOP):
        p = (tl.program_id(0) * LOOP + k) * TILE + tl.arange(0, TILE)
        inside = (p < P)[:, None]
        at = p[:, None] * C + c[None, :]
        slope = tl.load(g + from_g + at, mask=inside, other=0.0).to(tl.float32)
        if RELU:
            gate = tl.load(out + n * P * C + at, mask=inside, other=0.0)
            slope = tl.where(gate > 0, slope, 0.0)
        value = tl.load(y + n * P * C + at, mask=inside, other=0.0).to(tl.float32)
        first += tl.sum(slope, 0)
        second += tl.sum(slope * (value - m) * r, 0)
    tl.atomic_add(sum_g + n * C + c, first)
    tl.atomic_add(sum_gy + n * C + c, second)


@triton.jit
def norm_slopes(
    g, gets, y, mean, rstd, gamma, out, sum_g, sum_gy, dy,
    P, C: tl.constexpr, RELU: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """The gradient through a batch norm: dy = γ·rstd·(g − mean(g) − ŷ·mean(g·ŷ))."""
    n = tl.program_id(1).to(tl.int64)
    c = tl.arange(0, C)
    p = tl.program_id(0) * TILE + tl.arange(0, TILE)
    inside = (p < P)[:, None]
    at = p[:, None] * C + c[None, :]
    from_g = tl.load(gets + n).to(tl.int64) * P * C
    slope = tl.load(g + from_g + at, mask=inside, other=0.0).to(tl.float32)
    if RELU:
        gate = tl.load(out + n * P * C + at, mask=inside, other=0.0)
        slope = tl.where(gate > 0, slope, 0.0)
    value = tl.load(y + n * P * C + at, mask=inside, other=0.0).to(tl.float32)
    r = tl.load(rstd + n * C + c)[None, :]
    normal = (value - tl.load(mean + n * C + c)[None, :]) * r
    less = tl.load(sum_g + n * C + c)[None, :] + normal * tl.load(sum_gy + n * C + c)[None, :]
    slope = tl.load(gamma + n * C + c)[None, :] * r * (slope - less / P)
    tl.store(dy + n * P * C + at, slope.to(dy.dtype.element_ty), mask=inside)


@triton.jit
def node(
    x, y, scale, shift, kinds, rows,
    P, M, H: tl.constexpr, W: tl.constexpr, C: tl.constexpr, NODE: tl.constexpr,
    TILE: tl.constexpr,
):  # fmt: skip
    """x[NODE] = Σ over sources of: nothing (0), the source (1), normalised conv (2), pool (3)."""
    m = tl.program_id(1).to(tl.int64)
    c = tl.arange(0, C)
    p = tl.program_id(0) * TILE + tl.arange(0, TILE)
    inside = p < P
    row = (p % (H * W)) // W
    column = p % W
    at = p[:, None] * C + c[None, :]
    total = tl.zeros((TILE, C), dtype=tl.float32)
    for s in tl.static_range(NODE):
        edge = NODE * (NODE - 1) // 2 + s
        kind = tl.load(kinds + edge * M + m)
        source = x + (s * M + m) * P * C
        if kind == 1:
            total += tl.load(source + at, mask=inside[:, None], other=0.0).to(tl.float32)
        if kind == 2:
            r = tl.load(rows + edge * M + m).to(tl.int64)
            value = tl.load(y + r * P * C + at, mask=inside[:, None], other=0.0).to(tl.float32)
            total += value * tl.load(scale + r * C + c)[None, :]
            total += tl.load(shift + r * C + c)[None, :]
        if kind == 3:
            high = tl.minimum(row + 1, H - 1) - tl.maximum(row - 1, 0) + 1
            wide = tl.minimum(column + 1, W - 1) - tl.maximum(column - 1, 0) + 1
            around = tl.zeros((TILE, C), dtype=tl.float32)
            for tap in tl.static_range(9):
                down = tap // 3 - 1
                right = tap % 3 - 1
                there = inside & (row + down >= 0) & (row + down < H)
                there = there & (column + right >= 0) & (column + right < W)
                near = (p + down * W + right)[:, None] * C + c[None, :]
                around += tl.load(source + near, mask=there[:, None], other=0.0).to(tl.float32)
            total += around / (high * wide).to(tl.float32)[:, None]
    out = x + (NODE * M + m) * P * C
    tl.store(out + at, total.to(x.dtype.element_ty), mask=inside[:, None])


@triton.jit
def node_slopes(
    g, d, kinds, rows,
    P, M, first_row, H: tl.constexpr, W: tl.constexpr, C: tl.constexpr, NODE: tl.constexpr,
    TILE: tl.constexpr,
):  # fmt: skip
    """g[NODE] = Σ over the nodes behind it, the transposed of `node`; d holds the convolutions'."""
    m = tl.program_id(1).to(tl.int64)
    c = tl.arange(0, C)
    p = tl.program_id(0) * TILE + tl.arange(0, TILE)
    inside = p < P
    row = (p % (H * W)) // W
    column = p % W
    at = p[:, None] * C + c[None, :]
    total = tl.zeros((TILE, C), dtype=tl.float32)
    for j in tl.static_range(NODE + 1, 4):
        edge = j * (j - 1) // 2 + NODE
        kind = tl.load(kinds + edge * M + m)
        behind = g + (j * M + m) * P * C
        if kind == 1:
            total += tl.load(behind + at, mask=inside[:, None], other=0.0).to(tl.float32)
        if kind == 2:
            r = (tl.load(rows + edge * M + m) - first_row).to(tl.int64)
            total += tl.load(d + r * P * C + at, mask=inside[:, None], other=0.0).to(tl.float32)
        if kind == 3:
            for tap in tl.static_range(9):
                down = tap // 3 - 1
                right = tap % 3 - 1
                r2 = row + down
                c2 = column + right
                there = inside & (r2 >= 0) & (r2 < H) & (c2 >= 0) & (c2 < W)
                high = tl.minimum(r2 + 1, H - 1) - tl.maximum(r2 - 1, 0) + 1
                wide = tl.minimum(c2 + 1, W - 1) - tl.maximum(c2 - 1, 0) + 1
                near = (p + down * W + right)[:, None] * C + c[None, :]
                slope = tl.load(behind + near, mask=there[:, None], other=0.0).to(tl.float32)
                # Outside, high and wide may be 0; the slope is 0 there, so any divisor does.
                total += slope / tl.maximum(high * wide, 1).to(tl.float32)[:, None]
    tl.store(g + (NODE * M + m) * P * C + at, total.to(g.dtype.element_ty), mask=inside[:, None])


@triton.jit
def sgd(weight, slope, velocity, rate, momentum, decay, each, BLOCK: tl.constexpr):
    """Nesterov's step for the weights of one model, in place."""
    m = tl.program_id(1).to(tl.int64)
    k = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = k < each
    at = m * each + k
    mu = tl.load(momentum + m)
    w = tl.load(weight + at, mask=inside)
    g = tl.load(slope + at, mask=inside) + tl.load(decay + m) * w
    v = mu * tl.load(velocity + at, mask=inside) + g
    tl.store(velocity + at, v, mask=inside)
    tl.store(weight + at, w - tl.load(rate + m) * (g + mu * v), mask=inside)
