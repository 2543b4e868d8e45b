"""Sources that want to hang the reader, fill its memory, or be taken for whole."""

import bz2
import io
import json
import os
import struct
import tarfile
import tracemalloc
import zipfile

import numpy as np
import pytest
from source_stories import (
    arch_record,
    arch_text,
    json_lines,
    lcbench_run,
    pd1_run,
    pickled,
    tar_of,
)

from rungwise.benchmarks import store
from rungwise.errors import TableError
from rungwise.lab.sources import convert, nats, pd1, streams, unpickling


def refused(source, tmp_path, *words):
    out = tmp_path / "out"
    with pytest.raises(TableError) as caught:
        convert(source, into=out)
    assert str(source) in str(caught.value)
    for word in words:
        assert word in str(caught.value)
    assert not out.exists()


def unpickled(content):
    return unpickling.load(io.BytesIO(content), "a.pickle")


# -- pickles -----------------------------------------------------------------------------------

PRIME = 2**61 - 1  # whole numbers are hashed modulo this


def test_keys_whose_hashes_collide_are_refused():
    def content(many):
        keys = (b"\x8a\x0a" + (PRIME * n).to_bytes(10, "little") + b"N" for n in range(9, many + 9))
        return b"\x80\x04}(" + b"".join(keys) + b"u."

    assert len(unpickled(content(unpickling.MOST_ODD))) == unpickling.MOST_ODD
    with pytest.raises(TableError, match="strange keys"):
        unpickled(content(unpickling.MOST_ODD + 1))
    pairs = (struct.pack("<BiBiBB", 0x4A, n, 0x4A, -n, 0x86, 0x4E) for n in range(2001))
    with pytest.raises(TableError, match="strange keys"):
        unpickled(b"\x80\x04}(" + b"".join(pairs) + b"u.")


def test_many_plain_keys_are_not_strange():
    value = dict.fromkeys(range(-9000, 9000)) | {("cifar10", n): n for n in range(9000)}
    content = bz2.decompress(pickled(value))
    assert unpickling.load(io.BytesIO(content), "a.pickle", limit=2**26) == value


def grown(content):
    tracemalloc.start()
    try:
        with pytest.raises(TableError, match="part of more than"):
            unpickled(content)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_what_is_made_again_and_again_of_one_object_counts():
    items = b"".join(b"J" + struct.pack("<i", n) for n in range(50_000))
    many_sets = b"]\x94(" + items + b"e0cbuiltins\nset\n\x940](" + b"h\x01h\x00\x85R" * 500 + b"e."
    assert grown(b"\x80\x04" + many_sets) < 2**26
    text = b"B" + struct.pack("<I", 999_999) + b"a" * 999_999 + b"\x940"
    kind = b"cnumpy\ndtype\nX\x07\x00\x00\x00S999999\x85R\x940"
    maker = b"cnumpy.core.multiarray\nscalar\n\x940"
    copies = b"](" + b"h\x02h\x01h\x00\x86R" * 500 + b"e."
    assert grown(b"\x80\x04" + text + kind + maker + copies) < 2**26
    assert grown(b"\x80\x04]" + (b"(" + b"\x8f" * 4000 + b"e") * 500 + b".") < 2**27


def record(more=b""):
    """An architecture without results, as opcodes."""
    text = arch_text(1).encode()
    return (
        b"}X\x03\x00\x00\x00200}(X\x0b\x00\x00\x00all_results}X\x0a\x00\x00\x00arch_indexK\x01"
        b"X\x08\x00\x00\x00arch_strX" + struct.pack("<I", len(text)) + text + more + b"us"
    )


def single(tmp_path, content):
    path = tmp_path / "NATS-tss-v1_0-3ffb9.pickle.pbz2"
    path.write_bytes(bz2.compress(content))
    return path


