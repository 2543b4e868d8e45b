"""How long commands and the library take to start, in this tree and in another one.

Every command runs in a fresh process, in both trees alternately, and medians are compared, so that
a busy machine slows both: of the time that passes, and of the processor time, which depends less on
what else runs. Both use the packages of the interpreter that runs this script; bytecode is kept in
a temporary folder and written before anything is measured.

For example, against the commit 05ed0da:

    mkdir /tmp/old && git archive 05ed0da | tar -x -C /tmp/old
    python perf/startup.py /tmp/old
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]

STUDY = """
import sys

import rungwise as rw


def train(config, run):
    for epoch in run.resources():
        run.report(epoch, error=(1 - config["x"]) ** 2 + 1 / epoch)


if __name__ == "__main__":
    options = {"metric": "error", "goal": "min", "max_resource": 27, "trials": 20}
    rw.tune(train, {"x": rw.Float(0, 1)}, **options, workers=2, study=sys.argv[1], show="quiet")
"""
"""A small study. Each tree makes one for itself; that of the older one, which both can read, has no
summary in this one."""

CASES = {
    "import rungwise": ("-c", "import rungwise"),
    "rw.PASHA": ("-c", "import rungwise as rw; rw.PASHA"),
    "rw.tune": ("-c", "import rungwise as rw; rw.tune"),
    "rungwise --version": ("-m", "rungwise", "--version"),
    "rungwise --help": ("-m", "rungwise", "--help"),
    "rungwise show --help": ("-m", "rungwise", "show", "--help"),
    "rungwise show": ("-m", "rungwise", "show", "OWN.db"),
    "… of the older one": ("-m", "rungwise", "show", "../other/other.db"),
    "rungwise list": ("-m", "rungwise", "list"),
}


class Taken(NamedTuple):
    """Seconds that a fresh process takes: of the clock, and of the processor."""

    wall: float
    processor: float


def run(arguments: tuple[str, ...], tree: Path, folder: Path) -> Taken:
    """Run a fresh process and measure it.

    Args:
        arguments: of Python.
        tree: the checkout.
        folder: where it is run.
    """
    environment = {**os.environ, "PYTHONPATH": str(tree / "src")}
    environment["PYTHONPYCACHEPREFIX"] = str(folder.parent / "bytecode")
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before, begun = _processor_time(), time.perf_counter()
    subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return Taken(time.perf_counter() - begun, _processor_time() - before)


def _processor_time() -> float:
    """Of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("other", type=Path, help="another checkout, to compare with")
    parser.add_argument("--rounds", type=int, default=15, help="processes per case and tree")
    given = parser.parse_args()
    trees = {"this tree": ROOT, "other": given.other.resolve()}
    with tempfile.TemporaryDirectory() as name:
        folders = {"this tree": Path(name, "this"), "other": Path(name, "other")}
        for tree, folder in folders.items():
            folder.mkdir()
            (folder / "study.py").write_text(STUDY, encoding="utf-8")
            run(("study.py", f"{folder.name}.db"), trees[tree], folder)
        print(f"Medians of {given.rounds} processes, in milliseconds: this tree, the other, ratio")
        print(f"{'':22}{'wall':>8}{'':13}{'processor':>14}")
        for case, arguments in CASES.items():
            taken: dict[str, list[Taken]] = {tree: [] for tree in trees}
            for place in range(-1, given.rounds):
                for tree, path in trees.items():
                    folder = folders[tree]
                    own = (each.replace("OWN", folder.name) for each in arguments)
                    found = run((*own,), path, folder)
                    if place >= 0:  # the first one writes bytecode
                        taken[tree].append(found)
            cells = ""
            for part in range(2):
                ours, theirs = (
                    1000 * statistics.median(one[part] for one in taken[tree]) for tree in trees
                )
                cells += f"{ours:8.0f}{theirs:6.0f}{ours / theirs:7.2f}"
            print(f"{case:22}{cells}", flush=True)


if __name__ == "__main__":
    main()
