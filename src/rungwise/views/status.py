"""How a study stands, why, how it goes on: said once here, for every surface.

Law of this file: a headline has at most twenty words and no term that a newcomer must look up. The
numbers behind it are a second sentence; the rule behind both is the scheduler's own text.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rungwise.core.limits import Ending
from rungwise.formatting import (
    format_amount,
    format_count,
    format_resource,
    format_value,
    join_words,
)
from rungwise.formatting import format_place as place

if TYPE_CHECKING:
    from rungwise.views.study_view import StudyView

State = Literal["running", "finished", "interrupted", "failed", "open"]
"""``"failed"``: all that was tried failed, and nothing was reported; ``"open"``: not ended, and no
file says more."""


@dataclass(frozen=True, slots=True)
class Situation:
    """What is known of a study besides its decisions.

    Attributes:
        name: its file, as a person writes it; empty if the study is not kept.
        way: who goes on with it: ``rungwise resume``, a call with the training function, or the
            loop that asks for its jobs.
        running: whether a process works on it; None if that is not known.
        open_ended: whether no maximum was given; the one in the scheduler is a safety net then.
        workers: how many jobs may run at a time.
        unit: what one unit of resource is called, such as ``"epochs"``.
        seconds: how long the study has taken.
        failures: how many jobs have failed.
    """

    name: str = ""
    way: Literal["command", "call", "ask"] = "command"
    running: bool | None = None
    open_ended: bool = False
    workers: int = 1
    unit: str = "resource"
    seconds: float = 0.0
    failures: int = 0


def name_state(view: StudyView) -> State:
    """Return the state of a study in one word."""
    situation = view.situation
    if situation.failures and not (view.reports or situation.running):
        return "failed"
    if view.ended:
        return "finished"
    if situation.running:
        return "running"
    return "open" if situation.running is None else "interrupted"


def write_headline(view: StudyView) -> str:
    """Return how a study stands and why, in at most twenty words."""
    state = name_state(view)
    if state == "finished":
        ending = view.ending
        if ending is None:  # no scheduler of rungwise ran it
            return view.rule
        return f"Done: {_say_ending(view, ending)}; {_say_winner(view, 'won')}."
    how = {"running": "Running", "open": "Not ended"}.get(state, state.capitalize())
    if state == "failed":
        return f"Failed: {format_count(view.situation.failures, 'job')} failed, none reported."
    return f"{how}: {_say_progress(view)}; {_say_winner(view, 'leads')}."


def _say_progress(view: StudyView) -> str:
    limit, drawn = view.limits.trials, view.trials
    if limit is None or drawn > limit:
        return f"{format_count(drawn, 'configuration')} started"
    if drawn == limit:
        return f"all {format_count(limit, 'configuration')} started"
    return f"{drawn:,} of {format_count(limit, 'configuration')} started"


def _say_ending(view: StudyView, ending: Ending) -> str:
    limits, unit = view.limits, view.unit
    compared = f"{format_count(view.trials, 'configuration')} compared"
    if ending == "target":
        return f"the target {format_value(limits.target)} was reached"
    if ending == "last":
        return f"the last of {format_count(view.trials, 'configuration')} has started"
    if ending == "seconds":
        return f"the {limits.seconds:,g} seconds are used up, {compared}"
    if ending == "resource":
        assert limits.resource is not None
        return f"the {format_amount(limits.resource, unit)} are used up, {compared}"
    return f"the cost limit was reached, {compared}" if ending == "cost" else compared


def _say_winner(view: StudyView, verb: str) -> str:
    best = view.best
    if best is None:
        return "none has reported a finite value" if view.trials else "nothing was reported"
    if best.problem:
        return f"none is healthy: trial {best.trial} {verb}, but {best.problem.partition(':')[0]}"
    return f"trial {best.trial} {verb} {place(best.resource, view.unit)}"


def write_numbers(view: StudyView) -> str:
    """Return how many configurations were trained how far, in one sentence; "" without a report."""
    rungs = [rung for rung in view.rungs() if rung.entered]
    if not rungs:
        return ""
    first, rest = rungs[0], rungs[1:]
    were = "was" if first.entered == 1 else "were"
    parts = [f"{first.entered:,} {were} trained to {format_resource(first.level)}"]
    parts += [f"{rung.entered:,} to {format_resource(rung.level)}" for rung in rest]
    if view.unit != "resource":  # the last amount has its unit
        amount = format_resource(rungs[-1].level)
        parts[-1] = parts[-1].removesuffix(amount) + format_amount(rungs[-1].level, view.unit)
    failed = f"; {view.failed:,} failed" if view.failed else ""
    text = f"{join_words(parts)}{failed}."
    limit = view.limits.trials
    if view.ending == "drained" and limit is not None and view.trials < limit:
        text += f" Of {limit:,} configurations asked for, {view.trials:,} were drawn."
    if view.extensions:
        text += f" The study was extended: {'; '.join(str(each) for each in view.extensions)}."
    return text


def write_winner_rule(view: StudyView) -> str:
    """Return by which rule a trial wins, as a sentence; "" where none does."""
    best = view.best
    if best is None:
        return ""
    if best.problem:
        rule = "ranks first, as no healthy trial has reported a finite value"
        return f"Trial {best.trial} {rule} (it {best.problem})."
    level = view.trial(best.trial).rung
    if view.winner == "best" or level is None:
        return ""
    number = sum(resource >= level for resource in view.reached)
    others = "" if number == 1 else f", the best of {number}"
    return f"Trial {best.trial} wins by its value at {level}, the highest rung{others}."


def write_way_on(view: StudyView) -> str:
    """Return what a person types, or calls, to go on with a study; "" where nothing can."""
    situation = view.situation
    if situation.running or not situation.name:
        return ""
    more = _choose_extension(view) if view.ended else ()
    if view.ended and not more:
        return ""
    python = "".join(f", {name}={value}" for name, value in more)
    if situation.way == "ask":
        return f"the same call of rungwise.open_study{python and f' with {python[2:]}'}"
    if situation.way == "call":
        return f"rungwise.resume({situation.name!r}, train{python})"
    flags = "".join(f" --{name.replace('_', '-')} {value}" for name, value in more)
    return f"rungwise resume {shlex.quote(situation.name)}{flags}"


def _choose_extension(view: StudyView) -> tuple[tuple[str, str], ...]:
    """Return the limit that ended a study, twice as large: (option, value); () for any other."""
    limits, ending = view.limits, view.ending
    if ending == "seconds" and limits.seconds is not None:
        return (("seconds", f"{2 * max(limits.seconds, view.situation.seconds):.3g}"),)
    if ending == "resource" and limits.resource is not None:
        doubled = 2 * max(limits.resource, view.resource_spent)
        return (("resource_budget", f"{doubled:.15g}"),)
    if ending in ("last", "drained") and limits.trials is not None:
        return (("trials", str(2 * limits.trials)),)
    return ()
