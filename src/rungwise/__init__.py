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
    ReplayMismatchError,
    RungwiseError,
    SchemaError,
    SpaceError,
    TableError,
)
from rungwise.schedulers import (
    ASHA,
    PASHA,
    AsyncHyperband,
    FixedResource,
    Hyperband,
    RandomSearch,
    SuccessiveHalving,
)
from rungwise.simulation import Best, SimulationResult, random_configuration, simulate
from rungwise.space import Choice, Float, Int, Space
from rungwise.storage import MemoryLog, SqliteLog, replay

__all__ = [
    "ASHA",
    "PASHA",
    "AsyncHyperband",
    "Best",
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
    "RandomSearch",
    "ReplayMismatchError",
    "RungwiseError",
    "SchemaError",
    "SimulationResult",
    "Space",
    "SpaceError",
    "SqliteLog",
    "SuccessiveHalving",
    "Table",
    "TableError",
    "__version__",
    "power_laws",
    "random_configuration",
    "rankings",
    "replay",
    "searchers",
    "simulate",
]
