"""PASHA and ASHA as pruners of Optuna, in the real Optuna."""

import copy
import logging
import math
import pickle
import re
import subprocess
import sys
import threading
from pathlib import Path
from wsgiref.simple_server import WSGIRequestHandler, make_server

import extras
import pytest
import yaml
from browsers import BROWSER, needs_browser

import rungwise as rw
from rungwise.core.decisions import CONTINUE, NOTED, STOP
from rungwise.core.engine import Engine
from rungwise.core.events import JobEnded, JobFailed, JobRequested, Reported
from rungwise.core.limits import Limits
from rungwise.core.study import Study
from rungwise.testing import AdapterConformance, BrokenTrial, HostRecord

optuna = extras.needs("optuna", "optuna")

from rungwise.integrations import optuna as ours  # noqa: E402 - it needs the extra

optuna.logging.set_verbosity(optuna.logging.WARNING)
COMPLETE, PRUNED = optuna.trial.TrialState.COMPLETE, optuna.trial.TrialState.PRUNED


def create(pruner, direction="minimize", **more):
    sampler = optuna.samplers.RandomSampler(seed=0)
    return optuna.create_study(direction=direction, pruner=pruner, sampler=sampler, **more)


def objective(trial, epochs=27, first=1):
    x = trial.suggest_float("x", 0, 1)
    value = math.nan
    for epoch in range(epochs):
        value = (x - 0.3) ** 2 + 1 / (epoch + 1)
        trial.report(value, epoch + first)
        if trial.should_prune():
            raise optuna.TrialPruned
    return value


# -- conformance ---------------------------------------------------------------------------------


def make_pruner(recipe):
    if isinstance(recipe, rw.ASHA):
        return ours.ASHAPruner(max_resource=27)
    return ours.PASHAPruner(max_resource=27)


def list_entries(study, host):
    """The events that the marks stand for, with the decisions that stand in them."""
    (fold,) = study.pruner._folds[study._storage].values()
    limits = Limits(trials=host.trials)
    plan = Study(host.recipe, limits, goal=host.goal, initial=host.configs())
    engine, entries = Engine(plan), []

    def add(event, decision=None):
        again = engine.handle(event)
        entries.append((event, again if decision is None else decision))

    for _ in range(host.trials):
        add(JobRequested())
    for event in fold._events:
        trial = study.trials[event.number]
        for resource, _ in event.points:
            last = resource == event.points[-1][0] and not event.ended
            mark = trial.system_attrs[f"{ours.MARK}{event.index}"] if last else {"stop": False}
            value = trial.intermediate_values[resource]
            add(Reported(event.number, resource, value), STOP if mark["stop"] else CONTINUE)
            if mark["stop"]:
                add(JobEnded(event.number), NOTED)
        if event.ended:
            add(JobFailed(event.number), NOTED)
    add(JobRequested())
    return entries


class TestConformance(AdapterConformance):
    recipes = (
        rw.PASHA(max_resource=27, variant="stopping"),
        rw.ASHA(max_resource=27, variant="stopping"),
    )

    def run_host(self, study):
        direction = "minimize" if study.goal == "min" else "maximize"
        found = create(make_pruner(study.recipe), direction)
        for config in study.configs():
            found.enqueue_trial(config)

        def objective(trial):
            row = trial.suggest_int("row", 0, study.trials - 1)
            value = math.nan
            for step in range(1, 28):
                value = study.train(row, step)
                trial.report(value, step)
                if trial.should_prune():
                    raise optuna.TrialPruned
            return value

        found.optimize(objective, n_trials=study.trials, n_jobs=study.workers, catch=(BrokenTrial,))
        found.pruner.ceiling(found)  # reads what has ended
        return HostRecord(list_entries(found, study), ours.best(found).trial)


