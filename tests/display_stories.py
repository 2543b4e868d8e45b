"""Studies in every state, for displays to show."""

import io
from dataclasses import replace

import rungwise as rw
from rungwise.core.engine import Engine
from rungwise.core.events import JobFailed, JobRequested
from rungwise.core.limits import Limits
from rungwise.core.study import Study
from rungwise.display import Snapshot, WorkerView
from rungwise.display.live import LiveDisplay, Screen
from rungwise.display.render import Frame
from rungwise.views import Situation, StudyView


class Clock:
    """Time that passes only when a test sets it."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


class Gone(io.StringIO):
    """A stream whose reader is gone."""

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


def snapshot_of(engine, elapsed=0.0, *, workers=4, open_ended=False, **fields):
    busy = [engine.jobs[job] for job in engine.open_jobs]
    views = [
        WorkerView(number, 4000, job.trial, engine.trials[job.trial].resource, job.until, 1.5)
        for number, job in enumerate(busy)
    ]
    views += [WorkerView(number) for number in range(len(busy), workers)]
    view = StudyView(engine, "error", situation=Situation(open_ended=open_ended, workers=workers))
    return Snapshot(view, elapsed, views, study="digits.db", **fields)


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


def last_time(log):
    return log.entries[-1][0].at
