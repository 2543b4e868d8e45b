"""The training functions of the studies in this folder: modules import them by these names."""

import math
import os
import time


def measure(config, epoch):
    """A curve: the smaller ``rate``, the slower it falls."""
    x, rate = config["x"], config["rate"]
    return abs(x - 0.3) + (1 - rate) / epoch + (0.05 if config["kind"] == "b" else 0.0)


def train(config, run):
    """With another metric, and a checkpoint."""
    for epoch in run.resources():
        with run.checkpoint(epoch) as folder:
            (folder / "epoch").write_text(str(epoch))
        value = measure(config, epoch)
        run.report(epoch, loss=value, doubled=2 * value, epochs=epoch)


def train_badly(config, run):
    """What lies far from the best fails or diverges, and more often the larger ``x`` is."""
    for epoch in run.resources():
        value = measure(config, epoch)
        if config["x"] > 0.85:
            raise ValueError("x is too large")
        if config["x"] > 0.7 and epoch > 1:
            value = math.nan
        run.report(epoch, loss=value, gap=math.inf if value > 1 else value - 1)


def train_slowly(config, run):
    """Slow enough to be killed in the middle."""
    for epoch in run.resources():
        time.sleep(float(os.environ.get("RUNGWISE_TEST_PAUSE", "0")))
        with run.checkpoint(epoch) as folder:
            (folder / "epoch").write_text(str(epoch))
        run.report(epoch, loss=measure(config, epoch))


def train_worse(config, run):
    """Over-fits: the longer it trains, the worse it is."""
    for epoch in run.resources():
        run.report(epoch, loss=abs(config["x"] - 0.3) + 0.02 * config["rate"] * epoch)
