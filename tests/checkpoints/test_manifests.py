"""What a storage says of a checkpoint is not trusted: damage is skipped, and no file leads out."""

import json
import secrets
import threading
import warnings
from pathlib import Path

import pytest

import rungwise as rw
from rungwise.checkpoints import FsspecStore
from rungwise.checkpoints.fsspec_store import COMMITTED, open_address, parse_manifest
from rungwise.errors import StoreUnavailableError

OUTSIDE = ["../x", "a/../../x", "/etc/x", "//x", "", "a//b", "./x", "..", "a\\..\\x", "a\0b"]
DAMAGED = [
    b"", b"{", b"null", b"[]", b"7", b'"files"', b"{}", b'{"files": 3}', b'{"files": ["a"]}',
    b'{"files": {"a": "1"}}', b'{"files": {"a": -1}}', b'{"files": {"a": true}}', b"\xff\xfe",
    b"[" * 100_000,
]  # fmt: skip


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_name_that_leads_out_is_refused(name):
    with pytest.raises(ValueError, match="outside of the checkpoint"):
        parse_manifest(json.dumps({"files": {name: 1}}).encode())


@pytest.mark.parametrize("text", DAMAGED)
def test_damage_is_named(text):
    with pytest.raises(ValueError, match="damaged"):
        parse_manifest(text)


def test_plain_names_are_read():
    assert parse_manifest(b'{"files": {"a": 1, "b/c.pt": 0}}') == {"a": 1, "b/c.pt": 0}


def write(trial, resource):
    with trial.writing(resource, 0) as folder:
        (folder / "weights").write_text(str(resource))


def overwrite(trial, text):
    """Put another manifest in the place of that of the last checkpoint."""
    files, root = open_address(trial.address)
    files.pipe_file(f"{root}/{trial.committed()[-1].path}/{COMMITTED}", text)


@pytest.mark.parametrize("text", [*DAMAGED[:4], b'{"files": {"../../out": 1}}'])
def test_the_checkpoint_before_is_used_and_nothing_is_written_outside(text, tmp_path):
    trial = FsspecStore(f"memory://{secrets.token_hex()}").trial("trial-00000")
    write(trial, 1)
    write(trial, 2)
    last = trial.committed()[-1]
    overwrite(trial, text)
    with pytest.warns(UserWarning, match="is not used"):
        found = trial.latest(at_most=9)
    assert (found.resource, (trial.fetch(found) / "weights").read_text()) == (1, "1")
    with pytest.raises(StoreUnavailableError, match=COMMITTED):
        trial.fetch(last)
    assert not list(Path(tmp_path).rglob("out"))
    trial.release()


def test_a_study_goes_on_when_its_storage_is_away_at_a_promotion(monkeypatch, tmp_path):
    """What a store raises is caught by its own class: the job is trained from where it can be."""
    address = f"memory://{secrets.token_hex()}"
    from_store = FsspecStore(address).trial("x").__class__
    latest, told = from_store.latest, []

    def away(self, *, at_most):
        if threading.current_thread() is threading.main_thread():  # the tuner's
            told.append(at_most)
            raise StoreUnavailableError(self.address, "away")
        return latest(self, at_most=at_most)

    def train(config, run):
        for epoch in run.resources():
            run.report(epoch, loss=config["x"] / epoch)

    monkeypatch.setattr(from_store, "latest", away)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = rw.tune(
            train, {"x": rw.Float(0, 1)}, metric="loss", max_resource=9, trials=9,
            scheduler="asha", backend="threads:1", checkpoints=address, study=tmp_path / "s.db",
            show="quiet", retries=3,
        )  # fmt: skip
    assert result.ended
    assert told
