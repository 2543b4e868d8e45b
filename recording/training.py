"""What all recorders share: the optimiser, schedules, order of the data, captured steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch
from layers import fused

Tensor = torch.Tensor


def normal(shape: Sequence[int], fan_in: int, source: torch.Generator, device: str) -> Tensor:
    """He's initial weights: normal, of variance 2 / fan-in."""
    drawn = torch.randn(tuple(shape), generator=source) * math.sqrt(2 / fan_in)
    return drawn.to(device)


class Weights:
    """Named parameters of all models, made again, in the same memory, for every chunk."""

    def __init__(self, device: str) -> None:
        self.device = device
        self._made: list[tuple[Tensor, Callable[[torch.Generator], Tensor]]] = []

    def add(self, make: Callable[[torch.Generator], Tensor]) -> Tensor:
        """A parameter whose initial values are made from a source of randomness."""
        value = make(torch.Generator().manual_seed(0)).to(self.device).requires_grad_()
        self._made.append((value, make))
        return value

    def full(self, shape: Sequence[int], value: float) -> Tensor:
        """A parameter that starts with one value everywhere."""
        return self.add(lambda _: torch.full(tuple(shape), value))

    def normal(self, shape: Sequence[int], fan_in: int) -> Tensor:
        """A parameter that starts with He's initial weights."""
        return self.add(lambda source: normal(shape, fan_in, source, "cpu"))

    def restart(self, seed: int) -> None:
        """New initial values."""
        source = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for value, make in self._made:
                value.copy_(make(source))

    def __iter__(self) -> Iterator[Tensor]:
        return iter([value for value, _ in self._made])


@dataclass
class Rates:
    """Learning rate, momentum and weight decay, one of each a model: [rows] on the device."""

    rate: Tensor
    momentum: Tensor
    decay: Tensor

    @classmethod
    def alike(cls, rows: int, rate: float, momentum: float, decay: float, device: str) -> Rates:
        """The same for all models."""
        return cls(
            *(torch.full((rows,), value, device=device) for value in (rate, momentum, decay))
        )

    def expanded(self, rows: Tensor) -> Rates:
        """For weights that belong to the models in rows."""
        return Rates(self.rate[rows], self.momentum[rows], self.decay[rows])


class Sgd:
    """Stochastic gradient descent with Nesterov's momentum; the factor scales all rates."""

    def __init__(self, weights: Iterable[Tensor]) -> None:
        self.weights = list(weights)
        self.velocity = [torch.zeros_like(weight) for weight in self.weights]

    def restart(self) -> None:
        """Forget the velocities."""
        for velocity in self.velocity:
            velocity.zero_()

    @torch.no_grad()
    def step(self, rates: Sequence[Rates] | Rates, factor: Tensor) -> None:
        """One step; factor is [] or [rows]. Gradients are taken from the weights and dropped."""
        for number, (weight, velocity) in enumerate(zip(self.weights, self.velocity, strict=True)):
            own = rates if isinstance(rates, Rates) else rates[number]
            slope = weight.grad
            if slope is None:  # no path leads through it: a cell without such a convolution
                continue
            weight.grad = None
            _update(weight, slope.contiguous(), velocity, own.rate * factor, own)


