"""Open a study to be run: one that is asked for, or one that a file holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from rungwise.core.engine import Engine
from rungwise.core.events import StudyExtended
from rungwise.core.study import Study
from rungwise.display import Display
from rungwise.options.study_options import RunOptions
from rungwise.session.assignments import AssignmentMaker
from rungwise.session.misuse import say_goal, say_initial
from rungwise.session.opened import OpenedStudy
from rungwise.storage.record import StudyRecord
from rungwise.storage.study_file import StudyFile, shown
from rungwise.tuning.beginning import begin_study
from rungwise.tuning.extending import extend_by, extend_to
from rungwise.tuning.folding import fold_for_resuming


@dataclass(frozen=True, slots=True)
class Asking:
    """A study that is asked for.

    Attributes:
        study: the study.
        about: what its file is to say of it.
        options: how it is run.
        open_ended: whether no maximum was given.
        default: whether its scheduler is the default.
    """

    study: Study
    about: StudyRecord
    options: RunOptions
    open_ended: bool
    default: bool


def open_asked(
    file: StudyFile, asking: Asking, display: Display, goal: str | None, *, kept: bool
) -> OpenedStudy:
    """Open a study that is asked for; a file that holds it already goes on, or is extended.

    Args:
        file: the file, open for writing.
        asking: what is asked for.
        display: what a person sees.
        goal: the goal, if it was given.
        kept: whether the file outlives the process.
    """
    study, metric = asking.study, asking.about.metric
    begin_study(file, study, asking.about, asking.options.store_beside(file.path))
    extend = extend_to(study, metric, file, default=asking.default)
    opened = _open(file, asking.options, extend, bounded=not asking.open_ended, kept=kept)
    say_goal(display, metric, goal, study.goal)
    say_initial(display, study)
    return opened


def open_existing(file: StudyFile, more: Mapping[str, Any], options: RunOptions) -> OpenedStudy:
    """Open the study of a file.

    Args:
        file: the file, open for writing.
        more: the limits that are to be larger, as ``take_extension`` returns them.
        options: how it is run from now on.
    """
    extend = extend_by(more, shown(file.path), open_ended=file.about.open_ended)
    return _open(file, options, extend, bounded="max_resource" in more, kept=True)


def _open(
    file: StudyFile,
    options: RunOptions,
    extend: Callable[[Engine, float], StudyExtended | None],
    *,
    bounded: bool,
    kept: bool,
) -> OpenedStudy:
    engine, since = fold_for_resuming(file.main, extend)
    if file.about.open_ended and bounded:
        file.change_about(replace(file.about, open_ended=False))
    study, about = engine.study, file.about
    assignments = AssignmentMaker(
        metric=about.metric,
        max_resource=None if about.open_ended else study.scheduler.max_resource,
        seed=study.seed,
        goal=study.goal,
    )
    return OpenedStudy(file.main, engine, since, options, assignments, kept)
