"""A crash after every prefix of a log: replay, send the losses, go on to the end.

With one worker the order of reports is a matter of decisions alone, so nothing at all may differ
from the study that never crashed, but for the numbers of the jobs and the leg issued again.

With four workers time decides who reports first, and a crash throws away the time that open legs
have run: a leg issued again starts its next unit of resource anew, others may overtake it, and
the study takes another legal course. It must still draw everyone and end for the same reason. But
where no open leg had run for any time (each was issued at the very moment of the crash, or had
been told to pause or stop), nothing was thrown away and the course must be the same: lost jobs
come first and in the order of issue, so the same legs start in the same order. Times are whole
numbers here, so that a clock that starts again at 0 rounds nothing differently.
"""

import pytest
from core.stories import curves, drive, recorded, rungs_of, snapshot

from rungwise import (
    ASHA,
    PASHA,
    AdaptiveHalving,
    AsyncHyperband,
    FixedResource,
    Hyperband,
    SuccessiveHalving,
)
from rungwise.core.decisions import Noted, StartJob
from rungwise.core.replay import lost_jobs, replay
from rungwise.core.trials import State
from rungwise.rankings import Exact, SoftSigma
from rungwise.storage import MemoryLog

VALUES = curves(10, 9, seed=4)
VALUES[6, 2:] = float("nan")  # one diverges
RECIPES = {
    "pasha": PASHA(max_resource=9, eta=2),
    "pasha, exact": PASHA(max_resource=9, ranking=Exact()),
    "pasha, every report": PASHA(max_resource=9, eta=2, ranking=SoftSigma(1), check="report"),
    "pasha without pauses": PASHA(max_resource=9, eta=2, ranking=Exact(), variant="stopping"),
    "asha": ASHA(max_resource=9, eta=2, promote="quantile"),
    "asha without pauses": ASHA(max_resource=9, eta=2, variant="stopping"),
    "successive halving": SuccessiveHalving(max_resource=9, eta=2),
    "hyperband": Hyperband(max_resource=9, eta=3),
    "async hyperband": AsyncHyperband(max_resource=9, eta=3),
    "adaptive halving": AdaptiveHalving(max_resource=9, size=6),
    "fixed": FixedResource(3),
}
OVER = {State.PAUSED, State.STOPPED}


def crashed_and_resumed(study, entries, prefix, workers):
    """The engine at the crash, and another one that went on from there to the end."""
    at_crash = replay(study, entries[:prefix])
    log = MemoryLog(entries[:prefix])
    engine = replay(study, log.read_from())
    for event in lost_jobs(engine):
        log.append(event, engine.handle(event))
    drive(engine, VALUES, log, workers=workers)
    # The whole log, crash included, is as good a log as any.
    assert snapshot(replay(study, log.read_from())) == snapshot(engine)
    return at_crash, engine


def outcome(engine):
    return {
        "best": (engine.best.id, engine.best_loss, engine.best_resource),
        "ceilings": list(engine.scheduler.ceilings),
        "epsilons": list(engine.scheduler.epsilons),
        "rungs": {b: [rung.losses for rung in rungs] for b, rungs in rungs_of(engine).items()},
        "curves": [(trial.resources, trial.losses) for trial in engine.trials],
        "states": [trial.state for trial in engine.trials],
        "spent": (engine.reports, engine.spent),
        "why": engine.why(),
    }


def legs(engine):
    """(trial, start, until) in the order issued."""
    jobs = engine.jobs
    return [(job.trial, job.start, job.until) for job in jobs]


@pytest.mark.no_cover
@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_with_one_worker_a_crash_anywhere_changes_nothing(recipe):
    study, whole, log = recorded(recipe, VALUES)
    assert len(log) > 30
    for prefix in range(len(log) + 1):
        at_crash, engine = crashed_and_resumed(study, log.entries, prefix, workers=1)
        assert outcome(engine) == outcome(whole), prefix
        expected = legs(whole)
        running = [trial for trial in at_crash.trials if trial.state is State.RUNNING]
        assert len(running) <= 1
        for trial in running:
            # The leg is there twice: as far as it came, and from there on.
            again = (trial.id, trial.resource, trial.until)
            expected.insert(len(legs(at_crash)), again)
        assert legs(engine) == expected, prefix


@pytest.mark.no_cover
@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_a_second_crash_during_the_recovery_leaves_the_same_state(recipe):
    study, _, log = recorded(recipe, VALUES, workers=4)
    for prefix in range(0, len(log) + 1, 3):
        at_once = replay(study, log.entries[:prefix])
        lost = lost_jobs(at_once)
        for event in lost:
            at_once.handle(event)
        for told in range(len(lost) + 1):
            # The first few losses are in the log; the rest is found to be open again.
            engine = replay(study, [*log.entries[:prefix], *((e, Noted()) for e in lost[:told])])
            assert lost_jobs(engine) == lost[told:]
            for event in lost_jobs(engine):
                engine.handle(event)
            assert snapshot(engine) == snapshot(at_once)


def last_moment(entries):
    return max((event.at for event, _ in entries), default=0.0)


def nothing_thrown_away(engine, entries):
    """Whether no open leg had run for any time at the crash."""
    moment = last_moment(entries)
    issued = {
        decision.job.id: event.at for event, decision in entries if isinstance(decision, StartJob)
    }
    return all(
        issued[engine.list_jobs(trial.id)[-1].id] == moment
        for trial in engine.trials
        if trial.state is State.RUNNING
    )


@pytest.mark.no_cover
@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_with_four_workers_a_crash_anywhere_ends_well_and_costs_nothing_between_legs(recipe):
    study, whole, log = recorded(recipe, VALUES, workers=4)
    same = 0
    for prefix in range(len(log) + 1):
        at_crash, engine = crashed_and_resumed(study, log.entries, prefix, workers=4)
        assert engine.ended == whole.ended, prefix
        assert engine.open_jobs == []
        assert len(engine.trials) == len(VALUES)
        assert {trial.state for trial in engine.trials} <= OVER
        for before, after in zip(at_crash.trials, engine.trials, strict=False):
            assert after.losses[: len(before.losses)] == before.losses  # what was known is kept
        if nothing_thrown_away(at_crash, log.entries[:prefix]):
            same += 1
            assert outcome(engine) == outcome(whole), prefix
    assert same >= 8  # before the start, while the workers get their first jobs, at the end
