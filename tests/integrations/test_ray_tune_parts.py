"""What can be said of the adapter of Ray Tune without starting Ray."""

import os
import pickle
import sys
from types import SimpleNamespace

import pytest
from extras import needs

import rungwise as rw
from rungwise.core.events import JobLost
from rungwise.errors import InvalidArgumentError, MissingExtraError
from rungwise.integrations.ray_trials import TrialIds
from rungwise.storage.study_file import StudyFile


def test_without_ray_tune_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray.tune.experiment", None)
    monkeypatch.setitem(sys.modules, "ray.tune", None)
    monkeypatch.delitem(sys.modules, "rungwise.integrations.ray_tune", raising=False)
    with pytest.raises(MissingExtraError, match=r"rungwise\[ray-tune\]"):
        __import__("rungwise.integrations.ray_tune")


@pytest.fixture
def tune():
    return needs("ray-tune", "ray.tune")


@pytest.fixture
def make(tune, tmp_path):
    """Makes a study of Ray Tune, two trials at a time."""
    adapter = needs("ray-tune", "rungwise.integrations.ray_tune")
    made = []

    def build(path=tmp_path / "s.db", space=None, **changes):
        arguments = {"metric": "loss", "mode": "min", "workers": 2, "time_attr": "epoch"}
        more = {"max_resource": 9, "trials": 6, "scheduler": "asha"}
        domains = {"x": rw.Float(0, 1)} if space is None else space
        study = adapter.TuneStudy(path, domains, **{**arguments, **more, **changes})
        made.append(study)
        return study

    yield build
    for study in made:
        study.close()


# -- spaces --------------------------------------------------------------------------------------


def test_spaces_of_ray_are_understood(tune, make):
    study = make(
        space={
            "a": tune.uniform(0, 1),
            "b": tune.loguniform(1e-4, 1),
            "c": tune.quniform(0, 0.5, 0.1),
            "d": tune.randint(1, 10),
            "e": tune.lograndint(1, 10),
            "f": tune.qrandint(16, 128, 16),
            "g": tune.choice(["x", "y"]),
            "h": rw.Int(1, 3),
            "i": "constant",
            "j": {"k": 1},
        }
    )
    assert study.space == {
        "a": rw.Float(0, 1),
        "b": rw.Float(1e-4, 1, log=True),
        "c": rw.Float(0, 0.5, step=0.1),
        "d": rw.Int(1, 9),
        "e": rw.Int(1, 9, log=True),
        "f": rw.Int(16, 128, step=16),
        "g": ["x", "y"],
        "h": rw.Int(1, 3),
    }
    assert study.constants == {"i": "constant", "j": {"k": 1}}


@pytest.mark.parametrize(
    ("write", "rule"),
    [
        (lambda tune: tune.randn(), r"space\['x'\] is .*only uniform, loguniform"),
        (lambda tune: tune.sample_from(lambda _: 1), "only uniform, loguniform"),
        (lambda tune: tune.grid_search([1, 2]), "searcher='grid'"),
        (lambda tune: {"y": tune.uniform(0, 1)}, "nested spaces"),
    ],
)
def test_what_has_no_counterpart_is_refused_by_its_name(tune, make, write, rule):
    with pytest.raises(InvalidArgumentError, match=rule):
        make(space={"x": write(tune)})


# -- what is wrong -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"path": None}, "the path of a file"),
        ({"mode": "best"}, "'min' or 'max'"),
        ({"workers": 0}, "workers is 0"),
        ({"max_t": 9}, "options is 'max_t', but it must be one of .*max_resource"),
        ({"retries": 3}, "options is 'retries'"),
    ],
)
def test_wrong_arguments_are_refused_when_they_are_given(make, changes, rule):
    with pytest.raises(InvalidArgumentError, match=rule):
        make(**changes)


def begin(study, metric="loss", mode="min", **spec):
    """As Ray does it, before it starts anything."""
    return study.scheduler.set_search_properties(metric, mode, **spec)


def test_what_ray_was_given_must_agree(tune, make, tmp_path):
    study = make()
    with pytest.raises(InvalidArgumentError, match=r"max_concurrent_trials is 4.*workers="):
        study.searcher.set_max_concurrency(4)
    with pytest.raises(InvalidArgumentError, match=r"num_samples is 1, .* -1 in TuneConfig"):
        begin(study, num_samples=1)
    with pytest.raises(InvalidArgumentError, match=r"metric is 'accuracy'.*given 'loss'"):
        begin(study, metric="accuracy")
    with pytest.raises(InvalidArgumentError, match="mode is 'max'"):
        begin(study, mode="max")
    with pytest.raises(InvalidArgumentError, match="param_space"):
        study.searcher.set_search_properties("loss", "min", {"x": tune.uniform(0, 1)})
    assert study.searcher.set_search_properties("loss", "min", {"batch": 16})
    with pytest.raises(InvalidArgumentError, match="scheduler of the same TuneStudy"):
        study.searcher.suggest("a")
    assert not (tmp_path / "s.db").exists()
    assert begin(study, num_samples=sys.maxsize)


