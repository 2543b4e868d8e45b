"""open_study(): a study for loops that rungwise does not run."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from rungwise.core.limits import Finish
from rungwise.core.scheduler import Recipe
from rungwise.core.searcher import Searcher
from rungwise.errors import InvalidArgumentError
from rungwise.options import check_switch
from rungwise.options.build import StudyRequest, build_study
from rungwise.options.checks import check_callbacks
from rungwise.options.foreign_names import answer_unknown_names
from rungwise.options.study_options import (
    LadderOptions,
    RunOptions,
    SearchOptions,
    StopOptions,
)
from rungwise.storage.codec import list_study_types
from rungwise.storage.sqlite import Durability
from rungwise.storage.study_file import StudyFile
from rungwise.tuning.ask_tell import AskTellStudy
from rungwise.tuning.asking import HeardQueue, NoticeQueue
from rungwise.tuning.beginning import place_study, study_path
from rungwise.tuning.kept_options import describe_study, keep_options
from rungwise.tuning.opened import Asking, open_asked
from rungwise.tuning.places import check_kept, fetch_from_mirror
from rungwise.tuning.transfer import Files, Transfer


@answer_unknown_names
def open_study(
    study: str | os.PathLike[str] | None,
    space: Any,
    *,
    metric: str,
    goal: Literal["min", "max"] | None = None,
    max_resource: int | None = None,
    trials: int | None = None,
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
    winner: Literal["top", "best"] | None = None,
    unit: str = "resource",
    mirror: str | os.PathLike[str] | None = None,
    mirror_every: float = 60.0,
    durability: Durability = "normal",
    auto_end: bool = True,
    on_notice: Callable[[str], None] | None = None,
    callbacks: Sequence[Any] = (),
) -> AskTellStudy:
    """Open a study that a loop of your own asks for jobs: :meth:`AskTellStudy.ask`, ``report``.

    For what rungwise does not run: a simulator, a robot, an existing trainer, another scheduler.
    Open it again with the same arguments after anything went wrong: it goes on where it was, and
    jobs that were open are issued again. With larger limits it goes on although it had ended.

    Args:
        study: file that keeps the study; None for one that goes with the process.
        space: the search space, as :func:`tune` takes it.
        metric: name of the metric.
        goal: whether the metric is minimised ("min") or maximised ("max"). Inferred from the name
            of a well-known metric such as accuracy or val_loss; of any other it must be given.
        max_resource: the most training for one configuration, in the unit that run.report counts
            (epochs, steps, rounds). Without it PASHA decides how much is enough, and a warning is
            given when its ceiling reaches the safety net.
        trials: maximum number of configurations; 256 if nothing else ends the study. Of more than
            64 adaptive halving draws half, unless it is given a size.
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
        winner: which trial wins: "top" (the best of those at the highest rung) or "best" (the best
            value at any resource); by default what suits the scheduler: "top" for adaptive halving,
            "best" for all others.
        unit: what one unit of resource is called in texts and figures, such as epochs.
        mirror: folder or address where a copy of the study file is kept, so that the study can be
            resumed on another machine; none by default.
        mirror_every: seconds between two copies; what is reported after the last one is trained
            again when the study is resumed from it.
        durability: "normal": reports survive the crash of any process; "full": also a power
            failure.
        auto_end: whether a job has left as soon as its report was answered False. With False say
            ``ended(job)`` when it has, for loops in which that takes time: until then its trial is
            not promoted.
        on_notice: called with what a person should know: a trial that failed, for example.
        callbacks: called with everything that happens, such as rungwise.callbacks.TensorBoard(), or
            names of such; what one of them raises never ends the study.

    Raises:
        StudyDiffersError: the file holds another study.
        LogInUseError: another process has it open.

    Example:
        >>> import rungwise as rw
        >>> space = {"x": rw.Float(0, 1)}
        >>> limits = {"max_resource": 9, "trials": 9}
        >>> with rw.open_study(None, space, metric="loss", **limits) as study:
        ...     for job in study.jobs():
        ...         for epoch in job.resources():
        ...             if not study.report(job, epoch, (job.config["x"] - 0.3) ** 2 + 1 / epoch):
        ...                 break
        >>> study.result.trials
        9
    """
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
    options = RunOptions(
        retries=retries, trial_timeout=trial_timeout, report_timeout=report_timeout, winner=winner,
        unit=unit,
        mirror=mirror, mirror_every=mirror_every, durability=durability,
    )  # fmt: skip
    listeners = check_callbacks("callbacks", callbacks)
    check_switch("auto_end", auto_end)
    if on_notice is not None and not callable(on_notice):
        raise InvalidArgumentError("on_notice", on_notice, "it must be a function")
    check_kept(options, study)
    earlier = Transfer.of(request.search.transfer, request.search.leaders, study)
    built = build_study(request)
    asked, open_ended = built.study, built.open_ended
    types = list_study_types(asked)
    asked = earlier.applied_to(asked, None if study is None else study_path(study), types)
    about = describe_study(metric, options, 1, earlier, open_ended=open_ended, kind="ask/tell")
    queue = NoticeQueue() if on_notice is None else HeardQueue()
    with place_study(study) as path:
        fetched = fetch_from_mirror(path, options, types)
        if fetched is not None:
            queue.notice(fetched)
        file = StudyFile(path, durability=options.durability, types=types, any_thread=True)
        try:
            asking = Asking(asked, about, options, open_ended=open_ended, default=built.default)
            opened = open_asked(file, asking, queue, goal, kept=study is not None)
            keep_options(file, options, file.about.workers)
            return AskTellStudy(
                opened,
                queue,
                auto_end=bool(auto_end),
                on_notice=on_notice,
                callbacks=listeners,
            )
        except BaseException:
            file.close()
            raise
