"""Displays that break a promise, each in one way, and the checks of the suite that find out."""

import os
import sys
import threading
from contextlib import suppress

import pytest

from rungwise.display import LineDisplay
from rungwise.formatting import strip_controls
from rungwise.testing import DisplayConformance


class Plain:
    """Keeps every promise, in the plainest way."""

    def __init__(self, timer):
        self.timer = timer

    def begin(self, snapshot):
        self.write(f"{snapshot.view.trials} trials")

    def due(self):
        return True

    def update(self, snapshot):
        best = snapshot.view.best
        self.write(f"best {None if best is None else best.value}")

    def notice(self, text):
        self.write(strip_controls(text))

    def end(self, snapshot, text):
        self.update(snapshot)
        self.notice(text)

    def write(self, text):
        with suppress(OSError, ValueError):
            sys.stderr.write(f"{text}\n")


class NeedsAStream(Plain):
    def write(self, text):
        sys.stderr.write(f"{text}\n")


class NeedsTheLetters(Plain):
    def write(self, text):
        with suppress(OSError):
            sys.stderr.write(f"{text}\n")


class NeedsRoom(Plain):
    def update(self, snapshot):
        self.write("━" * (100 // max(0, int(os.environ["COLUMNS"]) - 7)))


class NeedsABest(Plain):
    def update(self, snapshot):
        self.write(f"best {snapshot.view.best.value}")


class NeedsOneLadder(Plain):
    def update(self, snapshot):
        self.write(f"up to {snapshot.view.common_ladder.levels[-1]}")


class NeedsAMaximum(Plain):
    def begin(self, snapshot):
        self.write(f"up to {snapshot.max_resource:g}")


class NeedsNumbers(Plain):
    def update(self, snapshot):
        best = snapshot.view.best
        self.write("=" * min(9, int(1 / best.value)) if best else "")


class PassesEverythingOn(Plain):
    def notice(self, text):
        self.write(text)


class KeepsTheStream(Plain):
    def begin(self, snapshot):
        sys.stdout = sys.__stdout__


class LeavesAThread(Plain):
    gone = threading.Event()

    def begin(self, snapshot):
        self.gone.clear()
        threading.Thread(target=self.gone.wait, args=(20,), daemon=True).start()


class AnswersNothing(Plain):
    def due(self):
        return "later"


class Meddles(Plain):
    def end(self, snapshot, text):
        snapshot.view._study.trials[0].config["mine"] = 1


BROKEN = [
    (NeedsAStream, "test_a_stream_that_is_lost_harms_nothing", ("closed",)),
    (NeedsAStream, "test_a_stream_that_is_lost_harms_nothing", ("broken pipe",)),
    (NeedsAStream, "test_a_stream_that_is_lost_harms_nothing", ("pipe that breaks",)),
    (NeedsAStream, "test_a_stream_that_is_lost_harms_nothing", ("full disk",)),
    (NeedsTheLetters, "test_a_stream_that_is_lost_harms_nothing", ("ascii",)),
    (NeedsRoom, "test_a_terminal_may_have_any_size", ((7, 2),)),
    (NeedsABest, "test_shows_every_moment_of_a_study", ("PASHA", "min")),
    (NeedsABest, "test_a_study_in_which_nothing_succeeded", ()),
    (NeedsABest, "test_a_study_may_go_on_from_anywhere", (0,)),
    (NeedsOneLadder, "test_shows_every_moment_of_a_study", ("several brackets", "min")),
    (NeedsAMaximum, "test_a_study_without_a_maximum", ()),
    (NeedsNumbers, "test_values_and_configurations_may_be_odd", (5e-324,)),
    (PassesEverythingOn, "test_what_trials_print_cannot_steer_the_terminal", ()),
    (KeepsTheStream, "test_leaves_the_process_as_it_was", ()),
    (LeavesAThread, "test_leaves_the_process_as_it_was", ()),
    (AnswersNothing, "test_shows_every_moment_of_a_study", ("ASHA", "max")),
    (Meddles, "test_the_study_stays_as_it_is", ()),
]


def make_row(kind):
    class Row(DisplayConformance):
        def make_display(self, timer):
            return kind(timer=timer)

    row = Row()
    row._set_up()
    return row


@pytest.mark.parametrize(
    ("kind", "check", "arguments"),
    BROKEN,
    ids=[f"{kind.__name__}-{check}" for kind, check, _ in BROKEN],
)
def test_the_suite_notices(kind, check, arguments):
    with pytest.raises(Exception):  # noqa: B017, PT011 - whatever a display raises
        getattr(make_row(kind), check)(*arguments)
    LeavesAThread.gone.set()


@pytest.mark.parametrize("kind", [Plain, LineDisplay])
@pytest.mark.parametrize(("check", "arguments"), {row[1:]: row[1:] for row in BROKEN}.values())
def test_and_finds_nothing_where_nothing_is_wrong(kind, check, arguments):
    """So that it is the broken promise that is noticed above, and nothing else."""
    getattr(make_row(kind), check)(*arguments)
