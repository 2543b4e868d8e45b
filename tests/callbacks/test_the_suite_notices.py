"""Callbacks that break a promise, each in one way, and the check of the suite that finds out."""

import inspect
import json
import threading
import time

import pytest

from rungwise.callbacks import Callback
from rungwise.testing import CallbackConformance


class Lines(Callback):
    """A whole one: a line of JSON for every report."""

    def __init__(self, folder):
        self.path = folder / "lines"

    def begin(self, study):
        self.key = study.key
        self.held = {line[:3] for line in read_lines(self.path)}

    def reported(self, report):
        line = (self.key, report.trial, report.resource, report.value)
        if line[:3] not in self.held:
            self.held.add(line[:3])
            with self.path.open("a") as stream:
                stream.write(json.dumps(line) + "\n")

    def fill(self, reports):
        for report in reports:
            self.reported(report)


def read_lines(path):
    if not path.exists():
        return []
    return [tuple(json.loads(line)) for line in path.read_text().splitlines()]


class WritesTwice(Lines):
    def begin(self, study):
        super().begin(study)
        self.held = set()


class FillsNothing(Lines):
    def fill(self, reports):
        pass


class ForgetsStudies(Lines):
    def begin(self, study):
        if not hasattr(self, "key"):
            super().begin(study)


class SkipsSome(Lines):
    def reported(self, report):
        if report.resource != 2:
            super().reported(report)


class ConfusesPhases(Lines):
    def begin(self, study):
        super().begin(study)
        self.key = study.key.partition("-")[0]


class Raises(Lines):
    def left(self, job):
        raise OSError


class TakesNumbersOnly(Lines):
    def reported(self, report):
        sum(value for value in report.config.values() if not isinstance(value, str))


class LeavesAThread(Lines):
    def begin(self, study):
        super().begin(study)
        threading.Thread(target=time.sleep, args=(5,), daemon=True).start()


class Interrupts(Lines):
    def left(self, job):
        raise KeyboardInterrupt


def check(kind, name, folder):
    class Row(CallbackConformance):
        def make_callback(self, folder):
            return kind(folder)

        def read(self, folder):
            return read_lines(folder / "lines")

    method = getattr(Row(), name)
    more = {"after": 7} if "after" in inspect.signature(method).parameters else {}
    method(folder, **more)


NAMES = [name for name in dir(CallbackConformance) if name.startswith("test_")]
RESUMED = "test_a_study_that_is_resumed_has_neither_gap_nor_duplicate"


@pytest.mark.parametrize("name", NAMES)
def test_a_whole_one_passes(name, tmp_path):
    check(Lines, name, tmp_path)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (WritesTwice, RESUMED),
        (WritesTwice, "test_a_study_that_has_ended_can_be_recorded"),
        (FillsNothing, "test_what_it_has_missed_is_added"),
        (FillsNothing, "test_a_study_that_has_ended_can_be_recorded"),
        (ForgetsStudies, "test_one_callback_may_serve_several_studies"),
        (SkipsSome, "test_records_every_report"),
        (ConfusesPhases, "test_a_retraining_is_recorded_apart"),
        (Raises, "test_records_every_report"),
        (Raises, "test_a_retraining_is_recorded_apart"),
        (TakesNumbersOnly, "test_facts_may_be_odd"),
        (LeavesAThread, "test_leaves_no_thread"),
        (Interrupts, "test_the_study_stays_as_it_is"),
    ],
)
def test_a_broken_one_does_not(kind, name, tmp_path):
    with pytest.raises((AssertionError, OSError, TypeError, UserWarning)):
        check(kind, name, tmp_path)
