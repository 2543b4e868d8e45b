"""Every surface gives the same answers about a study: who won, by what, how it stands, and why."""

import contextlib
import io
import itertools
import json
import os
import re
import signal

import pytest
from command_line import run_here
from figure_reading import legend_of

import rungwise as rw
from rungwise.callbacks import Callback
from rungwise.dashboard.report import make_report
from rungwise.display.json_lines import EventDisplay
from rungwise.formatting import format_value
from rungwise.plots import learning_curves
from rungwise.tuning import requests
from rungwise.tuning.exports import list_rows
from rungwise.tuning.opening import read_view

STATES = ("finished", "interrupted", "failed best", "all failed", "rejected", "ask/tell")
SCHEDULERS = ("asha", "pasha", None)
LAST = 9


def value_of(config, epoch, goal):
    """Curves whose early order is not the late one; the first is best early and gets worse."""
    x = config["x"]
    loss = 0.1 + abs(x - 3) / 10 + 1 / epoch + (0.15 * epoch if x == 0 else 0)
    return loss if goal == "min" else -loss


def make_train(state, goal):
    def train(config, run):
        for epoch in run.resources():
            if state == "all failed":
                run.report(0.5, reading=value_of(config, 0.5, goal))
                raise ValueError("it fails in its first epoch")
            if state == "failed best" and config["x"] == 3 and epoch > 2:
                raise ValueError("the best one fails")
            with run.checkpoint(epoch):
                pass
            run.report(epoch, reading=value_of(config, epoch, goal))

    return train


class Ending(Callback):
    """Keeps what a callback hears at the end."""

    def __init__(self):
        self.heard = []

    def ended(self, result):
        self.heard.append(result)


def make_study(path, state, scheduler, winner, goal):
    """Make a study; return the last line of its JSON display, and what a callback heard last."""
    out, ending = io.StringIO(), Ending()
    options = {
        "metric": "reading", "goal": goal, "max_resource": LAST, "trials": 8, "winner": winner,
        "scheduler": scheduler, "searcher": "grid", "retries": 0, "callbacks": [ending],
    }  # fmt: skip
    space = {"x": list(range(8))}
    if state == "ask/tell":
        ask(path, space, options, goal)
        return None, ending.heard[-1]

    def stop(report):
        if state == "interrupted" and report.resource == 3:
            os.kill(os.getpid(), signal.SIGINT)

    with contextlib.suppress(rw.StudyInterrupted):
        rw.tune(
            make_train(state, goal), space, **options, backend=rw.Threads(1), study=path,
            show=EventDisplay(out), on_report=stop,
        )  # fmt: skip
    if state == "rejected":
        best = rw.load(path).view.best.trial
        requests.fail(path, best, reason="its data was wrong")
        return None, None
    return json.loads(out.getvalue().splitlines()[-1]), ending.heard[-1]


def ask(path, space, options, goal):
    with rw.open_study(path, space, **options) as study:
        for number, job in enumerate(study.jobs()):
            for epoch in range(int(job.start) + 1, int(job.until) + 1):
                if not study.report(job, epoch, value_of(job.config, epoch, goal)):
                    break
            if number == 9:
                break


def read_page(path):
    """What the report has for its page."""
    pattern = r'<script id="data" type="application/json">(.*?)</script>'
    found = re.search(pattern, make_report(path))
    return json.loads(found[1])["snapshot"]


