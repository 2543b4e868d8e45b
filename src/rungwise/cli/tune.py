"""``rungwise tune`` and ``rungwise resume``."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from rungwise.cli.console import INTERRUPTED, out
from rungwise.cli.summary import as_line, document_of, line, print_leaderboard, print_summary
from rungwise.errors import InvalidArgumentError, StudyInterrupted
from rungwise.scripts import script_of
from rungwise.specification import choices, load_function, read_space, read_study
from rungwise.specification.functions import is_reference
from rungwise.storage.study_file import shown
from rungwise.tuning import api
from rungwise.tuning.result import TuningResult

_TARGET = (
    "A study file (.yaml, .json), a training script (train.py, train.sh, any program), or a "
    "function (train.py:train, package.module:train)."
)
Target = Annotated[str, typer.Argument(help=_TARGET)]
Study = Annotated[Path, typer.Argument(help="The study file.")]
SpaceFile = Annotated[Path | None, typer.Option(help="The search space, a YAML or JSON file.")]
Metric = Annotated[str | None, typer.Option(help="What is reported and optimised: accuracy, ….")]
Goal = Annotated[
    str | None,
    typer.Option(help="min or max; known for well-known metrics, such as accuracy and test_loss."),
]
MaxResource = Annotated[
    int | None, typer.Option(help="The most training for one configuration (epochs, steps, …).")
]
MinResource = Annotated[int | None, typer.Option(help="r, where the ladder begins.")]
Eta = Annotated[int | None, typer.Option(help="η: one in η goes on.")]
Scheduler = Annotated[
    str | None, typer.Option(help=f"{', '.join(choices.SCHEDULERS)}; pasha by default.")
]
Ranking = Annotated[
    str | None, typer.Option(help="PASHA's criterion: noise:90, soft:0.02, leader, ….")
]
Searcher = Annotated[
    str | None,
    typer.Option(
        help="Who proposes configurations, NAME or NAME:option,…: random (the default), sobol, "
        "grid (grid:points=7), kde or tpe (near what was good: BOHB), gp (Bayesian optimisation, "
        "gp:startup=20; extra bo), optuna (optuna:tpe, optuna:cmaes, …; extra optuna)."
    ),
]
Transfer = Annotated[
    list[Path] | None,
    typer.Option(
        help="An earlier study file; may be repeated. Its leaders are tried first, and others go "
        "on beyond a rung only if they are as good there as the best of them."
    ),
]
Leaders = Annotated[
    int | None, typer.Option(help="How many leaders --transfer takes at most, in all; 4 if not.")
]
Trials = Annotated[int | None, typer.Option(help="How many configurations; 256 if nothing else.")]
Workers = Annotated[str | None, typer.Option(help="How many train at a time, or auto.")]
StudyPath = Annotated[
    Path | None, typer.Option(help="Where the study is kept; NAME.db in this folder by default.")
]
Seed = Annotated[int | None, typer.Option(help="Same seed, same configurations.")]
Finish = Annotated[str | None, typer.Option(help="drain or paper.")]
Seconds = Annotated[float | None, typer.Option(help="End after so many seconds of running.")]
Budget = Annotated[float | None, typer.Option(help="End when so much was trained in all.")]
TargetValue = Annotated[float | None, typer.Option("--target", help="End at a value this good.")]
Gpus = Annotated[float | None, typer.Option(help="GPUs for each worker; fractions share one.")]
Preload = Annotated[
    list[str] | None, typer.Option(help="A module that workers import first; may be repeated.")
]
Retries = Annotated[int | None, typer.Option(help="Attempts after a failure; 1 by default.")]
TrialTimeout = Annotated[float | None, typer.Option(help="The longest leg, in seconds.")]
ReportTimeout = Annotated[float | None, typer.Option(help="The longest silence, in seconds.")]
Quota = Annotated[str | None, typer.Option(help="Room for checkpoints, such as 20GB.")]
Keep = Annotated[str | None, typer.Option(help="Leaders that keep checkpoints; a number or all.")]
Durability = Annotated[str | None, typer.Option(help="normal (any kill), full (power failure).")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show nothing but the result.")]
AsJson = Annotated[bool, typer.Option("--json", help="Events and result as lines of JSON.")]
Function = Annotated[
    str | None,
    typer.Option("--train", help="The training function or script, if it has to be told."),
]


def tune(
    target: Target,
    space: SpaceFile = None,
    metric: Metric = None,
    goal: Goal = None,
    max_resource: MaxResource = None,
    min_resource: MinResource = None,
    eta: Eta = None,
    scheduler: Scheduler = None,
    ranking: Ranking = None,
    searcher: Searcher = None,
    transfer: Transfer = None,
    leaders: Leaders = None,
    trials: Trials = None,
    workers: Workers = None,
    study: StudyPath = None,
    seed: Seed = None,
    finish: Finish = None,
    seconds: Seconds = None,
    resource_budget: Budget = None,
    target_value: TargetValue = None,
    gpus_per_worker: Gpus = None,
    preload: Preload = None,
    retries: Retries = None,
    trial_timeout: TrialTimeout = None,
    report_timeout: ReportTimeout = None,
    checkpoint_quota: Quota = None,
    keep: Keep = None,
    durability: Durability = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Find a good configuration with as little training as possible.

    Everything is kept in the study file: after a crash, run the same command again, or `rungwise
    resume`. Ctrl-C once ends in good order, twice at once.

    rungwise tune study.yaml

    rungwise tune train.py --space space.yaml --metric accuracy --max-resource 200

    rungwise tune train.py --space space.yaml --metric accuracy --transfer last-week.db
    """
    given: dict[str, Any] = {
        "metric": metric,
        "goal": goal,
        "max_resource": max_resource,
        "trials": trials,
        "workers": _number_or_word(workers),
        "study": study,
        "searcher": None if searcher is None else choices.searcher(searcher),
        "transfer": transfer or None,
        "leaders": leaders,
        "seed": seed,
        "finish": finish,
        "seconds": seconds,
        "resource_budget": resource_budget,
        "target": target_value,
        "gpus_per_worker": gpus_per_worker,
        "preload": preload or None,
        "retries": retries,
        "trial_timeout": trial_timeout,
        "report_timeout": report_timeout,
        "checkpoint_quota": checkpoint_quota,
        "keep": _number_or_word(keep),
        "durability": durability,
    }
    arguments = _arguments(target, space)
    arguments.update({name: value for name, value in given.items() if value is not None})
    if arguments["goal"] is None:
        arguments["goal"] = _told_goal(arguments["metric"], tell=not (quiet or as_json))
    if any(option is not None for option in (scheduler, ranking, eta, min_resource)):
        arguments["scheduler"] = choices.scheduler(
            scheduler or "pasha",
            min_resource=min_resource,
            max_resource=arguments.get("max_resource"),
            eta=eta,
            ranking=None if ranking is None else choices.ranking(ranking),
        )
    arguments.setdefault("study", f"{Path(target.partition(':')[0]).stem}.db")
    with interruptible():
        result = api.tune(**arguments, show=_show(quiet, as_json))
    _finish(result, quiet=quiet, as_json=as_json)


