"""Whether what someone asks of a study is possible now.

Law of this file: it reads and changes nothing, so a request that is refused leaves no trace.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rungwise.core.events import ConfigurationsAdded, TrialStopped
from rungwise.core.trials import State
from rungwise.errors import SpaceError

if TYPE_CHECKING:
    from rungwise.core.engine import Engine

DONE = (State.STOPPED, State.ENDED, State.FAILED)


def find_illegal(engine: Engine, event: ConfigurationsAdded | TrialStopped) -> str | None:
    """Why a request is refused, as a clause; None if it is possible."""
    if event.request and event.request in engine.requests:
        return "it has been applied already"
    if isinstance(event, TrialStopped):
        return _find_illegal_stop(engine, event)
    space = engine.study.space
    if space is None:
        return "the study has no space that configurations could be from"
    try:
        for config in event.configs:
            space.validate(config)
    except SpaceError as error:
        return str(error).rstrip(".")
    return None


def _find_illegal_stop(engine: Engine, event: TrialStopped) -> str | None:
    number = event.trial
    if not 0 <= number < len(engine.trials):
        return f"there is no trial {number}; so far there are {len(engine.trials)}, from 0"
    trial = engine.trials[number]
    if trial.state in DONE:
        return f"trial {number} is {trial.state.value} already, and no job of it will be started"
    if number in engine.leaving_on_request:
        return f"trial {number} is being stopped already"
    return None
