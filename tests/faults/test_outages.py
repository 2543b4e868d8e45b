"""What surrounds a study fails: the study stops, no trial is blamed, and it goes on afterwards."""

import pytest
from faults.scenarios import eventually

import rungwise as rw
from rungwise.core.trials import State


def failed(engine):
    return [trial.id for trial in engine.trials if trial.state is State.FAILED]


@pytest.mark.parametrize(
    ("gone", "blamed"),
    [
        ("raise OSError(30, 'Read-only file system', '/disk')", 0),
        ("raise RuntimeError('it does not work any more')", 3),
    ],
    ids=["recognised", "other"],
)
def test_trials_that_fail_because_something_is_gone_are_spared(scene, gone, blamed):
    tuner = scene.start("surrounded", pace=0.02, workers=2, trials=50, retries=0,
                        scheduler="pasha")  # fmt: skip
    eventually(lambda: len(scene.side("ack")) > 9)
    (scene.folder / "gone").write_text(gone)
    outcome = tuner.outcome()
    assert outcome["error"] == "OutageError", outcome
    words = ("its surroundings seem to have failed", "not marked as failed", "rungwise resume ")
    assert all(word in outcome["message"] for word in words), outcome["message"]
    engine = scene.assert_sound()
    assert len(failed(engine)) <= blamed
    assert engine.ended is None
    assert len(engine.trials) < 40
    spared = [failure for failure in rw.load(scene.study).failures if failure.spared]
    assert spared
    assert {failure.trial for failure in spared}.isdisjoint(failed(engine))
    (scene.folder / "gone").unlink()
    before = failed(engine)
    scene.finish("surrounded", call="resume")
    engine = scene.assert_sound()
    assert failed(engine) == before
    assert len(engine.trials) == 50
    scene.assert_left_alone()


def test_the_folder_of_checkpoints_is_lost(scene):
    folder = scene.study.with_name("study.db.files")
    tuner = scene.start("steady", pace=0.02, workers=2, trials=50, retries=1)
    eventually(lambda: len(scene.side("ack")) > 9)
    aside = folder.with_name("aside")
    folder.rename(aside)
    folder.write_text("a file in its place, which nobody can write checkpoints to")
    outcome = tuner.outcome()
    assert outcome["error"] == "OutageError", outcome
    assert f"nothing can be written to {folder}" in outcome["message"]
    assert not failed(scene.assert_sound())
    folder.unlink()
    aside.rename(folder)
    scene.finish("steady", call="resume")
    assert not failed(scene.assert_sound())
    scene.assert_left_alone()
