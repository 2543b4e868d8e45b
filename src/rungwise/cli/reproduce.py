"""``rungwise reproduce``: run the paper's evaluation on installed benchmarks."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from rungwise.backends.hardware import cores
from rungwise.cli import reproduce_frontier as frontier
from rungwise.cli.console import ending_when_interrupted, progress
from rungwise.cli.console import out as result_console
from rungwise.errors import InvalidArgumentError
from rungwise.lab.reproduction import EXPERIMENTS, Reproduction, Settings
from rungwise.lab.reproduction import reproduce as run
from rungwise.lab.reproduction.experiments import ALL
from rungwise.lab.reproduction.pages import FOLDER, make_pages
from rungwise.lab.reproduction.protocols import PROTOCOLS
from rungwise.lab.reproduction.spreadsheets import runs_csv, summary_csv
from rungwise.lab.reproduction.terminal import show
from rungwise.validation import one_of

BOTH = "both"
WIDE = 160
"""Columns of a table with the paper's figures in it, where there is no terminal to fit into."""

Experiments = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="EXPERIMENT",
        help=f"Which experiments: {ALL} (the default: all but bo, which takes tens of minutes) or "
        f"some of {', '.join(EXPERIMENTS)}; or {frontier.NAME} alone.",
        show_default=False,
    ),
]
Benchmarks = Annotated[
    list[str] | None,
    typer.Option(
        "--benchmark",
        metavar="NAME",
        help="An installed benchmark (`rungwise benchmark list`); may be repeated. All of them by "
        "default, LCBench's data sets only in the experiment lcbench.",
        show_default=False,
    ),
]
Seeds = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Number of scheduler seeds, that is, of samples of configurations. Each runs on every "
        "training seed of the table.",
        show_default="5",
    ),
]
Configs = Annotated[int, typer.Option(min=2, help="Number of configurations per study.")]
Workers = Annotated[
    int, typer.Option(min=1, help="Number of configurations trained at the same time.")
]
Processes = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Number of processes that simulate; it changes only how long the command takes.",
        show_default="one for each core",
    ),
]
ProtocolName = Annotated[
    str | None,
    typer.Option(
        help="paper: as in the authors' code (end when the last configuration starts, promote by "
        "quantile, check after every report); ours: rungwise's defaults; or both.",
        show_default="both; for bo, paper",
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="Write results.md with its pages in results/, runs.csv (one line per study), "
        "summary.csv (one line per method) and report.html to this folder; of frontier "
        "frontier.md, frontier.csv and frontier.svg. Figures need the extra 'plots'.",
        show_default=False,
    ),
]
Nearest = Annotated[
    bool,
    typer.Option(
        "--nearest",
        help="Draw configurations from the search space and use the curve of the nearest recorded "
        "one, as the paper does on PD1 (benchmarks whose card asks for it always do).",
    ),
]
Curves = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="For frontier: a folder of .npz files, each with the arrays curves [configurations, "
        "resources], final [configurations] and better (higher or lower), to be compared on "
        "beside the installed benchmarks.",
        show_default=False,
    ),
]
Methods = Annotated[
    list[str] | None,
    typer.Option(
        "--method",
        metavar="NAME",
        help="For frontier: a method; may be repeated. All of them by default.",
        show_default=False,
    ),
]
Quick = Annotated[
    bool,
    typer.Option(
        "--quick", help="Use one scheduler seed, for a first look; the same as --seeds 1."
    ),
]


