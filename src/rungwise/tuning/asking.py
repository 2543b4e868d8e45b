"""A session whose jobs are trained by a loop of the user's, between two of its calls.

Law of this file: it decides nothing. What a loop says becomes messages of a backend, and session,
driver and policy treat them as those of workers. One thread at a time may use it.
"""

from __future__ import annotations

import shutil
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from rungwise.backends.asked import AskedJobs
from rungwise.backends.messages import Message
from rungwise.display.quiet import QuietDisplay
from rungwise.run import Assignment
from rungwise.session.opened import OpenedStudy
from rungwise.session.session import StudySession
from rungwise.tuning.kept_options import keep_options
from rungwise.tuning.parts import follow_asking
from rungwise.tuning.result import TuningResult
from rungwise.tuning.results import make_result


class NoticeQueue(QuietDisplay):
    """Holds what a person should know until it can be passed on, if anyone wants to be told.

    Attributes:
        texts: what was not passed on yet.
        at_once: called with every further notice, where a call takes long.
    """

    def __init__(self) -> None:
        self.texts: deque[str] = deque()
        self.at_once: Callable[[], None] = lambda: None

    def notice(self, text: str) -> None:
        """Hold a notice."""
        self.texts.append(text)
        self.at_once()


class HeardQueue(NoticeQueue):
    """A queue of which somebody is told."""

    shows_notices: ClassVar[bool] = True


class AskedBackend(AskedJobs):
    """The jobs of a loop.

    Args:
        since: where the clock of the study stands.
        wake: called, from another thread, when a proposal has been computed.
    """

    def __init__(self, since: float, wake: Callable[[], None]) -> None:
        super().__init__(since)
        self._wake = wake

    def wake(self) -> None:
        """Let the loop ask again."""
        self._wake()


class AskedSession:
    """Runs the session of a study that is asked for jobs.

    Args:
        opened: the study.
        queue: takes what a person should know.
        wake: called, from another thread, when a proposal has been computed.
        callbacks: called with what happens.

    Attributes:
        session: the session.
        backend: what was said and decided.
    """

    def __init__(
        self,
        opened: OpenedStudy,
        queue: NoticeQueue,
        *,
        wake: Callable[[], None],
        callbacks: Sequence[Any] = (),
    ) -> None:
        self._folder = _Folder(None if opened.kept else opened.file.path.parent)
        self._version_asked = -1  # the engine's, when there was nothing to do
        self._most_open = 0
        self.session = StudySession(opened, queue, follow_asking(callbacks))
        self.backend = AskedBackend(opened.since, wake)
        self.session.open()
        try:
            self.session.start(self.backend, saves=False)
            self.session.begin()
        except BaseException:
            self.session.close()
            raise

    @property
    def needs_watching(self) -> bool:
        """Whether something may have to be done although nothing is called."""
        return self.session.opened.kept or self.session.driver.watches_time

    @property
    def held(self) -> bool:
        """Whether there was no job because a proposal is being computed."""
        return self.session.driver.held

    def ask(self) -> Assignment | None:
        """Return a job for the caller, if there is one."""
        engine, driver = self.session.engine, self.session.driver
        # A request that was answered Wait is made again only if the answer may be another.
        waits = self._version_asked == engine.version and not driver.waits
        self.backend.asking = not waits
        try:
            self.step()
        finally:
            self.backend.asking = False
        given = self.backend.take_job()
        if given is not None:
            self._most_open = max(self._most_open, len(engine.open_jobs))
        elif not driver.held:
            self._version_asked = engine.version
        return given

    def say(self, message: Message) -> None:
        """Let the study hear of something; what it decides is in the log when this returns."""
        self.backend.say(message)
        self.step()

    def step(self) -> None:
        """Handle what was said, apply what was asked of the study, and look for hung jobs."""
        self.session.driver.step()
        while self.backend.pending:  # jobs that were made to leave
            self.session.driver.step()

    def make_result(self, *, running: bool) -> TuningResult:
        """Return what came of the study so far."""
        result = make_result(self.session, self._count_workers(), running=running)
        _FOLDERS[result] = self._folder
        return result

    def _count_workers(self) -> int:
        """How many jobs were open at a time, at most."""
        return max(self._most_open, self.session.opened.about.workers)

    def leave(self) -> None:
        """Give up the jobs that are open, and write a snapshot."""
        session = self.session
        session.recall()
        session.halt()
        session.end()
        keep_options(session.opened.file, session.opened.options, self._count_workers())


class _Folder:
    """The folder of a study that is not kept: it goes with the study and the last of its results.

    Args:
        path: the folder; None for a study that is kept.
    """

    def __init__(self, path: Path | None) -> None:
        if path is not None:
            weakref.finalize(self, shutil.rmtree, path, ignore_errors=True)


_FOLDERS: weakref.WeakKeyDictionary[TuningResult, _Folder] = weakref.WeakKeyDictionary()
"""What keeps the folder of a result."""
