"""A run in the hand of a training function, with a stand-in for the study."""

import errno
import math
import tempfile
from fractions import Fraction
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from rungwise import run as run_module
from rungwise.checkpoints import FolderStore, TrialFolder
from rungwise.errors import InvalidArgumentError, NotFiniteError, SilentTrialError
from rungwise.run import Assignment, Run, Unwound


class Study:
    """Takes in what a run tells; enough is known at a given resource."""

    def __init__(self, enough_at=math.inf):
        self.enough_at = enough_at
        self.reports, self.checkpoints, self.notices = [], [], []

    def report(self, resource, value, extras):
        self.reports.append((resource, value, dict(extras)))
        return resource < self.enough_at

    def saved(self, resource, size):
        self.checkpoints.append((resource, size))

    def notice(self, text):
        self.notices.append(text)


def make_run(folder, study, **changes):
    """The run of an assignment whose trial keeps its files in a folder."""
    parts = {
        "job": 0,
        "trial": 7,
        "start": 0,
        "until": 9,
        "max_resource": 27,
        "metric": "loss",
        "phase": "tune",
        "seed": 5,
        "config": {},
        "place": folder.name,
    }
    store = FolderStore(str(folder.parent))
    return Run(Assignment(**{**parts, **changes}), study, store)


@pytest.fixture
def study():
    return Study()


@pytest.fixture
def run(tmp_path, study):
    return make_run(tmp_path, study)


def save(run, resource, text="model"):
    with run.checkpoint(resource) as folder:
        (folder / "model.bin").write_text(text)


def names(folder):
    return sorted(path.name for path in (folder / "checkpoints").iterdir())


def standing(folder):
    return [found.resource for found in TrialFolder(folder).committed()]


# -- what it says of itself --------------------------------------------------------------------


def test_a_run_tells_what_it_is(run, tmp_path):
    assert (run.trial, run.phase, run.metric, run.seed) == (7, "tune", "loss", 5)
    assert (run.start, run.until, run.max_resource, run.latest) == (0, 9, 27, None)
    assert (run.folder, run.enough, run.reported) == (tmp_path, False, False)
    assert repr(run) == "<run of trial 7 from 0 to 9>"


def test_whole_resources_are_ints_and_no_maximum_is_none(tmp_path, study):
    run = make_run(tmp_path, study, until=9.0, max_resource=None)
    assert type(run.until) is int
    assert run.max_resource is None


def test_nothing_is_written_by_a_run_that_only_looks(tmp_path, study):
    make_run(tmp_path / "new", study)
    assert not (tmp_path / "new").exists()


# -- resources ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (1, [1, 2, 3, 4]),
        (5, [5, 10, 15, 20]),
        (0.5, [0.5, 1, 1.5, 2]),
        (Fraction(1, 4), [0.25, 0.5, 0.75, 1]),
        (np.int64(2), [2, 4, 6, 8]),
    ],
)
def test_resources_come_in_steps(run, step, expected):
    found = list(islice(run.resources(step), 4))
    assert found == expected
    assert [type(n) for n in found] == [int if n == int(n) else float for n in expected]


def test_resources_end_at_the_maximum(tmp_path, study):
    assert list(make_run(tmp_path, study, max_resource=5).resources()) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("step", [3, 2.5])
def test_a_step_that_does_not_divide_the_maximum_still_gets_there(tmp_path, study, step):
    """Otherwise the trial would end of its own accord, and rank last at the top."""
    found = list(make_run(tmp_path, study, max_resource=7).resources(step))
    assert found == [step, 2 * step, 7]


@pytest.mark.parametrize("reached", range(1, 30))
def test_rounding_does_not_end_a_trial_short_of_the_maximum(tmp_path, study, reached):
    start = reached * 0.1
    save(make_run(tmp_path, study), start)
    found = list(make_run(tmp_path, study, start=start, max_resource=3).resources(0.1))
    assert found[-1] == 3
    assert len(found) in (30 - reached, 31 - reached)


