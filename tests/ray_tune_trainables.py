"""What the tests of Ray Tune train, in processes of Ray."""

import json
import tempfile
from pathlib import Path

from ray import tune


def find_start():
    """The epoch of the checkpoint; 0 without one."""
    checkpoint = tune.get_checkpoint()
    if checkpoint is None:
        return 0
    with checkpoint.as_directory() as folder:
        return json.loads(Path(folder, "epoch").read_text())


def report(epoch, **metrics):
    """Report, with a checkpoint that has the epoch."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "epoch").write_text(str(epoch))
        tune.report({"epoch": epoch, **metrics}, checkpoint=tune.Checkpoint.from_directory(folder))


def train_host_study(config, study=None):
    """Train what the suite of adapters says."""
    for epoch in range(find_start() + 1, study.max_resource + 1):
        report(epoch, value=study.train(config["row"], epoch))


def train_and_record(config, folder=None, stop_at=None):
    """Train, and write down every epoch."""
    for epoch in range(find_start() + 1, 28):
        with Path(folder, "trained").open("a") as file:
            file.write(f"{config['x']!r} {epoch}\n")
        report(epoch, loss=config["x"] + 1 / epoch, constant=config.get("constant", 0))