def resume(
    study: Study,
    train: Function = None,
    workers: Workers = None,
    retries: Retries = None,
    trial_timeout: TrialTimeout = None,
    report_timeout: ReportTimeout = None,
    checkpoint_quota: Quota = None,
    keep: Keep = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Go on with a study after an interrupt, a crash or a reboot.

    Every decision in the file is checked, lost jobs are issued again from their checkpoints.
    """
    options: dict[str, Any] = {
        "workers": _number_or_word(workers),
        "retries": retries,
        "trial_timeout": trial_timeout,
        "report_timeout": report_timeout,
        "checkpoint_quota": checkpoint_quota,
        "keep": _number_or_word(keep),
    }
    chosen = {name: value for name, value in options.items() if value is not None}
    trainable = None if train is None else trainable_of(train)
    with interruptible():
        result = api.resume(study, trainable, show=_show(quiet, as_json), **chosen)
    _finish(result, quiet=quiet, as_json=as_json)


def trainable_of(text: str) -> Any:
    """A function or a script by its name."""
    return load_function(text) if is_reference(text) else script_of(text)


def _arguments(target: str, space: Path | None) -> dict[str, Any]:
    """The arguments of tune() that a target gives."""
    if Path(target).suffix.lower() in (".yaml", ".yml", ".json"):
        # The metric may be another one on the command line: its goal is looked for afterwards.
        arguments = {"goal": None, **read_study(target, need_goal=False)}
        if isinstance(arguments["train"], str):
            arguments["train"] = load_function(arguments["train"])
        if space is not None:
            arguments["space"] = read_space(space)
        return arguments
    if space is None:
        rule = "say what is searched: a file such as space.yaml (docs/scripts.md)"
        raise InvalidArgumentError("--space", None, rule)
    found = read_space(space)
    train = trainable_of(target)
    if not is_reference(target):
        train.check(found)
    return {"train": train, "space": found, "metric": None, "goal": None}


def _told_goal(metric: str | None, *, tell: bool) -> str | None:
    """The goal that the metric's name tells; a person is told what was made of it."""
    goal = None if metric is None else choices.goal_of_metric(metric)
    if goal is not None and tell:
        taken = f"the goal is {goal}, taken from the name of the metric, {metric}"
        typer.echo(f"rungwise: {taken} (--goal says otherwise)", err=True)
    return goal


@contextmanager
def interruptible() -> Iterator[None]:
    """After Ctrl-C: say how to go on, and exit as programs do."""
    try:
        yield
    except StudyInterrupted as interrupt:
        typer.echo(f"rungwise: {interrupt}", err=True)
        raise typer.Exit(INTERRUPTED) from None


def _number_or_word(text: str | None) -> int | str | None:
    return int(text) if text is not None and text.lstrip("-").isdecimal() else text


def _show(quiet: bool, as_json: bool) -> Any:  # noqa: FBT001 - flags of a command
    return "json" if as_json else "quiet" if quiet else "auto"


def _finish(result: TuningResult, *, quiet: bool, as_json: bool) -> None:
    if as_json:
        typer.echo(as_line({"kind": "result", **document_of(result)}))
        return
    console = out()
    if not quiet:
        print_leaderboard(console, result, 5)
    print_summary(console, result)
    if not quiet:
        path = line(shlex.quote(shown(result.path)))
        console.print(
            f"More: rungwise show {path} · the winner in full: rungwise retrain {path}",
            soft_wrap=True,
            emoji=False,
        )
