"""Each worker's share of the machine."""

import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from rungwise.backends import hardware
from rungwise.backends.hardware import THREAD_VARIABLES, VISIBLE, environment, share_out
from rungwise.errors import InvalidArgumentError

FOUR = ("0", "1", "2", "3")


@pytest.fixture(autouse=True)
def a_machine(monkeypatch):
    """Eight processors, and nothing set from outside."""
    monkeypatch.setattr(hardware, "cores", lambda: 8)
    for name in (*THREAD_VARIABLES, VISIBLE):
        monkeypatch.delenv(name, raising=False)


def seen(workers, share, devices):
    return [given[VISIBLE] for given in share_out(workers, share, devices=devices)]


# -- how many workers --------------------------------------------------------------------------


def test_auto_is_one_a_processor_without_gpus():
    given = share_out("auto", None, devices=())
    assert len(given) == 8
    assert all(VISIBLE not in variables for variables in given)


@pytest.mark.parametrize(
    ("share", "workers"),
    [(None, 4), (1, 4), (2, 2), (3, 1), (4, 1), (0.5, 8), (0.25, 16), (1 / 3, 12)],
)
def test_auto_is_as_many_as_the_gpus_serve(share, workers):
    assert len(share_out("auto", share, devices=FOUR)) == workers


def test_auto_without_use_for_gpus_is_one_a_processor_that_sees_none():
    assert seen("auto", 0, FOUR) == [""] * 8


@pytest.mark.parametrize("workers", [1, 3, np.int64(3)])
def test_as_many_as_asked_for(workers):
    assert len(share_out(workers, None, devices=())) == workers


@pytest.mark.parametrize("workers", [0, -1, 1.5, "three", "4", None, True, []])
def test_bad_numbers_of_workers_are_refused(workers):
    with pytest.raises(InvalidArgumentError, match=r"workers is .*whole number of at least 1"):
        share_out(workers, None, devices=())


# -- which devices -----------------------------------------------------------------------------


def test_whole_devices_are_nobody_elses():
    assert seen(4, 1, FOUR) == ["0", "1", "2", "3"]
    assert seen(2, 2, FOUR) == ["0,1", "2,3"]
    assert seen(2, 1, FOUR) == ["0", "1"]


def test_fractions_fill_one_device_before_the_next():
    assert seen(4, 0.5, FOUR) == ["0", "0", "1", "1"]
    assert seen(3, 1 / 3, FOUR) == ["0", "0", "0"]
    assert seen(8, 0.5, FOUR) == list("00112233")


def test_what_there_is_is_shared_out_by_default():
    assert seen(1, None, FOUR) == ["0,1,2,3"]
    assert seen(2, None, FOUR) == ["0,1", "2,3"]
    assert seen(3, None, FOUR) == ["0", "1", "2"]
    assert seen(8, None, FOUR) == list("00112233")


@pytest.mark.parametrize("devices", [1, 2, 3, 4])
@pytest.mark.parametrize("workers", range(1, 12))
def test_no_device_gets_two_workers_more_than_another_by_default(workers, devices):
    counted = Counter(",".join(seen(workers, None, FOUR[:devices])).split(","))
    assert max(counted.values()) - min(counted.values()) <= 1
    if workers >= devices:
        assert len(counted) == devices


def test_no_use_for_gpus_hides_them():
    assert seen(2, 0, FOUR) == ["", ""]
    assert seen(2, 0, ()) == ["", ""]


