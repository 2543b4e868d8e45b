"""Displays, driven with simulated studies on a clock of our own."""

import io
import json
import re
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise

import pytest

import rungwise as rw
from rungwise import display
from rungwise.core.engine import Engine
from rungwise.core.events import JobEnded, JobFailed, JobRequested, Reported
from rungwise.core.limits import Limits
from rungwise.core.study import Study
from rungwise.display import Snapshot, WorkerView, choose
from rungwise.display import text as words
from rungwise.display.estimate import Estimator, Left
from rungwise.display.events import EventDisplay
from rungwise.display.lines import LineDisplay
from rungwise.display.live import LiveDisplay, Screen
from rungwise.display.picture import Frame
from rungwise.display.quiet import QuietDisplay
from rungwise.display.watch import Watch


class Clock:
    """Time that passes only when told to."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


class Gone(io.StringIO):
    """A stream whose reader has left."""

    writes = 0

    def write(self, text):
        self.writes += 1
        raise BrokenPipeError


def log_of(recipe, *, trials=64, resources=81, workers=4, goal="min", seed=2, noise=0.01):
    table = rw.power_laws(trials, resources, seed=seed, noise=noise)
    table = rw.Table(table.values if goal == "min" else -table.values, goal=goal)
    log = rw.MemoryLog()
    rw.simulate(table, recipe, trials=trials, workers=workers, log=log)
    if recipe.max_resource is None:
        # The simulator gave it a maximum. While the ceiling stays below, an open end is the same.
        ended = rw.replay(log)
        assert ended.scheduler.ceilings[-1][1] < resources
        log = rw.MemoryLog(log.entries, study=replace(log.study, scheduler=recipe))
    return log


def snapshot_of(engine, elapsed=0.0, *, workers=4, **fields):
    busy = [engine.jobs[job] for job in engine.open_jobs]
    views = [
        WorkerView(number, 4000, job.trial, engine.trials[job.trial].resource, job.until, 1.5)
        for number, job in enumerate(busy)
    ]
    views += [WorkerView(number) for number in range(len(busy), workers)]
    return Snapshot(engine, "error", elapsed, views, study="digits.db", **fields)


def moments(log, *, workers=4):
    """The study after each of its entries, with the virtual time."""
    engine = Engine(log.study)
    for event, _ in log.read_from():
        engine.handle(event)
        yield snapshot_of(engine, event.at, workers=workers)


def watched(make, log, *, speed=1.0):
    """Everything a display says of a whole study, the clock going as virtual time does."""
    clock, out = Clock(), io.StringIO()
    shown = make(out, timer=clock)
    begun, last = False, None
    for last in moments(log):
        clock.now = 1000.0 + speed * last.elapsed
        if begun:
            shown.update(last)
        else:
            shown.begin(last)
            begun = True
    shown.end(last, "done\nand over")
    return out.getvalue()


def console(width=80, height=40):
    return Screen(
        width=width, height=height, force_terminal=True, file=io.StringIO(), highlight=False
    )


def drawn(snapshot, *, width=80, height=40, notices=(), over=False, clock=None):
    """The last frame of a live view as plain lines."""
    screen = console(width, height)
    view = LiveDisplay(screen, timer=Clock() if clock is None else clock)
    view.begin(snapshot)
    for text in notices:
        view.notice(text)
    if over:
        view.end(snapshot, "bye")
    else:
        view._draw(snapshot)
    view._live.stop()
    return ["".join(segment.text for segment in line).rstrip() for line in frame_of(view).lines]


def frame_of(view):
    """What stands on the screen (rich keeps it in a group)."""
    held = view._live.renderable
    return held if isinstance(held, Frame) else held.renderables[0]


def fraction(log, part, **fields):
    """The study after a part of its entries."""
    engine = Engine(log.study)
    for event, _ in log.entries[: int(part * len(log))]:
        engine.handle(event)
    return snapshot_of(engine, 60.0, **fields)


def empty(recipe=None):
    recipe = rw.PASHA(max_resource=81) if recipe is None else recipe
    return Engine(Study(recipe, Limits(trials=9), initial=[{"lr": 0.1}] * 9))


def all_failed():
    engine = empty()
    for _ in range(9):
        job = engine.handle(JobRequested()).job
        engine.handle(JobFailed(job.id, "boom"))
    assert engine.handle(JobRequested()).why
    return engine


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
    assert f"new best: {engine.best_value:.4g} at {engine.best_resource:g}" in text
    assert lines[-3].startswith("[") and "64 of 64 trials" in lines[-3]  # noqa: PT018
    assert "ASHA would have spent" in lines[-3]
    assert lines[-2:] == [f"[{words.clock(last_time(log))}] done", "       and over"]


def last_time(log):
    return log.entries[-1][0].at


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
    words.Pen(stream).line("ε → 3")
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
    assert documents[-1]["why"] == engine.why()
    assert documents[-1]["asha"]["other"] > 0
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


def test_quiet_is_quiet(capsys):
    shown = QuietDisplay()
    snapshot = snapshot_of(empty())
    shown.begin(snapshot)
    shown.update(snapshot)
    shown.notice("?")
    shown.end(snapshot, "!")
    assert not shown.due()
    assert capsys.readouterr() == ("", "")


# -- the live view ----------------------------------------------------------------------------


@pytest.mark.parametrize("width", [24, 40, 60, 80, 120])
@pytest.mark.parametrize("height", [3, 12, 24, 60])
def test_the_view_fits_any_terminal(width, height):
    log = log_of(rw.PASHA(max_resource=81))
    lines = drawn(
        fraction(log, 0.5, workers=30, failures=3, checkpoints_bytes=10**9),
        width=width,
        height=height,
        notices=["x" * 500, "two\nlines"],
    )
    assert 1 <= len(lines) < height
    assert max(len(line) for line in lines) <= width
    assert lines[0].endswith("1:00")


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_view_shows_what_a_person_asks_for(width):
    log = log_of(rw.PASHA(max_resource=81), goal="max")
    snapshot = fraction(log, 0.5, failures=3, checkpoints_bytes=1_234_000_000)
    engine = snapshot.engine
    lines = drawn(snapshot, width=width, notices=["trial 3 failed: boom"])
    text = "\n".join(lines)
    assert "rungwise digits.db" in lines[0]
    assert "error ↑   PASHA up to 81   1:00" in lines[0]
    ceiling = engine.scheduler.ceilings[-1][1]
    (top,) = [line for line in lines if "◂" in line]
    assert top.split()[0] == str(ceiling)
    (ground,) = [line for line in lines if line.startswith("    1 ")]
    assert str(sum(trial.resource >= 1 for trial in engine.trials)) in ground.split()
    assert ground.count("━") > width // 8
    assert f"{engine.best_value:.4g} at {engine.best_resource:g}, trial {engine.best.id}" in text
    assert f"row={engine.best.config['row']}" in text
    assert engine.scheduler.explain().split()[2] in text
    assert f"{len(engine.trials)} of 64 trials" in text
    assert "1.23" in text
    assert "3 jobs" in text
    assert "not known yet" in text
    assert "workers   0  trial" in text
    assert "trial 3 failed: boom" in text


def test_the_ladder_shows_the_ceiling_on_top_and_what_lies_beyond():
    log = log_of(rw.PASHA(max_resource=81))
    for part in (0.1, 0.5, 1.0):
        snapshot = fraction(log, part)
        lines = drawn(snapshot)
        levels = [int(line.split()[0]) for line in lines if re.match(r" +\d", line[:6])]
        ceiling = snapshot.engine.scheduler.ceilings[-1][1]
        assert levels == [level for level in (81, 27, 9, 3, 1) if level <= ceiling]
        assert any("not needed so far" in line for line in lines) == (ceiling < 81)
    assert any("open-ended" in line for line in drawn(snapshot_of(empty(rw.PASHA()))))


def test_bars_show_even_one_in_thousands():
    log = log_of(rw.ASHA(max_resource=200), trials=2000, resources=200)
    lines = drawn(fraction(log, 1.0))
    (top,) = [line for line in lines if "◂" in line]
    assert "╸" in top or "━" in top


@pytest.mark.parametrize(
    "recipe",
    [
        rw.PASHA(max_resource=81),
        rw.PASHA(),
        rw.PASHA(variant="stopping"),
        rw.SuccessiveHalving(max_resource=81),
        rw.Hyperband(max_resource=81),
        rw.AsyncHyperband(max_resource=81),
        rw.RandomSearch(81),
        rw.FixedResource(1),
    ],
    ids=repr,
)
@pytest.mark.parametrize("make", [LiveDisplay, LineDisplay, EventDisplay])
def test_every_scheduler_can_be_shown_from_before_the_first_trial_to_the_end(recipe, make):
    log = log_of(recipe)
    clock = Clock()
    screen = console()
    shown = make(screen if make is LiveDisplay else screen.file, timer=clock)
    shown.begin(snapshot_of(Engine(log.study)))
    for index, snapshot in enumerate(moments(log)):
        if index % 60 == 0:
            clock.now += 15
            shown.update(snapshot)
    shown.end(snapshot, "bye")
    assert "bye" in screen.file.getvalue()


def test_all_failed_is_shown():
    engine = all_failed()
    lines = drawn(snapshot_of(engine, failures=9), over=True)
    assert any(line.startswith("failed   9 jobs") for line in lines)
    assert not any(line.startswith(("best", "left", "workers")) for line in lines)


def test_many_trials_are_drawn_less_often():
    """Drawing takes at most a fiftieth of the time."""

    class Slow(Clock):
        def __call__(self):
            self.now += 0.01
            return self.now

    clock = Slow()
    view = LiveDisplay(console(), timer=clock)
    snapshot = snapshot_of(empty())
    view.begin(snapshot)
    view.update(None)  # not due: it would fail if it looked
    clock.now += 0.3
    assert not view.due()
    clock.now += 10
    assert view.due()
    view.end(snapshot, "bye")


def test_the_view_is_drawn_at_most_four_times_a_second():
    clock = Clock()
    view = LiveDisplay(console(), timer=clock)
    view.begin(snapshot_of(empty()))
    frame = frame_of(view)
    clock.now += 0.24
    view.update(None)
    assert frame_of(view) is frame
    clock.now += 0.02
    view.update(snapshot_of(empty()))
    assert frame_of(view) is not frame
    view.end(snapshot_of(empty()), "bye")


def test_ten_thousand_trials_are_shown():
    log = log_of(rw.PASHA(max_resource=27), trials=10_000, resources=27)
    lines = drawn(snapshot_of(rw.replay(log), 60.0), over=True)
    text = "\n".join(lines)
    assert "10,000 of 10,000 trials" in text
    assert "ASHA would have spent" in text


def test_a_lost_terminal_harms_nobody():
    screen = Screen(file=Gone(), force_terminal=True, width=80, height=24)
    clock = Clock()
    view = LiveDisplay(screen, timer=clock)
    snapshot = snapshot_of(empty())
    view.begin(snapshot)
    clock.now += 1
    view.update(snapshot)
    assert not view.due()
    view.notice("unseen")
    view.end(snapshot, "gone")


def test_markup_in_the_user_s_words_is_text():
    engine = empty()
    job = engine.handle(JobRequested()).job
    engine.handle(Reported(job.id, 1, 0.5))
    engine.trials[0].config = {"act": "[bold]relu[/bold]"}
    text = "\n".join(drawn(snapshot_of(engine), notices=["[red]odd[/nothing]"]))
    assert "act=[bold]relu[/bold]" in text
    assert "[red]odd[/nothing]" in text


def test_many_workers_are_summed_up():
    engine = Engine(Study(rw.FixedResource(1), Limits(trials=90), initial=[{"x": 1}] * 90))
    for _ in range(90):
        engine.handle(JobRequested())
    lines = drawn(snapshot_of(engine, workers=100), height=20)
    assert len(lines) == 19
    shown = sum(line.count("trial ") for line in lines)
    assert lines[-1].endswith(f"and {100 - shown} more")


# -- estimates and savings --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "text"),
    [
        (Left(), "not known yet"),
        (Left(120, None), "at least 2 min"),
        (Left(None, 30), "at most 30 s"),
        (Left(0.0, 30), "at most 30 s"),
        (Left(100, 120), "about 2 min"),
        (Left(120, 540), "about 2 to 9 min"),
        (Left(50, 7800), "about 50 s to 2 h 10 min"),
        (Left(3600, 7200), "about 1 to 2 h"),
        (Left(0.1, 400_000), "about 1 s to 4.6 days"),
    ],
)
def test_estimates_say_what_is_known(left, text):
    assert str(left) == text


def test_estimates_hold_the_truth_between_them():
    """Half way through random search and ASHA, with all units equally long."""
    for recipe in (rw.RandomSearch(81), rw.ASHA(max_resource=81), rw.PASHA(max_resource=81)):
        log = log_of(recipe, trials=256, seed=5)
        estimator, end = Estimator(), last_time(log)
        tested = 0
        for index, snapshot in enumerate(moments(log)):
            if index % 20:
                continue
            left = estimator.left(snapshot)
            if 0.2 * end < snapshot.elapsed < 0.6 * end:
                tested += 1
                rest = end - snapshot.elapsed
                assert 0.3 * rest <= left.low <= 1.1 * rest
                assert 0.9 * rest <= left.high <= 5 * rest
        assert tested > 10


def estimated(limits, recipe=None, *, late=0):
    """After 4 trials of one unit each in 4 seconds, on one worker that was late to start."""
    recipe = rw.FixedResource(1) if recipe is None else recipe
    engine = Engine(Study(recipe, limits, initial=[{"x": n} for n in range(99)]))
    estimator = Estimator()
    estimator.left(snapshot_of(engine, 0.0, workers=1))
    for second in range(late + 1, late + 5):
        job = engine.handle(JobRequested(second)).job
        engine.handle(Reported(job.id, 1, 0.5, second, 2.0))
        engine.handle(JobEnded(job.id, second))
        left = estimator.left(snapshot_of(engine, float(second), workers=1))
    return left


def test_budgets_bound_the_estimate():
    assert estimated(Limits(trials=10)) == Left(6.0, 7.0)
    assert estimated(Limits(trials=10, seconds=8)) == Left(4.0, 4.0)
    assert estimated(Limits(seconds=8)) == Left(4.0, 4.0)
    assert estimated(Limits(resource=9)) == Left(5.0, 5.0)
    assert estimated(Limits(cost=14)) == Left(3.0, 3.0)
    assert estimated(Limits(trials=10, target=0.1)) == Left(0.0, 7.0)
    assert estimated(Limits(target=0.1)) == Left()
    assert estimated(Limits(trials=9), rw.PASHA()).high is None


def test_the_time_it_takes_to_start_workers_says_nothing_about_speed():
    assert estimated(Limits(trials=10), late=100) == Left(6.0, 7.0)


def test_an_earlier_session_says_nothing_about_speed():
    log = log_of(rw.RandomSearch(81))
    estimator = Estimator()
    late = fraction(log, 0.5)
    assert estimator.left(late) == Left()
    later = Snapshot(late.engine, "error", late.elapsed + 100, late.workers)
    assert estimator.left(later) == Left()


def test_savings_are_computed_rarely(monkeypatch):
    """At first after a few seconds, then as often as a fiftieth of the time allows."""
    clock, calls = Clock(), []
    real = display.watch.saving

    def slow(*args, **kwargs):
        calls.append(clock.now)
        clock.now += 0.2
        return real(*args, **kwargs)

    monkeypatch.setattr(display.watch, "saving", slow)
    watch = Watch(clock)
    log = log_of(rw.PASHA(max_resource=81))
    for index, snapshot in enumerate(moments(log)):
        if index == 0:
            watch.begin(snapshot)
        clock.now += 0.5
        watch.saved(snapshot)
    assert len(calls) > 5
    assert calls[0] >= 1003
    assert min(b - a for a, b in pairwise(calls)) >= 10
    n = len(calls)
    clock.now += 1000
    watch.saved(snapshot)
    watch.saved(snapshot, now=True)
    assert len(calls) <= n + 1  # nothing new was reported since


def test_asha_is_not_compared_with_itself_nor_with_the_open_end():
    for recipe in (rw.ASHA(max_resource=81), rw.PASHA()):
        assert Watch(Clock()).saved(snapshot_of(rw.replay(log_of(recipe))), now=True) is None
    assert Watch(Clock()).saved(snapshot_of(all_failed()), now=True) is None


# -- words ------------------------------------------------------------------------------------


def test_figures_are_written_as_people_write_them():
    assert [words.amount(x) for x in (3, 3.0, 12345, 0.5)] == ["3", "3", "12,345", "0.5"]
    assert [words.clock(x) for x in (-1, 0, 65.9, 3753)] == ["0:00", "0:00", "1:05", "1:02:33"]
    spans = (0.2, 59.4, 59.6, 3569, 3571, 5400, 86399, 90000)
    told = ["1 s", "59 s", "1 min", "59 min", "1 h", "1 h 30 min", "24 h", "1.0 days"]
    assert [words.duration(x) for x in spans] == told
    assert [words.size(x) for x in (0, 999, 1e6, 2.5e13)] == ["0 B", "999 B", "1 MB", "25 TB"]
    assert words.value(None) == "–"
    assert [words.counted(n, "job") for n in (0, 1, 2)] == ["0 jobs", "1 job", "2 jobs"]
