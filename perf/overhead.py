"""What does it cost to be tuned? The same tiny trainable through rungwise and through others.

Two trainables: sleep, whose epochs take 50 ms each and nothing else, and report, whose epochs take
no time at all, so that only reporting is left. For each: how long the tuner took from its call to
its return, how many reports a second that makes, and how near it came to the ideal (the time
trained ÷ workers). Two modes: fixed, where every trial trains for the same number of epochs in
every system, so that all make the same reports; and asha, early stopping as each system has it
(81 epochs, η = 3).

Every system runs in a process of its own, in this interpreter or in that of --python. One
environment for all of them (Syne Tune wants an old NumPy, and that an old pyarrow):

    python -m venv /tmp/peers
    /tmp/peers/bin/pip install 'ray[tune]' 'pyarrow<21' optuna syne-tune==0.13.0 -e .

Run it with nothing else on the machine:

    /tmp/peers/bin/python perf/overhead.py
    /tmp/peers/bin/python perf/overhead.py --mode asha
    python perf/overhead.py --python peers=/tmp/peers/bin/python
    python perf/overhead.py --systems rungwise-ray ray-function ray-class
    python perf/overhead.py --systems bare rungwise --trials 100 10000 --limit-seconds 900
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

from _overhead_common import Counts, Task, counted

HERE = Path(__file__).parent
GRACE = 60.0  # seconds after the limit in which a system may end by itself
EPOCHS = {"sleep": 5, "report": 20}
# Of each system: its file, the module that it needs, and the distribution of that.
SYSTEMS = {
    "bare": ("_overhead_bare.py", "json", ""),
    "rungwise": ("_overhead_rungwise.py", "rungwise", "rungwise"),
    "rungwise-full": ("_overhead_rungwise.py", "rungwise", "rungwise"),
    "rungwise-ray": ("_overhead_rungwise.py", "ray", "ray"),
    "rungwise+csv": ("_overhead_rungwise.py", "rungwise", "rungwise"),
    "rungwise+tensorboard": ("_overhead_rungwise.py", "tensorboard", "tensorboard"),
    "rungwise+mlflow": ("_overhead_rungwise.py", "mlflow", "mlflow"),
    "rungwise+wandb": ("_overhead_rungwise.py", "wandb", "wandb"),
    "ray-function": ("_overhead_ray.py", "ray.tune", "ray"),
    "ray-class": ("_overhead_ray.py", "ray.tune", "ray"),
    "optuna-sqlite": ("_overhead_optuna.py", "optuna", "optuna"),
    "optuna-journal": ("_overhead_optuna.py", "optuna", "optuna"),
    "syne-tune": ("_overhead_syne_tune.py", "syne_tune", "syne_tune"),
}
OURS = ("bare", "rungwise", "rungwise-full", "rungwise-ray")
MEASURED = """\
- setup: imports and preparations before the tuner is called, in no other figure: ray.init with
  Ray; with Optuna and bare, starting the worker processes until all are ready. wall: from the call
  of the tuner to its return, which includes starting workers with rungwise, actors with Ray, and a
  process for every job with Syne Tune. 1st: from the call until the first report was made.
