"""tune() and resume(): what users call."""

from __future__ import annotations

import os
import shutil
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from rungwise.backends.base import PreparedBackend
from rungwise.callbacks import ReportEvent
from rungwise.callbacks.functions import ReportFunction
from rungwise.core.limits import Finish
from rungwise.core.scheduler import Recipe
from rungwise.core.searcher import Searcher
from rungwise.core.study import Study
from rungwise.display import Display, choose
from rungwise.errors import InvalidArgumentError
from rungwise.options import check_switch
from rungwise.options.backend_options import choose_backend
from rungwise.options.build import StudyRequest, build_study
from rungwise.options.checks import check_callbacks, check_display
from rungwise.options.foreign_names import answer_unknown_names, refuse_unchangeable
from rungwise.options.study_options import (
    RESUMABLE_OPTIONS,
    LadderOptions,
    OutputOptions,
    RunOptions,
    SearchOptions,
    StopOptions,
)
from rungwise.script_guard import refuse_while_loading
from rungwise.searchers.checking import check_searcher
from rungwise.session.opened import OpenedStudy
from rungwise.session.session import StudySession
from rungwise.storage.codec import list_study_types
from rungwise.storage.sqlite import Durability
from rungwise.storage.study_file import StudyFile, shown
from rungwise.tuning import function_reference
from rungwise.tuning.beginning import place_study, study_path
from rungwise.tuning.extending import take_extension
from rungwise.tuning.kept_options import describe_study, keep_options
from rungwise.tuning.live_page import open_page
from rungwise.tuning.loading import read_options
from rungwise.tuning.opened import Asking, open_asked, open_existing
from rungwise.tuning.opening import must_be_file
from rungwise.tuning.parts import follow_tuning
from rungwise.tuning.places import check_kept, check_places, fetch_from_mirror, open_or_fetch
from rungwise.tuning.result import TuningResult
from rungwise.tuning.results import make_result
from rungwise.tuning.running import run_session
from rungwise.tuning.transfer import Files, Transfer
from rungwise.tuning.trust import check_trust


