"""Every command that a surface offers works, as it is written."""

import json
import re
import shlex

import pytest
from command_line import run_here

import rungwise as rw
from rungwise.dashboard.feed import Feed
from rungwise.tuning import requests

TRAIN = """
def train(config, run):
    for epoch in run.resources():
        with run.checkpoint(epoch):
            pass
        run.report(epoch, loss=config["x"] + 1 / epoch)
"""
SPACE = '{"x": {"type": "float", "low": 0, "high": 1}}'
COMMAND = re.compile(r"rungwise (?:resume|retrain|show|report|delete|list) [^\n`·]*")
LIMITS = {
    "trials": ["--trials", "6", "--max-resource", "9"],
    "more trials than adaptive halving draws": ["--trials", "100", "--max-resource", "3"],
    "no maximum": ["--trials", "9"],
    "asha": ["--trials", "9", "--max-resource", "9", "--scheduler", "asha"],
    "hyperband": ["--trials", "9", "--max-resource", "9", "--scheduler", "hyperband"],
    "the paper's end": ["--trials", "6", "--max-resource", "9", "--finish", "paper"],
    "a budget": ["--resource-budget", "20", "--max-resource", "9"],
    "seconds": ["--seconds", "0.3", "--max-resource", "9"],
    "a target": ["--trials", "9", "--max-resource", "9", "--target", "1.9"],
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "space.json").write_text(SPACE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def tune(*arguments):
    options = [
        "--space",
        "space.json",
        "--metric",
        "loss",
        "--backend",
        "threads:1",
        "--show",
        "lines",
    ]
    return run_here(["tune", "train.py:train", *options, "--study", "a study.db", *arguments])


def list_commands(*texts):
    """The commands in some texts, each once, without what follows them in a sentence."""
    found = (one for text in texts for one in COMMAND.findall(text))
    return list(dict.fromkeys(one.strip().rstrip(".,;)") for one in found))


def read_page(path):
    feed = Feed(path)
    feed.look()
    return json.loads(feed.write(0)[1])["headline"]


def read_surfaces(path):
    shown = run_here(["show", str(path)])
    document = json.loads(run_here(["show", str(path), "--json"]).stdout)
    again = tune_again(path)
    return [shown.stdout, document["way_on"], read_page(path)["resume"], *again]


def tune_again(path):
    """What is said to who runs a study again that has ended."""
    if rw.load(path).ended:
        return [run_here(["resume", str(path), "--show", "lines"]).stderr]
    return []


@pytest.mark.parametrize("limits", LIMITS.values(), ids=LIMITS)
def test_commands_that_are_offered_work(folder, limits):
    done = tune(*limits)
    assert done.returncode == 0, done.stderr
    path = folder / "a study.db"
    commands = list_commands(done.stdout, done.stderr, *read_surfaces(path))
    assert any(command.startswith("rungwise show") for command in commands)
    extends = [command for command in commands if command.startswith("rungwise resume")]
    assert bool(extends) == ("--target" not in limits)
    before = rw.load(path).trials
    for command in commands:
        told = run_here(shlex.split(command)[1:])
        assert told.returncode == 0, (command, told.stderr)
        assert "nothing to do" not in told.stderr, command
    after = rw.load(path)
    assert (after.trials > before or after.resource_spent > 0) == bool(extends or after.trials)
    if extends and "--trials" in limits:
        assert after.trials > before


def test_what_an_interrupted_study_offers_works(folder):
    train = {}
    exec(TRAIN, train)  # noqa: S102 - the file's own text
    with pytest.raises(rw.StudyInterrupted) as interrupted:
        rw.tune(
            stop_in_the_middle(train["train"]), {"x": rw.Float(0, 1)}, metric="loss",
            max_resource=9, trials=6, backend="threads:1", study="s.db", show="quiet",
        )  # fmt: skip
    path = folder / "s.db"
    ways = [rw.load(path).view.way_on, read_page(path)["resume"]]
    assert ways == ["rungwise.resume('s.db', train)"] * 2
    assert "rungwise.resume('s.db', train)" in str(interrupted.value)
    result = eval(ways[0], {"rungwise": rw, **train})  # noqa: S307 - as it is offered
    assert result.ended
    again = eval(result.view.way_on, {"rungwise": rw, **train})  # noqa: S307 - as it is offered
    assert again.trials > result.trials


def stop_in_the_middle(train):
    def stopping(config, run):
        if run.trial == 3:
            requests.stop("s.db")
        train(config, run)

    return stopping


def test_an_ask_tell_study_goes_on_with_the_call_that_opened_it(folder):
    def work(**limits):
        with rw.open_study("s.db", {"x": rw.Float(0, 1)}, metric="loss", **limits) as study:
            for number, job in enumerate(study.jobs()):
                for epoch in job.resources():
                    if not study.report(job, epoch, job.config["x"] + 1 / epoch):
                        break
                if limits["trials"] == 4 and number == 1:
                    break
            return study.result

    work(max_resource=9, trials=4)
    assert rw.load("s.db").view.way_on == "the same call of rungwise.open_study"
    assert read_page(folder / "s.db")["resume"] == rw.load("s.db").view.way_on
    assert work(max_resource=9, trials=5).ended
    way = rw.load("s.db").view.way_on
    assert way == "the same call of rungwise.open_study with trials=10"
    assert work(max_resource=9, trials=10).trials > 5
