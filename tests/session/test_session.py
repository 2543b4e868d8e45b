"""One session: tune, ask/tell and retraining say and do the same."""

import pytest
from command_line import run_here

import rungwise as rw
from rungwise.callbacks import Callback
from rungwise.session.part import Part
from rungwise.tuning import parts, requests

SPACE = {"x": rw.Float(0, 1)}
STUDY = {"metric": "loss", "goal": "min", "max_resource": 9}


class Ears(Callback):
    """Keeps how a study began and ended."""

    def begin(self, study):
        self.begun = study

    def ended(self, result):
        self.heard = result


class Eyes:
    """A display that keeps what it is to show."""

    def __init__(self):
        self.notices, self.ended = [], []

    def begin(self, snapshot):
        pass

    def due(self):
        return False

    def update(self, snapshot):
        pass

    def notice(self, text):
        self.notices.append(text)

    def end(self, snapshot, text):
        self.ended.append(text)


def train(config, run):
    for epoch in run.resources():
        run.report(epoch, loss=config["x"] / epoch)


def broken(config, run):
    raise KeyError("learning_rate")


def tune(function=train, **changes):
    options = {"trials": 12, "backend": rw.Threads(1), "show": "quiet", **STUDY, **changes}
    return rw.tune(function, SPACE, **options)


def report(study, job):
    for resource in job.resources():
        if not study.report(job, resource, job.config["x"] / resource):
            return


# -- why -------------------------------------------------------------------------------------------


def test_the_callback_of_an_interrupted_loop_hears_what_the_file_says(tmp_path):
    ears, path = Ears(), tmp_path / "s.db"
    with rw.open_study(path, SPACE, trials=12, callbacks=[ears], **STUDY) as study:
        for _ in range(5):
            report(study, study.ask())
    assert ears.heard.how == "interrupted"
    assert ears.heard.why == rw.load(path).why == study.result.why
    assert ears.heard.why.startswith("Interrupted: 5 of 12 configurations started; ")


def test_so_does_that_of_an_interrupted_tuner(tmp_path):
    ears, eyes, path = Ears(), Eyes(), tmp_path / "s.db"

    def leave(config, run):
        if run.trial == 4:
            requests.stop(path)  # answered by the tuner, which reads on in its own thread
        train(config, run)

    with pytest.raises(rw.StudyInterrupted):
        tune(leave, study=path, callbacks=[ears], show=eyes)
    stopped = rw.load(path)
    assert ears.heard.why == stopped.why
    assert eyes.ended == [f"{stopped.why} {stopped.numbers}"]


def test_a_study_of_which_nothing_works_says_why_it_stopped_and_nothing_of_drawing(tmp_path):
    eyes = Eyes()
    with pytest.raises(rw.NothingFoundError):
        tune(broken, study=tmp_path / "s.db", trials=200, show=eyes)
    (said,) = eyes.ended
    assert said == (
        "Failed: 7 jobs failed, none reported. It stopped early, because all failures were the "
        "same before anything was reported."
    )
    assert "drawn" not in rw.load(tmp_path / "s.db").why


@pytest.mark.parametrize("kept", [True, False])
def test_the_error_says_that_it_stopped_early(tmp_path, kept):
    with pytest.raises(rw.NothingFoundError) as nothing:
        tune(broken, study=tmp_path / "s.db" if kept else None, trials=200)
    assert "It stopped early, after 4 of 200 trials, because all failures were the same" in str(
        nothing.value
    )
    assert ("go on with" in str(nothing.value)) == kept


def test_what_an_error_of_a_callback_stops_says_so():
    def fail(report):
        raise ZeroDivisionError("mine")

    eyes, ears = Eyes(), Ears()
    with pytest.raises(ZeroDivisionError):
        tune(show=eyes, callbacks=[ears], on_report=fail)
    assert ears.heard.why.endswith("It stopped early, because ZeroDivisionError: mine.")
    assert ears.heard.how == "failed"
    assert eyes.ended[0].startswith(ears.heard.why)


@pytest.mark.parametrize("trials", [2, 200])
def test_the_command_exits_with_1_whether_it_gave_up_or_ended(tmp_path, trials):
    (tmp_path / "t.py").write_text("def train(config, run):\n    raise KeyError('rate')\n")
    (tmp_path / "s.yaml").write_text("lr: {type: float, low: 0, high: 1}\n")
    command = "tune t.py:train --space s.yaml --metric loss --goal min --backend threads:1"
    done = run_here([*command.split(), "--trials", str(trials), "--study", "s.db"], folder=tmp_path)
    assert done.returncode == 1
    assert "has reported a finite value" in done.stderr


# -- what is the same in a loop --------------------------------------------------------------------


