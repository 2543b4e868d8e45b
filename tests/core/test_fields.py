"""The tables of events and decisions: what is quick says what is slow, and no more."""

import json
import math
from dataclasses import dataclass, fields, replace
from typing import Annotated, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rungwise.core import decisions, events
from rungwise.core.codec import event_from_json, event_to_json, read_plain_event
from rungwise.core.events import (
    FURTHEST,
    ConfigurationsAdded,
    Event,
    JobEnded,
    JobFailed,
    JobRequested,
    Reported,
    StudyExtended,
    TrialStopped,
    find_flaw,
)
from rungwise.core.fields import WRITTEN, Number, Table, Whole, make_checked
from rungwise.core.limits import Limits

odd = st.sampled_from(
    [None, True, False, "1", -1, 0, -0.0, 5e-324, FURTHEST, FURTHEST + 1, math.nan, math.inf]
)
number = st.one_of(st.integers(-(2**70), 2**70), st.floats(), odd)
metrics = st.one_of(
    st.just(()),
    st.tuples(st.tuples(st.text(max_size=3), number)),
    st.sampled_from([None, [], "a", (("a", None),), ((1, 2.0),)]),
)
reports = st.builds(Reported, number, number, number, number, number, metrics, number)


def find_slowly(event):
    """The same check, field by field."""
    table = events.TABLES[type(event)]
    for field in table.fields:
        if not field.form.accepts(getattr(event, field.name)):
            return field.name
    return None


@given(reports)
def test_a_report_is_found_to_be_legal_by_every_field_or_not_at_all(event):
    assert (find_flaw(event) is None) == (find_slowly(event) is None)


@given(st.one_of(st.builds(JobRequested, number), st.builds(JobEnded, number, number)))
def test_so_are_other_events(event):
    assert (find_flaw(event) is None) == (find_slowly(event) is None)


@given(reports)
def test_the_quick_text_is_the_text_of_the_document(event):
    table = events.TABLES[Reported]
    text = table.to_plain_text(event)
    if text is not None:
        more = table.list_unusual(replace(event, metrics=(), again=0.0))
        document = event_to_json(replace(event, metrics=(), again=0.0))
        assert more == {}
        assert text == json.dumps(document)


@given(reports)
def test_what_is_read_quickly_is_what_is_read_slowly(event):
    if find_flaw(event) is not None:
        return
    document = json.loads(json.dumps(event_to_json(event)))
    quick = read_plain_event(document)
    slow = events.TABLES[Reported].from_json(document)
    assert repr(event_from_json(document)) == repr(slow)
    if quick is not None:
        assert repr(quick) == repr(slow)


def test_nearly_all_entries_are_read_quickly():
    for event in (JobRequested(1.5), Reported(0, 1, 0.5), Reported(0, 0.5, 2, 1.0), JobEnded(3)):
        assert read_plain_event(event_to_json(event)) == event
    for event in (JobFailed(0, "why"), Reported(0, 1, math.nan), Reported(0, 1, 0.5, again=1.0)):
        assert read_plain_event(event_to_json(event)) is None
    for foreign in (None, [], {}, {"kind": ["Reported"]}, {"kind": "Reported", "jobs": 1}):
        assert read_plain_event(foreign) is None


@pytest.mark.parametrize(
    ("event", "flaw"),
    [
        (JobRequested(-1.0), "its time must be a finite, non-negative number"),
        (JobEnded(True), "its job must be a whole number"),
        (JobFailed(0, 3), "its reason must be text"),
        (Reported(0, 2 * FURTHEST, 0.5), "its resource must be a plain number above 0 and up to"),
        (Reported(0, 1, 0.5, cost=math.inf), "its cost must be a finite, non-negative number"),
        (Reported(0, 1, 0.5, again=-1.0), "its amount that was trained again must be a finite"),
        (Reported(0, 1, 0.5, metrics=(("a", "b"),)), "its other metrics must be plain numbers"),
        (StudyExtended(Limits(trials=1), 0), "its max_resource must be a whole number from 1 to"),
        (StudyExtended({"trials": 1}), "its limits must be a Limits"),
        (ConfigurationsAdded([{"x": 1}]), "its configs must be a tuple of configurations"),
        (TrialStopped(0, "gone"), "its outcome must be 'stopped' or 'failed'"),
        (TrialStopped(0, request=3), "its request must be text"),
    ],
)
def test_what_breaks_a_rule_is_named(event, flaw):
    assert flaw in find_flaw(event)


def test_every_event_and_decision_has_a_table_with_all_its_fields():
    for union, tables in ((Event, events.TABLES), (decisions.Decision, decisions.TABLES)):
        assert tuple(tables) == get_args(union)
        for kind, table in tables.items():
            assert [one.name for one in table.fields] == [one.name for one in fields(kind)]


def test_a_new_field_with_a_default_is_left_out_where_it_has_it():
    @dataclass(frozen=True, slots=True)
    class Seen:
        job: Whole
        at: Annotated[Number, WRITTEN] = 0.0
        place: Annotated[str, make_checked("text", lambda value: isinstance(value, str))] = "here"

    table = Table(Seen)
    assert table.to_json(Seen(1)) == {"kind": "Seen", "job": 1, "at": 0.0}
    assert table.to_json(Seen(1, place="x")) == {"kind": "Seen", "job": 1, "at": 0.0, "place": "x"}
    for seen in (Seen(1), Seen(2, 0.5, "x")):
        assert table.from_json(table.to_json(seen)) == seen
    kind, length, pick, types = table.plain
    usual = table.to_json(Seen(1, 0.5))
    assert length == len(usual) < len(table.to_json(Seen(1, place="x")))
    assert kind(*pick(usual)) == Seen(1, 0.5)
    assert tuple(map(type, pick(usual))) in types


def test_what_may_be_left_out_comes_last():
    @dataclass(frozen=True, slots=True)
    class Seen:
        place: Number = 1.0
        at: Annotated[Number, WRITTEN] = 0.0

    with pytest.raises(TypeError, match="Seen: fields that may be left out must be the last"):
        Table(Seen)
