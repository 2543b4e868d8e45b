"""Events and decisions as JSON: nothing is lost, and nothing foreign gets in."""

import json
import math
from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rungwise.core.codec import (
    SCHEMA,
    decision_from_json,
    decision_to_json,
    event_from_json,
    event_to_json,
)
from rungwise.core.decisions import Continue, Done, Job, Noted, Pause, StartJob, Stop, Wait
from rungwise.core.events import (
    JobEnded,
    JobFailed,
    JobLost,
    JobRequested,
    Reported,
    StudyExtended,
)
from rungwise.core.fields import number_from_json, number_to_json
from rungwise.core.limits import Limits
from rungwise.errors import SchemaError
from rungwise.storage import MemoryLog

ids = st.integers(0, 2**60)
number = st.one_of(st.integers(-(2**70), 2**70), st.floats())
config = st.dictionaries(
    st.text(max_size=8),
    st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(), st.none())
    | st.booleans()
    | st.lists(st.integers(), max_size=3),
    max_size=4,
)
metrics = st.dictionaries(st.text(max_size=8), number, max_size=3).map(
    lambda found: tuple(found.items())
)
events = st.one_of(
    st.builds(JobRequested, number),
    st.builds(Reported, ids, number, number, number, number, metrics),
    st.builds(JobEnded, ids, number),
    st.builds(JobFailed, ids, st.text(), number),
    st.builds(JobLost, ids, number),
)
decisions = st.one_of(
    st.builds(StartJob, st.builds(Job, ids, ids, config, number, number)),
    st.builds(Done, st.text()),
    *[st.builds(kind) for kind in (Wait, Continue, Pause, Stop, Noted)],
)


def through_json(plain):
    return json.loads(json.dumps(plain, allow_nan=False))


def exactly(value):
    """A value with its types, and NaN equal to itself."""
    if isinstance(value, (list, tuple)):
        return [exactly(item) for item in value]
    if isinstance(value, dict):
        return [(key, exactly(item)) for key, item in value.items()]
    return type(value), repr(value)


@given(events)
def test_an_event_comes_back_as_it_was(event):
    again = event_from_json(through_json(event_to_json(event)))
    assert type(again) is type(event)
    assert exactly(astuple(again)) == exactly(astuple(event))


@given(decisions)
def test_a_decision_comes_back_as_it_was(decision):
    again = decision_from_json(through_json(decision_to_json(decision)))
    assert type(again) is type(decision)
    assert exactly(astuple(again)) == exactly(astuple(decision))


@given(st.lists(st.tuples(events, decisions), max_size=5))
def test_a_log_comes_back_as_it_was(entries):
    lines = list(MemoryLog(entries).to_lines())
    assert len(lines) == 1 + len(entries)
    assert not any("\n" in line for line in lines)
    again = MemoryLog.from_lines(lines)
    told = [[(type(x), exactly(astuple(x))) for x in entry] for entry in entries]
    assert [[(type(x), exactly(astuple(x))) for x in entry] for entry in again.entries] == told


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (math.nan, "NaN"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
        (np.float64("nan"), "NaN"),
        (3, 3),
        (3.0, 3.0),
        (-0.0, -0.0),
        (np.float64(0.1), 0.1),
    ],
)
def test_numbers_are_written_as_json_can_hold_them(value, written):
    plain = number_to_json(value)
    assert exactly(plain) == exactly(written)
    assert exactly(float(number_from_json(plain, "here"))) == exactly(float(value))


def test_numbers_of_numpy_are_accepted_in_reports():
    event = Reported(
        3,
        np.float64(2.0),
        np.float64(0.1),
        np.float64(7.5),
        np.float64("inf"),
        (("a", np.float64(0.5)), ("b", np.float64("nan"))),
    )
    again = event_from_json(through_json(event_to_json(event)))
    other = (("a", 0.5), ("b", math.nan))
    assert exactly(astuple(again)) == exactly((3, 2.0, 0.1, 7.5, math.inf, other, 0.0))