- ideal: epochs trained × their length ÷ workers, as the trainable itself counted them, repeated
  ones included. use: ideal ÷ wall; later: both rate and use without the time until the first
  epoch began. reports: those the tuner knows of. MB: the largest resident set of the tuner's
  process (imports included, Ray's servers not), with Optuna, which has none, of a worker.
- cut: stopped by --limit-seconds; figures are of what was achieved until then.
- bare: no tuner, the same processes without reports: what the machine allows."""
DIFFERENCES = {
    "both": """\
- What survives: with rungwise any kill of any process, with rungwise-full and both of Optuna power
  loss, too (Optuna: at least one fsync per report; rungwise: commits may be shared by workers), so
  compare rungwise-full with Optuna. Ray Tune writes reports to files of every trial without fsync,
  and its own state now and then; Syne Tune finds reports in the output files of trials, and writes
  its table and state every 10 s.
- When a report returns: it is committed and decided upon with rungwise, committed with Optuna,
  taken by the tuner with Ray; with Syne Tune it is only printed.
- Configurations are drawn at random everywhere; Optuna's default, TPE, would be slower.
- Syne Tune looks for reports every 0.05 s instead of every 5 s, its default. Every job imports
  Syne Tune for its Reporter, as its documentation has it; that import is most of its time.
- rungwise-ray and Ray Tune run on the same Ray, started in the same way before the clock starts;
  starting actors, checking nodes and starting workers in them counts.
- Workers are kept alive by rungwise, ray-class (reuse_actors) and Optuna; ray-function and Syne
  Tune start a process for every trial or job.""",
    "fixed": """\
- Nothing is decided in this mode: FixedResource, Ray's FIFO, Optuna without pruner (and not
  asked for one), Syne Tune's RandomSearch. Syne Tune may start up to workers - 1 trials more.
- Optuna's processes get equal shares of the trials beforehand; the others hand them out.""",
    "asha": """\
- rungwise and Syne Tune pause trials at every rung and promote the best third; Ray and Optuna
  stop them and never go back, which trains the early ones for longer. So the numbers of reports
  differ: compare rates and use, not wall times. With few trials no system can come near the ideal:
  in the end a few trials climb alone, while the other workers have nothing to do.
- rungwise and Syne Tune write a checkpoint (an empty or tiny file) at every rung, and continue
  from it; Ray and Optuna need none.
- rungwise goes on until nothing can be promoted any more; Syne Tune ends with the jobs that run
  when the last trial has started. Optuna and Syne Tune may start up to workers - 1 trials more.""",
}


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    trainable: str
    trials: int
    system: str
    wall: float
    setup: float
    first: float
    reports: int
    epochs: int
    reports_per_second: float
    reports_per_second_later: float
    ideal: float
    utilisation: float
    utilisation_later: float
    peak_mb: float
    cut: bool


