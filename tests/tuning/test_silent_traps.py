"""What used to happen in silence: each is now refused, or said once with what to do about it."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from command_line import run_here

import rungwise as rw
from rungwise.core.failures import Failure
from rungwise.options import list_options
from rungwise.options.foreign_names import OF_SCHEDULER
from rungwise.options.registry import SCHEDULERS
from rungwise.options.study_options import LadderOptions
from rungwise.session.failures import SAME_FAILURES, SAME_TRIALS, FirstFailures, name_kind

SPACE = {"x": rw.Float(0, 1)}


class Listening:
    """A display that keeps what it is to show."""

    def __init__(self):
        self.notices, self.ended = [], []

    def begin(self, snapshot):
        pass

    def due(self):
        return False

    def update(self, snapshot):
        pass

    def notice(self, text):
        self.notices.append(text)

    def end(self, snapshot, text):
        self.ended.append(text)


def tune(train, **changes):
    arguments = {
        "metric": "loss",
        "goal": "min",
        "max_resource": 9,
        "trials": 12,
        "backend": rw.Threads(1),
        "show": Listening(),
        **changes,
    }
    return rw.tune(train, arguments.pop("space", SPACE), **arguments), arguments["show"]


def without_checkpoints(config, run):
    for epoch in run.resources():
        run.report(epoch, loss=config["x"] + 1 / epoch)


# -- everything fails ----------------------------------------------------------------------------


def test_failures_that_are_all_the_same_stop_the_study_after_a_few(tmp_path):
    def broken(config, run):
        raise KeyError(f"learning_rate {config['x']}")

    path = tmp_path / "s.db"
    with pytest.raises(rw.NothingFoundError) as nothing:
        tune(broken, trials=None, study=path, backend=rw.Threads(2))
    failures = rw.load(path).failures
    assert SAME_FAILURES <= len(failures) <= SAME_FAILURES + 4
    assert len({failure.trial for failure in failures}) >= SAME_TRIALS
    text = str(nothing.value)
    assert "(test_silent_traps.py, line " in text
    assert "The first traceback:\nTraceback (most recent call last):" in text
    assert "would work, go on with: rungwise.resume(" in text


@pytest.mark.parametrize(
    "fails",
    [
        pytest.param(lambda trial: trial < SAME_TRIALS - 1, id="the first few fail"),
        pytest.param(lambda trial: trial % 3, id="two thirds fail"),
    ],
)
def test_a_healthy_study_with_early_failures_goes_on(fails):
    def sometimes(config, run):
        if fails(run.trial):
            raise ValueError("a bad configuration")
        without_checkpoints(config, run)

    result, _ = tune(sometimes, max_resource=3)
    assert (result.trials, result.ended) == (12, True)


def test_a_slow_job_that_still_runs_may_be_the_one_that_works():
    """Its worker's neighbour fails again and again; the study waits for its first report."""

    def train(config, run):
        if run.trial:
            raise ValueError("only trial 0 works")
        time.sleep(1.5)
        run.report(1, loss=1)

    result, _ = tune(train, backend=rw.Threads(2), trials=9, max_resource=1, retries=1)
    assert result.best.trial == 0
    assert len(result.failures) == 16


def fail(watch, number, reason, trace="", trial=None):
    trial = number if trial is None else trial
    watch.add(Failure(number, trial, 0, 0.0, reason, trace, ""), number + 1)


def test_different_failures_and_few_trials_are_no_reason_to_give_up():
    watch = FirstFailures(1)
    for number in range(10):
        fail(watch, number, "ValueError: a" if number % 2 else "KeyError: b")
    assert not watch.is_hopeless([])
    watch = FirstFailures(1)
    for number in range(SAME_FAILURES + 3):
        fail(watch, number, "ValueError: a", trial=number % (SAME_TRIALS - 1))
    assert not watch.is_hopeless([])
    for number in range(20):
        fail(watch, number, "ValueError: a")
    assert not watch.is_hopeless([3]) or not watch.identical
    assert watch.is_hopeless([99])


def test_numbers_do_not_make_failures_different():
    first, second, other = (
        Failure(0, 0, 0, 0.0, reason, "", "")
        for reason in ("out of memory: 20.5 MB", "out of memory: 3e9 MB", "out of disk")
    )
    assert name_kind(first) == name_kind(second) != name_kind(other)


