"""SIGKILL the tuner at random moments, resume, and lose nothing."""

import random
import time

import pytest
from faults.scenarios import MOMENT, Scene, course, ending, eventually

import rungwise as rw
from rungwise.tuning.verification import verify_study

SIZE = {"max_resource": 27, "trials": 24}


def killed_until_done(scene, rng, kills, **options):
    """Kill and resume until the study has ended; how many kills it took."""
    count = 0
    tuner = scene.start("steady", pace=0.01, **options)
    while True:
        if rng.random() < 0.5:
            time.sleep(rng.uniform(0.0, 0.5))  # mostly while everything is starting
        else:
            size = scene.size()
            eventually(lambda: scene.size() > size or tuner.poll() is not None)  # noqa: B023
            time.sleep(rng.uniform(0.0, 0.3))
        before = scene.processes()
        if count == kills or not tuner.kill():
            tuner.outcome()
            return count
        count += 1
        tuner = scene.start("steady", pace=0.01 if count < kills else 0.0, **options)
        # The next tuner works already: what the last one has left must be gone all the same.
        eventually(lambda: not set(before) & set(scene.processes()), within=MOMENT)  # noqa: B023


def test_kills_do_not_change_what_a_slow_searcher_proposes(
    launcher, reference, tmp_path, monkeypatch
):
    """It is asked one trial ahead; what it was to be shown then is found again in the log."""
    monkeypatch.setattr(rw.searchers.KDE, "slow", True, raising=False)
    scene = Scene(launcher, tmp_path)
    options = {"searcher": "slow", "seed": 5, "workers": 1, **SIZE, "trials": 48}
    often = {"mischief": {"snapshots": 15}}  # and in the snapshots that it goes on from
    try:
        assert killed_until_done(scene, random.Random(5), 8, **often, **options) == 8  # noqa: S311
        engine = scene.assert_sound()
        verify_study(scene.study)
        plain = reference(**options)
        assert course(scene.entries()) == course(plain.entries())
        assert ending(engine) == ending(plain.engine())
    finally:
        scene.close()


@pytest.mark.parametrize(("workers", "kills"), [(1, 70), (2, 30)])
def test_a_hundred_kills_lose_nothing(launcher, reference, tmp_path, workers, kills):
    rng = random.Random(workers)  # noqa: S311
    done = studies = 0
    while done < kills:
        folder = tmp_path / f"{studies}"
        folder.mkdir()
        scene = Scene(launcher, folder)
        try:
            snapshots = {"snapshots": 10} if studies % 2 else {}
            done += killed_until_done(
                scene, rng, kills - done, mischief=snapshots, workers=workers, seed=studies, **SIZE
            )
            engine = scene.assert_sound()
            verify_study(scene.study)
            assert engine.ended is not None
            assert len(engine.trials) == SIZE["trials"]
            scene.assert_left_alone()
            if workers == 1:
                plain = reference(seed=studies, **SIZE)
                assert course(scene.entries()) == course(plain.entries())
                assert ending(engine) == ending(plain.engine())
        finally:
            scene.close()
        studies += 1