def read_everything(path, told, heard):
    """{surface: its answers}, for those that a surface gives."""
    result, view = rw.load(path), read_view(path)
    best = result.best
    whole = {
        "trial": best.trial, "value": best.value, "resource": best.resource,
        "problem": best.problem, "why": result.why, "numbers": result.numbers,
        "rule": result.rule, "state": result.state, "way_on": result.view.way_on,
        "order": [row.trial for row in result.leaderboard(None)],
        "values": [row.value for row in result.leaderboard(None)],
        "states": [row.state for row in result.leaderboard(None)],
        "saving": str(result.view.savings),
    }  # fmt: skip
    found = {"load": whole}
    again = view.best
    found["view"] = {
        "trial": again.trial, "value": again.value, "resource": again.resource,
        "problem": again.problem, "why": view.why, "numbers": view.numbers, "rule": view.rule,
        "state": view.state, "way_on": view.way_on,
        "order": [row.trial for row in view.leaderboard()], "saving": str(view.savings),
    }  # fmt: skip
    shown = json.loads(run_here(["show", path, "--json", "--top", 99]).stdout)
    found["show --json"] = {
        **{name: shown["best"][name] for name in ("trial", "value", "resource", "problem")},
        **{name: shown[name] for name in ("why", "numbers", "rule", "state", "way_on")},
        "order": [row["trial"] for row in shown["leaderboard"]],
        "values": [row["value"] for row in shown["leaderboard"]],
        "states": [row["state"] for row in shown["leaderboard"]],
        "saving": shown["savings"]["text"],
    }
    listed = json.loads(run_here(["list", path.parent, "--json"]).stdout)["studies"][0]
    found["list --json"] = {"value": listed["best"], "state": listed["state"]}
    page = read_page(path)
    head, rows = page["headline"], sorted(page["trials"], key=lambda row: (*row[10], row[0]))
    found["page"] = {
        **{name: head["best"][name] for name in ("trial", "value", "resource", "problem")},
        **{name: head[name] for name in ("why", "numbers", "rule", "state")},
        "way_on": head["resume"],
        "order": [row[0] for row in rows],
        "values": [row[2] for row in rows],
        "states": [row[1] for row in rows],
        "saving": page["saving"]["text"],
    }
    if told is not None:
        found["JSON display"] = {
            **{name: told["best"][name] for name in ("trial", "value", "resource", "problem")},
            **{name: told[name] for name in ("why", "numbers", "rule", "state")},
            "saving": told["savings"]["text"],
        }
    if heard is not None:
        states = {row.trial: row.state for row in result.leaderboard(None)}
        assert heard.trials == states
        found["callback"] = {
            "trial": heard.best_trial, "value": heard.best, "resource": heard.best_resource,
            "problem": heard.best_problem, "why": heard.why,
        }  # fmt: skip
    exported = list_rows(path, "trials")
    found["export"] = {
        "order": [row["trial"] for row in exported], "trial": exported[0]["trial"],
        "value": exported[0]["value"], "resource": exported[0]["resource"],
        "problem": exported[0]["problem"], "values": [row["value"] for row in exported],
        "states": [row["state"] for row in exported],
    }  # fmt: skip
    found["HTML"] = {"why": result.why if result.why in result._repr_html_() else "not there"}
    words = list(legend_of(learning_curves(result, top=3)))[:3]
    assert words == [
        f"{place}. trial {row.trial}: {format_value(row.value)}"
        for place, row in enumerate(result.leaderboard(3), start=1)
    ]
    return found


def compare(found):
    """[(question, surface, its answer, that of load())] wherever two surfaces disagree."""
    whole = found["load"]
    return [
        (name, surface, answers[name], whole[name])
        for surface, answers in found.items()
        for name in answers
        if not same(answers[name], whole[name])
    ]


def same(one, other):
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float) and isinstance(other, (int, float)):
        return one == pytest.approx(other, rel=1e-6)
    return one == other


MATRIX = list(itertools.product(STATES, SCHEDULERS, ("top", "best"), ("min", "max")))


@pytest.mark.parametrize(("state", "scheduler", "winner", "goal"), MATRIX)
def test_every_surface_gives_the_same_answers(tmp_path, state, scheduler, winner, goal):
    path = tmp_path / "study.db"
    told, heard = make_study(path, state, scheduler, winner, goal)
    found = read_everything(path, told, heard)
    assert compare(found) == []
    whole = found["load"]
    assert len(whole["why"].split()) <= 20
    unfinished = state in ("interrupted", "ask/tell")
    assert whole["state"] == ("interrupted" if unfinished else "finished")
    if state == "all failed":
        assert whole["problem"].startswith("failed")
        assert "none is healthy" in whole["why"]
    else:
        assert whole["problem"] == ""
    if state == "failed best":
        assert rw.load(path).best.config != {"x": 3}


def test_a_surface_with_a_rule_of_its_own_is_noticed(tmp_path, monkeypatch):
    path = tmp_path / "study.db"
    told, heard = make_study(path, "finished", None, "top", "min")
    monkeypatch.setattr(
        "rungwise.dashboard.rows._make_row",
        lambda found: [found.row.trial, found.row.state, 0.5, *[None] * 7, [0, 0, found.row.trial]],
    )
    assert {surface for _, surface, *_ in compare(read_everything(path, told, heard))} == {"page"}