@answer_unknown_names
def tune(
    train: Any,
    space: Any,
    *,
    metric: str,
    goal: Literal["min", "max"] | None = None,
    max_resource: int | None = None,
    trials: int | None = None,
    backend: Any = None,
    workers: int | Literal["auto"] | None = None,
    gpus_per_worker: float | None = None,
    preload: Sequence[str] | None = None,
    study: str | os.PathLike[str] | None = None,
    scheduler: Recipe | str | None = None,
    min_resource: int | None = None,
    eta: int | None = None,
    searcher: Searcher | str | None = None,
    initial: Sequence[Mapping[str, Any]] = (),
    transfer: Files = (),
    leaders: int | None = None,
    seed: int = 0,
    finish: Finish = "drain",
    seconds: float | None = None,
    resource_budget: float | None = None,
    target: float | None = None,
    stall: int | None = None,
    retries: int = 1,
    trial_timeout: float | None = None,
    report_timeout: float | None = None,
    checkpoint_quota: int | str | None = None,
    checkpoints: str | os.PathLike[str] | None = None,
    mirror: str | os.PathLike[str] | None = None,
    mirror_every: float = 60.0,
    winner: Literal["top", "best"] | None = None,
    unit: str = "resource",
    keep: int | Literal["all"] = 3,
    keep_best: bool = False,
    durability: Durability = "normal",
    grace: float = 5.0,
    on_report: Callable[[ReportEvent], None] | None = None,
    on_end: Callable[[TuningResult], None] | None = None,
    show: str | Display = "auto",
    callbacks: Sequence[Any] = (),
    dashboard: bool = False,
) -> TuningResult:
    """Find a good configuration with as little training as possible.

    Run it again with the same arguments after anything went wrong: it goes on where it was. With
    larger limits it goes on from there, also when it had ended.

    Args:
        train: ``train(config, run)``, see :class:`Run`; or a :class:`Script`.
        space: the search space: a dict of name to :class:`Float`, :class:`Int`, list of options
            or constant, or a ``ConfigSpace.ConfigurationSpace``.
        metric: name of the metric passed to run.report.
        goal: whether the metric is minimised ("min") or maximised ("max"). Inferred from the name
            of a well-known metric such as accuracy or val_loss; of any other it must be given.
        max_resource: the most training for one configuration, in the unit that run.report counts
            (epochs, steps, rounds). Without it PASHA decides how much is enough, and a warning is
            given when its ceiling reaches the safety net.
        trials: maximum number of configurations; 256 if nothing else ends the study. Of more than
            64 adaptive halving draws half, unless it is given a size.
        backend: where trials are trained: a backend such as rungwise.Local(workers=4), or its name;
            worker processes on this machine by default. For these, workers, gpus_per_worker and
            preload set the options directly.
        workers: number of configurations trained at the same time; "auto": one per GPU, or one per
            processor where there is no GPU.
        gpus_per_worker: GPUs for each worker; a fraction lets several workers share one GPU.
        preload: modules that workers import before their first job.
        study: file that keeps the study. Without one, Python keeps the study as long as its result;
            the command line takes NAME.db in the current folder.
        scheduler: which trial is trained next and how far: a scheduler such as rungwise.ASHA(), or
            its name. By default adaptive halving if max_resource is given, else PASHA.
        min_resource: training of the first rung (r).
        eta: reduction factor (η): one trial in η is trained beyond a rung.
        searcher: what proposes configurations: a searcher such as rungwise.searchers.GP(), or its
            name; random sampling by default.
        initial: configurations to try first.
        transfer: earlier study files, one or several. Their best configurations are tried first,
            and any other is trained beyond a rung only if it is at least as good there as the best
            of them (see Rush).
        leaders: maximum number of configurations taken from earlier studies, in total; 4 by
            default.
        seed: the same seed draws the same configurations.
        finish: "drain": continue until no trial can be promoted; "paper": end when the last
            configuration has started.
        seconds: end after this many seconds of running.
        resource_budget: end when this much resource has been spent in total.
        target: end when a value at least this good is reported.
        stall: draw no further configuration once this number in a row have not improved on the
            best; what was drawn is still compared to the end.
        retries: number of times a failed trial is tried again from its checkpoint; counted from 0
            again whenever the trial has made progress.
        trial_timeout: longest time for one job (a trial trained to its next rung), in seconds.
        report_timeout: longest time between two reports of a job, in seconds.
        checkpoint_quota: the most disk space for checkpoints, in bytes or as "20GB"; beyond it the
            least promising paused trials lose theirs.
        checkpoints: folder where checkpoints are kept, or an address such as s3://bucket/path
            (extra fsspec); beside the study file by default.
        mirror: folder or address where a copy of the study file is kept, so that the study can be
            resumed on another machine; none by default.
        mirror_every: seconds between two copies; what is reported after the last one is trained
            again when the study is resumed from it.
        winner: which trial wins: "top" (the best of those at the highest rung) or "best" (the best
            value at any resource); by default what suits the scheduler: "top" for adaptive halving,
            "best" for all others.
        unit: what one unit of resource is called in texts and figures, such as epochs.
        keep: number of best trials that keep their checkpoints after the study, or "all".
        keep_best: whether every trial keeps the checkpoint of its best report too, besides its last
            one.
        durability: "normal": reports survive the crash of any process; "full": also a power
            failure.
        grace: seconds that a job has to end when it is asked to; then its process is killed.
        on_report: called with a :class:`ReportEvent` after every report. If it raises, the study
            stops and can be resumed.
        on_end: called with the result.
        show: what is shown while the study runs: the name of a display; "auto": a live view on a
            terminal, else log lines. In Python also a display of your own.
        callbacks: called with everything that happens, such as rungwise.callbacks.TensorBoard(), or
            names of such; what one of them raises never ends the study.
        dashboard: whether a live page of the study is opened in the browser while it runs.

    Raises:
        StudyDiffersError: the file holds another study.
        StudyInterrupted: Ctrl-C; what was reported is kept.
    """
    refuse_while_loading()
    request = StudyRequest(
        space,
        SearchOptions(
            metric=metric, goal=goal, max_resource=max_resource, scheduler=scheduler,
            searcher=searcher, initial=initial, transfer=transfer, leaders=leaders, seed=seed,
        ),
        LadderOptions(min_resource=min_resource, eta=eta),
        StopOptions(
            trials=trials, finish=finish, seconds=seconds, resource_budget=resource_budget,
            target=target, stall=stall,
        ),
    )  # fmt: skip
    short = {"workers": workers, "gpus_per_worker": gpus_per_worker, "preload": preload}
    options = RunOptions(
        backend=choose_backend(backend, short), retries=retries, trial_timeout=trial_timeout,
        report_timeout=report_timeout, checkpoint_quota=checkpoint_quota, checkpoints=checkpoints,
        mirror=mirror, mirror_every=mirror_every, winner=winner, unit=unit, keep=keep,
        keep_best=keep_best, durability=durability, grace=grace,
    )  # fmt: skip
    output = OutputOptions(study=study, show=show, callbacks=callbacks, dashboard=dashboard)
    return carry_out(train, request, options, output, on_report=on_report, on_end=on_end)