def test_resources_go_on_from_the_checkpoint(tmp_path, study, run):
    save(run, 4)
    again = make_run(tmp_path, study, start=4, until=9, job=1)
    assert (again.start, list(islice(again.resources(), 3))) == (4, [5, 6, 7])
    assert (again.latest / "model.bin").read_text() == "model"


def test_resources_start_again_without_a_checkpoint(tmp_path, study):
    run = make_run(tmp_path, study, start=4)
    assert (run.start, next(run.resources())) == (0, 1)


def test_resources_end_when_enough_is_known(tmp_path):
    study = Study(enough_at=3)
    run = make_run(tmp_path, study)
    told = [run.report(epoch, loss=1.0) for epoch in run.resources()]
    assert told == [True, True, False]
    assert run.enough
    assert list(run.resources()) == []


def test_a_trial_that_never_reports_is_given_up(tmp_path, study):
    run = make_run(tmp_path, study, until=1, max_resource=None)
    given = []
    with pytest.raises(SilentTrialError, match=r"run\.report\(resource, loss=") as refused:
        given.extend(run.resources())
    assert refused.value.resource == run_module.SILENT_FACTOR + run_module.SILENT_SLACK + 1
    again = make_run(tmp_path, study, until=1, max_resource=None)
    assert len(list(islice(again.resources(), refused.value.resource - 1))) > 1000


def test_a_trial_that_has_reported_may_be_silent_for_long(tmp_path, study):
    run = make_run(tmp_path, study, until=1, max_resource=None)
    for epoch in run.resources():
        if epoch == 1:
            run.report(epoch, loss=1.0)
        if epoch == 5000:
            break


@pytest.mark.parametrize("step", [0, -1, math.nan, math.inf, "1", None, True, [1]])
def test_bad_steps_are_refused(run, step):
    with pytest.raises(InvalidArgumentError, match=r"step is .* a finite number above 0"):
        next(run.resources(step))


# -- reports -----------------------------------------------------------------------------------


class Scalar:
    """What PyTorch's and TensorFlow's scalars look like."""

    def __init__(self, value):
        self.value = value

    def item(self):
        if isinstance(self.value, Exception):
            raise self.value
        return self.value


@pytest.mark.parametrize(
    "value",
    [
        0.5,
        np.float64(0.5),
        np.float32(0.5),
        np.array(0.5),
        np.array([0.5]),
        Scalar(0.5),
        Fraction(1, 2),
    ],
    ids=lambda value: type(value).__name__,
)
def test_whatever_is_one_number_can_be_reported(run, study, value):
    run.report(1, loss=value, other=value)
    assert study.reports == [(1, 0.5, {"other": 0.5})]
    assert type(study.reports[0][1]) is float


@pytest.mark.parametrize("resource", [2, 2.0, np.int32(2), np.float32(2), Scalar(2), np.array([2])])
def test_whatever_is_one_number_can_be_a_resource(run, study, resource):
    run.report(resource, loss=1)
    assert repr(study.reports[0][0]) == "2"


@pytest.mark.parametrize(
    "value",
    [
        "0.5",
        b"0.5",
        None,
        True,
        [0.5],
        (0.5,),
        {},
        1j,
        np.array([0.5, 0.6]),
        np.array([]),
        np.bool_(True),
        np.complex64(1),
        np.str_("0.5"),
        Scalar("0.5"),
        Scalar(RuntimeError("a tensor of 2 elements")),
        Scalar(None),
    ],
    ids=lambda value: repr(value).split(" at 0x")[0],  # the same in every process
)
@pytest.mark.parametrize("place", ["loss", "other", "resource"])
def test_what_is_not_one_number_is_refused(run, study, value, place):
    metrics = {"loss": 0.5, "other": 0.5, place: value}
    with pytest.raises(InvalidArgumentError, match=f"{place} is .*it must be (a|one) number"):
        run.report(metrics.pop("resource", 1), **metrics)
    assert study.reports == []
    run.report(1, loss=0.5)  # and the run is none the worse
    assert len(study.reports) == 1


