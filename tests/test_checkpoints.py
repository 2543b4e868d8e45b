"""Checkpoints on disk: what is kept, what is found again, and how much room it takes."""

import errno
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rungwise.checkpoints import TrialFolder, bytes_of, discard, means_full_disk, size_of
from rungwise.errors import InvalidArgumentError
from rungwise.run import Leg, Run, Unwound


def put(folder, resource, job=0, text="x"):
    with folder.writing(resource, job) as place:
        (place / "model").write_text(text)


@pytest.fixture
def folder(tmp_path):
    return TrialFolder(tmp_path / "trial-00007")


def test_a_folder_that_is_not_there_holds_nothing(folder):
    assert folder.committed() == []
    assert folder.latest(at_most=9) is None
    folder.prune(reported=3)
    folder.sweep()
    folder.clear()
    assert not folder.path.exists()
    assert folder.output == folder.path / "output.log"


def test_names_tell_resource_job_and_number(folder):
    put(folder, 9, job=12)
    put(folder, 9, job=12)
    put(folder, 0.5, job=3)
    found = folder.committed()
    assert [path.path.name for path in found] == [
        "at-0.5-job-3-0",
        "at-9-job-12-0",
        "at-9-job-12-1",
    ]
    assert [(c.resource, c.job, c.number) for c in found] == [(0.5, 3, 0), (9, 12, 0), (9, 12, 1)]


def test_order_is_that_of_numbers_not_of_names(folder):
    for resource, job in [(10, 9), (9, 10), (10, 10), (2.5, 11)]:
        put(folder, resource, job)
    assert [(c.resource, c.job) for c in folder.committed()] == [
        (2.5, 11),
        (9, 10),
        (10, 9),
        (10, 10),
    ]
    assert folder.latest(at_most=9.5).job == 10
    assert folder.latest(at_most=2) is None


def test_clearing_removes_all_and_left_overs(folder):
    put(folder, 1)
    put(folder, 2)
    (folder.path / "checkpoints" / ".writing-at-3-job-0-0").mkdir()
    folder.output.write_text("said")
    folder.clear()
    assert list((folder.path / "checkpoints").iterdir()) == []
    assert folder.output.read_text() == "said"


def test_what_is_being_removed_is_no_checkpoint_any_more(folder, monkeypatch):
    put(folder, 1)
    (found,) = folder.committed()
    monkeypatch.setattr(shutil, "rmtree", lambda *_, **__: None)  # killed in the middle
    discard(found.path)
    assert folder.committed() == []
    monkeypatch.undo()
    folder.sweep()
    assert list((folder.path / "checkpoints").iterdir()) == []


def test_removing_what_is_gone_is_no_error(folder):
    put(folder, 1)
    (found,) = folder.committed()
    discard(found.path)
    discard(found.path)


def test_a_left_over_of_the_same_name_does_not_get_in(folder):
    stale = folder.path / "checkpoints" / ".writing-at-1-job-0-0"
    stale.mkdir(parents=True)
    (stale / "old").write_text("of a job that died")
    put(folder, 1)
    (found,) = folder.committed()
    assert [path.name for path in found.path.iterdir()] == ["model"]


def test_the_size_is_that_of_files_in_all_folders(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "c").write_bytes(b"x" * 100)
    (tmp_path / "d").write_bytes(b"x" * 10)
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    assert size_of(tmp_path) == 110 + (tmp_path / "gone").lstat().st_size
    assert size_of(tmp_path / "nothing") == 0


def test_full_disks_are_told_from_other_errors(tmp_path, monkeypatch):
    assert means_full_disk(OSError(errno.ENOSPC, ""), tmp_path)
    assert means_full_disk(OSError(errno.EDQUOT, ""), tmp_path)
    assert not means_full_disk(OSError(errno.EIO, ""), tmp_path)
    assert not means_full_disk(RuntimeError(), tmp_path / "nowhere")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: type("Usage", (), {"free": 0}))
    assert means_full_disk(RuntimeError(), tmp_path)
    assert not means_full_disk(KeyboardInterrupt(), tmp_path)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (0, 0),
        (5, 5),
        ("5", 5),
        ("20GB", 20 * 10**9),
        ("1.5 kB", 1500),
        (" 512 MiB ", 512 * 2**20),
        ("1gib", 2**30),
        ("2TB", 2 * 10**12),
        ("7b", 7),
    ],
)
def test_bytes_are_read_from_numbers_and_text(given, expected):
    assert bytes_of("checkpoint_quota", given) == expected


