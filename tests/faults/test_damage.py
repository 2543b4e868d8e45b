"""A study file with damage: either it does not matter, or it is named; nothing is repaired."""

import functools
import random
import shutil
import sqlite3

import pytest
from faults import trainings
from faults.scenarios import Scene, ending

import rungwise as rw
from rungwise.storage import SqliteLog
from rungwise.storage.study_file import StudyFile
from rungwise.tuning.folding import fold


@pytest.fixture(scope="module")
def finished(launcher, tmp_path_factory):
    """A finished study, with failures in it."""
    scene = Scene(launcher, tmp_path_factory.mktemp("finished"))
    scene.finish("stillborn", environ={"MISDEEDS": "raises," * 12}, trials=12, workers=2)
    return scene.study


@pytest.fixture(scope="module")
def killed(launcher, tmp_path_factory):
    """A study whose tuner was killed: most of it is in the -wal file still."""
    scene = Scene(launcher, tmp_path_factory.mktemp("killed"))
    scene.start("steady", mischief={"committed": 60}, trials=24).wait()
    assert size_of(wal_of(scene.study)) > 20_000
    return scene.study


def wal_of(path):
    return path.with_name(path.name + "-wal")


def copy_of(study, tmp_path, number=0):
    folder = tmp_path / f"{number}"
    folder.mkdir()
    for path in (study, wal_of(study), study.with_name(study.name + ".lock")):
        if path.exists():
            shutil.copy(path, folder / path.name)
    return folder / study.name


def contents(path):
    """The bytes of the file and of what belongs to it; an empty -wal file is none."""
    return [
        place.read_bytes() for place in (path, wal_of(path)) if place.exists() and size_of(place)
    ]


def size_of(path):
    return path.stat().st_size


def log_of(path):
    """What the log says, every decision checked."""
    with StudyFile(path, mode="read") as file:
        return list(file.read_from()), ending(fold(file)[0])


def all_of(path):
    """All that a study file says."""
    result = rw.load(path)
    with StudyFile(path, mode="read") as file:
        about, extras, retrains = file.about, file.extras(), file.retrains()
    return log_of(path), result.failures, result.seconds, about, extras, retrains


def go_on(path, train=trainings.steady):
    rw.resume(path, train, show="quiet")


def told(path, act):
    """What a file says; None if it was refused as it must be: by name, and left as it is."""
    before = contents(path)
    try:
        return act(path)
    except rw.RungwiseError as refusal:
        message = str(refusal)
    assert str(path) in message
    assert contents(path) == before, "a file that was refused was changed"
    return None


def flipped(path, offset, bit):
    data = bytearray(path.read_bytes())
    data[offset] ^= 1 << bit
    path.write_bytes(data)


def copies_with_a_flip(study, tmp_path, count, seed=0):
    rng = random.Random(seed)  # noqa: S311
    for number in range(count):
        path = copy_of(study, tmp_path, number)
        flipped(path, rng.randrange(size_of(path)), rng.randrange(8))
        yield path


def test_a_flipped_bit_never_changes_the_log(tmp_path):
    # A simulated study: its file is the same in every run of this test, byte for byte.
    study, refused = tmp_path / "study.db", 0
    with SqliteLog(study) as log:
        rw.simulate(rw.power_laws(30, 27), rw.PASHA(), trials=30, log=log)
    whole = log_of(study)
    for path in copies_with_a_flip(study, tmp_path, 300):
        said = told(path, log_of)
        assert said in (None, whole), f"the damage of {path} goes unnoticed"
        refused += said is None
    assert refused > 150


def test_a_flipped_bit_never_changes_anything(finished, tmp_path):
    whole = all_of(finished)
    for path in copies_with_a_flip(finished, tmp_path, 300):
        assert told(path, all_of) in (None, whole), f"the damage of {path} goes unnoticed"
        told(path, functools.partial(go_on, train=trainings.stillborn))


def altered(path, statement):
    """Change something the way SQLite does; it stays in the -wal file."""
    scratch = path.with_name("scratch.db")
    shutil.copy(path, scratch)
    database = sqlite3.connect(scratch)
    try:
        database.execute("PRAGMA wal_autocheckpoint = 0")
        database.execute(statement)
        database.commit()
        for old, new in ((scratch, path), (wal_of(scratch), wal_of(path))):
            shutil.copy(old, new)
    finally:
        database.close()


def test_an_altered_decision_is_refused(finished, tmp_path):
    path = copy_of(finished, tmp_path)
    altered(path, "UPDATE entries SET decision = replace(decision, 'Pause', 'Stop')")
    assert told(path, log_of) is None
    assert told(path, rw.load) is None


def test_what_resume_refuses_it_leaves_as_it_is(finished, tmp_path):
    path = copy_of(finished, tmp_path)
    altered(path, "UPDATE entries SET decision = replace(decision, 'Pause', 'Stop')")
    assert told(path, go_on) is None


def test_a_value_of_another_type_is_damage(finished, tmp_path):
    path = copy_of(finished, tmp_path)
    altered(path, "UPDATE entries SET event = CAST(event AS BLOB) WHERE number = 3")
    assert told(path, log_of) is None


def test_a_file_cut_short(finished, tmp_path):
    rng = random.Random(7)  # noqa: S311
    whole, data = log_of(finished), finished.read_bytes()
    for number, length in enumerate(
        [0, 1, 100, 4096, *(rng.randrange(len(data)) for _ in range(20))]
    ):
        path = copy_of(finished, tmp_path, number)
        path.write_bytes(data[:length])
        assert told(path, log_of) in (None, whole)
        if length < 4097:
            assert told(path, go_on) is None


def test_a_bit_of_the_write_ahead_log_is_flipped(killed, tmp_path):
    """SQLite takes it for the end of the file; but how much was committed is kept elsewhere too."""
    rng = random.Random(8)  # noqa: S311
    whole, size = log_of(killed), size_of(wal_of(killed))
    refused = 0
    for number in range(60):
        path = copy_of(killed, tmp_path, number)
        flipped(wal_of(path), rng.randrange(size), rng.randrange(8))
        said = told(path, log_of)
        assert said in (None, whole)
        refused += said is None
    assert refused > 20


def test_the_write_ahead_log_is_lost_or_cut(killed, tmp_path):
    rng = random.Random(9)  # noqa: S311
    data, whole = wal_of(killed).read_bytes(), log_of(killed)
    for number, length in enumerate([0, *(rng.randrange(len(data)) for _ in range(20))]):
        path = copy_of(killed, tmp_path, number)
        wal_of(path).write_bytes(data[:length])
        assert told(path, log_of) in (None, whole)
        assert length > 0.8 * len(data) or told(path, log_of) is None
    path = copy_of(killed, tmp_path, "lost")
    wal_of(path).unlink()
    assert told(path, log_of) is None
    assert told(path, go_on) is None
