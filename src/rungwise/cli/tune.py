"""``rungwise tune`` and ``rungwise resume``."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from rungwise.cli.arguments import AsJson, Function, Study, Trust
from rungwise.cli.console import out
from rungwise.cli.leaderboard import print_leaderboard
from rungwise.cli.main import INTERRUPTED, NOTHING_FOUND
from rungwise.cli.options import with_options
from rungwise.cli.summary import as_line, line, print_summary, result_to_json
from rungwise.display import QuietDisplay, Snapshot, choose
from rungwise.errors import (
    MISSING,
    InvalidArgumentError,
    NothingFoundError,
    StudyInterrupted,
)
from rungwise.formatting import strip_controls
from rungwise.options import list_options
from rungwise.options.backend_options import SHORT_FORMS, set_fields
from rungwise.options.checks import check_display
from rungwise.options.registry import BACKENDS, CALLBACKS, SEARCHERS
from rungwise.options.study_options import GROUPS, LadderOptions, OutputOptions, RunOptions
from rungwise.scripts import find_script
from rungwise.specification import choices, load_function, read_space, read_study
from rungwise.specification.functions import is_reference
from rungwise.storage.study_file import shown
from rungwise.tuning import api
from rungwise.tuning.extending import EXTENDABLE
from rungwise.tuning.result import TuningResult

_TARGET = (
    "A study file (.yaml, .json), a training script (train.py, train.sh, any program), or a "
    "function (train.py:train, package.module:train)."
)
Target = Annotated[str, typer.Argument(metavar="TARGET", help=_TARGET)]
SpaceFile = Annotated[Path | None, typer.Option(help="The search space: a YAML or JSON file.")]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Show only the result; the same as --show quiet.")
]

_OF_SCHEDULER = tuple(each.name for each in list_options(LadderOptions))
_SHOWN = tuple(
    each for each in list_options(OutputOptions) if each.name in ("show", "dashboard", "track")
)
_CHANGEABLE = (*(each for each in list_options(RunOptions) if not each.fixed), *SHORT_FORMS)


@with_options((*list_options(*GROUPS), *SHORT_FORMS))
def tune(
    what: Target,
    given: dict[str, Any],
    space: SpaceFile = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Find a good configuration with as little training as possible.

    Everything is kept in the study file: after a crash, run the same command again, or `rungwise
    resume`. Ctrl-C stops the study when its state is saved; Ctrl-C twice stops it at once.

    rungwise tune study.yaml

    rungwise tune train.py --space space.yaml --metric accuracy --max-resource 200

    rungwise tune train.py --space space.yaml --metric accuracy --transfer last-week.db
    """
    arguments = _arguments(what, space)
    show = _choose_show({**arguments, **given}, quiet=quiet, as_json=as_json)
    _choose_scheduler(arguments, given)
    choose_backend(arguments, given)
    choose_callbacks(given)
    if "searcher" in given:
        given["searcher"] = SEARCHERS.build(given["searcher"], "--searcher")
    arguments.update(given)
    if arguments.get("metric") is None:
        rule = "name the metric that the training reports, such as --metric accuracy"
        raise InvalidArgumentError("--metric", MISSING, rule)
    if arguments["goal"] is None:
        arguments["goal"] = _find_goal(arguments["metric"], announce=show not in ("quiet", "json"))
    arguments.setdefault("study", f"{Path(what.partition(':')[0]).stem}.db")
    arguments["show"] = display = _EndNoting(show)
    with interruptible():
        result = api.tune(**arguments)
    _finish(result, show, why=display.silent)


