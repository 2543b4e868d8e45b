"""A page that begins with a snapshot shows what it shows after reading every entry."""

import json
import shutil
import sqlite3

import pytest
from dashboard_stories import make_failed, make_finished, make_interrupted, train, tune

import rungwise as rw
from rungwise.dashboard import report
from rungwise.dashboard.details import write_trial
from rungwise.dashboard.feed import Feed
from rungwise.session import snapshot_keeper
from rungwise.storage import snapshots, tail
from rungwise.storage.study_file import StudyFile
from rungwise.tuning import requests
from rungwise.tuning.follower import Follower


@pytest.fixture(autouse=True)
def frequent(monkeypatch):
    monkeypatch.setattr(snapshot_keeper, "EVERY", 30)


def change(path, *statement):
    database = sqlite3.connect(path)
    database.execute(*statement)
    database.commit()
    database.close()


def look(path):
    """Everything that a page is sent, every trial in full, and how many entries were not read."""
    feed = Feed(path)
    feed.look()
    document = json.loads(feed.write(0)[1])
    assert document["status"]["problem"] == ""
    for name in ("epoch", "version"):
        del document[name]
    document["details"] = feed.read(
        lambda view, fold: [write_trial(view, fold, number) for number in range(view.trials)]
    )
    return document, feed.read(lambda _, fold: fold.begun_at)


def assert_alike(path):
    """The page of a study is the same with its snapshot and without; the page."""
    short, begun_at = look(path)
    assert begun_at > 0
    change(path, "UPDATE snapshot SET layout = 'of another version'")
    whole, begun_at = look(path)
    assert begun_at == 0
    assert short.keys() == whole.keys()
    for name, part in whole.items():
        assert short[name] == part, name
    return whole


def make_killed(folder, at=70, **changes):
    """The files of a study whose tuner was killed: no end, and jobs that are open."""
    path, left = folder / "killed.db", folder / "left"
    left.mkdir()
    count = 0

    def copy(_):
        nonlocal count
        count += 1
        if count == at:
            for place in folder.glob("killed.db*"):
                if place.is_file():
                    shutil.copy(place, left / place.name)

    tune(path, on_report=copy, **changes)
    return left / "killed.db"


def curved(config, run):
    """Curves that cross, so that the ceiling rises."""
    for epoch in run.resources():
        run.report(
            epoch, loss=config["lr"] + (config["units"] / 99) / epoch ** (config["lr"] + 0.1)
        )


def test_of_a_finished_study_with_failed_trials(tmp_path):
    page = assert_alike(make_finished(tmp_path))
    assert page["failures"]["total"]
    assert {row[7] for row in page["jobs"]} >= {"paused", "stopped", "failed"}


def test_of_an_interrupted_study(tmp_path):
    assert_alike(make_interrupted(tmp_path))


def test_of_a_study_in_which_everything_failed(tmp_path, monkeypatch):
    monkeypatch.setattr(snapshot_keeper, "EVERY", 10)
    assert assert_alike(make_failed(tmp_path))["status"]["state"] == "failed"


@pytest.mark.parametrize("options", [{}, {"check": "report", "ranking": "exact"}])
def test_of_a_ceiling_that_rises(tmp_path, options):
    path = tmp_path / "s.db"
    tune(path, curved, scheduler=rw.PASHA(max_resource=27, **options), trials=60)
    ladder = assert_alike(path)["ladder"]
    assert len(ladder["rises"]) > 1
    assert all(rise["at"] > 0 and rise["why"] for rise in ladder["rises"][1:])
    assert ladder["checks"]


@pytest.mark.parametrize("scheduler", ["hyperband", "asha", "adaptive", "async-hyperband"])
def test_of_other_schedulers(tmp_path, scheduler):
    path = tmp_path / "s.db"
    tune(path, scheduler=scheduler)
    assert_alike(path)


@pytest.mark.parametrize("running", [True, False], ids=["running", "killed"])
@pytest.mark.parametrize("workers", [1, 3])
def test_of_a_study_whose_end_is_not_in_the_file(tmp_path, running, workers):
    path = make_killed(tmp_path, workers=workers)
    if running:
        with StudyFile(path):  # as a tuner has it
            short, begun_at = look(path)
        assert begun_at > 0
        assert short["status"]["state"] == "running"
        assert "" in {row[7] for row in short["jobs"]}
        change(path, "DELETE FROM snapshot")
        with StudyFile(path):
            whole, begun_at = look(path)
        assert begun_at == 0
        assert short == whole
    else:
        with StudyFile(path, mode="read") as file:
            found = snapshots.read_snapshot(file.log)
            assert found.entries < len(file.log)  # what came after it is read as well
        assert assert_alike(path)["status"]["state"] == "interrupted"


def test_of_a_study_that_was_resumed_extended_and_changed_by_requests(tmp_path):
    path = make_interrupted(tmp_path)
    requests.stop(path, 0, reason="seen enough")
    requests.add(path, [{"lr": 0.5, "units": 5, "kind": "sgd"}])
    requests.extend(path, trials=50)
    rw.resume(path, train, show="quiet")
    rw.resume(path, train, max_resource=81, trials=60, show="quiet")
    page = assert_alike(path)
    remarks = "\n".join(text for _, _, text in page["failures"]["remarks"])
    for said in (
        "trial 0 stopped on request: seen enough",
        "1 configuration added on request",
        "the study was extended: trials 40 → 50",
        "max_resource 27 → 81",
    ):
        assert said in remarks
    assert "lost" in {row[7] for row in page["jobs"]}


