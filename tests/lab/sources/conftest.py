"""Files in the formats of the public benchmarks, and the real samples if they are at hand."""

import gzip
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from source_stories import PD1_NAMES, json_lines, pickled, tar_of

from rungwise.lab.sources import limited_processes

SHARED = Path(__file__).parents[4] / "shared" / "data"


@pytest.fixture(scope="session")
def shared():
    if not SHARED.is_dir():
        pytest.skip("the shared data is not beside the checkout")
    return SHARED


@pytest.fixture
def nats_folder(tmp_path):
    """Make a folder of architectures: ``nats_folder({index: record})``."""

    def make(records, name="NATS-tss-v1_0-3ffb9-simple"):
        folder = tmp_path / name
        folder.mkdir()
        for index, record in records.items():
            (folder / f"{index:06d}.pickle.pbz2").write_bytes(pickled(record))
        (folder / "meta.pickle.pbz2").write_bytes(pickled({"meta_archs": [], "total_archs": 15625}))
        return folder

    return make


START = limited_processes.start_executors


@pytest.fixture(scope="session")
def warm_processes():
    """The processes that read files, started when they are first needed."""
    executors = []
    with ExitStack() as stack:

        def get(workers):
            while len(executors) < workers:
                executors.extend(stack.enter_context(START(1, limited_processes.LIMITS)))
            return executors[:workers]

        yield get


@pytest.fixture(autouse=True)
def _reuse_processes(request, monkeypatch, warm_processes):
    """They start in half a second: too long for every test; `fresh_processes` has its own."""
    if "fresh_processes" not in request.fixturenames:

        @contextmanager
        def reuse(workers, _limits):
            yield warm_processes(workers)

        monkeypatch.setattr(limited_processes, "start_executors", reuse)


@pytest.fixture
def fresh_processes():
    """For tests that end the processes."""


@pytest.fixture
def pd1_tar(tmp_path):
    """Make ``pd1.tar.gz``: ``pd1_tar(matched, unmatched)``."""

    def make(matched, unmatched, extra=()):
        parts = zip(PD1_NAMES, (matched, unmatched), strict=True)
        members = [
            ("pd1/README.txt", b"about"),
            ("pd1/pd1_matched_phase0_results.jsonl.gz", b"not even compressed"),
            *((f"pd1/{name}", gzip.compress(json_lines(runs))) for name, runs in parts),
            *extra,
        ]
        return tar_of(members, tmp_path / "pd1.tar.gz")

    return make