def test_the_metric_must_be_among_the_metrics(run, study):
    rule = "a report must give the study's metric, 'loss'"
    with pytest.raises(InvalidArgumentError, match=f"accuracy, time.*{rule}"):
        run.report(1, time=3.0, accuracy=0.5)
    with pytest.raises(InvalidArgumentError, match=f"nothing.*{rule}"):
        run.report(1)
    assert study.reports == []


@pytest.mark.parametrize(
    "resource", [0, -1, 0.0, -0.5, math.nan, math.inf, -math.inf, 2**53 + 2, 1e300, 10**400]
)
def test_resources_out_of_bounds_are_refused(run, study, resource):
    with pytest.raises(InvalidArgumentError, match=r"resource is .* above 0 and at most"):
        run.report(resource, loss=1.0)
    with (
        pytest.raises(InvalidArgumentError, match=r"resource is .* above 0 and at most"),
        run.checkpoint(resource),
    ):
        pass
    assert study.reports == []


def test_a_count_from_0_is_refused_with_what_to_write_instead(run):
    hint = r"resource is 0, but .*; count from 1, as in run\.report\(epoch \+ 1, …\)"
    with pytest.raises(InvalidArgumentError, match=hint):
        run.report(0, loss=1.0)


def test_the_furthest_resource_is_legal(run, study):
    run.report(2**53, loss=1.0)
    assert study.reports == [(2**53, 1.0, {})]


def test_resources_must_grow(run, study):
    run.report(3, loss=1.0)
    with pytest.raises(InvalidArgumentError, match=r"resource is 2.*must grow, and 3 was reported"):
        run.report(2, loss=1.0)
    run.report(4, loss=1.0)
    assert [resource for resource, _, _ in study.reports] == [3, 4]


def test_a_resource_reported_twice_is_left_to_the_study(run, study):
    """The policy answers what is known already (tests/test_policy.py); the run asks it."""
    assert run.report(3, loss=1.0)
    assert run.report(3, loss=0.5)
    assert study.reports == [(3, 1.0, {}), (3, 0.5, {})]


def test_and_the_answer_to_the_second_counts_as_well(run, study):
    assert run.report(3, loss=1.0)
    study.enough_at = 3
    assert not run.report(3, loss=1.0)
    assert run.enough
    assert list(run.resources()) == []


def test_an_earlier_job_does_not_forbid_to_report_from_the_beginning(tmp_path, study):
    """And the study is told of each: it knows which of them it has heard already."""
    run = make_run(tmp_path, study, start=4)
    assert [run.report(n, loss=1.0) for n in (1, 4, 5)] == [True, True, True]
    assert [resource for resource, _, _ in study.reports] == [1, 4, 5]


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, -math.inf, np.nan, Scalar(math.nan), 10**400, Fraction(10) ** 400]
)
def test_what_is_not_finite_ends_the_training(run, study, value):
    with pytest.raises(NotFiniteError, match="at resource 2, but only finite values") as refused:
        run.report(2, loss=value)
    assert (refused.value.metric, refused.value.resource) == ("loss", 2)
    assert study.reports == []
    assert not run.reported


def test_other_metrics_may_be_what_they_like(run, study):
    run.report(1, loss=0.5, gap=math.inf, seconds=3)
    assert study.reports == [(1, 0.5, {"gap": math.inf, "seconds": 3})]


def test_after_enough_a_report_unwinds(tmp_path):
    study = Study(enough_at=2)
    run = make_run(tmp_path, study)
    assert run.report(2, loss=1.0) is False
    with pytest.raises(Unwound):
        run.report(3, loss=1.0)
    assert len(study.reports) == 1
    assert not issubclass(Unwound, Exception)


