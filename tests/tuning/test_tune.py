"""tune() as a user calls it: real workers, small studies."""

import dataclasses
import inspect
import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest
from backend_kinds import on_backend

import rungwise as rw
from rungwise.core.decisions import Done
from rungwise.core.events import JobEnded, JobFailed, JobLost, JobRequested, Reported
from rungwise.options import build
from rungwise.storage.study_file import StudyFile, study_folder

SPACE = {"x": rw.Float(0, 1)}
pytestmark = pytest.mark.usefixtures("backend")


def loss_of(x, epoch):
    """Curves that cross: the best in the end is not the best at first."""
    return (x - 0.3) ** 2 + abs(x - 0.8) / epoch


def train(config, run):
    for epoch in run.resources():
        run.report(epoch, loss=loss_of(config["x"], epoch))


def tune(train, study, **changes):
    arguments = {
        "metric": "loss",
        "goal": "min",
        "max_resource": 9,
        "trials": 9,
        "workers": 1,
        "show": "quiet",
        **changes,
    }
    space = arguments.pop("space", SPACE)
    return rw.tune(train, space, study=study, **on_backend(arguments))


def entries_of(path):
    with StudyFile(path, mode="read") as file:
        return list(file.read_from())


# -- the same as in a simulation ---------------------------------------------------------------


@pytest.mark.parametrize(
    "scheduler",
    [
        rw.PASHA(max_resource=9),
        rw.PASHA(max_resource=9, variant="stopping"),
        rw.ASHA(max_resource=9),
        rw.ASHA(max_resource=9, variant="stopping"),
        rw.SuccessiveHalving(max_resource=9),
        rw.Hyperband(max_resource=9),
        rw.AsyncHyperband(max_resource=9),
        rw.RandomSearch(max_resource=3),
        rw.FixedResource(2),
    ],
    ids=lambda recipe: f"{type(recipe).__name__} {getattr(recipe, 'variant', '')}".strip(),
)
def test_every_scheduler_does_what_it_does_in_a_simulation(tmp_path, scheduler):
    result = tune(train, tmp_path / "s.db", scheduler=scheduler, max_resource=None, trials=12)
    configs = [trial.config for trial in result.engine.trials]
    table = rw.Table([[loss_of(c["x"], epoch) for epoch in range(1, 10)] for c in configs])
    log = rw.MemoryLog()
    simulated = rw.simulate(table, scheduler, trials=range(12), workers=1, log=log)
    decisions = [decision for _, decision in entries_of(tmp_path / "s.db")]
    assert [type(decision) for decision in decisions] == [type(d) for _, d in log.entries]
    jobs = [(job.trial, job.start, job.until) for job in result.engine.jobs]
    assert jobs == simulated.jobs
    assert (result.best.trial, result.best.value) == (simulated.best.row, simulated.best.value)
    # Without checkpoints trials start again when they are promoted; in a simulation they do not.
    assert (result.ceilings, result.resource_spent - result.view.resource_repeated) == (
        simulated.ceilings,
        simulated.resource_spent,
    )
    assert result.why == simulated.why


# -- a file takes up where it was --------------------------------------------------------------


def counting(folder):
    """A training function that leaves a trace of every leg it was called for."""

    def train(config, run):
        with (folder / "legs").open("a") as file:
            file.write(f"{run.trial}\n")
        for epoch in run.resources():
            run.report(epoch, loss=loss_of(config["x"], epoch))

    return train


def test_the_same_call_again_gives_the_same_result_without_training(tmp_path):
    path = tmp_path / "s.db"
    first = tune(counting(tmp_path), path)
    legs = (tmp_path / "legs").read_text()
    assert len(legs.split()) == len(first.engine.jobs)
    before = entries_of(path)
    again = tune(counting(tmp_path), path, workers=2, retries=5, keep=0)  # how may change
    loaded = rw.load(path)
    for result in (again, loaded):
        assert (result.best, result.why, result.reports) == (first.best, first.why, first.reports)
        assert result.leaderboard(None) == first.leaderboard(None)
        assert (result.ended, result.trials, result.metric, result.goal) == (True, 9, "loss", "min")
    assert (tmp_path / "legs").read_text() == legs
    assert entries_of(path) == before


