"""The conformance suite of logs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol, cast, runtime_checkable

import pytest

from rungwise.benchmarks.generated import power_laws
from rungwise.core.decisions import CONTINUE, NOTED, WAIT, Done, Job, StartJob
from rungwise.core.events import JobEnded, JobFailed, JobLost, JobRequested, Reported
from rungwise.core.limits import Limits
from rungwise.core.study import Study
from rungwise.errors import InvalidArgumentError
from rungwise.schedulers import PASHA
from rungwise.simulation import simulate
from rungwise.storage import Entry, EventLog, replay

ENTRIES: list[Entry] = [
    (JobRequested(), StartJob(Job(0, 0, {"lr": 0.1, "act": "é", "on": True, "no": None}, 0, 3))),
    (Reported(0, 1, math.inf, at=1.5, cost=0.25), CONTINUE),
    (Reported(0, 0.5, -0.0), CONTINUE),
    (JobFailed(0, "out of memory\n\x00 ☃"), NOTED),
    (JobLost(0), NOTED),
    (JobEnded(0, at=2.0), NOTED),
    (JobRequested(at=3.0), WAIT),
    (JobRequested(at=4.0), Done("all were evaluated")),
]


@runtime_checkable
class _Closable(Protocol):
    def close(self) -> None: ...


class LogConformance:
    """Subclass it and give :meth:`make_log`; override :meth:`reopen` for logs that last."""

    def make_log(self, folder: Path) -> EventLog:
        """A fresh log; files belong into the folder."""
        raise NotImplementedError

    def reopen(self, log: EventLog, folder: Path) -> EventLog:  # noqa: ARG002 - for files
        """The same log as another process would see it."""
        return log

    @pytest.fixture(autouse=True)
    def _close_afterwards(self) -> Iterator[None]:
        self._opened: list[EventLog] = []
        yield
        for log in self._opened:
            if isinstance(log, _Closable):
                log.close()

    def _new(self, folder: Path) -> EventLog:
        self._opened.append(self.make_log(folder))
        return self._opened[-1]

    def _again(self, log: EventLog, folder: Path) -> EventLog:
        self._opened.append(self.reopen(log, folder))
        return self._opened[-1]

    def _filled(self, folder: Path) -> EventLog:
        log = self._new(folder)
        log.begin(self._study())
        for event, decision in ENTRIES:
            log.append(event, decision)
        return self._again(log, folder)

    def _study(self) -> Study:
        return Study(PASHA(max_resource=9), Limits(trials=2), initial=[{"row": 0}, {"row": 1}])

    def test_gives_back_what_it_was_given(self, tmp_path: Path) -> None:
        """Entries and study, in order, without loss."""
        log = self._filled(tmp_path)
        assert [repr(entry) for entry in log.read_from()] == [repr(entry) for entry in ENTRIES]
        assert log.study == self._study()

    def test_nan_comes_back_as_nan(self, tmp_path: Path) -> None:
        """The one value that is not equal to itself."""
        log = self._new(tmp_path)
        log.append(Reported(0, 1, math.nan), CONTINUE)
        ((event, _),) = self._again(log, tmp_path).read_from()
        assert isinstance(event, Reported)
        assert math.isnan(event.value)

    def test_can_be_read_from_the_middle(self, tmp_path: Path) -> None:
        """From any position, also one beyond the end."""
        log = self._filled(tmp_path)
        for start in range(len(ENTRIES) + 2):
            assert list(log.read_from(start)) == ENTRIES[start:]

    def test_is_empty_at_first(self, tmp_path: Path) -> None:
        """Nothing to read, and no study."""
        log = self._new(tmp_path)
        assert list(log.read_from()) == []
        with pytest.raises(InvalidArgumentError, match="it contains no study"):
            _ = log.study

    def test_holds_one_study(self, tmp_path: Path) -> None:
        """A second one is refused."""
        log = self._filled(tmp_path)
        with pytest.raises(InvalidArgumentError, match="it already contains a study"):
            log.begin(self._study())

    def test_goes_on_where_it_ended(self, tmp_path: Path) -> None:
        """What is appended after opening again follows what was there."""
        log = self._filled(tmp_path)
        log.append(*ENTRIES[0])
        assert list(self._again(log, tmp_path).read_from(len(ENTRIES))) == ENTRIES[:1]

    def test_takes_several_entries_at_once(self, tmp_path: Path) -> None:
        """In order, after those that were there; from an iterator as well."""
        log = self._new(tmp_path)
        log.begin(self._study())
        log.extend(ENTRIES[:3])
        log.append(*ENTRIES[3])
        log.extend(iter(ENTRIES[4:]))
        log = self._again(log, tmp_path)
        assert list(log.read_from()) == ENTRIES
        log.extend(ENTRIES[:2])
        assert list(self._again(log, tmp_path).read_from(len(ENTRIES))) == ENTRIES[:2]

    def test_takes_no_entries_as_well(self, tmp_path: Path) -> None:
        """Nothing is written, and no error is raised."""
        log = self._filled(tmp_path)
        log.extend([])
        log.extend(iter(()))
        assert list(self._again(log, tmp_path).read_from()) == ENTRIES

    def test_takes_all_entries_or_none(self, tmp_path: Path) -> None:
        """If an error occurs in the middle, no entry is kept, and the log still works."""

        def breaking_off() -> Iterator[Entry]:
            yield ENTRIES[0]
            yield ENTRIES[1]
            raise ZeroDivisionError

        log = self._filled(tmp_path)
        with pytest.raises(ZeroDivisionError):
            log.extend(breaking_off())
        assert list(log.read_from()) == ENTRIES
        log.extend(ENTRIES[:2])
        assert list(self._again(log, tmp_path).read_from()) == ENTRIES + ENTRIES[:2]

    def test_an_entry_that_cannot_be_written_takes_its_neighbours_along(
        self, tmp_path: Path
    ) -> None:
        """Where a log refuses an entry (one in memory need not), those beside it are not kept."""
        unwritable: Any = Reported(0, 1, cast("Any", object()))
        log = self._filled(tmp_path)
        try:
            log.extend([ENTRIES[0], (unwritable, CONTINUE), ENTRIES[1]])
        except Exception:  # noqa: BLE001 - whatever the log has to say
            assert list(log.read_from()) == ENTRIES
            log.append(*ENTRIES[0])
            assert list(self._again(log, tmp_path).read_from()) == ENTRIES + ENTRIES[:1]

    def test_replays_a_study(self, tmp_path: Path) -> None:
        """A simulated study is rebuilt from the log alone."""
        log = self._new(tmp_path)
        result = simulate(power_laws(20, 9, seed=1), PASHA(), trials=20, log=log)
        engine = replay(self._again(log, tmp_path))
        assert (engine.reports, list(engine.scheduler.ceilings)) == (
            result.reports,
            result.ceilings,
        )
