"""One row per checkpoint store."""

from rungwise.checkpoints import CheckpointStore, FolderStore
from rungwise.testing import StoreConformance


class TestFolderStore(StoreConformance):
    def make_store(self, folder):
        return FolderStore(str(folder))


class TestDurableFolderStore(StoreConformance):
    def make_store(self, folder):
        return FolderStore(str(folder), durable=True)


def test_a_store_is_a_value(tmp_path):
    store = FolderStore(str(tmp_path), durable=True)
    assert isinstance(store, CheckpointStore)
    assert store == FolderStore.from_json(store.to_json()) != FolderStore(str(tmp_path))
    assert hash(store) == hash(FolderStore(str(tmp_path), durable=True))
    assert list(tmp_path.iterdir()) == []
