"""Figures, times, sizes and configurations as text."""

import math

import pytest

from rungwise.formatting import (
    format_bytes,
    format_clock,
    format_config,
    format_count,
    format_duration,
    format_percent,
    format_resource,
    format_runtime,
    format_short,
    format_value,
    join_words,
    strip_controls,
)  # fmt: skip


def test_figures_are_written_as_people_write_them():
    assert [format_resource(x) for x in (3, 3.0, 12345, 0.5)] == ["3", "3", "12,345", "0.5"]
    assert [format_bytes(x) for x in (0, 999, 1e6, 2.5e13)] == ["0 B", "999 B", "1 MB", "25 TB"]
    assert [format_count(n, "job") for n in (0, 1, 2)] == ["0 jobs", "1 job", "2 jobs"]
    assert [format_percent(x) for x in (0, 0.1234, 1)] == ["0.0 %", "12.3 %", "100.0 %"]
    assert [format_short(x) for x in (1079.4, -93.567, 0.063881)] == ["1,079", "-93.57", "0.06388"]


def test_values_have_as_many_digits_as_are_asked_for():
    assert [format_value(x) for x in (0.123456789, 2, math.nan)] == ["0.1235", "2", "nan"]
    assert format_value(0.123456789, 6) == "0.123457"
    assert (format_value(None), format_value(None, 6, missing="-")) == ("–", "-")


def test_times_are_as_precise_as_they_are_known():
    assert [format_clock(x) for x in (-1, 0, 65.9, 3753)] == ["0:00", "0:00", "1:05", "1:02:33"]
    spans = (0.2, 59.4, 59.6, 3569, 3571, 5400, 86399, 90000)
    told = ["1 s", "59 s", "1 min", "59 min", "1 h", "1 h 30 min", "24 h", "1.0 days"]
    assert [format_duration(x) for x in spans] == told
    measured = (0, 89.9, 90, 5399, 5400)
    assert [format_runtime(x) for x in measured] == [
        "0.0 s",
        "89.9 s",
        "1.5 min",
        "90.0 min",
        "1.5 h",
    ]


@pytest.mark.parametrize(
    ("items", "text"), [(["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")]
)
def test_words_are_joined(items, text):
    assert join_words(items) == text


def test_nothing_moves_the_cursor():
    assert strip_controls("a\x1b[2Jb\rc\td\ne\x1b]0;title\x07f\x07") == "ab c   d\nef "


@pytest.mark.parametrize(
    ("config", "text"),
    [
        ({}, ""),
        ({"lr": 0.00123456, "act": "relu"}, "lr=0.001235 act=relu"),
        (
            {"n": 123456, "on": True, "none": None, "big": 1e9},
            "n=123456 on=True none=None big=1e+09",
        ),
        ({"s": "two words", "t": "", "u": "a\nb"}, "s='two words' t='' u='a\\nb'"),
        ({"esc": "\x1b[2J"}, "esc='\\x1b[2J'"),
    ],
)
def test_configurations_are_one_short_line(config, text):
    assert format_config(config) == text