def carry_out(
    train: Any,
    request: StudyRequest,
    options: RunOptions,
    output: OutputOptions,
    *,
    on_report: Callable[[ReportEvent], None] | None = None,
    on_end: Callable[[TuningResult], None] | None = None,
) -> TuningResult:
    """Train the study that is asked for: what :func:`tune` and the command line share."""
    search, study, built = request.search, output.study, build_study(request)
    asked, open_ended = built.study, built.open_ended
    earlier = Transfer.of(search.transfer, search.leaders, study)
    check_kept(options, study)
    prepared = options.backend.prepare(train)
    _check_finish(asked, prepared.workers)
    check_places(options, prepared, study)
    about = describe_study(
        search.metric,
        options,
        prepared.workers,
        earlier,
        open_ended=open_ended,
        train=function_reference.reference(train),
    )
    display = _choose_display(output.show)
    _check_functions(on_report=on_report, on_end=on_end)
    types = list_study_types(asked)
    asked = earlier.applied_to(asked, None if study is None else study_path(study), types)
    with place_study(study) as path, open_or_fetch(path, options, display.notice, types) as file:
        asking = Asking(asked, about, options, open_ended=open_ended, default=built.default)
        opened = open_asked(file, asking, display, search.goal, kept=study is not None)
        listed = _list_callbacks(output.callbacks, on_report)
        function_reference.note_function(file, train, opened.engine)
        with open_page(output.dashboard, file.path, display.notice):
            result = _run(opened, prepared, display, listed, on_end)
    if study is None:
        weakref.finalize(result, shutil.rmtree, path.parent, ignore_errors=True)
    return result