SCRIPT = """
    import json, os
    with open(os.environ["RUNGWISE_REPORTS"], "a") as file:
        file.write(json.dumps({"resource": 1, "los": 0.5}) + "\\n")
"""


def test_a_command_whose_trials_all_failed_says_why_and_does_not_exit_with_0(tmp_path):
    (tmp_path / "tr.py").write_text(textwrap.dedent(SCRIPT))
    (tmp_path / "y.yaml").write_text("lr: {type: float, low: 0, high: 1}")
    arguments = "tune tr.py --space y.yaml --metric loss --trials 2 --max-resource 3 --workers 1"
    done = run_here(
        [*arguments.split(), "--study", "k.db", "-q", "--retries", "0"], folder=tmp_path
    )
    assert done.returncode == 1
    assert "No trial has reported a finite value." in done.stdout
    assert "retrain" not in done.stdout
    assert "would have spent" not in done.stdout
    assert "2 ×  " in done.stderr
    assert "'loss'" in done.stderr
    again = run_here(["resume", "k.db", "--json"], folder=tmp_path)
    assert (again.returncode, '"best": null' in again.stdout) == (1, True)


# -- what was trained again ----------------------------------------------------------------------


def counting(folder, train):
    """The training function, and how many epochs it has trained in all."""

    def counted(config, run):
        for epoch in run.resources():
            with (folder / "epochs").open("a") as file:
                file.write("x")
            train(config, run, epoch)

    return counted, lambda: len((folder / "epochs").read_text())


def report(config, run, epoch):
    run.report(epoch, loss=(config["x"] - 0.3) ** 2 + abs(config["x"] - 0.8) / epoch)


@pytest.mark.parametrize("variant", ["promotion", "stopping"])
@pytest.mark.parametrize("workers", [1, 2])
def test_what_is_trained_again_counts_as_spent(tmp_path, variant, workers):
    train, trained = counting(tmp_path, report)
    path = tmp_path / "s.db"
    result, display = tune(
        train,
        study=path,
        trials=30,
        scheduler=rw.ASHA(variant=variant),
        backend=rw.Threads(workers),
    )
    assert result.resource_spent == trained() == rw.load(path).resource_spent
    again = result.view.resource_repeated
    assert (again > 0) == (variant == "promotion")
    said = [text for text in display.notices if "without a checkpoint" in text]
    assert len(said) == (variant == "promotion")
    assert all("run.checkpoint" in text and "variant=stopping" in text for text in said)


def test_a_budget_counts_what_is_trained_again(tmp_path):
    train, trained = counting(tmp_path, report)
    result, _ = tune(train, trials=None, resource_budget=60, scheduler=rw.ASHA())
    assert "the budget of 60 units of resource is used up" in result.rule
    assert 60 <= trained() <= 60 + 9


def test_with_checkpoints_nothing_is_trained_again_and_nothing_is_said(tmp_path):
    def saving(config, run, epoch):
        with run.checkpoint(epoch):
            pass
        report(config, run, epoch)

    train, trained = counting(tmp_path, saving)
    result, display = tune(train, study=tmp_path / "s.db", trials=30, scheduler=rw.ASHA())
    assert (result.resource_spent, result.view.resource_repeated) == (trained(), 0)
    assert not display.notices


def test_a_checkpoint_below_the_last_report_costs_only_what_is_between(tmp_path):
    def saving(config, run, epoch):
        if epoch == 2:
            with run.checkpoint(epoch):
                pass
        report(config, run, epoch)

    train, trained = counting(tmp_path, saving)
    result, display = tune(train, trials=30, scheduler=rw.ASHA())
    assert result.resource_spent == trained()
    assert any("without a checkpoint" in text for text in display.notices)  # those from 1


def test_the_command_says_how_much_was_trained_again(tmp_path):
    tune(without_checkpoints, study=tmp_path / "s.db", scheduler=rw.ASHA())
    shown = run_here(["show", "s.db"], folder=tmp_path).stdout
    assert "trained again, without a checkpoint)" in " ".join(shown.split())


# -- units, goals, names ---------------------------------------------------------------------------


def steps(config, run):
    for step in range(100, 501, 100):
        run.report(step, loss=1 / step)


