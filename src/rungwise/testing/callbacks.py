"""The conformance suite of callbacks, to subclass in a test module.

Example::

    class TestMine(CallbackConformance):
        def make_callback(self, folder):
            return Mine(folder / "reports")

        def read(self, folder):
            return [(row.study, row.trial, row.resource, row.value) for row in …]

One that keeps no records leaves out :meth:`~CallbackConformance.read`.
"""

from __future__ import annotations

import math
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import rungwise as rw
from rungwise.callbacks import (
    Callback,
    CeilingRaised,
    JobLeft,
    JobStarted,
    ReportEvent,
    StudyBegan,
    StudyEnded,
)
from rungwise.display import QuietDisplay
from rungwise.storage.codec import entry_to_json

Record = tuple[str, int, float, float]
"""What identifies a study, the trial, the resource, the value."""

SPACE = {"x": rw.Float(0, 1), "kind": ["a", "b"]}
HOSTILE = "\x1b[2J\x00\r\n,;\"'=1+1 ε {red} <b> " + "x" * 300


def train(config: dict[str, Any], run: rw.Run) -> None:
    """Trains nothing; the fifth trial fails."""
    if run.trial == 5:
        raise RuntimeError(HOSTILE)
    for epoch in run.resources():
        with run.checkpoint(epoch):
            pass
        run.report(epoch, loss=config["x"] + 1 / epoch, speed=2.0 * epoch)


class Notices(QuietDisplay):
    """Keeps what the user would be shown."""

    shows_notices = True

    def __init__(self) -> None:
        self.texts: list[str] = []

    def notice(self, text: str) -> None:
        """Keep it."""
        self.texts.append(text)


class Interrupt(Callback):
    """Ends a study after a number of reports, as Ctrl-C would."""

    def __init__(self, after: int) -> None:
        self._left = after

    def reported(self, report: ReportEvent) -> None:  # noqa: ARG002 - only how many there are
        """Count."""
        self._left -= 1
        if not self._left:
            raise KeyboardInterrupt


def run_study(path: Path, *callbacks: Any, interrupt_after: int = 0) -> rw.TuningResult | None:
    """Run a small study with one worker, or resume it; None if it was interrupted.

    Callbacks may have nothing to complain of: what they raise fails the test.
    """
    shown = Notices()
    told = [*callbacks, *([Interrupt(interrupt_after)] if interrupt_after else [])]
    result: rw.TuningResult | None = None
    try:
        result = rw.tune(
            train,
            SPACE,
            metric="loss",
            goal="min",
            scheduler="pasha",
            max_resource=9,
            trials=8,
            retries=0,
            backend="threads:1",
            study=path,
            callbacks=told,
            show=shown,
        )
    except KeyboardInterrupt:
        assert interrupt_after, "the study was interrupted"
    about = (text for text in shown.texts if "the callback " in text)
    complaints = [text for text in about if not text.startswith("waiting")]
    assert not complaints, complaints
    return result


def find_key(path: Path) -> str:
    """What identifies a study for callbacks."""
    found: list[str] = []

    class Note(Callback):
        def begin(self, study: StudyBegan) -> None:
            found.append(study.key)

    run_study(path, Note())
    return found[0]


def list_records(result: rw.TuningResult, key: str) -> Counter[Record]:
    """What must have been recorded of a study, once each."""
    curves = result.curves().items()
    pairs = [(key, trial, r, value) for trial, curve in curves for r, value in curve]
    return Counter(pairs)


