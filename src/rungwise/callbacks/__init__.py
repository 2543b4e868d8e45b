"""Callbacks: called with everything that happens in a study, such as trackers.

The name of a tracker (``--track tensorboard``) follows from its class, see
:mod:`rungwise.registry`.
"""

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
