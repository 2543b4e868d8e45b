"""Starts workers on a Ray cluster, through one actor per slot.

Ray places the actors and says when one is gone; everything else goes over sockets: to the actor
(start, nudge, kill a worker; how it ended), and to the worker itself.
"""

from __future__ import annotations

import secrets
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from rungwise.backends.connection import Connection
from rungwise.backends.launchers import Ending
from rungwise.backends.listener import Listener
from rungwise.backends.ray_check import NodeChecks, find_trouble
from rungwise.backends.ray_cluster import Cluster, Share, module_of
from rungwise.backends.ray_nodes import KnownNodes, WantedWorkers
from rungwise.backends.ray_slot import Slot

LOOK_EVERY = 0.25
"""Seconds between two questions to Ray whether actors have died."""

DRAIN_EVERY = 1.0
"""Seconds between two questions to Ray which nodes leave, and how many there are."""

ENDING_TIME = 2.0
"""Seconds in which an actor must say how its worker ended, once that has closed its socket."""

KILLING_TIME = 10.0
"""Seconds in which a worker must be gone once it was killed; then its actor is killed."""


@dataclass(eq=False)
class RemoteSlot:
    """An actor, as the tuner sees it.

    Attributes:
        number: its own; no other ever has the same.
        actor: Ray's handle.
        served: what its method returns in the end.
        group: its placement group, where it takes several nodes.
        connection: to the actor, once it has started.
        node: the node it runs on.
        label: that node as people call it.
        lost: why it is gone.
        leaving: why it will soon be.
        passed: whether it has started, on a node that may train.
        worker: the worker in it.
    """

    number: int
    actor: Any
    served: Any
    group: Any = None
    connection: Connection | None = None
    node: str = ""
    label: str = ""
    lost: str | None = None
    leaving: str | None = None
    passed: bool = False
    worker: RayHandle | None = field(default=None, repr=False)

    def send(self, what: str, number: int) -> None:
        """Send the actor a message."""
        if self.connection is not None and self.lost is None:
            self.connection.send({what: number})
            while self.connection.waiting:  # a few bytes: there is room, or the actor is gone
                self.connection.flush()


class RayHandle:
    """A worker on the cluster.

    Args:
        number: its own; no other worker ever has the same.
        slot: where it runs.
        launcher: started it.
    """

    def __init__(self, number: int, slot: RemoteSlot, launcher: RayLauncher) -> None:
        self.number, self.slot = number, slot
        self._launcher = launcher
        self.socket: socket.socket | None = None
        self.output: int | None = None
        self.pid: int | None = None
        self.ending: Ending | None = None
        self.killed: float | None = None

    @property
    def leaving(self) -> str | None:
        """Why its node will be taken away."""
        return self.slot.leaving

    @property
    def node(self) -> str:
        """Its node, as people call it."""
        return self.slot.label

    @property
    def where(self) -> str:
        if not self.slot.label:
            return "waiting for a node"
        return f"{self.slot.label}, process {self.pid or '…'}"

    @property
    def waits_for(self) -> str:
        return self._launcher.describe_waiting(self.slot)

    @property
    def dead(self) -> bool:
        return self.ending is not None or self.slot.lost is not None

    def nudge(self) -> None:
        self.slot.send("nudge", self.number)

    def kill(self) -> None:
        if self.killed is None:
            self.killed = time.monotonic()
        if self.slot.connection is None:
            self.release()
        else:
            self.slot.send("kill", self.number)

    def release(self) -> None:
        self._launcher.give_up(self.slot, "it was not needed any more")

    def reap(self) -> Ending:
        self._launcher.await_ending(self)
        if self.socket is not None:
            self.socket.close()
        return self.ending or Ending(str(self.slot.lost), "worker")


