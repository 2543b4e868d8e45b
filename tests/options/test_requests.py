"""The same request gives the same study, or the same error, through every door.

A door is a way to ask: ``tune`` and ``open_study`` in Python, flags, a study file, ``simulate`` in
Python and as a command. Each is asked as users ask it, up to the moment when a study would begin.
"""

import json
import re
import sys
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import pytest

import rungwise as rw
from rungwise import searchers
from rungwise.cli.commands import app
from rungwise.errors import MISSING, InvalidArgumentError
from rungwise.options import list_options
from rungwise.options.backend_options import SHORT_FORMS
from rungwise.options.study_options import LadderOptions, RunOptions
from rungwise.storage.codec import study_to_json
from rungwise.tuning import opened

SPACE = {"lr": {"type": "float", "low": 0.1, "high": 1.0}, "layers": [1, 2, 3]}
LADDER = {each.name for each in list_options(LadderOptions)}
FLAGGED = {each.name for each in list_options(LadderOptions) if not each.keyword}
SHORT = {each.name for each in SHORT_FORMS}
RUNNING = {each.name for each in list_options(RunOptions)} | SHORT
ASKED = {"retries", "trial_timeout", "report_timeout", "winner", "mirror", "mirror_every"}
ASKED |= {"durability"}


class Begun(Exception):  # noqa: N818 - it is no error
    """A study would begin now."""

    def __init__(self, study, about=None):
        super().__init__("it begins")
        self.study, self.about = study, about


def begin(_file, study, about, _store):
    raise Begun(study, about)


class Simulated:
    """An engine that does not run."""

    def __init__(self, study):
        raise Begun(study)


@dataclass
class Request:
    """What is asked, in words that every door has.

    Attributes:
        given: the arguments.
        python: other words for Python, which has no argument for some options of schedulers.
        written: other words for a study file.
        recipe: the scheduler that it is.
        wrong: the argument that is refused, and a part of the rule.
        doors: those that can express it; all of them by default.
    """

    given: dict[str, Any]
    python: dict[str, Any] = field(default_factory=dict)
    written: dict[str, Any] = field(default_factory=dict)
    recipe: Any = None
    wrong: tuple[str, str] | None = None
    doors: tuple[str, ...] = ()


def good(recipe=None, /, python=MappingProxyType({}), written=MappingProxyType({}), **given):
    return Request(given, dict(python), dict(written), recipe)


def bad(argument, rule, doors=(), python=MappingProxyType({}), **given):
    return Request(given, dict(python), wrong=(argument, rule), doors=doors)


ADAPTIVE, PASHA, ASHA = rw.AdaptiveHalving, rw.PASHA, rw.ASHA