@pytest.fixture(scope="module")
def held(tmp_path_factory, backend):
    """A file that holds a study."""
    path = tmp_path_factory.mktemp("held") / "s.db"
    tune(train, path, trials=2, scheduler=rw.FixedResource(1), max_resource=None, seed=7)
    return path


@pytest.mark.parametrize(
    ("changes", "difference"),
    [
        ({"space": {"x": rw.Float(0, 2)}}, r"space: .*x"),
        ({"space": {"x": rw.Float(0, 1), "y": rw.Choice([1, 2])}}, r"space: .*y.* asked for"),
        ({"metric": "accuracy"}, r"metric: 'loss' in the file, 'accuracy' asked for"),
        ({"goal": "max"}, r"goal: 'min' in the file, 'max' asked for"),
        ({"seed": 8}, r"seed: 7 in the file, 8 asked for"),
        ({"trials": 1}, r"limits\.trials: 2 in the file, 1 asked for"),
        ({"seconds": 9}, r"limits\.seconds: None in the file, 9\.0 asked for"),
        ({"target": 0.5}, r"limits\.target: None in the file, 0\.5 asked for"),
        ({"finish": "paper"}, r"limits\.finish: 'drain' in the file, 'paper' asked for"),
        ({"initial": [{"x": 0.5}]}, r"initial: \[\] in the file, .*0\.5.* asked for"),
        ({"scheduler": rw.ASHA(max_resource=9)}, r"scheduler: FixedResource in .*, ASHA asked"),
    ],
)
def test_another_study_is_refused_with_the_difference(held, changes, difference):
    before = held.read_bytes(), entries_of(held)
    same = {"trials": 2, "scheduler": rw.FixedResource(1), "max_resource": None, "seed": 7}
    with pytest.raises(rw.StudyDiffersError, match=difference) as refused:
        tune(train, held, **{**same, **changes})
    assert len(refused.value.differences) == 1
    assert "rungwise resume" in str(refused.value)
    assert (held.read_bytes(), entries_of(held)) == before


def test_all_differences_are_told_at_once(held):
    with pytest.raises(rw.StudyDiffersError) as refused:
        tune(train, held, trials=5, metric="accuracy", goal="max")
    told = [line.partition(":")[0] for line in refused.value.differences]
    assert told == ["metric", "scheduler", "limits.trials", "goal", "seed"]


# -- how it ends -------------------------------------------------------------------------------


def slow_or_not(config, run):
    """Trials beyond 0.5 are silent for a minute; the others hurry.

    The silence is made of short steps, so that a thread can be unwound in it. In one long call, a
    thread would keep the study waiting; and in Python 3.11, where coverage traces the tuner, that
    would spin for as long (see ``raise_in_thread``).
    """
    if config["x"] > 0.5:
        for _ in range(3000):
            time.sleep(0.02)
    for epoch in run.resources():
        run.report(epoch, loss=config["x"] / epoch)


def test_a_target_ends_the_study_and_stops_what_is_under_way(tmp_path):
    begun = time.monotonic()
    result = tune(
        slow_or_not,
        tmp_path / "s.db",
        workers=2,
        target=0.05,
        initial=[{"x": 0.9}, {"x": 0.2}, {"x": 0.1}],
        scheduler=rw.RandomSearch(),
    )
    assert time.monotonic() - begun < 30
    assert "ended because the target 0.05 was reached" in result.rule
    assert result.best.value == pytest.approx(0.05)
    assert result.best.resource == 4
    events = [event for event, _ in entries_of(tmp_path / "s.db")]
    assert [event.job for event in events if isinstance(event, JobLost)] == [0]
    assert result.engine.open_jobs == []
    assert result.failures == ()


def test_a_budget_of_resource_ends_the_study(tmp_path):
    result = tune(train, tmp_path / "s.db", resource_budget=20, trials=None)
    assert "because the budget of 20 units of resource is used up" in result.rule
    assert 20 <= result.resource_spent < 20 + 9