def test_a_loop_of_which_nothing_works_is_told():
    with rw.open_study(None, SPACE, trials=200, **STUDY) as study:
        for _ in range(7):
            study.failed(study.ask(), "KeyError: 'rate'")
        for _ in range(2):
            with pytest.raises(rw.NothingFoundError, match="after 4 of 200 trials"):
                study.ask()


def test_a_loop_that_says_nan_goes_on():
    with rw.open_study(None, SPACE, trials=20, retries=0, **STUDY) as study:
        for _ in range(12):
            assert not study.report(study.ask(), 1, float("nan"))
        report(study, study.ask())
    assert study.result.best.trial == 12


def test_what_was_asked_before_a_loop_begins_is_done_before_its_first_job(tmp_path):
    path = tmp_path / "s.db"
    with rw.open_study(path, SPACE, trials=3, **STUDY) as study:
        report(study, study.ask())
        requests.add(path, [{"x": 0.25}], timeout=0)  # nothing is called any more
        study._asked.session._calls.step.clear()
    with rw.open_study(path, SPACE, trials=3, **STUDY) as study:
        assert study.ask().config == {"x": 0.25}


def test_a_loop_is_told_of_its_goal():
    heard = []
    common = {"metric": "accuracy", "max_resource": 9, "trials": 3, "on_notice": heard.append}
    rw.open_study(None, SPACE, **common).close()
    rw.open_study(None, SPACE, goal="min", **common).close()
    assert heard[0] == "the goal is max, taken from the name of the metric, accuracy"
    assert "usually to be maximised" in heard[1]


def test_a_loop_that_trains_again_is_told(tmp_path):
    heard = []
    options = {**STUDY, "scheduler": "pasha", "trials": 9, "on_notice": heard.append}
    with rw.open_study(None, SPACE, **options) as study:
        for job in study.jobs():
            for resource in range(1, int(job.until) + 1):
                if not study.report(job, resource, job.config["x"] / resource):
                    break
    (said,) = (text for text in heard if "trained from the beginning again" in text)
    assert "train it on from job.start" in said


def test_an_outage_is_told_in_the_same_words(tmp_path):
    heard, eyes = [], Eyes()
    reason = "OSError: [Errno 30] Read-only file system: '/data'"

    def lose(config, run):
        if run.trial:
            raise OSError(30, "Read-only file system", "/data")
        train(config, run)

    with pytest.raises(rw.OutageError):
        tune(lose, show=eyes, trials=4, retries=0)
    options = {**STUDY, "trials": 4, "retries": 0, "on_notice": heard.append}
    with rw.open_study(None, SPACE, **options) as study:
        report(study, study.ask())
        for _ in range(3):
            study.failed(study.ask(), reason)
        with pytest.raises(rw.OutageError):
            study.ask()
    ending = "(it is not counted: the surroundings have failed)"
    assert sum(text.endswith(ending) for text in heard) == 3
    assert [text for text in eyes.notices if text.endswith(ending)] == [
        text for text in heard if text.endswith(ending)
    ]


# -- parts -----------------------------------------------------------------------------------------


class Counter(Part):
    """A watcher: one class, and one line in a list."""

    def __init__(self, seen):
        self.seen = seen

    def begin(self):
        self.seen.append("begin")

    def reported(self, report, decision, trial):
        assert self.session.engine.jobs[report.job].trial == trial
        self.seen.append("report")

    def end(self, *, failed):
        self.seen.append("end")


@pytest.fixture
def seen(monkeypatch):
    seen, follow_any = [], parts.follow_any
    monkeypatch.setattr(parts, "follow_any", lambda told: [*follow_any(told), Counter(seen)])
    return seen


def test_a_new_watcher_follows_every_kind_of_study(tmp_path, seen):
    result = tune(study=tmp_path / "s.db", trials=4)
    assert seen == ["begin", *["report"] * result.view.reports, "end"]
    seen.clear()
    result.retrain(train, fresh=True)
    assert seen == ["begin", *["report"] * 9, "end"]
    seen.clear()
    with rw.open_study(None, SPACE, trials=4, **STUDY) as study:
        report(study, study.ask())
    assert seen[0] == "begin"
    assert seen[-1] == "end"
    assert len(seen) == 2 + study.result.view.reports


def test_what_a_part_does_not_override_is_not_called(monkeypatch, seen):
    def fail(*_, **__):
        raise AssertionError

    for name in ("started", "left", "message", "step", "failed", "requested", "repeated"):
        assert getattr(Counter, name) is getattr(Part, name)
    monkeypatch.setattr(Counter, "session", None, raising=False)
    tune(trials=2)
    assert seen[-1] == "end"
