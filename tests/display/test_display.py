"""Choosing displays; log lines and JSON lines."""

import dataclasses
import io
import json
import re
import subprocess
import sys
from itertools import pairwise

import pytest
from display_stories import (
    Clock,
    Gone,
    all_failed,
    empty,
    fraction,
    last_time,
    log_of,
    snapshot_of,
    watched,
)

import rungwise as rw
from rungwise.core.engine import Engine
from rungwise.core.events import JobEnded, JobRequested, Reported
from rungwise.core.limits import Limits
from rungwise.core.study import Study
from rungwise.display import choose
from rungwise.display.json_lines import EventDisplay
from rungwise.display.line_writer import LineWriter
from rungwise.display.lines import LineDisplay
from rungwise.display.live import LiveDisplay
from rungwise.display.phrases import describe_scheduler
from rungwise.display.quiet import QuietDisplay
from rungwise.formatting import format_clock
from rungwise.views.savings import describe_asha

# -- choosing ---------------------------------------------------------------------------------


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


def test_words_choose_displays(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    kinds = {show: type(choose(show)) for show in ("auto", "live", "lines", "json", "quiet")}
    assert kinds == {
        "auto": LineDisplay,
        "live": LineDisplay,
        "lines": LineDisplay,
        "json": EventDisplay,
        "quiet": QuietDisplay,
    }
    with pytest.raises(rw.InvalidArgumentError, match="show is 'loud'"):
        choose("loud")


def test_a_terminal_gets_the_live_view_if_it_can_draw(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert isinstance(choose("auto"), LiveDisplay)
    assert isinstance(choose("lines"), LineDisplay)
    monkeypatch.setattr(Terminal, "encoding", "latin-1")
    assert isinstance(choose("live"), LineDisplay)
    monkeypatch.setattr(Terminal, "encoding", "utf-8")
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(choose("auto"), LineDisplay)
    monkeypatch.setattr(sys, "stderr", None)
    assert isinstance(choose("auto"), LineDisplay)


def test_displays_do_not_bring_in_rich_before_they_draw():
    code = "import sys, rungwise.display as d; d.choose('auto'); print('rich' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout == "False\n"


# -- lines ------------------------------------------------------------------------------------


def test_lines_tell_the_story():
    log = log_of(rw.PASHA(max_resource=81))
    text = watched(LineDisplay, log)
    lines = text.splitlines()
    assert lines[0] == "[0:00] digits.db: error (min), PASHA up to 81, 1 of 64 trials, 4 workers"
    engine = rw.replay(log)
    for _, level in engine.scheduler.ceilings[1:]:
        assert re.search(rf"\] ceiling (\d+, then )*{level}\b", text)
    assert f"new best: {engine.best_value:.4g} at resource {engine.best_resource:g}" in text
    assert lines[-3].startswith("[") and "64 of 64 trials" in lines[-3]  # noqa: PT018
    assert " times less than training every configuration to 81 (5,184 units" in lines[-3]
    assert re.search(r"(less than|more than|as much as) ASHA would have spent", lines[-3])
    assert lines[-2:] == [f"[{format_clock(last_time(log))}] done", "       and over"]


def test_failed_trials_and_failed_jobs_are_counted_apart():
    out = io.StringIO()
    shown = LineDisplay(out)
    shown.end(snapshot_of(all_failed(), failures=18, failed_trials=9), "bye")
    assert ", failed: 9 trials (18 jobs)" in out.getvalue()


def test_a_saving_says_how_much_of_it_is_an_estimate():
    saving = rw.counterfactual.Saving("ASHA", 100, 100, 1.0, 1, 31, "simulated")
    text = "about as much as ASHA would have spent (100; 1 of 31 values estimated)"
    assert describe_asha(saving) == text
    less = dataclasses.replace(saving, other=200, ratio=2.0, held=0)
    assert describe_asha(less) == "50% less than ASHA would have spent (200)"
    more = dataclasses.replace(saving, other=50, ratio=0.5, held=0)
    assert describe_asha(more) == "100% more than ASHA would have spent (50)"


def test_json_gives_the_text_beside_how_the_study_stands():
    out = io.StringIO()
    shown = EventDisplay(out)
    shown.end(fraction(log_of(rw.PASHA(max_resource=81)), 0.5), "The study was interrupted; …")
    last = json.loads(out.getvalue().splitlines()[-1])
    assert last["text"] == "The study was interrupted; …"
    assert (last["state"], last["why"].split(":")[0]) == ("open", "Not ended")


def test_lines_of_progress_come_at_least_every_ten_seconds_and_never_in_a_rush():
    text = watched(LineDisplay, log_of(rw.ASHA(max_resource=81), trials=256))
    progress = [line for line in text.splitlines() if "workers busy" in line]
    times = [int(m) * 60 + int(s) for m, s in re.findall(r"\[(\d+):(\d+)\]", "\n".join(progress))]
    steps = [b - a for a, b in pairwise(times)]
    assert len(times) > 20
    assert times[0] <= 2
    assert max(steps) <= 11  # the stamps are whole seconds
    assert min(steps) >= 1
    assert "left: about" in progress[-1]


def test_lines_are_few_however_fast_the_study():
    """A study of thousands of reports a second writes no more lines a second than a slow one."""
    log = log_of(rw.PASHA(max_resource=81), trials=256)
    seconds = last_time(log)
    lines = watched(LineDisplay, log, speed=4 / seconds).splitlines()
    assert len(lines) < 20
    assert sum("new best" in line for line in lines) == 1


def test_nothing_is_looked_at_before_it_is_due():
    for make in (LineDisplay, EventDisplay):
        clock, out = Clock(), io.StringIO()
        shown = make(out, timer=clock)
        shown.begin(snapshot_of(empty()))
        before = out.getvalue()
        assert not shown.due()
        shown.update(None)  # it would fail if it looked
        clock.now += 0.3
        assert shown.due()
        shown.update(snapshot_of(empty()))
        assert not shown.due()
        assert out.getvalue() == before  # nothing new was to be told


def test_what_trials_print_cannot_move_the_cursor():
    out = io.StringIO()
    shown = LineDisplay(out, timer=Clock())
    shown.notice("\x1b[31mred\x1b[0m\x1b]0;title\x07 and\r\tbell\x07")
    assert out.getvalue() == "[0:00] red and     bell\n"


def test_streams_without_the_letters_get_what_they_can_hold():
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    LineWriter(stream).write_line("ε → 3")
    assert raw.getvalue() == b"? ? 3\n"


@pytest.mark.parametrize("make", [LineDisplay, EventDisplay])
def test_a_broken_pipe_harms_nobody(make):
    clock, stream = Clock(), Gone()
    shown = make(stream, timer=clock)
    snapshot = snapshot_of(empty())
    shown.begin(snapshot)
    clock.now += 100
    shown.update(snapshot)
    shown.notice("unheard")
    shown.end(snapshot, "gone")
    assert stream.writes == 1
    closed = io.StringIO()
    closed.close()
    make(closed).notice("unheard")


# -- events -----------------------------------------------------------------------------------


def test_events_are_objects_a_line():
    log = log_of(rw.PASHA(max_resource=81), goal="max")
    documents = [json.loads(line) for line in watched(EventDisplay, log).splitlines()]
    engine = rw.replay(log)
    kinds = [document["kind"] for document in documents]
    assert kinds[0] == "started"
    assert kinds[-1] == "ended"
    assert set(kinds) == {"started", "ceiling", "best", "progress", "ended"}
    assert documents[0]["limits"]["trials"] == 64
    levels = [document["level"] for document in documents if document["kind"] == "ceiling"]
    assert levels == [level for _, level in engine.scheduler.ceilings[1:]]
    bests = [document["value"] for document in documents if document["kind"] == "best"]
    assert bests == sorted(bests)
    assert bests[-1] == engine.best_value == documents[-1]["best"]["value"]
    assert documents[-1]["rule"].startswith(engine.why())
    assert documents[-1]["why"].startswith("Done: 64 configurations compared; ")
    assert documents[-1]["savings"]["full"]["full"] == 64 * 81
    assert documents[-1]["rungs"][0]["entered"] == 64
    elapsed = [document["elapsed"] for document in documents]
    assert elapsed == sorted(elapsed)
    progress = [d["elapsed"] for d in documents if d["kind"] == "progress"]
    assert all(b - a >= 1 for a, b in pairwise(progress))


def test_events_hold_what_json_can_hold():
    config = {"far": float("inf"), "odd": (1, {2}), "name": "ε"}
    engine = Engine(Study(rw.FixedResource(1), Limits(trials=1), initial=[{"x": 1}]))
    job = engine.handle(JobRequested()).job
    engine.handle(Reported(job.id, 1, 0.5))
    engine.handle(JobEnded(job.id))
    engine.trials[0].config = config
    out = io.StringIO()
    EventDisplay(out, timer=Clock()).end(snapshot_of(engine), "over")
    *_, last = out.getvalue().splitlines()
    assert json.loads(last)["best"]["config"] == {"far": None, "odd": [1, "{2}"], "name": "ε"}


def test_the_safety_net_of_an_open_end_is_no_maximum():
    """Studies without a maximum carry one in their scheduler; nobody is to see it."""
    recipe = rw.PASHA(max_resource=59_049)
    log = log_of(rw.PASHA(max_resource=81))
    engine = Engine(Study(recipe, Limits(trials=64), initial=[{"x": 1}]))
    out = io.StringIO()
    EventDisplay(out, timer=Clock()).begin(snapshot_of(engine, open_ended=True))
    assert json.loads(out.getvalue())["max_resource"] is None
    assert describe_scheduler(snapshot_of(engine)) == "PASHA up to 59,049"
    assert describe_scheduler(snapshot_of(engine, open_ended=True)) == "PASHA open-ended"
    for make in (LineDisplay, EventDisplay):
        told = {}
        for is_open in (False, True):
            out = io.StringIO()
            make(out, timer=Clock()).end(snapshot_of(rw.replay(log), open_ended=is_open), "over")
            told[is_open] = out.getvalue().lower()
        assert "asha would have spent" in told[False]
        assert "asha would have spent" not in told[True]


def test_quiet_is_quiet(capsys):
    shown = QuietDisplay()
    snapshot = snapshot_of(empty())
    shown.begin(snapshot)
    shown.update(snapshot)
    shown.notice("?")
    shown.end(snapshot, "!")
    assert not shown.due()
    assert capsys.readouterr() == ("", "")