def test_more_architectures_than_there_are_end_early(tmp_path, monkeypatch):
    monkeypatch.setattr(nats, "TOTAL", 20)
    path = single(tmp_path, b"\x80\x04]" + (record() + b"a") * 21 + b".")
    refused(path, tmp_path, "of too many", "there are 20")
    path = single(tmp_path, b"\x80\x04]" + (record() + b"a") * 20 + b".")
    refused(path, tmp_path, "arch2infos")


def test_what_a_long_pickle_remembers_is_limited(tmp_path):
    names = (
        b"X\x08\x00\x00\x00builtins\x940X\x03\x00\x00\x00set\x940" + b"h\x00h\x01\x93\x940" * 1001
    )
    refused(
        single(tmp_path, b"\x80\x04" + names + b"]" + record() + b"a."),
        tmp_path,
        "too many globals",
    )
    long = b"X" + struct.pack("<I", 1001) + b"a" * 1001 + b"\x94"
    # Its number in the memo is 0, and it is gone once its architecture was read.
    path = single(tmp_path, b"\x80\x04](" + record(long + b"N") + b"h\x00e.")
    refused(path, tmp_path, "refers to its object 0")
    short = b"X" + struct.pack("<I", 1000) + b"a" * 1000 + b"\x94"
    path = single(tmp_path, b"\x80\x04](" + record(short + b"N") + b"h\x00e.")
    refused(path, tmp_path, "arch2infos")


def test_numbers_too_large_for_a_float_are_refused_by_name(tmp_path, nats_folder):
    wrong = arch_record(3)
    wrong["200"]["all_results"]["cifar10", 777]["train_times"][5] = 2**2000
    refused(nats_folder({3: wrong}), tmp_path, "000003.pickle.pbz2")


def test_architectures_without_results_are_no_benchmark(tmp_path, nats_folder):
    refused(nats_folder({3: arch_record(3, seeds=())}), tmp_path, "without results")


# -- tar files ---------------------------------------------------------------------------------


@pytest.fixture
def nats_tar(tmp_path):
    members = [(f"N/{n:06d}.pickle.pbz2", pickled(arch_record(n, (777,)))) for n in range(3)]
    return tar_of(members, tmp_path / "N.tar", "w")


def test_a_tar_file_cut_between_two_members_is_refused(tmp_path, nats_tar):
    content = nats_tar.read_bytes()
    with tarfile.open(nats_tar) as tar:
        second = tar.getmembers()[1].offset
    for end in (second, second + 100, second + 512):
        nats_tar.write_bytes(content[:end])
        refused(nats_tar, tmp_path, "damaged or cut short")
    flipped = bytearray(content)
    flipped[second + 5] ^= 1  # the sum of the header is wrong now
    nats_tar.write_bytes(flipped)
    refused(nats_tar, tmp_path, "damaged or cut short")


def header(name, size):
    """A header whose size may be negative."""
    block = bytearray(tarfile.TarInfo(name).tobuf(tarfile.GNU_FORMAT))
    block[124:136] = b"\xff" * 4 + size.to_bytes(8, "big", signed=True)
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def test_a_tar_file_that_leads_in_a_circle_is_refused(tmp_path):
    path = tmp_path / "circle.tar"
    path.write_bytes(header("a", 0) + header("b", -512) + bytes(1024))
    refused(path, tmp_path, "damaged or cut short")


def test_a_tar_file_of_too_many_members_is_refused(tmp_path, nats_tar, monkeypatch):
    monkeypatch.setattr(streams, "MOST_MEMBERS", 2)
    refused(nats_tar, tmp_path, "at most 2 files")


# -- texts -------------------------------------------------------------------------------------


def pd1_file(tmp_path, runs):
    path = tmp_path / "pd1_matched_phase1_results.jsonl"
    path.write_bytes(json_lines(runs))
    return path


def test_steps_that_end_in_null_are_those_before(tmp_path):
    path = pd1_file(tmp_path, [pd1_run(0.01, global_step=[100, 200, None])])
    convert(path, into=tmp_path / "out")
    card = store.read_card(tmp_path / "out", "pd1-wmt-xformer-64")
    assert card.details["steps"] == 200


