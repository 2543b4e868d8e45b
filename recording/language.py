"""Recorder of `text-hpo`: many small transformers at once, predicting the next symbol of a text."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from data import SYMBOLS, Text
from training import Captured, Clock, Examiner, Rates, Sgd, Weights

Tensor = torch.Tensor


@dataclass(frozen=True)
class Size:
    """How large each transformer is, and how long it trains."""

    layers: int = 2
    width: int = 64
    heads: int = 4
    context: int = 64
    batch: int = 8
    steps_a_point: int = 6
    points: int = 1414
    examined: int = 64
    """How many windows of the context's length are examined at each point."""


class Transformers:
    """Pre-norm transformers, [models, …] throughout."""

    def __init__(self, models: int, size: Size, device: str, dtype: torch.dtype) -> None:
        self.models, self.size, self.dtype = models, size, dtype
        self.weights = Weights(device)
        w = self.weights
        d = size.width
        # Embeddings and outputs start smaller than He's weights, as is usual for transformers.
        self.symbols = w.normal((models, SYMBOLS, d), 2 * 50 * 50)
        self.places = w.normal((models, size.context, d), 2 * 50 * 50)
        self.layers = [
            {
                "scale1": w.full((models, 1, d), 1.0),
                "shift1": w.full((models, 1, d), 0.0),
                "qkv": w.normal((models, d, 3 * d), 2 * d),
                "merge": w.normal((models, d, d), 2 * d),
                "scale2": w.full((models, 1, d), 1.0),
                "shift2": w.full((models, 1, d), 0.0),
                "wide": w.normal((models, d, 4 * d), d),
                "wide_bias": w.full((models, 1, 4 * d), 0.0),
                "narrow": w.normal((models, 4 * d, d), 8 * d),
                "narrow_bias": w.full((models, 1, d), 0.0),
            }
            for _ in range(size.layers)
        ]
        self.scale = w.full((models, 1, d), 1.0)
        self.shift = w.full((models, 1, d), 0.0)
        self.head = w.normal((models, d, SYMBOLS), 2 * d)

    def _norm(self, x: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
        return F.layer_norm(x, (x.shape[-1],)) * scale.to(x.dtype) + shift.to(x.dtype)

    def _attend(self, x: Tensor, layer: dict[str, Tensor], windows: int) -> Tensor:
        size = self.size
        qkv = torch.bmm(x, layer["qkv"].to(x.dtype))
        shape = (self.models * windows, size.context, 3, size.heads, size.width // size.heads)
        q, k, v = qkv.view(shape).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        back = mixed.transpose(1, 2).reshape(x.shape)
        return torch.bmm(back, layer["merge"].to(x.dtype))

    def answers(self, tokens: Tensor) -> Tensor:
        """Logits [models, windows × context, symbols] of tokens [models, windows, context]."""
        models, windows, context = tokens.shape
        hot = F.one_hot(tokens.flatten(1).long(), SYMBOLS).to(self.dtype)
        x = torch.bmm(hot, self.symbols.to(self.dtype))
        places = self.places.to(self.dtype)[:, None]
        x = (x.view(models, windows, context, -1) + places).view(models, windows * context, -1)
        for layer in self.layers:
            x = x + self._attend(self._norm(x, layer["scale1"], layer["shift1"]), layer, windows)
            h = self._norm(x, layer["scale2"], layer["shift2"])
            h = torch.baddbmm(layer["wide_bias"].to(x.dtype), h, layer["wide"].to(x.dtype))
            h = F.gelu(h, approximate="tanh")
            x = x + torch.baddbmm(layer["narrow_bias"].to(x.dtype), h, layer["narrow"].to(x.dtype))
        return torch.bmm(self._norm(x, self.scale, self.shift), self.head.to(x.dtype))


class Trainer:
    """Trains all transformers, and examines them at every point."""

    def __init__(
        self, models: int, text: Text, size: Size, device: str, dtype: torch.dtype
    ) -> None:
        self.network = Transformers(models, size, device, dtype)
        self.size, self.device = size, device
        self.clock = Clock(size.points * size.steps_a_point, device)
        self.hyper = Rates.alike(models, 0.1, 0.9, 0.0, device)
        self.power = torch.ones(models, device=device)
        self.fraction = torch.ones(models, device=device)
        self.sgd = Sgd(self.network.weights)
        self.starts = torch.zeros(
            (size.steps_a_point, models, size.batch), dtype=torch.int64, device=device
        )
        self.largest = len(text.train) - size.context - 1
        window = torch.arange(size.context + 1, device=device)
        answers = self.network.answers
        if device == "cuda":
            answers = torch.compile(answers, dynamic=False)

        def step(number: int) -> None:
            taken = text.train[self.starts[number][..., None] + window]
            logits = answers(taken[..., :-1])
            wanted = taken[..., 1:].reshape(-1).long()
            loss = F.cross_entropy(logits.view(-1, SYMBOLS).float(), wanted, reduction="sum")
            (loss / (size.batch * size.context)).backward()
            self.sgd.step(self.hyper, self.clock.polynomial(self.power, self.fraction))
            self.clock.tick()

        def steps() -> None:
            for number in range(size.steps_a_point):
                step(number)

        self._steps = Captured(steps, device)

        def examiner(part: Tensor) -> Examiner:
            gap = (len(part) - size.context - 1) // size.examined
            windows = part[torch.arange(size.examined, device=device)[:, None] * gap + window]
            return Examiner(answer, models, windows[:, :-1], windows[:, 1:].long(), 1)

        def answer(tokens: Tensor) -> Tensor:
            logits = answers(tokens.expand(models, -1, -1).contiguous())
            return logits.view(models, *tokens.shape, SYMBOLS)

        self.valid, self.test = examiner(text.valid), examiner(text.test)

    def run(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Right next symbols on the validation text at every point; and on the test text."""
        self.network.weights.restart(seed)
        self.sgd.restart()
        self.clock.now.zero_()
        source = torch.Generator(self.device).manual_seed(seed)
        curves = []
        for _ in range(self.size.points):
            self.starts.random_(0, self.largest, generator=source)
            self._steps()
            curves.append(self.valid())
        return torch.stack(curves, 1).cpu().numpy(), self.test().cpu().numpy()
