"""What ``rungwise demo`` tunes: a small neural network that reads handwritten digits.

The images come with scikit-learn (1,797 of 8 × 8 points). Three fifths are trained on, one fifth
gives the reported accuracy, and one fifth is used once, to test the best model in the end. The
split is fixed: every configuration and every seed gets the same.
"""

from __future__ import annotations

import importlib
import pickle
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rungwise.errors import MissingExtraError
from rungwise.run import Run
from rungwise.space import Float, Int

SPACE = {
    "learning_rate": Float(1e-3, 1.0, log=True),
    "momentum": Float(0.0, 0.95),
    "batch_size": [16, 32, 64, 128],
    "hidden_units": Int(8, 256, log=True),
    "activation": ["relu", "tanh", "logistic"],
    "l2": Float(1e-6, 1e-1, log=True),
}

PRELOAD = ("sklearn.datasets", "sklearn.model_selection", "sklearn.neural_network")


class Part(NamedTuple):
    """Some of the images: one a row, and the digit each shows."""

    images: NDArray[np.float64]
    digits: NDArray[np.int64]


class Digits(NamedTuple):
    """The three parts of the data."""

    training: Part
    validation: Part
    test: Part


@lru_cache(maxsize=1)
def load() -> Digits:
    """The images, split; a worker does it once.

    Raises:
        MissingExtraError: scikit-learn is not installed.
    """
    images, digits = _sklearn("datasets").load_digits(return_X_y=True)
    split = _sklearn("model_selection").train_test_split
    fifth = len(digits) // 5

    def cut(part: Part) -> tuple[Part, Part]:
        rest, off, rest_digits, off_digits = split(
            *part, test_size=fifth, stratify=part.digits, random_state=0
        )
        return Part(rest, rest_digits), Part(off, off_digits)

    rest, test = cut(Part(images / 16.0, digits))
    training, validation = cut(rest)
    return Digits(training, validation, test)


def train(config: dict[str, Any], run: Run) -> None:
    """Train one configuration, an epoch at a time.

    Args:
        config: a configuration of :data:`SPACE`.
        run: the job to train.
    """
    data = load()
    model = _load_model(run.latest) if run.latest else build(config, run.seed)
    for epoch in run.resources():
        model.partial_fit(*data.training, classes=range(10))
        with run.checkpoint(epoch) as folder:
            (folder / "model.pickle").write_bytes(pickle.dumps(model))
        run.report(epoch, accuracy=model.score(*data.validation))


def test(checkpoint: Path) -> float:
    """How many of the test images the model of a checkpoint reads."""
    return float(_load_model(checkpoint).score(*load().test))


def _load_model(checkpoint: Path) -> Any:
    return pickle.loads((checkpoint / "model.pickle").read_bytes())  # noqa: S301 - our own


def build(config: dict[str, Any], seed: int) -> Any:
    """The network of a configuration, untrained."""
    return _sklearn("neural_network").MLPClassifier(
        hidden_layer_sizes=(config["hidden_units"],),
        activation=config["activation"],
        solver="sgd",
        alpha=config["l2"],
        batch_size=config["batch_size"],
        learning_rate_init=config["learning_rate"],
        momentum=config["momentum"],
        # A generator and no number: with a number every epoch would see the same order. It is
        # part of the checkpoint, so it makes no difference how training is split into jobs.
        random_state=np.random.RandomState(seed),
    )


def _sklearn(part: str) -> Any:
    try:
        return importlib.import_module(f"sklearn.{part}")
    except ImportError:
        raise MissingExtraError("The demo", "demo") from None
