"""Studies that are moved, run again with another function, or opened on another machine."""

import math
import subprocess
import sys
import textwrap
import warnings

import pytest
from command_line import run_process

import rungwise as rw
from rungwise.core.replay import ULPS, differ_by_rounding
from rungwise.specification import load_function
from rungwise.storage.record import StudyRecord
from rungwise.tuning import function_reference
from rungwise.tuning.verification import verify_study

SPACE = {"x": rw.Float(1e-5, 1, log=True), "units": rw.Int(1, 99, log=True)}
CODE = """
def train(config, run):
    for epoch in range(1, 4):
        run.report(epoch, loss=config["x"] + 1 / epoch)
"""


def write(folder, code=CODE, name="model.py"):
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(textwrap.dedent(code))
    return f"{folder / name}:train"


def tune(train, study, **changes):
    arguments = {"trials": 6, "max_resource": 3, "backend": "threads:1", **changes}
    return rw.tune(train, SPACE, metric="loss", goal="min", show="quiet", study=study, **arguments)


@pytest.fixture
def loaded():
    """Loads functions of files afresh: modules are forgotten at the end."""
    before, paths = set(sys.modules), list(sys.path)

    def load(reference):
        for name in set(sys.modules) - before:
            if getattr(sys.modules[name], "__file__", "") and "model" in name:
                del sys.modules[name]
        return load_function(reference)

    yield load
    sys.path[:] = paths
    for name in set(sys.modules) - before:
        if name.startswith(("model", "_rungwise_")):
            del sys.modules[name]


MAIN = """
import rungwise as rw

if __name__ == "__main__":
    rw.tune(train, {"x": rw.Float(1e-5, 1)}, metric="loss", goal="min", show="quiet", study="s.db",
            trials=6, max_resource=3, backend="threads:1")
"""


def test_a_study_moved_with_its_script_is_resumed(tmp_path):
    """And one that was moved without it says how to give it."""
    old, new, lost = (tmp_path / name for name in ("old", "new", "lost"))
    write(old, CODE + MAIN)
    subprocess.run([sys.executable, "model.py"], cwd=old, check=True)
    old.rename(new)
    done = run_process(["resume", str(new / "s.db"), "--trials", "8"], folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert rw.load(new / "s.db").trials == 8
    lost.mkdir()
    (new / "s.db").rename(lost / "s.db")
    (new / "model.py").rename(tmp_path / "other.py")
    command = ["resume", str(lost / "s.db"), "--trials", "9"]
    refused = run_process(command, folder=tmp_path)
    assert refused.returncode != 0
    assert "--train FILE.py:FUNCTION" in " ".join(refused.stderr.split())
    done = run_process([*command, "--train", "other.py:train"], folder=tmp_path)
    assert done.returncode == 0, done.stderr


def test_a_script_is_found_again_too(tmp_path):
    (tmp_path / "old").mkdir()
    script = tmp_path / "old" / "train.py"
    script.write_text("print('not run here')")
    study = tmp_path / "old" / "s.db"
    command = rw.Script([sys.executable, str(script)])
    noted = function_reference.note(command, study)
    assert noted.beside == {"1": "train.py"}
    about = StudyRecord(
        "loss",
        train=function_reference.reference(command),
        function=noted,
    )
    (tmp_path / "old").rename(tmp_path / "new")
    found = function_reference.find(about, tmp_path / "new" / "s.db")
    assert found.command == (sys.executable, str(tmp_path / "new" / "train.py"))


CHANGED = CODE.replace("1 / epoch", "2 / epoch")
COMMENTED = CODE.replace("for epoch", "# epochs\n    for  epoch")


def test_a_finished_study_says_that_its_function_has_changed(tmp_path, loaded):
    study = tmp_path / "s.db"
    first = tune(loaded(write(tmp_path / "a")), study)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tune(loaded(write(tmp_path / "b", COMMENTED, "model_b.py")), study)
    other = loaded(write(tmp_path / "c", CHANGED, "model_c.py"))
    for _ in range(2):  # and again: it stays another one
        with pytest.warns(rw.FunctionChangedWarning, match="nothing was trained with the new one"):
            again = tune(other, study)
        assert again.best == first.best
    with pytest.warns(rw.FunctionChangedWarning, match="compared with what the earlier one"):
        assert tune(other, study, trials=8).trials == 8
    with warnings.catch_warnings():  # from now on it is the function of the study
        warnings.simplefilter("error")
        tune(other, study, trials=8)


def test_functions_whose_code_is_not_known_have_no_fingerprint():
    assert function_reference.compute_fingerprint(len) is None
    assert function_reference.compute_fingerprint(rw.Run.report.__get__(None, str).__call__) is None


def test_a_file_that_was_edited_since_it_was_imported_gives_no_fingerprint(tmp_path):
    """Its lines are looked up by number, and may be anything by now, even no Python."""
    path, names = tmp_path / "model.py", {}
    path.write_text("a table: (\nof `code`,\nnever closed [\n")
    exec(compile("\n\ndef train(config, run):\n    pass\n", str(path), "exec"), names)  # noqa: S102
    assert function_reference.compute_fingerprint(names["train"]) is None


def shift(monkeypatch, bits):
    """Another machine: whatever is drawn on a logarithmic scale has other last bits."""
    propose = rw.searchers.RandomSearcher.propose

    def elsewhere(self, space, history, rng):
        config = propose(self, space, history, rng)
        for _ in range(bits):
            config["x"] = math.nextafter(config["x"], 1.0)
        return config

    monkeypatch.setattr(rw.searchers.RandomSearcher, "propose", elsewhere)


def test_other_last_bits_are_a_warning_and_the_log_is_what_happened(tmp_path, monkeypatch, loaded):
    study = tmp_path / "s.db"
    train = loaded(write(tmp_path / "a"))
    first = tune(train, study)
    configs = [trial.config for trial in first.engine.trials]
    shift(monkeypatch, 2)
    with pytest.warns(rw.RoundingWarning, match="6 of its 6 configurations"):
        verify_study(study)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = rw.load(study)  # from its snapshot: nothing is drawn again
    assert [trial.config for trial in again.engine.trials] == configs
    with pytest.warns(rw.RoundingWarning):
        more = rw.resume(study, train, trials=8, show="quiet")
    assert [trial.config for trial in more.engine.trials[:6]] == configs
    with pytest.warns(rw.RoundingWarning, match="6 of its 8 configurations"):
        verify_study(study)  # the two that were drawn here are as they are drawn here


def test_other_proposals_are_still_refused(tmp_path, monkeypatch, loaded):
    study = tmp_path / "s.db"
    train = loaded(write(tmp_path / "a"))
    tune(train, study)
    shift(monkeypatch, 2 * ULPS)
    with pytest.raises(rw.ReplayMismatchError):
        verify_study(study)
    with pytest.raises(rw.ReplayMismatchError):
        rw.resume(study, train, trials=8, show="quiet")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"x": 0.1}, {"x": math.nextafter(0.1, 1)}, True),
        ({"x": 0.0}, {"x": 5e-324}, True),
        ({"x": 0.1}, {"x": 0.1000001}, False),
        ({"x": 1}, {"x": 1.0}, False),
        ({"x": 1}, {"x": 2}, False),
        ({"x": 0.1}, {"y": 0.1}, False),
        ({"x": 0.1}, None, False),
        ({"x": "a", "y": 0.5}, {"x": "b", "y": 0.5}, False),
    ],
)
def test_what_counts_as_rounding(one, other, same):
    assert differ_by_rounding(one, other) is same
