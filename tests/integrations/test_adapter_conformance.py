"""Loops that ask and tell pass the suite of adapters; those that break a promise do not."""

import threading
from dataclasses import replace

import pytest

import rungwise as rw
from rungwise.core.decisions import CONTINUE, PAUSE, StartJob
from rungwise.core.events import Reported
from rungwise.testing import AdapterConformance, BrokenTrial, HostRecord, HostStudy


def open_host_study(study: HostStudy, **more):
    return rw.open_study(
        study.folder / "study.db",
        {"row": rw.Int(0, max(study.trials - 1, 1))},
        metric="value",
        goal=study.goal,
        scheduler=study.recipe,
        trials=study.trials,
        initial=study.configs(),
        **more,
    )


def run_loop(study, asked):
    for job in asked.jobs():
        try:
            for resource in job.resources():
                value = study.train(job.config["row"], resource)
                if not asked.report(job, resource, value):
                    break
        except BrokenTrial as error:
            asked.failed(job, repr(error))


class AskTellRow(AdapterConformance):
    recipes = (
        rw.PASHA(max_resource=27),
        rw.PASHA(max_resource=27, variant="stopping"),
        rw.ASHA(max_resource=27),
        rw.SuccessiveHalving(max_resource=27, size=9),
        rw.AsyncHyperband(max_resource=27),
    )

    def run_host(self, study):
        with open_host_study(study) as asked:
            threads = [
                threading.Thread(target=run_loop, args=(study, asked)) for _ in range(study.workers)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            best = asked.result.best.config["row"]
        return HostRecord.read(study.folder / "study.db", best)


class TestAskTell(AskTellRow):
    pass


# -- loops that break a promise ------------------------------------------------------------------


def run_row(kind, check, folder, arguments=()):
    class Row(AskTellRow):
        recipes = AskTellRow.recipes[:1]

        def run_host(self, study):
            return kind(super().run_host, study)

    getattr(Row(), check)(*arguments, folder)


def trains_on(run, study):
    """It does not leave when it is told to."""
    record = run(study)
    row, resource = study.list_trained()[-1]
    study.train(row, min(resource + 1, 27))
    return record


def names_another_best(run, study):
    record = run(study)
    return replace(record, best=(record.best + 1) % study.trials)


def reports_other_values(run, study):
    record = run(study)
    entries = [
        (
            replace(event, value=event.value + 1.0) if isinstance(event, Reported) else event,
            decision,
        )
        for event, decision in record.entries
    ]
    return replace(record, entries=entries)


def decides_by_itself(run, study):
    record = run(study)
    entries = [
        (event, CONTINUE if decision is PAUSE else decision) for event, decision in record.entries
    ]
    return replace(record, entries=entries)


def starts_from_scratch(run, study):
    record = run(study)
    entries = [
        (event, StartJob(replace(decision.job, start=0)))
        if isinstance(decision, StartJob)
        else (event, decision)
        for event, decision in record.entries
    ]
    return replace(record, entries=entries)


def stops_early(run, study):
    record = run(study)
    return replace(record, entries=record.entries[:-3])


def trains_twice(run, study):
    study.train(0, 1)
    return run(study)


def forgets_the_goal(run, study):
    return run(replace(study, goal="min"))


def knows_no_failures(run, study):
    """What fails is reported as a good value."""
    return run(replace(study, broken=()))


def skips_a_trial(run, study):
    return run(replace(study, values=study.values[:-1]))


@pytest.mark.parametrize(
    ("kind", "check", "arguments"),
    [
        (trains_on, "test_decisions_are_those_of_the_engine", (1,)),
        (names_another_best, "test_decisions_are_those_of_the_engine", (3,)),
        (reports_other_values, "test_decisions_are_those_of_the_engine", (1,)),
        (decides_by_itself, "test_decisions_are_those_of_the_engine", (1,)),
        (starts_from_scratch, "test_decisions_are_those_of_the_engine", (3,)),
        (stops_early, "test_one_worker_trains_what_the_simulator_trains", ()),
        (trains_twice, "test_one_worker_trains_what_the_simulator_trains", ()),
        (forgets_the_goal, "test_the_goal_is_only_a_sign", ()),
        (knows_no_failures, "test_a_trial_that_fails_takes_nothing_down", ()),
        (skips_a_trial, "test_decisions_are_those_of_the_engine", (1,)),
    ],
)
def test_the_suite_notices(kind, check, arguments, tmp_path):
    def same(run, study):
        return run(study)

    working, broken = tmp_path / "working", tmp_path / "broken"
    working.mkdir()
    broken.mkdir()
    run_row(same, check, working, arguments)
    with pytest.raises((AssertionError, rw.IllegalEventError)):
        run_row(kind, check, broken, arguments)
