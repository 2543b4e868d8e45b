"""What the documentation says is true: its examples run, its pictures are current."""

import doctest
import importlib
import importlib.util
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import extras
import pytest

import rungwise
from rungwise.cli.commands import COMMANDS, load_command

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "reference").glob("*.md")),
]
MODULES = [
    module.name
    for module in pkgutil.walk_packages(rungwise.__path__, "rungwise.")
    if not module.name.startswith("rungwise.cli")
]


def blocks(page, language):
    return re.findall(
        rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_examples_run(page, capsys):
    for code in blocks(page, "python"):
        with extras.skip_where_missing():
            exec(compile(code, str(page), "exec"), {"__name__": "example"})  # noqa: S102


EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
DISTRIBUTIONS = {"sklearn": "scikit-learn", "vl_convert": "vl-convert-python"}
"""Packages that are installed under another name than they are imported."""


def needs_of(path):
    """The libraries in an example's line ``# needs lightgbm, sklearn``; it is skipped without."""
    found = re.search(r"^# needs (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return found[1].split(", ") if found else []


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.name)
def test_example_scripts_run(path):
    for name in needs_of(path):
        extras.needs(DISTRIBUTIONS.get(name, name))
    done = subprocess.run(
        [sys.executable, str(path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=path.parent,
        timeout=300,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "PASHA" in done.stdout or "The study ended" in done.stdout


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.name)
def test_examples_need_only_what_they_import(path):
    """A library that is misspelt would skip its example for ever."""
    text = path.read_text(encoding="utf-8")
    for name in needs_of(path):
        assert re.search(rf"^(import|from) {re.escape(name)}\b", text, re.MULTILINE)


def test_there_are_examples():
    assert sum(len(blocks(page, "python")) for page in PAGES) >= 3


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_hold(name):
    with extras.skip_where_missing():
        module = importlib.import_module(name)
    failed, _ = doctest.testmod(module)
    assert failed == 0


def script(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_picture_shows_what_the_library_does():
    extras.needs("vl-convert-python")  # in the version that it was drawn with
    drawn = script("draw_climb")
    assert drawn.PICTURE.read_text(encoding="utf-8") == drawn.draw(), "run docs/draw_climb.py"


def test_the_page_of_states_is_the_table_of_states():
    drawn = script("draw_states")
    assert drawn.PAGE.read_text(encoding="utf-8") == drawn.draw(), "run docs/draw_states.py"


def test_options_are_documented_as_they_are():
    assert script("options").find_stale() == []


def test_links_between_files_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} points to {target}"


def test_every_command_is_documented_and_helps():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for name, command in {name: load_command(name) for name in COMMANDS}.items():
        assert f"rungwise {name}" in readme
        assert command.help
        for parameter in command.params:
            assert parameter.help, f"rungwise {name}: {parameter.name} has no help"


def test_the_version_is_in_the_changelog_and_the_citation():
    version = rungwise.__version__
    assert f"## [{version}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"version: {version}" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_no_page_has_holes_left_to_fill():
    for page in [*PAGES, ROOT / "CHANGELOG.md"]:
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"\b[A-Z]+_[A-Z_]+\b(?!`)", re.sub(r"`[^`]*`|```.*?```", "", text)), (
            page
        )
        assert "TODO" not in text
