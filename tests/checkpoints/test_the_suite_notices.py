"""Stores that break a promise, each in one way, and the checks of the suite that find out."""

import re
import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest

from rungwise.checkpoints import FolderStore, TrialFolder, discard, resource_text
from rungwise.testing import StoreConformance


class CommitsAsItWrites(TrialFolder):
    """Nothing is renamed: what is half written is there already."""

    @contextmanager
    def writing(self, resource, job):
        number = sum(found.job == job for found in self.committed())
        folder = self._checkpoints / f"at-{resource_text(resource)}-job-{job}-{number}"
        folder.mkdir(parents=True)
        yield folder


class LeavesWhatBrokeOff(TrialFolder):
    """It commits whatever came of the block."""

    @contextmanager
    def writing(self, resource, job):
        error = None
        with super().writing(resource, job) as folder:
            try:
                yield folder
            except BaseException as found:  # noqa: BLE001 - it is raised below
                error = found
        if error is not None:
            raise error


class SortsByName(TrialFolder):
    def committed(self):
        return sorted(super().committed(), key=lambda found: found.path.name)

    def latest(self, *, at_most):
        return next((c for c in reversed(self.committed()) if c.resource <= at_most), None)


class RoundsResources(TrialFolder):
    def writing(self, resource, job):
        return super().writing(float(f"{resource:.6g}"), job)


class StartsBeyondReports(TrialFolder):
    def latest(self, *, at_most):
        return max(self.committed(), default=None)


class NamesByResourceOnly(TrialFolder):
    """Whoever writes last at a resource replaces what another job has written there."""

    @contextmanager
    def writing(self, resource, job):
        with super().writing(resource, job) as folder:
            yield folder
            for found in self.committed():
                if found.resource == resource and found.job != job:
                    shutil.rmtree(found.path)


class PrunesWhenItWrites(TrialFolder):
    """As if the worker were the tuner."""

    @contextmanager
    def writing(self, resource, job):
        with super().writing(resource, job) as folder:
            yield folder
        self.prune(reported=resource)


class KeepsTheFurthest(TrialFolder):
    """The furthest instead of the one that was written last."""

    def prune(self, *, reported, newest=None):
        found = self.committed()
        kept = [c for c in found if c.resource <= reported][-1:] + found[-1:]
        for checkpoint in found:
            if checkpoint not in kept:
                discard(checkpoint.path)


class ForgetsTheReported(TrialFolder):
    """It keeps only the one that was written last."""

    def prune(self, *, reported, newest=None):
        for checkpoint in self.committed()[:-1]:
            discard(checkpoint.path)


class NeverPrunes(TrialFolder):
    def prune(self, *, reported, newest=None):
        pass


class SweepsTheLiving(TrialFolder):
    def sweep(self, *, up_to=0):
        super().sweep()


class NeverSweeps(TrialFolder):
    def sweep(self, *, up_to=0):
        pass


class EvictsTheWholeFolder(TrialFolder):
    def evict(self):
        shutil.rmtree(self.path, ignore_errors=True)


class EvictsItsNeighbours(TrialFolder):
    """It takes the name of a place for a prefix."""

    def evict(self):
        for place in self.path.parent.glob(f"{self.path.name}*"):
            TrialFolder(place).evict()


class KnowsNoSize(TrialFolder):
    def size(self):
        return sum(path.stat().st_size for path in self._checkpoints.glob("*/*"))


class CountsFromAnew(TrialFolder):
    """The number of a checkpoint is how many there are."""

    @contextmanager
    def writing(self, resource, job):
        number = len(self.committed())
        with super().writing(resource, job) as folder:
            yield folder
        written = max(self.committed(), key=lambda found: found.path.stat().st_mtime_ns)
        name = re.sub(r"\d+$", str(number), written.path.name)
        if name != written.path.name:
            shutil.rmtree(written.path.with_name(name), ignore_errors=True)
            written.path.rename(written.path.with_name(name))


class ListsNothing(FolderStore):
    def places(self):
        return iter(())


class ListsThoseThatWereAsked(FolderStore):
    def trial(self, place):
        Path(self.path, place).mkdir(parents=True, exist_ok=True)
        return super().trial(place)