def test_a_budget_of_seconds_ends_the_study_even_without_reports(tmp_path):
    for seconds in (1.5, 6, 30):  # on a busy machine no worker may be ready in the shorter ones
        file = tmp_path / f"{seconds}.db"
        begun = time.monotonic()
        result = tune(slow_or_not, file, seconds=seconds, trials=None, initial=[{"x": 0.9}])
        assert f"because the budget of {seconds} seconds is used up" in result.rule
        assert time.monotonic() - begun < seconds + 28
        assert seconds <= result.seconds < seconds + 18
        assert rw.load(file).why == result.why
        if result.view.trials:
            break
    *_, (asked, answer), (left, _) = entries_of(file)
    assert (type(asked), type(answer), type(left)) == (JobRequested, Done, JobLost)


def test_paper_finish_ends_with_the_start_of_the_last(tmp_path):
    result = tune(train, tmp_path / "s.db", finish="paper", trials=4)
    assert "the last of 4 configurations to be drawn was started" in result.rule


def test_nothing_found_says_why(tmp_path):
    def failing(config, run):
        if config["x"] == 1:
            raise KeyError("first")
        raise ValueError("second")

    space = {"x": rw.Choice([1, 2])}
    initial = [{"x": 1}, {"x": 2}, {"x": 2}]
    result = tune(failing, tmp_path / "s.db", space=space, trials=3, initial=initial, retries=1)
    with pytest.raises(rw.NothingFoundError, match="What went wrong") as nothing:
        _ = result.best
    assert "4 ×  ValueError: second" in str(nothing.value)
    assert "2 ×  KeyError: 'first'" in str(nothing.value)
    assert (len(result.failures), result.ended) == (6, True)
    assert "nothing yet" in repr(result)
    assert "Traceback" in result.failures[0].trace
    assert rw.load(result.path).failures == result.failures
    events = [event for event, _ in entries_of(result.path)]
    assert sum(isinstance(event, JobLost) for event in events) == 3
    assert next(e.reason for e in events if isinstance(e, JobFailed)) == "KeyError: 'first'"


def test_what_went_wrong_has_its_line_and_the_tracebacks_their_place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    line = inspect.getsourcelines(raising)[1] + 2
    result = tune(raising, "my study.db", trials=2, retries=1)
    with pytest.raises(rw.NothingFoundError) as nothing:
        _ = result.best
    _, counted, first, *trace, hint = str(nothing.value).splitlines()
    assert counted == f"  4 ×  KeyError: 'x1' (test_tune.py, line {line}, in _look_up)"
    assert (first, trace[0]) == ("The first traceback:", "Traceback (most recent call last):")
    assert hint == (
        "All tracebacks: [failure.trace for failure in result.failures], or "
        "rungwise show 'my study.db' --trial 0"
    )
    with pytest.raises(rw.NothingFoundError) as nothing:
        _ = tune(raising, None, trials=2).best
    text = str(nothing.value)
    assert text.startswith("No trial of the study has reported a finite value")
    assert text.splitlines()[-1] == hint.partition(",")[0]


def raising(config, run):
    def _look_up(name):
        return config[name]

    _look_up("x1")


def test_a_study_that_is_being_worked_on_says_that_it_has_not_ended(tmp_path):
    path, seen = tmp_path / "s.db", []

    def look(report):
        seen.append(rw.load(path))

    tune(train, path, trials=1, on_report=look)
    assert {(found.running, found.state, found.why[:28]) for found in seen} == {
        (True, "running", "Running: all 1 configuration")
    }


def test_displays_learn_how_many_trials_have_failed(tmp_path):
    class Counts(Notices):
        def end(self, snapshot, text):
            self.shown.append((snapshot.failed_trials, snapshot.failures))

    def failing(config, run):
        if config["x"] < 2:
            raise ValueError
        run.report(1, loss=1.0)

    display = Counts()
    initial = [{"x": 1}, {"x": 2}, {"x": 1}]
    arguments = {"space": {"x": rw.Choice([1, 2])}, "initial": initial, "trials": 3, "retries": 1}
    tune(failing, tmp_path / "s.db", show=display, **arguments)
    assert display.shown[-1] == (2, 4)


