"""What a reviewer thought of: files that were left, links, folders that change, odd functions."""

import multiprocessing
import os
import subprocess
import sys
import textwrap
import threading
import time

import pytest

import rungwise as rw
from rungwise.core.trials import State

COMMON = {"metric": "loss", "goal": "min", "show": "quiet"}
SPACE = {"x": rw.Float(0, 1)}


def train(config, run):
    for epoch in run.resources():
        with run.checkpoint(epoch) as folder:
            (folder / "x").write_text(repr(config["x"]))
        run.report(epoch, loss=config["x"] / epoch)


def careful(config, run):
    """Fails when its checkpoint is not its own."""
    if run.latest:
        assert (run.latest / "x").read_text() == repr(config["x"])
    train(config, run)


def test_checkpoints_of_a_study_that_is_gone_are_not_taken_over(tmp_path):
    path = tmp_path / "s.db"
    rw.tune(train, SPACE, study=path, trials=9, max_resource=9, workers=1, **COMMON)
    path.unlink()
    with pytest.raises(rw.InvalidArgumentError, match=r"s\.db\.files holds checkpoints of another"):
        rw.tune(careful, SPACE, study=path, trials=9, max_resource=9, workers=1, **COMMON)


def test_a_link_is_the_same_study(tmp_path):
    real, link = tmp_path / "real.db", tmp_path / "link.db"
    rw.tune(train, SPACE, study=real, trials=3, max_resource=3, workers=1, **COMMON)
    link.symlink_to(real)
    result = rw.tune(train, SPACE, study=link, trials=3, max_resource=3, workers=1, **COMMON)
    assert result.path == real.resolve()
    assert not (tmp_path / "link.db.lock").exists()
    assert rw.load(link).best.checkpoint is not None


def test_a_folder_that_changes_meanwhile_does_not_matter(tmp_path, monkeypatch):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(tmp_path)
    result = rw.tune(
        careful,
        SPACE,
        study="s.db",
        trials=9,
        max_resource=9,
        workers=1,
        on_report=lambda _: os.chdir(elsewhere),
        **COMMON,
    )
    result.retrain(careful, fresh=True)
    assert list(elsewhere.iterdir()) == []
    assert result.failures == ()


SCRIPT = """
import pickle
import rungwise as rw

class Model:
    value = 0.0

def train(config, run):
    model = Model()
    if run.latest:
        model = pickle.loads((run.latest / "model").read_bytes())
    for epoch in run.resources():
        model.value += config["x"]
        with run.checkpoint(epoch) as folder:
            (folder / "model").write_bytes(pickle.dumps(model))
        run.report(epoch, loss=model.value)

result = rw.tune(train, {"x": rw.Float(0, 1)}, metric="loss", goal="min", max_resource=9, trials=6,
                 workers=1, show="quiet")
print(len(result.failures), result.reports > 6)
"""


def test_objects_of_a_script_can_be_pickled_in_a_worker(tmp_path):
    (tmp_path / "study.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "study.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout == "0 True\n"


def double(x):
    return 2 * x


def pooled(config, run):
    for epoch in run.resources():
        with multiprocessing.get_context("fork").Pool(2) as pool:
            pool.map(double, range(4))
        run.report(epoch, loss=config["x"] / epoch)


def test_process_pools_inside_training_end(tmp_path):
    result = rw.tune(pooled, SPACE, trials=6, max_resource=3, workers=2, seed=1, **COMMON)
    assert (result.ended, result.failures) == (True, ())


def unspeakable(config, run):
    if config["x"] < 0.5:
        raise RuntimeError("bad \udcff name" * 100)
    run.report(1, loss=config["x"])


def test_an_exception_that_no_file_can_hold_fails_its_trial_only(tmp_path):
    path = tmp_path / "s.db"
    scheduler = rw.FixedResource(1)
    result = rw.tune(
        unspeakable,
        SPACE,
        study=path,
        trials=8,
        scheduler=scheduler,
        workers=1,
        retries=0,
        **COMMON,
    )
    failed = [trial for trial in result.engine.trials if trial.state is State.FAILED]
    assert 0 < len(failed) < 8
    assert all(len(trial.note) <= 500 and "name" in trial.note for trial in failed)
    assert rw.load(path).failures == result.failures


def late(config, run):
    def report_later():
        time.sleep(0.3)
        run.report(2, loss=-1000.0)

    threading.excepthook = lambda _: None
    run.report(1, loss=1.0)
    threading.Thread(target=report_later, daemon=True).start()
    if run.trial:
        time.sleep(0.5)


def test_a_report_after_the_end_of_a_leg_counts_for_nobody():
    result = rw.tune(late, SPACE, trials=3, scheduler=rw.FixedResource(1), workers=1, **COMMON)
    assert result.best.value == 1.0


def forked(config, run):
    if os.fork() == 0:
        return
    time.sleep(0.1)
    run.report(1, loss=config["x"])


def test_a_forked_child_does_not_speak_for_its_parent():
    result = rw.tune(forked, SPACE, trials=4, scheduler=rw.FixedResource(1), workers=1, **COMMON)
    assert (result.reports, result.failures) == (4, ())


def test_a_process_forked_in_a_callback_holds_nobody_up(tmp_path):
    children = []

    def fork(_):
        if not children:
            child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(20,))
            child.start()
            children.append(child)

    begun = time.monotonic()
    path = tmp_path / "s.db"
    try:
        rw.tune(
            train, SPACE, study=path, trials=3, max_resource=3, workers=1, on_report=fork, **COMMON
        )
        assert time.monotonic() - begun < 15
        with rw.SqliteLog(path):
            pass  # and the lock is free
    finally:
        children[0].kill()
        children[0].join()


