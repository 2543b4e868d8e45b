"""Objects in processes of their own: calls, errors, and the end of the process."""

import math
import os
import signal
import subprocess
import sys
import time

import pytest

from rungwise.callbacks.remote_object import NICE, RemoteError, RemoteObject

TARGET = "remote_targets:Target"


@pytest.fixture
def remote():
    found = RemoteObject(TARGET, 1, "two")
    yield found
    found.close()


def has_ended(process):
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.01)
    return False


def test_methods_are_called_in_another_process(remote):
    assert remote.call("add", math.inf) == [1, "two", math.inf]
    assert remote.call("add", None) == [1, "two", math.inf, None]
    process, niceness = remote.call("process")
    assert process != os.getpid()
    assert niceness == min(os.getpriority(os.PRIO_PROCESS, 0) + NICE, 19), "workers come first"


def test_what_a_method_raises_is_said_and_the_object_lives_on(remote):
    remote.call("add", 3)
    with pytest.raises(RemoteError, match="KeyError: 'it is not there'"):
        remote.call("fail")
    with pytest.raises(RemoteError, match="SystemExit: it gives up"):
        remote.call("exit")
    assert remote.call("add", 4) == [1, "two", 3, 4]


def test_one_that_cannot_be_made_leaves_no_process():
    for target, words in ((TARGET, "ValueError: no such server"), ("no_such_module:X", "no_such")):
        remote = RemoteObject(target, "broken")
        with pytest.raises(RemoteError, match=words):
            remote.call("add", 1)
        assert remote._process is None


def test_a_process_that_died_is_started_again(remote):
    with pytest.raises(RemoteError, match=r"the process that calls remote_targets:Target has died"):
        remote.call("die")
    process, _ = remote.call("process")
    os.kill(process, signal.SIGKILL)
    with pytest.raises(RemoteError, match="has died"):
        remote.call("add", 1)
    assert remote.call("add", 3) == [1, "two", 3]


def test_closing_ends_the_process(remote):
    process, _ = remote.call("process")
    remote.close()
    assert has_ended(process)
    remote.close()


def test_a_ctrl_c_does_not_reach_it(remote):
    process, _ = remote.call("process")
    os.kill(process, signal.SIGINT)
    time.sleep(0.1)
    assert remote.call("process")[0] == process
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    assert signal.SIGINT not in before, "here it is as it was"


PARENT = """
import sys
from rungwise.callbacks.remote_object import RemoteObject
if __name__ == "__main__":
    remote = RemoteObject("remote_targets:Target")
    print(remote.call("process")[0], flush=True)
    remote.call("write_slowly", sys.argv[1])
"""


def test_it_ends_with_its_parent_also_in_the_middle_of_a_call(tmp_path):
    script, begun = tmp_path / "parent.py", tmp_path / "begun"
    script.write_text(PARENT)
    path = os.pathsep.join(path for path in sys.path if path)
    parent = subprocess.Popen(
        [sys.executable, script, begun],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
    )
    process = int(parent.stdout.readline())
    deadline = time.monotonic() + 10
    while not begun.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    parent.kill()
    parent.communicate()
    assert has_ended(process)