def test_a_failed_trial_is_tried_again_from_its_checkpoint(tmp_path):
    def flaky(config, run):
        for epoch in run.resources():
            if epoch == 3 and run.start == 0:
                raise RuntimeError("once")
            with run.checkpoint(epoch) as folder:
                (folder / "at").write_text(str(epoch))
            run.report(epoch, loss=1 / epoch, began=run.start)

    path = tmp_path / "s.db"
    result = tune(flaky, path, trials=1, scheduler=rw.RandomSearch(), max_resource=4)
    assert [resource for resource, _ in result.curve(0)] == [1, 2, 3, 4]
    reports = [event for event, _ in entries_of(path) if isinstance(event, Reported)]
    assert [dict(event.metrics)["began"] for event in reports] == [0, 0, 2, 2]
    (failure,) = result.failures
    assert (failure.reason, failure.resource, failure.trial) == ("RuntimeError: once", 2, 0)


def test_retries_count_anew_whenever_a_trial_has_got_further(tmp_path):
    def flaky(config, run):
        for epoch in run.resources():
            if not (run.folder / f"failed-{epoch}").exists():
                run.folder.mkdir(parents=True, exist_ok=True)
                (run.folder / f"failed-{epoch}").touch()
                raise RuntimeError(f"before {epoch}")
            with run.checkpoint(epoch):
                pass
            run.report(epoch, loss=1 / epoch)

    options = {"trials": 1, "scheduler": rw.RandomSearch(), "max_resource": 4}
    result = tune(flaky, tmp_path / "s.db", retries=1, **options)
    assert [failure.resource for failure in result.failures] == [0, 1, 2, 3]
    assert (len(result.curve(0)), result.best.value) == (4, 0.25)
    (tmp_path / "other").mkdir()
    result = tune(flaky, tmp_path / "other" / "s.db", retries=0, **options)
    assert (len(result.failures), result.engine.trials[0].failed) == (1, True)


# -- what is tried, and how far ----------------------------------------------------------------


def test_initial_configurations_come_first_and_callbacks_see_it_all(tmp_path):
    told, ends = [], []
    result = tune(
        train,
        tmp_path / "s.db",
        initial=[{"x": 0.9}, {"x": 0.25}],
        on_report=told.append,
        on_end=ends.append,
    )
    assert [trial.config["x"] for trial in result.engine.trials[:2]] == [0.9, 0.25]
    assert ends == [result]
    assert len(told) == result.reports
    events = [event for event, _ in entries_of(result.path) if isinstance(event, Reported)]
    assert [(r.resource, r.value) for r in told] == [(e.resource, e.value) for e in events]
    assert [r.best for r in told] == [min(r.value for r in told[: n + 1]) for n in range(len(told))]
    assert told[0] == rw.ReportEvent(0, {"x": 0.9}, 1, told[0].value, "Pause", told[0].value)
    decisions = [type(d).__name__ for e, d in entries_of(result.path) if isinstance(e, Reported)]
    assert [r.decision for r in told] == decisions


def test_a_callback_that_raises_stops_the_study_which_can_go_on(tmp_path):
    def enough(report):
        if report.trial == 2:
            raise ZeroDivisionError("of the callback")

    path = tmp_path / "s.db"
    with pytest.raises(ZeroDivisionError, match="of the callback"):
        tune(counting(tmp_path), path, on_report=enough)
    held = entries_of(path)
    assert rw.load(path).ended is False
    result = tune(counting(tmp_path), path)
    assert entries_of(path)[: len(held)] == held
    assert result.ended
    assert result.best.trial == tune(train, tmp_path / "whole.db").best.trial


def test_no_checkpoints_are_legal_and_repeats_count_once(tmp_path):
    result = tune(counting(tmp_path), tmp_path / "s.db", scheduler=rw.ASHA())
    legs = (tmp_path / "legs").read_text().split()
    assert len(legs) == len(result.engine.jobs) > 9
    resources = [result.curve(trial) for trial in range(9)]
    for curve in resources:
        assert [r for r, _ in curve] == list(range(1, len(curve) + 1))
    assert result.reports == sum(map(len, resources))
    again = sum(job.start for job in result.engine.jobs)
    assert (result.resource_spent, again > 0) == (result.reports + again, True)
    assert result.best.checkpoint is None
    assert not study_folder(result.path).exists()


def unstable(config, run):
    """Rankings turn round at every rung."""
    for epoch in run.resources():
        sign = (-1) ** len(f"{epoch:b}")
        run.report(epoch, loss=sign * config["x"])


