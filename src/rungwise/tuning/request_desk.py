"""Applies what is asked of a study, in the process that has the lock of its file."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from rungwise.core.engine import Engine
from rungwise.core.events import ConfigurationsAdded, Request, StudyExtended, TrialStopped
from rungwise.errors import IllegalEventError, InvalidArgumentError
from rungwise.session.part import Part
from rungwise.storage.record import Labels
from rungwise.storage.study_file import StudyFile, shown
from rungwise.tuning.extending import extend_by, take_extension
from rungwise.tuning.kept_options import change_about
from rungwise.tuning.spool import Answer, Spool

EVERY = 0.5
"""Seconds between two looks for requests."""

Submit = Callable[[Request | StudyExtended], None]
"""Lets the engine handle an event, and appends it to the log."""


class RequestDesk:
    """Applies the requests that wait beside a study file; for the process that has its lock.

    Args:
        file: the study file, open for writing.
        engine: its engine.
        clock: the study's time.
        submit: lets the engine handle an event and logs it; by default without a driver.
        interrupt: stops the tuner after the next reports; None where no tuner is at work.
    """

    def __init__(
        self,
        file: StudyFile,
        engine: Engine,
        clock: float = 0.0,
        *,
        submit: Submit | None = None,
        interrupt: Callable[[], None] | None = None,
    ) -> None:
        self._file = file
        self._engine = engine
        self.clock = clock
        self._submit = self._log if submit is None else submit
        self._interrupt = interrupt
        self._spool = Spool(file.folder)
        self._kinds: dict[str, Callable[[Mapping[str, Any], str], str]] = {
            "add": self._add,
            "stop": self._stop,
            "label": self._label,
            "extend": self._extend,
            "interrupt": self._stop_study,
        }

    def work(self) -> list[str]:
        """Apply what waits, and answer; what was done, for a notice."""
        done = []
        for name, request in self._spool.list_waiting():
            try:
                text = self._kinds[request["kind"]](request, name)
                answer = Answer("applied", text)
                done.append(text)
            except IllegalEventError as error:
                answer = Answer("refused", error.rule)
            except InvalidArgumentError as error:
                answer = Answer("refused", str(error))
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                answer = Answer("refused", f"the request cannot be read: {error!r}")
            self._spool.answer(name, answer)
        return done

    def _log(self, event: Request | StudyExtended) -> None:
        self._file.main.extend([(event, self._engine.handle(event))])

    def _add(self, request: Mapping[str, Any], name: str) -> str:
        configs = tuple(dict(config) for config in request["configs"])
        first = f"{len(configs)} configuration{'s' * (len(configs) != 1)} added"
        if name not in self._engine.requests:  # a tuner may have died before its answer
            self._submit(ConfigurationsAdded(configs, name, self.clock))
        if self._engine.ended is not None:
            return f"{first}; the study is over, because {self._engine.ended}: extend it as well"
        return f"{first}, to be tried next"

    def _stop(self, request: Mapping[str, Any], name: str) -> str:
        trial, outcome = request["trial"], request["outcome"]
        if name not in self._engine.requests:
            event = TrialStopped(trial, outcome, request["reason"], name, self.clock)
            self._submit(event)
        return f"trial {trial} {outcome} on request"

    def _extend(self, request: Mapping[str, Any], name: str) -> str:  # noqa: ARG002 - the form
        # A request that is applied a second time changes nothing.
        find_event = extend_by(take_extension(request["limits"]), shown(self._file.path))
        event = find_event(self._engine, self.clock)
        if event is None:
            return "it has these limits already"
        self._submit(event)
        what = str(self._engine.extensions[-1])
        resumed = "" if self._interrupt else ": resume it to go on"
        return f"extended, {what}{resumed}"

    def _label(self, request: Mapping[str, Any], name: str) -> str:  # noqa: ARG002 - the form
        about = self._file.about
        tags, note = about.labels
        kept = [tag for tag in tags if tag not in request["remove"]]
        kept += [tag for tag in request["tags"] if tag not in kept]
        note = note if request["note"] is None else str(request["note"])
        change_about(self._file, replace(about, labels=Labels(tuple(kept), note)))
        text = f"tags: {', '.join(kept) or 'none'}"
        return f"{text}; note: {note or 'none'}" if note or request["note"] is not None else text

    def _stop_study(self, request: Mapping[str, Any], name: str) -> str:  # noqa: ARG002 - the form
        if self._interrupt is None:
            return "no process was working on the study any more"
        self._interrupt()
        return "every running job trains to its next report, then the study stops"


class Requests(Part):
    """Applies what is asked of a study that is kept: before it goes on, and while it runs."""

    _desk: RequestDesk | None = None
    _next = 0.0

    def open(self) -> None:
        opened = self.session.opened
        self.idle = not opened.kept
        if opened.kept:
            RequestDesk(opened.file, opened.engine, opened.since).work()
            opened.assignments.follow(opened.engine.study)

    def begin(self) -> None:
        session = self.session
        self._desk = RequestDesk(
            session.opened.file,
            session.engine,
            submit=session.submit,
            interrupt=session.interrupt,
        )

    def step(self, now: float) -> None:
        desk, session = self._desk, self.session
        if desk is None or session.halting or now < self._next:
            return
        self._next = time.monotonic() + EVERY
        desk.clock = session.seconds
        for text in desk.work():
            session.notice(text)