def test_of_a_study_that_goes_on_after_a_retraining(tmp_path):
    path = tmp_path / "s.db"
    result = tune(path)
    result.retrain(train, fresh=True)
    rw.resume(path, train, trials=60, show="quiet")
    (retrained,) = assert_alike(path)["headline"]["retrained"]
    assert retrained["resource"] == 27
    value = rw.load(path).retrained[0].value
    assert retrained["text"] == f"{value:.5g} at 27, its best"


def test_an_altered_entry_of_a_retraining_is_named(tmp_path):
    path = tmp_path / "s.db"
    tune(path).retrain(train, fresh=True)
    rw.resume(path, train, trials=60, show="quiet")
    change(path, "UPDATE entries SET event = replace(event, 'loss', 'less') WHERE part > 0")
    change(path, "UPDATE entries SET event = event || ' ' WHERE part > 0")
    follower = Follower(path)
    follower.poll()
    assert "was altered" in follower.problem


def test_only_what_came_after_it_is_read(tmp_path, monkeypatch):
    path = make_killed(tmp_path)
    with StudyFile(path, mode="read") as file:
        entries = snapshots.read_snapshot(file.log).entries
    places, real = [], tail.read_tail
    monkeypatch.setattr(
        "rungwise.tuning.follower.read_tail",
        lambda log, position: places.append(position.entries) or real(log, position),
    )
    look(path)
    assert min(places) == entries > 0


DAMAGE = {
    "another document": "UPDATE snapshot SET document = replace(document, 'paused', 'failed')",
    "of another version": "UPDATE snapshot SET layout = 'x'",
    "another place": "UPDATE snapshot SET entries = entries - 1",
    "another chain": "UPDATE snapshot SET checksum = checksum + 1",
    "an altered chunk": "UPDATE curves SET points = zeroblob(length(points)) WHERE number = 0",
    "a missing chunk": "DELETE FROM curves WHERE number = 0",
    "no table": "DROP TABLE snapshot",
}


@pytest.mark.parametrize("statement", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_one_is_not_used(tmp_path, statement):
    path = make_finished(tmp_path)
    before, begun_at = look(path)
    assert begun_at > 0
    change(path, statement)
    after, begun_at = look(path)
    assert begun_at == 0
    assert after == before


def test_one_of_another_study_is_not_used(tmp_path):
    path, other = tmp_path / "s.db", tmp_path / "other.db"
    tune(path, scheduler="asha")
    tune(other, scheduler="asha", seed=99)
    (row,) = sqlite3.connect(other).execute("SELECT * FROM snapshot").fetchall()
    chunks = sqlite3.connect(other).execute("SELECT * FROM curves").fetchall()
    before, _ = look(path)
    change(path, "DELETE FROM snapshot")
    change(path, "DELETE FROM curves")
    change(path, "INSERT INTO snapshot VALUES (?, ?, ?, ?, ?, ?)", row)
    for chunk in chunks:
        change(path, "INSERT INTO curves VALUES (?, ?)", chunk)
    after, begun_at = look(path)
    assert begun_at == 0
    assert after == before


def forge(path, edit):
    """Change the document of a snapshot, with the right digest."""
    database = sqlite3.connect(path)
    (row,) = database.execute("SELECT * FROM snapshot").fetchall()
    database.close()
    document = json.loads(row[3])
    edit(document)
    parts = (*row[:3], json.dumps(document), row[4])
    values = (parts[3], snapshots._compute_digest(*parts))
    change(path, "UPDATE snapshot SET document = ?, digest = ?", values)


def test_one_that_the_next_entries_contradict_is_given_up(tmp_path):
    path = make_killed(tmp_path)
    whole, _ = look(path)
    forge(path, lambda document: document["engine"].update(ended="it is over"))
    with StudyFile(path, mode="read") as file:
        assert snapshots.read_snapshot(file.log) is not None
    page, begun_at = look(path)
    assert begun_at == 0
    assert page["status"].pop("restarts") == 1  # a page that is open forgets what it was sent
    del whole["status"]["restarts"]
    assert page == whole


def test_times_of_other_jobs_are_refused(tmp_path):
    path = make_finished(tmp_path)

    def drop(document):
        for name in ("trial", "start", "until"):
            document["jobs"][name].pop()

    forge(path, drop)
    assert look(path)[1] == 0


def test_a_report_is_alike_too(tmp_path):
    path = make_finished(tmp_path)
    found = []
    for _ in range(2):
        feed = Feed(path)
        feed.look()
        data = report._collect(feed)
        for name in ("epoch", "version"):
            del data["snapshot"][name]
        found.append((feed.read(lambda _, fold: fold.begun_at), data))
        change(path, "DELETE FROM snapshot")
    assert found[0][0] > 0
    assert found[1][0] == 0
    assert found[0][1] == found[1][1]


def test_metrics_of_a_retraining_are_not_those_of_the_first_trial(tmp_path):
    path = tmp_path / "s.db"
    result = tune(path)
    result.retrain(train, fresh=True)
    feed = Feed(path)
    feed.look()
    details = report._collect(feed)["details"]
    for number, found in details.items():
        resources = [resource for resource, _ in found["metrics"]]
        assert resources == sorted(set(resources)), number
        assert len(resources) == len(found["curve"][0])