# -- many processes ------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", [pytest.param("sqlite", marks=pytest.mark.integrations), "journal"]
)
def test_four_processes_agree(kind, tmp_path):
    place = f"sqlite:///{tmp_path}/a.db" if kind == "sqlite" else str(tmp_path / "a.log")
    from optuna_worker import open_storage  # noqa: PLC0415 - it needs the extra

    create(None, storage=open_storage(place), study_name="shared")
    script = Path(__file__).parents[1] / "optuna_worker.py"
    workers = [
        subprocess.Popen([sys.executable, script, place, "12"], stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    said = [worker.communicate(timeout=120)[0] for worker in workers]
    assert [worker.returncode for worker in workers] == [0] * 4
    study = optuna.load_study(study_name="shared", storage=open_storage(place))
    assert len(study.trials) == 48

    # Whoever reads the marks, in whatever order they become visible, sees the same.
    readers = [ours.PASHAPruner(max_resource=27) for _ in range(2)]
    whys = {reader.why(study) for reader in readers}
    assert len(whys) == 1
    assert max(int(ceiling) for ceiling in said) <= readers[0].ceiling(study)
    (fold,) = readers[0]._folds[study._storage].values()
    again, hiding = ours.Fold(fold._recipe, sign=1.0), _Hiding(study)
    for trial in reversed(study.trials):
        hiding.shown.add(trial.number)
        again.read(hiding)
    assert list(again.scheduler.ceilings) == list(fold.scheduler.ceilings)
    assert [rung.losses for rung in again.scheduler.rungs] == [
        rung.losses for rung in fold.scheduler.rungs
    ]
    # A decision stands: a trial ended where its last mark says so, and nowhere else.
    for trial in study.trials:
        marks = [v for k, v in trial.system_attrs.items() if k.startswith(ours.MARK)]
        assert [mark["stop"] for mark in marks].count(True) == 1
        assert marks[-1]["stop"]
        assert trial.last_step == marks[-1]["resource"]
        assert trial.state == (COMPLETE if trial.last_step == 27 else PRUNED)
        assert [mark["resource"] for mark in marks] == [1, 3, 9, 27][: len(marks)]


class _Hiding:
    """A study that shows the marks of some trials only, as a storage that lags behind would."""

    def __init__(self, study):
        self._trials, self.shown = study.trials, set()

    def get_trials(self, *, deepcopy):
        return [self._show(trial) for trial in self._trials]

    def _show(self, trial):
        if trial.number in self.shown:
            return trial
        hidden = copy.copy(trial)
        hidden.system_attrs, hidden.state = {}, optuna.trial.TrialState.RUNNING
        return hidden


def test_a_pruner_goes_to_other_processes_and_to_other_studies():
    pruner = ours.PASHAPruner(max_resource=9)
    first, second = create(pruner), create(pruner, "maximize")
    first.optimize(objective, n_trials=12)
    again = pickle.loads(pickle.dumps(pruner))  # noqa: S301 - our own
    assert again.why(first) == pruner.why(first)
    assert pruner.ceiling(second) == 3
    assert repr(again) == "PASHAPruner(rungs at 1, 3, 9)"


def test_a_study_goes_on_with_another_pruner_object(tmp_path):
    place = f"sqlite:///{tmp_path}/a.db"
    whole = create(ours.PASHAPruner(max_resource=27))
    whole.optimize(objective, n_trials=18)
    sampler = optuna.samplers.RandomSampler(seed=0)
    for part in range(3):
        pruner = ours.PASHAPruner(max_resource=27)
        study = optuna.create_study(
            storage=place, study_name="a", load_if_exists=True, pruner=pruner, sampler=sampler
        )
        study.optimize(objective, n_trials=6)
        assert len(study.trials) == 6 * (part + 1)
    assert [t.last_step for t in study.trials] == [t.last_step for t in whole.trials]
    assert study.pruner.why(study) == whole.pruner.why(whole)


def test_a_mark_that_could_not_be_stored_is_forgotten(monkeypatch):
    study = create(ours.PASHAPruner(max_resource=9))
    study.optimize(objective, n_trials=5)
    before = study.pruner.why(study)
    trial = study.ask()
    trial.suggest_float("x", 0, 1)
    trial.report(0.5, 1)

    def fail(*_):
        raise OSError("disk full")

    with monkeypatch.context() as patched:
        patched.setattr(study._storage, "set_trial_system_attr", fail)
        with pytest.raises(OSError, match="disk full"):
            trial.should_prune()
    (fold,) = study.pruner._folds[study._storage].values()
    assert trial.number not in fold.scheduler.rungs[0].losses
    assert study.pruner.why(study) == before
    assert trial.should_prune() in (True, False)
    assert trial.number in fold.scheduler.rungs[0].losses


# -- decisions -----------------------------------------------------------------------------------


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_steps_from_0_are_the_same_as_from_1(direction):
    sign = 1 if direction == "minimize" else -1
    found = []
    for first in (0, 1):

        def signed(trial, first=first):
            x = trial.suggest_float("x", 0, 1)
            for epoch in range(27):
                trial.report(sign * ((x - 0.3) ** 2 + 1 / (epoch + 1)), epoch + first)
                if trial.should_prune():
                    raise optuna.TrialPruned
            return 0.0

        study = create(ours.PASHAPruner(max_resource=27), direction)
        study.optimize(signed, n_trials=20)
        found.append(([trial.last_step - first for trial in study.trials], ours.best(study)))
    assert found[0] == found[1]


@pytest.fixture
def logged():
    """What our pruners have logged."""
    seen = []

    class Handler(logging.Handler):
        def emit(self, record):
            seen.append(record.getMessage())

    logger = logging.getLogger("rungwise.integrations.optuna")
    handler, before = Handler(), logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield seen
    logger.removeHandler(handler)
    logger.setLevel(before)


def test_steps_from_0_are_announced_once(logged):
    create(ours.PASHAPruner(max_resource=9)).optimize(
        lambda trial: objective(trial, epochs=9, first=0), n_trials=3
    )
    assert logged == ["Steps are counted from 0 here: step 0 is one unit of resource."]


def test_an_objective_that_never_reports_is_noticed(logged):
    study = create(ours.PASHAPruner(max_resource=9))
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=3)
    assert study.pruner.ceiling(study) == 3
    assert len(logged) == 1
    assert "Trial 0 has completed without trial.report(value, step)" in logged[0]


def test_a_trial_that_goes_on_although_it_was_stopped_is_told_again():
    study = create(ours.PASHAPruner(max_resource=27))
    study.optimize(objective, n_trials=10)
    trial = study.ask()
    trial.suggest_float("x", 0, 1)
    said = []
    for step in range(1, 6):
        trial.report(1e9, step)
        said += [trial.should_prune(), trial.should_prune()]
    assert said == [True] * 10
    marks = [key for key in study.trials[-1].system_attrs if key.startswith(ours.MARK)]
    assert len(marks) == 1


def test_a_trial_may_report_more_often_than_it_asks():
    study = create(ours.ASHAPruner(max_resource=9))
    study.optimize(lambda trial: objective(trial, epochs=9), n_trials=9)
    trial = study.ask()
    for step in range(1, 6):
        trial.report(1e9, step)
    assert trial.should_prune()


def test_a_trial_may_report_beyond_the_maximum():
    study = create(ours.ASHAPruner(max_resource=9))

    def seldom_ask(trial):
        for epoch in range(1, 13):
            trial.report(trial.number + 1 / epoch, epoch)
            if epoch == 1 and trial.should_prune():
                raise optuna.TrialPruned
        return trial.number

    study.optimize(seldom_ask, n_trials=6)
    assert [trial.state for trial in study.trials] == [COMPLETE, *[PRUNED] * 5]


def test_a_trial_that_fails_ranks_last_and_a_repeated_one_is_another():
    study = create(ours.PASHAPruner(max_resource=9))

    def failing(trial):
        objective(trial, epochs=1)
        raise ValueError("no")

    study.optimize(failing, n_trials=1, catch=(ValueError,))
    old = study.trials[0]
    copied = {k: v for k, v in old.system_attrs.items() if k.startswith(ours.MARK)}
    study.add_trial(
        optuna.create_trial(
            state=optuna.trial.TrialState.WAITING,
            params=old.params,
            distributions=old.distributions,
            system_attrs={"failed_trial": 0, **copied},
        )
    )
    study.optimize(lambda trial: objective(trial, epochs=9), n_trials=1)
    study.pruner.ceiling(study)
    (fold,) = study.pruner._folds[study._storage].values()
    assert fold.scheduler.rungs[0].losses.keys() == {0, 1}
    assert study.trials[1].system_attrs[f"{ours.MARK}0"]["trial"] == 1
    assert fold.scheduler.rungs[1].losses[0] == math.inf


def test_diverged_trials_are_stopped():
    study = create(ours.ASHAPruner(max_resource=9))
    trial = study.ask()
    trial.report(math.nan, 1)
    assert trial.should_prune()


# -- the winner ----------------------------------------------------------------------------------


def test_finish_trains_the_winner_in_full():
    study = create(ours.PASHAPruner(max_resource=27))
    study.optimize(objective, n_trials=30)
    winner = ours.best(study)
    assert winner.value == min(
        value for trial in study.trials for value in trial.intermediate_values.values()
    )
    study.enqueue_trial({"x": 0.9})  # somebody's, which comes first
    done = ours.finish(study, objective)
    assert done.state == COMPLETE
    assert done.last_step == 27
    assert done.params == study.trials[winner.trial].params
    assert study.best_trial.number == done.number
    assert ours.best(study).trial == winner.trial  # it does not count itself
    assert ours.finish(study, objective).number == done.number
    assert len(study.trials) == 32


def test_finish_trains_the_best_few_for_importances():
    study = create(ours.PASHAPruner(max_resource=27))
    study.optimize(wavy, n_trials=30)
    ours.finish(study, wavy)
    with pytest.warns(UserWarning, match="number of trials is too small"):
        assert set(importance(study).values()) == {0.5}
    study.enqueue_trial(ours.best(study).config)  # a repetition is no second configuration
    study.optimize(wavy, n_trials=1)
    done = ours.finish(study, wavy, top=3)
    full = [trial for trial in study.trials if ours.RETRAIN in trial.user_attrs]
    assert [trial.state for trial in full] == [COMPLETE] * 3
    assert [trial.last_step for trial in full] == [27] * 3
    configs = [trial.params for trial in full]
    assert configs[0] == done.params == ours.best(study).config
    assert all(configs.count(config) == 1 for config in configs)
    best_values = {
        number: min(study.trials[number].intermediate_values.values())
        for number in range(30)
        if study.trials[number].intermediate_values
    }
    assert {trial.user_attrs[ours.RETRAIN] for trial in full} == set(
        sorted(best_values, key=best_values.get)[:3]
    )
    assert set(importance(study)) == {"x", "bend"}
    ours.finish(study, wavy, top=3)
    assert len(study.trials) == 34, "nothing is trained twice"


def importance(study):
    evaluator = optuna.importance.PedAnovaImportanceEvaluator()
    return optuna.importance.get_param_importances(study, evaluator=evaluator)


def test_finish_says_that_it_failed():
    study = create(ours.PASHAPruner(max_resource=27))
    study.optimize(objective, n_trials=5)

    def broken(trial):
        raise ValueError("out of memory")

    with pytest.raises(rw.RetrainingError, match="ended as FAIL"):
        ours.finish(study, broken, catch=(ValueError,))
    with pytest.raises(rw.InvalidArgumentError, match="trial is 99, but the study has the trials"):
        ours.finish(study, objective, trial=99)
    with pytest.raises(rw.InvalidArgumentError, match="top is 0"):
        ours.finish(study, objective, top=0)
    with pytest.raises(rw.InvalidArgumentError, match="top is 2, but it must be 1 where a trial"):
        ours.finish(study, objective, trial=1, top=2)


def test_without_a_report_there_is_no_best():
    study = create(ours.PASHAPruner())
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=2)
    with pytest.raises(rw.NothingFoundError, match=r"no trial has called trial\.report"):
        ours.best(study)
    with pytest.raises(rw.NothingFoundError):
        ours.finish(study, objective)


