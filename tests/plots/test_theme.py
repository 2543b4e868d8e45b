"""Colours, words, and what happens without plotly."""

import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rungwise as rw
from rungwise import plots
from rungwise.formatting import strip_controls
from rungwise.plots import theme


@pytest.fixture
def without_plotly(monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)


@pytest.mark.parametrize(
    "call",
    [
        lambda: plots.learning_curves(rw.power_laws(9, 9)),
        lambda: plots.epsilon(rw.simulate(rw.power_laws(40, 81, seed=1), rw.PASHA(), trials=40)),
        lambda: plots.ladder(rw.simulate(rw.power_laws(9, 9), rw.PASHA(), trials=9)),
        lambda: plots.pareto([plots.Point("a", 1, 2)]),
        lambda: plots.speedup({"a": 1}),
        lambda: plots.export(None, "f.html"),
    ],
    ids=["learning_curves", "epsilon", "ladder", "pareto", "speedup", "export"],
)
def test_without_plotly_the_extra_is_named(call, without_plotly):
    with pytest.raises(rw.MissingExtraError, match=r"pip install 'rungwise\[plots\]'"):
        call()


def test_without_resvg_the_extra_is_named(tmp_path, monkeypatch):
    pytest.importorskip("plotly")
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(rw.MissingExtraError, match=r"export to PNG .*'rungwise\[plots\]'"):
        plots.export(plots.speedup({"a": 1}), tmp_path / "f.png")
    assert list(tmp_path.iterdir()) == []


def test_plotly_is_loaded_when_something_is_drawn():
    code = "import sys, rungwise.plots; print('plotly' in sys.modules, 'resvg_py' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"


@given(st.text())
def test_any_text_is_read_as_it_was_written(text):
    assert theme.words(theme.escape(text)) == strip_controls(text).replace("\n", " ")


def test_lines_and_their_tags():
    assert theme.lines("<b>a &lt;b&gt;</b><br><sub>c</sub><br>d") == [
        ("a <b>", "b"),
        ("c", "sub"),
        ("d", ""),
    ]
    assert theme.lines(None) == []


def test_no_two_lines_look_alike():
    looks = {(theme.colour(n), theme.dash(n)) for n in range(24)}
    assert len(looks) == 24
    points = {(theme.colour(n), theme.symbol(n)) for n in range(30)}
    assert len(points) == 30


def luminance(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_texts_can_be_read_on_white_and_on_black():
    assert contrast(theme.INK, "#ffffff") > 4.4
    assert contrast(theme.INK, "#111111") > 4.0


def test_every_figure_is_in_the_house_style():
    pytest.importorskip("plotly")
    figure = plots.speedup({"a": 1})
    layout = figure.layout.template.layout
    assert layout.paper_bgcolor == layout.plot_bgcolor == "rgba(0,0,0,0)"
    assert list(layout.colorway) == list(theme.PALETTE)
    assert layout.font.color == theme.INK


def test_public_names_are_in_order_and_documented():
    assert plots.__all__ == sorted(plots.__all__, key=lambda name: (not name[0].isupper(), name))
    for name in plots.__all__:
        told = getattr(plots, name).__doc__
        assert told
        assert not re.match(rf"{name}\(", told)
