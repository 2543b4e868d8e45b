"""A training script: only five lines of it are for rungwise.

    rungwise tune train.py --space space.yaml --metric accuracy --goal max \
        --max-resource 27 --trials 12 --workers 2

It is a stand-in for real training: a perceptron for two clouds of points, in plain Python.
"""

import argparse
import json
import os
import random
from pathlib import Path


def report(epoch: int, **metrics: object) -> None:
    """Report to rungwise how good the model is after an epoch."""
    with open(os.environ["RUNGWISE_REPORTS"], "a") as file:  # noqa: PTH123 - short, to be copied
        file.write(json.dumps({"resource": epoch, **metrics}) + "\n")


def points(count: int, seed: int) -> list[tuple[float, float, int]]:
    """Points of two classes that overlap a little."""
    rng = random.Random(seed)  # noqa: S311 - no secret
    return [
        (rng.gauss(side, 1.0), rng.gauss(-side, 1.0), side)
        for side in rng.choices((-1, 1), k=count)
    ]


parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, required=True)
parser.add_argument("--decay", type=float, required=True)
parser.add_argument("--order", choices=["fixed", "shuffled"], required=True)
config = parser.parse_args()

start = int(os.environ["RUNGWISE_START"])
until = int(os.environ["RUNGWISE_UNTIL"] or 10**6)  # empty: until rungwise ends it
save, latest = Path(os.environ["RUNGWISE_SAVE"]), os.environ["RUNGWISE_LATEST"]

weights = json.loads((Path(latest) / "model.json").read_text()) if latest else [0.0, 0.0, 0.0]
train, test = points(200, seed=1), points(500, seed=2)

for epoch in range(start + 1, until + 1):
    order = random.Random(epoch if config.order == "shuffled" else 0)  # noqa: S311 - no secret
    for x, y, side in order.sample(train, len(train)):
        if side * (weights[0] * x + weights[1] * y + weights[2]) <= 0:
            rate = config.lr * config.decay**epoch * side
            weights = [weights[0] + rate * x, weights[1] + rate * y, weights[2] + rate]
    right = sum(side * (weights[0] * x + weights[1] * y + weights[2]) > 0 for x, y, side in test)
    report(epoch, accuracy=right / len(test))

# Saved once, at the end: what lies here when the script ends well is its checkpoint.
(save / "model.json").write_text(json.dumps(weights))
