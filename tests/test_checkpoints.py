"""Checkpoints on disk: what is kept, what is found again, and how much room it takes."""

import errno
import os
import shutil
import socket
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rungwise.checkpoints import (
    FolderStore,
    TrialFolder,
    discard,
    means_full_disk,
    measure_folder,
    parse_bytes,
)
from rungwise.core.trials import State, Trial
from rungwise.errors import InvalidArgumentError
from rungwise.run import Assignment, Run, Unwound
from rungwise.session.checkpoint_retention import CheckpointRetention, RetentionRules, trial_place


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
    folder.evict()
    assert folder.size() == 0
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


def test_evicting_removes_all_and_left_overs(folder):
    put(folder, 1)
    put(folder, 2)
    (folder.path / "checkpoints" / ".writing-at-3-job-0-0").mkdir()
    folder.output.write_text("said")
    folder.evict()
    assert [path.name for path in folder.path.iterdir()] == ["output.log"]
    assert folder.output.read_text() == "said"


def test_evicting_leaves_no_empty_folders(folder):
    put(folder, 1)
    folder.evict()
    assert not folder.path.exists()
    put(folder, 2)
    (folder.path / "checkpoints" / "mine").mkdir()
    folder.evict()
    assert [path.name for path in (folder.path / "checkpoints").iterdir()] == ["mine"]


def test_pruning_leaves_what_is_not_a_checkpoint(folder):
    theirs = {"mine", "at-x-job-0-0", "at-1-job-0", "at-e-job-0-0", "at-1.-job-0-0"}
    for resource in (1, 2, 3):
        put(folder, resource)
    for name in theirs:
        (folder.path / "checkpoints" / name).mkdir()
    folder.prune(reported=3)
    folder.sweep()
    names = {path.name for path in (folder.path / "checkpoints").iterdir()}
    assert names == theirs | {"at-3-job-0-2"}


@pytest.mark.proc
@pytest.mark.parametrize("durable", [False, True])
def test_a_durable_store_waits_for_the_disk_before_and_after_the_commit(
    tmp_path, monkeypatch, durable
):
    folder = FolderStore(str(tmp_path), durable=durable).trial("trial-00007")
    seen = []

    def sync(descriptor):
        place = Path(f"/proc/self/fd/{descriptor}").readlink()
        seen.append((place.name, len(folder.committed())))

    monkeypatch.setattr(os, "fsync", sync)
    with folder.writing(9, 12) as place:
        (place / "sub").mkdir()
        (place / "sub" / "model").write_text("x")
    expected = [("model", 0), ("sub", 0), (".writing-at-9-job-12-0", 0), ("checkpoints", 1)]
    assert seen == (expected if durable else [])


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
    assert measure_folder(tmp_path) == 110 + (tmp_path / "gone").lstat().st_size
    assert measure_folder(tmp_path / "nothing") == 0


def test_a_durable_store_takes_links_sockets_and_fifos(tmp_path, monkeypatch):
    """Opening a FIFO would wait for a writer, for ever; a dangling link cannot be opened."""
    place = FolderStore(str(tmp_path), durable=True).trial("trial-00007")
    with place.writing(1, 0) as folder:
        (folder / "model").write_text("whole")
        (folder / "dangling").symlink_to("nowhere")
        (folder / "link").symlink_to("model")
        os.mkfifo(folder / "fifo")
        with socket.socket(socket.AF_UNIX) as listener:
            monkeypatch.chdir(folder)  # its name must be short
            listener.bind("socket")
    (found,) = place.committed()
    names = {path.name for path in found.path.iterdir()}
    assert names == {"model", "dangling", "link", "fifo", "socket"}


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
    assert parse_bytes("checkpoint_quota", given) == expected


@pytest.mark.parametrize(
    "given", ["", "GB", "-1GB", "1e3", "20 giga", "1,5GB", 1.5, -1, None, True]
)
def test_other_sizes_are_refused(given):
    with pytest.raises(InvalidArgumentError, match=r"checkpoint_quota is .*'20GB'"):
        parse_bytes("checkpoint_quota", given)


# -- any order of things -----------------------------------------------------------------------


class Flaky:
    """A study whose worker or tuner dies: the tuner before a report is logged, or right after."""

    def __init__(self, store):
        self.store = store
        self.trial = Trial(0, {}, 0)
        self.trial.state = State.RUNNING
        self.start_tuner()

    job = 0

    def start_tuner(self):
        self.dies = None
        self.retention = CheckpointRetention(
            self.store, [self.trial], RetentionRules(), notice=pytest.fail
        )

    def report(self, resource, value, metrics):
        if self.dies == "before":
            raise Unwound
        if resource > self.trial.resource:  # or the policy answers it
            self.trial.resource = resource
            if self.dies != "after":
                self.retention.reported(0, resource)
        if self.dies == "after":
            raise Unwound
        return True

    def saved(self, resource, size):
        self.retention.saved(0, self.job, size)

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
    """Jobs of one trial, and which checkpoint each of them must find."""

    def __init__(self, folder):
        store = FolderStore(str(folder))
        self.folder = store.trial(trial_place(0))
        self.study, self.job, self.written = Flaky(store), -1, 0
        self.standing = {}  # number of the checkpoint → its resource, unless it was outdated
        self.blocks = []
        self.new_job()

    def new_job(self):
        """The promise: the last that was committed and reported, unless a newer one replaced it."""
        self.study.retention.close()
        self.job += 1
        self.study.job = self.job
        known = self.study.trial.resource
        assignment = Assignment(self.job, 0, {}, known, 9, 9, place=trial_place(0))
        self.run = Run(assignment, self.study, self.study.store)
        assert self.run.start <= known
        legal = [(at, number) for number, at in self.standing.items() if at <= known]
        resource, number = max(legal, default=(0, None))
        assert self.run.start == resource
        found = self.run.latest and int((self.run.latest / "model").read_text())
        assert found == number
        assert not list((self.folder.path / "checkpoints").glob(".writing*"))

    def checkpoint(self, resource):
        self.written += 1
        with self.run.checkpoint(resource) as place:
            (place / "model").write_text(str(self.written))
        self.study.retention.close()
        known = self.study.trial.resource
        self.standing = {number: at for number, at in self.standing.items() if at <= known}
        self.standing[self.written] = resource

    def report(self, resource):
        with suppress(InvalidArgumentError):  # it fell: the trial's own fault
            self.run.report(resource, loss=1.0)
        self.study.retention.close()

    def dies(self):
        self.study.retention.crashed(0, self.job)
        self.new_job()

    def dies_writing(self, resource):
        block = self.run.checkpoint(resource)
        (block.__enter__() / "model").write_text("half")
        self.blocks.append(block)  # or it would be tidied up now
        self.dies()

    def dies_in_report(self, when, resource):
        """The tuner, and its workers with it."""
        self.study.dies = when
        with suppress(InvalidArgumentError, Unwound):
            self.run.report(resource, loss=1.0)
        self.study.start_tuner()
        self.new_job()


@given(ACTS)
@settings(max_examples=150)
def test_a_job_starts_at_the_last_checkpoint_that_counts(acts):
    with tempfile.TemporaryDirectory() as place:
        story = Story(Path(place))
        for act, resource in acts:
            if act == "dies":
                story.dies()
            elif act == "dies writing":
                story.dies_writing(resource)
            elif act.startswith("dies"):
                story.dies_in_report(act.removeprefix("dies "), resource)
            else:
                getattr(story, act)(resource)
            if act in ("checkpoint", "report"):
                assert len(story.folder.committed()) <= 2
        story.dies()
        for block in story.blocks:
            block.gen.close()