def test_reports_beyond_the_maximum_are_said_once_with_the_remedy():
    _, display = tune(steps, trials=3)
    (said,) = (text for text in display.notices if "max_resource is 9" in text)
    assert said.startswith("trial 0 reported at resource 100, ")
    assert "in the same unit" in said
    with pytest.warns(rw.UsageWarning, match="max_resource is 9") as warned:
        tune(steps, trials=3, show="quiet")
    assert len(warned) == 1


def test_a_goal_against_the_name_of_the_metric_is_said():
    def train(config, run):
        run.report(1, val_accuracy=config["x"])

    common = {"metric": "val_accuracy", "trials": 1, "max_resource": 1}
    _, display = tune(train, goal="min", **common)
    (said,) = display.notices
    assert "usually to be maximised: give goal='max', unless min is meant" in said
    with pytest.warns(rw.UsageWarning, match="usually to be maximised"):
        tune(train, goal="min", show="quiet", **common)
    assert not tune(train, goal="max", **common)[1].notices


def test_a_goal_that_is_left_out_is_taken_from_a_well_known_name():
    def train(config, run):
        run.report(1, val_accuracy=config["x"], speed=1)

    common = {"trials": 1, "max_resource": 1, "goal": None}
    result, display = tune(train, metric="val_accuracy", **common)
    assert result.goal == "max"
    assert display.notices == [
        "the goal is max, taken from the name of the metric, val_accuracy",
    ]
    with pytest.raises(rw.InvalidArgumentError, match="goal is missing: say whether the metric"):
        tune(train, metric="speed", **common)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("num_samples", "trials="),
        ("n_trials", "trials="),
        ("max_t", "max_resource="),
        ("timeout", "seconds="),
        ("mode", "goal="),
        ("direction", "goal="),
        ("max_concurrent_trials", "workers="),
        ("n_jobs", "workers="),
        ("sampler", "searcher="),
        ("pruner", "scheduler="),
        ("points_to_evaluate", "initial="),
        ("reduction_factor", "eta="),
        ("grace_period", "min_resource="),
        ("trails", "did you mean trials="),
    ],
)
def test_names_of_other_libraries_are_answered_with_ours(theirs, ours):
    with pytest.raises(TypeError, match=rf"tune\(\) has no argument {theirs}=: ") as wrong:
        tune(without_checkpoints, **{theirs: 20})
    assert ours in str(wrong.value)
    assert isinstance(wrong.value, rw.RungwiseError)


@pytest.mark.parametrize("call", [rw.tune, rw.open_study])
def test_an_option_of_the_scheduler_is_answered_with_how_to_give_it(call):
    def refuse(**given):
        with pytest.raises(rw.UnknownArgumentError) as wrong:
            call(None, {}, metric="loss", **given)
        return str(wrong.value)

    text = refuse(variant="stopping")
    assert 'scheduler="pasha:variant=stopping"' in text
    assert "scheduler=rungwise.PASHA(variant='stopping')" in text
    assert 'scheduler="adaptive:size=40"' in refuse(size=40)
    assert 'scheduler="pasha:ranking=soft:0.02"' in refuse(ranking="soft:0.02")
    assert refuse(ranking="rbo:0.5,0.5").endswith(
        "it belongs to the scheduler: scheduler=rungwise.PASHA(ranking='rbo:0.5,0.5')"
    )
    assert "scheduler=rungwise.PASHA(ranking=Soft(epsilon=0.02))" in refuse(
        ranking=rw.rankings.Soft(0.02)
    )


def test_every_option_of_a_scheduler_without_an_argument_has_such_an_answer():
    flags = {each.name for each in list_options(LadderOptions) if not each.keyword}
    assert set(OF_SCHEDULER) == flags
    for name, (word, kind) in OF_SCHEDULER.items():
        assert SCHEDULERS.find(word) is getattr(rw, kind)
        assert name in getattr(rw, kind).__dataclass_fields__


def test_every_name_that_is_suggested_exists_and_no_foreign_one_is_ours():
    import inspect  # noqa: PLC0415

    from rungwise.options.foreign_names import FOREIGN  # noqa: PLC0415

    known = inspect.signature(rw.tune).parameters
    for ours, theirs in FOREIGN.items():
        named = ours.split(",")[1].strip() if ours.startswith("the ") else ours.partition("=")[0]
        assert named in known
        assert not set(theirs) & set(known)


