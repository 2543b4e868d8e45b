"""``rungwise demo``: tune a small neural network, in about half a minute."""

from __future__ import annotations

import json
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from rungwise.cli import demo_recorded, demo_simulated, digits
from rungwise.cli.console import out, progress
from rungwise.cli.main import INTERRUPTED
from rungwise.core.scheduler import Recipe
from rungwise.counterfactual import Saving
from rungwise.errors import InvalidArgumentError, StudyInterrupted, UsageWarning
from rungwise.formatting import format_config, format_runtime
from rungwise.schedulers import ASHA, PASHA
from rungwise.tuning.api import tune
from rungwise.tuning.result import TuningResult
from rungwise.tuning.retrained import Retrained, describe_retrained

TRIALS, EPOCHS, WORKERS = 256, 243, 2


@dataclass(frozen=True)
class Model:
    """The model to keep: the best of the study and of the retraining.

    Attributes:
        accuracy: on the images that it was chosen by.
        epoch: how far it was trained.
        checkpoint: its folder.
        test_accuracy: on images that nothing was chosen by.
    """

    accuracy: float
    epoch: float
    checkpoint: Path
    test_accuracy: float


@dataclass(frozen=True)
class Outcome:
    """Everything that the demo shows at the end.

    Attributes:
        result: of PASHA.
        saving: what ASHA would have spent, by simulation.
        asha: of ASHA, if it was run as well.
        retrained: the winner, trained in full.
        model: the best model that there is.
        epochs: the most epochs for one configuration.
        kept: the study file, if it is kept.
    """

    result: TuningResult
    saving: Saving
    asha: TuningResult | None
    retrained: Retrained
    model: Model
    epochs: int
    kept: Path | None


Trials = Annotated[
    int | None, typer.Option(help="Number of configurations.", min=9, show_default=str(TRIALS))
]
Epochs = Annotated[
    int | None,
    typer.Option(
        help="Maximum number of epochs per configuration.", min=3, show_default=str(EPOCHS)
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        help="Number of configurations trained at the same time.", min=1, show_default=str(WORKERS)
    ),
]


def demo(
    trials: Trials = None,
    epochs: Epochs = None,
    workers: Workers = None,
    seed: Annotated[
        int, typer.Option(help="The same seed draws the same configurations.", min=0)
    ] = 0,
    study: Annotated[
        Path | None,
        typer.Option(
            help="Keep the study in this file; after an interrupt, the same command resumes it."
        ),
    ] = None,
    versus_asha: Annotated[
        bool,
        typer.Option(
            "--versus-asha",
            help="Run ASHA as well, to check the figures that are simulated for it.",
        ),
    ] = False,
    simulated: Annotated[
        bool,
        typer.Option(
            "--simulated",
            help="Train nothing: compare PASHA, ASHA and one epoch for all on generated curves "
            "(200 epochs and 4 workers by default).",
        ),
    ] = False,
    runs: Annotated[
        int | None,
        typer.Option(
            help="With --simulated: number of runs that are averaged.", min=1, show_default="5"
        ),
    ] = None,
    noise: Annotated[
        float | None,
        typer.Option(
            help="With --simulated: standard deviation of each measured value.",
            min=0.0,
            show_default="0.01",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="Show only the figures at the end.")
    ] = False,
) -> None:
    r"""Tune a small neural network on scikit-learn's handwritten digits.

    It shows the best configuration, why the study ended, how many epochs it trained and how
    many epochs ASHA would have trained, and the best model of the best configuration, with its
    accuracy on test images. Then PASHA and ASHA search recorded architectures (`fashion-nas`)
    in a second. It needs scikit-learn: pip install 'rungwise\[demo]'.
    """
    sizes = {"trials": trials, "epochs": epochs, "workers": workers}
    of_curves = {"runs": runs, "noise": noise}
    if simulated:
        _refuse("with --simulated nothing is trained", study=study, versus_asha=versus_asha or None)
        given = {name: value for name, value in {**sizes, **of_curves}.items() if value is not None}
        demo_simulated.compare(**given, seed=seed, as_json=as_json)  # type: ignore[arg-type]
        return
    _refuse("it can only be used with --simulated", **of_curves)
    try:
        outcome = _run(
            trials=trials or TRIALS,
            epochs=epochs or EPOCHS,
            workers=workers or WORKERS,
            seed=seed,
            study=study,
            versus_asha=versus_asha,
            talk=not (quiet or as_json),
        )
    except StudyInterrupted as interrupted:
        end = str(interrupted) if study else "Interrupted. With --study FILE it could be resumed."
        typer.echo(end, err=True)
        raise typer.Exit(INTERRUPTED) from None
    recorded = demo_recorded.compared(talk=not (quiet or as_json))
    if as_json:
        typer.echo(json.dumps({**_figures(outcome), "recorded": demo_recorded.figures(recorded)}))
    else:
        _print_outcome(outcome)
        demo_recorded.print_section(recorded)


def _refuse(why: str, **options: Any) -> None:
    for name, value in options.items():
        if value is not None:
            shown = str(value) if isinstance(value, Path) else value
            raise InvalidArgumentError(f"--{name.replace('_', '-')}", shown, why)


