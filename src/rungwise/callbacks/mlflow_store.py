"""What MLflow is asked for, in plain values; only its client is used.

It runs in a process of its own (``remote_object.py``), so that MLflow is not imported by the tuner.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

Point = tuple[str, float, int, int]
"""The name of a metric, its value, the time in ms, the step."""


class MLflowStore:
    """The runs of one experiment.

    Args:
        uri: of the tracking server or the database; None for what MLflow itself is set to.
        experiment: its name; made if it is not there.
    """

    def __init__(self, uri: str | None, experiment: str) -> None:
        self._entities = import_module("mlflow.entities")
        with _quiet():
            self._client = import_module("mlflow.tracking").MlflowClient(uri)
            found = self._client.get_experiment_by_name(experiment)
            made = self._client.create_experiment(experiment) if found is None else None
        self._place = str(made if found is None else found.experiment_id)

    def find_runs(self, tag: str, value: str) -> list[tuple[str, dict[str, str]]]:
        """(run, tags) of all that have a tag."""
        found: list[tuple[str, dict[str, str]]] = []
        words, token = f"tags.`{tag}` = '{value}'", None
        while True:
            page = self._client.search_runs([self._place], words, max_results=500, page_token=token)
            found += [(str(run.info.run_id), dict(run.data.tags)) for run in page]
            token = page.token
            if not token:
                return found

    def find_steps(self, run: str, metric: str) -> set[int]:
        """The steps at which a run has a metric."""
        return {int(point.step) for point in self._client.get_metric_history(run, metric)}

    def create_run(self, tags: Mapping[str, str]) -> str:
        """Make a run."""
        return str(self._client.create_run(self._place, tags=dict(tags)).info.run_id)

    def reopen(self, run: str) -> None:
        """A run goes on."""
        self._client.update_run(run, status="RUNNING")

    def write(
        self,
        run: str,
        points: Sequence[Point] = (),
        params: Mapping[str, str] | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> None:
        """Write to a run; what it holds already it holds once."""
        entities = self._entities
        self._client.log_batch(
            run,
            metrics=[entities.Metric(*point) for point in points],
            params=[entities.Param(name, text) for name, text in (params or {}).items()],
            tags=[entities.RunTag(name, text) for name, text in (tags or {}).items()],
        )

    def end(self, run: str, status: str) -> None:
        """A run has ended."""
        self._client.set_terminated(run, status)


@contextmanager
def _quiet() -> Iterator[None]:
    """Without what MLflow says of the tables that it makes."""
    names = ("alembic", "mlflow.store.db.utils")
    before: list[tuple[Any, int]] = [
        (logging.getLogger(name), logging.getLogger(name).level) for name in names
    ]
    try:
        for logger, _ in before:
            logger.setLevel(logging.WARNING)
        yield
    finally:
        for logger, level in before:
            logger.setLevel(level)