REQUESTS = {
    # the default scheduler, with and without options
    "nothing": good(PASHA(1, 3**10)),
    "a maximum": good(ADAPTIVE(1, 9), max_resource=9),
    "a maximum and eta": good(ADAPTIVE(1, 9, 4), max_resource=9, eta=4),
    "a maximum and the first rung": good(ADAPTIVE(2, 18), max_resource=18, min_resource=2),
    "a maximum and a size": good(
        ADAPTIVE(1, 9, size=4), max_resource=9, size=4, python={"scheduler": "adaptive:size=4"}
    ),
    "eta": good(PASHA(1, 2**10, 2), eta=2),
    "a maximum and a ranking": good(
        PASHA(1, 9, ranking=rw.rankings.Soft(0.02)),
        max_resource=9,
        ranking="soft:0.02",
        python={"scheduler": "pasha:ranking=soft:0.02"},
    ),
    "a ranking with commas": good(
        PASHA(1, 9, ranking=rw.rankings.RBO(0.5, 0.5)),
        max_resource=9,
        ranking="rbo:0.5,0.5",
        python={"scheduler": PASHA(ranking=rw.rankings.RBO(0.5, 0.5))},
        written={"ranking": {"type": "rbo", "p": 0.5, "t": 0.5}},
    ),
    "options that only PASHA has": good(
        PASHA(1, 9, 4, promote="quantile", check="report", variant="stopping"),
        max_resource=9,
        eta=4,
        promote="quantile",
        check="report",
        variant="stopping",
        python={"scheduler": "pasha:promote=quantile,check=report,variant=stopping"},
        written={
            "scheduler": {"type": "PASHA", "promote": "quantile", "check": "report", "eta": 4},
            "promote": None,
            "check": None,
            "eta": None,
        },
    ),
    # schedulers by name
    "pasha": good(PASHA(1, 3**10), scheduler="pasha"),
    "pasha with a maximum": good(PASHA(1, 9), scheduler="pasha", max_resource=9),
    "asha": good(ASHA(1, 9), scheduler="asha", max_resource=9),
    "asha with eta beside it": good(ASHA(1, 9, 2), scheduler="asha", max_resource=9, eta=2),
    "asha with eta in the name": good(
        ASHA(1, 9, 2),
        scheduler="asha:eta=2",
        max_resource=9,
        python={"scheduler": ASHA(eta=2)},
        written={"scheduler": {"type": "ASHA", "eta": 2.0}},
    ),
    "asha with options in and beside the name": good(
        ASHA(2, 18, 2), scheduler="asha:eta=2", min_resource=2, max_resource=18
    ),
    "asha with its maximum in the name": good(ASHA(1, 27), scheduler="asha:max_resource=27"),
    "asha with its maximum twice": good(
        ASHA(1, 27), scheduler="asha:max_resource=27", max_resource=27
    ),
    "asha that stops": good(
        ASHA(1, 9, variant="stopping"),
        scheduler="asha",
        max_resource=9,
        variant="stopping",
        python={"scheduler": "asha:variant=stopping"},
    ),
    "halving with a size": good(
        rw.SuccessiveHalving(1, 9, size=9),
        scheduler="halving",
        max_resource=9,
        size=9,
        python={"scheduler": "halving:size=9"},
        written={"scheduler": {"type": "halving", "size": 9.0}, "size": None},
    ),
    "hyperband": good(rw.Hyperband(1, 9), scheduler="hyperband", max_resource=9),
    "asynchronous hyperband": good(
        rw.AsyncHyperband(1, 9), scheduler="async-hyperband", max_resource=9
    ),
    "sharp halving": good(
        rw.SharpHalving(1, 27, first_cut=8), scheduler="sharp:first_cut=8", max_resource=27
    ),
    "random search": good(rw.RandomSearch(9), scheduler="RANDOM", max_resource=9),
    "a fixed resource": good(rw.FixedResource(3), scheduler="fixed:3"),
    "a fixed resource that is the maximum": good(
        rw.FixedResource(3), scheduler="fixed", max_resource=3
    ),
    # searchers, goal, seed, initial configurations, earlier studies
    "a searcher": good(searcher="sobol:3", python={"searcher": searchers.Sobol(3)}),
    "a searcher with options": good(
        searcher="gp:20,points=200",
        written={"searcher": {"type": "gp", "startup": 20, "points": 200}},
    ),
    "a goal and a seed": good(goal="max", seed=7),
    "a metric with a well-known name": good(metric="accuracy", goal=None),
    "initial configurations": Request(
        {"initial": [{"lr": 0.5, "layers": 2}], "max_resource": 9},
        doors=("tune", "open_study", "file"),
    ),
    "an earlier study": good(
        rw.Rush(ADAPTIVE(1, 9, 4), priors=3), transfer="earlier.db", max_resource=9, eta=4
    ),
    "earlier studies and their leaders": good(
        rw.Rush(ASHA(1, 9), priors=2),
        transfer="earlier.db",
        leaders=2,
        max_resource=9,
        scheduler="asha",
    ),
    # limits
    "trials": good(trials=12),
    "seconds": good(seconds=60),
    "a budget": good(resource_budget=1e4, max_resource=9),
    "a target and patience": good(target=0.25, stall=5, trials=30),
    "the end of the paper": good(finish="paper", trials=30),
    # backends, and how a study is run
    "workers": good(workers=2, max_resource=9),
    "a backend": good(backend="threads", python={"backend": rw.Threads()}),
    "a backend with workers beside it": good(
        backend="threads", workers=2, written={"backend": {"type": "Threads"}}
    ),
    "a backend with workers in the name": good(
        backend="threads:2", written={"backend": {"type": "threads", "workers": 2}}
    ),
    "the default backend by its name": good(
        backend="local:workers=2",
        preload=["json"],
        python={"backend": rw.Local(2, preload=("json",)), "preload": None},
    ),
    "how a study is run": good(
        retries=3, trial_timeout=60, report_timeout=9.5, winner="best", durability="full"
    ),
    "checkpoints": good(keep="all", keep_best=True, checkpoint_quota="20GB", grace=2),
    # wrong ones
    "no such scheduler": bad("scheduler", "did you mean 'asha'?", scheduler="ashas"),
    "a scheduler of another kind": bad(
        "scheduler", "it must be", doors=("tune", "open_study", "simulate"), scheduler=5
    ),
    "no such option of a scheduler": bad(
        "scheduler", "did you mean 'eta'? the options of asha are", scheduler="asha:etta=2"
    ),
    "an option of another scheduler": bad(
        "ranking",
        "the scheduler ASHA has no such option; its options are min_resource",
        doors=("flags", "file", "simulate command"),
        scheduler="asha",
        ranking="exact",
        max_resource=9,
    ),
    "eta of a scheduler that has none": bad(
        "eta", "the scheduler RandomSearch has no such", scheduler="random", eta=4, max_resource=9
    ),
    "an option that the default lacks": bad(
        "size",
        "the scheduler PASHA has no such option",
        doors=("flags", "file", "simulate command"),
        size=4,
    ),
    "an option twice": bad(
        "eta", "given once, here or for the scheduler", scheduler="asha:eta=2", eta=3
    ),
    "an option beside a value": bad(
        "eta",
        "give it to the scheduler: scheduler=ASHA(eta=3, …)",
        doors=("tune", "open_study"),
        scheduler=ASHA(),
        eta=3,
    ),
    "an option beside a class": bad(
        "eta", "scheduler=ASHA(eta=3, …)", doors=("tune", "open_study"), scheduler=ASHA, eta=3
    ),
    "an option beside a backend": bad(
        "workers",
        "give it to the backend: backend=Threads(workers=3, …)",
        doors=("tune",),
        backend=rw.Threads(),
        workers=3,
    ),
    "a wrong option in a name": bad(
        "eta of scheduler", "at least 2", scheduler="asha:eta=1", max_resource=9
    ),
    "a wrong option beside a name": bad("eta", "at least 2", scheduler="asha", eta=1),
    "a wrong option of the default": bad("eta", "at least 2", eta=1, max_resource=9),
    "no such ranking": bad(
        "ranking",
        "did you mean 'noise'?",
        doors=("flags", "file", "simulate command"),
        ranking="nose",
    ),
    "a wrong option of a ranking": bad(
        "epsilon of ranking",
        "it must be a finite number",
        doors=("flags", "file", "simulate command"),
        ranking="soft:many",
    ),
    "a ranking of a scheduler": bad(
        "epsilon of ranking of scheduler",
        "it must be a finite number",
        scheduler="pasha:ranking=soft:many",
    ),
    "no maximum": bad(
        "max_resource",
        "ASHA needs a maximum",
        doors=("tune", "open_study", "flags", "file"),
        scheduler="asha",
    ),
    "no resource": bad("scheduler", "it must be fixed:RESOURCE", scheduler="fixed"),
    "two maxima": bad(
        "max_resource",
        "the scheduler has max_resource=27: give it only once",
        doors=("tune", "open_study", "flags", "file", "simulate command"),
        scheduler="asha:max_resource=27",
        max_resource=9,
    ),
    "two resources": bad("max_resource", "has max_resource=3", scheduler="fixed:3", max_resource=9),
    "a maximum of 0": bad("max_resource", "at least 1", max_resource=0),
    "a first rung beyond the last": bad(
        "min_resource", "it must not exceed max_resource = 3", min_resource=9, max_resource=3
    ),
    "no such searcher": bad("searcher", "did you mean 'gp'?", searcher="gpp"),
    "a wrong option of a searcher": bad("startup of searcher", "least 2", searcher="gp:startup=1"),
    "no goal": bad("goal", "say whether the metric is to be minimised", metric="x", goal=None),
    "a goal in words": bad("goal", "did you mean 'max'?", goal="maximise"),
    "no trials": bad("trials", "at least 1", trials=0),
    "the end of the paper without trials": bad(
        "finish", "number of trials", finish="paper", seconds=5
    ),
    "a size that is not known": bad(
        "size", "give size, or trials", scheduler="halving", seconds=5, max_resource=9
    ),
    "leaders of no study": bad("leaders", "it goes with transfer=", leaders=2),
    "no such earlier study": bad("transfer", "no such file", transfer="none.db"),
    "no such backend": bad("backend", "did you mean 'threads'?", backend="thread"),
    "an option of another backend": bad(
        "preload", "the backend Threads has no such option", backend="threads", preload=["json"]
    ),
    "workers twice": bad(
        "workers", "given once, here or for the backend", backend="threads:2", workers=3
    ),
    "no workers": bad("workers", "at least 1, or 'auto'", workers=0),
    "GPUs below 0": bad("gpus_per_worker", "at least 0", gpus_per_worker=-1),
    "no workers in a name": bad("workers of backend", "or 'auto'", backend="threads:0"),
    "retries below 0": bad("retries", "at least 0", retries=-1),
    "no such winner": bad("winner", "'top' or 'best'", winner="last"),
}


