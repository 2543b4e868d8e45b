"""A failure in one line, with the line of the training function."""

import functools
import inspect
import json
import traceback
from types import SimpleNamespace

import pytest

from rungwise.backends.worker import serve
from rungwise.checkpoints import FolderStore
from rungwise.core.failures import Failure
from rungwise.run import Assignment
from rungwise.session.failure_text import describe_failure, find_place


def in_a_library(config, run):
    json.loads("{")


def in_a_report(config, run):
    run.report(0, loss=1.0)


def in_a_handler(config, run):
    try:
        json.loads("{")
    except ValueError as error:
        raise RuntimeError("no data") from error


class Model:
    def __call__(self, config, run):
        return config["missing"]


def crash(train, folder):
    assignment = Assignment(0, 0, {}, 0, 3, place="t")
    crashed = serve(train, assignment, None, FolderStore(folder), SimpleNamespace(job=None))
    return Failure(0, 0, 0.0, 0.0, crashed.reason, crashed.trace, "")


@pytest.mark.parametrize(
    ("train", "function", "offset", "name"),
    [
        (in_a_library, in_a_library, 1, "in_a_library"),
        (in_a_report, in_a_report, 1, "in_a_report"),
        (in_a_handler, in_a_handler, 4, "in_a_handler"),
        (functools.partial(in_a_library), in_a_library, 1, "in_a_library"),
        (Model(), Model.__call__, 1, "__call__"),
    ],
    ids=["library", "report", "handler", "partial", "object"],
)
def test_the_line_is_the_deepest_in_the_file_of_the_function(
    tmp_path, train, function, offset, name
):
    failure = crash(train, tmp_path)
    line = inspect.getsourcelines(function)[1] + offset
    text = f"{failure.reason} (test_failure_text.py, line {line}, in {name})"
    assert describe_failure(failure) == text


def test_without_a_known_line_the_reason_stands_alone():
    try:
        in_a_library({}, None)
    except ValueError:
        elsewhere = traceback.format_exc()
    for trace in ("", "no traceback", elsewhere):
        assert find_place(trace) is None
        assert describe_failure(Failure(0, 0, 0, 0, "it hung", trace, "")) == "it hung"