def _update(weight: Tensor, slope: Tensor, velocity: Tensor, rate: Tensor, own: Rates) -> None:
    if fused(weight):
        import kernels  # noqa: PLC0415

        rows, block = len(weight), 1024
        each = weight.numel() // rows
        kernels.sgd[(-(-each // block), rows)](
            weight, slope, velocity, rate, own.momentum, own.decay, each, block
        )
        return
    shape = (-1, *[1] * (weight.dim() - 1))
    momentum = own.momentum.view(shape)
    slope = slope + own.decay.view(shape) * weight
    velocity.mul_(momentum).add_(slope)
    weight.sub_(rate.view(shape) * (slope + momentum * velocity))


class Clock:
    """Counts steps on the device, so that schedules and batches live inside a captured graph."""

    def __init__(self, steps: int, device: str) -> None:
        self.steps = steps
        self.now = torch.zeros((), dtype=torch.int64, device=device)

    def tick(self) -> None:
        """A step is over."""
        self.now.add_(1)

    def cosine(self) -> Tensor:
        """The factor of a cosine schedule: 1 at the start, 0 at the end."""
        return 0.5 * (1 + torch.cos(self.now.double() / self.steps * math.pi)).float()

    def polynomial(self, power: Tensor, fraction: Tensor) -> Tensor:
        """PD1's schedule: falls to a thousandth over a fraction of the steps, by a power."""
        gone = (self.now.double() / (fraction.double() * self.steps)).clamp(max=1)
        return (1e-3 + (1 - 1e-3) * (1 - gone) ** power.double()).float()


class Orders:
    """In which order each model sees the training examples: a new permutation every epoch."""

    def __init__(self, models: int, examples: int, batch: int, device: str) -> None:
        self.steps = examples // batch
        self.batch = batch
        self.orders = torch.zeros((models, examples), dtype=torch.int32, device=device)
        self._range = torch.arange(batch, device=device)

    def shuffle(self, source: torch.Generator) -> None:
        """Draw the permutations of an epoch."""
        drawn = torch.rand(self.orders.shape, generator=source, device=self.orders.device)
        self.orders.copy_(drawn.argsort(dim=1))

    def examples(self, clock: Clock) -> Tensor:
        """Which examples this step takes: [models, batch]."""
        start = (clock.now % self.steps) * self.batch
        return self.orders.index_select(1, self._range + start).long()


class Captured:
    """A step that is replayed as one CUDA graph on a GPU, and simply called elsewhere.

    The warm-up runs the step, so what it changes must be restarted afterwards.
    """

    def __init__(self, step: Callable[[], None], device: str) -> None:
        self._step = step
        self._graph: torch.cuda.CUDAGraph | None = None
        if device == "cuda":
            stream = torch.cuda.Stream()
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                for _ in range(3):
                    step()
            torch.cuda.current_stream().wait_stream(stream)
            torch.cuda.synchronize()
            self._graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self._graph):
                step()

    def __call__(self) -> None:
        if self._graph is None:
            self._step()
        else:
            self._graph.replay()


MISSING = -1
"""The count of a model whose outputs are no longer finite."""


def count_correct(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Right answers of [models, n, classes], and whether all outputs are finite."""
    finite = torch.isfinite(logits).flatten(1).all(1)
    return (logits.argmax(-1) == labels).flatten(1).sum(1), finite


class Examiner:
    """Counts right answers on a fixed set, slice by slice, as one captured graph a slice."""

    def __init__(
        self,
        answer: Callable[[Tensor], Tensor],
        models: int,
        inputs: Tensor,
        labels: Tensor,
        slices: int,
    ) -> None:
        device = inputs.device
        self.slices = slices
        self._size = len(inputs) // slices
        self._range = torch.arange(self._size, device=device)
        self._at = torch.zeros((), dtype=torch.int64, device=device)
        self.correct = torch.zeros(models, dtype=torch.int64, device=device)
        self.finite = torch.ones(models, dtype=torch.bool, device=device)

        @torch.no_grad()
        def one_slice() -> None:
            # Warming up counts beyond the last slice.
            chosen = self._range + self._at % self.slices * self._size
            right, finite = count_correct(answer(inputs[chosen]), labels[chosen])
            self.correct.add_(right)
            self.finite.logical_and_(finite)
            self._at.add_(1)

        self._captured = Captured(one_slice, device.type)

    def __call__(self) -> Tensor:
        """The counts, MISSING where an output is not finite."""
        self._at.zero_()
        self.correct.zero_()
        self.finite.fill_(True)
        for _ in range(self.slices):
            self._captured()
        return torch.where(self.finite, self.correct, MISSING)
