"""How much does a report cost here, and how much in Syne Tune 0.13.0?

Both play ASHA and PASHA on the same table of noisy power-law curves (200 epochs, η = 3, 4 workers)
in virtual time, the same rows in the same order, and stop as soon as the last configuration has
started. What counts is CPU time per report:

    rungwise   all of rungwise.simulate: study, event loop, engine, criterion, result
    Syne Tune  its scheduler (suggest, on_trial_add, on_trial_result, on_trial_remove, in the order
               of its Tuner) under a bare event loop; no Tuner, no backend, no logging, no files;
               making the scheduler is not counted

Imports and tables are counted nowhere. Syne Tune runs in an interpreter of its own: that of
--syne-python, or of an environment that this script makes once (venv, pip). Run it with nothing
else on the machine:

    python benchmarks/against_syne_tune.py
    python benchmarks/against_syne_tune.py --configurations 4096 --seeds 1 --limit-seconds 120

The two do not decide exactly alike, see DIFFERENCES; so compare the numbers of reports, too.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.metadata
import io
import json
import logging
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from heapq import heappop, heappush
from pathlib import Path
from typing import Any

VERSION = "0.13.0"
SCHEDULERS = ("ASHA", "PASHA")
EPOCHS, WORKERS = 200, 4
DIFFERENCES = """\
- The last rung below the maximum: Syne Tune promotes up to its 81/200 quantile, rungwise one in 3.
- The ε of PASHA: Syne Tune looks at every pair of trials in the top epochs after every report, in
  the order of sets of names, so that ε may depend on string hashes (fixed by PYTHONHASHSEED=0)."""
DIFFERENCES_IN_RULES = {
    "paper": """\
- Promotion: the best ⌊n/3⌋ of a rung in rungwise; in Syne Tune all up to the 1/3 quantile (linearly
  interpolated), from two trials on, which promotes more while rungs are small.
- PASHA compares rankings when a trial arrives in the top rung; in Syne Tune after every report.
  (--rules code makes rungwise do both as Syne Tune does.)
