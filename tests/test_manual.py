"""``rungwise manual``: what messages point to can be read wherever the package is installed."""

import re
from pathlib import Path

import pytest
from command_line import run_here

from rungwise.cli import manual
from rungwise.errors import InvalidArgumentError

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


def test_every_page_is_listed_with_its_heading():
    done = run_here(["manual"])
    assert done.returncode == 0
    for name in ("tuning", "howto/gpus", "start/install", "benchmarks/fashion-nas"):
        assert re.search(rf"^  {name} +\S", done.stdout, re.MULTILINE), name
    assert "results" not in done.stdout
    assert "Other pages" not in done.stdout
    headings = re.findall(r"^(\S.*)$", done.stdout, re.MULTILINE)
    assert (headings[0], headings[-1]) == ("Start", "Evidence")
    for name in manual.list_pages(DOCS):
        assert done.stdout.count(f"\n  {name} ") == 1, name


def test_the_examples_of_a_page_are_in_it():
    shown = run_here(["manual", "start/pytorch"]).stdout
    assert (ROOT / "examples" / "pytorch_digits.py").read_text(encoding="utf-8") in shown
    for name, path in manual.list_pages(DOCS).items():
        assert "<!-- file" not in manual.read_page(path, DOCS), name


def test_a_page_is_shown_and_its_links_are_commands():
    done = run_here(["manual", "howto/disks"])
    assert done.stdout.startswith("# Disks and checkpoints")
    text = run_here(["help", "gpus"]).stdout
    assert text.startswith("# GPUs and workers")
    assert "](../" not in run_here(["manual", "resume"]).stdout
    assert (
        "all options (`rungwise manual reference/options`)" in run_here(["manual", "resume"]).stdout
    )


def test_help_of_a_command_is_still_its_help():
    assert "Usage" in run_here(["help", "show"]).stdout
    assert "Usage" in run_here(["help"]).stdout


@pytest.mark.parametrize("given", ["gpus", "howto/gpus", "docs/howto/gpus.md", "GPUS"])
def test_a_page_is_found_by_what_people_would_write(given):
    assert manual.find_name(given, list(manual.list_pages(DOCS))) == "howto/gpus"


def test_a_page_that_is_not_there_is_answered_with_those_that_are():
    names = list(manual.list_pages(DOCS))
    with pytest.raises(
        InvalidArgumentError, match="coming-from/sklearn or integrations/sklearn or"
    ):
        manual.find_name("sklearn", names)
    with pytest.raises(InvalidArgumentError, match="did you mean scripts"):
        manual.find_name("script", names)


def test_pages_that_messages_name_are_there():
    names = list(manual.list_pages(DOCS))
    found = [
        (path.name, name)
        for path in (ROOT / "src").rglob("*.py")
        for name in re.findall(r"rungwise manual ([a-z/-]+)", path.read_text(encoding="utf-8"))
    ]
    assert found
    for _, name in found:
        assert manual.find_name(name, names)
    for path in (ROOT / "src").rglob("*.py"):
        text = re.sub(r'""".*?"""', "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        named = re.findall(r"see docs/\S+", text)
        assert not named, f"{path.name} names a file that is not in the package"
