"""What messages mean: retries, known ground, recalls, timeouts, whose fault."""

import pytest

import rungwise as rw
from rungwise.backends import messages
from rungwise.core.decisions import CONTINUE, PAUSE
from rungwise.core.engine import Engine
from rungwise.core.events import JobEnded, JobFailed, JobLost, JobRequested, Reported
from rungwise.core.limits import Limits
from rungwise.core.study import Study
from rungwise.policy import HALTED, REASON, Answer, Listeners, Policy
from rungwise.session.failures import WORKER_FAULTS, FailureJudge, Rules
from rungwise.timeouts import LONGEST_STEP


class Scene:
    """An engine with jobs under way, and a policy that judges what is said of them."""

    def __init__(self, jobs=1, rules=None, find_start=lambda job: job.start, **more):
        study = Study(
            rw.ASHA(max_resource=9), Limits(trials=9), initial=[{"row": n} for n in range(9)]
        )
        self.engine = Engine(study)
        self.failures, self.notices = [], []
        self.policy = Policy(
            self.engine,
            rules,
            failures=FailureJudge(self.engine, rules or Rules(), **more),
            listeners=Listeners(
                on_failure=lambda *told: self.failures.append(told),
                on_notice=self.notices.append,
                find_start=find_start,
            ),
        )
        self.policy.overdue(0.0)
        for _ in range(jobs):
            self.policy.started(self.engine.handle(JobRequested()).job)

    def says(self, message, now=5.0):
        return self.policy.judge(message, now)


def report(job=0, resource=1.0, value=0.5, metrics=()):
    return messages.Reported(job, resource, value, metrics)


# -- reports -----------------------------------------------------------------------------------


def test_a_report_becomes_an_event_with_its_metrics_and_the_time_of_the_poll():
    event = Scene().says(report(metrics=(("accuracy", 0.9),)), now=7.5)
    assert event == Reported(0, 1.0, 0.5, 7.5, 0.0, (("accuracy", 0.9),))


def test_known_ground_is_answered_without_the_engine():
    scene = Scene()
    scene.says(report(resource=3))
    for resource in (1, 2.5, 3):
        assert scene.says(report(resource=resource)) == Answer(0, go_on=True)
    assert isinstance(scene.says(report(resource=3.5)), Reported)


def test_known_ground_is_what_the_trial_has_covered_not_the_job():
    scene = Scene(jobs=0)
    job = scene.engine.handle(JobRequested()).job
    scene.engine.handle(Reported(0, 1.0, 0.5))
    scene.engine.handle(JobEnded(0))
    scene.policy.started(rw_job(job, start=3))
    assert scene.says(report(resource=3)) == Answer(0, go_on=True)


def rw_job(job, **changes):
    import dataclasses  # noqa: PLC0415

    return dataclasses.replace(job, **changes)


def test_known_ground_in_a_study_that_has_ended_is_the_engines_to_answer():
    scene = Scene()
    scene.says(report(resource=3))
    scene.engine._end.ended = "it is over"
    assert isinstance(scene.says(report(resource=2)), Reported)


@pytest.mark.parametrize(("decision", "go_on"), [(CONTINUE, True), (PAUSE, False)])
def test_the_engines_decision_is_the_answer(decision, go_on):
    scene = Scene()
    scene.says(report())
    assert scene.policy.decided(0, decision) is go_on


def test_jobs_that_have_left_are_ignored():
    scene = Scene()
    assert scene.says(messages.Ended(0)) == JobEnded(0, 5.0)
    late = [report(), messages.Saved(0, 1, 9), messages.Ended(0), messages.Crashed(0, "late")]
    for message in [*late, report(job=17)]:
        assert scene.says(message) is None
        assert not scene.policy.is_current(message)
    assert scene.policy.decided(0, CONTINUE) is None
    assert (scene.failures, scene.notices) == ([], [])


# -- failures ----------------------------------------------------------------------------------