def _run(
    *,
    trials: int,
    epochs: int,
    workers: int,
    seed: int,
    study: Path | None,
    versus_asha: bool,
    talk: bool,
) -> Outcome:
    data = digits.load()  # the extra that is missing is missed at once

    def tuned(scheduler: Recipe, kept: Path | None) -> TuningResult:
        return tune(
            digits.train,
            digits.SPACE,
            metric="accuracy",
            goal="max",
            max_resource=epochs,
            trials=trials,
            workers=workers,
            study=kept,
            scheduler=scheduler,
            seed=seed,
            preload=digits.PRELOAD,
            keep_best=True,
            show="auto" if talk else "quiet",
        )

    def say(text: str) -> None:
        if talk:
            typer.echo(text, err=True)

    say(
        f"Tuning a neural network on {len(data.training.digits):,} images of digits; "
        f"{len(data.validation.digits)} others show how good it is."
    )
    result = tuned(PASHA(), study)
    asha = None
    if versus_asha:
        say("\nThe same configurations with ASHA:")
        asha = tuned(ASHA(), None)
    say("\nTraining the winner in full.")
    with progress("training") as advance, warnings.catch_warnings():
        warnings.simplefilter("ignore", UsageWarning)  # if it gets worse, the end says so
        retrained = result.retrain(
            digits.train, on_report=lambda epoch, _: advance(int(epoch), epochs) if talk else None
        )
    model = _choose_model(result, retrained)
    return Outcome(result, result.saved_versus("asha"), asha, retrained, model, epochs, study)


def _choose_model(result: TuningResult, retrained: Retrained) -> Model:
    """The best of both; the retraining's, if they are equal."""
    best = result.best
    accuracy, epoch, place = max(
        (retrained.best_value, retrained.best_resource, retrained.best_checkpoint),
        (best.value, best.resource, best.checkpoint),
        key=lambda model: -1.0 if model[0] is None or model[2] is None else model[0],
    )
    assert accuracy is not None
    assert epoch is not None
    assert isinstance(place, Path), "every epoch is saved, in a folder"
    return Model(accuracy, epoch, place, digits.test(place))


# -- what is shown -------------------------------------------------------------------------------


def _figures(outcome: Outcome) -> dict[str, Any]:
    saving, retrained = outcome.saving, outcome.retrained
    return {
        "max_epochs": outcome.epochs,
        "study": None if outcome.kept is None else str(outcome.kept),
        "pasha": _describe_study(outcome.result),
        "asha_simulated": {
            "epochs": saving.other,
            "ratio": saving.ratio,
            "held": saving.held,
            "reports": saving.reports,
            "how": saving.how,
        },
        "asha_run": None if outcome.asha is None else _describe_study(outcome.asha),
        "retrained": {
            "epochs": retrained.resource,
            "accuracy": retrained.value,
            "best_epoch": retrained.best_resource,
            "best_accuracy": retrained.best_value,
            "seconds": retrained.seconds,
        },
        "model": {
            **asdict(outcome.model),
            "checkpoint": None if outcome.kept is None else str(outcome.model.checkpoint),
        },
    }


def _describe_study(result: TuningResult) -> dict[str, Any]:
    best = result.best
    return {
        "trials": result.trials,
        "failures": len(result.failures),
        "epochs": result.resource_spent,
        "furthest": result.max_resource,
        "seconds": result.seconds,
        "why": result.why,
        "winner": {
            "trial": best.trial,
            "config": dict(best.config),
            "accuracy": best.value,
            "epoch": best.resource,
        },
    }


def _print_outcome(outcome: Outcome) -> None:
    result, saving, retrained = outcome.result, outcome.saving, outcome.retrained
    best, model = result.best, outcome.model
    lines = {
        "winner": format_config(best.config),
        "validation": f"{best.value:.2%} correct after {best.resource:g} epochs "
        f"(trial {best.trial})",
        "stopped": f"{result.why} {result.numbers}",
        "PASHA spent": f"{result.resource_spent:,g} epochs on {result.trials} configurations, none "
        f"more than {result.max_resource:g}, in {format_runtime(result.seconds)}",
        "ASHA, simulated": f"{saving.other:,g} epochs, {saving.ratio:.2f} times as many. "
        f"{saving.how}",
    }
    if outcome.asha is not None:
        asha = outcome.asha
        times = asha.resource_spent / result.resource_spent
        lines["ASHA, run"] = (
            f"{asha.resource_spent:,g} epochs, {times:.2f} times as many, in "
            f"{format_runtime(asha.seconds)}; its winner: {asha.best.value:.2%} "
            f"after {asha.best.resource:g} epochs (trial {asha.best.trial})"
        )
    lines["in full"] = describe_retrained(retrained, result.metric)
    lines["best model"] = (
        f"validation {model.accuracy:.2%}, test images {model.test_accuracy:.2%} correct, after "
        f"{model.epoch:g} epochs"
    )
    if outcome.kept is not None:
        lines["kept in"] = str(outcome.kept)
    shown = Table.grid(padding=(0, 2))
    shown.add_column(style="bold", no_wrap=True)
    shown.add_column()
    for name, text in lines.items():
        shown.add_row(name, Text(text))  # a path may hold what looks like markup
    console = out()
    console.print()
    console.print(shown)
    if outcome.kept is not None:  # whole, however narrow the terminal is: it is there to be copied
        console.print(Text(f"checkpoint: {model.checkpoint}"), soft_wrap=True)
