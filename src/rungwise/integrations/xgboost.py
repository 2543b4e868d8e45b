"""XGBoost: boosting rounds are the resource, and a model file is the checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rungwise.integrations.reporting import Reporter
from rungwise.packages import check_package
from rungwise.run import Run

check_package("rungwise.integrations.xgboost", "xgboost", extra="xgboost", at_least="1.6")

from xgboost.callback import TrainingCallback  # noqa: E402 - named if missing

MODEL = "model.ubj"


class Report(TrainingCallback):  # type: ignore[misc]  # XGBoost's types are not read
    """A callback of XGBoost: saves, reports, and ends the training when enough is known.

    Args:
        run: the run of the training function.
        monitor: the metric that the study compares, by XGBoost's names: ``"valid rmse"`` is rmse
            on what ``evals`` calls valid. By default the one that has the name of the study's
            metric, or the only one.
        every: save and report once in so many rounds, and at the end of a job.

    Example::

        def train(config, run):
            report = Report(run)
            xgboost.train(
                config, data, evals=[(valid, "valid")], callbacks=[report], **report.arguments
            )
    """

    def __init__(self, run: Run, monitor: str | None = None, every: int = 1) -> None:
        super().__init__()
        self._reporter = Reporter(run, monitor, every)

    @property
    def arguments(self) -> dict[str, Any]:
        """What makes ``xgboost.train`` go on from the last checkpoint."""
        run = self._reporter.run
        model = None if run.latest is None else str(run.latest / MODEL)
        return {"xgb_model": model, "num_boost_round": self._reporter.end - int(run.start)}

    def after_iteration(
        self, model: Any, epoch: int, evals_log: Mapping[str, Mapping[str, list[Any]]]
    ) -> bool:
        """Called by XGBoost after every round; whether to stop."""
        del epoch  # counted from 0 again whenever the training goes on
        rounds = model.num_boosted_rounds()
        if not self._reporter.is_due(rounds):
            return False
        values = {
            f"{data} {name}": _mean(history[-1])
            for data, metrics in evals_log.items()
            for name, history in metrics.items()
        }
        return not self._reporter.report(
            rounds, values, lambda folder: model.save_model(str(folder / MODEL))
        )


def _mean(value: Any) -> float:
    """Of cross-validation XGBoost gives the mean and the deviation."""
    return float(value[0] if isinstance(value, tuple) else value)
