"""How much does a report cost here, and how much in Syne Tune 0.13.0?

Both play ASHA and PASHA on the same table of noisy power-law curves (200 epochs, η = 3, 4 workers)
in virtual time, the same rows in the same order, and stop as soon as the last configuration has
started. What counts is CPU time per report, of rungwise always all of rungwise.simulate, of Syne
Tune either its schedulers alone or what its users run, see --through and MEASURED.

Imports and tables are counted nowhere. Syne Tune runs in an interpreter of its own: that of
--syne-python, or of an environment that this script makes once (venv, pip). Run it with nothing
else on the machine:

    python perf/against_syne_tune.py
    python perf/against_syne_tune.py --through tuner
    python perf/against_syne_tune.py --configurations 4096 --seeds 1 --limit-seconds 120

The two do not decide exactly alike, see DIFFERENCES; so compare the numbers of reports, too.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import rungwise as rw

VERSION = "0.13.0"
SCHEDULERS = ("ASHA", "PASHA")
EPOCHS, WORKERS = 200, 4
CHILD = Path(__file__).with_name("_syne_tune_child.py")
MEASURED = {
    "scheduler": """\
- rungwise: all of rungwise.simulate: study, event loop, engine, criterion, result. Every curve is
  kept in memory, nothing is logged or written.
- Syne Tune: its scheduler alone (suggest, on_trial_add, on_trial_result, on_trial_remove, in the
  order of its Tuner) under a bare event loop of ours; no Tuner, no backend, no files. Making the
  scheduler is not counted.""",
    "tuner": """\
- rungwise: all of rungwise.simulate: study, event loop, engine, criterion, result. Every curve is
  kept in memory, nothing is logged or written: no counterpart of the files and tables below.
- Syne Tune: all of Tuner.run, with UserBlackboxBackend on a BlackboxTabular and SimulatorCallback:
  scheduler, tuning loop and status, event queue; at every start, finding the curve in a data frame;
  a dictionary kept for every report, and all of them as a data frame into a compressed CSV file (at
  the end and every 10 s); a table of all trials as text (at the end and every 30 s). Logging is off
  (its messages are still put together), so is save_tuner. Making scheduler, blackbox, backend and
  Tuner is not counted.
- Syne Tune looks for reports every 5 virtual seconds, its default, and epochs take 5 to 20 here:
  longer ones would make it look more often for a report and cost more, shorter ones less. By that,
  by delays of 0.05 s and by the real time of its own work, which it adds to virtual time, reports
  come in another order than in --through scheduler, and maybe in another one in the next run.
- Losses reach its scheduler as NumPy numbers, as BlackboxTabular hands them out: those alone make
  its PASHA 2.4 times as slow as the plain ones of --through scheduler (256 configurations).""",
}
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


def theirs(
    python: Path, table: Any, scheduler: str, seed: int, options: argparse.Namespace
) -> dict[str, Any]:
    """Measure Syne Tune on a table, in its own interpreter."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PYTHONHASHSEED": "0", "SYNETUNE_FOLDER": folder}
        environment.pop("PYTHONPATH", None)
        path = str(Path(folder) / "table.npz")
        table.save(path)
        task = {
            "table": path,
            "scheduler": scheduler,
            "through": options.through,
            "workers": WORKERS,
            "seed": seed,
            "limit": options.limit_seconds,
        }
        command = [str(python), str(CHILD), json.dumps(task)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=environment)
    outcome: dict[str, Any] = json.loads(done.stdout)
    return outcome


def measure(
    python: Path, scheduler: str, configurations: int, options: argparse.Namespace
) -> tuple[Row, dict[str, str]]:
    """Both sides on the same tables, one for each seed; and the versions of the other side."""
    here, there = [], []
    for seed in range(options.seeds):
        table = rw.power_laws(configurations, EPOCHS, seed=seed, noise=0.01)
        here.append(ours(table, scheduler, seed, options.rules))
        there.append(theirs(python, table, scheduler, seed, options))

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


def read_arguments() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--configurations", type=int, nargs="+", default=[256, 1024])
    parser.add_argument("--schedulers", nargs="+", choices=SCHEDULERS, default=list(SCHEDULERS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument(
        "--through",
        choices=list(MEASURED),
        default="scheduler",
        help="what is measured of Syne Tune: its scheduler alone, under a bare event loop; or\n"
        "all of its Tuner with its simulator backend, as its users simulate",
    )
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
    return parser.parse_args()


def main() -> None:
    """Measure and print."""
    options = read_arguments()
    python = options.syne_python or interpreter_in(options.environment)

    ours(rw.power_laws(64, EPOCHS), "PASHA", 0, options.rules)  # warm up
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
    if options.json:
        print_json(options, rows, versions)
    else:
        print_conditions(options, versions)


def find_versions() -> dict[str, str]:
    """Of what runs here."""
    return {
        "rungwise": rw.__version__,
        "numpy": importlib.metadata.version("numpy"),
        "python": platform.python_version(),
    }


def print_json(options: argparse.Namespace, rows: list[Row], versions: dict[str, str]) -> None:
    """Print everything as JSON."""
    document = {
        "rows": [asdict(row) for row in rows],
        "through": options.through,
        "measured": MEASURED[options.through].splitlines(),
        "rules": options.rules,
        "seeds": options.seeds,
        "versions": find_versions(),
        "versions_syne_tune": versions,
        "differences": describe_differences(options.rules).splitlines(),
    }
    json.dump(document, sys.stdout, indent=1, ensure_ascii=False)
    print()


def print_conditions(options: argparse.Namespace, versions: dict[str, str]) -> None:
    """Print below the table what was measured, and what the two do differently."""
    mine = find_versions()
    print(
        f"\nrungwise {mine['rungwise']} (Python {mine['python']}, NumPy {mine['numpy']}) against "
        f"Syne Tune {versions['syne_tune']} (Python {versions['python']}, NumPy "
        f"{versions['numpy']}, pandas {versions['pandas']}); "
        f"medians over {options.seeds} seed(s).\n"
        f"Measured through Syne Tune's {options.through}, which includes:\n"
        f"{MEASURED[options.through]}\n"
        "Both end as soon as the last configuration has started; what they do differently:\n"
        f"{describe_differences(options.rules)}"
    )


def describe_differences(rules: str) -> str:
    """What the two do differently."""
    return DIFFERENCES_IN_RULES[rules] + DIFFERENCES


if __name__ == "__main__":
    main()