# -- arguments -----------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["3.6.1", "2.0"])
def test_a_host_that_is_too_old_is_named(version):
    code = (
        "import importlib.metadata as m; real = m.version\n"
        f"m.version = lambda name: {version!r} if name == 'optuna' else real(name)\n"
        "import rungwise.integrations.optuna"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert f"the version of optuna is '{version}', but" in done.stderr


def test_several_objectives_are_refused():
    study = create_multi()
    trial = study.ask()
    frozen = study.trials[trial.number]
    for call in (
        lambda: study.pruner.prune(study, frozen),
        lambda: study.pruner.why(study),
        lambda: ours.best(study),
        lambda: ours.finish(study, objective),
    ):
        with pytest.raises(rw.InvalidArgumentError, match="rank trials by one metric"):
            call()


def create_multi():
    return optuna.create_study(directions=["minimize", "maximize"], pruner=ours.PASHAPruner())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ours.PASHAPruner(min_resource=0), "min_resource is 0"),
        (lambda: ours.PASHAPruner(eta=1), "eta is 1"),
        (lambda: ours.PASHAPruner(min_resource=9, max_resource=3), "it must not exceed max_resou"),
        (lambda: ours.PASHAPruner(ranking="best"), "ranking is 'best'"),
        (lambda: ours.ASHAPruner(max_resource=None), "ASHA needs a maximum"),
    ],
)
def test_bad_arguments_are_refused(call, message):
    with pytest.raises(rw.InvalidArgumentError, match=message):
        call()