@pytest.mark.parametrize("maximum", [None, 8])
def test_an_open_ladder_is_climbed_to_its_safety_net_with_a_warning(tmp_path, monkeypatch, maximum):
    monkeypatch.setattr(build, "SAFETY_RUNGS", 3)
    scheduler = rw.PASHA(eta=2, ranking=rw.rankings.Exact())
    options = {"scheduler": scheduler, "max_resource": maximum, "trials": 24}
    if maximum is None:
        with pytest.warns(rw.SafetyNetWarning, match="safety net at 8: the ranking .* not stable"):
            result = tune(unstable, tmp_path / "s.db", **options)
    else:
        result = tune(unstable, tmp_path / "s.db", **options)  # a maximum of one's own: no warning
    assert result.ceilings[-1][1] == result.max_resource == 8


def test_an_open_ladder_ends_where_it_is_stable(tmp_path):
    def steady(config, run):
        assert run.max_resource is None
        for epoch in run.resources():
            run.report(epoch, loss=config["x"])

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = tune(steady, tmp_path / "s.db", max_resource=None)
    assert result.max_resource == 3
    with pytest.raises(rw.InvalidArgumentError, match="this study has no maximum"):
        result.saved_versus("asha")
    assert result.saved_versus("asha", max_resource=9).other > result.resource_spent


def test_goal_max_keeps_its_sign(tmp_path):
    def accurate(config, run):
        for epoch in run.resources():
            run.report(epoch, acc=1 - loss_of(config["x"], epoch))

    result = tune(accurate, tmp_path / "s.db", metric="acc", goal="max")
    other = tune(train, tmp_path / "t.db")
    assert result.best.value == pytest.approx(1 - other.best.value)
    assert result.best.trial == other.best.trial
    assert f"acc={result.best.value:g}" in repr(result)


# -- checkpoints -------------------------------------------------------------------------------


def saving(config, run):
    for epoch in run.resources():
        with run.checkpoint(epoch) as folder:
            (folder / "model").write_bytes(b"x" * 1000)
            (folder / "at").write_text(f"{run.trial} {epoch} from {run.start}")
        run.report(epoch, loss=loss_of(config["x"], epoch))


def trials_with_checkpoints(path):
    return sorted(int(p.parent.name[6:]) for p in study_folder(path).glob("trial-*/checkpoints"))


def test_only_the_leaders_keep_their_checkpoints(tmp_path):
    path = tmp_path / "s.db"
    result = tune(saving, path, keep="all", scheduler=rw.ASHA())
    assert trials_with_checkpoints(path) == list(range(9))
    for trial in range(9):
        (found,) = study_folder(path).glob(f"trial-{trial:05d}/checkpoints/at-*")
        assert found.name.startswith(f"at-{result.engine.trials[trial].resource:g}-job-")
    best = result.best
    number, epoch, _, start = (best.checkpoint / "at").read_text().split()
    assert (int(number), int(epoch)) == (best.trial, result.engine.trials[best.trial].resource)
    assert int(start) in (0, 1, 3)
    assert start != "0"  # its last leg went on from its checkpoint
    for keep in (2, 0):
        tune(saving, path, keep=keep, scheduler=rw.ASHA())  # nothing is trained; it is tidied up
        leaders = sorted(row.trial for row in result.leaderboard(keep))
        assert trials_with_checkpoints(path) == leaders
    assert rw.load(path).best.checkpoint is None


def test_a_quota_evicts_the_least_promising_and_nothing_else_changes(tmp_path):
    notices = Notices()
    options = {"scheduler": rw.ASHA(), "trials": 12, "keep": "all"}
    result = tune(saving, tmp_path / "s.db", checkpoint_quota="5kB", show=notices, **options)
    assert any("checkpoint quota: removed the checkpoints of" in text for text in notices.texts)
    kept = trials_with_data(tmp_path / "s.db")
    assert 0 < len(kept) <= 4
    assert result.best.trial in kept
    free = tune(saving, tmp_path / "t.db", **options)
    assert len(trials_with_data(tmp_path / "t.db")) == 12
    assert result.leaderboard(None) == free.leaderboard(None)
    assert [type(e) for e, _ in entries_of(tmp_path / "s.db")] == [
        type(e) for e, _ in entries_of(tmp_path / "t.db")
    ]


