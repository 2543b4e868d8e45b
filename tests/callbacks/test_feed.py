"""What callbacks are told, and that nothing they do reaches the study."""

import sys
import threading
import time
from collections import Counter

import pytest

import rungwise as rw
from rungwise.callbacks import CSV, Callback, outlets
from rungwise.callbacks.feed import CallbackFeed
from rungwise.errors import InvalidArgumentError, MissingExtraError, UsageWarning
from rungwise.testing.callbacks import Notices, make_beginning, make_end, train

SPACE = {"x": rw.Float(0, 1)}
COMMON = {"metric": "loss", "goal": "min", "max_resource": 9, "trials": 8, "retries": 0, "seed": 3}
COMMON["scheduler"] = "pasha"


def tune(*callbacks, study=None, **options):
    given = {"backend": "threads:1", "show": "quiet", **COMMON, **options}
    return rw.tune(train, SPACE, study=study, callbacks=callbacks, **given)


class Diary(Callback):
    def __init__(self):
        self.facts = []

    def begin(self, study):
        self.facts.append(study)

    def started(self, job):
        self.facts.append(job)

    def reported(self, report):
        self.facts.append(report)

    def left(self, job):
        self.facts.append(job)

    def ceiling(self, raised):
        self.facts.append(raised)

    def ended(self, result):
        self.facts.append(result)

    def of(self, name):
        return [fact for fact in self.facts if type(fact).__name__ == name]


class SlowDiary(Diary):
    slow = True


@pytest.mark.parametrize("kind", [Diary, SlowDiary])
def test_what_happens_is_told_in_its_order(kind, tmp_path):
    diary = kind()
    result = tune(diary, study=tmp_path / "digits.db", scheduler="pasha")  # it has a ceiling
    assert type(diary.facts[0]).__name__ == "StudyBegan"
    assert type(diary.facts[-1]).__name__ == "StudyEnded"
    began, ended = diary.facts[0], diary.facts[-1]
    assert (began.name, began.metric, began.goal, began.phase) == ("digits", "loss", "min", "tune")
    assert (began.scheduler, began.searcher, began.max_resource) == ("PASHA", "RandomSearcher", 9)
    assert (began.space, began.seed, began.resumed) == ({"x": "Float(0.0, 1.0)"}, 3, False)
    assert list(began.earlier()) == diary.of("ReportEvent"), "it reads the file when it is asked"
    assert (ended.how, ended.why, ended.reports) == ("ended", result.why, result.reports)
    assert (ended.best, ended.best_trial) == (result.best.value, result.best.trial)
    assert ended.trials == {row.trial: row.state for row in result.leaderboard()}
    reports = diary.of("ReportEvent")
    assert [(r.trial, r.resource, r.value) for r in reports] == [
        (r["trial"], r["resource"], r["loss"]) for r in rows_of(result)
    ]
    assert all(dict(report.metrics) == {"speed": 2 * report.resource} for report in reports)
    assert reports[-1].best == result.best.value
    started, left = diary.of("JobStarted"), diary.of("JobLeft")
    assert [(j.trial, j.start, j.until) for j in started] == result.view.jobs()
    assert sorted(j.job for j in left) == [j.job for j in started]
    assert {j.state for j in left} >= {"paused", "failed"}
    assert next(j for j in left if j.state == "failed").reason.startswith("RuntimeError")
    assert [r.level for r in diary.of("CeilingRaised")] == [c for _, c in result.view.ceilings[1:]]
    assert sorted(r.at for r in reports) == [r.at for r in reports]


def rows_of(result):
    from rungwise.tuning.exports import list_rows  # noqa: PLC0415

    return list_rows(result.path, "reports")


def test_a_report_is_in_the_file_before_anyone_is_told(tmp_path):
    path = tmp_path / "s.db"
    seen = []

    class Look(Callback):
        def reported(self, report):
            curve = rw.load(path).curve(report.trial)
            seen.append(curve[-1][0] == report.resource)

    result = tune(Look(), study=path)
    assert seen == [True] * result.reports


class Fails(Diary):
    """Raises in one of its methods."""

    def __init__(self, method, times=10**9):
        super().__init__()
        self.calls = Counter()

        def fail(*_):
            self.calls[method] += 1
            if self.calls[method] <= times:
                raise OSError("the server is gone")

        setattr(self, method, fail)