# -- the two parts, as Ray calls them ------------------------------------------------------------


class FakeTrial:
    """A trial of Ray, as far as the adapter looks at it."""

    def __init__(self, ray_id, config, status="PENDING"):
        self.trial_id, self.config, self.status, self.epoch = ray_id, config, status, 0

    def set_status(self, status):
        self.status = status

    def get_error(self):
        return ValueError("it has burnt down")


class FakeRay:
    """Ray Tune's loop for one study, step by step."""

    def __init__(self, study, trials=()):
        self.study, self.trials = study, []
        self.search_alg = SimpleNamespace(total_samples=sys.maxsize)
        begin(study, num_samples=-1)
        for trial in trials:
            self.add(trial)

    def add(self, trial):
        self.trials.append(trial)
        self.study.scheduler.on_trial_add(self, trial)

    def get_live_trials(self):
        return [each for each in self.trials if each.status not in ("TERMINATED", "ERROR")]

    def stop_trial(self, trial):
        assert trial.status in ("PENDING", "PAUSED")
        self.study.scheduler.on_trial_remove(self, trial)
        trial.status = "TERMINATED"

    def ask(self):
        """Ask the searcher, and start what it proposes."""
        ray_id = f"t{len(self.trials)}"
        found = self.study.searcher.suggest(ray_id)
        if isinstance(found, dict):
            self.add(FakeTrial(ray_id, found))
            self.trials[-1].status = "RUNNING"
        return found

    def choose(self):
        return self.study.scheduler.choose_trial_to_run(self)

    def report(self, trial, epoch=None, **more):
        trial.epoch = trial.epoch + 1 if epoch is None else epoch
        result = {"epoch": trial.epoch, "loss": trial.config["x"] + 1 / trial.epoch, **more}
        return self.study.scheduler.on_trial_result(self, trial, result)

    def run(self):
        """To the end; every trial is paused at once."""
        for _ in range(1000):
            found = self.ask()
            trial = self.choose()
            if trial is not None:
                trial.status = "RUNNING"
            if found == "FINISHED" and not self.get_live_trials():
                return
            for each in self.trials:
                if each.status == "RUNNING":
                    self.act(each, self.report(each))
        raise AssertionError("it does not end")

    def act(self, trial, decision):
        if decision == "PAUSE":
            trial.status = "PAUSED"
        elif decision == "STOP":
            self.study.scheduler.on_trial_complete(self, trial, {})
            trial.status = "TERMINATED"


def test_a_whole_study_ends_and_closes_its_file(make):
    study = make()
    ray = FakeRay(study)
    ray.run()
    assert len(ray.trials) == 6
    assert study.result.ended
    assert rw.load(study.path).reports == study.result.reports
    assert "Done: 6 configurations compared" in study.scheduler.debug_string()


def test_no_more_trials_are_drawn_than_there_are_workers(make):
    ray = FakeRay(make())
    assert isinstance(ray.ask(), dict)
    assert isinstance(ray.ask(), dict)
    assert ray.ask() is None


def test_a_trial_is_promoted_only_after_ray_has_paused_it(make):
    """The promotion of one that still runs would be lost."""
    study = make(workers=1)
    ray = FakeRay(study)
    for _ in range(3):
        ray.ask()
        assert ray.report(ray.trials[-1]) == "PAUSE"
        assert ray.ask() is None  # it still saves its checkpoint
        assert ray.choose() is None
        ray.trials[-1].status = "PAUSED"
    assert ray.ask() is None  # a promotion comes before the next draw
    best = min(ray.trials, key=lambda trial: trial.config["x"])
    assert ray.choose() is best
    best.status = "PENDING"
    assert ray.choose() is best  # the same until it runs
    best.status = "RUNNING"
    assert ray.choose() is None
    assert ray.report(best, 1) == "CONTINUE"  # trained again: its checkpoint was not there
    assert [ray.report(best, epoch) for epoch in (2, 3)] == ["CONTINUE", "PAUSE"]
    assert study.result.engine.trials[ray.trials.index(best)].resource == 3


def test_what_is_trained_again_without_a_checkpoint_is_not_counted_again(make):
    study = make(scheduler=rw.ASHA(max_resource=9, min_resource=3), workers=1, max_resource=None)
    ray = FakeRay(study)
    for _ in range(3):
        ray.ask()
        assert [ray.report(ray.trials[-1]) for _ in range(3)] == ["CONTINUE", "CONTINUE", "PAUSE"]
        ray.trials[-1].status = "PAUSED"
    ray.ask()
    best = ray.choose()
    best.status = "RUNNING"
    decisions = [ray.report(best, epoch) for epoch in range(1, 10)]
    assert decisions == ["CONTINUE"] * 8 + ["STOP"]
    assert study.result.reports == 15


def test_reports_after_the_decision_change_nothing(make):
    ray = FakeRay(make())
    ray.ask()
    (trial,) = ray.trials
    assert ray.report(trial) == "PAUSE"
    assert ray.report(trial) == "PAUSE"
    assert ray.study.result.reports == 1