# -- the doors -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def earlier(tmp_path_factory):
    """A study that another can start from."""
    path = tmp_path_factory.mktemp("earlier") / "earlier.db"
    limits = {"max_resource": 1, "trials": 3, "scheduler": "random"}
    with rw.open_study(path, rw.Space.parse(read_space()), metric="loss", **limits) as study:
        for job in study.jobs():
            study.report(job, 1, job.config["lr"])
    return path.read_bytes()


def read_space():
    low, high = SPACE["lr"]["low"], SPACE["lr"]["high"]
    return {"lr": rw.Float(low, high), "layers": SPACE["layers"]}


TRAIN = """
def train(config, run):
    raise AssertionError("nothing is to be trained here")
"""


@pytest.fixture
def folder(tmp_path, monkeypatch, earlier):
    """Where requests are made: with a training function, a space and an earlier study."""
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "space.yaml").write_text(json.dumps(SPACE))
    (tmp_path / "earlier.db").write_bytes(earlier)
    table = rw.power_laws(rows=4, resources=81, seed=0)
    table.save(tmp_path / "table.npz")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(opened, "begin_study", begin)
    monkeypatch.setattr("rungwise.simulation.Engine", Simulated)
    monkeypatch.setattr("sys.path", [*__import__("sys").path])
    return tmp_path