def test_the_options_of_a_ladder_may_stand_beside_the_name_of_its_scheduler():
    for given, recipe in (
        ({}, rw.AdaptiveHalving(2, 18, 3)),
        ({"scheduler": "asha"}, rw.ASHA(2, 18, 3)),
        ({"scheduler": "pasha:variant=stopping"}, rw.PASHA(2, 18, 3, variant="stopping")),
    ):
        result, _ = tune(
            without_checkpoints, trials=2, min_resource=2, eta=3, max_resource=18, **given
        )
        assert result.view.recipe == recipe
    with pytest.raises(rw.InvalidArgumentError, match=r"eta is 4, but give it to the scheduler: "):
        tune(without_checkpoints, scheduler=rw.ASHA(), eta=4)
    with pytest.raises(
        rw.InvalidArgumentError,
        match=r"eta is 4, but the scheduler RandomSearch",
    ):
        tune(without_checkpoints, scheduler="random", eta=4)
    with pytest.raises(rw.InvalidArgumentError, match=r"eta is 1, but"):
        tune(without_checkpoints, eta=1)


def test_scalars_of_numpy_are_taken_wherever_pythons_are():
    one, three = np.int64(1), np.int64(3)
    result, _ = tune(
        without_checkpoints,
        space={
            "x": rw.Float(np.float32(0), one, log=np.False_),
            "n": rw.Int(one, np.int64(9), log=np.True_),
            "size": rw.Choice([one, three], ordered=np.True_),
            "flag": np.True_,
        },
        initial=[{"x": np.float64(0.5), "n": three, "size": one, "flag": np.True_}],
        max_resource=three,
        trials=three,
        seed=one,
        retries=one,
        seconds=np.float32(60),
        target=np.float64(0),
    )
    assert result.view.trial(0).config == {"x": 0.5, "n": 3, "size": 1, "flag": True}
    assert {type(value) for value in result.best.config.values()} <= {float, int, bool}


# -- how trials are shown ------------------------------------------------------------------------


def test_parameters_are_in_the_users_order_also_when_loaded(tmp_path):
    names = ["zeta", "x", *(f"p_{number}" for number in range(12)), "alpha"]
    space = {name: rw.Float(0, 1) for name in names}
    path = tmp_path / "s.db"
    result, _ = tune(without_checkpoints, space=space, trials=2, study=path)
    assert list(result.best.config) == names
    assert list(rw.load(path).best.config) == names
    assert list(rw.load(path).engine.study.space.written) == names


def test_the_order_in_which_a_space_is_written_draws_the_same():
    written = {"b": rw.Float(0, 1), "a": rw.Int(1, 9), "c": ["x", "y", "z"]}
    turned = dict(reversed(written.items()))
    ours, theirs = rw.Space.parse(written), rw.Space.parse(turned)
    assert ours == theirs
    drawn = [space.sample(np.random.default_rng(3)) for space in (ours, theirs)]
    assert drawn[0] == drawn[1]
    assert [list(config) for config in drawn] == [["b", "a", "c"], ["c", "a", "b"]]


def test_a_trial_trained_to_the_end_is_completed(tmp_path):
    path = tmp_path / "s.db"
    result, _ = tune(without_checkpoints, study=path, scheduler=rw.ASHA(), trials=27)
    states = {row.trial: (row.state, row.reached) for row in result.leaderboard(None)}
    assert states[result.best.trial] == ("completed", 9)
    assert all((state == "completed") == (reached == 9) for state, reached in states.values())
    shown = run_here(["show", path, "--trial", str(result.best.trial)]).stdout
    assert "it is now completed: trained to the maximum" in shown


def test_a_finished_study_says_that_there_is_nothing_to_do(tmp_path):
    path = tmp_path / "s.db"
    first, display = tune(without_checkpoints, study=path, trials=3)
    assert not any("already" in text for text in display.notices)
    again, display = tune(without_checkpoints, study=path, trials=3)
    (said,) = (text for text in display.notices if "already" in text)
    assert said.startswith(f"{path} had already finished: nothing to do.")
    assert again.best == first.best


