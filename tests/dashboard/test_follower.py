"""What is folded: only what is new, and always what the whole log says."""

import json
import re
import shutil
import sqlite3

import pytest
from dashboard_stories import make_finished, make_interrupted, train, tune

import rungwise as rw
from rungwise.core.codec import jsonable
from rungwise.core.decisions import Continue, Stop
from rungwise.dashboard.details import write_files, write_trial
from rungwise.dashboard.feed import Feed
from rungwise.dashboard.pacing import SHARE, Paced
from rungwise.dashboard.rows import BEST, OTHERS, POINTS, RUNNING, CurveChoice, thin
from rungwise.storage import tail
from rungwise.storage.study_file import StudyFile
from rungwise.tuning import requests
from rungwise.tuning.follower import Follower
from rungwise.views import StudyView, rungs


def read_all(path):
    follower = Follower(path)
    while follower.poll():
        pass
    return follower


def test_a_fold_is_what_the_whole_log_says(studies):
    for name in ("finished.db", "interrupted.db", "failed.db", "<b>hostile.db"):
        follower, result = read_all(studies / name), rw.load(studies / name)
        engine = follower.fold.engine
        assert not follower.problem
        assert engine.reports == result.reports
        assert rungs(engine) == result.rungs()
        assert follower.view.why == result.why
        assert len(follower.fold.failures) == len(result.failures)
        assert [(rise.reports, rise.level) for rise in engine.timeline.rises] == result.ceilings
        outcomes = [engine.timeline.outcome(job.id) for job in engine.jobs]
        assert outcomes.count("") == len(engine.open_jobs)


def test_a_space_that_is_used_up_is_no_other_decision(tmp_path):
    path = tmp_path / "s.db"
    space = {"lr": rw.Choice([0.01, 0.1]), "units": rw.Choice([5, 9]), "kind": ["sgd", "adam"]}
    assert tune(path, space=space, searcher="grid", trials=20).trials == 8
    follower = read_all(path)
    assert not follower.problem
    assert follower.fold.engine.exhausted


def test_entries_are_read_as_the_log_reads_them(studies, monkeypatch):
    monkeypatch.setattr(tail, "BATCH", 7)
    for name in ("finished.db", "failed.db"):
        with StudyFile(studies / name, mode="read") as file:
            whole = list(file.read_from())
            found, position = [], tail.Position()
            while True:
                entries, position = tail.read_tail(file.log, position, 7)
                if not entries:
                    break
                found += entries
            assert [entry for _, entry in found] == whole
            assert tail.is_still_there(file.log, position)
            assert not tail.is_still_there(file.log, tail.Position(position.entries, 1))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("UPDATE entries SET event = event || ' ' WHERE number = 9", "was altered"),
        ("DELETE FROM entries WHERE number = 9", "entry 9 is missing"),
        ("UPDATE entries SET event = 5 WHERE number = 9", "9"),
        ("UPDATE entries SET event = '[' WHERE number = 9", "altered"),
    ],
)
def test_a_damaged_file_is_named_and_never_shown_as_whole(studies, tmp_path, change, said):
    path = shutil.copy(studies / "interrupted.db", tmp_path / "s.db")
    with sqlite3.connect(path) as database:
        database.execute(change)
    database.close()
    follower = read_all(path)
    assert said in follower.problem


def test_a_log_with_another_decision_is_refused_from_there_on(studies, tmp_path):
    path = tmp_path / "s.db"
    with StudyFile(studies / "finished.db", mode="read") as source, StudyFile(path) as file:
        entries, about = list(source.read_from()), source.about
        place = next(n for n, (_, decision) in enumerate(entries) if decision == Continue())
        entries[place] = (entries[place][0], Stop())
        file.begin_with(source.log.study, about)
        file.extend(entries)
    follower = read_all(path)
    assert "would be another one now" in follower.problem
    reports = follower.fold.engine.reports
    with StudyFile(path) as file:
        file.extend(entries[place:])
    assert not follower.poll()
    assert "would be another one now" in follower.problem
    assert follower.fold.engine.reports == reports


def test_only_new_entries_are_read(tmp_path, monkeypatch):
    path = make_interrupted(tmp_path)
    follower, read = read_all(path), []
    before = follower.fold.engine.reports
    real = tail.read_tail
    monkeypatch.setattr(
        "rungwise.tuning.follower.read_tail",
        lambda log, position: read.append(position.entries) or real(log, position),
    )
    assert not follower.poll()
    assert read == []  # nothing has changed, so the file is not even opened
    count = follower._position.entries
    rw.resume(path, train, show="quiet")
    while follower.poll():
        pass
    assert min(read) >= count
    assert follower.fold.engine.reports > before
    assert follower.fold.engine.ended == rw.load(path).engine.ended


def test_another_file_in_its_place_is_read_from_the_beginning(studies, tmp_path):
    path = tmp_path / "s.db"
    shutil.copy(studies / "interrupted.db", path)
    follower = read_all(path)
    first = follower.fold.engine.reports
    shutil.copy(studies / "finished.db", tmp_path / "other.db")
    (tmp_path / "other.db").replace(path)
    while follower.poll():
        pass
    assert follower.restarts == 1
    assert follower.fold.engine.reports != first
    path.unlink()
    assert not follower.poll()
    assert "is gone" in follower.problem
    assert follower.fold.engine.reports != first  # the last that was read is still shown


