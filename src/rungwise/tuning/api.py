"""tune(), resume() and load(): the front door."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Literal

from rungwise._version import __version__
from rungwise.core.limits import Finish
from rungwise.core.scheduling import Recipe
from rungwise.core.study import Study
from rungwise.display import Display, choose
from rungwise.errors import InvalidArgumentError, StudyDiffersError
from rungwise.loading import not_while_loading
from rungwise.schedulers import documents as recipes
from rungwise.searchers.base import Searcher
from rungwise.searchers.checking import check_searcher
from rungwise.storage.sqlite import Durability
from rungwise.storage.study_file import About, StudyFile, shown
from rungwise.tuning import functions
from rungwise.tuning.plan import Options, differences, limits_of, study_of
from rungwise.tuning.result import TuningResult
from rungwise.tuning.session import Crew, Report, Session, fold
from rungwise.tuning.transfer import Files, Transfer

CREW = "crew"
"""How many workers there were; kept with the options, since "auto" depends on the machine."""

Show = Literal["auto", "live", "lines", "json", "quiet"]


def tune(
    train: Any,
    space: Any,
    *,
    metric: str,
    goal: Literal["min", "max"],
    max_resource: int | None = None,
    trials: int | None = None,
    workers: int | Literal["auto"] = "auto",
    study: str | os.PathLike[str] | None = None,
    scheduler: Recipe | None = None,
    searcher: Searcher | None = None,
    initial: Sequence[Mapping[str, Any]] = (),
    transfer: Files = (),
    leaders: int | None = None,
    seed: int = 0,
    finish: Finish = "drain",
    seconds: float | None = None,
    resource_budget: float | None = None,
    target: float | None = None,
    gpus_per_worker: float | None = None,
    preload: Sequence[str] = (),
    retries: int = 1,
    trial_timeout: float | None = None,
    report_timeout: float | None = None,
    checkpoint_quota: int | str | None = None,
    keep: int | Literal["all"] = 3,
    durability: Durability = "normal",
    on_report: Callable[[Report], None] | None = None,
    on_end: Callable[[TuningResult], None] | None = None,
    show: Show | Display = "auto",
) -> TuningResult:
    """Find a good configuration with as little training as possible.

    Run it again with the same arguments after anything went wrong: it goes on where it was.

    Args:
        train: ``train(config, run)``, see :class:`Run`; or a :class:`Script`.
        space: the search space: a dict of name to :class:`Float`, :class:`Int`, list of options
            or constant, or a ``ConfigSpace.ConfigurationSpace``.
        metric: the name under which ``run.report`` is given the quantity to optimise.
        goal: ``"min"`` or ``"max"``.
        max_resource: the most training you would ever pay for one configuration, in whatever
            ``run.report`` counts. Without it PASHA's ceiling alone decides, with a warning when
            it climbs out of sight.
        trials: how many configurations are tried at most; 256 if nothing else ends the study.
        workers: how many train at a time; ``"auto"``: one a GPU, else one a processor.
        study: the file that keeps the study; without one it is kept as long as the result is.
        scheduler: :class:`PASHA` with the paper's settings by default.
        searcher: who proposes configurations; random by default.
        initial: configurations to try first.
        transfer: earlier study files, one or a list. Their leaders are tried before ``initial``,
            and set the bar: any other configuration goes on beyond a rung only if it is at least
            as good there as the best of them (:class:`Rush`).
        leaders: how many configurations are taken from earlier studies at most (:func:`leaders`);
            4 by default.
        seed: same seed, same configurations.
        finish: ``"drain"``: go on until nothing is promotable; ``"paper"``: end when the last
            configuration has started.
        seconds: end after so many seconds of running.
        resource_budget: end when so much resource has been spent in all.
        target: end when a value as good as this is reported.
        gpus_per_worker: GPUs for each worker; a fraction shares one among several.
        preload: modules that workers import before their first job.
        retries: how often a trial that failed is tried again from its checkpoint; it counts anew
            whenever the trial has got further.
        trial_timeout: the longest that one leg of a trial may take, in seconds.
        report_timeout: the longest that a trial may be silent, in seconds.
        checkpoint_quota: the most room for checkpoints, in bytes or as ``"20GB"``; beyond it the
            least promising paused trials lose theirs.
        keep: of how many leaders the checkpoints stay in the end, or ``"all"``.
        durability: ``"normal"``: reports survive any kill; ``"full"``: a power failure as well.
        on_report: called with a :class:`Report` after every report. If it raises, the study
            stops and can be resumed.
        on_end: called with the result.
        show: ``"live"``, ``"lines"``, ``"json"``, ``"quiet"``, or ``"auto"``: live on a terminal.

    Raises:
        StudyDiffersError: the file holds another study.
        StudyInterrupted: Ctrl-C; what was reported is kept.
    """
    not_while_loading()
    _check_metric(metric)
    earlier = Transfer.of(transfer, leaders, study)
    asked, open_ended = study_of(
        space,
        goal=goal,
        scheduler=scheduler,
        max_resource=max_resource,
        searcher=searcher,
        initial=initial,
        seed=seed,
        limits=limits_of(trials, finish, seconds, resource_budget, target),
    )
    options = Options(
        workers,
        gpus_per_worker,
        preload,
        retries,
        trial_timeout,
        report_timeout,
        checkpoint_quota,
        keep,
        durability,
    )
    crew = Crew.of(train, options)
    _check_finish(asked, len(crew.shares))
    about = _about(train, metric, crew, open_ended=open_ended, transfer=earlier)
    display = _display(show)
    _check_callbacks(on_report=on_report, on_end=on_end)
    types = (*recipes.kinds_of(asked.scheduler), *recipes.kinds_of(asked.searcher))
    asked = earlier.applied_to(asked, None if study is None else _path(study), types)
    with _place(study) as path, StudyFile(path, durability=durability, types=types) as file:
        _begin(file, asked, about)
        result = _run(file, crew, display, on_report, on_end, kept=study is not None)
    if study is None:
        weakref.finalize(result, shutil.rmtree, path.parent, ignore_errors=True)
    return result


def resume(
    study: str | os.PathLike[str],
    train: Any = None,
    *,
    on_report: Callable[[Report], None] | None = None,
    on_end: Callable[[TuningResult], None] | None = None,
    show: Show | Display = "auto",
    types: Sequence[type] = (),
    **options: Any,
) -> TuningResult:
    """Go on with a study file: every decision in it is checked, then lost jobs are issued again.

    Args:
        study: the file.
        train: the training function; found again by itself where the file knows how.
        on_report: see :func:`tune`.
        on_end: see :func:`tune`.
        show: see :func:`tune`.
        types: recipes, rankings and searchers of your own that the study uses.
        options: how to run it, where that is to change: ``workers``, ``retries``, ….
    """
    not_while_loading()
    display = _display(show)
    _check_callbacks(on_report=on_report, on_end=on_end)
    with _existing(study, types) as file:
        about = file.about
        chosen = Options.read(about.options, options)
        held = file.log.study
        if held.space is not None:
            check_searcher(held.searcher, held.space)
        if train is None:
            train = functions.find(about.train, str(study))
        return _run(file, Crew.of(train, chosen), display, on_report, on_end)


def load(study: str | os.PathLike[str], *, types: Sequence[type] = ()) -> TuningResult:
    """The result of a study file as it stands, also while another process works on it.

    Args:
        study: the file.
        types: recipes, rankings and searchers of your own that the study uses.
    """
    path = _must_exist(study)
    with StudyFile(path, mode="read", types=types) as file:
        if not file.begun:
            raise InvalidArgumentError("study", str(study), "no study has been begun in it")
        engine, clock = fold(file)
        about = file.about
        options = Options.read(about.options, {})
        return TuningResult(
            engine,
            path,
            about,
            seconds=clock,
            failures=file.failures(),
            options=options,
            workers=about.options.get(CREW, 1),
        )


def _run(
    file: StudyFile,
    crew: Crew,
    display: Display,
    on_report: Callable[[Report], None] | None,
    on_end: Callable[[TuningResult], None] | None,
    *,
    kept: bool = True,
) -> TuningResult:
    session = Session(file, crew, display=display, on_report=on_report, kept=kept)
    seconds = session.run()
    result = TuningResult(
        session.engine,
        file.path,
        file.about,
        seconds=seconds,
        failures=file.failures(),
        options=crew.options,
        workers=len(crew.shares),
    )
    if on_end is not None:
        on_end(result)
    return result


def _begin(file: StudyFile, asked: Study, about: About) -> None:
    """A fresh file takes the study; one that holds a study must hold the same."""
    if not file.begun:
        if any(file.folder.glob("trial-*")):
            rule = (
                f"{shown(file.folder)} holds checkpoints of another study, which is gone: delete "
                f"that folder, or take another name"
            )
            raise InvalidArgumentError("study", shown(file.path), rule)
        file.begin_with(asked, about)
        return
    lines = differences(file.log.study, asked, (file.about.metric, about.metric))
    if lines:
        raise StudyDiffersError(str(file.path), lines)


@contextmanager
def _place(study: Any) -> Iterator[Path]:
    """Where the study is kept; without a name in a folder that goes when something goes wrong."""
    if study is not None:
        yield _path(study)
        return
    folder = Path(tempfile.mkdtemp(prefix="rungwise-"))
    try:
        yield folder / "study.db"
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _path(study: Any) -> Path:
    try:
        # In full and without links: the study stays the same file whoever changes the folder, and
        # has one lock whatever it is called by.
        path = Path(os.fspath(study)).resolve() if study != "" else Path()
    except TypeError:
        path = Path()
    if not path.name or path.is_dir():
        raise InvalidArgumentError("study", study, "it must be the name of a file")
    if not path.parent.is_dir():
        rule = f"there must be a folder {shown(path.parent)}"
        raise InvalidArgumentError("study", str(study), rule)
    return path


def _about(train: Any, metric: str, crew: Crew, *, open_ended: bool, transfer: Transfer) -> About:
    return About(
        metric=metric,
        open_ended=open_ended,
        train=functions.reference(train),
        options={**crew.options.to_json(), CREW: len(crew.shares), **transfer.record()},
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        version=__version__,
    )


def _check_finish(study: Study, workers: int) -> None:
    trials = study.limits.trials
    if study.limits.finish == "paper" and trials is not None and trials <= workers:
        rule = f"it ends when the last of {trials} starts: {workers} workers would train nothing"
        raise InvalidArgumentError("finish", "paper", rule)


def _check_metric(metric: Any) -> None:
    if not (isinstance(metric, str) and metric.isidentifier()):
        rule = "it must be a name that run.report can be given, such as accuracy"
        raise InvalidArgumentError("metric", metric, rule)


def _display(show: Any) -> Display:
    if isinstance(show, str):
        return choose(show)
    parts = ("begin", "due", "update", "notice", "end")
    if isinstance(show, type) or not all(callable(getattr(show, part, None)) for part in parts):
        rule = "it must be 'auto', 'live', 'lines', 'json', 'quiet', or a display"
        raise InvalidArgumentError("show", show, rule)
    display: Display = show
    return display


def _check_callbacks(**callbacks: Any) -> None:
    for name, callback in callbacks.items():
        if callback is not None and not callable(callback):
            raise InvalidArgumentError(name, callback, "it must be a function")


def _must_exist(study: str | os.PathLike[str]) -> Path:
    if not Path(study).is_file():
        raise InvalidArgumentError("study", str(study), "there must be such a file")
    return Path(study).resolve()


def _existing(study: str | os.PathLike[str], types: Sequence[type]) -> StudyFile:
    path = _must_exist(study)
    # Look before anything is touched: a file that is none of ours is left as it is.
    with StudyFile(path, mode="read", types=types) as file:
        if not file.begun:
            raise InvalidArgumentError("study", str(study), "no study has been begun in it")
        durability = Options.read(file.about.options, {}).durability
    return StudyFile(path, durability=durability, types=types)