# -- interrupts ----------------------------------------------------------------------------------

INTERRUPTED = """
    import os, signal, sys, time
    import rungwise as rw

    def train(config, run):
        for epoch in run.resources():
            run.report(epoch, loss=config["x"])

    def interrupt(report):
        if report.trial == 3:
            os.kill(os.getpid(), signal.SIGINT)

    if __name__ == "__main__":
        rw.tune(train, {"x": rw.Float(0, 1)}, metric="loss", max_resource=3, trials=20,
                backend="threads:1", study="s.db", show="lines", on_report=interrupt)
        print("not reached")
"""


def test_a_script_that_is_interrupted_shows_no_traceback(tmp_path):
    (tmp_path / "script.py").write_text(textwrap.dedent(INTERRUPTED))
    done = subprocess.run(
        [sys.executable, "script.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ},
    )
    assert done.returncode == 128 + signal.SIGINT
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    last = done.stderr.splitlines()[-1]
    assert last.startswith("rungwise: Interrupted: ")
    assert "Go on with: rungwise resume s.db" in last
    assert "Interrupted: " in done.stderr
    assert "goes on" not in done.stderr
    result = rw.load(tmp_path / "s.db")
    assert (result.state, result.view.way_on) == ("interrupted", f"rungwise resume {result.path}")
    assert "interrupted" in run_here(["list"], folder=tmp_path).stdout


def test_other_errors_are_shown_as_before_after_an_interrupt(monkeypatch, capsys):
    from rungwise.session import interrupts  # noqa: PLC0415

    monkeypatch.delattr(sys, "ps1", raising=False)  # IPython sets it where it was loaded before
    seen = []
    monkeypatch.setattr(sys, "excepthook", lambda *error: seen.append(error[0]))
    made = interrupts.make_interrupt("kept")
    interrupts.make_interrupt("kept again")
    sys.excepthook(ValueError, ValueError("other"), None)
    assert seen == [ValueError]
    with pytest.raises(SystemExit) as end:
        sys.excepthook(type(made), made, None)
    assert end.value.code == 130
    assert capsys.readouterr().err == "rungwise: kept\n"
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)  # a console is not ended
    sys.excepthook(type(made), made, None)


# -- what is meant by what is written --------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ((1e-3, 1, "log"), "is probably rungwise.Float(0.001, 1.0, log=True)"),
        (["int", 1, 9], "is probably rungwise.Int(1, 9)"),
        (range(1, 4), "write list(range(1, 4)), or a rungwise.Int"),
        (np.linspace(0, 1, 3), "such as values.tolist()"),
    ],
)
def test_ranges_and_arrays_are_answered_with_how_they_are_written(written, told):
    with pytest.raises(rw.SpaceError) as wrong:
        rw.Space.parse({"x": written})
    assert told in str(wrong.value)


def test_three_options_of_which_one_is_a_word_are_options():
    assert rw.Space.parse({"x": [1, 2, "auto"]}).names == ("x",)


@pytest.mark.parametrize(("goal", "meant"), [("minimize", "min"), ("Maximise", "max")])
def test_a_goal_written_in_full_is_answered_with_the_short_one(goal, meant):
    with pytest.raises(rw.InvalidArgumentError, match=f"did you mean '{meant}'"):
        tune(without_checkpoints, goal=goal)


def test_generators_and_coroutines_are_refused_before_anything_starts():
    def generator(config, run):
        yield 1

    async def coroutine(config, run):
        pass

    for function in (generator, coroutine):
        with pytest.raises(rw.InvalidArgumentError, match="no yield, no async"):
            tune(function)


def test_one_configuration_is_answered_with_a_list_of_one():
    with pytest.raises(rw.InvalidArgumentError, match=r"such as \[\{'x': 0.5\}\]"):
        tune(without_checkpoints, initial={"x": 0.5})


def test_metrics_that_are_returned_or_given_as_a_dict_say_how_to_report(tmp_path):
    def returning(config, run):
        return {"loss": 1}

    def reporting(config, run):
        run.report({"loss": 1})

    def by_place(config, run):
        run.report(0.5, 1)

    for function, told in (
        (returning, "what it returns is not used"),
        (reporting, "loss=…"),
        (by_place, "the resource first, then metrics by name"),
    ):
        with pytest.raises(rw.NothingFoundError, match=told):
            tune(function)


