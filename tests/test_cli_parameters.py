"""Commands in their plain form are run without typer, and do as with it."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import run_here, run_process, started

import rungwise as rw
from rungwise.cli.arguments import with_typer
from rungwise.cli.commands import Command, load_command, make_app
from rungwise.cli.entries import COMMANDS, import_command
from rungwise.cli.parameters import find_plain_call, read_plain

PLAIN = [name for name, entry in COMMANDS.items() if entry.plain]

CALLS = {
    "show": [
        ["a.db"],
        ["a.db", "--json"],
        ["--json", "a.db"],
        ["--top", "3", "a.db"],
        ["a.db", "--top", "003"],
        ["a.db", "--trial", "0", "--json"],
        ["with space/ü.db", "--top", "999999999"],
    ],
    "list": [[], ["."], ["folder", "--json"], ["--json"]],
}
"""The plain form."""

OTHERS = {
    "show": [
        [],
        [""],
        ["--top", "3"],
        ["a.db", "b.db"],
        ["a.db", "--top"],
        ["a.db", "--top", "0"],
        ["a.db", "--top", "-1"],
        ["a.db", "--top", "x"],
        ["a.db", "--top", "٣"],
        ["a.db", "--top", "3" * 30],
        ["a.db", "--top=3"],
        ["a.db", "--top", "3", "--top", "4"],
        ["a.db", "--json", "--json"],
        ["a.db", "--jso"],
        ["--", "a.db"],
        ["-"],
        ["a\tb.db"],
    ],
    "list": [["a", "b"], ["--json=1"], ["-x"]],
}
"""What is left to typer, right or wrong."""


def parse_with_typer(name, words):
    """What typer makes of the words."""
    seen = {}

    def keep(**given):
        seen.update(given)

    function = with_typer(import_command(name))
    keep.__signature__, keep.__annotations__ = function.__signature__, function.__annotations__
    app = make_app()
    app.command(name, cls=Command)(keep)
    app(words, standalone_mode=False)
    return seen


@pytest.mark.parametrize(
    ("name", "words"), [(name, words) for name, calls in CALLS.items() for words in calls]
)
def test_the_plain_form_is_read_as_typer_reads_it(name, words):
    given = read_plain(import_command(name), words)
    assert given is not None
    with_defaults = parse_with_typer(name, words)
    assert given.items() <= with_defaults.items()
    defaults = {one.name: one.default for one in load_command(name).params}
    others = set(with_defaults) - set(given)
    assert all(with_defaults[other] == defaults[other] for other in others)


@pytest.mark.parametrize(
    ("name", "words"), [(name, words) for name, calls in OTHERS.items() for words in calls]
)
def test_every_other_form_is_left_to_typer(name, words):
    assert read_plain(import_command(name), words) is None


def test_help_and_other_commands_are_left_to_typer():
    calls = ([], ["show", "a.db", "--help"], ["list", "-h"], ["--help"], ["tune"], ["nothing"])
    assert [find_plain_call(words) for words in calls] == [None] * 6
    assert find_plain_call(["show", "a.db"]) is not None


def test_there_are_calls_of_every_plain_command():
    assert PLAIN == list(CALLS) == list(OTHERS)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    def train(config, run):
        for epoch in run.resources():
            run.report(epoch, error=config["x"] / epoch)

    path = tmp_path_factory.mktemp("studies") / "small.db"
    options = {"metric": "error", "goal": "min", "max_resource": 9, "trials": 6, "show": "quiet"}
    rw.tune(train, {"x": rw.Float(0, 1)}, backend=rw.Threads(1), study=path, **options)
    return path


@pytest.mark.parametrize("words", [[], ["--json"], ["--top", "2"], ["--trial", "1"]])
def test_both_ways_print_the_same(study, words):
    plain = run_here(["show", study, *words])
    with_equals = run_here(["show", *words, "--", study])  # which typer reads
    assert plain == with_equals
    assert plain.returncode == 0
    assert plain.stdout


def test_mistakes_are_reported_in_the_same_words(study):
    for words in (["show", "none.db"], ["show", study, "--trial", "999"], ["list", "nowhere"]):
        plain = run_here(words)
        assert plain == run_here([words[0], *words[2:], "--", words[1]])
        assert plain.returncode == 2
        assert plain.stderr.startswith("rungwise: ")


def test_a_reader_that_has_had_enough_ends_the_command_quietly(study):
    command = [sys.executable, "-m", "rungwise", "show", study, "--json"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with started(command, **pipes) as process:
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(60) == 1


def test_ctrl_c_ends_the_command_with_its_code(tmp_path):
    (tmp_path / "a.db").touch()
    code = (
        "import sys, time\nfrom rungwise.cli import listing, main\n"
        "def wait(path):\n    print('here', flush=True); time.sleep(60)\n"
        "listing.is_study = wait\nmain()"
    )
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with started([sys.executable, "-c", code, "list", tmp_path], **pipes) as process:
        assert process.stdout.readline() == "here\n"
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert process.stderr.read() == ""


def test_json_is_one_line_in_a_process_of_its_own(study):
    done = run_process(["list", study.parent, "--json"])
    assert [row["study"] for row in json.loads(done.stdout)["studies"]] == [Path(study).name]
    assert done.stdout.count("\n") == 1