# -- callbacks of libraries ----------------------------------------------------------------------


@pytest.mark.integrations
def test_the_lightgbm_callback_of_optuna_integration():
    import lightgbm as lgb  # noqa: PLC0415 - large
    import numpy as np  # noqa: PLC0415
    from optuna_integration import LightGBMPruningCallback  # noqa: PLC0415

    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 5))
    y = x[:, 0] * x[:, 1] + rng.normal(scale=0.1, size=400)

    def boosted(trial):
        params = {
            "objective": "l2",
            "verbosity": -1,
            "num_threads": 1,
            "learning_rate": trial.suggest_float("learning_rate", 1e-3, 0.5, log=True),
            "num_leaves": trial.suggest_int("num_leaves", 4, 32),
        }
        data = lgb.Dataset(x[:300], y[:300])
        valid = lgb.Dataset(x[300:], y[300:], reference=data)
        callback = LightGBMPruningCallback(trial, "l2")
        model = lgb.train(params, data, 27, valid_sets=[valid], callbacks=[callback])
        return float(np.mean((model.predict(x[300:]) - y[300:]) ** 2))

    study = create(ours.PASHAPruner(max_resource=27))
    study.optimize(boosted, n_trials=20)
    levels = {trial.last_step + 1 for trial in study.trials}  # the callback counts from 0
    assert levels <= {1, 3, 9, 27}
    assert len(levels) > 1
    done = ours.finish(study, boosted)
    assert done.last_step == 26
    assert study.best_trial.number == done.number