def test_a_crash_is_retried_as_often_as_the_rules_say():
    scene = Scene(rules=Rules(retries=2))
    job = scene.engine.jobs[0]
    kinds = []
    for _ in range(3):
        kinds.append(type(scene.says(messages.Crashed(0, "boom", "trace", "output"))))
        scene.policy.started(job)
    assert kinds == [JobLost, JobLost, JobFailed]
    assert [again for _, again in scene.failures] == [True, True, False]
    first = scene.failures[0][0]
    assert (first.job, first.trial, first.resource, first.at) == (0, 0, 0, 5.0)
    assert (first.reason, first.trace, first.output) == ("boom", "trace", "output")


def test_a_report_that_gets_further_sets_the_count_to_nothing():
    scene = Scene(rules=Rules(retries=1))
    job = scene.engine.jobs[0]
    for resource in (1, 2, 3):
        assert isinstance(scene.says(messages.Crashed(0, "boom")), JobLost)
        scene.policy.started(job)
        scene.says(report(resource=resource))
    assert isinstance(scene.says(messages.Crashed(0, "boom")), JobLost)
    scene.policy.started(job)
    assert isinstance(scene.says(messages.Crashed(0, "boom")), JobFailed)


def test_attempts_of_an_earlier_tuner_count():
    scene = Scene(rules=Rules(retries=1), attempts={0: 1})
    assert isinstance(scene.says(messages.Crashed(0, "boom")), JobFailed)


@pytest.mark.parametrize("retries", [0, 1])
def test_a_worker_that_vanished_costs_no_retry(retries):
    scene = Scene(rules=Rules(retries=retries))
    job = scene.engine.jobs[0]
    for _ in range(5):
        gone = messages.Crashed(0, "its node was preempted", fault="worker")
        assert scene.says(gone) == JobLost(0, 5.0)
        scene.policy.started(job)
    assert scene.failures == []
    assert len(scene.notices) == 5
    assert "its node was preempted" in scene.notices[0]
    kind = JobLost if retries else JobFailed
    assert isinstance(scene.says(messages.Crashed(0, "boom")), kind)


def test_what_goes_wrong_after_a_job_was_told_to_leave_is_a_notice():
    kept = "failed after its last report, and the report is kept"
    leaving = "failed while the study was stopping; its job will be issued again"
    for decision, kind, said in ((PAUSE, JobEnded, kept), (CONTINUE, JobLost, leaving)):
        scene = Scene()
        if decision is CONTINUE:
            scene.policy.recall()
        scene.says(report())
        assert scene.policy.decided(0, decision) is False
        assert type(scene.says(messages.Crashed(0, "boom"))) is kind
        assert scene.failures == []
        assert scene.notices == [f"trial 0 {said}: boom"]


def test_reasons_and_traces_are_cut_and_made_legible():
    scene = Scene()
    scene.says(messages.Crashed(0, "x" * 9999 + "end", "\ud800" + "y" * 99999))
    ((failure, _),) = scene.failures
    assert len(failure.reason) == REASON
    assert failure.reason.endswith("end")
    failure.trace.encode()


# -- leaving -----------------------------------------------------------------------------------


def test_recalled_jobs_leave_at_their_next_report_also_on_known_ground():
    scene = Scene(jobs=2)
    scene.says(report(job=0, resource=3))
    scene.policy.recall()
    assert scene.says(report(job=0, resource=2)) == Answer(0, go_on=False)
    assert scene.says(messages.Ended(0)) == JobLost(0, 5.0)
    assert isinstance(scene.says(report(job=1, resource=2)), Reported)
    assert scene.policy.decided(1, CONTINUE) is False
    assert scene.says(messages.Ended(1)) == JobLost(1, 5.0)


def test_a_settled_job_that_is_recalled_has_ended():
    scene = Scene()
    scene.policy.recall()
    scene.says(report())
    assert scene.policy.decided(0, PAUSE) is False
    assert scene.says(messages.Ended(0)) == JobEnded(0, 5.0)


@pytest.mark.parametrize("message", [messages.Ended(0), messages.Crashed(0, "killed")])
@pytest.mark.parametrize(("settled", "kind"), [(True, JobEnded), (False, JobLost)])
def test_halted_jobs_are_lost_unless_settled(message, settled, kind):
    scene = Scene()
    scene.says(report())
    scene.policy.decided(0, PAUSE if settled else CONTINUE)
    assert scene.policy.halt() == [(0, HALTED)]
    assert scene.policy.halt() == []  # once
    assert scene.says(report(resource=2)) == Answer(0, go_on=False)
    assert type(scene.says(message)) is kind
    assert (scene.failures, scene.notices) == ([], [])


