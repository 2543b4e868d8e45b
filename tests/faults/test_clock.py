"""A clock that jumps back: nothing depends on it."""

from faults.scenarios import course


def test_the_clock_goes_back_all_the_time(scene, reference):
    mischief = {"clock": 0}
    tuner = scene.start("timekeeper", mischief={**mischief, "committed": 9}, trials=12)
    tuner.wait()
    tuner = scene.start("timekeeper", call="resume", mischief={**mischief, "transaction": 9})
    tuner.wait()
    scene.finish("timekeeper", call="resume", mischief=mischief)
    scene.assert_sound()  # times of the log among other things
    assert course(scene.entries()) == course(reference(trials=12).entries())


def test_timeouts_do_not_go_by_it(scene):
    scene.finish(
        "timekeeper",
        mischief={"clock": 0},
        workers=2,
        trials=6,
        seconds=3000,
        report_timeout=50,
        trial_timeout=50,
    )
    engine = scene.assert_sound()
    assert len(engine.trials) == 6
    assert "promotable" in engine.ended


def test_times_go_on_over_resumes_and_never_fall(scene):
    for number in (4, 1, 3, 2):
        scene.start("steady", workers=2, trials=9, mischief={"committed": number}).wait()
    scene.finish("steady", call="resume")
    scene.assert_sound()