def test_a_report_that_is_not_taken_in_is_not_reckoned_with(tmp_path):
    """The tuner dies while the run waits: the checkpoint of before must still be there."""

    class Dying(Study):
        def report(self, resource, value, extras):
            if resource == 2:
                raise Unwound
            return super().report(resource, value, extras)

    run = make_run(tmp_path, Dying())
    save(run, 1)
    run.report(1, loss=1.0)
    save(run, 2)
    with pytest.raises(Unwound):
        run.report(2, loss=1.0)
    assert standing(tmp_path) == [1, 2]
    assert make_run(tmp_path, Study(), start=1).start == 1


# -- checkpoints -------------------------------------------------------------------------------


def test_a_checkpoint_is_told_with_its_size(run, study):
    with run.checkpoint(3) as folder:
        (folder / "sub").mkdir()
        (folder / "sub" / "a").write_bytes(b"x" * 1000)
        (folder / "b").write_bytes(b"y" * 24)
    assert study.checkpoints == [(3, 1024)]


def break_off(run, resource, error):
    with pytest.raises(error), run.checkpoint(resource) as folder:
        save_half(folder, error)


def save_half(folder, error):
    (folder / "model.bin").write_text("half")
    raise error


def test_a_half_written_checkpoint_is_never_seen(run, tmp_path, study):
    save(run, 1)
    run.report(1, loss=1.0)
    with run.checkpoint(2) as folder:
        (folder / "model.bin").write_text("half")
        assert standing(tmp_path) == [1]
    run.report(2, loss=1.0)
    break_off(run, 3, ZeroDivisionError)
    assert names(tmp_path) == ["at-1-job-0-0", "at-2-job-0-1"]
    assert [resource for resource, _ in study.checkpoints] == [1, 2]


@pytest.mark.parametrize("error", [KeyboardInterrupt, Unwound, SystemExit])
def test_nor_one_that_was_interrupted(run, tmp_path, error):
    break_off(run, 1, error)
    assert names(tmp_path) == []


def test_what_a_dead_job_was_writing_is_not_seen_by_the_next(run, tmp_path, study):
    """The tuner removes it (tests/tuning/test_checkpoint_retention.py), not the next job."""
    block = run.checkpoint(1)
    (block.__enter__() / "model.bin").write_text("half")
    assert len(names(tmp_path)) == 1  # the process is gone now, and nothing has tidied up
    again = make_run(tmp_path, study, start=9, job=1)
    assert (again.latest, again.start) == (None, 0)
    save(again, 1)
    assert standing(tmp_path) == [1]
    assert names(tmp_path) == [".writing-at-1-job-0-0", "at-1-job-1-0"]
    block.gen.close()


def test_a_job_never_starts_beyond_what_was_reported(run, tmp_path, study):
    save(run, 1)
    run.report(1, loss=1.0)
    save(run, 2)  # and then the worker dies
    again = make_run(tmp_path, study, start=1, job=1)
    assert (again.start, standing(tmp_path)) == (1, [1, 2])


def test_a_run_removes_no_checkpoint(run, tmp_path, study):
    """Only the tuner does: the run may be that of a worker that was cut off."""
    save(run, 1)
    for resource in (1, 2, 3):
        run.report(resource, loss=1.0)
        save(run, resource)
    again = make_run(tmp_path, study, start=3, job=1)
    save(again, 4)
    again.report(4, loss=1.0)
    assert standing(tmp_path) == [1, 1, 2, 3, 4]


def test_a_checkpoint_between_reports_waits_for_the_next(run, tmp_path, study):
    run.report(1, loss=1.0)
    for resource in (1, 1.25, 1.5, 1.75):
        save(run, resource)
    assert make_run(tmp_path, study, start=1, job=1).start == 1
    run.report(2, loss=1.0)
    assert make_run(tmp_path, study, start=2, job=1).start == 1.75