def clean(given):
    return {name: value for name, value in given.items() if value is not None}


def say_usual(given):
    usual = {"metric": "loss", "goal": "min"} if "goal" not in given else {"metric": "loss"}
    return clean({**usual, **given})


def train(config, run):
    raise AssertionError("nothing is to be trained here")


def ask_tune(request, folder):
    given = say_usual({**drop(request.given, FLAGGED), **request.python})
    rw.tune(train, read_space(), study=folder / "s.db", show="quiet", **given)


def ask_open_study(request, folder):
    given = say_usual({**drop(request.given, FLAGGED), **request.python})
    rw.open_study(folder / "s.db", read_space(), **given)


def ask_flags(request, folder):
    flags = list(make_flags(say_usual(request.given)))
    run_command("tune", "train.py:train", "--space", "space.yaml", "--show", "quiet", *flags)


def ask_file(request, folder):
    given = say_usual({**request.given, **request.written})
    entries = {"train": "train.py:train", "space": "space.yaml", "show": "quiet", **given}
    lines = [f"{name}: {json.dumps(value)}\n" for name, value in entries.items()]
    (folder / "study.yaml").write_text("".join(lines))
    run_command("tune", "study.yaml")


def ask_simulate(request, folder):
    given = request.given
    resources = given.get("max_resource", 81)
    table = rw.power_laws(rows=4, resources=resources, seed=0)
    rw.simulate(table, {**given, **request.python}["scheduler"], trials=4)