@pytest.mark.parametrize(
    "more",
    [
        {"dataset": "../../etc"},
        {"dataset": "a\nb"},
        {"hps.batch_size": -5},
        {"hps.batch_size": 10**200},
        {"valid/error_rate": [1e300]},
        {"eval_time": [1e300]},
    ],
    ids=str,
)
def test_strange_runs_of_pd1_are_refused_by_name(tmp_path, more):
    refused(pd1_file(tmp_path, [pd1_run(0.02), {**pd1_run(0.01), **more}]), tmp_path)


def test_one_long_curve_does_not_make_all_long(tmp_path, monkeypatch):
    monkeypatch.setattr(pd1, "MOST_VALUES", 100)
    runs = [pd1_run(0.01, errors=[0.5] * 50), pd1_run(0.02, errors=[0.5])]
    assert convert(pd1_file(tmp_path, runs), into=tmp_path / "fine")
    refused(pd1_file(tmp_path, [*runs, pd1_run(0.03, errors=[0.5])]), tmp_path, "at most 100")
    long = pd1_run(0.03, errors=[0.5] * 50)
    refused(pd1_file(tmp_path, [*runs, long]), tmp_path, "at most 100")


@pytest.mark.parametrize("kind", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_zip_files_that_unfold_at_once_are_refused(tmp_path, kind):
    path = tmp_path / "data_2k.zip"
    with (
        zipfile.ZipFile(path, "w", kind) as archive,
        archive.open("data_2k.json", "w", force_zip64=True) as file,
    ):
        for _ in range(100):
            file.write(b" " * 2**20)
    tracemalloc.start()
    refused(path, tmp_path, "stored or deflated")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**24


def test_a_zip_file_with_a_password_is_refused(tmp_path):
    path = tmp_path / "data_2k.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data_2k.json", "{}")
    content = bytearray(path.read_bytes())
    content[content.rindex(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)
    refused(path, tmp_path)


def test_a_number_too_large_to_write_stops_all_of_a_source(tmp_path):
    path = tmp_path / "data_2k.json"
    wrong = lcbench_run(0, **{"Train/val_accuracy": [1e300] * 52})
    path.write_text(json.dumps({"a": {"0": lcbench_run(0)}, "b": {"0": wrong}}))
    refused(path, tmp_path, "'b', configuration '0'")


@pytest.mark.parametrize(
    "more",
    [
        {"dataset_names": np.array(5)},
        {"configs": np.array([["x"] * 7] * 3)},
        {"configs": np.full((3, 7), np.nan)},
        {"val_cross_entropy": np.full((2, 3, 52), "x")},
        {"val_cross_entropy": np.full((2, 3, 52), 1e300)},
        {"val_cross_entropy": np.float64(3)},
    ],
    ids=lambda more: "".join(f"{name}: {array.dtype}" for name, array in more.items()),
)
def test_arrays_of_other_kinds_are_refused_by_name(tmp_path, more):
    path = tmp_path / "lcbench_val_cross_entropy_curves.npz"
    names = ["batch_size", "learning_rate", "momentum", "weight_decay"]
    arrays = {
        "val_cross_entropy": np.ones((2, 3, 52), np.float32),
        "dataset_names": np.array(["a", "b"]),
        "config_names": np.array([*names, "num_layers", "max_units", "max_dropout"]),
        "configs": np.array([[16, 0.01, 0.5, 0.05, 2, 64, 0.2]] * 3, order="F"),
    }
    np.savez(path, **arrays)
    assert convert(path, into=tmp_path / "fine") == ["lcbench-a", "lcbench-b"]
    np.savez(path, **{**arrays, **more})
    refused(path, tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
def test_pipes_and_devices_are_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    refused(tmp_path / "pipe", tmp_path, "a device or pipe")