class IsKnownHereOnly(FolderStore):
    """A worker elsewhere takes the path for one in its own working folder."""

    def to_json(self):
        return {**super().to_json(), "path": Path(self.path).name}


class DescribesItselfWithAPath(FolderStore):
    def to_json(self):
        return {**super().to_json(), "path": Path(self.path)}


BROKEN = [
    (CommitsAsItWrites, "test_is_committed_when_the_block_ends", ()),
    (CommitsAsItWrites, "test_an_exception_in_the_block_leaves_nothing", (KeyboardInterrupt,)),
    (CommitsAsItWrites, "test_nor_does_it_get_into_what_they_are_writing", ()),
    (LeavesWhatBrokeOff, "test_an_exception_in_the_block_leaves_nothing", (ZeroDivisionError,)),
    (SortsByName, "test_order_is_that_of_numbers", ()),
    (SortsByName, "test_latest_is_not_beyond_what_is_asked_for", ()),
    (SortsByName, "test_a_job_may_write_several", ()),
    (RoundsResources, "test_every_resource_is_found_again", (1 / 3,)),
    (StartsBeyondReports, "test_latest_is_not_beyond_what_is_asked_for", ()),
    (NamesByResourceOnly, "test_a_worker_that_was_cut_off_does_not_hide_its_successors", (4,)),
    (PrunesWhenItWrites, "test_what_its_successor_starts_from_stays", ()),
    (KeepsTheFurthest, "test_written_last_means_by_the_last_job", ()),
    (KeepsTheFurthest, "test_a_worker_that_was_cut_off_does_not_hide_its_successors", (6,)),
    (
        ForgetsTheReported,
        "test_pruning_keeps_the_last_reported_and_the_one_written_last",
        (2, [1, 5]),
    ),
    (NeverPrunes, "test_pruning_keeps_the_last_reported_and_the_one_written_last", (5, [5])),
    (NeverPrunes, "test_the_size_is_that_of_its_checkpoints", ()),
    (SweepsTheLiving, "test_sweeping_spares_later_jobs", ()),
    (NeverSweeps, "test_what_a_killed_writer_leaves_is_never_seen", ()),
    (EvictsTheWholeFolder, "test_what_else_a_trial_writes_is_left_alone", ()),
    (EvictsItsNeighbours, "test_places_do_not_mix", ()),
    (KnowsNoSize, "test_the_size_is_that_of_its_checkpoints", ()),
    (CountsFromAnew, "test_a_job_may_write_several", ()),
    (ListsNothing, "test_places_are_those_that_hold_anything", ()),
    (ListsThoseThatWereAsked, "test_holds_nothing_at_first", ()),
    (ListsThoseThatWereAsked, "test_places_are_those_that_hold_anything", ()),
    (IsKnownHereOnly, "test_a_worker_elsewhere_can_open_it", ()),
    (DescribesItselfWithAPath, "test_a_worker_elsewhere_can_open_it", ()),
]


def make_row(kind):
    class Broken(FolderStore):
        def trial(self, place):
            return kind(Path(self.path, place))

    class Row(StoreConformance):
        def make_store(self, folder):
            return (Broken if issubclass(kind, TrialFolder) else kind)(str(folder))

    return Row()


@pytest.mark.parametrize(
    ("kind", "check", "arguments"),
    BROKEN,
    ids=[f"{kind.__name__}-{check}" for kind, check, _ in BROKEN],
)
def test_the_suite_notices(kind, check, arguments, tmp_path):
    row = make_row(kind)
    row._set_up(tmp_path)
    with pytest.raises((AssertionError, OSError, TypeError)):
        getattr(row, check)(*arguments)


@pytest.mark.parametrize(("check", "arguments"), {row[1]: row[1:] for row in BROKEN}.values())
def test_and_finds_nothing_where_nothing_is_wrong(check, arguments, tmp_path):
    """So that it is the broken promise that is noticed above, and nothing else."""
    row = make_row(TrialFolder)
    row._set_up(tmp_path)
    getattr(row, check)(*arguments)
