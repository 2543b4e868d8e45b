"""What may be asked of a study while it runs, or before it is resumed.

It makes no difference to the caller whether a tuner works on the study: if one does, it applies the
request and answers; if none does, the request is applied here, under the lock of the study file.
Everything that changes a decision becomes an event in the log.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rungwise.errors import InvalidArgumentError, LogInUseError, LogUnavailableError, Words
from rungwise.options.checks import check_configurations
from rungwise.storage.study_file import StudyFile, shown, study_folder
from rungwise.tuning.extending import EXTENDABLE, take_extension
from rungwise.tuning.folding import fold_for_resuming
from rungwise.tuning.opening import open_to_read
from rungwise.tuning.request_desk import RequestDesk
from rungwise.tuning.spool import Answer, Spool
from rungwise.validation import whole

TIMEOUT = 30.0
"""Seconds to wait for the answer of a tuner."""


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
