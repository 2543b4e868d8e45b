"""Whatever is wrong with a call of tune() is said before there is a file."""

import json
import threading
from dataclasses import dataclass

import numpy as np
import pytest

import rungwise as rw
from rungwise.display.quiet import QuietDisplay
from rungwise.errors import InvalidArgumentError, StoreUnavailableError
from rungwise.options.build import StudyRequest, build_study
from rungwise.options.study_options import RunOptions

SPACE = {"x": rw.Float(0, 1)}


def train(config, run):
    raise AssertionError("nothing is to be trained here")


LOCK = threading.Lock()


def needs_a_lock(lock):
    def train(config, run):
        with lock:
            run.report(1, loss=1)

    return train


WRONG = {
    "metric that is no name": ({"metric": "my loss"}, "metric", "run.report can be given"),
    "metric that is no text": ({"metric": 5}, "metric", "run.report can be given"),
    "empty metric": ({"metric": ""}, "metric", "run.report can be given"),
    "goal in words": ({"goal": "minimize"}, "goal", "did you mean 'min'"),
    "no goal": ({"goal": None, "metric": "speed"}, "goal", "minimised"),
    "space of nothing": ({"space": 5}, "", ""),
    "space without options": ({"space": {"x": []}}, "", "x"),
    "no train": ({"train": None}, "train", "a function train"),
    "train of one argument": ({"train": lambda config: 0}, "train", "two arguments"),
    "train that cannot travel": ({"train": needs_a_lock(LOCK)}, "train", "worker process"),
    "no workers": ({"workers": 0}, "workers", "at least 1"),
    "half a worker": ({"workers": 1.5}, "workers", "whole number"),
    "workers in words": ({"workers": "many"}, "workers", "'auto'"),
    "retries below 0": ({"retries": -1}, "retries", "at least 0"),
    "retries by halves": ({"retries": 0.5}, "retries", "whole number"),
    "trial_timeout of 0": ({"trial_timeout": 0}, "trial_timeout", "above 0"),
    "trial_timeout in words": ({"trial_timeout": "1h"}, "trial_timeout", "finite number"),
    "report_timeout below 0": ({"report_timeout": -1}, "report_timeout", "above 0"),
    "report_timeout of NaN": ({"report_timeout": float("nan")}, "report_timeout", "finite"),
    "quota in words": ({"checkpoint_quota": "much"}, "checkpoint_quota", "'20GB'"),
    "quota below 0": ({"checkpoint_quota": -5}, "checkpoint_quota", "'20GB'"),
    "keep below 0": ({"keep": -1}, "keep", "or 'all'"),
    "keep in words": ({"keep": "some"}, "keep", "or 'all'"),
    "durability": ({"durability": "none"}, "durability", "'normal' or 'full'"),
    "study in no folder": (
        {"study": "nowhere/s.db"},
        "study",
        "the folder nowhere does not exist: create it",
    ),
    "study that is a folder": ({"study": "."}, "study", "name of a file"),
    "study without a name": ({"study": ""}, "study", "name of a file"),
    "study that is a number": ({"study": 5}, "study", "name of a file"),
    "study of bytes": ({"study": b"s.db"}, "study", "name of a file"),
    "scheduler that is a class": ({"scheduler": rw.PASHA}, "scheduler", "a recipe such as"),
    "scheduler of no such name": ({"scheduler": "ashas"}, "scheduler", "did you mean 'asha'?"),
    "ASHA without an end": (
        {"scheduler": rw.ASHA(), "max_resource": None},
        "max_resource",
        "ASHA needs a maximum",
    ),
    "random search without an end": (
        {"scheduler": rw.RandomSearch(), "max_resource": None},
        "max_resource",
        "RandomSearch needs a maximum",
    ),
    "two maxima": ({"scheduler": rw.ASHA(max_resource=27)}, "max_resource", "has max_resource=27"),
    "two resources": ({"scheduler": rw.FixedResource(3)}, "max_resource", "has max_resource=3"),
    "max_resource of 0": ({"max_resource": 0}, "max_resource", "at least 1"),
    "max_resource by halves": ({"max_resource": 1.5}, "max_resource", "whole number"),
    "halving without trials": (
        {"scheduler": rw.SuccessiveHalving(), "trials": None, "seconds": 5},
        "size",
        "give size, or trials",
    ),
    "searcher that is a class": (
        {"searcher": rw.searchers.RandomSearcher},
        "searcher",
        "a searcher",
    ),
    "searcher of no such name": ({"searcher": "tpee"}, "searcher", "did you mean 'tpe'?"),
    "searcher without an option": ({"searcher": "random:3"}, "searcher", "has no options"),
    "backend that is a class": ({"backend": rw.Local, "workers": None}, "backend", "or one of"),
    "backend of no such name": (
        {"backend": "thread", "workers": None},
        "backend",
        "did you mean 'threads'? its name must be one of local, ray, threads",
    ),
    "backend with a wrong option": (
        {"backend": "local:workers=0", "workers": None},
        "workers of backend",
        "at least 1",
    ),
    "backend and its short form": (
        {"backend": rw.Local(2)},
        "workers",
        "give it to the backend: backend=Local(workers=1, …)",
    ),
    "backend by name and a short form that it lacks": (
        {"backend": "threads", "preload": ["json"]},
        "preload",
        "the backend Threads has no such option; its options are workers",
    ),
    "backend with a short form twice": (
        {"backend": "local:workers=2"},
        "workers",
        "it must be given once, here or for the backend",
    ),
    "grace below 0": ({"grace": -1}, "grace", "at least 0"),
    "grace of ages": ({"grace": 1e30}, "grace", "at most 1e+09"),
    "report_timeout of ages": ({"report_timeout": 1e30}, "report_timeout", "at most 1e+09"),
    "trials without number": ({"trials": 10**400}, "trials", "at most 2²⁵⁶"),
    "a quota without number": ({"checkpoint_quota": "9" * 400}, "checkpoint_quota", "20GB"),
    "checkpoints with a NUL": ({"checkpoints": "a\0b"}, "checkpoints", "name of a folder"),
    "checkpoints in half letters": ({"checkpoints": "\ud800"}, "checkpoints", "name of a folder"),
    "checkpoints of a long name": ({"checkpoints": "a" * 5000}, "", "too long"),
    "transfer of a long name": ({"transfer": "a" * 5000}, "transfer", "no file has that name"),
    "transfer in half letters": ({"transfer": "\ud800"}, "transfer", "no file has that name"),
    "study of a long name": ({"study": "a" * 5000}, "study", "no file has that name"),
    "study in half letters": ({"study": "\ud800"}, "study", "no file has that name"),
    "study with a NUL": ({"study": "a\0b"}, "study", "no file has that name"),
    "checkpoints in no folder": ({"checkpoints": ""}, "checkpoints", "name of a folder"),
    "checkpoints that are a number": ({"checkpoints": 5}, "checkpoints", "name of a folder"),
    "no trials": ({"trials": 0}, "trials", "at least 1"),
    "trials in words": ({"trials": "all"}, "trials", "whole number"),
    "finish": ({"finish": "now"}, "finish", "'drain' or 'paper'"),
    "paper finish without trials": (
        {"finish": "paper", "trials": None, "seconds": 5},
        "finish",
        "number of trials",
    ),
    "seconds below 0": ({"seconds": -1}, "seconds", "at least 0"),
    "resource_budget in words": ({"resource_budget": "1"}, "resource_budget", "finite number"),
    "target of NaN": ({"target": float("nan")}, "target", "finite number"),
    "seed below 0": ({"seed": -1}, "seed", "at least 0"),
    "seed by halves": ({"seed": 0.5}, "seed", "whole number"),
    "initial that is one": ({"initial": {"x": 0.5}}, "initial", "a list of configurations"),
    "initial that is a number": ({"initial": 5}, "initial", "a list of configurations"),
    "initial outside the space": ({"initial": [{"x": 7}]}, "", "x"),
    "initial of other names": ({"initial": [{"y": 0.5}]}, "", "y"),
    "GPUs that are not there": ({"gpus_per_worker": 99}, "gpus_per_worker", "found:"),
    "GPUs below 0": ({"gpus_per_worker": -1}, "gpus_per_worker", "at least 0"),
    "preload that is one text": ({"preload": "json"}, "preload", "list of module names"),
    "preload of numbers": ({"preload": [5]}, "preload", "list of module names"),
    "preload that is a number": ({"preload": 5}, "preload", "list of module names"),
    "show": ({"show": "loud"}, "show", "auto, json, lines, live, notebook, quiet"),
    "show that is a number": ({"show": 5}, "show", "auto, json, lines, live, notebook, quiet"),
    "show that is a class": ({"show": QuietDisplay}, "show", "or a display"),
    "on_report": ({"on_report": 5}, "on_report", "a function"),
    "on_end": ({"on_end": "print"}, "on_end", "a function"),
}