def check(system: str, python: str) -> tuple[str, str]:
    """The version of a system in an interpreter, and why it cannot be run, if so."""
    _, module, distribution = SYSTEMS[system]
    ask = f"import {module}, importlib.metadata as m; print(m.version({distribution!r}))"
    command = [python, "-c", ask if distribution else "print()"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        return "", (done.stderr.strip().splitlines() or ["no reason given"])[-1]
    if module == "rungwise":
        ask = "import rungwise, sys; sys.exit(not hasattr(rungwise, 'tune'))"
        if subprocess.run([python, "-c", ask], check=False).returncode:
            return "", "this rungwise has no rungwise.tune"
    return done.stdout.split("\n")[-2].strip(), ""


def play(task: Task, python: str) -> tuple[dict[str, Any], Counts]:
    """Run a task in its own process; what it said, and what the trainable counted.

    A process that does not end by itself is ended, and what it did until then is what counts.
    """
    folder = Path(task.folder)
    said, complaints = folder / "said", folder / "complaints"
    with said.open("w") as output, complaints.open("w") as errors:
        child = subprocess.Popen(
            [python, str(HERE / SYSTEMS[task.system][0])],
            stdout=output,
            stderr=errors,
            env=task.environment,
            start_new_session=True,
        )
        late = False
        try:
            child.wait(task.limit + 2 * GRACE)  # setup takes time, too
        except subprocess.TimeoutExpired:
            late = True
        finally:
            end(child)
    counts = counted(folder)
    if late:
        if not (folder / "start").exists():
            raise RuntimeError(f"not ready after {task.limit + 2 * GRACE:.0f} s")
        start = float((folder / "start").read_text(encoding="utf-8"))
        wall = time.monotonic() - start
        outcome = {"start": start, "wall": wall, "setup": start - task.born, "seen": counts.reports}
        return outcome | {"peak_mb": 0.0, "cut": True}, counts
    lines = [line for line in said.read_text().splitlines() if line.startswith("{")]
    if child.returncode or not lines:
        tail = complaints.read_text(errors="replace").strip().splitlines()[-5:]
        raise RuntimeError(f"exit status {child.returncode}: " + " | ".join(tail))
    outcome = json.loads(lines[-1])
    return outcome, counts


def end(child: subprocess.Popen[bytes]) -> None:
    """End a process and those that it started and that are still there."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def measure(task: Task, trainable: str, python: str) -> Row:
    """One line of the table."""
    outcome, counts = play(task, python)
    wall, reports = outcome["wall"], outcome["seen"]
    first = counts.first - outcome["start"] if counts.reports else wall
    ideal = counts.epochs * task.seconds / task.workers
    later = max(wall - first, 1e-9)
    return Row(
        trainable=trainable,
        trials=task.trials,
        system=task.system,
        wall=wall,
        setup=outcome["setup"],
        first=first,
        reports=reports,
        epochs=counts.epochs,
        reports_per_second=reports / wall,
        reports_per_second_later=max(reports - 1, 0) / later,
        ideal=ideal,
        utilisation=ideal / wall,
        utilisation_later=ideal / (later + task.seconds),
        peak_mb=outcome["peak_mb"],
        cut=outcome["cut"],
    )


def heading() -> str:
    """The heading of the table."""
    return (
        f"{'':29} {'seconds':>31} {'':>8} {'reports/s':>15} {'use':>11}\n"
        f"{'trainable':9} {'N':>5} {'system':14} {'setup':>6} {'1st':>6} {'wall':>8} {'ideal':>8} "
        f"{'reports':>8} {'all':>7} {'later':>7} {'all':>5} {'later':>5} {'MB':>5}"
    )


def show(row: Row) -> None:
    """Print a line of the table."""
    sleeps = row.trainable == "sleep"
    ideal = f"{row.ideal:8.2f}" if sleeps else f"{'–':>8}"
    use = f"{row.utilisation:5.1%} {row.utilisation_later:5.1%}" if sleeps else f"{'–':>5} {'–':>5}"
    print(
        f"{row.trainable:9} {row.trials:5} {row.system:14} {row.setup:6.2f} {row.first:6.2f} "
        f"{row.wall:8.2f} {ideal} {row.reports:8} {row.reports_per_second:7.0f} "
        f"{row.reports_per_second_later:7.0f} {use} {row.peak_mb:5.0f}{'  cut' if row.cut else ''}",
        flush=True,
    )


def interpreters(pairs: list[str]) -> dict[str, str]:
    """Which interpreter runs which system."""
    chosen = dict.fromkeys(SYSTEMS, sys.executable)
    for pair in pairs:
        name, _, path = pair.partition("=")
        names = [
            system
            for system in SYSTEMS
            if name in {system, system.split("-")[0]} or (name == "peers" and system not in OURS)
        ]
        if not names or not Path(path).exists():
            raise SystemExit(
                f"--python {pair}: must be SYSTEM=PATH, where SYSTEM is one of "
                f"{', '.join(SYSTEMS)}, or what comes before the hyphen, or peers for all but "
                f"{', '.join(OURS)}; and PATH that of an interpreter"
            )
        chosen |= dict.fromkeys(names, str(Path(path).absolute()))
    return chosen


def parse() -> argparse.Namespace:
    """What is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--systems", nargs="+", choices=list(SYSTEMS), default=list(SYSTEMS))
    parser.add_argument("--trainables", nargs="+", choices=list(EPOCHS), default=list(EPOCHS))
    parser.add_argument("--mode", choices=("fixed", "asha"), default="fixed")
    parser.add_argument("--trials", type=int, nargs="+", default=[100, 1000])
    parser.add_argument(
        "--peers-up-to",
        type=int,
        default=1000,
        metavar="TRIALS",
        help="with more trials than this only rungwise is measured",
    )
    parser.add_argument(
        "--epochs", type=int, help="epochs of a trial in mode fixed: 5 of sleep and 20 of report"
    )
    parser.add_argument("--epoch-seconds", type=float, default=0.05, help="of sleep")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument(
        "--limit-seconds", type=float, default=120.0, help="cut off a single study after this time"
    )
    parser.add_argument(
        "--python",
        action="append",
        default=[],
        metavar="SYSTEM=PATH",
        help="the interpreter for a system, for all of a kind (ray, optuna), or for all peers",
    )
    parser.add_argument(
        "--folder", type=Path, help="where studies are written: what a commit costs depends on it"
    )
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    return parser.parse_args()


def available(
    options: argparse.Namespace, pythons: dict[str, str]
) -> tuple[dict[str, str], list[str]]:
    """The versions of the systems that can be measured, and why others cannot."""
    versions: dict[str, str] = {}
    troubles: list[str] = []
    for system in options.systems:
        version, trouble = check(system, pythons[system])
        if not trouble and system == "bare" and options.mode != "fixed":
            trouble = "it trains for a fixed number of epochs only"
        if trouble:
            troubles.append(f"{system}: skipped, {trouble}")
            print(troubles[-1], file=sys.stderr, flush=True)
        else:
            versions[system] = version
    return versions, troubles


def run(options: argparse.Namespace) -> tuple[list[Row], dict[str, str], list[str]]:
    """Measure everything asked for; rows, versions, and what could not be measured."""
    pythons = interpreters(options.python)
    versions, troubles = available(options, pythons)
    rows: list[Row] = []
    for trainable, trials, system in product(options.trainables, options.trials, versions):
        if trials > options.peers_up_to and system not in OURS:
            continue
        with tempfile.TemporaryDirectory(
            prefix="overhead-", dir=options.folder, ignore_cleanup_errors=True
        ) as folder:
            task = Task(
                system=system,
                mode=options.mode,
                trials=trials,
                epochs=options.epochs or EPOCHS[trainable],
                seconds=options.epoch_seconds if trainable == "sleep" else 0.0,
                workers=options.workers,
                limit=options.limit_seconds,
                folder=str(Path(folder).absolute()),
                born=time.monotonic(),
            )
            try:
                rows.append(measure(task, trainable, pythons[system]))
            except RuntimeError as error:
                troubles.append(f"{trainable} {trials} {system}: failed, {error}")
                print(troubles[-1], file=sys.stderr, flush=True)
                continue
        if not options.json:
            show(rows[-1])
    return rows, versions, troubles


def main() -> None:
    """Measure and print."""
    options = parse()
    busy = os.getloadavg()[0]
    if busy > 0.5:
        print(f"other work runs on this machine (load {busy:.1f}): expect noise", file=sys.stderr)
    if not options.json:
        print(heading())
    rows, versions, troubles = run(options)
    differences = f"{DIFFERENCES[options.mode]}\n{DIFFERENCES['both']}"
    machine = (
        f"Python {platform.python_version()}, {os.cpu_count()} cores, {platform.platform()}, "
        f"load {busy:.1f} before"
    )
    if options.json:
        document = {
            "rows": [asdict(row) for row in rows],
            "mode": options.mode,
            "workers": options.workers,
            "epoch_seconds": options.epoch_seconds,
            "limit_seconds": options.limit_seconds,
            "versions": versions,
            "machine": machine,
            "not_measured": troubles,
            "measured": MEASURED.splitlines(),
            "differences": differences.splitlines(),
        }
        json.dump(document, sys.stdout, indent=1, ensure_ascii=False)
        print()
        return
    named = ", ".join(f"{system} {version}" for system, version in versions.items() if version)
    print(
        f"\nMode {options.mode}, {options.workers} workers; {machine}; {named}.\n"
        f"Measured:\n{MEASURED}\n"
        f"What differs between the systems:\n{differences}"
    )
    for trouble in troubles:
        print(trouble)


if __name__ == "__main__":
    main()
