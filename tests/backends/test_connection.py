"""The tuner's end of a worker's socket: what it takes for a message, and what ends the worker."""

import json
import socket
import threading

import pytest

from rungwise.backends import connection
from rungwise.backends.connection import Connection

REPORT = ["report", 3, 1, 0.5, {"seconds": 1}]


@pytest.fixture
def ends():
    ours, theirs = socket.socketpair()
    yield Connection(ours), theirs
    ours.close()
    theirs.close()


def line(message):
    return json.dumps(message).encode() + b"\n"


def test_messages_come_whole_however_they_are_cut(ends):
    tuner, worker = ends
    data = line(["ready"]) + line(REPORT) + line(["ended", 3])
    found = []
    for number in range(len(data)):
        worker.sendall(data[number : number + 1])
        found += tuner.receive()
    assert found == [["ready"], REPORT, ["ended", 3]]
    assert tuner.receive() == []
    worker.close()
    assert tuner.receive() is None


@pytest.mark.parametrize(
    "said",
    [
        b"\n",
        b"5\n",
        b"[]\n",
        b"{}\n",
        b"[1]\n",
        b'["report"]\n',
        b'["report", 3, "1", 0.5, {}]\n',
        b'["report", 3, 1, null, {}]\n',
        b'["report", 3, 1, 0.5, [1]]\n',
        b'["saved", 3, 1, "much"]\n',
        b'["unheard of", 3]\n',
        b'["report", true, 1, 0.5, {}]\n',
        b'["report", -1, 1, 0.5, {}]\n',
        b'["report", 3, 1e300, 0.5, {}]\n',
        b'["report", 3, Infinity, 0.5, {}]\n',
        b'["report", 3, NaN, 0.5, {}]\n',
        b'["report", 3, true, 0.5, {}]\n',
        b'["report", 3, -1, 0.5, {}]\n',
        b'["report", 3, 0, 0.5, {}]\n',
        b'["report", 3, 1, true, {}]\n',
        b'["report", 3, 1, 1' + b"0" * 400 + b", {}]\n",
        b'["report", 3, 1, 0.5, {"m": {}}]\n',
        b'["report", 3, 1, 0.5, {"m": "x"}]\n',
        b'["report", 3, 1, 0.5, {"m": null}]\n',
        b'["report", 3, 1, 0.5, {"m": true}]\n',
        b'["saved", 3, 1, 1' + b"0" * 400 + b"]\n",
        b'["saved", 3, 1, -1]\n',
        b'["saved", 3, Infinity, 1]\n',
        b'["started", 1' + b"0" * 400 + b"]\n",
        b'["exited", {}, "x"]\n',
        b"[" * 100_000 + b"\n",
        b"words of a program that has found the socket\n",
        b"\xff\xfe\n",
    ],
)
def test_whoever_sends_something_else_counts_as_gone(ends, said):
    """And raises nothing: one worker must not end the study."""
    tuner, worker = ends
    worker.sendall(said)
    assert tuner.receive() is None


def test_a_line_is_bounded(ends, monkeypatch):
    monkeypatch.setattr(connection, "LONGEST_LINE", 1000)
    tuner, worker = ends
    worker.sendall(b"[" + b"1" * 998)
    assert tuner.receive() == []
    worker.sendall(b"11")
    assert tuner.receive() is None


def test_a_long_line_arrives_whole(ends):
    tuner, worker = ends
    text = "x" * 3_000_000
    sender = threading.Thread(target=worker.sendall, args=(line(["notice", 3, text]),))
    sender.start()
    found = []
    while not found:
        found = tuner.receive()
    sender.join()
    assert found == [["notice", 3, text]]