@pytest.mark.parametrize("changes", WRONG.values(), ids=WRONG)
def test_wrong_arguments_are_named_before_there_is_a_file(changes, tmp_path, monkeypatch):
    changes, argument, rule = changes
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    arguments = {
        "train": train,
        "space": SPACE,
        "metric": "loss",
        "goal": "min",
        "max_resource": 9,
        "trials": 3,
        "workers": 1,
        "study": "s.db",
        "show": "quiet",
        **changes,
    }
    with pytest.raises((InvalidArgumentError, StoreUnavailableError)) as refused:
        rw.tune(arguments.pop("train"), arguments.pop("space"), **arguments)
    assert argument in ("", getattr(refused.value, "argument", None))
    assert rule in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_metric_must_be_given_and_goal_unless_the_metric_is_well_known():
    with pytest.raises(TypeError, match="metric"):
        rw.tune(train, SPACE, goal="min")
    with pytest.raises(InvalidArgumentError, match="goal is missing"):
        rw.tune(train, SPACE, metric="speed")


@pytest.mark.parametrize("study", ["none.db", ".", "nowhere/none.db"])
@pytest.mark.parametrize("call", [rw.resume, rw.load])
def test_there_must_be_a_file_to_go_on_with(tmp_path, monkeypatch, call, study):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(rw.RungwiseError):
        call(study)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("call", [rw.resume, rw.load])
