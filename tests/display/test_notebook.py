"""In a notebook: a view that replaces itself, and results as HTML."""

import sys
import xml.etree.ElementTree as ET

import pytest
from extras import needs

import rungwise as rw
from rungwise import display
from rungwise.display import NotebookDisplay, notebook
from rungwise.errors import InvalidArgumentError, MissingExtraError

HOSTILE = "<script>alert('x')</script>\x1b[31m & \"quoted\""
SPACE = {"lr": rw.Float(0, 1), "text": [HOSTILE, "plain"], "<b>name</b>": rw.Int(1, 9)}


def train(config, run):
    for epoch in run.resources():
        if run.trial == 1:
            raise ValueError(HOSTILE)
        run.report(epoch, loss=config["lr"] + 1 / epoch)


def tune(**changes):
    return rw.tune(train, SPACE, metric="loss", max_resource=9, trials=6, retries=0,
                   backend=rw.Threads(1), **changes)  # fmt: skip


@pytest.fixture(scope="module")
def result():
    return tune(show="quiet")


def read(page):
    """The texts of a page that is well-formed; all that is in it."""
    return " ".join(ET.fromstring(page).itertext())  # noqa: S314 - our own text


def test_a_study_is_one_output_that_is_replaced(shell):
    capture = needs("notebook", "IPython.utils.capture").capture_output
    with capture() as seen:
        result = tune(show="notebook")
    others = seen.outputs[1:]
    assert others
    assert [output.update for output in others] == [True] * len(others)
    assert len({output.transient["display_id"] for output in seen.outputs}) == 1
    last = read(others[-1].data["text/html"])
    assert f"loss = {result.best.value:.6g}" in last
    assert result.why in last
    assert "6 of 6 trials" in last
    assert "ValueError: <script>alert('x')</script>" in last  # a text, and no tag
    assert seen.stderr == ""


def test_a_notebook_gets_it_by_itself(shell, monkeypatch):
    class ZMQInteractiveShell:
        """What the kernel of a notebook has."""

    monkeypatch.setattr("IPython.get_ipython", ZMQInteractiveShell)
    assert notebook.is_notebook()
    assert isinstance(display.choose("auto"), NotebookDisplay)
    assert isinstance(display.choose("live"), NotebookDisplay)
    assert isinstance(display.choose("lines"), display.LineDisplay)


def test_a_terminal_with_ipython_is_no_notebook(shell, capsys):
    assert not notebook.is_notebook()
    assert isinstance(display.choose("auto"), display.LineDisplay)


def test_elsewhere_it_says_what_is_missing(monkeypatch):
    needs("notebook")
    with pytest.raises(InvalidArgumentError, match="must be run in a notebook"):
        display.choose("notebook")
    monkeypatch.setitem(sys.modules, "IPython.display", None)
    with pytest.raises(MissingExtraError, match=r"rungwise\[notebook\]"):
        display.choose("notebook")


def test_live_without_a_terminal_says_that_it_writes_lines(monkeypatch, capsys):
    assert isinstance(display.choose("live"), display.LineDisplay)
    assert "the live view needs a terminal" in capsys.readouterr().err
    assert isinstance(display.choose("auto"), display.LineDisplay)
    assert capsys.readouterr().err == ""


def test_a_broken_notebook_does_not_harm_the_study(shell, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("the connection is gone")

    monkeypatch.setattr(needs("notebook", "IPython.display"), "display", broken)
    assert tune(show="notebook").ended


def test_results_are_tables_in_which_users_texts_are_texts(result):
    forms = {
        "result": result._repr_html_(),
        "best": f"<div>{result.best._repr_html_()}</div>",
        "leaderboard": result.leaderboard()._repr_html_(),
        "trial": result.view.trial(1)._repr_html_(),
    }
    for name, page in forms.items():
        assert "<script" not in page, name
        assert "<b>name" not in page, name
        assert "\x1b" not in page, name
        assert "<b>name</b>" in read(page), name
    assert f"value = {result.best.value:.6g}" in read(forms["best"])
    assert result.why in read(forms["result"])
    assert "ValueError" in read(forms["trial"])
    assert len(ET.fromstring(forms["leaderboard"]).findall("tbody/tr")) == 6  # noqa: S314


def test_a_leaderboard_is_still_a_list(result):
    rows = result.leaderboard(3)
    assert rows == list(rows) == result.leaderboard()[:3]
    assert isinstance(rows, list)


def test_a_study_without_a_value_has_a_page_too():
    def failing(config, run):
        raise ValueError("always")

    result = rw.tune(failing, {"x": rw.Float(0, 1)}, metric="loss", max_resource=3, trials=2,
                     retries=0, backend=rw.Threads(1), show="quiet")  # fmt: skip
    assert "No trial has reported a finite value." in read(result._repr_html_())
