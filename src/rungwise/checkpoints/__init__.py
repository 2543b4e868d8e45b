"""Checkpoint stores, and what they have in common."""

from rungwise.checkpoints.addresses import check_address, is_address
from rungwise.checkpoints.base import (
    Checkpoint,
    CheckpointStore,
    KnownStore,
    RemoteCheckpoint,
    TrialCheckpoints,
    resource_text,
)
from rungwise.checkpoints.disk import means_full_disk, measure_folder, parse_bytes
from rungwise.checkpoints.folder import FolderStore, TrialFolder, discard
from rungwise.checkpoints.fsspec_store import FsspecStore, TrialObjects

__all__ = [
    "Checkpoint",
    "CheckpointStore",
    "FolderStore",
    "FsspecStore",
    "RemoteCheckpoint",
    "TrialCheckpoints",
    "TrialFolder",
    "TrialObjects",
    "check_address",
    "discard",
    "is_address",
    "means_full_disk",
    "measure_folder",
    "parse_bytes",
    "resource_text",
    "store_from_json",
]

STORES: tuple[type[KnownStore], ...] = (FolderStore, FsspecStore)
"""The stores that can be described to a worker."""


def store_from_json(document: dict[str, object]) -> CheckpointStore:
    """The store that ``to_json`` described; a worker opens it with this."""
    kinds = {kind.__name__: kind for kind in STORES}
    return kinds[str(document["type"])].from_json(document)
