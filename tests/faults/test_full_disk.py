"""A disk that is full: a small file system of its own, where one may be mounted."""

import subprocess
from contextlib import suppress

import pytest
from faults.scenarios import Scene, eventually

import rungwise as rw


@pytest.fixture
def disk(tmp_path):
    """A file system of 8 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    try:
        mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(place)]
        done = subprocess.run(mount, capture_output=True, text=True, check=False)
    except OSError as error:
        pytest.skip(f"a small disk needs mount(8): {error}")
    if done.returncode:
        pytest.skip(f"a small disk needs the right to mount one: {done.stderr.strip()}")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def fill(disk):
    """Leave not a byte; what to remove to mend it."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"x" * 4096)
    return filler


def test_no_room_for_checkpoints(scene, disk):
    """They are dropped with a notice, training goes on, legs start from what there is."""
    scene.study.with_name("study.db.files").symlink_to(disk)
    (disk / "filler").write_bytes(bytes(7 * 2**20))
    scene.finish("heavy", workers=2, trials=9, max_resource=9)
    engine = scene.assert_sound()
    assert len(engine.trials) == 9
    assert not rw.load(scene.study).failures
    assert "the disk is full: the checkpoint at" in scene.notices()
    scene.assert_left_alone()


def test_no_room_for_the_study_file(launcher, tmp_path, disk):
    scene = Scene(launcher, tmp_path, study=disk / "study.db")
    tuner = scene.start("steady", pace=0.05, workers=2, trials=60)
    eventually(lambda: len(scene.side("ack")) > 3)
    filler = fill(disk)
    outcome = tuner.outcome()
    assert outcome["error"] == "LogUnavailableError", outcome
    assert str(scene.study) in outcome["message"]
    scene.assert_left_alone()
    # As long as the disk is full nothing else is to be had, and nothing is lost.
    again = scene.start("steady", call="resume").outcome()
    assert again["error"] == "LogUnavailableError", again
    scene.assert_left_alone()
    filler.unlink()
    scene.finish("steady", call="resume")
    engine = scene.assert_sound()
    assert len(engine.trials) == 60
    assert engine.ended is not None
    scene.assert_left_alone()
