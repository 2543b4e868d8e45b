"""Where workers on other machines connect: who is let in, and who is dropped."""

import json
import socket
import time

import pytest

from rungwise.backends import listener
from rungwise.backends.listener import Listener


@pytest.fixture
def let_in():
    return []


@pytest.fixture
def listening(let_in):
    opened = Listener("127.0.0.1", lambda greeting, peer: let_in.append((greeting, peer)))
    yield opened
    opened.close()
    for _, peer in let_in:
        peer.close()


def connect(listening, data=b""):
    host, _, port = listening.address.removeprefix("tcp:").rpartition(":")
    peer = socket.create_connection((host, int(port)), 10)
    peer.sendall(data)
    return peer


def greeting(listening, **more):
    return json.dumps({"token": listening.token, "number": 3, **more}).encode() + b"\n"


def until(listening, condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        listening.attend(0.05)


def is_closed(peer):
    peer.settimeout(10)
    try:
        return peer.recv(1) == b""
    except ConnectionResetError:
        return True


def test_a_peer_with_the_token_is_let_in_and_nothing_of_what_follows_is_read(listening, let_in):
    with connect(listening, greeting(listening, more="x") + b'["ready"]\n'):
        until(listening, lambda: let_in)
        ((said, peer),) = let_in
        assert (said["number"], said["more"]) == (3, "x")
        assert peer.recv(100) == b'["ready"]\n'


def test_a_greeting_may_come_in_pieces(listening, let_in):
    whole = greeting(listening)
    with connect(listening, whole[:10]) as peer:
        for _ in range(3):
            listening.attend(0.02)
        assert not let_in
        peer.sendall(whole[10:])
        until(listening, lambda: let_in)


@pytest.mark.parametrize(
    "said",
    [
        b"\n",
        b"{}\n",
        b"[1, 2]\n",
        b'{"token": 7}\n',
        b'{"token": "\xc3\xa9"}\n',
        b'{"token": "' + b"0" * 64 + b'", "number": 0}\n',
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x80\x04\x95\xff\n",
        b"[" * 6000 + b"\n",
        b'{"token": "TOKEN"}\n',
        b'{"token": "TOKEN", "number": [1]}\n',
        b"x" * 20_000,
    ],
)
def test_whatever_else_a_peer_says_it_is_dropped(listening, let_in, said):
    with connect(listening, said.replace(b"TOKEN", listening.token.encode())) as peer:
        until(listening, lambda: listening.refused == 1)
        assert is_closed(peer)
    with connect(listening, greeting(listening)):
        until(listening, lambda: let_in)  # the next one is let in all the same


def test_a_peer_that_says_nothing_is_dropped_in_time(listening, let_in, monkeypatch):
    assert listener.GREETING_TIME == 2
    monkeypatch.setattr(listener, "GREETING_TIME", 0.05)
    with connect(listening) as peer:
        until(listening, lambda: listening.refused == 1)
        assert is_closed(peer)
    assert not let_in


def test_a_crowd_of_strangers_is_bounded_and_does_not_keep_a_worker_out(
    listening, let_in, monkeypatch
):
    monkeypatch.setattr(listener, "MOST_STRANGERS", 8)
    crowd = [connect(listening) for _ in range(20)]
    until(listening, lambda: listening.refused == 12)
    with connect(listening, greeting(listening)):
        until(listening, lambda: let_in)
    assert listening.refused == 13
    for peer in crowd:
        peer.close()


def test_only_the_given_address_is_listened_at(listening):
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.2", int(listening.address.rpartition(":")[2])), 5)


def test_more_workers_than_strangers_are_allowed_may_connect_at_once(listening, let_in):
    """Before the tuner looks for the first time: each is judged when it is accepted."""
    peers = [connect(listening, greeting(listening)) for _ in range(listener.MOST_STRANGERS + 50)]
    until(listening, lambda: len(let_in) + listening.refused == len(peers))
    assert listening.refused == 0
    for peer in peers:
        peer.close()


def test_a_stranger_that_speaks_while_another_pushes_it_out_ends_nothing(
    listening, let_in, monkeypatch
):
    """Both are in one poll: the new one is accepted first, and the old one closed by that."""
    monkeypatch.setattr(listener, "MOST_STRANGERS", 1)
    old = connect(listening)
    until(listening, lambda: len(listening._strangers) == 1)
    with old, connect(listening) as new:
        old.sendall(b"x")
        ready = listening._selector.select

        def accept_first(seconds):
            time.sleep(0.2)
            return sorted(ready(seconds), key=lambda found: found[0].data != listening._accept)

        monkeypatch.setattr(listening._selector, "select", accept_first, raising=False)
        listening.attend(0.05)
        assert is_closed(old)
        new.sendall(greeting(listening))
        until(listening, lambda: let_in)