def test_of_two_at_one_resource_the_later_counts(run, tmp_path, study):
    save(run, 3, "first")
    save(run, 3, "second")
    assert names(tmp_path) == ["at-3-job-0-0", "at-3-job-0-1"]
    again = make_run(tmp_path, study, start=3, job=4)
    assert (again.latest / "model.bin").read_text() == "second"
    save(again, 3, "third")
    last = make_run(tmp_path, study, start=3, job=12)
    assert (last.latest / "model.bin").read_text() == "third"


@pytest.mark.parametrize("resource", [1e-7, 0.1, 1 / 3, 1.5, 12345678, 1e15, 2**53])
def test_every_legal_resource_is_found_again(run, tmp_path, study, resource):
    save(run, resource)
    again = make_run(tmp_path, study, start=resource, job=1)
    assert (again.start, again.latest is None) == (resource, False)


def test_a_checkpoint_of_a_dead_job_further_on_is_passed_over(run, tmp_path, study):
    run.report(1, loss=1.0)
    save(run, 1)
    save(run, 6)  # and then the worker dies, before it has reported 6
    again = make_run(tmp_path, study, start=1, job=1)
    save(again, 4)
    again.report(4, loss=1.0)
    assert make_run(tmp_path, study, start=4, job=2).start == 4


def test_a_folder_of_somebody_elses_is_left_alone(run, tmp_path, study):
    save(run, 1)
    theirs = {"mine", "at-x-job-0-0", "at-1-job-0", "at-e-job-0-0", "at-1.-job-0-0", "at--job-0-0"}
    for name in theirs:
        (tmp_path / "checkpoints" / name).mkdir()
    save(run, 2)
    run.report(2, loss=1.0)
    assert theirs < set(names(tmp_path))
    assert standing(tmp_path) == [1, 2]
    assert make_run(tmp_path, study, start=2, job=1).start == 2


# -- full disks --------------------------------------------------------------------------------


def full(*_args, **_options):
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_drops_the_checkpoint_with_a_notice(run, tmp_path, study, number):
    save(run, 1)
    run.report(1, loss=1.0)
    with run.checkpoint(2) as folder:
        (folder / "model.bin").write_text("half")
        raise OSError(number, "full")
    (text,) = study.notices
    assert "trial 7: the disk is full: the checkpoint at 2 was not saved" in text
    assert run.report(2, loss=0.5)
    assert standing(tmp_path) == [1]
    assert [resource for resource, _ in study.checkpoints] == [1]
    assert make_run(tmp_path, study, start=2, job=1).start == 1


@pytest.mark.parametrize("method", ["mkdir", "rename"])
def test_a_disk_too_full_for_a_folder_is_survived_too(run, tmp_path, study, monkeypatch, method):
    save(run, 1)
    run.report(1, loss=1.0)
    with monkeypatch.context() as patch:
        patch.setattr(Path, method, full)
        save(run, 2)
    assert len(study.notices) == 1
    assert "the disk is full" in study.notices[0]
    assert names(tmp_path) == ["at-1-job-0-0"]
    assert run.report(2, loss=0.5)
    save(run, 3)
    assert standing(tmp_path) == [1, 3]


def test_a_disk_full_everywhere_fails_the_trial_with_the_systems_own_words(run, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(Path, "mkdir", full)
        patch.setattr(tempfile, "mkdtemp", full)
        with pytest.raises(OSError, match="No space left"):
            save(run, 2)


def test_an_error_of_a_librarys_own_counts_when_the_disk_is_full(run, study, monkeypatch):
    class Usage:
        free = 10

    monkeypatch.setattr("shutil.disk_usage", lambda _: Usage)
    with run.checkpoint(1):
        raise RuntimeError("[enforce fail at inline_container.cc:603]")
    assert len(study.notices) == 1
    with pytest.raises(Unwound), run.checkpoint(2):
        raise Unwound  # but being told to leave is no matter of the disk


def test_other_errors_are_the_trials_own(run, study):
    with pytest.raises(PermissionError), run.checkpoint(1):
        raise PermissionError(errno.EACCES, "no")
    assert study.notices == []
