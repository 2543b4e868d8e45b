"""The tuner dies with its study file; the study goes on from the mirror."""

import secrets
import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest
from extras import needing
from faults.scenarios import course, eventually

import rungwise as rw
from rungwise.core.events import JobRequested
from rungwise.core.replay import replay
from rungwise.storage.sqlite import SqliteLog
from rungwise.storage.study_file import StudyFile
from rungwise.tuning.folding import fold_for_resuming

SIZE = {"max_resource": 27, "trials": 24, "workers": 1, "seed": 3}


def length(path):
    """How many entries a study file has; 0 while there is none."""
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as database:
            return database.execute("SELECT count(*) FROM entries").fetchone()[0]
    except sqlite3.Error:
        return 0


def read(path):
    with SqliteLog(path, mode="read") as log:
        return log.study, list(log.read_from())


def lose(scene, *, checkpoints):
    for name in ("study.db", "study.db-wal", "study.db-shm", "study.db.lock"):
        (scene.folder / name).unlink(missing_ok=True)
    if checkpoints:
        shutil.rmtree(scene.folder / "study.db.files")


@pytest.mark.parametrize("checkpoints", [False, True])
def test_a_study_goes_on_from_its_mirror(scene, reference, tmp_path, checkpoints):
    place = tmp_path / "shared" / "mirror"
    options = {"mirror": str(place), "mirror_every": 0.2, **SIZE}
    tuner = scene.start("steady", pace=0.02, **options)
    copy = place / "study.db"
    first = eventually(lambda: length(copy))
    eventually(lambda: length(copy) > first + 20)
    assert tuner.kill()
    scene.assert_left_alone()
    copied, lost = read(copy)[1], read(scene.study)[1]
    assert copied == lost[: len(copied)]
    lose(scene, checkpoints=checkpoints)
    scene.finish("steady", **options)
    study, entries = read(scene.study)
    assert entries[: len(copied)] == copied
    engine = replay(study, entries)
    assert (len(engine.trials), engine.ended is not None) == (24, True)
    assert course(entries) == course(reference(**SIZE).entries())
    assert not scene.side("violation")
    assert "fetched from its mirror" in scene.notices()
    assert read(copy) == (study, entries)  # the last copy has the end


@needing("fsspec")
def test_the_mirror_may_be_behind_an_address(tmp_path):
    place = f"memory://{secrets.token_hex(8)}"
    given = {"study": tmp_path / "a.db", "mirror": place, "trials": 3, "backend": rw.Threads(1)}
    first = tune(**given)
    for path in tmp_path.glob("a.db*"):
        path.unlink() if path.is_file() else shutil.rmtree(path)
    assert tune(**given).best == first.best


def tune(**options):
    given = {"metric": "loss", "goal": "min", "max_resource": 3, "show": "quiet"}
    return rw.tune(train, {"x": rw.Float(0, 1)}, **{**given, **options})


def train(config, run):
    for epoch in run.resources():
        time.sleep(0.03)  # so that there are copies meanwhile
        run.report(epoch, loss=abs(config["x"] - 0.3) + 1 / epoch)


@pytest.fixture
def given(tmp_path):
    study = {"study": tmp_path / "a.db", "mirror": tmp_path / "mirror", "mirror_every": 0.05}
    return {**study, "trials": 3, "backend": rw.Threads(1)}


def test_the_mirror_of_another_study_is_refused(given, tmp_path):
    tune(**given)
    lone = tmp_path / "elsewhere"
    lone.mkdir()
    with pytest.raises(rw.StudyDiffersError):
        tune(**{**given, "study": lone / "a.db", "seed": 5})
    (lone / "a.db").unlink()
    tune(study=lone / "a.db", seed=5, trials=3, backend=rw.Threads(1))
    with pytest.raises(rw.InvalidArgumentError, match="is the copy of another study"):
        tune(**{**given, "study": lone / "a.db", "seed": 5})


def test_a_file_that_is_behind_its_mirror_is_refused(given, tmp_path):
    stopped = {**given, "on_report": interrupt}
    with pytest.raises(KeyboardInterrupt):
        tune(**stopped)
    old = tmp_path / "old.db"
    shutil.copyfile(given["mirror"] / "a.db", old)
    tune(**given)
    for name in ("a.db", "a.db-wal", "a.db-shm", "a.db.lock"):
        (tmp_path / name).unlink(missing_ok=True)
    old.rename(given["study"])
    with pytest.raises(rw.InvalidArgumentError, match="the study went on elsewhere: move"):
        rw.resume(given["study"], train, show="quiet")


def test_a_file_that_went_on_beside_its_mirror_is_refused(given):
    with pytest.raises(KeyboardInterrupt):
        tune(**given, on_report=interrupt)
    tune(**{**given, "mirror": None})
    with StudyFile(given["mirror"] / "a.db") as file:
        engine, clock = fold_for_resuming(file.main)
        request = JobRequested(clock + 1)
        file.main.extend([(request, engine.handle(request))])
    with pytest.raises(rw.InvalidArgumentError, match="which went on in both places"):
        rw.resume(given["study"], train, mirror=str(given["mirror"]), show="quiet")


def interrupt(report):
    raise KeyboardInterrupt


def test_a_mirror_that_fails_is_a_notice(given, tmp_path, capsys):
    heard = []

    def hear(text):
        heard.append(capsys.readouterr().err)
        return text in "".join(heard)

    def break_it(report):
        if report.trial == 0 and report.resource == 1:
            eventually((given["mirror"] / "a.db").exists)
            given["mirror"].rename(tmp_path / "away")
            given["mirror"].write_text("in its place")
        elif given["mirror"].is_file() and hear("could not be written"):
            given["mirror"].unlink()

    result = tune(**{**given, "trials": 5}, on_report=break_it, show="lines")
    assert (result.trials, result.failures) == (5, ())
    assert hear("is written again")
    assert read(given["mirror"] / "a.db") == read(given["study"])


def test_a_tuner_leaves_a_mirror_that_another_one_has_taken_over(given):
    def take_over(report):
        mark = given["mirror"] / "a.db.tuner"
        eventually(mark.exists)
        mark.write_text("of another tuner")
        (given["mirror"] / "a.db").write_text("of another tuner")

    tune(**given, on_report=take_over)
    assert (given["mirror"] / "a.db").read_text() == "of another tuner"


@pytest.mark.parametrize("place", ["/proc/nothing", "file:///proc/nothing"])
def test_a_mirror_that_cannot_be_written_is_refused_at_first(given, place):
    with pytest.raises(rw.StoreUnavailableError, match="/proc/nothing"):
        tune(**{**given, "mirror": place})
    assert not given["study"].exists()


def test_a_study_that_is_not_kept_has_no_mirror(tmp_path):
    with pytest.raises(rw.InvalidArgumentError, match="give study="):
        tune(mirror=tmp_path / "mirror", trials=3)
    assert not list(Path(tmp_path).iterdir())
