"""What is checked on every node of a cluster before anything is trained.

A task on each node says what it runs, and reads and writes a checkpoint: so a folder that only some
nodes can see is refused, with the names of those that cannot.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from rungwise.backends.ray_cluster import Cluster, Node, Share, module_of
from rungwise.backends.ray_launcher import find_trouble
from rungwise.backends.ray_slot import describe_place
from rungwise.checkpoints import CheckpointStore, FolderStore, store_from_json
from rungwise.errors import WorkerStartError

CHECK_TIME = 120.0
"""Seconds in which every node must have answered."""

MARKER = "marker"


def check_nodes(
    cluster: Cluster, share: Share, store: CheckpointStore, on_notice: Callable[[str], None]
) -> None:
    """Refuse nodes that could not train.

    Args:
        cluster: the cluster.
        share: what a worker takes: nodes that do not have it are not asked.
        store: where checkpoints are kept.
        on_notice: called with what a person should know.
    """
    nodes = [node for node in cluster.nodes() if node.fits(share)]
    ray = cluster.ray
    strategy = module_of(ray, "util.scheduling_strategies").NodeAffinitySchedulingStrategy
    with _marked(store) as (place, secret):
        task = ray.remote(num_cpus=0, max_retries=0)(check_here)
        asked = {
            task.options(scheduling_strategy=strategy(node.id, soft=False)).remote(
                store.to_json(), place, secret, number
            ): node
            for number, node in enumerate(nodes, 1)
        }
        done, pending = ray.wait(list(asked), num_returns=len(asked), timeout=CHECK_TIME)
        troubles = [
            f"{asked[each].name} {why}"
            for each in done
            if (why := _ask(ray, each, asked[each], cluster)) is not None
        ]
        seen = {each.job for each in store.trial(place).committed()}
        troubles += [
            f"{node.name} writes its checkpoints where the tuner does not find them ({store})"
            for number, node in enumerate(nodes, 1)
            if not troubles and number not in seen and node not in [asked[each] for each in pending]
        ]
    for each in pending:
        on_notice(f"{asked[each].name} has not answered after {CHECK_TIME:g} s")
    if troubles:
        raise WorkerStartError("; ".join(troubles) + _advise(troubles, store))


def _ask(ray: Any, answer: Any, node: Node, cluster: Cluster) -> str | None:
    """What is wrong on a node, if anything is."""
    try:
        said: Mapping[str, Any] = ray.get(answer)
    except Exception as error:  # noqa: BLE001 - whatever happens there
        if node.id not in [each.id for each in cluster.nodes()]:
            return None  # it has left meanwhile
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
