"""A Ray cluster, as far as tuning needs it: joining it, what fits on it, which nodes leave.

Law of this file and of ``ray_launcher.py``: nothing else calls Ray, and what Ray keeps private is
wrapped so that tuning works without it.
"""

from __future__ import annotations

import importlib
import os
import signal
import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from rungwise.backends.hardware import cores, gpus
from rungwise.errors import InvalidArgumentError, MissingExtraError, WorkerStartError
from rungwise.packages import check_package

REACH_TIME = 5.0
"""Seconds in which the head of a cluster must accept a connection."""

LARGEST_SHARE = 1e-9
"""By how much sums of fractions of a resource may be off."""


def load_ray() -> Any:
    """The module ray."""
    check_package("the backend Ray", "ray", extra="ray", at_least="2.40")
    try:
        return importlib.import_module("ray")
    except ImportError:
        raise MissingExtraError("the backend Ray", "ray") from None


@dataclass(frozen=True, slots=True)
class Share:
    """What one worker takes of the cluster.

    Attributes:
        cpus: processors, on each of its nodes.
        gpus: GPUs, on each of its nodes.
        resources: the cluster's own resources, on each of its nodes.
        nodes: how many nodes it takes.
    """

    cpus: float = 1
    gpus: float = 0
    resources: Mapping[str, float] | None = None
    nodes: int = 1

    @property
    def bundle(self) -> dict[str, float]:
        """As Ray writes it, for one node."""
        every = {"CPU": self.cpus, "GPU": self.gpus, **(self.resources or {})}
        return {name: amount for name, amount in every.items() if amount > 0}

    def __str__(self) -> str:
        text = " and ".join(f"{amount:g} {name}" for name, amount in self.bundle.items())
        return (text or "nothing") + (f" on each of {self.nodes} nodes" if self.nodes > 1 else "")


@dataclass(frozen=True, slots=True)
class Node:
    """A node that is alive.

    Attributes:
        id: Ray's name of it.
        name: what people call it.
        total: its resources.
    """

    id: str
    name: str
    total: Mapping[str, float]

    def fits(self, share: Share) -> int:
        """How many workers of this share it could hold if nothing else ran there."""
        if not share.bundle:
            return int(self.total.get("CPU", 0))
        return min(
            int(self.total.get(name, 0) / amount + LARGEST_SHARE)
            for name, amount in share.bundle.items()
        )


class Cluster:
    """The cluster that this process is connected to.

    Args:
        ray: the module ray.
        ours: whether we have connected, so that we disconnect.
    """

    def __init__(self, ray: Any, *, ours: bool) -> None:
        self.ray = ray
        self._ours = ours

    def nodes(self) -> list[Node]:
        """The nodes that are alive, in a fixed order."""
        alive = [each for each in self.ray.nodes() if each["Alive"]]
        names = [each.get("NodeName") or each["NodeManagerAddress"] for each in alive]
        found = []
        for each, name in zip(alive, names, strict=True):
            label = name if names.count(name) == 1 else f"{name} ({each['NodeID'][:6]})"
            found.append(Node(each["NodeID"], label, each["Resources"]))
        return sorted(found, key=lambda node: (node.name, node.id))

    def describe_free(self, share: Share) -> str:
        """What is free of what a worker needs, for a person who waits."""
        with suppress(Exception):
            free, total = self.ray.available_resources(), self.ray.cluster_resources()
            parts = [
                f"{free.get(name, 0):g} of {total.get(name, 0):g} {name} free"
                for name in share.bundle
            ]
            return f"it waits for {share} ({', '.join(parts)})"
        return f"it waits for {share}"

    def draining(self) -> frozenset[str]:
        """The nodes that will be taken away soon; none where Ray does not say."""
        try:
            state = importlib.import_module("ray._private.state").state
            return frozenset(state.get_draining_nodes())
        except Exception:  # noqa: BLE001 - private, so it may be gone or changed
            return frozenset()

    def request(self, bundles: Sequence[Mapping[str, float]]) -> None:
        """Ask the autoscaler to have room for all of these; for none of them, to stop asking."""
        with suppress(Exception):  # without one there is no autoscaler to ask
            sdk = importlib.import_module("ray.autoscaler.sdk")
            sdk.request_resources(bundles=[dict(each) for each in bundles])

    def address_of_this_node(self) -> str:
        """Where the nodes reach this process: a Ray of its own has no other than this machine."""
        if self._ours and _joined and _joined[0][0] == "local":
            return "127.0.0.1"
        return str(self.ray.util.get_node_ip_address())

    def disconnect(self) -> None:
        """Leave the cluster, and end it if it was started for this study."""
        if self._ours:
            _joined.clear()
            _silence(on=False)
            with keep_handlers():
                self.ray.shutdown()


def count_workers(nodes: Sequence[Node], share: Share) -> int:
    """How many workers nodes could hold if nothing else ran on them."""
    fitting = [node.fits(share) for node in nodes]
    if share.nodes == 1:
        return sum(fitting)
    # Each worker takes a node once: the largest number for which there are enough places.
    number = sum(fitting) // share.nodes
    while number and sum(min(fit, number) for fit in fitting) < number * share.nodes:
        number -= 1
    return number


