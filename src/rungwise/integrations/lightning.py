"""Lightning: epochs are the resource, and Lightning's own checkpoints are the checkpoints."""

from __future__ import annotations

from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Any

from rungwise.errors import InvalidArgumentError, ShareError
from rungwise.integrations.ranks import report_once
from rungwise.integrations.reporting import Reporter
from rungwise.packages import check_package
from rungwise.run import Run, SharedRun

check_package("rungwise.integrations.lightning", "lightning", extra="lightning", at_least="2.0")

import lightning  # noqa: E402 - named if missing

FILE = "model.ckpt"

SEVERAL = (
    "Lightning trains in several processes, and the run works in one: give Report(run.share()) and "
    "strategy='ddp_spawn' or 'ddp_fork'. The strategy 'ddp' cannot be used, because it starts the "
    "program of the worker again"
)


class Report(lightning.Callback):  # type: ignore[misc]  # Lightning's types are not read
    """A callback of Lightning: saves, reports, and ends the training when enough is known.

    It reports after every epoch that had a validation. All ranks leave in the same step.

    Args:
        run: the run of the training function; with several processes what :meth:`Run.share` gives.
        monitor: the metric that the study compares, by the name that was given to ``self.log``. By
            default the one that has the name of the study's metric.

    Example::

        def train(config, run):
            report = Report(run, monitor="val_loss")
            trainer = lightning.Trainer(callbacks=[report], **report.trainer_arguments)
            trainer.fit(Model(config), data, **report.arguments)
    """

    def __init__(self, run: Run, monitor: str | None = None) -> None:
        super().__init__()
        self._reporter = Reporter(run, monitor)
        self._validated = False

    @property
    def trainer_arguments(self) -> dict[str, Any]:
        """For the trainer: how far at most, and no checkpoints besides."""
        return {"max_epochs": self._reporter.end, "enable_checkpointing": False}

    @property
    def arguments(self) -> dict[str, Any]:
        """What makes ``fit`` go on from the last checkpoint."""
        latest = self._reporter.run.latest
        return {"ckpt_path": None if latest is None else str(latest / FILE)}

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Called by Lightning, in every process."""
        del pl_module, stage
        if trainer.world_size == 1 or isinstance(self._reporter.run, SharedRun):
            return
        raise ShareError(SEVERAL)

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """Called by Lightning."""
        del pl_module
        self._validated = self._validated or not trainer.sanity_checking

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Called by Lightning, after the validation of the epoch."""
        del pl_module
        if not self._validated:
            return
        self._validated = False
        resource = trainer.current_epoch + 1
        run = self._reporter.run
        values = dict(trainer.callback_metrics)
        self._reporter.choose(values)  # in every rank, before any of them waits
        # Every rank takes part in making a checkpoint, and rank 0 writes it.
        if trainer.global_rank:
            trainer.save_checkpoint(str(Path(run.folder, "of-other-ranks.ckpt")))
        go_on = report_once(run, resource, lambda: self._report(trainer, resource, values))
        if not go_on:
            trainer.should_stop = True

    def _report(self, trainer: Any, resource: float, values: dict[str, Any]) -> bool:
        def save(folder: Path) -> None:
            trainer.save_checkpoint(str(folder / FILE))

        return self._reporter.report(resource, values, save)

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """Called by Lightning."""
        del pl_module
        if not self._reporter.run.reported and not trainer.fast_dev_run:
            rule = (
                "Lightning ran no validation, so nothing was reported: give it validation data, "
                "and a validation_step that logs the metric"
            )
            raise InvalidArgumentError("monitor", self._reporter.monitor, rule)


def _refuse_programs() -> None:
    """Refuse the strategy "ddp" before the program of the worker is started again.

    Lightning calls no callback before it has done that, and then ends the worker when the program
    fails. It is the strategy that it chooses by itself for several devices.
    """
    launchers = import_module("lightning.pytorch.strategies.launchers")
    kind: Any = getattr(launchers, "_SubprocessScriptLauncher", None)
    if kind is None:  # a version that has none, or another name for it
        return
    launch = kind.launch

    @wraps(launch)
    def launch_or_refuse(
        self: Any, function: Any, *args: Any, trainer: Any = None, **more: Any
    ) -> Any:
        ours = any(isinstance(each, Report) for each in getattr(trainer, "callbacks", ()))
        if ours and not self.cluster_environment.creates_processes_externally:
            raise ShareError(SEVERAL)
        return launch(self, function, *args, trainer=trainer, **more)

    kind.launch = launch_or_refuse


_refuse_programs()
