"""Every exported scheduler, criterion, searcher, backend and display has a name, and is documented.

A new class is exported by its package and nothing else: these tests say what is missing then.
"""

import importlib
import inspect
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

import rungwise as rw
from rungwise import display, rankings, schedulers, searchers
from rungwise.cli.commands import load_command
from rungwise.errors import InvalidArgumentError, MissingExtraError
from rungwise.options.registry import (
    BACKENDS,
    CALLBACKS,
    DISPLAYS,
    FAMILIES,
    RANKINGS,
    SCHEDULERS,
    SEARCHERS,
    list_parameters,
)
from rungwise.searchers.checking import check_searcher

ROOT = Path(__file__).parents[1]
COMPOSED = {"Rush", "Initial", "AmongRows", "Callback"}
"""What is composed of other values, which only Python can write, and a base class."""

SAMPLE = {"epsilon": 0.5, "k": 2.0, "p": 0.5, "t": 0.5, "resource": 3, "patience": 2}
"""Values for what has no default."""

CLASSES = [(family, name) for family in FAMILIES.values() for name in family.classes()]


def class_of(family, name):
    return getattr(importlib.import_module(family.package), name)


@pytest.mark.parametrize(("family", "name"), CLASSES, ids=lambda one: getattr(one, "noun", one))
def test_every_exported_class_has_a_name_and_a_line_in_the_docs(family, name):
    words = family.classes()[name]
    assert words or name in COMPOSED, f"{name} has no name"
    page = (ROOT / family.page).read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("|")]
    mine = [row for row in rows if re.search(rf"`{name}\b", row)]
    assert mine, f"no table of {family.page} lists {name}"
    for word in words:
        assert any(f"`{word}`" in row for row in mine), f"{family.page} has no name of {name}"


@pytest.mark.parametrize(("family", "name"), CLASSES, ids=lambda one: getattr(one, "noun", one))
def test_the_name_builds_the_class(family, name):
    kind = class_of(family, name)
    for word in (*family.classes()[name], *([] if name in COMPOSED else [kind.__name__])):
        assert family.find(word) is kind
        assert family.find(word.upper()) is kind
        parameters = inspect.signature(kind).parameters
        needed = [parameters[one] for one in list_parameters(kind)]
        given = {one.name: SAMPLE[one.name] for one in needed if one.default is one.empty}
        if family is not DISPLAYS:
            assert type(family.make(word, given)) is kind


@pytest.mark.parametrize("name", SEARCHERS.classes())
def test_a_searcher_that_needs_an_extra_names_it(name, monkeypatch):
    kind = class_of(SEARCHERS, name)
    if not kind.needs or name in COMPOSED:
        return
    monkeypatch.setattr("rungwise.searchers.checking.is_installed", lambda module: False)
    with pytest.raises(MissingExtraError, match=kind.needs[-1]):
        check_searcher(SEARCHERS.build(SEARCHERS.classes()[name][0]), rw.Space.parse({"x": [1]}))


def test_nothing_that_is_exported_is_forgotten():
    """Everything of a family's package that is no member is known to be something else."""
    others = {
        SCHEDULERS: set(),
        RANKINGS: {"Ranking", "Standing", "Verdict"},
        SEARCHERS: {"History", "Observed", "Searcher"},
        BACKENDS: set(),
        DISPLAYS: {"Display", "Snapshot", "WorkerView", "choose"},
        CALLBACKS: {
            *("CeilingRaised", "JobLeft", "JobStarted"),
            *("ReportEvent", "StudyBegan", "StudyEnded"),
        },
    }
    for family, expected in others.items():
        exported = set(importlib.import_module(family.package).__all__)
        assert exported - set(family.classes()) == expected


def test_every_display_is_exported():
    folder = Path(display.__file__).parent
    text = "".join(path.read_text(encoding="utf-8") for path in folder.glob("*.py"))
    assert set(re.findall(r"^class (\w+Display)\b", text, re.MULTILINE)) == set(DISPLAYS.classes())


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_no_name_stands_for_two_classes(family):
    words = family.words()
    assert len(words) == len(set(words))


def test_the_names_of_version_0_1_0_are_still_names():
    assert set(RANKINGS.words()) >= {
        "noise",
        "leader",
        "exact",
        "soft",
        "sigma",
        "mean",
        "median",
        "rbo",
        "rrr",
        "arrr",
    }
    assert set(SCHEDULERS.words()) >= {
        "pasha",
        "asha",
        "halving",
        "hyperband",
        "async-hyperband",
        "fixed",
        "random",
    }
    assert set(SEARCHERS.words()) >= {"random", "sobol", "grid", "kde", "tpe", "gp", "optuna"}
    assert set(DISPLAYS.words()) >= {"auto", "live", "lines", "json", "quiet"}
    assert SEARCHERS.find("tpe") is searchers.TPE
    assert SEARCHERS.find("kde") is searchers.KDE
    assert SCHEDULERS.find("SuccessiveHalving") is schedulers.SuccessiveHalving


