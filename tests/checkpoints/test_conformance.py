"""One row per checkpoint store."""

import secrets

import pytest
from extras import needing, needs

import rungwise as rw
from rungwise.checkpoints import CheckpointStore, FolderStore, FsspecStore
from rungwise.testing import StoreConformance


class TestFolderStore(StoreConformance):
    def make_store(self, folder):
        return FolderStore(str(folder))


class TestDurableFolderStore(StoreConformance):
    def make_store(self, folder):
        return FolderStore(str(folder), durable=True)


@needing("fsspec")
class TestAddressOfAFile(StoreConformance):
    def make_store(self, folder):
        return FsspecStore(folder.as_uri())


@needing("fsspec")
class TestAddressOfMemory(StoreConformance):
    """No other process sees it."""

    def make_store(self, folder):
        return FsspecStore(f"memory://{secrets.token_hex()}")

    test_what_a_killed_writer_leaves_is_never_seen = None
    test_a_worker_elsewhere_can_open_it = None


@pytest.fixture(scope="module")
def s3():
    """A server that speaks S3, in this process; the environment says where, to children too."""
    needs("s3fs")
    server = needs("moto", "moto.server").ThreadedMotoServer("127.0.0.1", 0)
    server.start()
    host, port = server.get_host_and_port()
    given = {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "somebody",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in given.items():
            patch.setenv(name, value)
        patch.delenv("AWS_CA_BUNDLE", raising=False)
        yield
    server.stop()


@pytest.mark.slow
class TestS3(StoreConformance):
    @pytest.fixture(autouse=True)
    def _server(self, s3):
        pass

    def make_store(self, folder):
        import s3fs  # noqa: PLC0415

        bucket = f"bucket-{secrets.token_hex(8)}"
        s3fs.S3FileSystem().mkdir(bucket)
        return FsspecStore(f"s3://{bucket}/studies/digits.db.files")

    test_the_tuner_removes_while_workers_write_and_look = None  # it is long, and the others have it


@pytest.mark.parametrize("kind", [FolderStore, FsspecStore])
def test_a_store_is_a_value(tmp_path, kind):
    given = {"durable": True} if kind is FolderStore else {}
    place = str(tmp_path) if kind is FolderStore else tmp_path.as_uri()
    store = kind(place, **given)
    assert isinstance(store, CheckpointStore)
    assert store == kind.from_json(store.to_json()) != kind(f"{place}/more")
    assert hash(store) == hash(kind(place, **given))
    assert list(tmp_path.iterdir()) == []


def train(config, run):
    for epoch in run.resources():
        with run.checkpoint(epoch) as folder:
            (folder / "model").write_text(str(epoch))
        run.report(epoch, loss=abs(config["x"] - 0.3) + 1 / epoch)


@pytest.mark.slow
def test_a_study_whose_checkpoints_are_on_s3(s3, tmp_path):
    import s3fs  # noqa: PLC0415

    bucket, study = f"bucket-{secrets.token_hex(8)}", tmp_path / "a.db"
    given = {"metric": "loss", "goal": "min", "max_resource": 3, "trials": 3, "show": "quiet"}
    given |= {"study": study, "workers": 1, "checkpoints": f"s3://{bucket}/x"}
    with pytest.raises(rw.StoreUnavailableError, match=f"s3://{bucket}/x/a.db.files.*bucket"):
        rw.tune(train, {"x": rw.Float(0, 1)}, **given)
    assert not list(tmp_path.iterdir())
    s3fs.S3FileSystem().mkdir(bucket)
    result = rw.tune(train, {"x": rw.Float(0, 1)}, **given, mirror=f"s3://{bucket}/mirror")
    assert result.failures == ()
    assert (result.best.checkpoint / "model").exists()
    assert s3fs.S3FileSystem().exists(f"{bucket}/mirror/a.db")
    assert b"secret" not in study.read_bytes()
