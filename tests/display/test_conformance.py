"""One row per display."""

import inspect

import pytest

from rungwise import display
from rungwise.display import (
    EventDisplay,
    LineDisplay,
    LiveDisplay,
    NotebookDisplay,
    QuietDisplay,
)
from rungwise.testing import DisplayConformance


class TestLines(DisplayConformance):
    def make_display(self, timer):
        return LineDisplay(timer=timer)


class TestEvents(DisplayConformance):
    def make_display(self, timer):
        return EventDisplay(timer=timer)


@pytest.mark.no_cover  # test_live.py covers it; rich is slow to trace
class TestLive(DisplayConformance):
    def make_display(self, timer):
        return LiveDisplay(timer=timer)


class TestNotebook(DisplayConformance):
    @pytest.fixture(autouse=True)
    def _shell(self, shell):
        pass

    def make_display(self, timer):
        return NotebookDisplay(timer=timer)


class TestQuiet(DisplayConformance):
    def make_display(self, timer):
        return QuietDisplay()


def test_every_display_has_a_row():
    rows = {"TestLines", "TestEvents", "TestLive", "TestNotebook", "TestQuiet"}
    exported = (getattr(display, name) for name in display.__all__)
    kinds = [kind for kind in exported if inspect.isclass(kind) and hasattr(kind, "begin")]
    assert len([kind for kind in kinds if kind is not display.Display]) == len(rows)
    assert all(name in globals() for name in rows)
