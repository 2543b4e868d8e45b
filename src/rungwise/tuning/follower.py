"""A study file, followed: what is new is folded, and only that.

Law of this file: it never writes to the study, and has it open for moments only, so that the tuner
is always the last to close it. Decisions are not taken from the log on trust: the engine takes them
again, and must come to the same. Of a large study it begins with the snapshot, if there is one that
is right (:mod:`rungwise.storage.snapshots`), and knows the same as if it had read every entry.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rungwise.core.decisions import StartJob
from rungwise.core.engine import Engine
from rungwise.core.events import (
    JobEnded,
    JobFailed,
    JobLost,
    Reported,
    StudyExtended,
    TrialStopped,
)
from rungwise.core.replay import find_drawn
from rungwise.errors import RungwiseError
from rungwise.locking import FileLock, identify_file
from rungwise.storage.base import Entry
from rungwise.storage.record import StudyRecord
from rungwise.storage.snapshots import read_snapshot
from rungwise.storage.study_file import StudyFile
from rungwise.storage.tail import Position, is_still_there, read_parts, read_tail
from rungwise.tuning.retrained import find_best
from rungwise.views import StudyView


@dataclass(slots=True)
class Retrained:
    """A retraining in the same file: how far it is, and (resource, value) of its best."""

    trial: int
    resource: float = 0.0
    value: float | None = None
    best: tuple[float, float] | None = None


@dataclass(slots=True)
class Fold:
    """What has been read of a study.

    Attributes:
        engine: the study.
        about: what the file says about it.
        clock: the time of the last event.
        jobs: the version in which each job last changed.
        trials: the version in which each trial last changed.
        failures: what failed, as the file has it.
        notices: [(seconds, kind, text), …]: what the tuner told people.
        retrained: part → the retraining there.
        recorded: the configuration that the log has for the trial that is drawn next.
        begun_at: how many entries the snapshot stands for that it began with; 0 without one.
    """

    engine: Engine
    about: StudyRecord
    clock: float = 0.0
    jobs: list[int] = field(default_factory=list)
    trials: list[int] = field(default_factory=list)
    failures: list[dict[str, Any]] = field(default_factory=list)
    notices: list[tuple[float, str, str]] = field(default_factory=list)
    retrained: dict[int, Retrained] = field(default_factory=dict)
    recorded: Mapping[str, Any] | None = None
    begun_at: int = 0


class Follower:
    """Follows one study file; not thread-safe.

    Args:
        path: the file; it may not be there yet.

    Attributes:
        fold: what has been read; None before the first entry.
        version: grows with every change.
        problem: why the file cannot be read now; empty if it can.
        restarts: how often another study was found in its place.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.fold: Fold | None = None
        self.version = 1
        self.problem = ""
        self.restarts = 0
        self.running = False
        self._position, self._notes = Position(), 0
        self._seen: tuple[Any, ...] = ()  # of the file, when all of it had been read
        self._place: Any = None  # which file it was
        self._broken = False
        self._whole = False  # begin with the first entry, although there is a snapshot
        self._lock = FileLock(path.with_name(path.name + ".lock"))

    @property
    def view(self) -> StudyView | None:
        """The study as far as it was read; None before its first entry."""
        fold = self.fold
        if fold is None:
            return None
        return StudyView.of(
            fold.engine,
            fold.about,
            self.path,
            running=self.running,
            seconds=fold.clock,
            failures=len(fold.failures),
        )

    def poll(self) -> bool:
        """Read what is new; whether there may be more to read at once."""
        running = self._lock.held()
        if running != self.running:
            self.running = running
            self.version += 1
        state = self._look()
        if state == self._seen:
            return False
        if state[0] is None:
            self._seen = state
            self.say("the file is gone; what is shown is the last that was read of it")
            return False
        if self._place not in (None, state[0]):
            self._start_over("the file was replaced by another one")
        self._place = state[0]
        if self._broken:  # what came after an entry that cannot be folded would be wrong
            return False
        try:
            more = self._read()
        except Exception as error:
            if self._may_be_false():  # whatever a false snapshot may lead to: the entries count
                self._start_over("")
                self._whole = True
                return True
            if not isinstance(error, (RungwiseError, OSError)):
                raise
            self._seen = state
            self.say(str(error))
            return False
        self.say("")
        if not more:
            self._seen = state
        return more

    def _may_be_false(self) -> bool:
        """Whether an entry could not be folded into what a snapshot holds."""
        return self._broken and self.fold is not None and self.fold.begun_at > 0

    def _look(self) -> tuple[Any, ...]:
        """What changes whenever the file does."""
        try:
            found: list[Any] = [identify_file(self.path)]
            for name in (self.path.name, f"{self.path.name}-wal"):
                place = self.path.with_name(name)
                try:
                    about = place.stat()
                    found.append((about.st_mtime_ns, about.st_size))
                except FileNotFoundError:
                    found.append(None)
        except OSError:
            return (None,)
        return tuple(found)

    def say(self, problem: str) -> None:
        """Tell what is wrong now; empty if nothing is."""
        if problem != self.problem:
            self.problem = problem
            self.version += 1

    def _start_over(self, why: str) -> None:
        if self.fold is not None:
            self.restarts += 1
        self.fold, self._position, self._notes = None, Position(), 0
        self._broken = self._whole = False
        self.say(why)
        self.version += 1

    # -- reading -------------------------------------------------------------------------------

    def _read(self) -> bool:
        with StudyFile(self.path, mode="read", checked=False) as file:
            if not file.begun:
                return False
            with file.log.snapshot():
                if not is_still_there(file.log, self._position):
                    self._start_over("another study is in the file")
                fold = self.fold
                if fold is None:
                    fold = self.fold = self._begin(file)
                self._read_notes(file, fold)  # first: an error there must not lose entries
                entries, self._position = read_tail(file.log, self._position)
        if entries:
            self.version += 1
        self._broken = True  # until all of them have been folded: then nothing is missing
        for part, entry in entries:
            if part:
                self._retrain(fold, part, entry)
            else:
                self._apply(fold, entry)
        self._broken = False
        return bool(entries)

    def _begin(self, file: StudyFile) -> Fold:
        """A fold of no entries, or of those that a snapshot stands for."""
        self.version += 1
        self._position, self._notes = Position(), 0
        found = None if self._whole else read_snapshot(file.log, file.types)
        if found is None:
            fold = Fold(Engine(file.main.study), file.about)
        else:
            engine, version = found.engine, self.version
            jobs = [version] * len(engine.jobs)
            trials = [version] * len(engine.trials)
            fold = Fold(engine, file.about, found.clock, jobs, trials, begun_at=found.entries)
            self._position = Position(found.entries, found.checksum)
            self._read_notes(file, fold)  # where retrainings begin
            for part, entry in read_parts(file.log, self._position):
                self._retrain(fold, part, entry)
        fold.engine.proposer = lambda _: fold.recorded
        return fold

    def _read_notes(self, file: StudyFile, fold: Fold) -> None:
        if file.log.notes == self._notes:
            return
        self._notes = file.log.notes
        fold.about = file.about
        fold.failures = [
            {name: getattr(one, name) for name in one.__dataclass_fields__}
            for one in file.failures()
        ]
        fold.notices = [(at, "notice", text) for at, text in file.notices()]
        for trial, part in file.retrainings():
            fold.retrained.setdefault(part.number, Retrained(trial))
        self.version += 1

    def _retrain(self, fold: Fold, part: int, entry: Entry) -> None:
        event, found = entry[0], fold.retrained.get(part)
        if found is not None and isinstance(event, Reported):
            found.resource, found.value = event.resource, event.value
            held = () if found.best is None else (found.best,)
            curve = (*held, (event.resource, event.value))
            found.best = find_best(curve, fold.engine.study.goal)

    def _apply(self, fold: Fold, entry: Entry) -> None:
        event, decision = entry
        engine, version = fold.engine, self.version
        fold.recorded = find_drawn(decision, len(engine.trials))
        again = engine.handle(event)
        if again is not decision and again != decision:
            raise RungwiseError(
                f"{self.path}: its decision to {event} would be another one now: {again}. It was "
                f"written by another version of rungwise, or edited; rungwise verify says more."
            )
        fold.clock = max(fold.clock, event.at)
        if isinstance(event, Reported):
            fold.trials[engine.jobs[event.job].trial] = version
        elif type(decision) is StartJob:
            self._issued(fold, decision)
        elif isinstance(event, (JobEnded, JobFailed, JobLost)):
            fold.jobs[event.job] = version
            fold.trials[engine.jobs[event.job].trial] = version
        elif isinstance(event, StudyExtended):
            self._touch_all(fold)
        elif isinstance(event, TrialStopped):
            fold.trials[event.trial] = version

    def _issued(self, fold: Fold, decision: StartJob) -> None:
        trial = decision.job.trial
        if trial == len(fold.trials):
            fold.trials.append(self.version)
        fold.trials[trial] = self.version
        fold.jobs.append(self.version)

    def _touch_all(self, fold: Fold) -> None:
        """Everything may have changed: with a higher maximum other trials are completed."""
        fold.trials = [self.version] * len(fold.trials)