def ask_simulate_command(request, folder):
    run_command("simulate", "table.npz", *make_flags(request.given))


def run_command(*words):
    try:
        app([str(word) for word in words], standalone_mode=False)
    finally:  # another test has a train.py of its own
        sys.modules.pop("train", None)


def make_flags(given):
    for name, value in given.items():
        flag = f"--{name.replace('_', '-')}"
        if value is True:
            yield flag
        elif isinstance(value, list):
            for each in value:
                yield from (flag, str(each))
        else:
            yield from (flag, str(value))


def drop(given, names):
    return {name: value for name, value in given.items() if name not in names}


DOORS = {
    "tune": ask_tune,
    "open_study": ask_open_study,
    "flags": ask_flags,
    "file": ask_file,
    "simulate": ask_simulate,
    "simulate command": ask_simulate_command,
}


def can_express(door, request):
    """Whether a door has words for a request."""
    if request.doors:
        return door in request.doors
    names = set(request.given)
    if door in ("tune", "open_study") and names & FLAGGED and not request.python:
        return False
    if door == "open_study":
        return not names & (RUNNING - ASKED)
    if door == "simulate":  # its maximum is the end of the table, which is no fixed resource
        of_table = "fixed" not in str(request.given.get("scheduler")) or names == {"scheduler"}
        return "scheduler" in names <= {"scheduler", "max_resource"} and of_table
    if door == "simulate command":
        return bool(names) and names <= LADDER | {"scheduler", "max_resource"}
    return True


def find_answer(door, request, folder):
    """What a door says: the study and how it is run, or the error."""
    try:
        DOORS[door](request, folder)
    except (Begun, InvalidArgumentError) as answer:
        return answer
    raise AssertionError("nothing began, and nothing was refused")


CASES = [
    pytest.param(door, request, id=f"{name}, {door}")
    for name, request in REQUESTS.items()
    for door in DOORS
    if can_express(door, request)
]


@pytest.mark.parametrize(("door", "request_"), CASES)
def test_every_door_gives_the_same_study_or_the_same_error(door, request_, folder):
    answer = find_answer(door, request_, folder)
    if request_.wrong is not None:
        check_error(door, request_, answer)
        return
    assert isinstance(answer, Begun), answer
    if request_.recipe is not None:
        scheduler = answer.study.scheduler
        ended = request_.recipe.max_resource
        if door.startswith("simulate") and scheduler.max_resource == 81:
            scheduler = scheduler.limited_to(ended)  # the table has an end of its own
        assert scheduler == request_.recipe
    if door.startswith("simulate"):
        return
    first = find_answer("tune" if can_express("tune", request_) else "flags", request_, folder)
    assert study_to_json(answer.study) == study_to_json(first.study)
    assert answer.about.metric == first.about.metric
    assert answer.about.open_ended == first.about.open_ended
    shared = ASKED if door == "open_study" else RUNNING
    for name in shared & set(first.about.run):
        assert answer.about.run[name] == first.about.run[name], name


def check_error(door, request, error):
    argument, rule = request.wrong
    assert isinstance(error, InvalidArgumentError), error
    outer = argument.rpartition(" of ")[2]
    if door in ("flags", "simulate command"):
        assert error.argument.endswith(f"--{outer.replace('_', '-')}")
    elif door == "file" and outer in clean({**request.given, **request.written}):
        assert re.search(r" \(study\.yaml, line \d+\)$", error.argument)
    assert undo_spelling(error.argument) == argument
    assert rule in error.rule
    value = request.given.get(argument, MISSING)
    if value is not MISSING and value is not None:
        assert error.value in (value, tuple(value) if isinstance(value, list) else value)


def undo_spelling(argument):
    """The argument as Python has it, from what a flag or a file calls it."""
    argument = re.sub(r" \(study\.yaml, line \d+\)$", "", argument)
    return re.sub(r"--[a-z-]+", lambda flag: flag[0][2:].replace("-", "_"), argument)