@with_options((*EXTENDABLE, *_CHANGEABLE, *_SHOWN))
def resume(
    study: Study,
    given: dict[str, Any],
    train: Function = None,
    trust: Trust = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Resume a study after an interrupt, a crash or a reboot.

    Every decision in the file is checked (in a large one those after its last snapshot), and lost
    jobs start again from their checkpoints. Options that are not given stay as they were in the
    study. With larger limits, for example more --trials, a study goes on that has ended: each is a
    total, not what comes on top.

    rungwise resume study.db

    rungwise resume study.db --trials 512

    This runs the function or command that the file names: a file that you did not make on this
    machine is resumed only with --trust, or with --train.
    """
    show = _choose_show(given, quiet=quiet, as_json=as_json)
    given["show"] = display = _EndNoting(show)
    choose_callbacks(given)
    if "backend" in given:
        choose_backend({}, given)
    trainable = None if train is None else load_trainable(train)
    with interruptible():
        result = api.resume(study, trainable, trust=trust, **given)
    _finish(result, show, why=display.silent)


def _choose_scheduler(arguments: dict[str, Any], given: dict[str, Any]) -> None:
    """The scheduler of the flags, if any is about one: that of the study file is left out then."""
    flags = {name: given.pop(name) for name in _OF_SCHEDULER if name in given}
    if flags or "scheduler" in given:
        maximum = given.get("max_resource", arguments.get("max_resource"))
        text = given.pop("scheduler", None)
        arguments["scheduler"] = choices.build_scheduler(text, max_resource=maximum, **flags)


def choose_backend(arguments: dict[str, Any], given: dict[str, Any]) -> None:
    """The backend of the flag or the study file, with the fields that have flags of their own."""
    names = [each.name for each in SHORT_FORMS]
    flags = {name: given.pop(name) for name in names if name in given}
    backend = arguments.get("backend")
    if "backend" in given:
        text = given.pop("backend")
        word, written = BACKENDS.parse(text, "--backend")
        for name in sorted(set(flags) & set(written)):
            rule = f"it must be given once, here or with --{name.replace('_', '-')}"
            raise InvalidArgumentError(f"{name} of --backend", written[name], rule)
        backend = BACKENDS.make(word, written, "--backend", text)
        beside = {name: arguments.pop(name) for name in names if name in arguments}
        flags = {**{name: beside[name] for name in beside if name not in written}, **flags}
    if backend is None:
        given.update(flags)
    else:
        given["backend"] = set_fields(backend, flags)


def choose_callbacks(given: dict[str, Any]) -> None:
    """The callbacks that --track names."""
    if "track" in given:
        texts = given.pop("track")
        given["callbacks"] = [CALLBACKS.build(text, "--track") for text in texts]


def load_trainable(text: str) -> Any:
    """A function or a script by its name."""
    return load_function(text) if is_reference(text) else find_script(text)


def _arguments(target: str, space: Path | None) -> dict[str, Any]:
    """The arguments of tune() that a target gives."""
    if Path(target).suffix.lower() in (".yaml", ".yml", ".json"):
        # The metric may be another one on the command line: its goal is looked for afterwards.
        arguments = {"goal": None, **read_study(target, need_goal=False)}
        if isinstance(arguments["train"], str):
            arguments["train"] = load_function(arguments["train"])
        if space is not None:
            arguments["space"] = read_space(space)
        return arguments
    train = load_trainable(target)
    if space is None:
        rule = "give the search space as a file, such as space.yaml (see `rungwise manual scripts`)"
        raise InvalidArgumentError("--space", MISSING, rule)
    found = read_space(space)
    if not is_reference(target):
        train.check(found)
    return {"train": train, "space": found, "metric": None, "goal": None}


def _find_goal(metric: str | None, *, announce: bool) -> str | None:
    """The goal that the metric's name implies; what was assumed is printed."""
    goal = None if metric is None else choices.guess_goal(metric)
    if goal is not None and announce:
        taken = f"the goal is {goal}, taken from the name of the metric, {metric}"
        typer.echo(f"rungwise: {taken} (--goal changes it)", err=True)
    return goal


@contextmanager
def interruptible() -> Iterator[None]:
    """After Ctrl-C: say how to resume, and exit as programs do."""
    try:
        yield
    except StudyInterrupted as interrupt:
        typer.echo(f"rungwise: {interrupt}", err=True)
        raise typer.Exit(INTERRUPTED) from None


def _choose_show(given: Mapping[str, Any], *, quiet: bool, as_json: bool) -> str:
    """The display: --json and --quiet are short forms of --show."""
    chosen = given.get("show", "auto")
    return "json" if as_json else "quiet" if quiet else str(check_display("--show", chosen)).lower()


class _EndNoting:
    """A display that notes whether it has said why the study ended: it is said only once.

    A study that had ended before is not shown at all, and a quiet display says nothing.
    """

    def __init__(self, show: str) -> None:
        self._display = choose(show)
        self.silent = True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._display, name)

    def end(self, snapshot: Snapshot, text: str) -> None:
        self.silent = isinstance(self._display, QuietDisplay)
        self._display.end(snapshot, text)


def _finish(result: TuningResult, show: str, *, why: bool) -> None:
    quiet = show == "quiet"
    if show == "json":
        typer.echo(as_line({"kind": "result", **result_to_json(result)}))
    else:
        console = out(narrow=True)
        if not quiet:
            print_leaderboard(console, result, 5)
        print_summary(console, result, why=why)
    if result.view.best is None:
        _explain_failures(result)
        raise typer.Exit(NOTHING_FOUND)
    if show not in ("quiet", "json"):
        path = line(shlex.quote(shown(result.path)))
        console.print(
            f"Details: rungwise show {path} · full training of the winner: rungwise retrain {path}",
            soft_wrap=True,
            emoji=False,
        )


def _explain_failures(result: TuningResult) -> None:
    """Why nothing was found: what failed how often, and the first traceback."""
    try:
        _ = result.best
    except NothingFoundError as error:
        typer.echo(f"rungwise: {strip_controls(str(error))}", err=True)
