"""Hugging Face transformers: epochs or steps are the resource, and the Trainer's checkpoints."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rungwise.errors import InvalidArgumentError
from rungwise.integrations.ranks import report_once, wait_for_ranks
from rungwise.integrations.reporting import Reporter
from rungwise.packages import check_package
from rungwise.run import Run

check_package(
    "rungwise.integrations.transformers", "transformers", extra="transformers", at_least="4.41"
)

from transformers import TrainerCallback  # noqa: E402 - named if missing

FOLDER = "checkpoint"


class Report(TrainerCallback):  # type: ignore[misc]  # their types are not read
    """A callback of the Trainer: reports at its checkpoints, and ends the training.

    The Trainer must evaluate and save at the same times: ``eval_strategy`` and ``save_strategy``
    are both ``"epoch"``, and the resource is epochs, or both ``"steps"``, and it is steps.

    Args:
        run: the run of the training function.
        monitor: the metric that the study compares, by the Trainer's names: ``"eval_loss"``. By
            default the one that has the name of the study's metric.

    Example::

        def train(config, run):
            report = Report(run, monitor="eval_loss")
            trainer = Trainer(model, arguments, callbacks=[report], …)
            trainer.train(**report.arguments)
    """

    def __init__(self, run: Run, monitor: str | None = None) -> None:
        super().__init__()
        self._reporter = Reporter(run, monitor)
        self._values: dict[str, Any] = {}

    @property
    def arguments(self) -> dict[str, Any]:
        """What makes ``train`` go on from the last checkpoint."""
        latest = self._reporter.run.latest
        return {"resume_from_checkpoint": None if latest is None else str(latest / FOLDER)}

    @property
    def end(self) -> int:
        """How far to train at most: ``num_train_epochs``, or ``max_steps``."""
        return self._reporter.end

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Called by the Trainer."""
        del state, control
        when = _word(args.eval_strategy), _word(args.save_strategy)
        if when[0] != when[1] or when[0] not in ("epoch", "steps"):
            rule = "both must be 'epoch' or both 'steps': reports are made at checkpoints"
            value = f"{when[0]} and {when[1]}"
            raise InvalidArgumentError("eval_strategy and save_strategy", value, rule)
        if when[0] == "steps" and args.eval_steps != args.save_steps:
            rule = "they must be the same: reports are made at checkpoints"
            value = f"{args.eval_steps} and {args.save_steps}"
            raise InvalidArgumentError("eval_steps and save_steps", value, rule)
        monitor = self._reporter.monitor or self._reporter.run.metric
        best = str(args.metric_for_best_model or "")
        if args.greater_is_better is not None and best in (monitor, monitor.removeprefix("eval_")):
            goal = "max" if args.greater_is_better else "min"
            self._reporter.check_goal(monitor, goal, "the Trainer")  # type: ignore[arg-type]

    def on_evaluate(
        self, args: Any, state: Any, control: Any, metrics: Mapping[str, Any], **_: Any
    ) -> None:
        """Called by the Trainer."""
        del args, state, control
        self._values = dict(metrics)

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Called by the Trainer, when a checkpoint is written; every rank calls it."""
        epochs = _word(args.save_strategy) == "epoch"
        resource = round(state.epoch) if epochs else state.global_step
        saved = Path(args.output_dir, f"checkpoint-{state.global_step}")
        values, self._values = self._values, {}
        values.pop("epoch", None)
        self._reporter.choose(values)  # in every rank, before any of them waits
        wait_for_ranks()  # each writes a part of the checkpoint: its random state

        def report() -> bool:
            return self._reporter.report(
                resource, values, lambda folder: shutil.copytree(saved, folder / FOLDER)
            )

        if not report_once(self._reporter.run, resource, report):
            control.should_training_stop = True


def _word(value: Any) -> str:
    return str(getattr(value, "value", value))
