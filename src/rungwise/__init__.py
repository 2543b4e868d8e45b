"""rungwise: tune models without knowing how many epochs are enough.

The public names are those listed here; everything else may move.
"""

from rungwise import rankings, searchers
from rungwise._version import __version__
from rungwise.benchmarks import Table, power_laws
from rungwise.errors import (
    CorruptLogError,
    IllegalEventError,
    InvalidArgumentError,
    LogInUseError,
    LogUnavailableError,
    MissingExtraError,
    NotFiniteError,
    NothingFoundError,
    ReplayMismatchError,
    RetrainingError,
    RungwiseError,
    SafetyNetWarning,
    SchemaError,
    SilentTrialError,
    SpaceError,
    StudyDiffersError,
    StudyInterrupted,
    TableError,
    WorkerStartError,
)
from rungwise.run import Run
from rungwise.schedulers import (
    ASHA,
    PASHA,
    AsyncHyperband,
    FixedResource,
    Hyperband,
    RandomSearch,
    SuccessiveHalving,
)
from rungwise.scripts import Script, ScriptError
from rungwise.simulation import Best, SimulationResult, random_configuration, simulate
from rungwise.space import Choice, Float, Int, Space
from rungwise.storage import MemoryLog, SqliteLog, replay
from rungwise.tuning.api import load, resume, tune
from rungwise.tuning.result import BestTrial, TuningResult
from rungwise.tuning.retraining import Retrained
from rungwise.tuning.session import Report

__all__ = [
    "ASHA",
    "PASHA",
    "AsyncHyperband",
    "Best",
    "BestTrial",
    "Choice",
    "CorruptLogError",
    "FixedResource",
    "Float",
    "Hyperband",
    "IllegalEventError",
    "Int",
    "InvalidArgumentError",
    "LogInUseError",
    "LogUnavailableError",
    "MemoryLog",
    "MissingExtraError",
    "NotFiniteError",
    "NothingFoundError",
    "RandomSearch",
    "ReplayMismatchError",
    "Report",
    "Retrained",
    "RetrainingError",
    "Run",
    "RungwiseError",
    "SafetyNetWarning",
    "SchemaError",
    "Script",
    "ScriptError",
    "SilentTrialError",
    "SimulationResult",
    "Space",
    "SpaceError",
    "SqliteLog",
    "StudyDiffersError",
    "StudyInterrupted",
    "SuccessiveHalving",
    "Table",
    "TableError",
    "TuningResult",
    "WorkerStartError",
    "__version__",
    "load",
    "power_laws",
    "random_configuration",
    "rankings",
    "replay",
    "resume",
    "searchers",
    "simulate",
    "tune",
]