class FailsSlowly(Fails):
    slow = True


@pytest.mark.parametrize("kind", [Fails, FailsSlowly])
@pytest.mark.parametrize("method", ["begin", "started", "reported", "left", "ended"])
def test_what_a_callback_raises_is_a_notice_and_never_an_end(kind, method):
    shown, other = Notices(), Diary()
    plain = tune()
    result = tune(kind(method), other, show=shown)
    complaints = [text for text in shown.texts if "the callback" in text]
    first = f"the callback {kind.__name__} failed in {method}() (OSError: the server is gone); "
    assert complaints[0].startswith(first)
    assert len(complaints) <= 2
    assert result.leaderboard() == plain.leaderboard()
    assert len(other.of("ReportEvent")) == result.reports


def test_a_quiet_display_says_it_as_a_warning():
    with pytest.warns(UsageWarning, match=r"Fails failed in begin\(\) .* not called any more"):
        tune(Fails("begin"))


def test_one_that_never_works_is_given_up():
    failing, shown = Fails("reported"), Notices()
    tune(failing, show=shown)
    assert type(failing.facts[-1]).__name__ == "StudyEnded"
    assert failing.calls["reported"] == outlets.FAILURES
    assert "10 times in a row: it is not called again before the end" in shown.texts[-1]


class Sink(Callback):
    """Keeps what it has not yet; fails in the middle."""

    def __init__(self, failing=()):
        self.rows, self.failing, self.calls = [], failing, 0

    def reported(self, report):
        self.calls += 1
        if self.calls in self.failing:
            raise ConnectionError("for a moment")
        self.fill([report])

    def fill(self, reports):
        held = {row[:2] for row in self.rows}
        rows = [(r.trial, r.resource, r.value, r.best) for r in reports]
        self.rows += [row for row in rows if row[:2] not in held]


def test_what_failed_is_filled_in_at_the_end():
    whole, sink, shown = Sink(), Sink(failing=(2, 3, 7)), Notices()
    tune(whole, sink, show=shown)
    assert sorted(sink.rows) == sorted(whole.rows)
    assert sink.rows != whole.rows, "it did fail"


class SlowSink(Sink):
    slow = True

    def reported(self, report):
        time.sleep(0.01)
        super().reported(report)


def test_one_that_is_slower_than_the_reports_loses_none(monkeypatch):
    monkeypatch.setattr(outlets, "CAPACITY", 3)
    sink, shown = SlowSink(), Notices()
    result = tune(sink, show=shown)
    assert sum("slower than the reports" in text for text in shown.texts) == 1
    assert len(sink.rows) == result.reports == len({row[:2] for row in sink.rows})
    assert sink.calls < result.reports, "some were not passed on"


def test_one_that_never_returns_is_given_up(monkeypatch):
    monkeypatch.setattr(outlets, "LONGEST_CALL", 0.3)
    monkeypatch.setattr(outlets, "SHOW_AFTER", 0.1)
    go = threading.Event()

    class Hangs(Callback):
        slow = True

        def reported(self, report):
            go.wait()

    shown = Notices()
    tune(Hangs(), show=shown)
    assert any("waiting for the callback Hangs" in text for text in shown.texts)
    assert "has not returned for 0.3 seconds and is given up" in shown.texts[-1]
    go.set()


def test_a_study_does_not_wait_for_a_slow_one(monkeypatch):
    """Facts are passed on while the study goes on, in another thread."""
    threads = set()

    class Note(Callback):
        slow = True

        def reported(self, report):
            threads.add(threading.current_thread().name)

        def flush(self):
            threads.add("flushed")

    feed = CallbackFeed([Note()])
    feed.tell("begin", make_beginning())
    feed.tell("reported", None)
    feed.tell("ended", make_end())
    feed.close(print)
    assert threads == {"rungwise-Note", "flushed"}


def test_the_study_ends_when_on_report_raises_and_others_have_the_report():
    diary = Diary()

    def stop(report):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        tune(diary, on_report=stop)
    assert len(diary.of("ReportEvent")) == 1
    assert diary.facts[-1].how == "failed"


