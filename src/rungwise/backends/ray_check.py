"""What is checked on every node of a cluster before anything is trained there.

A task on each node says what it runs, and reads and writes a checkpoint: so a folder that only
some nodes can see is refused, with the names of those that cannot. Nodes that join later are
checked when their first actor has started, in a thread: the tuner does not wait for them.
"""

from __future__ import annotations

import secrets
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from rungwise.backends.ray_cluster import Cluster, Node, Share, module_of
from rungwise.backends.ray_slot import describe_place, describe_versions
from rungwise.checkpoints import CheckpointStore, FolderStore, store_from_json
from rungwise.errors import WorkerStartError

CHECK_TIME = 120.0
"""Seconds in which every node must have answered."""

MARKER = "marker"


CLOSING_TIME = 5.0
"""Seconds in which a check that is under way may remove what it has written, when a study ends."""


def check_nodes(
    cluster: Cluster, share: Share, store: CheckpointStore, on_notice: Callable[[str], None]
) -> NodeChecks:
    """Refuse nodes that could not train.

    Args:
        cluster: the cluster.
        share: what a worker takes: nodes that do not have it are not asked.
        store: where checkpoints are kept.
        on_notice: called with what a person should know.

    Returns:
        What is known of these nodes, and checks those that join later.

    Raises:
        WorkerStartError: a node cannot run rungwise, or not reach the checkpoints.
    """
    nodes = [node for node in cluster.nodes() if node.fits(share)]
    troubles, pending = examine(cluster, nodes, store)
    for node in pending:
        on_notice(f"{node.name} has not answered after {CHECK_TIME:g} s")
    if troubles:
        texts = [f"{node.name} {troubles[node.id]}" for node in nodes if node.id in troubles]
        raise WorkerStartError("; ".join(texts) + _advise(texts, store))
    passed = [node.id for node in nodes if node not in pending]
    return NodeChecks(passed, lambda node: _examine_late(cluster, node, store))


class NodeChecks:
    """Which nodes may train; those that have joined later are checked when they are first used.

    Args:
        passed: the nodes that have been checked.
        find_trouble: what is wrong on a node, None if it can train; called in a thread.
    """

    def __init__(
        self, passed: Collection[str] = (), find_trouble: Callable[[str], str | None] | None = None
    ) -> None:
        self._passed = set(passed)
        self._find_trouble = find_trouble
        self._running: dict[str, threading.Thread] = {}
        self._found: deque[tuple[str, str | None]] = deque()

    def has_passed(self, node: str) -> bool:
        """Whether a node may train; if that is not known, it is being found out from now on."""
        if node in self._passed:
            return True
        if node not in self._running:
            thread = threading.Thread(target=self._check, args=(node,), daemon=True)
            self._running[node] = thread
            thread.start()
        return False

    def take(self) -> list[tuple[str, str | None]]:
        """The nodes that were checked since the last call, with what is wrong there."""
        taken = [self._found.popleft() for _ in range(len(self._found))]
        for node, trouble in taken:
            self._running.pop(node).join()
            if trouble is None:
                self._passed.add(node)
        return taken

    def close(self) -> None:
        """Let the checks under way remove what they have written."""
        for thread in self._running.values():
            thread.join(CLOSING_TIME)

    def _check(self, node: str) -> None:
        try:
            trouble = None if self._find_trouble is None else self._find_trouble(node)
        except Exception as error:  # noqa: BLE001 - of Ray, of any store
            trouble = f"could not be checked: {type(error).__name__}: {error}"
        self._found.append((node, trouble))


def _examine_late(cluster: Cluster, node: str, store: CheckpointStore) -> str | None:
    nodes = [each for each in cluster.nodes() if each.id == node]
    troubles, pending = examine(cluster, nodes, store)
    if pending:
        return f"has not answered after {CHECK_TIME:g} s"
    return troubles[node] + _advise([troubles[node]], store) if node in troubles else None


