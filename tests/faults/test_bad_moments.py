"""The tuner is killed at the worst of moments: the same call takes the study up."""

import time

import pytest
from faults.scenarios import course, ending

MOMENTS = [
    ("migration", 0),
    ("migration", 1),
    ("begin", 0),
    ("transaction", 1),
    ("transaction", 2),
    ("transaction", 7),
    ("committed", 1),
    ("committed", 2),
    ("committed", 8),
    ("closing", 0),
    ("tidying", 0),
]


@pytest.mark.parametrize(("moment", "number"), MOMENTS)
def test_killed(scene, reference, moment, number):
    tuner = scene.start("steady", trials=9, mischief={moment: number})
    assert tuner.wait() == -9
    scene.finish("steady", trials=9)
    engine = scene.assert_sound()
    plain = reference(trials=9)
    assert course(scene.entries()) == course(plain.entries())
    assert ending(engine) == ending(plain.engine())
    scene.assert_left_alone()


def test_killed_while_starting(scene, reference):
    for number in range(12):
        tuner = scene.start("steady", trials=9, pace=0.1)  # it must not be done by then
        time.sleep(0.012 * number)
        assert tuner.kill()
    scene.finish("steady", trials=9)
    scene.assert_sound()
    assert course(scene.entries()) == course(reference(trials=9).entries())
    scene.assert_left_alone()
