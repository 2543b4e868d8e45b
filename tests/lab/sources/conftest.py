"""Files in the formats of the public benchmarks, and the real samples if they are at hand."""

import gzip
from pathlib import Path

import pytest
from source_stories import PD1_NAMES, arch_text, json_lines, pickled, tar_of

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


@pytest.fixture
def nats_single(tmp_path):
    """Make the single file: ``nats_single({index: record})``."""

    def make(infos, protocol=4, **more):
        path = tmp_path / "NATS-tss-v1_0-3ffb9.pickle.pbz2"
        whole = {
            "meta_archs": [arch_text(index) for index in range(100)],
            "total_archs": len(infos),
            "arch2infos": infos,
            "evaluated_indexes": set(infos),
            **more,
        }
        path.write_bytes(pickled(whole, protocol))
        return path

    return make


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