def resume(
    study: str | os.PathLike[str],
    train: Any = None,
    *,
    trials: int | None = None,
    max_resource: int | None = None,
    seconds: float | None = None,
    resource_budget: float | None = None,
    target: float | None = None,
    stall: int | None = None,
    on_report: Callable[[ReportEvent], None] | None = None,
    on_end: Callable[[TuningResult], None] | None = None,
    show: str | Display = "auto",
    callbacks: Sequence[Any] = (),
    dashboard: bool = False,
    types: Sequence[type] = (),
    trust: bool = False,
    **options: Any,
) -> TuningResult:
    """Go on with a study file: every decision in it is checked, then lost jobs are issued again.

    With larger limits a study goes on that has ended; each is a total, not what comes on top.

    Args:
        study: the file.
        train: the training function; found again by itself where the file knows how.
        trials: draw up to this many configurations in all, more than so far.
        max_resource: a higher maximum for one configuration; the best of those that were trained to
            the old one are trained further, from their checkpoints.
        seconds: end after this many seconds of running in all.
        resource_budget: end when this much resource has been spent in total.
        target: a better target than so far.
        stall: draw no further configuration once this number in a row have not improved on the
            best, more than so far.
        on_report: see :func:`tune`.
        on_end: see :func:`tune`.
        show: see :func:`tune`.
        callbacks: see :func:`tune`; what one that keeps records has missed, it is given.
        dashboard: see :func:`tune`.
        types: recipes, rankings, searchers and backends of your own that the study uses.
        trust: run what the file names (function or command, backend) although you did not make it
            on this machine.
        options: how to run it, where that is to change: ``backend``, ``retries``, …;
            ``workers`` and the other short forms change a field of the backend it had.
    """
    refuse_while_loading()
    limits = {"trials": trials, "max_resource": max_resource, "seconds": seconds, "stall": stall}
    more = take_extension({**limits, "resource_budget": resource_budget, "target": target})
    refuse_unchangeable(options, RESUMABLE_OPTIONS, tune)
    display = _choose_display(check_display("show", show))
    listed = _list_callbacks(check_callbacks("callbacks", callbacks), on_report)
    _check_functions(on_report=on_report, on_end=on_end)
    with _existing(study, types) as file:
        about = file.about
        check_trust(
            about,
            file.path,
            train=train is None,
            backend=options.get("backend") is None,
            trust=trust,
        )
        chosen = RunOptions.read(about.run, options, types)
        fetch_from_mirror(file.path, chosen, types)
        held = file.log.study
        if held.space is not None:
            check_searcher(held.searcher, held.space)
        if train is None:
            train = function_reference.find(about, file.path)
        prepared = chosen.backend.prepare(train)
        check_places(chosen, prepared, study)
        opened = open_existing(file, more, chosen)
        function_reference.note_function(file, train, opened.engine)
        with open_page(check_switch("dashboard", dashboard), file.path, display.notice):
            return _run(opened, prepared, display, listed, on_end, trust=trust)


def _run(
    opened: OpenedStudy,
    prepared: PreparedBackend,
    display: Display,
    callbacks: Sequence[Any],
    on_end: Callable[[TuningResult], None] | None,
    *,
    trust: bool = False,
) -> TuningResult:
    file = opened.file
    keep_options(file, opened.options, prepared.workers, trust=trust)
    if opened.engine.ended is not None:
        way = opened.view(running=False).way_on
        more = f" It goes on with larger limits: {way}" if way else ""
        display.notice(f"{shown(file.path)} had already finished: nothing to do.{more}")
    session = StudySession(opened, display, follow_tuning(callbacks))
    run_session(session, prepared)
    result = make_result(session, prepared.workers)
    if on_end is not None:
        on_end(result)
    return result


def _check_finish(study: Study, workers: int) -> None:
    trials = study.limits.trials
    if study.limits.finish == "paper" and trials is not None and trials <= workers:
        rule = f"it ends when the last of {trials} starts: {workers} workers would train nothing"
        raise InvalidArgumentError("finish", "paper", rule)


def _choose_display(show: Any) -> Display:
    """The display itself, or the one that a checked name means."""
    return choose(show)


def _check_functions(**functions: Any) -> None:
    for name, function in functions.items():
        if function is not None and not callable(function):
            raise InvalidArgumentError(name, function, "it must be a function")


def _list_callbacks(
    callbacks: Sequence[Any], on_report: Callable[[ReportEvent], None] | None
) -> tuple[Any, ...]:
    """What is called; ``on_report`` comes last, so that others have a report that it stops at."""
    return (*callbacks, *(() if on_report is None else (ReportFunction(on_report),)))


def _existing(study: str | os.PathLike[str], types: Sequence[type]) -> StudyFile:
    must_be_file("study", study)
    path = Path(study).resolve()
    # Read before anything is written: a file that is no study of rungwise is left as it is.
    with StudyFile(path, mode="read", types=types) as file:
        if not file.begun:
            raise InvalidArgumentError("study", str(study), "it contains no study")
        durability = read_options(file.about, types).durability
    return StudyFile(path, durability=durability, types=types)
