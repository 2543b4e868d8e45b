"""The conformance suite of checkpoint stores, to subclass in a test module.

Example::

    class TestMyStore(StoreConformance):
        def make_store(self, folder):
            return MyStore(str(folder))

A store is a value: workers in other processes get what its ``to_json`` returns. Where
:func:`rungwise.checkpoints.store_from_json` does not know it, name a function of your own as
``loader``.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import pytest

from rungwise.checkpoints import CheckpointStore

PLACE = "trial-00007"

_CHILD = "import sys; from rungwise.testing.stores import act; act(*sys.argv[1:])"


class StoreConformance:
    """Subclass it and give :meth:`make_store`.

    Attributes:
        loader: the import path of the function that makes a store from its JSON.
    """

    loader: ClassVar[str] = "rungwise.checkpoints:store_from_json"

    def make_store(self, folder: Path) -> CheckpointStore:
        """A store that holds nothing; files belong into the folder."""
        raise NotImplementedError

    @pytest.fixture(autouse=True)
    def _fresh_store(self, tmp_path: Path) -> None:
        self._set_up(tmp_path)

    def _set_up(self, folder: Path) -> None:
        self.elsewhere = folder / "elsewhere"
        self.elsewhere.mkdir()
        self.store = self.make_store(folder / "store")
        self.checkpoints = self.store.trial(PLACE)

    # -- helpers -------------------------------------------------------------------------------

    def _save(self, resource: float, job: int = 0, text: str = "x", place: str = PLACE) -> None:
        with self.store.trial(place).writing(resource, job) as folder:
            (folder / "model").write_text(text)

    def _found(self, place: str = PLACE) -> list[tuple[float, int]]:
        return [(found.resource, found.job) for found in self.store.trial(place).committed()]

    def _text_at(self, at_most: float) -> str | None:
        found = self.checkpoints.latest(at_most=at_most)
        if found is None:
            return None
        return (self.checkpoints.fetch(found) / "model").read_text()

    def _start_child(self, what: str, resource: float, job: int) -> subprocess.Popen[str]:
        document = json.dumps(self.store.to_json(), allow_nan=False)
        arguments = [self.loader, document, what, str(resource), str(job)]
        return subprocess.Popen(  # noqa: S603 - our own Python
            [sys.executable, "-c", _CHILD, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=self.elsewhere,  # a worker need not share the tuner's working folder
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )

    # -- committing ----------------------------------------------------------------------------

    def test_holds_nothing_at_first(self) -> None:
        """Reading, or removing what is not there, neither fails nor leaves anything behind."""
        assert (self._found(), self.checkpoints.size()) == ([], 0)
        assert self.checkpoints.latest(at_most=math.inf) is None
        self.checkpoints.prune(reported=3)
        self.checkpoints.sweep()
        self.checkpoints.sweep(up_to=3)
        self.checkpoints.evict()
        assert isinstance(self.checkpoints.folder, Path)
        assert list(self.store.places()) == []

    def test_gives_back_what_was_written(self) -> None:
        """All files, in folders of folders, to the byte; in a local folder, as often as asked."""
        data = bytes(range(256)) * 100
        with self.checkpoints.writing(9, 12) as folder:
            assert list(folder.iterdir()) == []
            (folder / "a" / "b").mkdir(parents=True)
            (folder / "a" / "b" / "weights").write_bytes(data)
            (folder / "a" / "empty").write_bytes(b"")
            (folder / "é ☃.txt").write_text("x")
        (found,) = self.checkpoints.committed()
        assert (found.resource, found.job, found.number) == (9, 12, 0)
        assert found == self.checkpoints.latest(at_most=9)
        for _ in range(2):
            local = self.checkpoints.fetch(found)
            files = {str(p.relative_to(local)) for p in local.rglob("*") if p.is_file()}
            assert files == {"a/b/weights", "a/empty", "é ☃.txt"}
            assert (local / "a" / "b" / "weights").read_bytes() == data

    def test_is_committed_when_the_block_ends(self) -> None:
        """Not before."""
        self._save(1)
        with self.checkpoints.writing(2, 0) as folder:
            (folder / "model").write_text("half")
            assert (self._found(), self._text_at(2)) == ([(1, 0)], "x")
            (folder / "model").write_text("whole")
        assert (self._found(), self._text_at(2)) == ([(1, 0), (2, 0)], "whole")

    @pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt, SystemExit])
    def test_an_exception_in_the_block_leaves_nothing(self, error: type[BaseException]) -> None:
        """It is raised, and what was written before it is gone."""
        self._save(1)
        size = self.checkpoints.size()
        with pytest.raises(error), self.checkpoints.writing(2, 0) as folder:
            _save_half(folder, error)
        assert (self._found(), self.checkpoints.size()) == ([(1, 0)], size)
        self._save(2, text="second")  # it does not stand in the way
        assert self._text_at(2) == "second"

    def test_what_a_killed_writer_leaves_is_never_seen(self) -> None:
        """Nor is it mixed into what another job writes there; sweeping removes it."""
        self._save(1)
        size = self.checkpoints.size()
        with self._start_child("hang", 2, 3) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == "writing\n"
            assert self._found() == [(1, 0)]
            child.kill()
        assert self._found() == [(1, 0)]
        self._save(2, job=4)
        self.checkpoints.sweep(up_to=3)
        assert (self._found(), self.checkpoints.size()) == ([(1, 0), (2, 4)], 2 * size)
        local = self.checkpoints.fetch(self.checkpoints.committed()[1])
        assert [path.name for path in local.iterdir()] == ["model"]

    # -- finding -------------------------------------------------------------------------------

    def test_order_is_that_of_numbers(self) -> None:
        """Of resources, then of jobs, then in which they were written; not of texts."""
        for resource, job in [(10, 9), (9, 10), (10, 10), (2.5, 11), (100, 1)]:
            self._save(resource, job)
        assert self._found() == [(2.5, 11), (9, 10), (10, 9), (10, 10), (100, 1)]
        assert self.checkpoints.committed() == sorted(self.checkpoints.committed())

    def test_latest_is_not_beyond_what_is_asked_for(self) -> None:
        """A job never starts beyond what was reported."""
        for resource in (1, 2.5, 9, 10):
            self._save(resource, text=str(resource))
        asked = (0, 0.5, 1, 2, 2.5, 8.9, 9, 9.5, 10, 11, math.inf)
        expected = [None, None, "1", "1", "2.5", "2.5", "9", "9", "10", "10", "10"]
        assert [self._text_at(at_most) for at_most in asked] == expected

    @pytest.mark.parametrize("resource", [1e-7, 0.1, 1 / 3, 2.5, 12345678, 1e15 + 0.5, 2**53])
    def test_every_resource_is_found_again(self, resource: float) -> None:
        """Exactly: the next one below is not as far."""
        self._save(resource)
        assert (self._found(), self._text_at(resource)) == ([(resource, 0)], "x")
        assert self._text_at(math.nextafter(resource, 0)) is None

    def test_a_job_may_write_several(self) -> None:
        """Also at one resource: the later one counts, also when earlier ones were removed."""
        for text in ("first", "second"):
            self._save(3, text=text)
        assert self._text_at(3) == "second"
        self.checkpoints.prune(reported=3)
        assert self._found() == [(3, 0)]
        for number in range(12):  # more than one digit
            self._save(3, text=str(number))
        found = self.checkpoints.committed()
        texts = [(self.checkpoints.fetch(one) / "model").read_text() for one in found]
        assert texts == ["second", *map(str, range(12))]
        assert self._text_at(3) == "11"

    # -- removing ------------------------------------------------------------------------------

    @pytest.mark.parametrize(
        ("reported", "kept"),
        [(0, [5]), (1, [1, 5]), (2, [1, 5]), (4, [4, 5]), (5, [5]), (9, [5])],
    )
    def test_pruning_keeps_the_last_reported_and_the_one_written_last(
        self, reported: float, kept: list[float]
    ) -> None:
        """One to start from now, and one to start from once it is reported."""
        for resource in (1, 3, 4, 5):
            self._save(resource)
        for _ in range(2):
            self.checkpoints.prune(reported=reported)
            assert [resource for resource, _ in self._found()] == kept

    def test_written_last_means_by_the_last_job(self) -> None:
        """Not the furthest: that may be of a job that died before it could report as far."""
        self._save(1, job=0)
        self._save(6, job=0)
        self._save(4, job=1)
        self.checkpoints.prune(reported=1)
        assert self._found() == [(1, 0), (4, 1)]
        self.checkpoints.prune(reported=4)
        assert self._found() == [(4, 1)]

    def test_sweeping_spares_later_jobs(self) -> None:
        """And everything that was committed."""
        self._save(1, job=2)
        blocks = [self.checkpoints.writing(2, job) for job in (3, 5, 12)]
        for block in blocks:
            (block.__enter__() / "model").write_text("whole")
        self.checkpoints.sweep(up_to=3)
        for block in blocks[1:]:
            block.__exit__(None, None, None)
        assert [found for found in self._found() if found[1] != 3] == [(1, 2), (2, 5), (2, 12)]
        with suppress(Exception):  # it may have lost what it had written
            blocks[0].__exit__(None, None, None)
        for found in self.checkpoints.committed():
            assert [path.name for path in self.checkpoints.fetch(found).iterdir()] == ["model"]

    def test_evicting_removes_all(self) -> None:
        """The place holds nothing any more, and can be used again."""
        for resource in (1, 2, 3):
            self._save(resource)
        self.checkpoints.evict()
        assert (self._found(), self.checkpoints.size()) == ([], 0)
        assert self.checkpoints.latest(at_most=math.inf) is None
        assert list(self.store.places()) == []
        self._save(2, text="again")
        assert self._text_at(9) == "again"

    def test_what_else_a_trial_writes_is_left_alone(self) -> None:
        """Whichever checkpoints are removed."""
        folder = self.checkpoints.folder
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "curve.csv").write_text("1,2")
        for resource in (1, 2):
            self._save(resource)
        self.checkpoints.prune(reported=2)
        self.checkpoints.sweep()
        self.checkpoints.evict()
        assert (self.store.trial(PLACE).folder / "curve.csv").read_text() == "1,2"

    def test_the_size_is_that_of_its_checkpoints(self) -> None:
        """Give or take a little; what quotas go by."""
        block = os.urandom(100_000)  # it cannot be compressed
        for resource in (1, 2, 3):
            with self.checkpoints.writing(resource, 0) as folder:
                (folder / "sub").mkdir()
                (folder / "sub" / "model").write_bytes(block)
            assert 100_000 * resource <= self.checkpoints.size() <= 110_000 * resource
        self.checkpoints.prune(reported=3)
        assert 100_000 <= self.checkpoints.size() <= 110_000

    def test_evicting_since_a_job_spares_earlier_ones(self) -> None:
        """Those of jobs that a tuner has never started are of another course of the study."""
        for job in (1, 2, 3):
            self._save(job, job=job)
        self.checkpoints.evict(since=2)
        assert self._found() == [(1, 1)]
        self.checkpoints.evict(since=2)
        assert self._text_at(9) == "x"

    def test_local_copies_can_be_fetched_again(self) -> None:
        """After they were released, when the job has left."""
        self._save(1)
        first = self._text_at(1)
        self.checkpoints.release()
        assert first == self._text_at(1) == "x"
        self.checkpoints.release()

    def test_a_check_leaves_nothing(self) -> None:
        """Where nothing is wrong it is silent."""
        self.store.check()
        assert list(self.store.places()) == []
        self._save(1)
        self.store.check()
        assert (list(self.store.places()), self._found()) == ([PLACE], [(1, 0)])

    # -- places --------------------------------------------------------------------------------

    def test_places_are_those_that_hold_anything(self) -> None:
        """Each once."""
        names = ["trial-00001", "trial-00010", "retrain-00001-to-9", "retrain-00001-to-2.5"]
        for name in names:
            self._save(1, place=name)
            self._save(2, place=name)
        self.store.trial("trial-00002").committed()
        assert sorted(self.store.places()) == sorted(names)
        self.store.trial(names[0]).evict()
        assert sorted(self.store.places()) == sorted(names[1:])

    def test_places_do_not_mix(self) -> None:
        """Not even where one's name is the beginning of the other's."""
        places = ["retrain-00001-to-2", "retrain-00001-to-27"]
        for place in places:
            for resource in (1, 2):
                self._save(resource, text=place, place=place)
        other = self.store.trial(places[1])
        half = other.writing(3, 0)
        (half.__enter__() / "model").write_text("whole")
        size = other.size()
        self.store.trial(places[0]).prune(reported=2)
        self.store.trial(places[0]).sweep()
        self.store.trial(places[0]).evict()
        assert (self._found(places[1]), other.size()) == ([(1, 0), (2, 0)], size)
        half.__exit__(None, None, None)
        texts = [(other.fetch(found) / "model").read_text() for found in other.committed()]
        assert texts == [places[1], places[1], "whole"]

    # -- workers -------------------------------------------------------------------------------

    def test_a_worker_elsewhere_can_open_it(self) -> None:
        """From plain JSON, in another process and another working folder."""
        document = self.store.to_json()
        assert json.loads(json.dumps(document, allow_nan=False)) == document
        assert _load(self.loader, document).to_json() == document
        self._save(1, text="of the tuner")
        with self._start_child("add", 2, 5) as child:
            said, _ = child.communicate()
        assert (child.returncode, said) == (0, "of the tuner\n")
        assert self._found() == [(1, 0), (2, 5)]
        assert self._text_at(2) == "of the tuner, and of a worker"

    @pytest.mark.parametrize("late", [3, 4, 6])
    def test_a_worker_that_was_cut_off_does_not_hide_its_successors(self, late: float) -> None:
        """It may commit whatever and whenever: the successor's is found, and outlives pruning."""
        self._save(1, job=0)
        with self._cut_off(late):
            self._save(4, job=1, text="of the successor")
        assert self._text_at(4) == "of the successor"
        self.checkpoints.prune(reported=4)
        assert self._text_at(4) == "of the successor"
        self._save(late, job=0, text="later still")
        assert self._text_at(4) == "of the successor"
        self.checkpoints.prune(reported=4)
        assert self._found() == [(4, 1)]

    def test_nor_does_it_get_into_what_they_are_writing(self) -> None:
        """Both write at one resource at one time, and one of them fails."""
        with suppress(ZeroDivisionError), self._cut_off(4):
            self._save(4, job=1, text="of the successor")
            raise ZeroDivisionError
        assert (self._found(), self._text_at(4)) == ([(4, 1)], "of the successor")
        (found,) = self.checkpoints.committed()
        assert [path.name for path in self.checkpoints.fetch(found).iterdir()] == ["model"]

    def test_what_its_successor_starts_from_stays(self) -> None:
        """Writing removes nothing: only the tuner does."""
        self._save(1, text="to start from")
        for resource in (2, 3, 4):
            self._save(resource)
        assert self._text_at(1) == "to start from"

    @contextmanager
    def _cut_off(self, resource: float) -> Iterator[None]:
        """Job 0 is writing all the while."""
        with self.checkpoints.writing(resource, 0) as folder:
            (folder / "model").write_text("of one that was cut off")
            (folder / "more").write_text("of one that was cut off")
            yield

    def test_the_tuner_removes_while_workers_write_and_look(self) -> None:
        """At the same time, without errors and without losing a checkpoint."""
        done = threading.Event()

        def remove() -> None:
            while not done.is_set():
                self.checkpoints.size()
                self.checkpoints.prune(reported=1000)
                self.checkpoints.sweep(up_to=-1)
                list(self.store.places())

        with ThreadPoolExecutor(1) as thread:
            removing = thread.submit(remove)
            try:
                for resource in range(1, 40):
                    self._save(resource, job=resource // 10, text=str(resource))
                    assert self._found()[-1][0] == resource
            finally:
                done.set()
            removing.result()
        self.checkpoints.prune(reported=1000)
        assert (self._found(), self._text_at(1000)) == ([(39, 3)], "39")


def _save_half(folder: Path, error: type[BaseException]) -> None:
    (folder / "model").write_text("half")
    raise error


def _load(loader: str, document: dict[str, Any]) -> CheckpointStore:
    module, _, name = loader.partition(":")
    store = getattr(import_module(module), name)(document)
    assert isinstance(store, CheckpointStore)
    return store


def act(loader: str, document: str, what: str, resource: str, job: str) -> None:
    """What a worker process does: ``hang`` while it writes, or ``add`` to what it finds."""
    checkpoints = _load(loader, json.loads(document)).trial(PLACE)
    if what == "hang":
        with checkpoints.writing(float(resource), int(job)) as folder:
            (folder / "half").write_text("half")
            print("writing", flush=True)  # noqa: T201 - to the test
            sys.stdin.read()
        return
    (found,) = checkpoints.committed()
    text = (checkpoints.fetch(found) / "model").read_text()
    print(text, flush=True)  # noqa: T201 - to the test
    with checkpoints.writing(float(resource), int(job)) as folder:
        (folder / "model").write_text(f"{text}, and of a worker")
