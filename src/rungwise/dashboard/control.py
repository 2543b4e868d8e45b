"""What a person may change from the page: each is a request, as from the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rungwise.errors import RungwiseError
from rungwise.tuning import requests
from rungwise.tuning.spool import Answer

TIMEOUT = 10.0
"""Seconds to wait for the answer of a tuner; the request waits longer."""


def _stop(study: Path, asked: Mapping[str, Any]) -> Answer:  # noqa: ARG001 - the form
    return requests.stop(study, timeout=TIMEOUT)


def _stop_trial(study: Path, asked: Mapping[str, Any]) -> Answer:
    return requests.stop(study, asked["trial"], reason=_text(asked, "reason"), timeout=TIMEOUT)


def _fail_trial(study: Path, asked: Mapping[str, Any]) -> Answer:
    return requests.fail(study, asked["trial"], reason=_text(asked, "reason"), timeout=TIMEOUT)


def _add(study: Path, asked: Mapping[str, Any]) -> Answer:
    return requests.add(study, asked["configs"], timeout=TIMEOUT)


def _extend(study: Path, asked: Mapping[str, Any]) -> Answer:
    return requests.extend(study, timeout=TIMEOUT, **asked["limits"])


def _label(study: Path, asked: Mapping[str, Any]) -> Answer:
    return requests.label(
        study,
        tags=asked.get("tags", ()),
        remove=asked.get("remove", ()),
        note=asked.get("note"),
        timeout=TIMEOUT,
    )


def _text(asked: Mapping[str, Any], name: str) -> str:
    return str(asked.get(name, ""))[:1000]


ACTIONS: Mapping[str, Callable[[Path, Mapping[str, Any]], Answer]] = {
    "stop": _stop,
    "stop-trial": _stop_trial,
    "fail-trial": _fail_trial,
    "add": _add,
    "extend": _extend,
    "label": _label,
}
"""What may be asked for."""


def act(study: Path, asked: Mapping[str, Any]) -> Answer:
    """Do what was asked for; what cannot be done is refused with the reason.

    Args:
        study: the file.
        asked: the action and what belongs to it.
    """
    action = ACTIONS.get(str(asked.get("action")))
    if action is None:
        return Answer("refused", f"there is no action {asked.get('action')!r}")
    try:
        return action(study, asked)
    except (RungwiseError, OSError) as error:
        return Answer("refused", str(error))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        return Answer("refused", f"the request cannot be read: {error!r}")