def broken(config, run):
    raise ValueError("a typo")


def test_a_study_in_which_nothing_works_gives_up(tmp_path):
    path = tmp_path / "s.db"
    typo = r"[67] ×  ValueError: a typo \(test_odd_circumstances.py, line \d+, in broken\)"
    with pytest.raises(rw.NothingFoundError, match=typo) as nothing:
        rw.tune(broken, SPACE, study=path, seconds=60, max_resource=9, workers=1, **COMMON)
    assert 6 <= len(rw.load(path).failures) <= 7
    assert f"rungwise show {path} --trial 0, or " in str(nothing.value)
    with pytest.raises(rw.NothingFoundError) as nothing:  # its file is gone: the trace is shown
        rw.tune(broken, SPACE, seconds=60, max_resource=9, workers=1, **COMMON)
    text = str(nothing.value)
    assert text.startswith("No trial of the study has reported")
    assert "\nThe first traceback:\nTraceback (most recent call last):\n" in text
    assert "ValueError: a typo\nIt stopped early, because all failures were the same" in text

    def enough(report):
        raise KeyError(report.trial)

    with pytest.raises(KeyError):  # mended, it is not judged by what went wrong before
        rw.resume(path, train, show="quiet", on_report=enough)


class Rude:
    """A display that breaks down at the end."""

    def begin(self, snapshot): ...
    def due(self):
        return False

    def update(self, snapshot): ...
    def notice(self, text): ...
    def end(self, snapshot, text):
        raise RuntimeError("rude")


def test_a_display_that_breaks_leaves_nothing_behind(tmp_path):
    path = tmp_path / "s.db"
    arguments = {**COMMON, "study": path, "trials": 3, "max_resource": 3, "workers": 1}
    with pytest.raises(RuntimeError, match="rude"):
        rw.tune(train, SPACE, **{**arguments, "show": Rude()})
    assert rw.tune(train, SPACE, **arguments).ended


def test_the_paper_s_finish_needs_more_trials_than_workers(tmp_path):
    with pytest.raises(rw.InvalidArgumentError, match="4 workers would train nothing"):
        rw.tune(train, SPACE, trials=4, max_resource=3, workers=4, finish="paper", **COMMON)


def test_a_study_can_be_looked_at_in_an_archive(tmp_path, monkeypatch):
    path = tmp_path / "s.db"
    rw.tune(train, SPACE, study=path, trials=3, max_resource=3, workers=1, **COMMON)
    before = {place.name for place in tmp_path.iterdir()}
    monkeypatch.setattr(os, "access", lambda *_, **__: False)  # root may write anywhere
    assert rw.load(path).trials == 3
    assert {place.name for place in tmp_path.iterdir()} == before  # no -shm, no -wal


def test_typed_in_functions_cannot_be_found_again(tmp_path):
    code = textwrap.dedent("""
        import rungwise as rw
        from rungwise.tuning import function_reference
        def train(config, run): run.report(1, loss=1)
        print(function_reference.reference(train))
    """)
    done = subprocess.run(
        [sys.executable], input=code, capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout == "None\n"


def test_modules_run_by_name_are_found_by_name(tmp_path):
    package = tmp_path / "pack"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "main.py").write_text(
        "from rungwise.tuning import function_reference\n"
        "def train(config, run): ...\n"
        "print(function_reference.reference(train))\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pack.main"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert done.stdout == "{'function': 'pack.main:train'}\n"
