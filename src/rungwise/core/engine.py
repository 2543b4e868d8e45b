"""The engine: events in, decisions out.

How it works. A driver tells the engine what happened and does what it answers. A free worker asks
(``JobRequested``): jobs that were lost come first, then what the scheduler wants (promote a paused
trial, or draw a configuration from the proposer), else it waits, or the study is over. A report
goes into the curve of its trial and to the scheduler, whose decision is the answer; pause and stop
*settle* a job, and its trial keeps what it has reached however the job ends. When the job has left
its worker, the scheduler hears of that (``released``, or ``dropped`` if the trial gets no further),
and only then may the trial be promoted. The same events give the same decisions, so a log of both
is all there is to store: a replay folds it again and compares.

Two laws of this file:

1. The engine is the only mutator. Whatever happens to trials and schedulers happens inside
   :meth:`Engine.handle`, and it depends on the study and the events alone.
2. An illegal event raises before anything has changed; the error lists the trial's history.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from rungwise.core.decisions import (
    CONTINUE,
    NOTED,
    PAUSE,
    STOP,
    WAIT,
    Continue,
    Decision,
    Done,
    Job,
    Noted,
    Pause,
    StartJob,
    Stop,
)
from rungwise.core.events import (
    ConfigurationsAdded,
    Event,
    JobEnded,
    JobFailed,
    JobLost,
    JobRequested,
    Reported,
    StudyExtended,
    TrialStopped,
    find_flaw,
)
from rungwise.core.extension import find_obstacle, record_extension
from rungwise.core.limits import NO_OTHERS, NOTHING_LEFT, Limits, describe_last
from rungwise.core.requests import find_illegal
from rungwise.core.scheduler import Draw, Extension, Move, Promote
from rungwise.core.study import Study
from rungwise.core.study_parts import Ending, find_target
from rungwise.core.study_state import Config, Proposer, StudyState
from rungwise.core.timeline import AppliedRequest
from rungwise.core.trials import MOVES, Cause, State, Trial
from rungwise.errors import IllegalEventError


class Engine(StudyState):
    """One study, from its events.

    Args:
        study: what the study is.
        proposer: where configurations come from, instead of the study's initial ones and its
            searcher (a replay takes them from the log).
    """

    def __init__(self, study: Study, *, proposer: Proposer | None = None) -> None:
        super().__init__(study, proposer)
        self._handlers: dict[type, Callable[[Any], Decision]] = {
            Reported: self._reported,
            JobRequested: self._requested,
            JobEnded: self._left,
            JobFailed: self._left,
            JobLost: self._left,
            StudyExtended: self._extended,
            ConfigurationsAdded: self._configurations_added,
            TrialStopped: self._stopped_on_request,
        }

    # -- the one way in ------------------------------------------------------------------------

    def handle(self, event: Event) -> Decision:
        """Record an event and decide.

        Raises:
            IllegalEventError: the event is not allowed now; nothing has changed.
        """
        handler = self._handlers.get(type(event))
        if handler is None:
            known = ", ".join(sorted(kind.__name__ for kind in self._handlers))
            raise IllegalEventError(event, f"unknown event type; the engine handles {known}")
        flaw = find_flaw(event)
        if flaw is not None:
            raise IllegalEventError(event, flaw, self._find_history(event))
        decision = handler(event)
        if len(self.scheduler.ceilings) > len(self.timeline.rises):
            self._note_rises(event.at)
        return decision

    # -- reports -------------------------------------------------------------------------------

    def _reported(self, event: Reported) -> Decision:
        trial = self._work.open.get(event.job)
        if trial is None:
            raise self._not_open(event)
        loss = self._to_loss(event)
        resource = event.resource
        if trial.state is not State.RUNNING:
            # A late report of a settled job: the answer is the same as before.
            return PAUSE if trial.state is State.PAUSING else STOP
        if resource <= trial.resource:
            # The trial has reported this before (it restarted without its checkpoint).
            return CONTINUE if self._end.ended is None else self._cut_short(trial)
        totals, lead = self._totals, self._lead
        totals.reports += 1
        totals.spent += resource - trial.resource + event.again
        totals.cost += event.cost
        trial.resource = resource
        trial.resources.append(resource)
        trial.losses.append(loss)
        if len(trial.losses) == 1:
            lead.unimproved += 1
        if loss <= lead.best_loss and loss < math.inf:
            self._consider(trial, resource, loss, event.at)
        decision = self.scheduler.reported(trial, resource, loss)
        if self._bounds.watched:
            self._watch(event, loss)
        if isinstance(decision, Continue):
            return CONTINUE if self._end.ended is None else self._cut_short(trial)
        return self._settle(trial, decision)

    def _cut_short(self, trial: Trial) -> Decision:
        """The study is over: pause a trial between rungs; it goes on if the study is extended."""
        self._work.cut[trial.id] = trial
        return self._settle(trial, PAUSE)

    def _settle(self, trial: Trial, decision: Pause | Stop) -> Decision:
        """Answer with pause or stop: from now on the trial keeps what it has reached."""
        self._work.settled += 1
        trial.state = MOVES[trial.state, Cause.STOP if decision is STOP else Cause.PAUSE]
        return decision

    def _to_loss(self, event: Reported) -> float:
        """Values become losses here and nowhere else: always minimised; not finite is worst."""
        try:
            loss = self._sign * event.value
        except OverflowError:  # a whole number that is too large for a float
            return math.inf
        return loss if -math.inf < loss < math.inf else math.inf

    def _consider(self, trial: Trial, resource: float, loss: float, at: float) -> None:
        """At least as good as the best so far; ties go to the lower id, then the earlier report."""
        lead = self._lead
        if lead.best is None or loss < lead.best_loss or trial.id < lead.best.id:
            if loss < lead.best_loss:
                self.timeline.improved(self.spent, at, trial.id, loss)
            if trial is not lead.best:
                lead.leads.append((self.spent, trial.id))
                if trial.id > lead.newest:
                    lead.newest, lead.unimproved = trial.id, 0
            lead.best, lead.best_loss, lead.best_resource = trial, loss, resource

    def _watch(self, event: Reported, loss: float) -> None:
        if self._end.ended is None:
            if loss <= self._bounds.target:
                self._end.ended = self.study.limits.describe_target()
            else:
                self._end.ended = self._out_of_budget(self.study.limits, event.at)

    def _out_of_budget(self, limits: Limits, at: float) -> str | None:
        return limits.exhausted(seconds=at, resource=self.spent, cost=self.cost)

    # -- requests ------------------------------------------------------------------------------

    def _requested(self, event: JobRequested) -> Decision:
        decision = self._answer_request(event)
        if type(decision) is StartJob:
            self.timeline.issued(event.at)
        return decision

    def _answer_request(self, event: JobRequested) -> Decision:
        if self.ended is None and self._bounds.watched:
            self._end.ended = self._out_of_budget(self.study.limits, event.at)
        if self.ended is not None:
            return Done(self.ended)
        if self._work.lost:
            trial = self._work.lost.popleft()
            return self._run(trial, trial.until)
        return self._next()

    def _next(self) -> Decision:
        end, room = self._end, len(self.trials) < self._bounds.most
        if room and not end.stalled:
            end.stalled = self.study.limits.has_stalled(self._lead.unimproved)
        may_draw = room and not end.stalled
        move = self._next_move(may_draw=may_draw)
        if isinstance(move, Draw):
            config = self.proposer(len(self.trials))
            if config is not None:
                return self._draw(move, config)
            end.exhausted = True
            self._bounds.most = len(self.trials)
            move = self._next_move(may_draw=False)
        if move is not None:
            return self._promote(move)
        if self._work.open:
            return WAIT
        end.drained, end.ended = True, self._explain_drained()
        return Done(end.ended)

    def _next_move(self, *, may_draw: bool) -> Move | None:
        """The scheduler's next move that is not about a trial stopped on request."""
        while True:
            move = self.scheduler.next_move(may_draw=may_draw)
            if not isinstance(move, Promote):
                return move
            trial = self.trials[move.trial]
            if trial.state is State.PAUSED:
                return move
            # For the scheduler it never gets there; one that waits for a full rung must know.
            self.scheduler.dropped(trial)

    def _explain_drained(self) -> str:
        drawn = len(self.trials)
        whole = NO_OTHERS if self.exhausted else ""
        if self._end.stalled:
            whole = f" ({self.study.limits.stall} in a row were not better than the best, so no "
            whole += "more were drawn)"
        were = "configuration was" if drawn == 1 else "configurations were"
        return f"{drawn} {were} evaluated{whole}{NOTHING_LEFT}"

    def _draw(self, move: Draw, config: Config) -> Decision:
        trial = Trial(len(self.trials), config, move.bracket)
        self.trials.append(trial)
        self.scheduler.started(trial)
        if len(self.trials) == self._bounds.last:
            self._end.ended = describe_last(len(self.trials))
        return self._run(trial, move.until)

    def _promote(self, move: Move) -> Decision:
        assert not isinstance(move, Draw), "the scheduler drew although may_draw was False"
        return self._run(self.trials[move.trial], move.until)

    def _run(self, trial: Trial, until: float) -> StartJob:
        trial.state = MOVES[trial.state, Cause.RUN]
        trial.until = until
        # Each job gets a copy of the configuration, so that training code may change it.
        job = Job(len(self.jobs), trial.id, dict(trial.config), trial.resource, until)
        self.jobs.append(job)
        self._work.open[job.id] = trial
        return StartJob(job)

    # -- ends ----------------------------------------------------------------------------------

    def _left(self, event: JobEnded | JobFailed | JobLost) -> Noted:
        trial = self._work.open.get(event.job)
        if trial is None:
            raise self._not_open(event)
        trial.state = MOVES[trial.state, _CAUSES[type(event)]]
        if isinstance(event, JobFailed):
            trial.note = event.reason
        del self._work.open[event.job]
        self._work.settled += 1
        if trial.id in self._work.dismissed:
            self._dismiss(trial, self._work.dismissed.pop(trial.id), has_left=True)
        elif trial.state is State.LOST:
            self._work.lost.append(trial)
        elif trial.state in (State.FAILED, State.ENDED):
            self._lead.unimproved += not trial.losses
            self.scheduler.dropped(trial)
        else:
            self.scheduler.released(trial)
            if self.ended is None and self._work.cut.pop(trial.id, None) is not None:
                # The study was extended while this job was still leaving its worker.
                self._restart(trial)
        was_lost = isinstance(event, JobLost) and trial.state is State.LOST
        outcome = "lost" if was_lost else _OUTCOMES.get(trial.state, "ended")
        self.timeline.left(event.job, event.at, outcome)
        return NOTED

    # -- requests of people --------------------------------------------------------------------

    def _configurations_added(self, event: ConfigurationsAdded) -> Noted:
        self._check_request(event)
        space = self.study.space
        assert space is not None, "find_illegal() has looked"
        self.proposals.add([space.validate(config) for config in event.configs])
        self._asked.added += len(event.configs)
        self.timeline.requests.append(AppliedRequest(event.at, "added", len(event.configs)))
        self._read_limits()
        if self.ended is None or self.find_end(self.study.limits, event.at) is None:
            self._reopen(None)
        return NOTED

    def _stopped_on_request(self, event: TrialStopped) -> Noted:
        self._check_request(event)
        trial = self.trials[event.trial]
        asked = AppliedRequest(event.at, event.outcome, trial.id, event.reason)
        self.timeline.requests.append(asked)
        cause = Cause.DISMISS if event.outcome == "stopped" else Cause.REJECT
        trial.note = event.reason or f"{event.outcome} on request"
        self._work.settled += 1
        self._work.cut.pop(trial.id, None)
        if trial.state is State.RUNNING:
            trial.state = MOVES[trial.state, Cause.STOP]
        if trial.state in (State.PAUSING, State.STOPPING):
            self._work.dismissed[trial.id] = cause
            return NOTED
        if trial.state is State.LOST:
            self._work.lost.remove(trial)
        self._dismiss(trial, cause)
        return NOTED

    def _check_request(self, event: ConfigurationsAdded | TrialStopped) -> None:
        flaw = find_illegal(self, event)
        if flaw is not None:
            raise IllegalEventError(event, flaw)
        if event.request:
            self.requests.add(event.request)

    def _dismiss(self, trial: Trial, cause: Cause, *, has_left: bool = False) -> None:
        """Train a trial without a job no further; where it was heading for it ranks last."""
        trial.state = MOVES[trial.state, cause]
        if trial.resource < trial.until:
            self.scheduler.dropped(trial)
        elif has_left:
            self.scheduler.released(trial)

    # -- extensions ----------------------------------------------------------------------------

    def find_end(self, limits: Limits, at: float) -> str | None:
        """Why the study would be over by now with these limits; None if it would go on."""
        if self.best_loss <= find_target(limits, self._sign):
            return limits.describe_target()
        if limits.finish == "paper" and len(self.trials) == (limits.trials or 0) + self.added:
            return describe_last(len(self.trials))
        return self._out_of_budget(limits, at)

    def _extended(self, event: StudyExtended) -> Noted:
        obstacle = find_obstacle(self, event)
        if obstacle is not None:
            raise IllegalEventError(event, obstacle)
        self.timeline.requests.append(AppliedRequest(event.at, "extended", len(self.extensions)))
        self.extensions.append(record_extension(self, event))
        recipe = self.study.scheduler
        if event.max_resource is not None:
            recipe = recipe.limited_to(event.max_resource)
        self.study = replace(self.study, limits=event.limits, scheduler=recipe)
        self.proposals.extend(self.study)
        self._read_limits()
        self._reopen(event.max_resource)
        return NOTED

    def _reopen(self, max_resource: int | None) -> None:
        """Go on, with jobs that the end had cut short, more trials, or a higher maximum."""
        self._end, self._lead.unimproved = Ending(), 0
        self._work.settled += 1  # workers that wait should ask again
        cut = self._work.cut
        for trial in [trial for trial in cut.values() if trial.state is State.PAUSED]:
            del cut[trial.id]
            self._restart(trial)
        limit = None if self.study.limits.trials is None else self.study.limits.trials + self.added
        extension = Extension(limit, max_resource, self.trials, self.reports)
        reopened = self.scheduler.extend(extension)
        for number in reopened.waiting:
            trial = self.trials[number]
            trial.state = MOVES[trial.state, Cause.EXTEND]
        for number, until in reopened.until.items():
            self.trials[number].until = until

    def _restart(self, trial: Trial) -> None:
        """Start the job of a trial again, which the end of the study had cut short."""
        trial.state = MOVES[trial.state, Cause.EXTEND]
        self._work.lost.append(trial)


_CAUSES: Mapping[type, Cause] = {JobEnded: Cause.END, JobFailed: Cause.FAIL, JobLost: Cause.LOSE}

_OUTCOMES: Mapping[State, str] = {
    State.PAUSED: "paused",
    State.STOPPED: "stopped",
    State.FAILED: "failed",
}
"""What became of a trial whose job has left its worker, unless the job was lost."""