""",
    "code": "",
}


@dataclass(frozen=True)
class Row:
    """One line of the table; medians over seeds."""

    scheduler: str
    configurations: int
    reports: int
    reports_syne_tune: int
    furthest: int
    furthest_syne_tune: int
    microseconds: float
    microseconds_syne_tune: float
    ratio: float
    ratios: list[float]
    started_syne_tune: int
    cut: bool


# -- the Syne Tune side: runs in the other interpreter, must not import rungwise -------------------


def play(
    scheduler: Any, curves: list[list[float]], seconds: list[float], limit: float
) -> dict[str, Any]:
    """Drive a scheduler of Syne Tune as its Tuner does, in virtual time.

    Ends as soon as every curve has been started, or after so many seconds of real time.
    """
    Trial = importlib.import_module("syne_tune.backend.trial_status").Trial
    created = datetime.now(timezone.utc)
    agenda: list[tuple[float, int, Any]] = []
    trials: list[Any] = []
    epochs = [0] * len(curves)
    free, now, scheduled, reports = WORKERS, 0.0, 0, 0
    deadline = time.monotonic() + limit
    start = time.process_time()
    while True:
        while free and len(trials) < len(curves):
            suggestion = scheduler.suggest(trial_id=len(trials))
            if suggestion.spawn_new_trial_id:
                trial = Trial(len(trials), suggestion.config.copy(), created)
                scheduler.on_trial_add(trial=trial)
                trials.append(trial)
            else:
                trial = trials[suggestion.checkpoint_trial_id]
                if suggestion.config is not None:
                    trial.config = suggestion.config
            free -= 1
            scheduled += 1
            heappush(agenda, (now + seconds[trial.trial_id], scheduled, trial))
        if len(trials) == len(curves) or time.monotonic() > deadline:
            break
        now, _, trial = heappop(agenda)
        row = trial.trial_id
        result = {"loss": curves[row][epochs[row]], "epoch": epochs[row] + 1}
        epochs[row] += 1
        reports += 1
        if scheduler.on_trial_result(trial=trial, result=result) == "CONTINUE":
            scheduled += 1
            heappush(agenda, (now + seconds[row], scheduled, trial))
        else:  # paused at a rung, or stopped at the last epoch
            scheduler.on_trial_remove(trial=trial)
            free += 1
    return {
        "cpu": time.process_time() - start,
        "reports": reports,
        "started": len(trials),
        "furthest": max(epochs),
        "cut": len(trials) < len(curves),
    }


def scheduler_of_syne_tune(name: str, configurations: int, seed: int) -> Any:
    """ASHA or PASHA that starts the configurations row = 0, 1, 2 and so on."""
    baselines = importlib.import_module("syne_tune.optimizer.baselines")
    randint = importlib.import_module("syne_tune.config_space").randint
    # The rows are handed over as points to evaluate, as rungwise gets them: drawing them all at
    # random without replacement would cost Syne Tune retries that are not its schedulers' fault.
    return getattr(baselines, name)(
        {"row": randint(0, configurations)},
        metric="loss",
        resource_attr="epoch",
        mode="min",
        max_t=EPOCHS,
        grace_period=1,
        reduction_factor=3,
        random_seed=seed,
        search_options={"debug_log": False},
        points_to_evaluate=[{"row": row} for row in range(configurations)],
        **({"type": "promotion"} if name == "ASHA" else {}),
    )


def child(path: str, name: str, seed: int, limit: float) -> None:
    """Measure one scheduler on the table in a file and print what came of it."""
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    with contextlib.redirect_stdout(io.StringIO()):
        with importlib.import_module("numpy").load(path) as file:
            curves, seconds = file["values"].tolist(), file["seconds"].tolist()
        play(scheduler_of_syne_tune(name, 16, seed), curves[:16], seconds[:16], limit)  # warm up
        scheduler = scheduler_of_syne_tune(name, len(curves), seed)
        outcome = play(scheduler, curves, seconds, limit)
    versions = {
        "syne_tune": importlib.metadata.version("syne_tune"),
        "numpy": importlib.metadata.version("numpy"),
        "python": platform.python_version(),
    }
    print(json.dumps({**outcome, "versions": versions}))


# -- our side --------------------------------------------------------------------------------------


def interpreter_in(environment: Path) -> Path:
    """The Python of an environment with Syne Tune, which is made if it is not there."""
    folder, name = ("Scripts", "python.exe") if os.name == "nt" else ("bin", "python")
    python = environment / folder / name
    if not python.exists():
        print(f"making {environment} …", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    ask = f"from importlib.metadata import version; assert version('syne_tune') == '{VERSION}'"
    if subprocess.run([python, "-c", ask], check=False, capture_output=True).returncode:
        print(f"installing Syne Tune {VERSION} there …", file=sys.stderr)
        pip = [str(python), "-m", "pip", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "install", f"syne-tune=={VERSION}"], check=True)
    return python


def ours(table: Any, scheduler: str, seed: int, rules: str) -> dict[str, Any]:
    """Measure rungwise on a table."""
    import rungwise as rw  # noqa: PLC0415 - the child runs where there is no rungwise

    promote: Any = "quantile" if rules == "code" else "floor"
    if scheduler == "ASHA":
        recipe: Any = rw.ASHA(max_resource=EPOCHS, promote=promote)
    else:
        check: Any = "report" if rules == "code" else "rung"
        recipe = rw.PASHA(max_resource=EPOCHS, promote=promote, check=check)
    rows = list(range(table.rows))
    start = time.process_time()
    result = rw.simulate(table, recipe, trials=rows, workers=WORKERS, seed=seed, finish="paper")
    cpu = time.process_time() - start
    return {"cpu": cpu, "reports": result.reports, "furthest": result.max_resource}


def theirs(python: Path, table: Any, scheduler: str, seed: int, limit: float) -> dict[str, Any]:
    """Measure Syne Tune on a table, in its own interpreter."""
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    environment.pop("PYTHONPATH", None)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "table.npz")
        table.save(path)
        command = [str(python), __file__, "--child", path, scheduler, str(seed), str(limit)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=environment)
    outcome: dict[str, Any] = json.loads(done.stdout)
    return outcome


def measure(
    python: Path, scheduler: str, configurations: int, options: argparse.Namespace
) -> tuple[Row, dict[str, str]]:
    """Both sides on the same tables, one for each seed; and the versions of the other side."""
    import rungwise as rw  # noqa: PLC0415 - as above

    here, there = [], []
    for seed in range(options.seeds):
        table = rw.power_laws(configurations, EPOCHS, seed=seed, noise=0.01)
        here.append(ours(table, scheduler, seed, options.rules))
        there.append(theirs(python, table, scheduler, seed, options.limit_seconds))

    def middle(side: list[dict[str, Any]], name: str) -> int:
        values: list[int] = [run[name] for run in side]
        return round(statistics.median(values))

    costs, costs_there = (
        [run["cpu"] / max(run["reports"], 1) * 1e6 for run in side] for side in (here, there)
    )
    ratios = [cost_there / cost for cost, cost_there in zip(costs, costs_there, strict=True)]
    row = Row(
        scheduler=scheduler,
        configurations=configurations,
        reports=middle(here, "reports"),
        reports_syne_tune=middle(there, "reports"),
        furthest=middle(here, "furthest"),
        furthest_syne_tune=middle(there, "furthest"),
        microseconds=statistics.median(costs),
        microseconds_syne_tune=statistics.median(costs_there),
        ratio=statistics.median(ratios),
        ratios=ratios,
        started_syne_tune=middle(there, "started"),
        cut=any(run["cut"] for run in there),
    )
    return row, there[-1]["versions"]


def show(row: Row) -> None:
    """Print a line of the table."""
    spread = f"({min(row.ratios):.1f}–{max(row.ratios):.1f})"
    print(
        f"{row.scheduler:9} {row.configurations:6} "
        f"{row.reports:9} {row.reports_syne_tune:9} "
        f"{row.furthest:6} {row.furthest_syne_tune:6} "
        f"{row.microseconds:9.1f} {row.microseconds_syne_tune:11.1f} "
        f"{row.ratio:8.1f}× {spread:>15}{' *' if row.cut else ''}",
        flush=True,
    )
    if row.cut:
        print(
            f"  * Syne Tune was cut off by --limit-seconds, with {row.started_syne_tune} of "
            f"{row.configurations} configurations started:\n    its cost is that of the reports "
            "so far, rungwise's that of the whole study",
            flush=True,
        )


def main() -> None:
    """Measure and print."""
    if sys.argv[1:2] == ["--child"]:
        path, name, seed, limit = sys.argv[2:]
        child(path, name, int(seed), float(limit))
        return
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--configurations", type=int, nargs="+", default=[256, 1024])
    parser.add_argument("--schedulers", nargs="+", choices=SCHEDULERS, default=list(SCHEDULERS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument(
        "--rules",
        choices=list(DIFFERENCES_IN_RULES),
        default="paper",
        help="paper: rungwise as it is by default; code: promoting by quantile and\n"
        "comparing rankings after every report, as near to Syne Tune as it gets",
    )
    parser.add_argument(
        "--limit-seconds",
        type=float,
        default=600.0,
        help="cut off a single study of Syne Tune after this time and report its cost so far",
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--syne-python", type=Path, help="an interpreter that has Syne Tune")
    where.add_argument(
        "--environment",
        type=Path,
        default=Path(tempfile.gettempdir()) / f"syne-tune-{VERSION}",
        help="where to make an environment with Syne Tune, or where it is",
    )
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    options = parser.parse_args()
    python = options.syne_python or interpreter_in(options.environment)

    import rungwise as rw  # noqa: PLC0415 - as above

    ours(rw.power_laws(64, EPOCHS), "PASHA", 0, options.rules)  # warm up
    differences = DIFFERENCES_IN_RULES[options.rules] + DIFFERENCES
    if not options.json:
        print(
            f"{'':16} {'reports':>19} {'furthest':>13} {'µs of CPU per report':>21}\n"
            f"{'scheduler':9} {'N':>6} {'rungwise':>9} {'Syne Tune':>9} {'rw':>6} {'ST':>6} "
            f"{'rungwise':>9} {'Syne Tune':>11} {'ratio':>9} {'(over seeds)':>15}"
        )
    rows: list[Row] = []
    versions: dict[str, str] = {}
    for scheduler in options.schedulers:
        for configurations in options.configurations:
            row, versions = measure(python, scheduler, configurations, options)
            rows.append(row)
            if not options.json:
                show(row)
    mine = {
        "rungwise": rw.__version__,
        "numpy": importlib.metadata.version("numpy"),
        "python": platform.python_version(),
    }
    if options.json:
        document = {
            "rows": [asdict(row) for row in rows],
            "rules": options.rules,
            "seeds": options.seeds,
            "versions": mine,
            "versions_syne_tune": versions,
            "differences": differences.splitlines(),
        }
        json.dump(document, sys.stdout, indent=1, ensure_ascii=False)
        print()
        return
    print(
        f"\nrungwise {mine['rungwise']} (Python {mine['python']}, NumPy {mine['numpy']}) against "
        f"Syne Tune {versions['syne_tune']} (Python {versions['python']}, NumPy "
        f"{versions['numpy']}); medians over {options.seeds} seed(s).\n"
        "Both end as soon as the last configuration has started; what they do differently:\n"
        f"{differences}"
    )


if __name__ == "__main__":
    main()
