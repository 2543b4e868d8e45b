"""Study files that version 0.2.0 wrote: they open, replay and resume, and decide as they did."""

import json
import shutil
import sys
from pathlib import Path

import pytest

import rungwise as rw
from rungwise.storage.study_file import StudyFile
from rungwise.tuning import trust
from rungwise.tuning.verification import verify_study

PLACE = Path(__file__).parents[1] / "data" / "studies_0_2_0"
EXPECTED = json.loads((PLACE / "expected.json").read_text())
NAMES = [name for name in EXPECTED if "," not in name]
UNFINISHED = [name for name in NAMES if f"{name}, resumed" in EXPECTED]

sys.path.insert(0, str(PLACE))
from describing import describe  # noqa: E402
from training_0_2_0 import measure, train  # noqa: E402

sys.path.remove(str(PLACE))


@pytest.fixture
def old(tmp_path, monkeypatch):
    """A copy of one of the files, with its checkpoints; its key and its module are there."""
    monkeypatch.setenv("XDG_STATE_HOME", str(PLACE / "state"))
    monkeypatch.syspath_prepend(str(PLACE))

    def copy(name):
        for found in PLACE.glob(f"{name}.db*"):
            take = shutil.copytree if found.is_dir() else shutil.copy
            take(found, tmp_path / found.name)
        return tmp_path / f"{name}.db"

    return copy


def ask(path):
    """The loop of the ask/tell study."""
    space = rw.load(path).engine.study.space
    limits = {"max_resource": 9, "trials": 12, "seed": 6}
    with rw.open_study(path, space, metric="loss", goal="min", **limits) as study:
        for job in study.jobs():
            for epoch in job.resources():
                if not study.report(job, epoch, measure(job.config, epoch)):
                    break


def test_every_kind_of_study_is_there():
    assert len(NAMES) == 9
    assert len(UNFINISHED) == 4
    assert sum(len(EXPECTED[name]["open"]) for name in UNFINISHED) >= 4


@pytest.mark.parametrize("name", NAMES)
def test_they_are_read_as_the_version_that_wrote_them_read_them(old, name):
    path = old(name)
    before = path.read_bytes()
    assert describe(path) == EXPECTED[name]
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", NAMES)
def test_their_decisions_are_taken_again(old, name):
    found = verify_study(old(name))
    assert found.reports == EXPECTED[name]["reports"]
    assert found.trials == EXPECTED[name]["trials"]
    assert found.retrainings == len(EXPECTED[name]["retrainings"])


@pytest.mark.parametrize("name", UNFINISHED)
def test_what_is_unfinished_is_resumed_to_the_same_end(old, name):
    path = old(name)
    if name == "asked":
        ask(path)
    else:
        rw.resume(path, show="quiet")  # the function is found by its name
    assert describe(path) == EXPECTED[f"{name}, resumed"]
    verify_study(path)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in UNFINISHED])
def test_what_has_ended_is_resumed_with_a_larger_limit(old, name):
    path = old(name)
    more = EXPECTED[name]["trials"] + 3
    result = rw.resume(path, show="quiet", trials=more)
    assert result.ended
    assert result.trials == more
    verify_study(path)


def test_a_retraining_that_was_interrupted_goes_on(old):
    path = old("retrained")
    starts = []

    def train_on(config, run):
        starts.append(run.start)
        train(config, run)

    result = rw.load(path)
    assert [one.trial for one in result.retrained] == EXPECTED["retrained"]["retrainings"][:1]
    trial = EXPECTED["retrained"]["retrainings"][1]
    found = result.retrain(train_on, trial=trial, resource=20)
    assert starts == [10]
    assert (found.trial, found.resource) == (trial, 20)
    assert [resource for resource, _ in found.curve] == list(range(1, 21))


@pytest.mark.parametrize("name", [name for name in NAMES if name != "asked"])
def test_they_are_trusted_by_the_key_that_signed_them(old, name, tmp_path, monkeypatch):
    path = old(name)
    with StudyFile(path, mode="read") as file:
        assert trust.is_trusted(file.about, path)
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "other"))
        trust.sign(None, {})  # which makes another key
        assert not trust.is_trusted(file.about, path)


def test_the_earlier_study_of_one_is_known(old):
    path = old("transferred")
    with StudyFile(path, mode="read") as file:
        (earlier,) = file.about.transfer.files
    assert Path(earlier).name == "ended.db"
