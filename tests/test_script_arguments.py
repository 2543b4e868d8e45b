"""What a script is told, and how it is started."""

import json
import pickle
import sys
from dataclasses import asdict
from pathlib import Path

import pytest
from script_stand_ins import (
    EXAMPLES,
    FakeRun,
    python,
)

import rungwise as rw
from rungwise.errors import InvalidArgumentError
from rungwise.scripts import Script, find_script

# -- what the script is told -----------------------------------------------------------------

DUMP = """
told = {name: value for name, value in os.environ.items() if name.startswith("RUNGWISE_")}
Path(told["RUNGWISE_REPORTS"]).stat()
report(3, told=told, argv=sys.argv[1:], cwd=os.getcwd(), extra=os.environ.get("EXTRA"))
"""


def told(run, config, **options):
    python(DUMP, **options)(config, run)
    return run.reports()[0][1]


def test_the_environment_of_a_first_leg(tmp_path):
    config = {"lr": 1e-05, "act": "relu", "deep": True, "drop": None}
    found = told(FakeRun(tmp_path), config)["told"]
    assert json.loads(found.pop("RUNGWISE_CONFIG")) == config
    assert Path(found.pop("RUNGWISE_REPORTS")).is_absolute()
    assert Path(found.pop("RUNGWISE_SAVE")).is_relative_to(tmp_path)
    assert found == {
        "RUNGWISE_LATEST": "",
        "RUNGWISE_START": "0",
        "RUNGWISE_UNTIL": "3",
        "RUNGWISE_MAX": "9",
        "RUNGWISE_TRIAL": "7",
        "RUNGWISE_PHASE": "tune",
        "RUNGWISE_SEED": "11",
    }


def test_the_environment_of_a_later_leg(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = FakeRun(
        Path("here"), start=1.5, until=2.0**53, latest=Path("last"), max_resource=None, enough=3
    )
    found = told(run, {})["told"]
    assert found["RUNGWISE_LATEST"] == str(tmp_path / "last")
    assert (found["RUNGWISE_START"], found["RUNGWISE_UNTIL"]) == ("1.5", "")
    assert found["RUNGWISE_MAX"] == ""


def test_flags_carry_the_configuration(tmp_path):
    config = {"lr": -1e-05, "act": "re lu", "deep": True, "drop": None, "n": 3}
    assert told(FakeRun(tmp_path), config)["argv"] == (
        ["--act", "re lu", "--deep", "true", "--drop", "null", "--lr=-1e-05", "--n", "3"]
    )


def test_without_flags_only_the_environment_does(tmp_path):
    assert told(FakeRun(tmp_path), {"lr": 1}, flags=False)["argv"] == []


def test_folder_and_environment(tmp_path):
    (tmp_path / "work").mkdir()
    found = told(
        FakeRun(tmp_path / "run"), {}, folder=tmp_path / "work", environment={"EXTRA": "yes"}
    )
    assert (found["cwd"], found["extra"]) == (str(tmp_path / "work"), "yes")


def test_placeholders_take_the_place_of_flags():
    script = Script(("fit", "{lr}", "--x={act}-{lr}", "{{lr}}", "}}{{"))
    assert script.placeholders == ("lr", "act", "lr")
    assert script.arguments({"lr": 0.5, "act": "relu", "n": 1}) == (
        ("fit", "0.5", "--x=relu-0.5", "{lr}", "}{")
    )


def test_a_placeholder_without_a_value_is_an_error():
    with pytest.raises(InvalidArgumentError, match=r"\{lr\}.*'act'"):
        Script(("fit", "{lr}")).arguments({"act": "relu"})


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (("sh", "{lr}", "{rate}"), r"'\{rate\}', but the space has only 'act', 'lr', 'm'"),
        (("sh", "{m}"), r"\{m\}.*may have no value"),
        (("nosuchprogram",), "no such program"),
        (("./nosuchprogram", "{lr}"), "no such program"),
    ],
)
def test_check_refuses_what_cannot_work(command, told):
    number = {"type": "float", "low": 0, "high": 1, "log": False}
    space = rw.Space.from_json(
        {
            "version": 1,
            "parameters": [
                {**number, "name": "lr"},
                {"name": "act", "type": "choice", "options": ["a", "b"], "ordered": False},
                {**number, "name": "m", "when": {"name": "act", "op": "==", "value": "a"}},
            ],
            "forbidden": [],
        }
    )
    Script(("sh", "{lr}", "{act}", "{{m}}")).check(space)
    Script(("{act}",)).check(space)  # which program that is cannot be known
    with pytest.raises(InvalidArgumentError, match=told):
        Script(command).check(space)
    with pytest.raises(InvalidArgumentError, match="no such folder"):
        Script(("sh",), folder="/no/where").check(space)


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"command": "sh train.sh"}, "command"),
        ({"command": ()}, "command"),
        ({"command": ("",)}, "command"),
        ({"command": ("sh", 1)}, "command"),
        ({"command": ("sh", "{")}, "command"),
        ({"command": ("sh", "{}")}, "command"),
        ({"command": ("sh", "a}b")}, "command"),
        ({"command": ("sh", "a\0b")}, "command"),
        ({"flags": 1}, "flags"),
        ({"folder": 1}, "folder"),
        ({"environment": ["A=1"]}, "environment"),
        ({"environment": {"A=B": "1"}}, "environment"),
        ({"environment": {"RUNGWISE_SAVE": "x"}}, "environment"),
        ({"environment": {"A": 1}}, "environment['A']"),
        ({"saving_time": -1}, "saving_time"),
    ],
)
def test_bad_arguments_are_refused(options, argument):
    with pytest.raises(InvalidArgumentError) as caught:
        Script(**{"command": ("sh",), **options})
    assert caught.value.argument == argument


