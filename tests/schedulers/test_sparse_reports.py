"""Reports that are sparser than rungs, or finer than a unit of resource."""

import pytest

import rungwise as rw
from rungwise.core.decisions import Continue, StartJob
from rungwise.core.engine import Engine
from rungwise.core.events import JobEnded, JobRequested, Reported
from rungwise.core.limits import Limits
from rungwise.core.study import Study


def study_with_reports_every(step, recipe, trials=60):
    """One worker; each trial is better than those before it, at every resource."""
    rows = [{"row": row} for row in range(trials)]
    engine = Engine(Study(recipe, Limits(trials=trials), initial=rows))
    while isinstance(run := engine.handle(JobRequested()), StartJob):
        job, resource = run.job, run.job.start
        while True:
            resource += step
            value = 0.1 * (trials - job.trial) + 1 / resource
            if not isinstance(engine.handle(Reported(job.id, resource, value)), Continue):
                break
        engine.handle(JobEnded(job.id))
    return engine


@pytest.mark.parametrize("variant", ["promotion", "stopping"])
def test_pasha_climbs_to_where_rungs_can_be_told_apart(variant):
    """Every tenth epoch is reported: 1, 3 and 9 are all reached with the report at 10."""
    engine = study_with_reports_every(10, rw.PASHA(max_resource=200, variant=variant))
    levels = [level for _, level in engine.scheduler.ceilings]
    assert levels == [3, 9, 27]  # 9 (reported at 10) and 27 (at 30) are the first two to compare
    assert "ranked as at 9" in engine.why()
    assert max(trial.resource for trial in engine.trials) == 30


def test_a_report_beyond_several_levels_enters_all_of_them():
    engine = study_with_reports_every(10, rw.ASHA(max_resource=200), trials=6)
    rungs = engine.scheduler.rungs
    assert [len(rung) for rung in rungs[:3]] == [6, 6, 6]
    assert rungs[0].losses == rungs[1].losses == rungs[2].losses
    assert engine.list_jobs(2)[1].until == 27  # nobody is promoted to where it is already


def test_halving_takes_what_was_reported_beyond_the_next_level():
    engine = study_with_reports_every(10, rw.SuccessiveHalving(max_resource=27), trials=27)
    assert [len(rung) for rung in engine.scheduler.rungs] == [27, 9, 3, 1]
    assert [job.until for job in engine.list_jobs(26)] == [1, 27]


@pytest.mark.parametrize("step", [0.25, 0.5])
def test_reports_finer_than_a_unit_only_add_to_the_curve(step):
    fine = study_with_reports_every(step, rw.PASHA(max_resource=27), trials=30)
    coarse = study_with_reports_every(1, rw.PASHA(max_resource=27), trials=30)
    assert [rung.losses for rung in fine.scheduler.rungs] == [
        rung.losses for rung in coarse.scheduler.rungs
    ]
    assert len(fine.trials[-1].resources) == len(coarse.trials[-1].resources) / step


def test_an_open_ended_ladder_stops_where_the_ranking_does():
    engine = study_with_reports_every(1, rw.PASHA(), trials=30)
    assert engine.scheduler.ceilings[-1][1] == 3
    assert max(trial.resource for trial in engine.trials) == 3