def test_a_trial_that_loses_worker_after_worker_is_at_fault_in_the_end():
    scene = Scene(rules=Rules(retries=1))
    job = scene.engine.jobs[0]
    lost = messages.Crashed(0, "the node is gone", fault="worker")
    for _ in range(WORKER_FAULTS):
        assert isinstance(scene.says(lost), JobLost)
        scene.policy.started(job)
    assert (len(scene.notices), scene.failures) == (WORKER_FAULTS, [])
    assert isinstance(scene.says(lost), JobLost)  # its retry
    scene.policy.started(job)
    assert scene.says(lost) == JobFailed(0, "the node is gone", 5.0)
    assert [again for _, again in scene.failures] == [True, False]


def test_a_trial_that_gets_further_may_lose_workers_again():
    scene = Scene(rules=Rules(retries=0))
    job = scene.engine.jobs[0]
    for resource in (1, 2):
        for _ in range(WORKER_FAULTS):
            lost = messages.Crashed(0, "the node is gone", fault="worker")
            assert isinstance(scene.says(lost), JobLost)
            scene.policy.started(job)
        scene.says(report(resource=resource))
    assert scene.failures == []


def test_what_fails_while_the_study_is_leaving_is_issued_again():
    """A Ctrl-C on a terminal reaches what trials have started as well."""
    scene = Scene(rules=Rules(retries=0))
    scene.policy.recall()
    crashed = messages.Crashed(0, "the script was ended by SIGINT")
    assert scene.says(crashed) == JobLost(0, 5.0)
    assert scene.failures == []
    assert "ended by SIGINT" in scene.notices[0]


# -- time --------------------------------------------------------------------------------------


def pass_time(scene, seconds, *, start=0.0, step=0.25):
    """Look at the clock again and again; who is overdue."""
    found, now = [], start
    while now < start + seconds:
        now += step
        found += scene.policy.overdue(now)
    return found


def test_a_job_that_runs_too_long_fails_however_it_leaves():
    reason = "it ran longer than 3 s (trial_timeout)"
    for leaves in (messages.Ended(0), messages.Crashed(0, "killed by SIGKILL")):
        scene = Scene(rules=Rules(trial_timeout=3))
        assert pass_time(scene, 3) == []
        assert pass_time(scene, 2, start=3) == [(0, reason)]
        assert pass_time(scene, 9, start=5) == []  # it is asked once
        assert scene.says(leaves) == JobFailed(0, reason, 5.0)
        assert [failure.reason for failure, _ in scene.failures] == [reason]


def test_any_sign_of_life_counts_against_silence():
    scene = Scene(rules=Rules(report_timeout=3))
    now = 0.0
    for message in (report(), messages.Saved(0, 1, 9), messages.Notice(0, "hm"), report()):
        assert pass_time(scene, 2.5, start=now) == []
        now += 2.5
        scene.says(message)
    assert pass_time(scene, 3.5, start=now)[0][1] == ("it sent no report for 3 s (report_timeout)")


def test_a_settled_job_that_hangs_has_ended():
    scene = Scene(rules=Rules(report_timeout=1))
    scene.says(report())
    scene.policy.decided(0, PAUSE)
    assert pass_time(scene, 3)
    assert scene.says(messages.Ended(0)) == JobEnded(0, 5.0)
    assert scene.failures == []


def test_time_that_the_tuner_slept_is_not_the_trials():
    scene = Scene(rules=Rules(report_timeout=3, trial_timeout=30))
    assert pass_time(scene, 1) == []
    assert scene.policy.overdue(1000.0) == []  # SIGSTOP, a suspended laptop, a slow callback
    assert pass_time(scene, 3 - 1 - LONGEST_STEP, start=1000.0) == []
    assert len(pass_time(scene, 1, start=1003.0)) == 1
