"""Commands are listed without being loaded, and each loads only what it needs."""

import inspect
import subprocess
import sys

import pytest
from command_line import run_here, unmeasured

import rungwise as rw
from rungwise.cli.commands import load_command
from rungwise.cli.entries import COMMANDS

LABORATORY = {"rungwise.lab", "rungwise.plots", "rungwise.benchmarks", "rungwise.simulation"}
STUDIES_ONLY = {"rungwise.specification", "yaml"}
HEAVY = {"scipy", "vl_convert", "altair", "torch", "optuna", "pandas", "ConfigSpace"}
TYPER = {"typer", "pydantic", "pydantic_core"}
NO_COMMANDS = {f"rungwise.cli.{entry.place.partition(':')[0]}" for entry in COMMANDS.values()}


def run(*arguments, code=""):
    return subprocess.run(
        [sys.executable, *(("-c", code) if code else ("-m", "rungwise")), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env=unmeasured(),
    )


def list_loaded(*arguments):
    """The modules that a fresh process has loaded when the command ends."""
    code = (
        "import atexit, sys\nfrom rungwise.cli import main\n"
        "atexit.register(lambda: print(*sys.modules, file=sys.stderr))\nmain()"
    )
    done = run(*arguments, code=code)
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split())


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    def train(config, run):
        for epoch in run.resources():
            run.report(epoch, error=config["x"] / epoch)

    path = tmp_path_factory.mktemp("studies") / "small.db"
    space = {"x": rw.Float(0, 1), "act": ["relu", "tanh"]}
    options = {"metric": "error", "goal": "min", "max_resource": 9, "trials": 6, "show": "quiet"}
    rw.tune(train, space, backend=rw.Threads(1), study=path, **options)
    return path


def test_the_version_loads_nothing():
    loaded = list_loaded("--version")
    assert not loaded & {*HEAVY, "numpy", "typer", "rich", "pydantic"}
    assert {name for name in loaded if name.startswith("rungwise.")} <= {
        *("rungwise._version", "rungwise.cli", "rungwise.cli.main")
    }


def test_the_help_loads_no_command():
    loaded = list_loaded("--help")
    assert not loaded & (HEAVY | LABORATORY | STUDIES_ONLY | NO_COMMANDS | {"numpy", "sqlite3"})


def test_show_loads_what_it_shows_and_nothing_else(study):
    loaded = list_loaded("show", study)
    assert "rungwise.cli.show" in loaded
    others = (NO_COMMANDS - {"rungwise.cli.show"}) | {"rungwise.session.session"}
    others |= {"rungwise.display", "rungwise.backends.ray"}  # the study was run on another backend
    assert not loaded & (HEAVY | LABORATORY | STUDIES_ONLY | others | {"rich.progress"} | TYPER)
    assert "numpy" not in loaded, "it has a snapshot, from which nothing is computed"


def test_listing_loads_no_more(study):
    loaded = list_loaded("list", study.parent)
    others = (NO_COMMANDS - {"rungwise.cli.listing"}) | {"rungwise.session.session"}
    assert not loaded & (HEAVY | LABORATORY | STUDIES_ONLY | others | TYPER | {"numpy"})


@pytest.mark.parametrize("name", COMMANDS)
def test_the_line_in_the_list_is_that_of_the_command(name):
    written = inspect.cleandoc(load_command(name).help).partition("\n\n")[0]
    assert COMMANDS[name].help == " ".join(written.split())


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_called_by_its_name(name):
    assert load_command(name).name == name
    shown = run_here([name, "--help"]).stdout
    assert f"rungwise {name} " in " ".join(shown.split())


def test_the_help_lists_every_command_in_order():
    text = " ".join(run("--help").stdout.replace("│", " ").split())
    places = [text.index(f"{name} {entry.help}") for name, entry in COMMANDS.items()]
    assert places == sorted(places)


def test_an_unknown_command_gets_a_suggestion():
    done = run("tnue")
    assert done.returncode == 2
    assert "No such command 'tnue'. Did you mean 'tune'?" in " ".join(done.stderr.split())
    assert "No such command 'xyzzy'" in run("xyzzy").stderr


@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS), ["benchmark", "list"]])
def test_flags_do_not_look_as_if_they_took_a_value(command):
    text = run_here([*command, "--help"]).stdout
    assert "--help" in text
    assert "<bool>" not in text
    assert "BOOL" not in text


def test_garbage_is_collected_while_a_command_runs(study):
    code = (
        "import gc\nfrom rungwise.cli import main, show\n"
        "found = []\nload = show.load\n"
        "show.load = lambda path: found.append(gc.isenabled()) or load(path)\n"
        "try:\n    main()\nfinally:\n    print(found, gc.isenabled())"
    )
    done = run("show", study, code=code)
    assert done.stdout.endswith("[True] True\n"), done.stderr
