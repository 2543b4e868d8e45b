"""rungwise: tune models without knowing how many epochs are enough.

The public names are those listed here; everything else may move. They are imported when they are
first used, so that a worker process, which needs only few of them, starts quickly. What this file
itself needs has names with an underscore: ``rungwise.Any`` would be a public name by accident.
"""

import importlib as _importlib
import typing as _typing

from rungwise._version import __version__

if _typing.TYPE_CHECKING:
    from rungwise import benchmarks, callbacks, plots, rankings, searchers
    from rungwise.backends import Local, Ray, Threads
    from rungwise.benchmarks import Table, power_laws
    from rungwise.callbacks import ReportEvent
    from rungwise.core.decisions import Done, Wait
    from rungwise.errors import (
        CorruptLogError,
        FunctionChangedWarning,
        IllegalEventError,
        InvalidArgumentError,
        LogInUseError,
        LogUnavailableError,
        MissingExtraError,
        ModelWarning,
        NotFiniteError,
        NothingFoundError,
        OutageError,
        ReplayMismatchError,
        RetrainingError,
        RoundingWarning,
        RungwiseError,
        SafetyNetWarning,
        SchemaError,
        ShareError,
        SilentTrialError,
        SpaceError,
        StoreUnavailableError,
        StudyClosedError,
        StudyDiffersError,
        StudyInterrupted,
        TableError,
        UnknownArgumentError,
        UsageWarning,
        WorkerStartError,
    )
    from rungwise.run import Run, SharedRun
    from rungwise.schedulers import (
        ASHA,
        PASHA,
        AdaptiveHalving,
        AsyncHyperband,
        FixedResource,
        Hyperband,
        RandomSearch,
        Rush,
        SharpHalving,
        SuccessiveHalving,
    )
    from rungwise.schedulers.default import default_scheduler
    from rungwise.scripts import Script, ScriptError
    from rungwise.searchers.default import default_searcher
    from rungwise.simulation import Best, SimulationResult, random_configuration, simulate
    from rungwise.space import Choice, Float, Int, Space
    from rungwise.storage import MemoryLog, SqliteLog, replay
    from rungwise.tuning.api import resume, tune
    from rungwise.tuning.ask_tell import AskTellStudy
    from rungwise.tuning.asked_job import Job
    from rungwise.tuning.loading import load
    from rungwise.tuning.open_study import open_study
    from rungwise.tuning.requests import add
    from rungwise.tuning.result import TuningResult
    from rungwise.tuning.retrained import Retrained
    from rungwise.tuning.transfer import leaders
    from rungwise.views import BestTrial, StudyResult, StudyView

__all__ = [
    "ASHA",
    "PASHA",
    "AdaptiveHalving",
    "AskTellStudy",
    "AsyncHyperband",
    "Best",
    "BestTrial",
    "Choice",
    "CorruptLogError",
    "Done",
    "FixedResource",
    "Float",
    "FunctionChangedWarning",
    "Hyperband",
    "IllegalEventError",
    "Int",
    "InvalidArgumentError",
    "Job",
    "Local",
    "LogInUseError",
    "LogUnavailableError",
    "MemoryLog",
    "MissingExtraError",
    "ModelWarning",
    "NotFiniteError",
    "NothingFoundError",
    "OutageError",
    "RandomSearch",
    "Ray",
    "ReplayMismatchError",
    "ReportEvent",
    "Retrained",
    "RetrainingError",
    "RoundingWarning",
    "Run",
    "RungwiseError",
    "Rush",
    "SafetyNetWarning",
    "SchemaError",
    "Script",
    "ScriptError",
    "ShareError",
    "SharedRun",
    "SharpHalving",
    "SilentTrialError",
    "SimulationResult",
    "Space",
    "SpaceError",
    "SqliteLog",
    "StoreUnavailableError",
    "StudyClosedError",
    "StudyDiffersError",
    "StudyInterrupted",
    "StudyResult",
    "StudyView",
    "SuccessiveHalving",
    "Table",
    "TableError",
    "Threads",
    "TuningResult",
    "UnknownArgumentError",
    "UsageWarning",
    "Wait",
    "WorkerStartError",
    "__version__",
    "add",
    "benchmarks",
    "callbacks",
    "default_scheduler",
    "default_searcher",
    "leaders",
    "load",
    "open_study",
    "plots",
    "power_laws",
    "random_configuration",
    "rankings",
    "replay",
    "resume",
    "searchers",
    "simulate",
    "tune",
]

_PLACES = {
    "rungwise.backends": (
        "Local",
        "Ray",
        "Threads",
    ),
    "rungwise.benchmarks": (
        "Table",
        "power_laws",
    ),
    "rungwise.callbacks": ("ReportEvent",),
    "rungwise.core.decisions": ("Done", "Wait"),
    "rungwise.errors": (
        "CorruptLogError",
        "FunctionChangedWarning",
        "IllegalEventError",
        "InvalidArgumentError",
        "LogInUseError",
        "LogUnavailableError",
        "MissingExtraError",
        "ModelWarning",
        "NotFiniteError",
        "NothingFoundError",
        "OutageError",
        "ReplayMismatchError",
        "RetrainingError",
        "RoundingWarning",
        "RungwiseError",
        "SafetyNetWarning",
        "SchemaError",
        "ShareError",
        "SilentTrialError",
        "SpaceError",
        "StoreUnavailableError",
        "StudyClosedError",
        "StudyDiffersError",
        "StudyInterrupted",
        "TableError",
        "UnknownArgumentError",
        "UsageWarning",
        "WorkerStartError",
    ),
    "rungwise.run": (
        "Run",
        "SharedRun",
    ),
    "rungwise.schedulers": (
        "ASHA",
        "PASHA",
        "AsyncHyperband",
        "FixedResource",
        "AdaptiveHalving",
        "Hyperband",
        "RandomSearch",
        "Rush",
        "SharpHalving",
        "SuccessiveHalving",
    ),
    "rungwise.schedulers.default": ("default_scheduler",),
    "rungwise.scripts": (
        "Script",
        "ScriptError",
    ),
    "rungwise.searchers.default": ("default_searcher",),
    "rungwise.simulation": (
        "Best",
        "SimulationResult",
        "random_configuration",
        "simulate",
    ),
    "rungwise.space": (
        "Choice",
        "Float",
        "Int",
        "Space",
    ),
    "rungwise.storage": (
        "MemoryLog",
        "SqliteLog",
        "replay",
    ),
    "rungwise.tuning.api": (
        "resume",
        "tune",
    ),
    "rungwise.tuning.ask_tell": ("AskTellStudy",),
    "rungwise.tuning.asked_job": ("Job",),
    "rungwise.tuning.loading": ("load",),
    "rungwise.tuning.open_study": ("open_study",),
    "rungwise.tuning.requests": ("add",),
    "rungwise.tuning.result": ("TuningResult",),
    "rungwise.tuning.retrained": ("Retrained",),
    "rungwise.tuning.transfer": ("leaders",),
    "rungwise.views": (
        "BestTrial",
        "StudyResult",
        "StudyView",
    ),
}
_PLACE_OF = {name: place for place, names in _PLACES.items() for name in names}


def __getattr__(name: str) -> _typing.Any:
    if name in _PLACE_OF:
        found = getattr(_importlib.import_module(_PLACE_OF[name]), name)
    elif name in __all__:
        found = _importlib.import_module(f"rungwise.{name}")
    else:
        raise AttributeError(f"module 'rungwise' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    loaded = {name for name in globals() if not name.startswith("_")}  # submodules
    return sorted({*loaded, *__all__})