def test_other_metrics_are_an_object_that_is_left_out_where_there_are_none():
    assert "metrics" not in event_to_json(Reported(0, 1, 0.5))
    event = Reported(0, 1, 0.5, metrics=(("b", 1), ("a", math.inf)))
    assert list(event_to_json(event)["metrics"].items()) == [("b", 1), ("a", "Infinity")]
    assert event_from_json(REPORT) == event_from_json({**REPORT, "metrics": {}})
    assert event_from_json(REPORT).metrics == ()


# ---- what is refused -----------------------------------------------------------------------------

REPORT = {"kind": "Reported", "job": 0, "resource": 1, "value": 0.5, "at": 0.0, "cost": 0.0}
JOB = {"kind": "Job", "id": 0, "trial": 0, "config": {}, "start": 0, "until": 1}


def without(data, field):
    return {key: value for key, value in data.items() if key != field}


@pytest.mark.parametrize(
    ("data", "named"),
    [
        ({**REPORT, "kind": "Exploded"}, "Exploded"),
        ({**REPORT, "kind": "Pause"}, "Pause"),  # a decision is no event
        ({**REPORT, "kind": ["Reported"]}, "Reported"),
        (without(REPORT, "kind"), "None"),
        (without(REPORT, "value"), "value"),
        (without(REPORT, "at"), "at"),  # no silent defaults
        ({**REPORT, "colour": "red"}, "colour"),
        ({**REPORT, "job": 0.0}, "Reported.job"),
        ({**REPORT, "job": True}, "Reported.job"),
        ({**REPORT, "job": "0"}, "Reported.job"),
        ({**REPORT, "job": None}, "Reported.job"),
        ({**REPORT, "resource": True}, "Reported.resource"),
        ({**REPORT, "value": "low"}, "Reported.value"),
        ({**REPORT, "value": "nan"}, "Reported.value"),
        ({**REPORT, "value": None}, "Reported.value"),
        ({**REPORT, "value": [0.5]}, "Reported.value"),
        ({**REPORT, "metrics": None}, "Reported.metrics is None"),
        ({**REPORT, "metrics": 0}, "Reported.metrics is 0"),
        ({**REPORT, "metrics": [["a", 1]]}, "Reported.metrics is"),
        ({**REPORT, "metrics": {"a": None}}, "Reported.metrics.a is None"),
        ({**REPORT, "metrics": {"a": 1, "b": "low"}}, "Reported.metrics.b is 'low'"),
        ({**REPORT, "metrics": {"a": True}}, "Reported.metrics.a is True"),
        ({**REPORT, "metrics": {"a": {"b": 1}}}, "Reported.metrics.a is"),
        ({"kind": "JobEnded", "job": 0, "at": 0.0, "metrics": {}}, "metrics"),
        ({"kind": "JobFailed", "job": 0, "reason": 3, "at": 0.0}, "JobFailed.reason"),
        ({"kind": "JobRequested", "at": "noon"}, "JobRequested.at"),
    ],
)
def test_a_foreign_event_is_refused_by_name(data, named):
    with pytest.raises(SchemaError, match=named):
        event_from_json(data)


@pytest.mark.parametrize(
    ("data", "named"),
    [
        ({"kind": "Reported"}, "Reported"),  # an event is no decision
        ({"kind": "Job"}, "Job"),
        ({"kind": "Wait", "long": 3}, "long"),
        ({"kind": "Done"}, "why"),
        ({"kind": "Done", "why": None}, "Done.why"),
        ({"kind": "Run"}, "job"),
        ({"kind": "Run", "job": 3}, "job"),
        ({"kind": "Run", "job": without(JOB, "config")}, "config"),
        ({"kind": "Run", "job": {**JOB, "config": [1]}}, "config"),
        ({"kind": "Run", "job": without(JOB, "until")}, "until"),
        ({"kind": "Run", "job": {**JOB, "speed": 2}}, "speed"),
        ({"kind": "Run", "job": {**JOB, "id": 0.5}}, "Job.id"),
        ({"kind": "Run", "job": {**JOB, "until": "far"}}, "Job.until"),
        ({"kind": "Run", "job": {**JOB, "kind": "Run"}}, "Run"),
    ],
)
def test_a_foreign_decision_is_refused_by_name(data, named):
    with pytest.raises(SchemaError, match=named):
        decision_from_json(data)


