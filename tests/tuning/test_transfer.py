"""A new study that starts from what earlier ones have found."""

from dataclasses import dataclass, field
from typing import ClassVar

import pytest
from backend_kinds import on_backend

import rungwise as rw
from rungwise.core.decisions import Continue
from rungwise.core.engine import Engine
from rungwise.core.events import JobEnded, JobFailed, JobRequested, Reported
from rungwise.core.limits import Limits
from rungwise.core.study import Study
from rungwise.errors import InvalidArgumentError
from rungwise.searchers import RandomSearcher, Searcher
from rungwise.space.parameters import Parameter
from rungwise.space.rules import Compare
from rungwise.storage.record import StudyRecord
from rungwise.storage.study_file import StudyFile

SPACE = {"x": rw.Float(0, 1)}


def earlier(path, found, *, space=SPACE, goal="min", failed=()):
    """A study file with configurations and their values, in the order tried."""
    initial = [config for config, _ in found]
    study = Study(
        rw.ASHA(max_resource=3),
        Limits(trials=len(found)),
        goal=goal,
        space=rw.Space.parse(space),
        searcher=RandomSearcher(),
        initial=initial,
    )
    engine = Engine(study)
    with StudyFile(path) as file:
        file.begin_with(study, StudyRecord("loss"))

        def tell(event):
            decision = engine.handle(event)
            file.extend([(event, decision)])
            return decision

        for number, (_, value) in enumerate(found):
            job = tell(JobRequested()).job
            assert job.trial == number or job.start > 0
            if number in failed:
                tell(Reported(job.id, 0.5, value))
                tell(JobFailed(job.id, "it broke"))
            elif not isinstance(tell(Reported(job.id, job.until, value)), Continue):
                tell(JobEnded(job.id))
    return path


def at(*values):
    """Configurations as good as their distance from 0."""
    return [({"x": value}, value) for value in values]


# -- leaders -----------------------------------------------------------------------------------


def test_the_best_come_first_whatever_the_goal(tmp_path):
    path = earlier(tmp_path / "min.db", at(0.9, 0.5))
    assert rw.leaders(path, SPACE) == [{"x": 0.5}, {"x": 0.9}]
    assert rw.leaders(str(path), rw.Space.parse(SPACE), 1) == [{"x": 0.5}]
    most = earlier(tmp_path / "max.db", at(0.5, 0.9), goal="max")
    assert rw.leaders([most], SPACE, count=1) == [{"x": 0.9}]


def test_studies_take_turns_and_nothing_comes_twice(tmp_path):
    a = earlier(tmp_path / "a.db", at(0.2, 0.1))
    b = earlier(tmp_path / "b.db", at(0.1, 0.8))
    found = rw.leaders([a, b], SPACE)
    assert [config["x"] for config in found] == [0.1, 0.2, 0.8]
    assert [config["x"] for config in rw.leaders([b, a], SPACE, 2)] == [0.1, 0.8]
    assert rw.leaders([a, a], SPACE) == rw.leaders(a, SPACE)


def test_four_by_default(tmp_path):
    # Two trials a study: with three the best would be promoted.
    files = [earlier(tmp_path / f"{n}.db", at(n / 10, n / 20)) for n in (1, 2, 3)]
    assert len(rw.leaders(files, SPACE)) == 4
    assert len(rw.leaders(files, SPACE, 99)) == 5  # 0.1 is there twice


def test_configurations_are_cut_to_the_new_space(tmp_path):
    old = {
        "x": rw.Float(0, 9),
        "gone": rw.Choice([1, 2]),
        "data": ["last year's"],
        "n": rw.Int(1, 9),
    }
    first = {"x": 0.5, "gone": 2, "data": "last year's", "n": 3}
    path = earlier(tmp_path / "a.db", [(first, 0.1), ({**first, "x": 7.0}, 0.2)], space=old)
    new = {"x": rw.Float(0, 1), "data": ["this year's"], "n": rw.Float(0, 9), "batch": 32}
    found = rw.leaders(path, new)
    assert found == [{"x": 0.5, "data": "this year's", "n": 3.0, "batch": 32}]
    assert type(found[0]["n"]) is float


def test_only_active_parameters_are_taken(tmp_path):
    old = {"act": ["relu", "tanh"], "slope": rw.Float(0, 1)}
    found = [({"act": "tanh", "slope": 0.5}, 0.1), ({"act": "relu", "slope": 0.3}, 0.2)]
    path = earlier(tmp_path / "a.db", found, space=old)
    new = rw.Space(
        [
            Parameter("act", rw.Choice(["relu", "tanh"])),
            Parameter("slope", rw.Float(0, 1), condition=Compare("act", "==", "relu")),
        ]
    )
    assert rw.leaders(path, new) == [{"act": "tanh"}, {"act": "relu", "slope": 0.3}]