class Actors:
    """Starts and ends actors.

    Args:
        ray: the module ray.
        share: what each takes of the cluster.
        function: the training function, packed.
    """

    def __init__(self, ray: Any, share: Share, function: bytes) -> None:
        self._ray, self._share = ray, share
        self._function = ray.put(function)  # once per node, however many workers it has
        self._options: dict[str, Any] = {
            "num_cpus": share.cpus,
            "num_gpus": share.gpus,
            "resources": dict(share.resources or {}),
            # The job in it would be gone all the same: the tuner must notice, and start another.
            "max_restarts": 0,
            "max_task_retries": 0,
        }

    def start(self, address: str, token: str, number: int) -> RemoteSlot:
        """An actor, which runs as soon as there is room for it.

        Args:
            address: where the tuner listens.
            token: what the actor must send.
            number: its own; no other ever has the same.
        """
        ray, share = self._ray, self._share
        options, group, name = self._options, None, ""
        if share.nodes > 1:
            name = f"rungwise-{secrets.token_hex(8)}"
            bundles = [share.bundle] * share.nodes
            group = ray.util.placement_group(bundles, strategy="STRICT_SPREAD", name=name)
            kind = module_of(ray, "util.scheduling_strategies").PlacementGroupSchedulingStrategy
            first = kind(group, placement_group_bundle_index=0)
            options = {**options, "scheduling_strategy": first}
        actor = ray.remote(Slot).options(**options).remote()
        served = actor.serve.remote(address, token, number, self._function, name)
        return RemoteSlot(number, actor, served, group)

    def end(self, slot: RemoteSlot) -> None:
        """End one, or do not start it any more."""
        with suppress(Exception):  # it may be gone, and so may Ray
            self._ray.kill(slot.actor)
        if slot.group is not None:
            with suppress(Exception):
                self._ray.util.remove_placement_group(slot.group)


