"""The launcher of Ray, without Ray: what it does when nothing answers any more."""

import json
import socket
from types import SimpleNamespace

import pytest

from rungwise.backends import ray_launcher
from rungwise.backends.ray_check import NodeChecks
from rungwise.backends.ray_cluster import Cluster, Share
from rungwise.backends.ray_launcher import RayLauncher, RemoteSlot
from rungwise.backends.ray_slot import describe_versions


class FakeActors:
    def __init__(self, ray, share, function):
        pass

    def start(self, address, token, number):
        return RemoteSlot(number, None, None)

    def end(self, slot):
        pass


@pytest.fixture
def launcher(monkeypatch):
    monkeypatch.setattr(ray_launcher, "Actors", FakeActors)
    monkeypatch.setattr(Cluster, "address_of_this_node", lambda self: "127.0.0.1")
    monkeypatch.setattr(Cluster, "nodes", lambda self: [])
    monkeypatch.setattr(RayLauncher, "_look_for_dead_actors", lambda self: None)
    opened = RayLauncher(
        Cluster(SimpleNamespace(), ours=False), Share(), 4, b"", NodeChecks(["a", "b"])
    )
    yield opened
    opened.close()


@pytest.fixture
def actors():
    connected = []
    yield connected
    for each in connected:
        each.close()


def connect_actor(launcher, actors, slot, node):
    host, _, port = launcher._listener.address.removeprefix("tcp:").rpartition(":")
    actor = socket.create_connection((host, int(port)), 10)
    actors.append(actor)
    process = {"host": node, "node": node, **describe_versions()}
    greeting = {"token": launcher._listener.token, "number": slot.number, "slot": True}
    actor.sendall(json.dumps({**greeting, "process": process}).encode() + b"\n")
    while slot.connection is None:
        launcher._listener.attend(0.1)
    return actor


def test_a_node_that_does_not_answer_is_waited_for_once(launcher, actors, monkeypatch):
    """However many workers it had: meanwhile the tuner answers nobody."""
    monkeypatch.setattr(ray_launcher, "ENDING_TIME", 0.2)
    handles = [launcher.launch(number) for number in range(4)]
    for handle, node in zip(handles, "aaab", strict=True):
        connect_actor(launcher, actors, handle.slot, node)
    waits = []
    attend = launcher._listener.attend
    monkeypatch.setattr(
        launcher._listener, "attend", lambda seconds=0: (waits.append(seconds), attend(seconds))
    )
    counts = []
    for handle in handles:
        ending = handle.reap()
        assert (ending.how, ending.fault) == (f"{handle.slot.label} does not answer", "worker")
        counts.append(any(waits))
        waits.clear()
    assert counts == [True, False, False, True]


def test_an_actor_that_says_how_its_worker_ended_is_believed(launcher, actors):
    handle = launcher.launch(0)
    actor = connect_actor(launcher, actors, handle.slot, "a")
    assert json.loads(actor.recv(1000)) == {"launch": handle.number}
    actor.sendall(json.dumps(["exited", handle.number, "its process exited with 3"]).encode())
    actor.sendall(b"\n")
    ending = handle.reap()
    assert (ending.how, ending.fault) == ("its process exited with 3", "trial")


def test_a_second_connection_in_the_name_of_an_actor_is_closed(launcher, actors):
    handle = launcher.launch(0)
    connect_actor(launcher, actors, handle.slot, "a")
    first = handle.slot.connection
    other = connect_actor(launcher, actors, handle.slot, "b")
    launcher._listener.attend(0.2)
    other.settimeout(10)
    assert other.recv(1) == b""
    assert handle.slot.connection is first
    assert not handle.dead
