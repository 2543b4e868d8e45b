"""Processes of pools leave Ctrl-C to their parent."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor

import pytest

from rungwise import process_pools


def blocked(*, deaf):
    """The signals that a process of a pool does not hear."""
    with ProcessPoolExecutor(1, mp_context=process_pools.spawn_context()) as pool:
        if deaf:
            with process_pools.ignoring_interrupts():
                asked = pool.submit(signal.pthread_sigmask, signal.SIG_BLOCK, ())
        else:
            asked = pool.submit(signal.pthread_sigmask, signal.SIG_BLOCK, ())
        return asked.result()


def test_children_do_not_hear_of_interrupts():
    assert signal.SIGINT in blocked(deaf=True)
    assert signal.SIGINT not in blocked(deaf=False)
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


@pytest.fixture
def _usual():
    """As in a terminal; a shell in the background has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_usual")
def test_an_interrupt_meanwhile_is_heard_afterwards():
    steps = []

    def interrupted():
        with process_pools.ignoring_interrupts():
            signal.raise_signal(signal.SIGINT)
            steps.append("within")
        steps.append("behind")

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert steps == ["within"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.proc
@pytest.mark.parametrize("delay", [0.0, 0.02, 0.3])
def test_an_interrupt_of_a_whole_group_is_one_line(tmp_path, delay):
    command = [sys.executable, "-m", "rungwise", "reproduce", "--processes", "2", "--out", tmp_path]
    process = subprocess.Popen(
        command,
        start_new_session=True,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        # A shell in the background has it ignored, and so would have what it starts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509
    )
    # From when children are there they are importing, which takes most of a second.
    children = f"/proc/{process.pid}/task/{process.pid}/children"
    while len(_read(children).split()) < 3 and process.poll() is None:
        time.sleep(0.005)
    time.sleep(delay)
    os.killpg(process.pid, signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert (process.returncode, told) == (130, "rungwise: interrupted; nothing was written\n")
    assert list(tmp_path.iterdir()) == []


def _read(path):
    try:
        with open(path, encoding="ascii") as file:  # noqa: PTH123 - it may go any moment
            return file.read()
    except OSError:
        return ""