def check_fits(nodes: Sequence[Node], share: Share) -> None:
    """Refuse a share that no node has."""
    if count_workers(nodes, share):
        return
    arguments = {"CPU": "cpus_per_worker", "GPU": "gpus_per_worker"}
    for name, amount in share.bundle.items():
        most = max((node.total.get(name, 0) for node in nodes), default=0)
        if most + LARGEST_SHARE < amount:
            argument = arguments.get(name, f"resources[{name!r}]")
            where = f"the most that a node of the cluster has is {most:g}"
            if not most:
                where = f"no node of the cluster has any {name}"
            rule = f"{where}: ask for less, or give autoscale=True if it starts nodes by itself"
            raise InvalidArgumentError(argument, amount, rule)
    if share.nodes > 1:
        fitting = sum(1 for node in nodes if node.fits(share))
        rule = f"only {fitting} of the {len(nodes)} nodes could hold a part of a worker ({share})"
        raise InvalidArgumentError("nodes_per_worker", share.nodes, rule)
    rule = "no node of the cluster has all of it"
    raise InvalidArgumentError("resources", share.bundle, rule)


def this_machine() -> list[Node]:
    """The only node of a Ray that is not started yet."""
    total = {"CPU": float(cores()), "GPU": float(len(gpus()))}
    return [Node("", socket.gethostname(), total)]


_joined: list[tuple[str, Mapping[str, Any] | None]] = []
"""What this process is connected to, if that was done here."""


def is_joined_elsewhere() -> bool:
    """Whether the program has called ``ray.init`` itself."""
    return bool(load_ray().is_initialized()) and not _joined


def join_cluster(address: str, runtime_env: Mapping[str, Any] | None) -> Cluster:
    """The cluster at an address; a new one on this machine for ``"local"``.

    Where the program has called ``ray.init`` itself, that cluster is taken.
    """
    ray = load_ray()
    if is_joined_elsewhere():
        _check_is_same(ray, address, runtime_env)
        return Cluster(ray, ours=False)
    if _joined and ray.is_initialized():
        if _joined == [(address, runtime_env)]:
            return Cluster(ray, ours=True)
        Cluster(ray, ours=True).disconnect()
    options: dict[str, Any] = {}
    if address == "local":
        _check_is_no_job(address)
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        options = {"include_dashboard": False, "num_cpus": cores()}
    elif address != "auto":
        _reach(address)
    try:
        with keep_handlers():
            ray.init(
                address=address,
                runtime_env=dict(runtime_env) if runtime_env else None,
                log_to_driver=False,
                logging_level="ERROR",
                **options,
            )
    except Exception as error:
        with suppress(Exception):
            ray.shutdown()
        raise explain(address, error) from error
    _joined[:] = [(address, runtime_env)]
    _silence(on=True)
    return Cluster(ray, ours=True)


def _check_is_no_job(address: str) -> None:
    """A second Ray inside a submitted job is never meant."""
    if "RAY_JOB_CONFIG_JSON_ENV_VAR" in os.environ:
        rule = "this program runs as a job of a Ray cluster: give address='auto' to use that"
        raise InvalidArgumentError("address", address, rule)


_speaks: list[Any] = []


def _silence(*, on: bool) -> None:
    """Ray writes that a node has died to the standard output, in the middle of a view or of JSON.

    The tuner says so itself.
    """
    with suppress(Exception):  # private, so it may be gone or changed
        module: Any = importlib.import_module("ray._private.worker")
        if on and not _speaks:
            _speaks.append(module.print_to_stdstream)
            module.print_to_stdstream = lambda *_, **__: None
        elif not on and _speaks:
            module.print_to_stdstream = _speaks.pop()


def _check_is_same(ray: Any, address: str, runtime_env: Mapping[str, Any] | None) -> None:
    if runtime_env:
        rule = "this program has called ray.init itself: give it there"
        raise InvalidArgumentError("runtime_env", runtime_env, rule)
    joined = ray.get_runtime_context().gcs_address
    if address not in ("local", "auto", joined):
        rule = f"this program is connected to the cluster at {joined} already"
        raise InvalidArgumentError("address", address, rule)


def _reach(address: str) -> None:
    """Refuse an address at which nothing listens, at once: Ray would try for long."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), REACH_TIME).close()
    except (OSError, ValueError) as error:
        rule = (
            f"no Ray cluster can be reached there ({error}): it must be the HOST:PORT of the head "
            f"node, as `ray start --head` prints it (port 6379 by default)"
        )
        raise InvalidArgumentError("address", address, rule) from None


def explain(address: str, error: Exception) -> Exception:
    """What was wrong with an address, from what Ray raised."""
    first = str(error).strip().partition("\n")[0]
    if "ersion mismatch" in str(error):
        lines = " ".join(line.strip() for line in str(error).splitlines() if line.strip())
        return WorkerStartError(f"the cluster at {address} runs other versions: {lines}")
    if isinstance(error, (ConnectionError, TimeoutError)):
        rule = f"no Ray cluster was found there: {first}"
        return InvalidArgumentError("address", address, rule)
    return WorkerStartError(f"Ray cannot be used at {address}: {type(error).__name__}: {first}")


@contextmanager
def keep_handlers() -> Iterator[None]:
    """Keep the handlers of signals as they are: Ray sets its own for SIGTERM."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)


def module_of(ray: Any, name: str) -> ModuleType:
    """A module of Ray."""
    return importlib.import_module(f"{ray.__name__}.{name}")
