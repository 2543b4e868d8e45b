"""Recorders of `fashion-nas` and `fashion-hpo`: many small convolutional networks at once."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
import torch.nn.functional as F
from cells import CellWeights, Plan, cell
from data import CLASSES, Images
from layers import Running, conv, norm
from training import Captured, Clock, Examiner, Orders, Rates, Sgd, Weights

Tensor = torch.Tensor
PATCH = 4
SIDE = 7


class Moved:
    """Images as patches, each moved by a few pixels, so that a network must not rely on places.

    Images have an empty margin added; where one is cut out of it decides how it is moved.

    Args:
        images: [n, 28, 28], from 0 to 1.
        pixels: by how many pixels they are moved at most, in each direction.
        dtype: of the patches.
    """

    def __init__(self, images: Tensor, pixels: int, dtype: torch.dtype) -> None:
        wide = F.pad(images, (pixels, pixels, pixels, pixels))
        self.pixels, self._side = pixels, wide.shape[-1]
        self._flat = ((wide - 0.286) / 0.353).to(dtype).reshape(-1)
        self._size = self._side**2
        place = torch.arange(SIDE * PATCH, device=images.device)
        rows = place.view(SIDE, 1, PATCH, 1)
        columns = place.view(1, SIDE, 1, PATCH)
        self._places = (rows * self._side + columns).reshape(-1)

    def cut(self, chosen: Tensor, corners: Tensor) -> Tensor:
        """Patches [..., 7, 7, 16] of images [...], cut out at corners [..., 2] (row, column)."""
        first = chosen * self._size + corners[..., 0] * self._side + corners[..., 1]
        found = self._flat[first[..., None] + self._places]
        return found.view(*chosen.shape, SIDE, SIDE, PATCH * PATCH)

    def somewhere(self, *shape: int) -> Tensor:
        """Corners drawn at random."""
        most = 2 * self.pixels + 1
        return torch.randint(0, most, (*shape, 2), device=self._flat.device)

    def fixed(self, count: int) -> Tensor:
        """All images, each moved once and for all."""
        corners = np.random.default_rng(28).integers(0, 2 * self.pixels + 1, (count, 2))
        everyone = torch.arange(count, device=self._flat.device)
        return self.cut(everyone, torch.tensor(corners, device=self._flat.device))


def product(x: Tensor, weight: Tensor) -> Tensor:
    """[models, …, ci] times [models, ci, co], for each model."""
    y = torch.bmm(x.reshape(len(x), -1, x.shape[-1]), weight.to(x.dtype))
    return y.view(*x.shape[:-1], weight.shape[-1])


class Norms:
    """The γ, β and running statistics of a batch norm for all models."""

    def __init__(self, weights: Weights, rows: int, channels: int) -> None:
        self.gamma = weights.full((rows, channels), 1.0)
        self.beta = weights.full((rows, channels), 0.0)
        self.running = Running.fresh(rows, channels, weights.device)

    def restart(self) -> None:
        """Forget the statistics."""
        self.running.mean.zero_()
        self.running.var.fill_(1.0)

    def __call__(self, y: Tensor, *, train: bool, relu: bool) -> Tensor:
        return norm(y, self.gamma, self.beta, self.running, train=train, relu=relu)


class Network:
    """The skeleton: patches, stages of 7×7, 4×4 (and 2×2), merged 2×2 between them, and a head."""

    def __init__(self, models: int, channels: tuple[int, ...], device: str) -> None:
        self.models = models
        self.weights = Weights(device)
        self.stem = self.weights.normal((models, PATCH * PATCH, channels[0]), PATCH * PATCH)
        self.norms = [Norms(self.weights, models, channels[0])]
        self.merges: list[Tensor] = []
        for before, after in pairwise(channels):
            self.merges.append(self.weights.normal((models, 4 * before, after), 4 * before))
            self.norms.append(Norms(self.weights, models, after))
        self.head = self.weights.normal((models, channels[-1], CLASSES), 2 * channels[-1])
        self.bias = self.weights.full((models, 1, CLASSES), 0.0)
        self.channels = channels

    def rates(self, own: Rates) -> list[Rates]:
        """The rates of every weight: those of its model."""
        return [own for _ in self.weights]

    def stage(self, x: Tensor, number: int, *, train: bool) -> Tensor:
        """What happens at one resolution."""
        raise NotImplementedError

    def answers(self, x: Tensor, *, train: bool) -> Tensor:
        """Logits [models, images, classes] of patches [models, images, 7, 7, 16]."""
        x = self.norms[0](product(x, self.stem), train=train, relu=False)
        for number in range(len(self.channels)):
            if number:
                x = self.norms[number](
                    product(_merged(F.relu(x)), self.merges[number - 1]), train=train, relu=False
                )
            x = self.stage(x, number, train=train)
        pooled = F.relu(x).float().mean((2, 3))
        return torch.baddbmm(self.bias, pooled, self.head)

    def restart(self, seed: int) -> None:
        """New weights, no statistics."""
        self.weights.restart(seed)
        for one in self.norms:
            one.restart()


def _merged(x: Tensor) -> Tensor:
    """Two by two positions as one, of four times the channels; an odd side is padded."""
    models, images, side, _, channels = x.shape
    if side % 2:
        x = F.pad(x, (0, 0, 0, 1, 0, 1))
    half = (side + 1) // 2
    return (
        x.view(models, images, half, 2, half, 2, channels)
        .transpose(3, 4)
        .reshape(models, images, half, half, 4 * channels)
    )


class Cells(Network):
    """A cell of NAS-Bench-201 in each stage; which one, the plan says."""

    def __init__(self, plan: Plan, channels: tuple[int, ...], device: str) -> None:
        super().__init__(plan.models, channels, device)
        self.plan = plan
        self.cells: list[CellWeights] = []
        self._own = len(list(self.weights))
        for c in channels:
            w3 = self.weights.normal((plan.convolutions3, 3, 3, c, c), 9 * c)
            w1 = self.weights.normal((plan.convolutions1, 1, 1, c, c), c)
            norms = Norms(self.weights, len(plan.reads), c)
            self.norms.append(norms)
            self.cells.append(CellWeights(w3, w1, norms.gamma, norms.beta, norms.running))

    def rates(self, own: Rates) -> list[Rates]:
        # All architectures train alike, so a row of weights may take the rates of any of them.
        return [
            own.expanded(torch.zeros(len(w), dtype=torch.int64, device=w.device))
            for w in self.weights
        ]

    def stage(self, x: Tensor, number: int, *, train: bool) -> Tensor:
        return cell(x, self.cells[number], self.plan, train=train)


class Plain(Network):
    """A 3×3 convolution in each stage."""

    def __init__(self, models: int, channels: tuple[int, ...], device: str) -> None:
        super().__init__(models, channels, device)
        self.convolutions = []
        for c in channels:
            self.convolutions.append(self.weights.normal((models, 3, 3, c, c), 9 * c))
            self.norms.append(Norms(self.weights, models, c))

    def stage(self, x: Tensor, number: int, *, train: bool) -> Tensor:
        own = self.norms[len(self.channels) + number]
        return own(conv(F.relu(x), self.convolutions[number]), train=train, relu=True)


@dataclass(frozen=True)
class Settings:
    """How long and on how much is trained."""

    epochs: int
    batch: int
    slices: int
    dtype: torch.dtype
    device: str
    moved: int = 0


class Trainer:
    """Trains all models of a network, and examines them after every epoch."""

    def __init__(self, network: Network, images: Images, settings: Settings) -> None:
        self.network, self.settings = network, settings
        device, dtype = settings.device, settings.dtype
        inputs, labels = Moved(images.train[0], settings.moved, dtype), images.train[1]
        self.orders = Orders(network.models, len(labels), settings.batch, device)
        self.clock = Clock(settings.epochs * self.orders.steps, device)
        self.sgd = Sgd(network.weights)
        self.hyper = Rates.alike(network.models, 0.1, 0.9, 5e-4, device)
        self.power = torch.ones(network.models, device=device)
        self.fraction = torch.ones(network.models, device=device)
        self.cosine = isinstance(network, Cells)
        rates = network.rates(self.hyper)

        def step() -> None:
            chosen = self.orders.examples(self.clock)
            taken = inputs.cut(chosen, inputs.somewhere(*chosen.shape))
            logits = network.answers(taken, train=True)
            loss = F.cross_entropy(logits.flatten(0, 1), labels[chosen].flatten(), reduction="sum")
            (loss / settings.batch).backward()
            self.sgd.step(rates, self._factor())
            self.clock.tick()

        self._step = Captured(step, device)

        def answer(x: Tensor) -> Tensor:
            everybody = x.expand(network.models, *x.shape).contiguous()
            return network.answers(everybody, train=False)

        def examiner(x: Tensor, y: Tensor, slices: int) -> Examiner:
            fixed = Moved(x, settings.moved, dtype).fixed(len(x))
            return Examiner(answer, network.models, fixed, y, slices)

        self.valid = examiner(*images.valid, settings.slices)
        self.test = examiner(*images.test, 2 * settings.slices)

    def _factor(self) -> Tensor:
        if self.cosine:
            return self.clock.cosine()
        return self.clock.polynomial(self.power, self.fraction)

    def run(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Right answers on the validation set after each epoch, and on the test set at the end."""
        self.network.restart(seed)
        self.sgd.restart()
        self.clock.now.zero_()
        source = torch.Generator(self.settings.device).manual_seed(seed)
        torch.manual_seed(seed)
        curves = []
        for epoch in range(self.settings.epochs):
            self.orders.shuffle(source)
            for _ in range(self.orders.steps):
                self._step()
            curves.append(self.valid())
            if epoch % 50 == 49:
                print(f"  epoch {epoch + 1}, best {curves[-1].max().item()}", flush=True)
        return torch.stack(curves, 1).cpu().numpy(), self.test().cpu().numpy()