def test_the_default_is_named_first():
    assert [family.words()[0] for family in FAMILIES.values()] == [
        *("pasha", "noise", "random", "local", "auto", "csv"),
    ]


@pytest.mark.parametrize(
    ("command", "flag", "family"),
    [
        ("tune", "scheduler", SCHEDULERS),
        ("tune", "ranking", RANKINGS),
        ("tune", "searcher", SEARCHERS),
        ("tune", "backend", BACKENDS),
        ("tune", "show", DISPLAYS),
        ("tune", "track", CALLBACKS),
        ("resume", "track", CALLBACKS),
        ("retrain", "track", CALLBACKS),
        ("resume", "backend", BACKENDS),
        ("simulate", "scheduler", SCHEDULERS),
        ("simulate", "ranking", RANKINGS),
    ],
)
def test_the_command_line_lists_the_names(command, flag, family):
    parameters = {one.name: one for one in load_command(command).params}
    assert f"Names: {', '.join(family.words())}." in parameters[flag].help


# -- the rule ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class KendallTau(rankings.Exact):
    t: float = 0.5


@dataclass(frozen=True)
class Tau(KendallTau):
    words: ClassVar = ("kendall", "tau")


@dataclass(frozen=True)
class Mine(Tau):
    """Its name is its own, whatever its base is called."""


def test_a_class_that_is_exported_has_a_name_at_once(monkeypatch):
    for kind in (KendallTau, Tau, Mine):
        monkeypatch.setattr(rankings, kind.__name__, kind, raising=False)
    monkeypatch.setattr(rankings, "TieRank", KendallTau, raising=False)
    more = ["KendallTau", "Tau", "Mine", "TieRank"]
    monkeypatch.setattr(rankings, "__all__", [*rankings.__all__, *more])
    assert RANKINGS.build("kendall-tau:0.25") == KendallTau(0.25)
    assert RANKINGS.build("KendallTau:t=0.25") == KendallTau(0.25)
    assert type(RANKINGS.build("kendall")) is type(RANKINGS.build("tau")) is Tau
    assert type(RANKINGS.build("mine")) is Mine
    assert RANKINGS.build("tie-rank") == KendallTau()
    with pytest.raises(InvalidArgumentError, match="did you mean 'kendall-tau'"):
        RANKINGS.build("kendal-tau")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("noize", "ranking is 'noize', but did you mean 'noise'? its name must be one of noise"),
        ("xyzzy", "ranking is 'xyzzy', but its name must be one of noise, arrr, exact"),
        ("soft", "ranking is 'soft', but it must be soft:EPSILON"),
        ("rbo:0.5,0.5,1", "but the options of rbo are p, t"),
        ("rbo:q=1", "but the options of rbo are p, t"),
        ("soft:epsilno=1", "did you mean 'epsilon'? the options of soft are epsilon"),
        ("soft:much", "epsilon of ranking is 'much'"),
        ("soft:1,epsilon=2", "'epsilon' is given twice"),
        ("exact:1", "exact has no options"),
        ("soft:,", "an option is missing before or after a comma"),
    ],
)
def test_what_is_wrong_with_a_text_is_said(text, message):
    with pytest.raises(InvalidArgumentError) as refused:
        RANKINGS.build(text)
    assert message in str(refused.value)


def test_what_is_composed_is_not_named():
    for family, word in ((SCHEDULERS, "rush"), (SEARCHERS, "initial"), (SEARCHERS, "AmongRows")):
        with pytest.raises(InvalidArgumentError, match="its name must be one of"):
            family.find(word)


def test_a_name_loads_no_more_than_its_class():
    """Most studies show no live view, and rich takes long to import."""
    code = (
        "import sys\nfrom rungwise.options.registry import DISPLAYS, SCHEDULERS\n"
        "assert not any(name.startswith('rungwise.sch') for name in sys.modules)\n"
        "from rungwise.display import choose\n"
        "kinds = [type(choose(show)).__name__ for show in ('auto', 'json', 'lines', 'quiet')]\n"
        "assert 'rich' not in sys.modules\nprint(kinds)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "['LineDisplay', 'EventDisplay', 'LineDisplay', 'QuietDisplay']\n"
