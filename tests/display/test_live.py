"""The live view."""

import re
from dataclasses import replace

import pytest
from display_stories import (
    Clock,
    Gone,
    all_failed,
    console,
    drawn,
    empty,
    fraction,
    frame_of,
    log_of,
    moments,
    snapshot_of,
)

import rungwise as rw
from rungwise.core.engine import Engine
from rungwise.core.events import JobRequested, Reported
from rungwise.core.limits import Limits
from rungwise.core.study import Study
from rungwise.display import render
from rungwise.display.json_lines import EventDisplay
from rungwise.display.lines import LineDisplay
from rungwise.display.live import LiveDisplay, Screen

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


@pytest.mark.parametrize("config", ["x=1", "x" * 500])
def test_a_high_terminal_lists_the_leaders_and_a_low_one_does_not(config, monkeypatch):
    monkeypatch.setattr(render, "format_config", lambda _: config)
    snapshot = fraction(log_of(rw.PASHA(max_resource=81)), 0.5)
    board = snapshot.view.leaderboard(10)
    high = drawn(snapshot, width=120, height=50)
    listed = [line for line in high if re.search(r" \d+\. .* at .* trial ", line)]
    assert [int(re.search(r"trial (\d+)", line)[1]) for line in listed] == [
        row.trial for row in board
    ]
    assert not any(" 1. " in line for line in drawn(snapshot, width=120, height=20))
    assert not any(" 1. " in line for line in drawn(snapshot, width=50, height=50))


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_view_shows_what_a_person_asks_for(width):
    log = log_of(rw.PASHA(max_resource=81), goal="max")
    snapshot = fraction(log, 0.5, failures=3, checkpoints_bytes=1_234_000_000)
    view = snapshot.view
    lines = drawn(snapshot, width=width, notices=["trial 3 failed: boom"])
    text = "\n".join(lines)
    assert "rungwise digits.db" in lines[0]
    assert "error ↑   PASHA up to 81   1:00" in lines[0]
    ceiling = view.ceilings[-1][1]
    (top,) = [line for line in lines if "◂" in line]
    assert top.split()[0] == str(ceiling)
    (ground,) = [line for line in lines if line.startswith("    1 ")]
    assert str(sum(curve != [] for curve in view.curves().values())) in ground.split()
    assert ground.count("━") > width // 8
    best = view.best
    assert f"{best.value:.4g} at resource {best.resource:g}, trial {best.trial}" in text
    assert f"row={best.config['row']}" in text
    assert view.explanation.split()[2] in text
    assert f"{view.trials} of 64 trials" in text
    assert "1.23" in text
    assert "0 trials (3 jobs)" in text
    assert "not known yet" in text
    assert "workers   0  trial" in text
    assert "trial 3 failed: boom" in text


def test_the_ladder_shows_the_ceiling_on_top_and_what_lies_beyond():
    log = log_of(rw.PASHA(max_resource=81))
    for part in (0.1, 0.5, 1.0):
        snapshot = fraction(log, part)
        lines = drawn(snapshot)
        levels = [int(line.split()[0]) for line in lines if re.match(r" +\d", line[:6])]
        ceiling = snapshot.view.ceilings[-1][1]
        assert levels == [level for level in (81, 27, 9, 3, 1) if level <= ceiling]
        assert any("not needed so far" in line for line in lines) == (ceiling < 81)
    assert any("open-ended" in line for line in drawn(snapshot_of(empty(rw.PASHA()))))
    lines = drawn(snapshot_of(empty(rw.PASHA(max_resource=59_049)), open_ended=True))
    assert "PASHA open-ended" in lines[0]
    assert any(line.split() == ["⋯", "open-ended"] for line in lines)
    assert not any("59,049" in line or "not needed" in line for line in lines)


def test_bars_show_even_one_in_thousands():
    log = log_of(rw.ASHA(max_resource=200), trials=2000, resources=200)
    lines = drawn(fraction(log, 1.0))
    (top,) = [line for line in lines if "◂" in line]
    assert "╸" in top or "━" in top


@pytest.mark.no_cover
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
    lines = drawn(snapshot_of(engine, failures=18, failed_trials=9), over=True)
    assert any(line.startswith("failed   9 trials (18 jobs)") for line in lines)
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


@pytest.mark.no_cover
def test_ten_thousand_trials_are_shown():
    log = log_of(rw.PASHA(max_resource=27), trials=10_000, resources=27)
    lines = drawn(snapshot_of(rw.replay(log), 60.0), over=True)
    text = "\n".join(lines)
    assert "10,000 of 10,000 trials" in text
    assert "times less than training every configuration to 27" in " ".join(text.split())


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


def test_the_best_configuration_stands_in_full_below_a_view_that_has_cut_it():
    config = {f"hyperparameter_{number}": 0.123456789 for number in range(20)}
    study = Study(rw.ASHA(max_resource=9), Limits(trials=1), initial=[config])
    engine = Engine(study)
    engine.handle(JobRequested(0.0))
    engine.handle(Reported(0, 1, 0.5))
    screen = console(80, 24)
    display = LiveDisplay(screen)
    display.notice("the goal is min")
    assert screen.file.getvalue().startswith("the goal is min")  # above the view, where it stays
    display.begin(snapshot_of(engine))
    display.end(snapshot_of(engine), "The study was interrupted.")
    last = screen.file.getvalue().splitlines()[-1]
    assert last == f"best configuration: {config}"
    short = console(80, 24)
    display = LiveDisplay(short)
    ended = next(iter(reversed(list(moments(log_of(rw.ASHA(max_resource=81)))))))
    display.begin(ended)
    display.end(ended, "It ended.")
    assert "best configuration" not in short.file.getvalue()


def test_workers_of_several_machines_name_theirs():
    engine = Engine(Study(rw.FixedResource(1), Limits(trials=1), initial=[{"x": 1}]))
    engine.handle(JobRequested())
    snapshot = snapshot_of(engine, workers=2)
    first, second = snapshot.workers
    workers = [replace(first, node="gpu-node-17"), replace(second, ready=False)]
    text = "\n".join(drawn(replace(snapshot, workers=workers), width=120))
    assert re.search(r"trial 0 +0 → 1   0:01   gpu-node-17\b", text)
    assert re.search(r"\b1  starting", text)