def test_the_table_is_large_and_every_door_is_asked_often():
    assert len(REQUESTS) >= 40
    asked = [case.values[0] for case in CASES]
    assert all(asked.count(door) >= 9 for door in DOORS), {d: asked.count(d) for d in DOORS}
    names = {name for request in REQUESTS.values() for name in request.given}
    assert names >= LADDER | SHORT


OVER_FILES = {
    "an option of the file's scheduler": ("scheduler: asha", ["--eta", 4], ASHA(1, 9, 4)),
    "one that its name gives": ("scheduler: asha:eta=2", ["--eta", 4], ASHA(1, 9, 4)),
    "one that a key gives": ("scheduler: asha\neta: 2", ["--eta", 4], ASHA(1, 9, 4)),
    "an option of the default": ("eta: 2", ["--eta", 4], ADAPTIVE(1, 9, 4)),
    "one more option": ("eta: 2", ["--size", 4], ADAPTIVE(1, 9, 2, 4)),
    "another scheduler": ("scheduler: pasha:variant=stopping", ["--scheduler", "asha"], ASHA(1, 9)),
    "another with options of keys": ("eta: 2", ["--scheduler", "asha"], ASHA(1, 9, 2)),
    "another without some": ("ranking: leader\neta: 2", ["--scheduler", "asha"], ASHA(1, 9, 2)),
    "another that says it itself": ("eta: 2", ["--scheduler", "asha:eta=4"], ASHA(1, 9, 4)),
    "another maximum": ("scheduler: asha", ["--max-resource", 27], ASHA(1, 27)),
    "workers": ("backend: {type: local, workers: 3}", ["--workers", 1], rw.Local(1)),
    "another backend": ("workers: 3", ["--backend", "threads"], rw.Threads(3)),
    "another that says it": ("workers: 3", ["--backend", "threads:2"], rw.Threads(2)),
    "another that lacks it": ("preload: [json]", ["--backend", "threads:2"], rw.Threads(2)),
}


@pytest.mark.parametrize(("text", "flags", "made"), OVER_FILES.values(), ids=OVER_FILES)
def test_flags_replace_what_a_study_file_says(text, flags, made, folder):
    lines = "train: train.py:train\nspace: space.yaml\nmetric: loss\nmax_resource: 9\n"
    (folder / "study.yaml").write_text(lines + text)
    with pytest.raises(Begun) as begun:
        run_command("tune", "study.yaml", *flags)
    options = begun.value.about.run
    found = made if hasattr(made, "limited_to") else RunOptions(backend=made).to_json()["backend"]
    assert found in (begun.value.study.scheduler, options["backend"])


def test_errors_name_the_door_that_gave_the_value(folder):
    lines = "train: train.py:train\nspace: space.yaml\nmetric: loss\nscheduler: asha\n"
    (folder / "study.yaml").write_text(lines)
    with pytest.raises(InvalidArgumentError, match=r"^--eta is 1, but"):
        run_command("tune", "study.yaml", "--eta", 1)
    with pytest.raises(InvalidArgumentError, match=r"^--max-resource is None, but ASHA needs"):
        run_command("tune", "study.yaml")
    (folder / "study.yaml").write_text(lines + "eta: 1\n")
    with pytest.raises(InvalidArgumentError, match=r"^eta \(study.yaml, line 5\) is 1, but"):
        run_command("tune", "study.yaml", "--max-resource", 9)


def test_an_error_of_the_space_keeps_its_name(folder):
    (folder / "space.yaml").write_text(json.dumps({"eta": {"type": "float", "low": 0, "high": 1}}))
    lines = "train: train.py:train\nspace: space.yaml\nmetric: loss\ninitial: [{eta: 7}]\n"
    (folder / "study.yaml").write_text(lines)
    with pytest.raises(InvalidArgumentError, match=r"^eta of initial\[0\] \(study.yaml, line 4\)"):
        run_command("tune", "study.yaml", "--eta", 3)