def reproduce(
    experiments: Experiments = None,
    benchmark: Benchmarks = None,
    seeds: Seeds = None,
    configs: Configs = 256,
    workers: Workers = 4,
    processes: Processes = None,
    protocol: ProtocolName = None,
    out: Out = None,
    nearest: Nearest = False,
    quick: Quick = False,
    curves: Curves = None,
    method: Methods = None,
) -> None:
    """Run the paper's experiments on installed benchmarks, and compare its figures with ours.

    Nothing is trained: recorded curves are replayed in virtual time, which takes minutes.

    The same command always gives the same figures. For example:

    rungwise reproduce table1 --benchmark fashion-nas

    rungwise reproduce all --out results

    table1: PASHA, ASHA, one epoch, random (the paper's tables 1 and 5).

    eta: reduction factors 2, 3 and 4. resources: all epochs or a quarter.

    rankings: the ranking functions of appendix C. percentiles: those of ε.

    epochs: one, two, three or five epochs for every configuration.

    granularity: whole epochs or finer. lcbench: its 35 data sets, one line each.

    bo: searchers instead of random sampling, and Optuna (the paper's table 3).

    It takes tens of minutes, and the extra optuna for some rows, so it is not part of all.

    frontier: every method against ASHA with fewer trials, at equal resource. It is run alone.
    """
    if quick and seeds is not None:
        raise InvalidArgumentError(
            "--seeds", seeds, "--quick means one seed: give only one of --quick and --seeds"
        )
    if protocol is not None:
        one_of("--protocol", protocol, (*PROTOCOLS, BOTH))
    names = tuple(experiments or (ALL,))
    number = 1 if quick else 5 if seeds is None else seeds
    folder = None if out is None else _ready(out)
    if frontier.NAME in names:
        _check_alone(names, protocol, nearest=nearest)
        compared = frontier.Settings(
            methods=tuple(method or ()),
            benchmarks=tuple(benchmark or ()),
            curves="" if curves is None else str(curves),
            seeds=number,
            configs=configs,
            workers=workers,
        )
        many = cores() if processes is None else processes
        _write(folder, frontier.run(compared, many, _screen()))
        return
    for option, value in (("--curves", curves), ("--method", method)):
        if value:
            rule = f"only the experiment {frontier.NAME} has this option"
            raise InvalidArgumentError(option, str(value), rule)
    settings = Settings(
        experiments=names,
        protocols=tuple(PROTOCOLS) if protocol in (None, BOTH) else (protocol,),
        seeds=number,
        configs=configs,
        workers=workers,
        nearest=nearest,
        everywhere=protocol == BOTH,
    )
    with ending_when_interrupted("nothing was written"):
        with progress("simulating") as advance:
            found = run(
                names,
                benchmark or None,
                settings=settings,
                processes=cores() if processes is None else processes,
                progress=advance,
            )
        show(found, _screen())
        texts = {} if folder is None else _texts(found)
    _write(folder, texts)


def _check_alone(names: tuple[str, ...], protocol: str | None, *, nearest: bool) -> None:
    """The comparison at equal resource has a report of its own, and one protocol."""
    if len(names) > 1:
        rule = f"{frontier.NAME} is run alone: it has a report of its own"
        raise InvalidArgumentError("experiment", ", ".join(names), rule)
    if protocol not in (None, "ours"):
        rule = f"{frontier.NAME} compares methods with the defaults of rungwise only"
        raise InvalidArgumentError("--protocol", protocol, rule)
    if nearest:
        raise InvalidArgumentError(
            "--nearest", nearest, f"{frontier.NAME} draws recorded rows only"
        )


def _write(folder: Path | None, texts: Mapping[str, str]) -> None:
    if folder is not None:
        for name, text in texts.items():
            _replace(folder / name, text)
        shown = dict.fromkeys(f"{FOLDER}/" if "/" in name else name for name in texts)
        typer.echo(f"Written to {folder}: {', '.join(shown)}")


def _screen() -> Console:
    screen = result_console()
    return screen if screen.is_terminal else Console(highlight=False, width=WIDE)


def _ready(folder: Path) -> Path:
    """The folder, before minutes are spent on what cannot be written to it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        rule = f"it must be a folder that can be written to ({error.strerror or error})"
        raise InvalidArgumentError("--out", str(folder), rule) from None
    return folder


def _texts(found: Reproduction) -> dict[str, str]:
    """The content of each file."""
    # Plots are not for every command.
    from rungwise.lab.reproduction.overview import draw_overviews  # noqa: PLC0415
    from rungwise.lab.reproduction.report import html  # noqa: PLC0415

    return {
        **make_pages(found, dict(draw_overviews(found))),
        "runs.csv": runs_csv(found),
        "summary.csv": summary_csv(found),
        "report.html": html(found),
    }


def _replace(path: Path, text: str) -> None:
    """Whole or not at all, and the same bytes everywhere."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(exist_ok=True)
        beside.write_text(text, encoding="utf-8", newline="\n")
        beside.replace(path)
    except OSError as error:
        rule = f"it must be a file that can be written ({error.strerror or error})"
        raise InvalidArgumentError("--out", str(path), rule) from None
    finally:
        beside.unlink(missing_ok=True)
