"""``rungwise tune`` and ``rungwise resume``."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from rungwise.cli.arguments import AsJson, Function, Study, Trust
from rungwise.cli.console import out
from rungwise.cli.leaderboard import print_leaderboard
from rungwise.cli.main import INTERRUPTED, NOTHING_FOUND
from rungwise.cli.options import build_callbacks, name_flag, replace_options, with_options
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
from rungwise.options.backend_options import SHORT_FORMS
from rungwise.options.build import StudyRequest, name_arguments
from rungwise.options.checks import check_display
from rungwise.options.study_options import GROUPS, OutputOptions, RunOptions
from rungwise.scripts import find_script
from rungwise.specification import load_function, read_space, read_study
from rungwise.specification.document import Document
from rungwise.specification.functions import is_reference
from rungwise.specification.studies import WrittenStudy
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
    written = _read_target(what, space)

    def name(argument: str) -> str:
        of_flag = argument.rpartition(" of ")[2] in given
        return name_flag(argument if of_flag else written.document.name_argument(argument))

    with name_arguments(name):
        arguments = replace_options(written.options, given)
        show = _choose_show(arguments, quiet=quiet, as_json=as_json)
        if "metric" not in arguments:
            rule = "name the metric that the training reports, such as --metric accuracy"
            raise InvalidArgumentError("--metric", MISSING, rule)
        request = StudyRequest.take(written.space, arguments)
        options = RunOptions.take(arguments)
        display = _EndNoting(show)
        output = OutputOptions(
            study=arguments.get("study", f"{Path(what.partition(':')[0]).stem}.db"),
            show=display,
            callbacks=build_callbacks(given) or arguments.get("callbacks", ()),
            dashboard=arguments.get("dashboard", False),
        )
        with interruptible():
            result = api.carry_out(written.train, request, options, output)
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
    given["callbacks"] = build_callbacks(given)
    given.pop("track", None)
    trainable = None if train is None else load_trainable(train)
    with interruptible(), name_arguments(name_flag):
        result = api.resume(study, trainable, trust=trust, **given)
    _finish(result, show, why=display.silent)


def load_trainable(text: str) -> Any:
    """A function or a script by its name."""
    return load_function(text) if is_reference(text) else find_script(text)


def _read_target(target: str, space: Path | None) -> WrittenStudy:
    """What a target and the file of a space say; of a script or a function there are no options."""
    if Path(target).suffix.lower() in (".yaml", ".yml", ".json"):
        written = read_study(target)
        if isinstance(written.train, str):
            written = replace(written, train=load_function(written.train))
        return written if space is None else replace(written, space=read_space(space))
    train = load_trainable(target)
    if space is None:
        rule = "give the search space as a file, such as space.yaml (see `rungwise manual scripts`)"
        raise InvalidArgumentError("--space", MISSING, rule)
    found = read_space(space)
    if not is_reference(target):
        train.check(found)
    return WrittenStudy(train, found, {}, Document({}))


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
        text = f"Details: rungwise show {path}"
        if result.view.trial(result.best.trial).resource < result.find_retraining_goal():
            text += f" · full training of the winner: rungwise retrain {path}"
        console.print(text, soft_wrap=True, emoji=False)


def _explain_failures(result: TuningResult) -> None:
    """Why nothing was found: what failed how often, and the first traceback."""
    try:
        _ = result.best
    except NothingFoundError as error:
        typer.echo(f"rungwise: {strip_controls(str(error))}", err=True)
