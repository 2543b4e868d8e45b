"""What the documentation says is true: its examples run, its pictures are current."""

import ast
import contextlib
import doctest
import importlib
import importlib.util
import pkgutil
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import extras
import pytest

import rungwise
from rungwise.cli.commands import load_command
from rungwise.cli.entries import COMMANDS

ROOT = Path(__file__).parents[1]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
PAGES.remove(ROOT / "CHANGELOG.md")
MODULES = [
    module.name
    for module in pkgutil.walk_packages(rungwise.__path__, "rungwise.")
    if not module.name.startswith("rungwise.cli")
]


def blocks(page, language):
    return re.findall(
        rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )


DISTRIBUTIONS = {"sklearn": "scikit-learn", "vl_convert": "vl-convert-python"}
"""Packages that are installed under another name than they are imported."""

OUTPUT = re.compile(
    r"^```python\n(.*?)^```\s+It prints:\s+^```text\n(.*?)^```", re.MULTILINE | re.DOTALL
)
"""An example and what it prints."""

WITH_EXAMPLES = [page for page in PAGES if blocks(page, "python")]


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=lambda page: str(page.relative_to(ROOT)))
def test_python_examples_run(page, capsys):
    shown = dict(OUTPUT.findall(page.read_text(encoding="utf-8")))
    lacking = set()
    for code in blocks(page, "python"):
        names = sorted(imported_by(code) & LIBRARIES)
        missing = {name for name in names if extras.missing(DISTRIBUTIONS.get(name, name))}
        if missing or imported_by(code) & LARGE:  # see below
            lacking |= missing
            continue
        capsys.readouterr()
        with extras.skip_where_missing():
            exec(compile(code, str(page), "exec"), {"__name__": "example"})  # noqa: S102
        if code in shown:
            assert capsys.readouterr().out == shown[code]
    for name in sorted(lacking):
        extras.needs(DISTRIBUTIONS.get(name, name))


LIBRARIES = {"torch", "sklearn", "optuna", "pandas", "lightgbm", "xgboost"}
LARGE = {"lightning", "transformers", "keras"}
"""Libraries that examples import; those that are too large for ``make test``."""


@pytest.mark.integrations
@pytest.mark.filterwarnings("ignore")  # of theirs
@pytest.mark.parametrize("library", sorted(LARGE))
def test_examples_with_large_libraries_run(library, tmp_path, monkeypatch):
    extras.needs(library)
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    monkeypatch.chdir(tmp_path)
    codes = [code for page in WITH_EXAMPLES for code in blocks(page, "python")]
    found = [code for code in codes if library in imported_by(code)]
    assert found
    for code in found:
        exec(compile(code, library, "exec"), {"__name__": "example"})  # noqa: S102


def imported_by(code):
    """The packages that an example imports."""
    found = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(str(node.module).partition(".")[0])
    return found


def test_the_first_example_shows_what_it_prints():
    for page in (ROOT / "README.md", ROOT / "docs" / "start" / "first-study.md"):
        assert len(OUTPUT.findall(page.read_text(encoding="utf-8"))) == 1


EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


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
    assert "PASHA" in done.stdout or "Done: " in done.stdout


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


def script(name, folder="."):
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / folder / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def site(name):
    return script(name, "_site")


def test_the_reference_has_every_public_name():
    pages = site("pages_from_code")
    listed = [name for page in pages.PACKAGES for name in pages.list_names(page)]
    packages = ("benchmarks", "callbacks", "plots", "rankings", "searchers")
    wanted = {f"rungwise.{name}" for name in rungwise.__all__ if not name.startswith("__")}
    assert wanted - {f"rungwise.{name}" for name in packages} <= set(listed)
    assert len(listed) == len(set(listed))


def test_links_of_the_site_lead_to_its_pages():
    hooks = site("hooks")
    text = "[a](docs/tuning.md#disk) [b](examples/plots.py) [c](LICENSE) ![d](docs/climb.svg)"
    assert hooks.redirect_links(text, "index.md") == (
        "[a](tuning.md#disk) [b](files/examples/plots_py.md) [c](files/LICENSE.md) ![d](climb.svg)"
    )
    text = "[a](../tuning.md) [b](../../examples/plots.py) [c](../../README.md) [d](#here)"
    assert hooks.redirect_links(text, "howto/gpus.md") == (
        "[a](../tuning.md) [b](../files/examples/plots_py.md) [c](../index.md) [d](#here)"
    )
    assert hooks.redirect_links("```\n[a](README.md)\n```", "index.md").count("README.md") == 1