def examine(
    cluster: Cluster, nodes: Sequence[Node], store: CheckpointStore
) -> tuple[dict[str, str], list[Node]]:
    """What is wrong on which nodes, by their ids; and the nodes that have not answered."""
    if not nodes:
        return {}, []
    ray = cluster.ray
    strategy = module_of(ray, "util.scheduling_strategies").NodeAffinitySchedulingStrategy
    with _marked(store) as (place, secret):
        task = ray.remote(num_cpus=0, max_retries=0)(check_here)
        asked = {
            task.options(scheduling_strategy=strategy(node.id, soft=False)).remote(
                store.to_json(), place, secret, number
            ): (number, node)
            for number, node in enumerate(nodes, 1)
        }
        done, pending = ray.wait(list(asked), num_returns=len(asked), timeout=CHECK_TIME)
        seen = {each.job for each in store.trial(place).committed()}
        troubles = {}
        for each in done:
            number, node = asked[each]
            why = _ask(ray, each, node, cluster)
            if why is None and number not in seen:
                why = f"writes its checkpoints where the tuner does not find them ({store})"
            if why:
                troubles[node.id] = why
    return troubles, [asked[each][1] for each in pending]


def _ask(ray: Any, answer: Any, node: Node, cluster: Cluster) -> str | None:
    """What is wrong on a node; None if nothing is, and nothing at all if it has left."""
    try:
        said: Mapping[str, Any] = ray.get(answer)
    except Exception as error:  # noqa: BLE001 - whatever happens there
        if node.id not in [each.id for each in cluster.nodes()]:
            return ""
        cause = str(getattr(error, "cause", None) or error).strip().splitlines()
        return f"cannot run rungwise ({cause[-1] if cause else type(error).__name__})"
    return find_trouble(said) or said["trouble"]


def check_here(document: dict[str, Any], place: str, secret: str, number: int) -> dict[str, Any]:
    """What a task says of its node, having read the tuner's marker and left one of its own."""
    said = describe_place()
    said["trouble"] = None
    try:
        trial = store_from_json(document).trial(place)
        found = [each for each in trial.committed() if each.job == 0]
        if not found:
            said["trouble"] = "does not see the checkpoints that the tuner writes"
        elif (trial.fetch(found[0]) / MARKER).read_text(encoding="ascii") != secret:
            said["trouble"] = "sees other checkpoints than those of the tuner"
        else:
            with trial.writing(1, number) as folder:
                (folder / MARKER).write_text(secret, encoding="ascii")
    except Exception as error:  # noqa: BLE001 - any store, any disk
        said["trouble"] = f"cannot use the checkpoints: {type(error).__name__}: {error}"
    return said


@contextmanager
def _marked(store: CheckpointStore) -> Iterator[tuple[str, str]]:
    """A place in the store with a checkpoint of the tuner's own, removed in the end."""
    secret = secrets.token_hex(16)
    place = f"check-{secret[:12]}"
    trial = store.trial(place)
    try:
        with trial.writing(1, 0) as folder:
            (folder / MARKER).write_text(secret, encoding="ascii")
    except OSError as error:
        raise WorkerStartError(f"{store} cannot be written to: {error}") from error
    try:
        yield place, secret
    finally:
        trial.evict()
        if isinstance(store, FolderStore):  # as it was: without a checkpoint there is no folder
            with suppress(OSError):
                Path(store.path).rmdir()


def _advise(troubles: Sequence[str], store: CheckpointStore) -> str:
    if not any("checkpoints" in trouble for trouble in troubles):
        return ""
    return (
        f". Checkpoints are kept in {store}: give checkpoints=… as a folder on a disk that all "
        f"nodes share, and study=… to keep the study"
    )


def find_trouble(process: Mapping[str, Any]) -> str | None:
    """Why a process on another node cannot work with this one; None if it can."""
    here = describe_versions()
    there = {name: str(process.get(name)) for name in here}
    if _comparable(there) == _comparable(here):
        return None
    return (
        f"has rungwise {there['rungwise']} on Python {there['python']}, and the tuner has "
        f"rungwise {here['rungwise']} on Python {here['python']}: they must be the same"
    )


def _comparable(versions: Mapping[str, str]) -> tuple[str, list[str]]:
    return versions["rungwise"], versions["python"].split(".")[:2]
