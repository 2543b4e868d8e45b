"""A Ray cluster of several nodes on this machine, for tests."""

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from typing import ClassVar
from unittest import mock

from rungwise.backends import ray_launcher

SHORT_HEALTH_CHECKS = {
    "health_check_initial_delay_ms": 1000,
    "health_check_period_ms": 250,
    "health_check_timeout_ms": 1000,
    "health_check_failure_threshold": 4,
}
HEAD = {
    "num_cpus": 0,
    "include_dashboard": False,
    "object_store_memory": 80 * 1024 * 1024,
    "_system_config": SHORT_HEALTH_CHECKS,
}
NODE = {"num_cpus": 8, "object_store_memory": 80 * 1024 * 1024}


@contextmanager
def running_cluster(*nodes):
    """A cluster with a head that trains nothing, and these nodes."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    from ray.cluster_utils import Cluster  # noqa: PLC0415 - tests skip without Ray

    cluster = Cluster(initialize_head=True, head_node_args=HEAD)
    try:
        for node in nodes:
            add_node(cluster, **node)
        yield cluster
    finally:
        cluster.shutdown()


_numbers = count()


def add_node(cluster, **options):
    """A node more; one that was taken for dead while a busy machine started it is started again."""
    try:
        return cluster.add_node(**{**NODE, **name_sockets(cluster), **options})
    except Exception as error:
        if "timed out during startup" not in str(error):
            raise
    return cluster.add_node(**{**NODE, **name_sockets(cluster), **options})


def name_sockets(cluster):
    # Ray names sockets by looking which names are free: of two nodes at once, both would have one.
    number = next(_numbers)
    folder = cluster.head_node.get_sockets_dir_path()
    return {f"{name}_socket_name": f"{folder}/{name}-{number}" for name in SOCKETS}


SOCKETS = ("raylet", "plasma_store")


@contextmanager
def extra_nodes(cluster):
    """Gives a function that adds nodes, in the background; they are removed in the end.

    A node takes a second to start, nearly all of which is waiting.
    """
    import ray  # noqa: PLC0415

    adding = []
    # Ray sets a handler for SIGTERM with every node, which only the main thread can do.
    quiet = mock.patch.object(ray._private.utils, "set_sigterm_handler")
    with quiet, ThreadPoolExecutor() as pool:

        def add(add_one=add_node, *arguments, **options):
            adding.append(pool.submit(add_one, cluster, *arguments, **options))
            return adding[-1]

        try:
            yield add
        finally:
            for node in [each.result() for each in adding]:
                if node in cluster.worker_nodes:
                    cluster.remove_node(node, allow_graceful=False)


class KeptActors(ray_launcher.Actors):
    """Actors that serve one backend after another: starting one takes a second."""

    kept: ClassVar = []

    def start(self, address, token, number):
        import ray  # noqa: PLC0415

        for slot in [slot for slot in self.kept if slot.share == self._share]:
            self.kept.remove(slot)
            try:
                ray.get(slot.served, timeout=30)
            except (ray.exceptions.RayError, ray.exceptions.GetTimeoutError):
                ray.kill(slot.actor)
                continue
            served = slot.actor.serve.remote(address, token, number, self._function)
            return ray_launcher.RemoteSlot(number, slot.actor, served)
        return super().start(address, token, number)

    def end(self, slot):
        ended = slot.lost == "the study has ended" and slot.connection is not None
        if ended and slot.group is None:
            slot.share = self._share
            self.kept.append(slot)
        else:
            super().end(slot)


def add_odd_node(cluster, folder, oddity, **options):
    """A node where something is not as on the others.

    Args:
        cluster: the cluster.
        folder: an empty one, for what makes it so.
        oddity: "disk": checkpoints are looked for in another folder; "version": of rungwise.
        options: of the node.
    """
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(ODDITIES[oddity].format(folder=str(folder)))
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    return add_node(cluster, env_vars={"PYTHONPATH": path, "ODD_NODE": "1"}, **options)


ODDITIES = {
    "disk": """
from rungwise.checkpoints.folder import FolderStore
build = FolderStore.from_json.__func__
FolderStore.from_json = classmethod(
    lambda cls, document: build(cls, {{**document, "path": {folder!r} + "/elsewhere"}})
)
""",
    "version": """
import rungwise._version
rungwise._version.__version__ = "9.9"
""",
}
