"""The backend of a study: kept, changed, unknown, and of one's own."""

from dataclasses import dataclass
from types import SimpleNamespace

import pytest

import rungwise as rw
from rungwise.backends.base import PreparedBackend, Workplace
from rungwise.errors import InvalidArgumentError, WorkerStartError

SPACE = {"x": rw.Float(0, 1)}
ASKED = {"metric": "loss", "goal": "min", "max_resource": 3, "trials": 2, "show": "quiet"}


def train(config, run):
    for resource in run.resources():
        run.report(resource, loss=config["x"] / resource)


def stop_early(report):
    raise KeyboardInterrupt


@dataclass(frozen=True)
class Own:
    """The least that a backend must be: two methods, and fields that can be kept."""

    label: str = "mine"

    def prepare(self, train):
        def open_threads(place: Workplace):
            return rw.Threads(1).prepare(train).open(place)

        return PreparedBackend(1, open_threads)

    def single(self):
        return self


# -- kept and changed --------------------------------------------------------------------------


def test_a_second_call_on_another_backend_is_kept(tmp_path):
    study = tmp_path / "s.db"
    broken = rw.Local(2, preload=["a_module_that_is_not_there"])
    with pytest.raises(WorkerStartError):
        rw.tune(train, SPACE, **ASKED, study=study, backend=broken)
    rw.tune(train, SPACE, **ASKED, study=study, backend=rw.Threads(1))
    found = rw.load(study)
    assert found._options.backend == rw.Threads(1)
    assert found._workers == 1
    assert found.retrain(train, fresh=True).resource == 3


def test_what_a_resume_changes_is_kept(tmp_path):
    study = tmp_path / "s.db"
    with pytest.raises(rw.StudyInterrupted):
        rw.tune(train, SPACE, **ASKED, study=study, backend=rw.Threads(1), on_report=stop_early)
    rw.resume(study, train, backend=rw.Threads(2), retries=4, show="quiet")
    options = rw.load(study)._options
    assert (options.backend, options.retries) == (rw.Threads(2), 4)
    rw.resume(study, train, workers=1, show="quiet")
    assert rw.load(study)._options.backend == rw.Threads(1)


def test_a_resume_that_changes_nothing_writes_nothing(tmp_path):
    study = tmp_path / "s.db"
    rw.tune(train, SPACE, **ASKED, study=study, backend=rw.Threads(1))
    before = study.read_bytes()
    rw.resume(study, train, workers=None, preload=None, show="quiet")
    assert study.read_bytes() == before


def test_retraining_may_take_another_backend(tmp_path):
    result = rw.tune(train, SPACE, **ASKED, study=tmp_path / "s.db", backend=Own())
    assert result.retrain(train, backend="threads", fresh=True).resource == 3
    with pytest.raises(InvalidArgumentError, match=r"backend is 'thread'.*did you mean 'threads'"):
        result.retrain(train, backend="thread")


# -- one's own ---------------------------------------------------------------------------------


def test_two_methods_and_fields_are_enough(tmp_path):
    study = tmp_path / "s.db"
    result = rw.tune(train, SPACE, **ASKED, study=study, backend=Own("here"))
    assert result.trials == 2
    assert rw.load(study, types=[Own])._options.backend == Own("here")
    assert rw.resume(study, train, types=[Own], show="quiet").trials == 2


def test_a_backend_that_is_not_known_is_only_needed_for_training(tmp_path):
    study = tmp_path / "s.db"
    rw.tune(train, SPACE, **ASKED, study=study, backend=Own())
    found = rw.load(study)
    assert found.best.value > 0
    with pytest.raises(InvalidArgumentError, match=r"backend is 'Own', but .* give backend="):
        found.retrain(train, fresh=True)
    assert found.retrain(train, backend=rw.Threads(1), fresh=True).resource == 3
    with pytest.raises(InvalidArgumentError, match="backend is 'Own'"):
        rw.resume(study, train)


class NoDataclass:
    def prepare(self, train):
        raise AssertionError

    single = prepare


@pytest.mark.parametrize(
    ("backend", "rule"),
    [
        (SimpleNamespace(workers=2), "methods prepare\\(train\\) and single\\(\\)"),
        (NoDataclass(), "NoDataclass must be a dataclass"),
        (rw.Local, "such as rungwise.Local"),
    ],
)
def test_what_is_no_backend_is_refused(backend, rule):
    with pytest.raises(InvalidArgumentError, match=rule):
        rw.tune(train, SPACE, **ASKED, backend=backend)


# -- words -------------------------------------------------------------------------------------


def test_a_criterion_may_be_given_by_its_name():
    assert rw.PASHA(ranking="soft:0.02") == rw.PASHA(ranking=rw.rankings.Soft(0.02))
    asked = {**ASKED, "scheduler": "pasha:ranking=soft:0.02,max_resource=3"}
    del asked["max_resource"]
    result = rw.tune(train, SPACE, **asked, backend="threads")
    assert result.view.recipe.ranking == rw.rankings.Soft(0.02)
    with pytest.raises(InvalidArgumentError, match=r"ranking is 'sfot'.*did you mean 'soft'"):
        rw.PASHA(ranking="sfot")
