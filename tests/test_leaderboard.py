"""The leaderboard at any width: no number is broken, and nothing that ranks is cut."""

import io

import pytest
from rich.console import Console

import rungwise as rw
from rungwise.cli.console import out
from rungwise.cli.leaderboard import print_leaderboard
from rungwise.cli.summary import print_rungs
from rungwise.formatting import format_value

SPACES = {
    "one": {"lr": rw.Float(0, 1)},
    "many": {
        "lr": rw.Float(0, 1),
        **{f"hyperparameter_number_{n}": rw.Float(1e-6, 1, log=True) for n in range(12)},
        "act": ["a text with spaces [bold] in it", "relu"],
        "fixed": "the same",
    },
}


@pytest.fixture(scope="module", params=SPACES)
def result(request):
    def train(config, run):
        for epoch in run.resources():
            run.report(epoch, validation_accuracy=config["lr"] / 3e4 + 0.1 * epoch)

    return rw.tune(
        train,
        SPACES[request.param],
        metric="validation_accuracy",
        max_resource=9,
        trials=12,
        scheduler="asha",
        backend=rw.Threads(1),
        show="quiet",
    )


def draw(result, width, top=10):
    file = io.StringIO()
    console = Console(file=file, width=width, highlight=False)
    print_leaderboard(console, result, top)
    print_rungs(console, result)
    return file.getvalue()


@pytest.mark.parametrize("width", [1, 10, 20, 30, 40, 60, 80, 100, 120, 200, 400])
def test_no_number_is_broken_and_nothing_that_ranks_is_cut(result, width):
    drawn = draw(result, width)
    words = drawn.replace("|", " ").replace("│", " ").replace("┃", " ").split()
    assert "…" not in drawn
    assert "validation_accuracy" in drawn
    for row in result.leaderboard():
        assert format_value(row.value, 6) in words
        assert row.state in words
        for name, value in row.config.items():
            if isinstance(value, float):
                shown = format_value(value)
                assert shown in words or f"{name}={shown}" in words
    longest = max(map(len, words))
    text = "a text with spaces [bold] in it"
    for line in drawn.splitlines():
        assert len(line) <= max(width, longest + 5) or text in line


def test_parameters_that_are_the_same_everywhere_are_listed_once(result):
    drawn = draw(result, 80)
    assert drawn.count("the same in all: fixed=the same") == ("fixed" in result.best.config)
    assert "lr" in draw(result, 80, top=1)


def test_parameters_have_columns_where_they_fit(result):
    drawn = draw(result, 600)
    assert drawn.count(" lr ") == 1
    assert "lr=" not in drawn


@pytest.mark.parametrize(("columns", "width"), [("80", 80), ("", 120), ("0", 120), ("wide", 120)])
def test_columns_is_honoured_where_there_is_no_terminal(monkeypatch, columns, width):
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setattr("sys.stdout", io.StringIO())
    assert out(narrow=True).width == width
    assert out().width == 120  # tables that are not made for less