def lines_of_a_log():
    entries = [(JobRequested(), Wait()), (JobEnded(0), Noted()), (JobLost(1), Noted())]
    return list(MemoryLog(entries).to_lines())


@pytest.mark.parametrize("number", [1, 2, 3, 4])
@pytest.mark.parametrize(
    "damage",
    [
        lambda line: line[:-1],
        lambda line: line[: len(line) // 2],
        lambda _: "",
        lambda _: "null",
        lambda _: "[]",
        lambda _: "3",
        lambda _: "{}",
        lambda line: line + line,
        lambda line: line.replace("kind", "Kind"),
    ],
    ids=["torn", "half", "empty", "null", "list", "number", "object", "twice", "renamed"],
)
def test_a_damaged_line_is_refused_and_named(number, damage):
    lines = lines_of_a_log()
    lines[number - 1] = damage(lines[number - 1])
    with pytest.raises(SchemaError, match=f"Line {number} of the log cannot be read"):
        MemoryLog.from_lines(lines)


@pytest.mark.parametrize("schema", [SCHEMA + 1, 0, None, "1"])
def test_another_schema_version_is_refused_with_both_versions(schema):
    lines = lines_of_a_log()
    lines[0] = json.dumps({"kind": "Log", "schema": schema})
    with pytest.raises(SchemaError, match=f"Line 1 .*{schema!r}.* reads {SCHEMA}"):
        MemoryLog.from_lines(lines)


def test_a_log_without_its_header_is_refused():
    with pytest.raises(SchemaError, match=r"Line 1 .*header"):
        MemoryLog.from_lines(lines_of_a_log()[1:])


def test_a_header_in_the_middle_is_refused():
    lines = lines_of_a_log()
    with pytest.raises(SchemaError, match="Line 3 "):
        MemoryLog.from_lines([*lines[:2], lines[0], *lines[2:]])


def test_an_entry_must_be_an_event_with_a_decision_in_this_order():
    lines = lines_of_a_log()
    entry = json.loads(lines[1])
    lines[1] = json.dumps({"event": entry["decision"], "decision": entry["event"]})
    with pytest.raises(SchemaError, match="Line 2 "):
        MemoryLog.from_lines(lines)


def test_reading_starts_where_it_is_told_to():
    log = MemoryLog.from_lines(lines_of_a_log())
    assert list(log.read_from(2)) == [(JobLost(1), Noted())]
    assert list(log.read_from()) == log.entries
    assert list(log.read_from(3)) == []


def test_what_stands_beside_a_job_or_an_entry_is_refused():
    job = {"kind": "Job", "id": 0, "trial": 0, "config": {}, "start": 0, "until": 1}
    with pytest.raises(SchemaError, match=r"unknown \['x'\]"):
        decision_from_json({"kind": "Run", "x": 1, "job": job})
    header = next(MemoryLog().to_lines())
    entry = {"event": {"kind": "JobRequested", "at": 0.0}, "decision": {"kind": "Wait"}, "x": 1}
    with pytest.raises(SchemaError, match="Line 2 of the log"):
        MemoryLog.from_lines([header, json.dumps(entry)])


@pytest.mark.parametrize(
    "change",
    [
        {"limits": 3},
        {"limits": {"trials": 0}},
        {"limits": {"rounds": 9}},
        {"max_resource": 9.5},
        {"max_resource": True},
        {"at": "now"},
        {"more": 1},
    ],
)
def test_an_extension_that_is_damaged_is_refused(change):
    event = StudyExtended(Limits(trials=9), 27, 1.5)
    written = json.loads(json.dumps(event_to_json(event)))
    assert event_from_json(written) == event
    with pytest.raises(SchemaError):
        event_from_json({**written, **change})
