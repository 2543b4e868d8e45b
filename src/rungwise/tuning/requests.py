"""What may be asked of a study while it runs, or before it is resumed.

It makes no difference to the caller whether a tuner works on the study: if one does, it applies the
request and answers; if none does, the request is applied here, under the lock of the study file.
Everything that changes a decision becomes an event in the log.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rungwise.core.engine import Engine
from rungwise.core.events import ConfigurationsAdded, Request, StudyExtended, TrialStopped
from rungwise.errors import (
    IllegalEventError,
    InvalidArgumentError,
    LogInUseError,
    LogUnavailableError,
    Words,
)
from rungwise.options.checks import check_configurations
from rungwise.storage.record import Labels
from rungwise.storage.study_file import StudyFile, shown, study_folder
from rungwise.tuning.extending import EXTENDABLE, extend_by, take_extension
from rungwise.tuning.folding import fold_for_resuming
from rungwise.tuning.kept_options import change_about
from rungwise.tuning.opening import open_to_read
from rungwise.tuning.spool import Answer, Spool
from rungwise.validation import whole

TIMEOUT = 30.0
"""Seconds to wait for the answer of a tuner."""

Submit = Callable[[Request | StudyExtended], None]
"""Lets the engine handle an event, and appends it to the log."""


def add(
    study: str | os.PathLike[str],
    configs: Iterable[Mapping[str, Any]],
    *,
    timeout: float = TIMEOUT,
    types: Sequence[type] = (),
) -> Answer:
    """Have configurations tried next, before the searcher is asked again.

    They come on top of the number of trials. A study that has ended because all its trials were
    evaluated goes on with them when it is resumed.

    Args:
        study: the study file.
        configs: the configurations.
        timeout: how many seconds to wait for the answer of a tuner that is at work.
        types: recipes, rankings and searchers of your own that the study uses.

    Raises:
        SpaceError: the space of the study does not have such a configuration.
    """
    asked = list(check_configurations("configs", configs))
    with open_to_read(study, types=types) as file:
        space = file.log.study.space
        if space is None:
            raise InvalidArgumentError("study", str(study), "it has no space to search")
        asked = [space.validate(config) for config in asked]
    if not asked:
        raise InvalidArgumentError("configs", asked, "give at least one configuration")
    return send(study, {"kind": "add", "configs": asked}, timeout=timeout, types=types)


def stop(
    study: str | os.PathLike[str],
    trial: int | None = None,
    *,
    reason: str = "",
    timeout: float = TIMEOUT,
    types: Sequence[type] = (),
) -> Answer:
    """Stop one trial permanently (it keeps what it has reached), or interrupt the whole study.

    Without a trial the tuner that is at work is asked to stop as after Ctrl-C: every running job
    trains to its next report, and the study can be resumed.

    Args:
        study: the study file.
        trial: the number of the trial; None for the study.
        reason: why, for the record.
        timeout: see :func:`add`.
        types: see :func:`add`.
    """
    if trial is None:
        return send(study, {"kind": "interrupt"}, timeout=timeout, types=types)
    return _stop(study, trial, "stopped", reason, timeout, types)


def fail(
    study: str | os.PathLike[str],
    trial: int,
    *,
    reason: str = "",
    timeout: float = TIMEOUT,
    types: Sequence[type] = (),
) -> Answer:
    """Stop one trial permanently, and count it as failed: it ranks last where it was heading.

    Args:
        study: the study file.
        trial: the number of the trial.
        reason: why, for the record.
        timeout: see :func:`add`.
        types: see :func:`add`.
    """
    return _stop(study, trial, "failed", reason, timeout, types)


def _stop(
    study: str | os.PathLike[str],
    trial: int,
    outcome: str,
    reason: str,
    timeout: float,
    types: Sequence[type],
) -> Answer:
    number = whole("trial", trial, at_least=0)
    request = {"kind": "stop", "trial": number, "outcome": outcome, "reason": str(reason)}
    return send(study, request, timeout=timeout, types=types)


def extend(
    study: str | os.PathLike[str],
    *,
    timeout: float = TIMEOUT,
    types: Sequence[type] = (),
    **limits: Any,
) -> Answer:
    """Give a study larger limits, also while it runs.

    A study that has ended goes on with them when it is resumed. While jobs run, ``max_resource``
    cannot be raised.

    Args:
        study: the study file.
        timeout: see :func:`add`.
        types: see :func:`add`.
        limits: ``trials``, ``seconds``, ``resource_budget``, ``target``, ``stall`` or
            ``max_resource``, as in :func:`rungwise.resume`; each is a total.
    """
    unknown = sorted(set(limits) - {each.name for each in EXTENDABLE})
    if unknown or not limits:
        names = ", ".join(each.name for each in EXTENDABLE)
        raise InvalidArgumentError("limits", Words(", ".join(unknown) or "none"), f"give {names}")
    return send(
        study, {"kind": "extend", "limits": take_extension(limits)}, timeout=timeout, types=types
    )


def label(
    study: str | os.PathLike[str],
    *,
    tags: Iterable[str] = (),
    remove: Iterable[str] = (),
    note: str | None = None,
    timeout: float = TIMEOUT,
    types: Sequence[type] = (),
) -> Answer:
    """Give a study tags and a note, which ``rungwise list`` and ``rungwise show`` print.

    Args:
        study: the study file.
        tags: tags to add.
        remove: tags to remove.
        note: the note from now on; an empty text removes it, None leaves it as it is.
        timeout: see :func:`add`.
        types: see :func:`add`.
    """
    request = {"kind": "label", "tags": _words(tags), "remove": _words(remove), "note": note}
    return send(study, request, timeout=timeout, types=types)


def _words(tags: Iterable[str]) -> list[str]:
    given = [tags] if isinstance(tags, str) else list(tags)
    for tag in given:
        text: Any = tag
        if not isinstance(text, str) or not tag.strip() or "," in tag or not tag.isprintable():
            raise InvalidArgumentError("tags", tag, "a tag must be a word or a few, without commas")
    return [tag.strip() for tag in given]


def send(
    study: str | os.PathLike[str],
    request: Mapping[str, Any],
    *,
    timeout: float = TIMEOUT,
    types: Sequence[type] = (),
) -> Answer:
    """Send a request to the tuner of a study; without one, apply it here.

    Args:
        study: the study file.
        request: the request, as one of the functions of this module writes it.
        timeout: how many seconds to wait for the answer of a tuner.
        types: recipes, rankings and searchers of your own that the study uses.
    """
    path = Path(study).resolve()
    with open_to_read(path, types=types) as file:
        lock = file.log.lock
        spool = Spool(study_folder(path))
        running = lock.held()
    if not running and request["kind"] == "interrupt":
        return Answer("refused", f"no process is working on {shown(path)}: there is none to stop")
    try:
        name = spool.send(request)
    except OSError as error:
        raise LogUnavailableError(str(path), str(error)) from error
    if not running:
        try:
            with StudyFile(path, types=types) as file:
                RequestDesk(file, *fold_for_resuming(file.main)).work()
        except LogInUseError:  # a tuner has started meanwhile, and takes the request
            pass
    answer = spool.wait(name, timeout if running else 0.0, while_held=lock.held)
    if answer is None and running and not lock.held() and spool.withdraw(name):
        return send(study, request, timeout=timeout, types=types)  # the tuner has ended meanwhile
    waiting = f"{shown(path)} is busy: the request waits, and will be applied"
    return answer or Answer("waiting", waiting)


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