def trials_with_data(path):
    return sorted(
        {int(p.parts[-4][6:]) for p in study_folder(path).glob("trial-*/checkpoints/*/at")}
    )


class Notices:
    """A display that remembers what it was told."""

    def __init__(self):
        self.texts, self.shown = [], []

    def begin(self, snapshot):
        self.shown.append("begin")

    def due(self):
        return True

    def update(self, snapshot):
        self.shown.append("update")

    def notice(self, text):
        self.texts.append(text)

    def end(self, snapshot, text):
        self.shown.append(text)


# -- interrupts, and studies without a file ----------------------------------------------------


def test_ctrl_c_leaves_everything_in_good_order(tmp_path):
    def interrupt(report):
        if report.trial == 3:
            os.kill(os.getpid(), signal.SIGINT)

    path = tmp_path / "s.db"
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    display = Notices()
    with pytest.raises(rw.StudyInterrupted, match=f"Go on with: rungwise resume {path}") as stopped:
        tune(saving, path, on_report=interrupt, show=display)
    assert isinstance(stopped.value, KeyboardInterrupt)
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
    assert display.shown[0] == "begin"
    assert display.shown[-1].startswith("Interrupted: 4 of 9 configurations started; ")
    stopped = rw.load(path)
    assert not stopped.ended
    assert stopped.why.startswith("Interrupted: 4 of 9 configurations started; ")
    assert (stopped.running, stopped.to_json()["why"]) == (False, stopped.why)
    assert stopped.engine.open_jobs == []  # all have left
    result = rw.resume(path, saving, show="quiet")
    whole = tune(saving, tmp_path / "whole.db")
    assert result.leaderboard(None) == whole.leaderboard(None)


def test_a_study_without_a_file_lives_as_long_as_its_result(monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    result = tune(saving, None, trials=2, scheduler=rw.FixedResource(1), max_resource=None)
    assert result.best.checkpoint.is_dir()
    assert tmp_path in result.path.parents
    del result
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_promises_nothing_of_a_study_without_a_file(monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    with pytest.raises(rw.StudyInterrupted, match="are gone"):
        tune(train, None, on_report=lambda _: os.kill(os.getpid(), signal.SIGINT))
    assert list(tmp_path.iterdir()) == []


def test_workers_that_cannot_start_end_the_study(tmp_path):
    with pytest.raises(rw.WorkerStartError, match="No module named 'not_there_at_all'"):
        tune(train, tmp_path / "s.db", preload=["not_there_at_all"])
    assert rw.load(tmp_path / "s.db").ended is False
    with pytest.raises(rw.WorkerStartError, match="not_there_at_all"):
        tune(train, None, preload=["not_there_at_all"])


# -- the same study always gives the same decisions --------------------------------------------

CHILD = """
import sys
import rungwise as rw
def train(config, run):
    for epoch in run.resources():
        run.report(epoch, loss=abs(config["x"] - 0.3) + len(config["a"]) / epoch, seed=run.seed)
space = {"x": rw.Float(0, 1), "a": ["b", "cc", "ddd"], "n": rw.Int(1, 9)}
rw.tune(train, space, metric="loss", goal="min", max_resource=9, trials=12, workers=1, seed=5,
        study=sys.argv[1], show="quiet")
"""


def test_equal_seeds_give_equal_logs_in_any_process(tmp_path):
    told = []
    source = str(Path(rw.__file__).parents[1])
    for number in ("1", "2"):
        path = tmp_path / f"{number}.db"
        environment = {**os.environ, "PYTHONHASHSEED": number, "PYTHONPATH": source}
        subprocess.run([sys.executable, "-c", CHILD, path], env=environment, check=True, timeout=90)
        entries = [(dataclasses.replace(e, at=0.0), decision) for e, decision in entries_of(path)]
        told.append(entries)
    assert told[0] == told[1]
    entries = told[0]
    metrics = {event.metrics for event, _ in entries if isinstance(event, Reported)}
    assert len(entries) > 40
    assert len({event.job for event, _ in entries if isinstance(event, JobEnded)}) > 12
    assert len(metrics) == 12  # a seed per trial, the same for every job