def test_a_script_can_be_sent_and_written_down():
    script = Script(["sh", "{lr}"], flags=False, folder="/some/where", environment={"A": "1"})
    assert pickle.loads(pickle.dumps(script)) == script  # noqa: S301 - our own
    assert Script(**json.loads(json.dumps(asdict(script)))) == script
    assert hash(script) == hash(Script(["sh", "{lr}"], flags=False, folder="/some/where"))
    assert str(Script(("sh", "a b" * 100))).startswith("sh 'a ba ba b")
    assert len(str(Script(("sh", "a b" * 100)))) == 120


# -- files -----------------------------------------------------------------------------------


def test_files_are_run_as_their_names_say(tmp_path):
    def made(name, text="", mode=0o644):
        path = tmp_path / name
        path.write_text(text)
        path.chmod(mode)
        return path, find_script(path).command[:-1]

    assert made("train.py")[1] == (sys.executable,)
    assert made("train.sh")[1] == ("sh",)
    assert made("run.sh", "#!/bin/bash\n", 0o755)[1] == ()
    assert made("bare.sh", "echo\n", 0o755)[1] == ("sh",)
    assert made("train.pl", "#! /usr/bin/env  perl -w\n")[1] == ("/usr/bin/env", "perl -w")
    assert made("binary", "\x7fELF", 0o755)[1] == ()
    path, _ = made("{x}.sh")
    assert find_script(path).arguments({})[-1] == str(path)


def test_relative_paths_become_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("train.sh").touch()
    assert find_script("train.sh").command == ("sh", str(tmp_path / "train.sh"))


def test_files_that_cannot_be_run_are_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("hello")
    for path, rule in [
        (tmp_path / "none.py", "no such file"),
        (tmp_path, "must be a file"),
        (tmp_path / "notes.txt", "begin with #!"),
    ]:
        with pytest.raises(InvalidArgumentError, match=rule):
            find_script(path)


# -- the examples ----------------------------------------------------------------------------


def legs(script, config, folder, goals):
    """The losses of one trial, leg after leg."""
    reports, latest, start = [], None, 0
    for until in goals:
        run = FakeRun(folder, until=until, start=start, latest=latest)
        script(config, run)
        reports += run.reports()
        latest, start = run.latest, until
    return reports


@pytest.mark.parametrize(
    ("path", "config"),
    [
        ("shell/train.sh", {"lr": 0.05, "momentum": 0.5}),
        ("script/train.py", {"lr": 0.01, "decay": 0.9, "order": "shuffled"}),
    ],
)
def test_the_examples_go_on_where_they_left_off(tmp_path, path, config):
    script = find_script(EXAMPLES / path)
    at_once = legs(script, config, tmp_path / "a", [5])
    assert [resource for resource, _ in at_once] == [1, 2, 3, 4, 5]
    assert legs(script, config, tmp_path / "b", [2, 5]) == at_once