class RayLauncher:
    """Starts workers on a cluster.

    Args:
        cluster: the cluster.
        share: what each worker takes of it.
        workers: how many there should be; None for as many as the nodes can hold.
        function: the training function, packed.
        checks: says which nodes may train.
        autoscale: whether the cluster is asked for nodes.
        close: called in the end.
    """

    def __init__(
        self,
        cluster: Cluster,
        share: Share,
        workers: int | None,
        function: bytes,
        checks: NodeChecks,
        *,
        autoscale: bool = False,
        close: Callable[[], None] = lambda: None,
    ) -> None:
        self._cluster, self._share = cluster, share
        self._close, self._checks = close, checks
        self._starter = Actors(cluster.ray, share, function)
        self._numbers = count()
        self._slots: dict[int, RemoteSlot] = {}  # by the slot of the tuner
        self._actors: dict[int, RemoteSlot] = {}  # by their own numbers
        self._handles: dict[int, RayHandle] = {}
        self._looked = self._asked = 0.0
        self._listener = Listener(cluster.address_of_this_node(), self._greeted)
        self.arrivals: int | None = self._listener.fileno()
        self._nodes = KnownNodes(cluster)
        self._wanted = WantedWorkers(cluster, share, workers, autoscale=autoscale)

    # -- the backend's side --------------------------------------------------------------------

    def wanted(self, busy: int, idle: int) -> int | None:
        """How many workers there should be now."""
        return self._wanted.find(busy, idle)

    def launch(self, number: int) -> RayHandle:
        slot = self._slots.get(number)
        if slot is None or slot.lost is not None or slot.leaving is not None:
            if slot is not None:
                self.give_up(slot, slot.leaving or "it was replaced")
            slot = self._slots[number] = self._start_actor()
        handle = RayHandle(next(self._numbers), slot, self)
        slot.worker = self._handles[handle.number] = handle
        if slot.passed:  # else as soon as it has
            slot.send("launch", handle.number)
        return handle

    def accept(self) -> None:
        self._listener.attend()
        now = time.monotonic()
        if now - self._looked < LOOK_EVERY:
            return
        self._looked = now
        self._look_for_dead_actors()
        for node, trouble in self._checks.take():
            self._node_was_checked(node, trouble)
        for slot in list(self._actors.values()):
            worker = slot.worker
            late = worker is not None and worker.killed is not None and not worker.dead
            if worker is not None and late and now - (worker.killed or 0) > KILLING_TIME:
                self.give_up(slot, f"{slot.label} does not answer")
        if now - self._asked >= DRAIN_EVERY:
            self._asked = now
            self._look_at_nodes()

    def close(self) -> None:
        for slot in list(self._actors.values()):
            self.give_up(slot, "the study has ended")
        self._wanted.close()
        self._checks.close()
        self._listener.close()
        self._close()
        self._cluster.disconnect()

    # -- actors --------------------------------------------------------------------------------

    def _start_actor(self) -> RemoteSlot:
        number = next(self._numbers)
        slot = self._starter.start(self._listener.address, self._listener.token, number)
        self._actors[number] = slot
        return slot

    def give_up(self, slot: RemoteSlot, why: str) -> None:
        """Have nothing more to do with an actor, whether or not it is alive."""
        if slot.lost is None:
            slot.lost = why
        if self._actors.pop(slot.number, None) is None:
            return
        if slot.connection is not None:
            self._listener.forget(slot.connection.socket)
            slot.connection.close()
        self._starter.end(slot)

    def _look_for_dead_actors(self) -> None:
        slots = {slot.served: slot for slot in self._actors.values()}
        if not slots:
            return
        ray = self._cluster.ray
        ended, _ = ray.wait(list(slots), num_returns=len(slots), timeout=0, fetch_local=False)
        for served in ended:
            why = "its actor has ended"
            try:
                ray.get(served)
            except ray.exceptions.RayActorError as error:
                preempted = getattr(error, "preempted", False)
                why = "its node was taken away" if preempted else "its actor or its node has died"
            except Exception as error:  # noqa: BLE001 - whatever it was, the slot is gone
                said = str(getattr(error, "cause", None) or error).strip()
                why = f"its actor failed: {said.splitlines()[-1] if said else error!r}"
            slot = slots[served]
            self.give_up(slot, f"{slot.label}: {why}" if slot.label else why)

    def _look_at_nodes(self) -> None:
        leaving = self._cluster.draining()
        for slot in self._actors.values():
            if slot.node in leaving and slot.leaving is None:
                slot.leaving = f"{slot.label} is being drained"
        self._wanted.count()

    def describe_waiting(self, slot: RemoteSlot) -> str:
        """What a worker waits for that has not connected."""
        if slot.connection is None:
            return self._cluster.describe_free(self._share)
        if not slot.passed:
            return "its node is being checked"
        return "it has not connected"

    # -- what arrives --------------------------------------------------------------------------

    def _greeted(self, greeting: Mapping[str, Any], connected: socket.socket) -> None:
        if greeting.get("slot"):
            slot, process = self._actors.get(greeting["number"]), greeting.get("process")
            if slot is not None and slot.connection is None and isinstance(process, dict):
                self._actor_connected(slot, process, connected)
                return
        else:
            handle = self._handles.get(greeting["number"])
            if handle is not None and not handle.dead:
                if greeting.get("output") and handle.output is None:
                    connected.setblocking(False)
                    handle.output = connected.detach()
                    return
                if not greeting.get("output") and handle.socket is None:
                    handle.socket = connected
                    return
        connected.close()  # of an actor or a worker that was given up, or that is here already

    def _actor_connected(
        self, slot: RemoteSlot, process: Mapping[str, Any], connected: socket.socket
    ) -> None:
        slot.node = str(process.get("node"))
        slot.label = self._nodes.name(slot.node, str(process.get("host")))
        slot.connection = Connection(connected)
        self._listener.watch(connected, lambda: self._receive(slot))
        trouble = find_trouble(process)
        if trouble is not None:
            self.give_up(slot, f"{slot.label} {trouble}")
        elif self._checks.has_passed(slot.node):
            self._pass(slot)

    def _pass(self, slot: RemoteSlot) -> None:
        slot.passed = True
        if slot.worker is not None:
            slot.send("launch", slot.worker.number)

    def _node_was_checked(self, node: str, trouble: str | None) -> None:
        for slot in [slot for slot in self._actors.values() if slot.node == node]:
            if trouble is not None:
                self.give_up(slot, f"{slot.label} {trouble}")
            elif not slot.passed:
                self._pass(slot)

    def _receive(self, slot: RemoteSlot) -> None:
        """Messages of an actor; when it is gone, its worker is."""
        messages = None if slot.connection is None else slot.connection.receive()
        if messages is None:
            self.give_up(slot, f"the connection to {slot.label} was lost")
            return
        for kind, number, said in messages:
            handle = self._handles.get(number)
            if handle is None:
                continue
            if kind == "launched":
                handle.pid = said
            elif kind == "exited":
                handle.ending = Ending(said)

    def await_ending(self, handle: RayHandle) -> None:
        """Wait until it is known how a worker has ended, but not for long."""
        node = handle.slot.node
        # A node that was cut off takes all its slots with it: the tuner waits for it once.
        known = self._nodes.is_silent(node)
        deadline = time.monotonic() + (0 if known else ENDING_TIME)
        asked = False
        self._listener.attend()  # it may have said so already
        while not handle.dead:
            left = deadline - time.monotonic()
            if left <= 0:
                self.give_up(handle.slot, f"{handle.slot.label} does not answer")
                self._nodes.note_silence(node)
                break
            if left < ENDING_TIME / 2 and not asked:
                asked = True  # it has closed its socket, but runs on
                handle.kill()
            self._listener.attend(min(left, 0.1))
        self._handles.pop(handle.number, None)