def test_an_interrupt_is_told():
    diary = Diary()

    def stop(report):
        raise KeyboardInterrupt

    with pytest.raises(rw.StudyInterrupted):
        tune(diary, on_report=stop)
    assert diary.facts[-1].how == "interrupted"


def test_a_resumed_study_has_the_same_key(tmp_path):
    path = tmp_path / "s.db"
    first, second = Diary(), Diary()

    def stop(report):
        raise KeyboardInterrupt

    with pytest.raises(rw.StudyInterrupted):
        tune(first, study=path, on_report=stop)
    rw.resume(path, train, callbacks=[second], show="quiet")
    (one,), (two,) = first.of("StudyBegan"), second.of("StudyBegan")
    assert (one.key, one.resumed, two.resumed) == (two.key, False, True)
    assert [r.trial for r in two.earlier()] == [
        r.trial for r in (*first.of("ReportEvent"), *second.of("ReportEvent"))
    ]
    third = Diary()
    tune(third, study=tmp_path / "other.db")
    assert third.of("StudyBegan")[0].key != one.key


def test_a_retraining_is_told(tmp_path):
    result = tune(study=tmp_path / "s.db")
    diary = Diary()
    found = result.retrain(train, resource=3, callbacks=[diary], fresh=True)
    began = diary.facts[0]
    assert (began.phase, began.max_resource, "-retrain-" in began.key) == ("retrain", 3, True)
    assert {r.trial for r in diary.of("ReportEvent")} == {found.trial}
    assert diary.facts[-1].trials == {found.trial: "completed"}


def test_any_object_with_some_of_the_methods_will_do():
    class Counts:
        count = 0

        def reported(self, report):
            self.count += 1

    counts = Counts()
    assert tune(counts).reports == counts.count


@pytest.mark.parametrize(
    ("callbacks", "words"),
    [
        ("csv", "it must be a list of callbacks"),
        ([CSV], "a callback must be a value such as"),
        ([print], "a function is given as on_report="),
        (["tensorbord"], "did you mean 'tensorboard'"),
        (["csv:file=a,mode=w"], "the options of csv are file"),
        (["csv:no/such/folder/r.csv"], "create it first"),
        (5, "it must be a list of callbacks"),
    ],
)
def test_what_is_no_callback_is_refused_before_anything_starts(tmp_path, callbacks, words):
    with pytest.raises(InvalidArgumentError, match=words):
        rw.tune(train, SPACE, callbacks=callbacks, study=tmp_path / "s.db", **COMMON)
    assert not (tmp_path / "s.db").exists()


def test_what_a_callback_needs_is_asked_for_before_anything_starts(tmp_path):
    class Needs(Callback):
        def check(self):
            raise MissingExtraError("the callback Needs", "testing")

    with pytest.raises(MissingExtraError, match=r"rungwise\[testing\]"):
        tune(Needs(), study=tmp_path / "s.db")
    assert not (tmp_path / "s.db").exists()


class Exiting(Diary):
    def reported(self, report):
        super().reported(report)
        sys.exit("the tracker gives up")


class SlowExiting(Exiting):
    slow = True


@pytest.mark.parametrize("kind", [Exiting, SlowExiting])
def test_a_callback_that_would_exit_ends_neither_the_study_nor_its_own_thread(kind, tmp_path):
    exiting, diary = kind(), Diary()
    with pytest.warns(UsageWarning, match="SystemExit: the tracker gives up"):
        tune(exiting, diary, study=tmp_path / "study.db")
    assert type(exiting.facts[-1]).__name__ == "StudyEnded"
    assert len(diary.of("ReportEvent")) > outlets.FAILURES


def test_a_ctrl_c_that_meets_a_callback_is_one_for_the_study():
    class Met(Diary):
        def reported(self, report):
            raise KeyboardInterrupt

    with pytest.raises(rw.StudyInterrupted):
        tune(Met())


def test_a_study_that_never_begins_leaves_no_thread():
    feed = CallbackFeed([SlowDiary()])
    before = threading.active_count()
    feed.close(print)
    assert threading.active_count() == before
    assert not any(each.name == "rungwise-SlowDiary" for each in threading.enumerate())
