"""Sources that want to hang the reader, fill its memory, or be taken for whole."""

import bz2
import json
import os
import subprocess
import sys
import tarfile
import time
import tracemalloc
import zipfile

import numpy as np
import pytest
from source_stories import (
    arch_record,
    json_lines,
    lcbench_run,
    pd1_run,
    pickled,
    spend,
    tar_of,
)

from rungwise.benchmarks import npz, store
from rungwise.errors import TableError
from rungwise.lab.sources import convert, limited_processes, pd1, streams


def refused(source, tmp_path, *words):
    out = tmp_path / "out"
    with pytest.raises(TableError) as caught:
        convert(source, into=out)
    assert str(source) in str(caught.value)
    for word in words:
        assert word in str(caught.value)
    assert not out.exists()


# -- pickles -----------------------------------------------------------------------------------

ENDED = "the reading process ended"
MEMORY = "at most 512 MiB of memory"
ELSE = "a pickle of something else"
PRIME = 2**61 - 1  # whole numbers are hashed modulo this


def number(value, width):
    return value.to_bytes(width, "little")


def with_index(index):
    """An architecture with opcodes for its number."""
    return b"\x80\x04}\x8c\x03200}(\x8c\x0ball_results}\x8c\x0aarch_index" + index + b"us."


PAIRS = b"".join(b"\x94h" + number(n, 1) + b"\x86" for n in range(100))  # 2¹⁰⁰ leaves in one tuple

BOMBS = {
    "an item of 2⁶² bytes": (b"\x80\x04\x8e" + number(2**62, 8), ""),
    "an item of 2³⁶ bytes": (b"\x80\x04\x8e" + number(2**36, 8), ""),
    "a text of 2⁴⁰ bytes": (b"\x80\x04\x8d" + number(2**40, 8), ""),
    "a bytearray of 2³⁶ bytes": (b"\x80\x05\x96" + number(2**36, 8), ""),
    "a memo of 2³¹ places": (b"\x80\x04Nr" + number(2**31, 4) + b".", MEMORY),
    "a frame of 2⁶² bytes": (b"\x80\x04\x95" + number(2**62, 8) + b"N.", "truncated"),
    "millions of sets": (b"\x80\x04(" + b"\x8f" * 4_000_000 + b"t.", MEMORY),
    "millions of marks": (b"\x80\x04" + b"(" * 8_000_000, ""),
    "nested lists": (b"\x80\x04" + b"]" * 1_000_000 + b"a" * 999_999 + b".", ELSE),
    "nested tuples": (b"\x80\x04)" + b"\x85" * 1_000_000 + b".", ELSE),
    "a nested number": (with_index(b"]" * 100_000 + b"a" * 99_999), "unknown architecture"),
    "a number of many parts": (with_index(b")" + PAIRS), "unknown architecture"),
    "millions of digits": (b"L" + b"9" * 8_000_000 + b"L\n.", "damaged"),
    "a persistent object": (b"\x80\x04NQ.", "persistent"),
}


@pytest.mark.proc  # limits of memory
@pytest.mark.parametrize("what", BOMBS)
def test_bombs_are_refused_by_name(tmp_path, nats_folder, what):
    content, words = BOMBS[what]
    folder = nats_folder({})
    (folder / "000001.pickle.pbz2").write_bytes(bz2.compress(content, 1))
    refused(folder, tmp_path, "000001.pickle.pbz2", words)


HANGS = {
    "keys that collide": b"\x80\x04}("
    + b"".join(b"\x8a\x0a" + number(PRIME * n, 10) + b"N" for n in range(9, 100_000))
    + b"u.",
    "a key of many parts": b"\x80\x04})" + PAIRS + b"Ns.",
    "a key nested too deeply for the stack": b"\x80\x04})" + b"\x85" * 4_000_000 + b"Ns.",
}


@pytest.mark.parametrize("what", HANGS)
def test_what_hangs_or_crashes_python_is_refused_by_name(
    tmp_path, nats_folder, monkeypatch, fresh_processes, what
):
    limits = limited_processes.LIMITS._replace(seconds=0.5)
    monkeypatch.setattr(limited_processes, "LIMITS", limits)
    folder = nats_folder({index: arch_record(index) for index in (0, 2, 3, 4)})
    (folder / "000001.pickle.pbz2").write_bytes(bz2.compress(HANGS[what], 1))
    refused(folder, tmp_path, "000001.pickle.pbz2", ENDED, "at most 0.5 seconds")


def test_nothing_is_printed_for_a_hostile_file(tmp_path, nats_folder, capfd, fresh_processes):
    """Python reports the fault of a half-made bytearray on its own."""
    folder = nats_folder({})
    content, _ = BOMBS["a bytearray of 2³⁶ bytes"]
    (folder / "000001.pickle.pbz2").write_bytes(bz2.compress(content))
    refused(folder, tmp_path, "000001.pickle.pbz2")
    assert capfd.readouterr() == ("", "")


def test_time_is_counted_for_each_file(nats_folder, monkeypatch, fresh_processes):
    limits = limited_processes.LIMITS._replace(seconds=0.2)
    monkeypatch.setattr(limited_processes, "LIMITS", limits)
    tasks = [(str(number), 0.12) for number in range(4)]
    assert list(limited_processes.map_limited(spend, tasks, 1)) == [0.12] * 4
    with pytest.raises(TableError, match=f"^5 is unreadable, .*{ENDED}"):
        list(limited_processes.map_limited(spend, [*tasks, ("5", 9.0), ("6", 0.01)], 2))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
def test_a_pipe_in_place_of_an_architecture_is_not_waited_for(tmp_path, nats_folder):
    folder = nats_folder({})
    os.mkfifo(folder / "000001.pickle.pbz2")
    refused(folder, tmp_path, "000001.pickle.pbz2 is a device or pipe")


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


# -- processes ---------------------------------------------------------------------------------


def end_process(name, content):
    if content:
        os._exit(1)
    return name


def slow_tasks(count, deadly):
    """Tasks that come so slowly that a process has ended before the last is handed over."""
    for number in range(count):
        time.sleep(0.1)
        yield f"file {number}", number == deadly


@pytest.mark.parametrize("workers", [1, 2])
def test_the_file_that_ended_a_process_is_named_at_once(workers, fresh_processes):
    answers = limited_processes.map_limited(end_process, slow_tasks(12, 3), workers)
    with pytest.raises(TableError, match=r"^file 3 is unreadable, but .* damaged: download it"):
        list(answers)


def test_a_script_without_a_guard_is_not_blamed_on_a_file(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "from rungwise.lab.sources import limited_processes\n"
        "def length(name, content): return len(name)\n"
        "print(list(limited_processes.map_limited(length, [('a', 0)], 1)))\n"
    )
    ran = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=False, timeout=120
    )
    assert ran.returncode != 0
    assert 'put the call under if __name__ == "__main__"' in ran.stderr.splitlines()[-1]


# -- arrays ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "shape"), [("<U0", (10**12,)), ("<f4", (0, 10**12)), ("|S0", (10**12,))]
)
def test_an_array_of_nothing_may_not_be_endless(tmp_path, dtype, shape):
    header = repr({"descr": dtype, "fortran_order": False, "shape": shape}).encode()
    header += b" " * (53 - len(header) % 64 + 64) + b"\n"
    npy = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    path = tmp_path / "curves.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("names.npy", npy)
    with pytest.raises(TableError, match=r"declares the shape|is an array of"):
        npz.unpack_arrays(path, path.read_bytes(), foreign=True)