def test_nothing_usable_is_told_with_reasons(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    earlier("a.db", at(0.9, 0.8))
    earlier("b.db", at(0.6, 0.7))
    with pytest.raises(InvalidArgumentError) as refused:
        rw.leaders(["a.db", "b.db"], {"x": rw.Float(0, 0.5)})
    told = str(refused.value)
    assert told.startswith("studies is a.db, b.db, but no configuration found there is legal in")
    assert "trial 1 of a.db: x is 0.8" in told
    assert "trial 0 of b.db: x is 0.6" in told
    assert told.endswith("; and 1 more.")
    with pytest.raises(InvalidArgumentError, match="it has no 'y'"):
        rw.leaders("a.db", {**SPACE, "y": rw.Float(0, 1)})


def test_trials_that_failed_are_no_leaders(tmp_path):
    path = earlier(tmp_path / "a.db", at(0.1, 0.5), failed=(0,))
    assert rw.leaders(path, SPACE) == [{"x": 0.5}]
    broken = earlier(tmp_path / "b.db", at(0.1, 0.5), failed=(0, 1))
    with pytest.raises(InvalidArgumentError, match="it has no leaders"):
        rw.leaders(broken, SPACE)


def test_what_is_no_study_to_learn_from(tmp_path):
    with pytest.raises(InvalidArgumentError, match=r"no\.db.*there is no such file"):
        rw.leaders(tmp_path / "no.db", SPACE)
    StudyFile(tmp_path / "empty.db").close()
    with pytest.raises(InvalidArgumentError, match="it contains no study"):
        rw.leaders(tmp_path / "empty.db", SPACE)
    (tmp_path / "diary.txt").write_text("a long day, and not a single log was written by anybody")
    with pytest.raises(rw.CorruptLogError, match=r"diary\.txt"):
        rw.leaders(tmp_path / "diary.txt", SPACE)
    for wrong in ((), 5, b"a.db", [5], [""], ""):
        with pytest.raises(InvalidArgumentError, match="studies is"):
            rw.leaders(wrong, SPACE)
    with pytest.raises(InvalidArgumentError, match="count is 0"):
        rw.leaders(tmp_path / "no.db", SPACE, 0)


def test_earlier_files_are_left_as_they_are(tmp_path):
    path = earlier(tmp_path / "a.db", at(0.3, 0.2))
    before = path.read_bytes()
    rw.leaders(path, SPACE)
    with StudyFile(path) as file:  # nobody holds it
        assert file.begun
    assert path.read_bytes() == before


pytestmark = pytest.mark.usefixtures("backend")


# -- tune(transfer=…) --------------------------------------------------------------------------


def train(config, run):
    for epoch in run.resources():
        run.report(epoch, loss=abs(config["x"] - 0.3) + 1 / epoch)


def tune(folder, **changes):
    arguments = {
        "metric": "loss",
        "goal": "min",
        "max_resource": 9,
        "trials": 9,
        "workers": 1,
        "show": "quiet",
        "study": folder / "new.db",
        "transfer": folder / "old.db",
        **changes,
    }
    return rw.tune(train, arguments.pop("space", SPACE), **on_backend(arguments))


@pytest.fixture
def old(tmp_path):
    return earlier(tmp_path / "old.db", [({"x": 0.3}, 0.1), ({"x": 0.9}, 0.7)])


def test_leaders_come_first_and_set_the_bar(tmp_path, old):
    result = tune(tmp_path, initial=[{"x": 0.5}, {"x": 0.9}])
    configs = [trial.config["x"] for trial in result.engine.trials]
    assert configs[:3] == [0.3, 0.9, 0.5]
    assert len(set(configs)) == 9  # 0.9 is tried once
    assert result.engine.study.scheduler == rw.Rush(rw.AdaptiveHalving(max_resource=9), priors=2)
    assert result.best.trial == 0
    assert {trial.id for trial in result.engine.trials if trial.resource > 1} == {0}
    assert "stopped by the bar" in result.rule or "not trained further" in result.rule


def test_the_study_does_not_need_the_old_file_any_more(tmp_path, old):
    first = tune(tmp_path)
    old.unlink()
    again = tune(tmp_path)
    assert (again.reports, again.best.trial) == (first.reports, first.best.trial)
    assert rw.resume(tmp_path / "new.db", train, show="quiet").reports == first.reports
    assert rw.load(tmp_path / "new.db").trials == 9


def test_the_same_call_goes_on_when_the_old_study_has_found_more(tmp_path, old):
    first = tune(tmp_path)
    old.unlink()
    (tmp_path / "old.db.lock").unlink()
    earlier(old, at(0.2, 0.1))
    assert tune(tmp_path).reports == first.reports


def test_another_transfer_is_another_study(tmp_path, old):
    tune(tmp_path)
    with pytest.raises(rw.StudyDiffersError, match=r"scheduler\.priors: 2 in the file, 1 asked"):
        tune(tmp_path, leaders=1)
    differs = "scheduler: Rush in the file, AdaptiveHalving asked for"
    with pytest.raises(rw.StudyDiffersError, match=differs):
        tune(tmp_path, transfer=())
    with pytest.raises(rw.StudyDiffersError, match="space: x"):
        tune(tmp_path, space={"x": rw.Float(0, 0.5)})
    other = earlier(tmp_path / "other.db", at(0.4, 0.6))
    with pytest.raises(rw.StudyDiffersError, match=r"initial: .*0\.4"):
        tune(tmp_path, transfer=[other])
    other.unlink()
    with pytest.raises(InvalidArgumentError, match=r"other\.db.*there is no such file"):
        tune(tmp_path, transfer=other)


def test_without_a_maximum_it_is_open_ended_all_the_same(tmp_path, old):
    result = tune(tmp_path, max_resource=None)
    assert result.engine.study.scheduler.scheduler == rw.PASHA(max_resource=3**10)
    with pytest.raises(InvalidArgumentError, match="this study has no maximum"):
        result.saved_versus("asha")


@dataclass(frozen=True)
class Ours(rw.rankings.Exact):
    """A criterion of one's own, deep within."""


def test_parts_of_ones_own_are_known_within(tmp_path, old):
    first = tune(tmp_path, scheduler=rw.PASHA(ranking=Ours()))
    assert tune(tmp_path, scheduler=rw.PASHA(ranking=Ours())).reports == first.reports
    new = tmp_path / "new.db"
    assert rw.leaders(new, SPACE, types=[Ours])[0] == {"x": 0.3}
    third = tune(
        tmp_path, scheduler=rw.ASHA(), study=tmp_path / "third.db", transfer=[old], leaders=1
    )
    assert third.engine.study.scheduler == rw.Rush(rw.ASHA(max_resource=9), priors=1)


@dataclass(frozen=True)
class Missing(rw.searchers.Searcher):
    """Needs what is not there."""

    needs: ClassVar[tuple[str, str]] = ("no_such_module_at_all", "extra-of-it")

    def propose(self, space, history, rng):
        raise AssertionError("it is never asked")


@dataclass(frozen=True)
class Objecting(rw.searchers.Searcher):
    """Finds something wrong with itself."""

    def check(self, _):
        raise InvalidArgumentError("colour", "blue", "it must be green")

    def propose(self, space, history, rng):
        raise AssertionError("it is never asked")


@dataclass(frozen=True)
class Around(rw.searchers.Searcher):
    """A searcher with another one in it."""

    then: Searcher = field(default_factory=Missing)

    def propose(self, space, history, rng):
        return self.then.propose(space, history, rng)


REFUSED = {
    "no such file": ({"transfer": "none.db"}, "there is no such file"),
    "one of two": ({"transfer": ["old.db", "none.db"]}, "none.db"),
    "a number": ({"transfer": 5}, "a study file or a list"),
    "a list of numbers": ({"transfer": [5]}, "the name of a study file"),
    "itself": ({"transfer": ["old.db", "new.db"]}, "the file of the new study itself"),
    "no leaders": ({"leaders": 0}, "leaders is 0"),
    "leaders in words": ({"leaders": "all"}, "leaders is 'all'"),
    "another space": ({"space": {"y": rw.Float(0, 1)}}, "it has no 'y'"),
    "a Rush already": ({"scheduler": rw.Rush(priors=0)}, "give the scheduler inside"),
    "a Rush of nothing": (
        {"scheduler": rw.Rush(priors=2), "transfer": (), "initial": [{"x": 0.5}]},
        "the first of initial=, which holds 1",
    ),
    "searcher without its extra": (
        {"searcher": Missing()},
        "the searcher Missing needs an extra: pip install 'rungwise[extra-of-it]'",
    ),
    "searcher within": ({"searcher": Around()}, "the searcher Missing needs an extra"),
    "searcher that objects": ({"searcher": Around(Objecting())}, "it must be green"),
}


@pytest.mark.parametrize(("changes", "told"), REFUSED.values(), ids=REFUSED)
def test_what_is_wrong_is_said_before_there_is_a_file(tmp_path, old, monkeypatch, changes, told):
    monkeypatch.chdir(tmp_path)
    before = old.read_bytes()
    with pytest.raises(rw.RungwiseError) as refused:
        tune(tmp_path, **{"study": "new.db", "transfer": "old.db", **changes})
    assert told in str(refused.value)
    assert old.read_bytes() == before
    assert not [file for file in tmp_path.iterdir() if not file.name.startswith("old.db")]


@dataclass(frozen=True)
class Removed(rw.searchers.Searcher):
    """There when the study began, and gone when it is to go on."""

    needs: ClassVar[tuple[str, str]] = ("json", "extra")

    def propose(self, space, history, rng):
        return space.sample(rng)


def test_resuming_needs_the_extra_as_well(tmp_path, monkeypatch):
    tune(tmp_path, searcher=Removed(), transfer=())
    monkeypatch.setattr(Removed, "needs", Missing.needs)
    with pytest.raises(rw.MissingExtraError, match="the searcher Removed needs an extra"):
        rw.resume(tmp_path / "new.db", train, show="quiet", types=[Removed])
    assert rw.load(tmp_path / "new.db", types=[Removed]).trials == 9  # reading needs nothing


def test_leaders_without_earlier_studies_are_refused():
    with pytest.raises(rw.InvalidArgumentError, match="goes with transfer="):
        rw.tune(lambda *_: None, {"x": rw.Choice([1, 2])}, metric="loss", goal="min", leaders=3)
