"""The script that Syne Tune starts for every trial of peers.py."""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path

from _peers_task import MAX_EPOCHS, Network


def main() -> None:
    """Train from the last checkpoint on."""
    parser = argparse.ArgumentParser()
    for name in ("learning_rate", "momentum", "decay"):
        parser.add_argument(f"--{name}", type=float)
    for name in ("batch_size", "hidden_units", "seed"):
        parser.add_argument(f"--{name}", type=int)
    parser.add_argument("--st_checkpoint_dir", type=Path)
    options, _ = parser.parse_known_args()
    report = importlib.import_module("syne_tune").Reporter()
    network = Network(vars(options), options.seed)
    path = None
    if options.st_checkpoint_dir is not None:
        options.st_checkpoint_dir.mkdir(parents=True, exist_ok=True)
        path = options.st_checkpoint_dir / "model.npz"
        if path.exists():
            network.restore(path)
    for epoch in range(network.epoch + 1, MAX_EPOCHS + 1):
        network.train()
        if path is not None:
            network.save(path)
        report(accuracy=network.validate(), epoch=epoch)


if __name__ == "__main__":
    main()