def test_a_trial_that_ray_tries_again_keeps_its_job_and_one_that_it_gives_up_has_failed(make):
    study = make(scheduler=rw.ASHA(max_resource=9, min_resource=3), max_resource=None)
    ray = FakeRay(study)
    ray.ask()
    ray.ask()
    again, lost = ray.trials
    assert [ray.report(again) for _ in range(2)] == ["CONTINUE", "CONTINUE"]
    again.status = "ERROR"  # what Ray shows when it queues a trial again
    study.scheduler.on_trial_error(ray, again)
    again.status = "PENDING"
    study.scheduler.on_trial_add(ray, again)
    assert again.status == "PENDING"  # Ray starts it by itself
    study.scheduler.on_trial_error(ray, lost)
    lost.status = "ERROR"
    (failure,) = study.result.failures
    assert (failure.trial, failure.reason) == (1, "ValueError: it has burnt down")
    decisions = [ray.report(again, epoch) for epoch in (1, 2, 3)]  # it had no checkpoint
    assert decisions == ["CONTINUE", "CONTINUE", "PAUSE"]


def test_a_trial_that_ends_by_itself_is_trained_no_further(make):
    study = make()
    ray = FakeRay(study)
    ray.ask()
    (trial,) = ray.trials
    trial.epoch = 1
    study.scheduler.on_trial_complete(ray, trial, {"epoch": 1, "loss": 0.0, "done": True})
    trial.status = "TERMINATED"
    assert study.result.reports == 1
    ray.run()
    assert study.result.ended
    assert study.result.engine.trials[0].resource == 1


def test_a_report_without_what_is_needed_is_refused_by_its_name(make):
    ray = FakeRay(make())
    ray.ask()
    (trial,) = ray.trials
    for argument, result in (("time_attr", {"loss": 1}), ("metric", {"epoch": 1})):
        with pytest.raises(InvalidArgumentError, match=f"{argument} is .*they report"):
            ray.study.scheduler.on_trial_result(ray, trial, result)


def test_a_study_that_exists_already_must_be_given_all_samples_too(make):
    FakeRay(make()).ask()
    ray = FakeRay(make())
    ray.search_alg.total_samples = 1
    with pytest.raises(InvalidArgumentError, match=r"num_samples is 1, .* -1 in TuneConfig"):
        ray.choose()


def test_a_searcher_of_another_study_is_refused(make, tmp_path):
    ray = FakeRay(make())
    with pytest.raises(InvalidArgumentError, match="searcher of the same TuneStudy"):
        ray.add(FakeTrial("unknown", {"x": 0}))


# -- restored ------------------------------------------------------------------------------------


def restore(study, trials):
    """Another process: Ray has kept the two parts, and its trials, all of which it would start."""
    parts = pickle.loads(pickle.dumps((study.searcher, study.scheduler)))  # noqa: S301
    assert parts[0].study is parts[1].study
    for trial in trials:
        if trial.status in ("RUNNING", "PAUSED"):
            trial.status = "PENDING"
    return FakeRay(parts[1].study, trials)


def test_a_line_of_ids_that_was_cut_off_spoils_no_other(tmp_path):
    ids = TrialIds(tmp_path)
    ids.add("a", 0)
    ids.add("b", 1)
    path = tmp_path / "ray-trials.jsonl"
    os.truncate(path, path.stat().st_size - 4)
    TrialIds(tmp_path).add("c", 2)
    again = TrialIds(tmp_path)
    assert [again.find_number(each) for each in "abc"] == [0, None, 2]


def test_a_study_is_restored_with_its_rungs(make):
    """Paused trials wait, what ran is lost and issued again, and nothing that was said is lost."""
    study = make(trials=9)
    ray = FakeRay(study)
    for _ in range(3):
        ray.ask()
        ray.act(ray.trials[-1], ray.report(ray.trials[-1]))
    ray.ask()
    ray.ask()
    before = study.result.reports
    again = restore(study, ray.trials)
    assert {trial.status for trial in again.trials} == {"PAUSED"}
    again.run()
    with StudyFile(again.study.path, mode="read") as file:
        events = [event for event, _ in file.read_from()]
    assert sum(isinstance(event, JobLost) for event in events) == 2
    result = rw.load(again.study.path)
    assert result.ended
    assert result.reports > before
    assert len(again.trials) == 9  # none was drawn twice
    assert {trial.config["x"] for trial in again.trials} == {
        trial.config["x"] for trial in result.engine.trials
    }


def test_trials_that_ray_has_lost_are_given_to_it_again(make):
    study = make()
    ray = FakeRay(study)
    ray.ask()
    ray.ask()
    kept, lost = ray.trials
    again = restore(study, [kept])
    again.run()
    assert lost.config in [trial.config for trial in again.trials]
    assert len(again.trials) == 6
    assert again.study.result.ended


def test_a_study_in_the_same_process_takes_the_file_over(make):
    """Of a Tuner that was interrupted, whose study is still open."""
    first = FakeRay(make())
    first.ask()
    second = FakeRay(make())
    second.run()
    assert second.study.result.ended
    assert first.study.result.trials == 1