@pytest.mark.parametrize(
    "given", ["", "GB", "-1GB", "1e3", "20 giga", "1,5GB", 1.5, -1, None, True]
)
def test_other_sizes_are_refused(given):
    with pytest.raises(InvalidArgumentError, match=r"checkpoint_quota is .*'20GB'"):
        bytes_of("checkpoint_quota", given)


# -- any order of things -----------------------------------------------------------------------


class Flaky:
    """A study that takes a report in, or dies before, or right after."""

    def __init__(self):
        self.acknowledged = 0.0
        self.dies = None

    def report(self, resource, value, extras):
        if self.dies == "before":
            raise Unwound
        self.acknowledged = max(self.acknowledged, resource)
        if self.dies == "after":
            raise Unwound
        return True

    def saved(self, resource, size):
        pass

    def notice(self, text):
        raise AssertionError(text)


RESOURCES = st.sampled_from([0.5, 1, 2, 3, 4, 5, 6])
ACTS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["checkpoint", "report"]), RESOURCES),
        st.tuples(st.sampled_from(["dies before", "dies after", "dies writing"]), RESOURCES),
        st.tuples(st.just("dies"), st.just(0)),
    ),
    max_size=14,
)


class Story:
    """Legs of one trial, and which checkpoint each of them must find."""

    def __init__(self, folder):
        self.folder, self.study, self.job, self.written = folder, Flaky(), -1, 0
        self.standing = {}  # number of the checkpoint → its resource, unless it was outdated
        self.new_leg()

    def new_leg(self):
        """The promise: the last that was committed and reported, unless a newer one replaced it."""
        self.job += 1
        self.study.dies = None
        known = self.study.acknowledged
        leg = Leg(self.job, 0, known, 9, 9, "loss", "tune", 0, str(self.folder))
        self.run = Run(leg, self.study)
        assert self.run.start <= known
        legal = [(at, number) for number, at in self.standing.items() if at <= known]
        resource, number = max(legal, default=(0, None))
        assert self.run.start == resource
        found = self.run.latest and int((self.run.latest / "model").read_text())
        assert found == number
        assert not list((self.folder / "checkpoints").glob(".writing*"))

    def checkpoint(self, resource):
        self.written += 1
        with self.run.checkpoint(resource) as place:
            (place / "model").write_text(str(self.written))
        known = self.study.acknowledged
        self.standing = {number: at for number, at in self.standing.items() if at <= known}
        self.standing[self.written] = resource

    def report(self, resource):
        with suppress(InvalidArgumentError):  # it fell: the trial's own fault
            self.run.report(resource, loss=1.0)

    def dies_writing(self, resource):
        block = self.run.checkpoint(resource)
        (block.__enter__() / "model").write_text("half")
        self.blocks = [*getattr(self, "blocks", []), block]  # or it would be tidied up now
        self.new_leg()

    def dies_in_report(self, when, resource):
        self.study.dies = when
        with suppress(InvalidArgumentError, Unwound):
            self.run.report(resource, loss=1.0)
        self.new_leg()


@given(ACTS)
@settings(max_examples=150)
def test_a_leg_starts_at_the_last_checkpoint_that_counts(acts):
    with tempfile.TemporaryDirectory() as place:
        story = Story(Path(place))
        for act, resource in acts:
            if act == "dies":
                story.new_leg()
            elif act == "dies writing":
                story.dies_writing(resource)
            elif act.startswith("dies"):
                story.dies_in_report(act.removeprefix("dies "), resource)
            else:
                getattr(story, act)(resource)
            if act in ("checkpoint", "report"):
                assert len(TrialFolder(Path(place)).committed()) <= 2
        story.new_leg()
        for block in getattr(story, "blocks", []):
            block.gen.close()