def test_a_file_that_is_not_there_yet_is_waited_for(tmp_path):
    follower = Follower(tmp_path / "s.db")
    assert not follower.poll()
    assert "gone" in follower.problem
    make_finished(tmp_path).rename(tmp_path / "s.db")
    (tmp_path / "finished.db.lock").rename(tmp_path / "s.db.lock")
    while follower.poll():
        pass
    assert follower.fold.engine.ended
    assert not follower.problem


# -- what a page is sent -------------------------------------------------------------------------


def test_what_has_changed_is_what_is_sent(tmp_path):
    path = make_interrupted(tmp_path)
    feed = Feed(path)
    feed.look()
    version, text = feed.write(0)
    document = json.loads(text)
    assert document["full"]
    assert document["status"]["state"] == "interrupted"
    assert len(document["trials"]) == document["headline"]["trials"]
    assert feed.wait(feed.epoch, version, 0.01) is None
    requests.stop(path, 0, reason="seen enough")
    feed.look()
    _, version, text = feed.wait(feed.epoch, version, 0.01)
    document = json.loads(text)
    assert not document["full"]
    assert next(row[0] for row in document["trials"]) == 0
    assert len(document["trials"]) < 12
    assert "seen enough" in str(document["failures"]["remarks"])
    assert json.loads(feed.wait("of another server", version, 0.01)[2])["full"]


def test_rows_have_the_values_at_rungs(studies):
    feed = Feed(studies / "finished.db")
    feed.look()
    document = json.loads(feed.write(0)[1])
    result = rw.load(studies / "finished.db")
    levels = document["headline"]["levels"]
    for row in document["trials"]:
        curve = dict(result.curve(row[0]))
        assert row[7] == [pytest.approx(curve[level], rel=1e-6) for level in levels[: row[5]]]
        assert row[8] == dict(result.view.trial(row[0]).config)
    assert document["headline"]["best"]["trial"] == result.best.trial
    assert document["saving"] == jsonable(result.view.savings.to_json())


def test_of_a_large_study_the_telling_curves_are_sent():
    log = rw.MemoryLog()
    rw.simulate(rw.power_laws(1500, 9), rw.ASHA(), trials=1500, log=log)
    engine = rw.replay(log)
    choice = CurveChoice()
    view = StudyView(engine)
    choice.choose(view, 1)
    assert BEST < len(choice._since) <= BEST + RUNNING + OTHERS
    assert {row.trial for row in view.leaderboard(BEST)} <= choice._since.keys()


def test_long_curves_are_thinned_and_keep_their_best():
    log = rw.MemoryLog()
    rw.simulate(rw.power_laws(4, 1000), "fixed:1000", trials=4, log=log)
    view = StudyView(rw.replay(log))
    resources, values = thin(view, 2)
    assert len(resources) <= POINTS
    assert (resources[0], resources[-1]) == (1, 1000)
    assert min(values) == pytest.approx(min(value for _, value in view.curve(2)), rel=1e-6)


def test_a_trial_is_told_with_its_files(studies):
    path = studies / "finished.db"
    follower = read_all(path)
    best = follower.view.best.trial
    document = write_trial(follower.view, follower.fold, best)
    files = write_files(path, best, [job["job"] for job in document["jobs"]])
    assert "epoch 1" in files["output"]
    assert files["checkpoints"]
    assert files["bytes"] > 0
    resource, metrics = files["metrics"][-1]
    assert resource == document["curve"][0][-1]
    assert metrics["accuracy"] == pytest.approx(1 - document["curve"][1][-1])
    assert write_trial(follower.view, follower.fold, 10_000) is None


def test_what_a_trial_prints_has_no_control_characters(studies):
    path = studies / "<b>hostile.db"
    texts = [write_files(path, number, [])["output"] for number in range(16)]
    assert any("onerror" in text for text in texts)
    assert not any("\x1b" in text for text in texts)


def test_notices_are_kept_with_the_study(tmp_path):
    path = tmp_path / "s.db"

    def without_checkpoints(config, run):
        for epoch in run.resources():
            run.report(epoch, loss=config["lr"] + 1 / epoch)

    tune(path, without_checkpoints, trials=20, scheduler="asha")
    (at, text), *_ = read_notices(path)
    assert "without a checkpoint" in text
    assert at >= 0
    assert "notice" in str(read_all(path).fold.notices)
    assert rw.load(path).ended


def read_notices(path):
    with StudyFile(path, mode="read") as file:
        return file.notices()


def test_what_is_expensive_is_computed_seldom():
    now, computed = [0.0], []

    def compute():
        computed.append(now[0])
        now[0] += 1.0
        return len(computed)

    paced = Paced(compute, lambda: now[0])
    assert [paced.get(version) for version in (1, 1, 2, 3)] == [1, 1, 1, 1]
    assert paced.get(3, now=True) == 2
    now[0] += 1 / SHARE
    assert paced.get(4) == 3
    assert paced.get(4, now=True) == 3


def test_a_study_that_runs_says_what_is_to_come_and_one_that_was_extended_says_so(tmp_path):
    path = make_interrupted(tmp_path)
    requests.extend(path, trials=60)
    with StudyFile(path):  # as a tuner has it
        feed = Feed(path)
        feed.look()
        headline = json.loads(feed.write(0)[1])["headline"]
    assert headline["state"] == "running"
    assert re.match(r"Running: \d+ of 60 configurations started; trial ", headline["why"])
    assert headline["extensions"] == ["trials 40 → 60"]
    feed.look()
    assert json.loads(feed.write(0)[1])["headline"]["why"].startswith("Interrupted: ")