@pytest.mark.parametrize(
    ("workers", "share", "argument", "rule"),
    [
        (1, 5, "gpus_per_worker", "only 4 GPUs were found: ask for at most 4"),
        (5, 1, "workers", "5 × 1 GPUs do not fit on the 4 found: at most 4 workers are possible"),
        (3, 2, "workers", "3 × 2 GPUs do not fit on the 4 found: at most 2 workers are possible"),
        (9, 0.5, "workers", r"9 × 0\.5 GPUs do not fit on the 4 found: at most 8 workers are"),
        (1, 1.5, "gpus_per_worker", "a whole number, or a fraction below 1"),
        (1, -1, "gpus_per_worker", "at least 0"),
        (1, float("nan"), "gpus_per_worker", "finite"),
        (1, "1", "gpus_per_worker", "finite"),
        (1, True, "gpus_per_worker", "finite"),
    ],
)
def test_what_cannot_be_is_refused(workers, share, argument, rule):
    with pytest.raises(InvalidArgumentError, match=rule) as refused:
        share_out(workers, share, devices=FOUR)
    assert refused.value.argument == argument


def test_one_missing_gpu_is_told_in_the_singular():
    with pytest.raises(InvalidArgumentError, match="no GPU was found: leave it out"):
        share_out(1, 1, devices=())
    with pytest.raises(InvalidArgumentError, match="only 1 GPU was found: ask for at most 1"):
        share_out(1, 2, devices=("0",))


@pytest.mark.parametrize(
    ("variable", "expected"),
    [
        ("2,5", ("2", "5")),
        (" 2 , 5 ", ("2", "5")),
        ("GPU-8d1e,GPU-77aa", ("GPU-8d1e", "GPU-77aa")),
        ("MIG-GPU-1/7/0", ("MIG-GPU-1/7/0",)),
        ("", ()),
        ("-1", ()),
        ("3,-1,4", ("3",)),
    ],
)
def test_what_was_given_is_handed_on_as_it_is_spelled(monkeypatch, variable, expected):
    monkeypatch.setenv(VISIBLE, variable)
    assert hardware.gpus() == expected
    given = share_out("auto", None)
    if expected:
        assert [variables[VISIBLE] for variables in given] == list(expected)
    else:
        assert len(given) == 8
        assert environment(given[0])[VISIBLE] == variable


def test_otherwise_the_devices_of_the_system_count(monkeypatch):
    names = ("nvidia10", "nvidia2", "nvidia0", "nvidiactl", "nvidia-uvm", "nvidia-caps")
    monkeypatch.setattr(Path, "glob", lambda *_: [Path("/dev", name) for name in names])
    assert hardware.gpus() == ("0", "1", "2")  # as CUDA counts them


@pytest.mark.parametrize("share", [0.6, 0.4, 0.3])
def test_no_device_is_shared_by_more_than_it_holds(share):
    devices = [str(number) for number in range(8)]
    shares = [
        variables[hardware.VISIBLE] for variables in share_out("auto", share, devices=devices)
    ]
    most = max(shares.count(device) for device in devices)
    assert most * share <= 1
    assert len(shares) == 8 * most


# -- threads and processors --------------------------------------------------------------------


@pytest.mark.parametrize(("workers", "threads"), [(1, "8"), (3, "2"), (8, "1"), (20, "1")])
def test_threads_are_capped_so_that_workers_do_not_fight(workers, threads):
    for variables in share_out(workers, None, devices=()):
        assert variables == dict.fromkeys(THREAD_VARIABLES, threads)


def test_a_cap_of_ones_own_stands(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    (variables,) = share_out(1, None, devices=())
    assert variables["OMP_NUM_THREADS"] == "5"
    assert variables["MKL_NUM_THREADS"] == "8"


def test_a_worker_has_the_whole_environment_and_its_share(monkeypatch):
    monkeypatch.setenv("MINE", "yes")
    whole = environment({VISIBLE: "3"})
    assert (whole["MINE"], whole[VISIBLE]) == ("yes", "3")
    assert VISIBLE not in os.environ


@pytest.mark.parametrize(
    ("quota", "expected"),
    [
        ("max 100000\n", 6),
        ("250000 100000\n", 3),
        ("50000 100000\n", 1),
        ("900000 100000", 6),
        ("?", 6),
    ],
)
def test_processors_are_those_a_container_may_use(monkeypatch, quota, expected):
    monkeypatch.undo()
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(6)), raising=False)
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: quota)
    assert hardware.cores() == expected
