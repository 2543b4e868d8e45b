"""Conformance suites to subclass, and test doubles.

A scheduler, ranking, searcher, log, backend, adapter, checkpoint store, display or callback of your
own gets all the tests that rungwise's own have, from one class in a test module::

    from rungwise.testing import RankingConformance

    class TestMine(RankingConformance):
        def make_ranking(self):
            return Mine()
"""

try:
    import pytest  # noqa: F401 - only whether it is there
except ImportError:  # pragma: no cover - the checks run with the extra
    from rungwise.errors import MissingExtraError

    raise MissingExtraError("rungwise.testing", "testing") from None

from rungwise.testing.adapters import (
    AdapterConformance,
    BrokenTrial,
    HostRecord,
    HostStudy,
)
from rungwise.testing.backends import BackendConformance
from rungwise.testing.callbacks import CallbackConformance
from rungwise.testing.displays import DisplayConformance
from rungwise.testing.logs import LogConformance
from rungwise.testing.process_backends import ProcessBackendConformance
from rungwise.testing.rankings import RankingConformance
from rungwise.testing.schedulers import SchedulerConformance
from rungwise.testing.searchers import ListHistory, Observation, SearcherConformance
from rungwise.testing.stores import StoreConformance
from rungwise.testing.training_backends import TrainingBackendConformance

__all__ = [
    "AdapterConformance",
    "BackendConformance",
    "BrokenTrial",
    "CallbackConformance",
    "DisplayConformance",
    "HostRecord",
    "HostStudy",
    "ListHistory",
    "LogConformance",
    "Observation",
    "ProcessBackendConformance",
    "RankingConformance",
    "SchedulerConformance",
    "SearcherConformance",
    "StoreConformance",
    "TrainingBackendConformance",
]