@pytest.mark.integrations
@needs_browser
def test_the_pages_of_optuna_dashboard(tmp_path):
    """Its panels say who is best once the winner has been trained in full."""
    from optuna_dashboard import wsgi  # noqa: PLC0415 - large
    from playwright.sync_api import expect, sync_playwright  # noqa: PLC0415

    storage = f"sqlite:///{tmp_path}/a.db"
    study = create(ours.PASHAPruner(max_resource=27), storage=storage)
    study.optimize(wavy, n_trials=20)
    assert study.trials[ours.best(study).trial].state == PRUNED
    assert ours.finish(study, wavy).number == study.best_trial.number
    assert list_importances(storage) == [], "it needs two completed trials"
    ours.finish(study, wavy, top=2)
    best = study.best_trial.number  # of the two
    assert list_importances(storage) == ["bend", "x"]

    class Quiet(WSGIRequestHandler):
        def log_message(self, *_):
            pass

    with make_server("127.0.0.1", 0, wsgi(storage), handler_class=Quiet) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
            page, wrong = browser.new_page(), []
            page.on("pageerror", lambda error: wrong.append(str(error)))
            page.goto(f"http://127.0.0.1:{server.server_port}/dashboard/studies/1")
            expect(page.get_by_text(f"Best Trial (number={best})")).to_be_visible()
            expect(page.get_by_text("Intermediate values")).to_be_visible()
            page.goto(f"http://127.0.0.1:{server.server_port}/dashboard/studies/1/trials")
            expect(page.get_by_text("Pruned").first).to_be_visible()
            browser.close()
        server.shutdown()
    assert not wrong


def list_importances(storage):
    """The parameters in its panel of importances."""
    from optuna_dashboard._importance import (  # noqa: PLC0415
        get_param_importance_from_trials_cache,
    )
    from optuna_dashboard._inmemory_cache import InMemoryCache  # noqa: PLC0415

    held = optuna.storages.get_storage(storage)
    trials = held.get_all_trials(1)
    found = get_param_importance_from_trials_cache(InMemoryCache(), held, 1, 0, trials)
    return sorted(each["name"] for each in found)


def wavy(trial):
    """Rankings change between rungs."""
    x, bend = trial.suggest_float("x", 0, 1), trial.suggest_float("bend", 0.2, 2)
    value = math.nan
    for epoch in range(1, 28):
        value = (x - 0.3) ** 2 + bend / epoch + 0.02 * math.sin(7 * epoch * x)
        trial.report(value, epoch)
        if trial.should_prune():
            raise optuna.TrialPruned
    return value


@pytest.mark.integrations
def test_the_folder_for_optunahub():
    import optunahub  # noqa: PLC0415 - large

    root = Path(__file__).parents[2] / "hub"
    module = optunahub.load_local_module(package="package/pruners/pasha", registry_root=str(root))
    assert module.PASHAPruner is ours.PASHAPruner
    folder = root / "package" / "pruners" / "pasha"
    wanted = {"README.md", "LICENSE", "__init__.py", "_pruner.py", "example.py", "requirements.txt"}
    assert {path.name for path in folder.iterdir() if path.name != "__pycache__"} == wanted
    text = (folder / "README.md").read_text(encoding="utf-8")
    front = yaml.safe_load(text.split("---")[1])
    assert set(front) == {
        *("author", "title", "description", "tags", "optuna_versions", "license"),
    }
    assert "pruner" in front["tags"]
    for section in ("Abstract", "Class or Function Names", "Installation", "Example"):
        assert f"\n## {section}\n" in text
    names = re.findall(r"^- (\w+)$", text, re.MULTILINE)
    assert sorted(names) == sorted(module.__all__)
