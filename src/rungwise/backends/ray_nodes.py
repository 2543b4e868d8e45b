"""What the tuner knows of the nodes of a Ray cluster, and how many workers it wants there."""

from __future__ import annotations

import math
import time

from rungwise.backends.demand import Demand
from rungwise.backends.ray_cluster import Cluster, Share, count_workers

SILENT_TIME = 60.0
"""Seconds in which an actor is not waited for if another one on its node did not answer."""


class KnownNodes:
    """The nodes by their names, and those that did not answer.

    Args:
        cluster: the cluster.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._silent: dict[str, float] = {}  # when they did not
        self._names = {node.id: node.name for node in cluster.nodes()}

    def name(self, node: str, host: str) -> str:
        """The name of a node; of one that has joined just now, that of its host."""
        if node not in self._names:
            self._names = {node.id: node.name for node in self._cluster.nodes()}
        return self._names.get(node, host)

    def note_silence(self, node: str) -> None:
        """A node did not answer."""
        self._silent[node] = time.monotonic()

    def is_silent(self, node: str) -> bool:
        """Whether a node did not answer a moment ago."""
        return time.monotonic() - self._silent.get(node, -math.inf) < SILENT_TIME


class WantedWorkers:
    """How many workers there should be.

    Args:
        cluster: the cluster.
        share: what each takes of it.
        workers: how many; None for as many as the nodes can hold.
        autoscale: whether the cluster is asked for nodes.
    """

    def __init__(
        self, cluster: Cluster, share: Share, workers: int | None, *, autoscale: bool
    ) -> None:
        self._cluster, self._share = cluster, share
        self._fixed = workers is not None
        self._counted = workers
        self._demand = Demand(workers) if autoscale and workers is not None else None
        if self._demand is not None:
            self._request(self._demand.number)

    def find(self, busy: int, idle: int) -> int | None:
        """With "auto": as many as the nodes can hold, and one even if that is none.

        Where nodes are started on demand: as many as can be used.
        """
        if self._demand is None:
            return self._counted
        before = self._demand.number
        number = self._demand.follow(busy, idle, time.monotonic())
        if number != before:
            self._request(number)
        return number

    def count(self) -> None:
        """Look at what the nodes can hold now."""
        if not self._fixed:
            self._counted = max(1, count_workers(self._cluster.nodes(), self._share))

    def close(self) -> None:
        """No node is needed any more."""
        if self._demand is not None:
            self._request(0)

    def _request(self, workers: int) -> None:
        self._cluster.request([self._share.bundle] * (workers * self._share.nodes))