class CallbackConformance:
    """Subclass it and give :meth:`make_callback` and, of one that keeps records, :meth:`read`."""

    def make_callback(self, folder: Path) -> Any:
        """A fresh callback that writes to a folder, which may hold the records of another."""
        raise NotImplementedError

    def read(self, folder: Path) -> Sequence[Record] | None:
        """The records in a folder: (study, trial, resource, value); None if none are kept."""
        del folder
        return None

    def assert_recorded(self, folder: Path, *studies: tuple[Path, rw.TuningResult | None]) -> None:
        """Every report of some studies is recorded, once."""
        found = self.read(folder)
        if found is None:
            return
        wanted: Counter[Record] = Counter()
        for path, result in studies:
            assert result is not None
            wanted += list_records(result, find_key(path))
        had = Counter((key, int(t), float(r), round(float(v), 5)) for key, t, r, v in found)
        expected = Counter((k, t, float(r), round(v, 5)) for k, t, r, v in wanted)
        assert not expected - had, "reports are missing"
        assert not had - expected, "reports are recorded twice, or were never made"

    def test_records_every_report(self, tmp_path: Path) -> None:
        """Of trials that pause, go on, are stopped, and fail."""
        result = run_study(tmp_path / "s.db", self.make_callback(tmp_path))
        self.assert_recorded(tmp_path, (tmp_path / "s.db", result))

    @pytest.mark.parametrize("after", [1, 7])
    def test_a_study_that_is_resumed_has_neither_gap_nor_duplicate(
        self, tmp_path: Path, after: int
    ) -> None:
        """Interrupted twice, and resumed with a fresh callback."""
        path = tmp_path / "s.db"
        for _ in range(2):
            run_study(path, self.make_callback(tmp_path), interrupt_after=after)
        result = run_study(path, self.make_callback(tmp_path))
        self.assert_recorded(tmp_path, (path, result))

    def test_what_it_has_missed_is_added(self, tmp_path: Path) -> None:
        """It was given to the second part of a study only."""
        path = tmp_path / "s.db"
        run_study(path, interrupt_after=6)
        result = run_study(path, self.make_callback(tmp_path))
        self.assert_recorded(tmp_path, (path, result))

    def test_a_study_that_has_ended_can_be_recorded(self, tmp_path: Path) -> None:
        """Resumed twice, which adds nothing."""
        path = tmp_path / "s.db"
        result = run_study(path)
        for _ in range(2):
            run_study(path, self.make_callback(tmp_path))
        self.assert_recorded(tmp_path, (path, result))

    def test_one_callback_may_serve_several_studies(self, tmp_path: Path) -> None:
        """One after the other, kept apart."""
        callback = self.make_callback(tmp_path)
        paths = [tmp_path / "one.db", tmp_path / "two.db"]
        results = [run_study(path, callback) for path in paths]
        self.assert_recorded(tmp_path, *zip(paths, results, strict=True))

    def test_a_retraining_is_recorded_apart(self, tmp_path: Path) -> None:
        """It has a key of its own, and may be repeated."""
        result = run_study(tmp_path / "s.db")
        assert result is not None
        with warnings.catch_warnings():
            warnings.simplefilter("error", rw.UsageWarning)  # complaints are such here
            for _ in range(2):
                callback = self.make_callback(tmp_path)
                result.retrain(train, resource=4, trial=1, fresh=True, callbacks=[callback])
        found = self.read(tmp_path)
        if found is None:
            return
        keys = {key for key, *_ in found}
        assert len(keys) == 2, "two retrainings are two studies"
        assert Counter(int(r) for _, _, r, _ in found) == {1: 2, 2: 2, 3: 2, 4: 2}
        assert {int(trial) for _, trial, _, _ in found} == {1}, "the number of the retrained trial"

    def test_the_study_stays_as_it_is(self, tmp_path: Path) -> None:
        """It takes the same decisions with the callback and without."""
        logs = []
        for name, callbacks in (("with", [self.make_callback(tmp_path)]), ("without", [])):
            path = tmp_path / f"{name}.db"
            run_study(path, *callbacks)
            with rw.SqliteLog(path, mode="read") as log:
                entries = [entry_to_json(entry) for entry in log.read_from()]
            logs.append([_without_time(entry) for entry in entries])
        assert logs[0] == logs[1]

    def test_leaves_no_thread(self, tmp_path: Path) -> None:
        """When the study has ended, or was interrupted."""
        threads = threading.active_count()
        run_study(tmp_path / "s.db", self.make_callback(tmp_path), interrupt_after=5)
        run_study(tmp_path / "s.db", self.make_callback(tmp_path))
        assert threading.active_count() <= threads, "a thread is still alive"

    def test_facts_may_be_odd(self, tmp_path: Path) -> None:
        """What a trial reports, and what a space holds, is not the callback's choice."""
        callback = self.make_callback(tmp_path)
        config = {HOSTILE: HOSTILE, "far": math.inf, "none": None, "flag": True, "n": 2**70}
        metrics = {HOSTILE: math.nan, "far": -math.inf, "big": 1e308}
        told: list[tuple[str, Any]] = [
            ("begin", make_beginning(name=HOSTILE)),
            ("started", JobStarted(0, config, 0, 0, 9)),
            ("reported", ReportEvent(0, config, 0.5, 1e-300, "Continue", None, metrics)),
            ("ceiling", CeilingRaised(9, 1, HOSTILE)),
            ("reported", ReportEvent(0, config, 2**53, -1e300, "Stop", -1e300, {})),
            ("left", JobLeft(0, 0, "failed", 2**53, HOSTILE)),
            ("left", JobLeft(1, 1, "lost", 0)),
            ("ended", make_end(why=HOSTILE)),
        ]
        for name, fact in told:
            method: Callable[[Any], None] = getattr(callback, name)
            method(fact)

    def test_a_study_may_end_before_anything_happened(self, tmp_path: Path) -> None:
        """Interrupted while the workers were being started."""
        callback = self.make_callback(tmp_path)
        callback.begin(make_beginning())
        callback.ended(make_end(trials={}))


def make_beginning(**changes: Any) -> StudyBegan:
    """The beginning of a study that has no reports."""
    given: dict[str, Any] = {
        "key": "0123456789ab",
        "name": "digits",
        "path": None,
        "metric": "loss",
        "goal": "min",
        "scheduler": "PASHA",
        "searcher": "RandomSearcher",
        "max_resource": None,
        "space": {"x": "Float(0, 1)", HOSTILE: HOSTILE},
        "seed": 0,
        "phase": "tune",
        "resumed": False,
        "earlier": lambda: iter(()),
        "notice": lambda _: None,
    }
    return StudyBegan(**{**given, **changes})


def make_end(**changes: Any) -> StudyEnded:
    """The end of a study in which nothing was found."""
    given: dict[str, Any] = {
        "how": "interrupted",
        "why": "The study was interrupted.",
        "best": None,
        "best_trial": None,
        "best_resource": None,
        "best_config": {},
        "trials": {0: "failed", 1: "lost"},
        "reports": 0,
        "resource_spent": 0.0,
        "seconds": 0.0,
    }
    return StudyEnded(**{**given, **changes})


def _without_time(entry: Any) -> Any:
    if isinstance(entry, dict):
        return {key: _without_time(value) for key, value in entry.items() if key != "at"}
    return [_without_time(each) for each in entry] if isinstance(entry, (list, tuple)) else entry