def test_what_resume_cannot_change_is_said_with_what_to_do(tmp_path):
    path = tmp_path / "s.db"
    tune(without_checkpoints, study=path, trials=3)
    with pytest.raises(rw.InvalidArgumentError, match="metric is 'x', but it belongs to the study"):
        rw.resume(path, without_checkpoints, metric="x")
    with pytest.raises(TypeError, match=r"resume\(\) has no argument n_trials=: here it is"):
        rw.resume(path, without_checkpoints, n_trials=5)


def test_what_is_no_name_of_a_file_is_refused():
    with pytest.raises(rw.InvalidArgumentError, match="must be the name of a study file"):
        rw.resume(without_checkpoints, "s.db")
    with pytest.raises(rw.InvalidArgumentError, match="must be the name of a study file"):
        rw.load(3)


def test_a_trial_that_is_not_there_is_an_error_with_those_that_are(tmp_path):
    result, _ = tune(without_checkpoints, trials=3)
    for number in (3, -1):
        with pytest.raises(rw.InvalidArgumentError, match="the study has the trials 0 to 2"):
            result.view.trial(number)
        with pytest.raises(rw.InvalidArgumentError, match="the study has the trials 0 to 2"):
            result.curve(number)
    with pytest.raises(rw.InvalidArgumentError, match="limit is 'all'"):
        result.leaderboard("all")


def test_a_study_of_asha_is_not_compared_with_asha(tmp_path):
    path = tmp_path / "s.db"
    result, _ = tune(without_checkpoints, study=path, scheduler=rw.ASHA())
    assert result.view.savings.asha is None
    assert "would have spent" not in run_here(["show", path]).stdout
    pasha = tune(without_checkpoints, scheduler=rw.PASHA())[0]
    assert pasha.view.savings.asha is not None


def test_an_extension_that_trains_nothing_says_what_is_needed(tmp_path):
    path = tmp_path / "s.db"
    tune(without_checkpoints, study=path, scheduler=rw.ASHA(), max_resource=3, trials=4)
    result = rw.resume(path, without_checkpoints, max_resource=9, show="quiet")
    assert "trained nothing more: a further promotion needs more trials" in result.rule
    assert rw.load(path).why == result.why
    result = rw.resume(path, without_checkpoints, trials=12, show="quiet")
    assert "nothing more:" not in result.rule


def sometimes_failing(config, run):
    if config["x"] > 0.6:
        raise ValueError("too large")
    run.report(1, loss=config["x"])


def test_show_names_the_line_that_failed(tmp_path):
    path = tmp_path / "s.db"
    tune(sometimes_failing, study=path, max_resource=1)
    shown = run_here(["show", path]).stdout
    assert "× ValueError: too large (test_silent_traps.py, line " in shown


@pytest.mark.filterwarnings("default::rungwise.UsageWarning")
def test_a_warning_of_a_command_is_one_line(tmp_path):
    code = """
        def train(config, run):
            run.report(1, accuracy=config["x"])
    """
    (tmp_path / "t.py").write_text(textwrap.dedent(code))
    (tmp_path / "space.yaml").write_text("x: {type: float, low: 0, high: 1}")
    command = "tune t.py:train --space space.yaml --metric accuracy --goal min --max-resource 1"
    done = run_here([*command.split(), "--trials", "2", "--quiet"], folder=tmp_path)
    assert done.returncode == 0, done.stderr
    (warned,) = [text for text in done.stderr.splitlines() if "warning" in text.lower()]
    assert warned.startswith("rungwise: warning: the goal is min, but")


def test_configurations_that_would_not_be_tried_are_said_with_the_remedy():
    def once(config, run):
        run.report(1, loss=config["x"])

    given = [{"x": number / 70} for number in range(70)]
    result, display = tune(once, initial=given, trials=70, max_resource=1)
    (said,) = display.notices
    assert said.startswith("initial has 70 configurations, but adaptive halving draws 64 of 70")
    assert result.trials == 64
    remedy = "adaptive:size=70"
    assert remedy in said
    result, display = tune(once, initial=given, trials=70, max_resource=1, scheduler=remedy)
    assert (result.trials, display.notices) == (70, [])
