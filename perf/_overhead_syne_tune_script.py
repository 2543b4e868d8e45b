"""The script that Syne Tune starts for every job of a trial, see _overhead_syne_tune.py.

It imports Syne Tune for its Reporter, as Syne Tune's documentation has it.
"""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path

from _overhead_common import Task, tally


def main() -> None:
    """Train from the last checkpoint up to ``--epochs``."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--x", type=float)
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--st_checkpoint_dir", type=Path)
    options, _ = parser.parse_known_args()
    report = importlib.import_module("syne_tune").Reporter()
    task = Task.given()
    mine = tally(task)
    path = options.st_checkpoint_dir / "epoch"
    done = int(path.read_text(encoding="ascii")) if path.exists() else 0
    for epoch in range(done + 1, options.epochs + 1):
        report(loss=mine.train(options.x, epoch), epoch=epoch)
        mine.reported()
    if task.mode == "asha":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(str(options.epochs), encoding="ascii")


if __name__ == "__main__":
    main()
