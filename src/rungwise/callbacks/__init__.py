"""Callbacks: called with everything that happens in a study, such as trackers.

The name of a tracker (``--track tensorboard``) follows from its class, see
:mod:`rungwise.options.registry`.

Names are looked up when they are first used: few studies need a tracker.
"""

import importlib as _importlib
import typing as _typing

if _typing.TYPE_CHECKING:
    from rungwise.callbacks.base import Callback
    from rungwise.callbacks.csv_file import CSV
    from rungwise.callbacks.events import (
        CeilingRaised,
        JobLeft,
        JobStarted,
        ReportEvent,
        StudyBegan,
        StudyEnded,
    )
    from rungwise.callbacks.mlflow import MLflow
    from rungwise.callbacks.tensorboard import TensorBoard
    from rungwise.callbacks.wandb import WandB

__all__ = [
    "CSV",
    "Callback",
    "CeilingRaised",
    "JobLeft",
    "JobStarted",
    "MLflow",
    "ReportEvent",
    "StudyBegan",
    "StudyEnded",
    "TensorBoard",
    "WandB",
]

_PLACES = {
    "CSV": "rungwise.callbacks.csv_file",
    "Callback": "rungwise.callbacks.base",
    "CeilingRaised": "rungwise.callbacks.events",
    "JobLeft": "rungwise.callbacks.events",
    "JobStarted": "rungwise.callbacks.events",
    "MLflow": "rungwise.callbacks.mlflow",
    "ReportEvent": "rungwise.callbacks.events",
    "StudyBegan": "rungwise.callbacks.events",
    "StudyEnded": "rungwise.callbacks.events",
    "TensorBoard": "rungwise.callbacks.tensorboard",
    "WandB": "rungwise.callbacks.wandb",
}


def __getattr__(name: str) -> _typing.Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(_importlib.import_module(_PLACES[name]), name)
    return found


def __dir__() -> list[str]:
    loaded = {name for name in globals() if not name.startswith("_")}  # submodules
    return sorted({*loaded, *__all__})
