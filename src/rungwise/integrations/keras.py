"""Keras 3, on any of its backends: epochs are the resource, and a saved model the checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rungwise.integrations.reporting import Reporter
from rungwise.packages import check_package
from rungwise.run import Run

check_package("rungwise.integrations.keras", "keras", extra="keras", at_least="3.0")

import keras  # noqa: E402 - named if missing

MODEL = "model.keras"


class Report(keras.callbacks.Callback):  # type: ignore[misc]  # Keras's types are not read
    """A callback of Keras: saves, reports, and ends the training when enough is known.

    The model is saved whole, with its optimiser.

    Args:
        run: the run of the training function.
        monitor: the metric that the study compares, by Keras's names: ``"val_loss"``. By default
            the one that has the name of the study's metric.
        every: save and report once in so many epochs, and at the end of a job.

    Example::

        def train(config, run):
            report = Report(run)
            model = report.load() or build(config)
            model.fit(x, y, validation_data=valid, callbacks=[report], **report.arguments)
    """

    def __init__(self, run: Run, monitor: str | None = None, every: int = 1) -> None:
        super().__init__()
        self._reporter = Reporter(run, monitor, every)

    @property
    def arguments(self) -> dict[str, Any]:
        """What makes ``fit`` go on from the last checkpoint."""
        return {"initial_epoch": int(self._reporter.run.start), "epochs": self._reporter.end}

    def load(self, **options: Any) -> Any:
        """The compiled model of the last checkpoint; None without one.

        Args:
            options: of ``keras.models.load_model``, such as ``custom_objects``.
        """
        latest = self._reporter.run.latest
        return None if latest is None else keras.models.load_model(latest / MODEL, **options)

    def on_epoch_end(self, epoch: int, logs: Mapping[str, Any] | None = None) -> None:
        """Called by Keras."""
        if not self._reporter.is_due(epoch + 1):
            return
        go_on = self._reporter.report(
            epoch + 1, logs or {}, lambda folder: self.model.save(folder / MODEL)
        )
        if not go_on:
            self.model.stop_training = True
