"""LightGBM: boosting rounds are the resource, and a model file is the checkpoint."""

from __future__ import annotations

from typing import Any

from rungwise.integrations.reporting import Reporter
from rungwise.packages import check_package
from rungwise.run import Run

check_package("rungwise.integrations.lightgbm", "lightgbm", extra="lightgbm", at_least="3.3")

from lightgbm.callback import CallbackEnv, EarlyStopException  # noqa: E402 - named if missing

MODEL = "model.txt"


class Report:
    """A callback of LightGBM: saves, reports, and ends the training when enough is known.

    Args:
        run: the run of the training function.
        monitor: the metric that the study compares, by LightGBM's names: ``"auc"``, or
            ``"valid_0 auc"`` where several data sets are evaluated. By default the one that has
            the name of the study's metric, or the only one.
        every: save and report once in so many rounds, and at the end of a job.

    Example::

        def train(config, run):
            report = Report(run)
            lightgbm.train(
                config, data, valid_sets=[valid], callbacks=[report], **report.arguments
            )
    """

    order = 100  # after those that measure and log
    before_iteration = False

    def __init__(self, run: Run, monitor: str | None = None, every: int = 1) -> None:
        self._reporter = Reporter(run, monitor, every)

    @property
    def arguments(self) -> dict[str, Any]:
        """What makes ``lightgbm.train`` go on from the last checkpoint.

        The data set must have ``free_raw_data=False``.
        """
        run = self._reporter.run
        model = None if run.latest is None else str(run.latest / MODEL)
        return {"init_model": model, "num_boost_round": self._reporter.end - int(run.start)}

    def __call__(self, env: CallbackEnv) -> None:
        """Called by LightGBM after every round."""
        rounds = env.model.current_iteration()  # with those of the model that it began with
        if not self._reporter.is_due(rounds):
            return
        results = {f"{each[0]} {each[1]}": each for each in env.evaluation_result_list or ()}
        monitor = self._reporter.choose(results)
        higher_is_better = results[monitor][3]
        self._reporter.check_goal(monitor, "max" if higher_is_better else "min", "LightGBM")
        go_on = self._reporter.report(
            rounds,
            {name: each[2] for name, each in results.items()},
            lambda folder: env.model.save_model(str(folder / MODEL), num_iteration=-1),
        )
        if not go_on:
            raise EarlyStopException(env.iteration, env.evaluation_result_list)