def test_the_site_shows_every_page_in_its_navigation():
    config = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in (ROOT / "docs").rglob("*.md"):
        name = page.relative_to(ROOT / "docs").as_posix()
        if not name.startswith(("results/", "benchmarks/")):
            assert f": {name}\n" in config, f"add {name} to nav in mkdocs.yml"


def test_the_picture_shows_what_the_library_does():
    extras.needs("vl-convert-python")  # in the version that it was drawn with
    drawn = script("draw_climb")
    assert drawn.PICTURE.read_text(encoding="utf-8") == drawn.draw(), "run docs/draw_climb.py"


def test_the_page_of_states_is_the_table_of_states():
    drawn = script("draw_states")
    assert drawn.PAGE.read_text(encoding="utf-8") == drawn.draw(), "run docs/draw_states.py"
    assert drawn.PICTURE.read_text(encoding="utf-8") == drawn.draw_picture()


def test_options_are_documented_as_they_are():
    assert script("options").find_stale() == []


def test_links_between_files_lead_somewhere():
    for page in PAGES:
        text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text):
            assert (page.parent / target).exists(), f"{page.name} points to {target}"


def test_the_tables_of_a_study_file_are_described(tmp_path):
    page = (ROOT / "docs" / "reference" / "study-file.md").read_text(encoding="utf-8")
    path = tmp_path / "study.db"
    with rungwise.SqliteLog(path) as log:
        rungwise.simulate(rungwise.power_laws(9, 9), "pasha", trials=9, log=log)
    with contextlib.closing(sqlite3.connect(path)) as database:
        (version,) = database.execute("PRAGMA user_version").fetchone()
        assert f"is the number of the schema: {version} now" in page
        tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (table,) in tables:
            names = [f"`{row[1]}`" for row in database.execute(f"PRAGMA table_info({table})")]
            (line,) = re.findall(rf"^\| `{table}` \| (.*?) \|", page, re.MULTILINE)
            assert sorted(line.split(", ")) == sorted(names), table


def test_every_error_and_warning_is_on_the_page_of_errors():
    page = (ROOT / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")
    kinds = [
        name
        for name in rungwise.errors.__dict__
        if name.endswith(("Error", "Warning")) or name == "StudyInterrupted"
    ]
    missing = [name for name in kinds if f"| `{name}` |" not in page]
    assert missing == ["RungwiseError"], "the base of all others has no row"


@pytest.mark.parametrize("page", ["README.md", "docs/start/install.md"])
def test_every_extra_is_listed(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    listed = re.findall(r"^\| ((?:`[a-z-]+`(?:, )?)+) \|", text, re.MULTILINE)
    named = {name for cell in listed for name in re.findall(r"`([a-z-]+)`", cell)}
    assert named == set(extras.project()["optional-dependencies"]) - {"dev", "integrations-dev"}


def test_the_readme_is_read_in_three_minutes():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    assert len(re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", prose).split()) <= 650


def test_the_badges_say_what_the_project_says():
    for path, text in script("draw_badges").list_files().items():
        assert path.read_text(encoding="utf-8") == text, "run docs/draw_badges.py"


def test_every_command_is_documented_and_helps():
    page = site("pages_from_code").write_command_page()
    for name, command in {name: load_command(name) for name in COMMANDS}.items():
        assert f"`rungwise {name}`" in page
        assert command.help
        for parameter in command.params:
            for option in () if parameter.name == "help" else parameter.opts:
                assert not option.startswith("--") or f"`{option}`" in page
        for parameter in command.params:
            assert parameter.help, f"rungwise {name}: {parameter.name} has no help"


def test_the_version_is_in_the_changelog_and_the_citation():
    version = rungwise.__version__
    assert f"## [{version}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"version: {version}" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_no_page_has_holes_left_to_fill():
    for page in [*PAGES, ROOT / "CHANGELOG.md"]:
        text = page.read_text(encoding="utf-8")
        prose = re.sub(r"```.*?```|`[^`]*`|\]\([^)]*\)", "", text, flags=re.DOTALL)
        assert not re.search(r"\b[A-Z]+_[A-Z_]+\b(?!`)", prose), page
        assert "TODO" not in text