def test_files_of_somebody_elses_are_left_alone(tmp_path, call):
    path = tmp_path / "notes.txt"
    path.write_text("not a study, but somebody's diary, and quite long enough to be mistaken")
    before = path.read_bytes()
    with pytest.raises(rw.CorruptLogError, match=r"notes\.txt"):
        call(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


# -- defaults and plain numbers ----------------------------------------------------------------


def asked(**changes):
    built = build_study(StudyRequest.take(SPACE, {"metric": "accuracy", **changes}))
    return built.study, built.open_ended


def test_the_default_scheduler_follows_from_whether_the_maximum_is_known():
    study, open_ended = asked(max_resource=200)
    assert study.scheduler == rw.AdaptiveHalving(max_resource=200, eta=3)
    assert study.scheduler == rw.default_scheduler(max_resource=200)
    assert rw.default_scheduler() == rw.PASHA(eta=3, ranking=rw.rankings.Noise(90))
    assert (study.limits.trials, study.limits.finish, study.goal) == (256, "drain", "max")
    assert isinstance(study.searcher, rw.searchers.RandomSearcher)
    assert not open_ended


def test_without_a_maximum_pasha_alone_has_a_safety_net():
    study, open_ended = asked()
    assert (study.scheduler.max_resource, open_ended) == (3**10, True)
    study, open_ended = asked(scheduler=rw.PASHA(min_resource=5, eta=2))
    assert (study.scheduler.max_resource, open_ended) == (5 * 2**10, True)
    assert asked(scheduler=rw.FixedResource(2))[1] is False


@pytest.mark.parametrize(
    ("limits", "trials"),
    [({"seconds": 5}, None), ({"resource_budget": 5}, None), ({"target": 0.5}, 256), ({}, 256)],
)
def test_trials_are_limited_where_nothing_else_is_sure_to_end(limits, trials):
    assert asked(**limits)[0].limits.trials == trials


def test_the_scheduler_may_have_the_maximum_or_the_call_or_both():
    given = rw.ASHA(max_resource=27)
    found = {
        asked(scheduler=given)[0].scheduler,
        asked(scheduler=given, max_resource=27)[0].scheduler,
        asked(scheduler=rw.ASHA(), max_resource=27)[0].scheduler,
    }
    assert found == {given}


def test_options_of_any_kind_of_number_can_be_written():
    options = RunOptions(
        backend=rw.Local(np.int64(2), np.float32(0.5), preload=["json"]),
        retries=np.int8(3),
        trial_timeout=np.float32(5),
        report_timeout=np.int32(7),
        checkpoint_quota=np.int64(10),
        keep=np.uint8(2),
        grace=np.float32(2),
    )
    again = RunOptions.read(json.loads(json.dumps(options.to_json())), {})
    assert again == options
    assert (again.backend.workers, again.keep, again.trial_timeout) == (2, 2, 5.0)


def test_options_that_a_later_version_has_written_are_passed_over():
    written = {"backend": {"type": "Local", "workers": 3, "colour": "blue"}, "colour": "blue"}
    found = RunOptions.read(written, {"retries": 0})
    assert found == RunOptions(backend=rw.Local(3), retries=0)
    with pytest.raises(InvalidArgumentError, match=r"colour.*only how a study is run"):
        RunOptions.read({}, {"colour": "blue"})


def test_options_of_version_0_1_0_are_read():
    flat = {"workers": 3, "gpus_per_worker": None, "preload": ["json"], "retries": 2}
    assert RunOptions.read(flat, {}) == RunOptions(
        backend=rw.Local(3, preload=("json",)), retries=2
    )
    assert RunOptions.read(flat, {"workers": 4}).backend == rw.Local(4, preload=("json",))


def test_a_study_that_is_resumed_changes_its_backend_or_a_field_of_it():
    kept = RunOptions(backend=rw.Local(3, preload=("json",))).to_json()
    assert RunOptions.read(kept, {"workers": 2}).backend == rw.Local(2, preload=("json",))
    assert RunOptions.read(kept, {"backend": "threads"}).backend == rw.Threads()
    assert RunOptions.read(kept, {"backend": rw.Threads(2)}).backend == rw.Threads(2)
    assert RunOptions.read(kept, {"backend": "threads", "workers": 2}).backend == rw.Threads(2)
    with pytest.raises(InvalidArgumentError, match="give it to the backend"):
        RunOptions.read(kept, {"backend": rw.Threads(), "workers": 2})
    threads = RunOptions(backend=rw.Threads(2)).to_json()
    assert RunOptions.read(threads, {"workers": 5}).backend == rw.Threads(5)
    with pytest.raises(
        InvalidArgumentError, match="the backend Threads has no such option; its options are"
    ):
        RunOptions.read(threads, {"preload": ["json"]})


def test_a_backend_that_is_not_known_must_be_replaced_or_shown():
    written = {"backend": {"type": "Cluster", "workers": 3}}
    with pytest.raises(InvalidArgumentError, match=r"backend is 'Cluster'.*give backend="):
        RunOptions.read(written, {})
    assert RunOptions.read(written, {"backend": rw.Local(1)}).backend == rw.Local(1)

    @dataclass(frozen=True)
    class Cluster:
        workers: int = 1

        def prepare(self, train):
            raise NotImplementedError

        def single(self):
            raise NotImplementedError

    assert RunOptions.read(written, {}, [Cluster]).backend == Cluster(3)


def test_what_the_file_has_fixed_cannot_be_changed():
    with pytest.raises(InvalidArgumentError, match=r"durability.*only how a study is run"):
        RunOptions.read({}, {"durability": "full"})


def test_names_are_accepted_where_values_are():
    study, _ = asked(scheduler="halving:eta=4", searcher="sobol:1", max_resource=9)
    assert study.scheduler == rw.SuccessiveHalving(eta=4, max_resource=9)
    assert study.searcher == rw.searchers.Sobol(1)
    assert RunOptions(backend="local:workers=2,gpus_per_worker=0.5").backend == rw.Local(2, 0.5)
