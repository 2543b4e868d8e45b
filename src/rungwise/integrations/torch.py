"""Plain PyTorch: saves and loads states, reports, and lets all ranks leave in the same step."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rungwise.errors import InvalidArgumentError
from rungwise.integrations.ranks import find_rank, report_once
from rungwise.packages import check_package
from rungwise.run import Run

check_package("rungwise.integrations.torch", "torch", extra="torch", at_least="2.0")

import torch  # noqa: E402 - named if missing

FILE = "state.pt"
RANDOM = "rungwise.random"


class Report:
    """Keeps what has a state, and reports.

    What is given is loaded from the last checkpoint at once, together with PyTorch's random state
    (of one process; of several ranks each seeds its own). A distributed model is saved without its
    wrapper.

    Args:
        run: the run of the training function; in child processes what :meth:`Run.share` gave.
        states: everything that has ``state_dict`` and ``load_state_dict``: the model, the
            optimiser, the learning-rate schedule, a gradient scaler.

    Example::

        def train(config, run):
            ...
            report = Report(run, model=model, optimizer=optimizer)
            for epoch in report.resources():
                loss = train_one_epoch()
                report(epoch, loss=loss)
    """

    def __init__(self, run: Run, **states: Any) -> None:
        for name, each in states.items():
            if not (hasattr(each, "state_dict") and hasattr(each, "load_state_dict")):
                rule = "it must have state_dict() and load_state_dict(), as models and optimisers"
                raise InvalidArgumentError(name, each, rule)
        self._run = run
        self._states = {name: _unwrap(each) for name, each in states.items()}
        if run.latest is not None:
            self._load(run.latest / FILE)

    def resources(self, step: float = 1) -> Iterator[Any]:
        """What to train next, as :meth:`Run.resources`; ends on every rank in the same step."""
        return self._run.resources(step)

    def __call__(self, resource: float, **metrics: Any) -> bool:
        """Save, then report; every rank calls it, and gets the same answer.

        Args:
            resource: how much has been trained in all.
            metrics: the metric of the study and any others; those of rank 0 count.
        """
        return report_once(self._run, resource, lambda: self._report(resource, metrics))

    def _report(self, resource: float, metrics: dict[str, Any]) -> bool:
        with self._run.checkpoint(resource) as folder:
            state = {name: each.state_dict() for name, each in self._states.items()}
            if find_rank()[1] == 1:
                state[RANDOM] = _get_random_state()
            torch.save(state, folder / FILE)
        return self._run.report(resource, **metrics)

    def _load(self, path: Path) -> None:
        held = torch.load(path, map_location="cpu", weights_only=True)
        missing = sorted(set(self._states) - set(held))
        if missing:
            rule = f"the checkpoint {path} holds {', '.join(sorted(held))} only"
            raise InvalidArgumentError("states", ", ".join(missing), rule)
        for name, each in self._states.items():
            each.load_state_dict(held[name])
        if RANDOM in held and find_rank()[1] == 1:
            _set_random_state(held[RANDOM])


def _unwrap(each: Any) -> Any:
    """The model inside DistributedDataParallel or DataParallel."""
    wrappers = (torch.nn.parallel.DistributedDataParallel, torch.nn.DataParallel)
    return each.module if isinstance(each, wrappers) else each


def _get_random_state() -> dict[str, Any]:
    state: dict[str, Any] = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        state["cuda"] = torch.cuda.get_rng_state()
    return state


def _set_random_state(state: dict[str, Any]) -> None:
    torch.set_rng_state(state["cpu"])
    if "cuda" in state and torch.cuda.is_available():
        torch.cuda.set_rng_state(state["cuda"])
