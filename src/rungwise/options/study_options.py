"""Every option of a study, written once, in dataclasses grouped by meaning.

A new option is one field here (or in a backend, see :class:`rungwise.Local`) and one keyword of
:func:`rungwise.tune`; its check, flag, key and documentation follow. ``python docs/options.py
--write`` writes the texts into the docstrings and the reference page.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

from rungwise.backends.local import Local
from rungwise.checkpoints import CheckpointStore, FolderStore, FsspecStore, is_address
from rungwise.core.limits import Finish
from rungwise.errors import InvalidArgumentError, Words
from rungwise.options import (
    REQUIRED,
    Option,
    check_not_negative,
    check_nothing,
    check_number,
    check_options,
    check_switch,
    check_time,
    check_wait,
    list_options,
    make_count_check,
    make_word_check,
    option,
    take,
)
from rungwise.options.backend_options import SHORT_FORMS, choose_backend, read_backend
from rungwise.options.checks import (
    check_backend,
    check_callbacks,
    check_configurations,
    check_display,
    check_folder_or_address,
    check_goal,
    check_metric,
    check_quota,
    check_searcher,
    check_unit,
)
from rungwise.options.registry import FAMILIES
from rungwise.schedulers.codec import recipe_to_json
from rungwise.storage.sqlite import Durability
from rungwise.storage.study_file import study_folder
from rungwise.validation import set_frozen


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """What is searched."""

    metric: str = option(
        REQUIRED, text="name of the metric passed to run.report.", check=check_metric
    )
    goal: Literal["min", "max"] | None = option(
        None,
        text='whether the metric is minimised ("min") or maximised ("max"). Inferred from the name '
        "of a well-known metric such as accuracy or val_loss; of any other it must be given.",
        check=check_goal,
        words=("min", "max"),
    )
    max_resource: int | None = option(
        None,
        text="the most training for one configuration, in the unit that run.report counts (epochs, "
        "steps, rounds). Without it PASHA decides how much is enough, and a warning is given when "
        "its ceiling reaches the safety net.",
        check=make_count_check(1),
        kind=int,
    )
    scheduler: Any = option(
        None,
        text="which trial is trained next and how far: a scheduler such as rungwise.ASHA(), or its "
        "name. By default adaptive halving if max_resource is given, else PASHA.",
        check=check_nothing,
        family="scheduler",
    )
    searcher: Any = option(
        None,
        text="what proposes configurations: a searcher such as rungwise.searchers.GP(), or its "
        "name; random sampling by default.",
        check=check_searcher,
        family="searcher",
    )
    initial: Sequence[Mapping[str, Any]] = option(
        (), text="configurations to try first.", check=check_configurations, flag=False
    )
    transfer: Any = option(
        (),
        text="earlier study files, one or several. Their best configurations are tried first, and "
        "any other is trained beyond a rung only if it is at least as good there as the best of "
        "them (see Rush).",
        check=check_nothing,
        repeatable=True,
        metavar="FILE",
    )
    leaders: int | None = option(
        None,
        text="maximum number of configurations taken from earlier studies, in total; 4 by default.",
        check=make_count_check(1),
        kind=int,
    )
    seed: int = option(
        0, text="the same seed draws the same configurations.", check=make_count_check(0), kind=int
    )

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderOptions:
    """Options of the scheduler with a flag and a key of their own; not every scheduler has each."""

    min_resource: int | None = option(
        None, text="training of the first rung (r).", check=check_nothing, kind=int
    )
    eta: int | None = option(
        None,
        text="reduction factor (η): one trial in η is trained beyond a rung.",
        check=check_nothing,
        kind=int,
    )
    ranking: Any = option(
        None,
        text="PASHA's criterion for a stable ranking, NAME or NAME:numbers, for example noise:90, "
        "soft:0.02 or rbo:0.5,0.5.",
        check=check_nothing,
        family="ranking",
        keyword=False,
    )
    size: int | None = option(
        None,
        text="number of configurations that start together (successive and adaptive halving).",
        check=check_nothing,
        kind=int,
        keyword=False,
    )
    promote: str | None = option(
        None,
        text='which trials of a rung are promoted: "floor" (the best ⌊n/η⌋, as in the paper) or '
        '"quantile" (as in its authors\' code).',
        check=check_nothing,
        words=("floor", "quantile"),
        keyword=False,
    )
    check: str | None = option(
        None,
        text='when PASHA compares rankings: "rung" (when a trial reaches the top rung) or "report" '
        "(after every report).",
        check=check_nothing,
        words=("rung", "report"),
        keyword=False,
    )
    variant: str | None = option(
        None,
        text='"promotion" (trials pause and are promoted) or "stopping" (trials run until they are '
        "stopped).",
        check=check_nothing,
        words=("promotion", "stopping"),
        keyword=False,
    )

    @property
    def given(self) -> dict[str, Any]:
        """Return those that are given, by name."""
        found = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: value for name, value in found.items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class StopOptions:
    """When the study ends; the first condition that holds ends it."""

    trials: int | None = option(
        None,
        text="maximum number of configurations; 256 if nothing else ends the study. Of more than "
        "64 adaptive halving draws half, unless it is given a size.",
        check=make_count_check(1),
        kind=int,
    )
    finish: Finish = option(
        "drain",
        text='"drain": continue until no trial can be promoted; "paper": end when the last '
        "configuration has started.",
        check=make_word_check("drain", "paper"),
        words=("drain", "paper"),
    )
    seconds: float | None = option(
        None, text="end after this many seconds of running.", check=check_not_negative, kind=float
    )
    resource_budget: float | None = option(
        None,
        text="end when this much resource has been spent in total.",
        check=check_not_negative,
        kind=float,
    )
    target: float | None = option(
        None,
        text="end when a value at least this good is reported.",
        check=check_number,
        kind=float,
    )
    stall: int | None = option(
        None,
        text="draw no further configuration once this number in a row have not improved on the "
        "best; what was drawn is still compared to the end.",
        check=make_count_check(1),
        kind=int,
    )

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How the study is run; no decision depends on it."""

    backend: Any = option(
        None,
        text="where trials are trained: a backend such as rungwise.Local(workers=4), or its name; "
        "worker processes on this machine by default. For these, workers, gpus_per_worker and "
        "preload set the options directly.",
        flag_text="where trials are trained: the name of a backend, also with options, such as "
        "local:workers=4; worker processes on this machine by default. --workers, "
        "--gpus-per-worker and --preload set its options directly.",
        check=check_backend,
        family="backend",
    )
    retries: int = option(
        1,
        text="number of times a failed trial is tried again from its checkpoint; counted from 0 "
        "again whenever the trial has made progress.",
        check=make_count_check(0),
        kind=int,
    )
    trial_timeout: float | None = option(
        None,
        text="longest time for one job (a trial trained to its next rung), in seconds.",
        check=check_time,
        kind=float,
    )
    report_timeout: float | None = option(
        None,
        text="longest time between two reports of a job, in seconds.",
        check=check_time,
        kind=float,
    )
    checkpoint_quota: int | str | None = option(
        None,
        text='the most disk space for checkpoints, in bytes or as "20GB"; beyond it the least '
        "promising paused trials lose theirs.",
        check=check_quota,
        metavar="SIZE",
    )
    checkpoints: Any = option(
        None,
        text="folder where checkpoints are kept, or an address such as s3://bucket/path (extra "
        "fsspec); beside the study file by default.",
        check=check_folder_or_address,
        metavar="PLACE",
    )
    mirror: Any = option(
        None,
        text="folder or address where a copy of the study file is kept, so that the study "
        "can be resumed on another machine; none by default.",
        check=check_folder_or_address,
        metavar="PLACE",
    )
    mirror_every: float = option(
        60.0,
        text="seconds between two copies; what is reported after the last one is trained again "
        "when the study is resumed from it.",
        check=check_time,
        kind=float,
    )
    winner: Literal["top", "best"] | None = option(
        None,
        text='which trial wins: "top" (the best of those at the highest rung) or "best" (the best '
        'value at any resource); by default what suits the scheduler: "top" for adaptive halving, '
        '"best" for all others.',
        check=make_word_check("top", "best"),
        words=("top", "best"),
    )
    unit: str = option(
        "resource",
        text="what one unit of resource is called in texts and figures, such as epochs.",
        check=check_unit,
        metavar="WORD",
    )
    keep: int | Literal["all"] = option(
        3,
        text='number of best trials that keep their checkpoints after the study, or "all".',
        check=make_count_check(0, "all"),
        kind=int,
        words=("all",),
    )
    keep_best: bool = option(
        False,
        text="whether every trial keeps the checkpoint of its best report too, besides its last "
        "one.",
        check=check_switch,
        kind=bool,
    )
    durability: Durability = option(
        "normal",
        text='"normal": reports survive the crash of any process; "full": also a power failure.',
        check=make_word_check("normal", "full"),
        words=("normal", "full"),
        fixed=True,
    )
    grace: float = option(
        5.0,
        text="seconds that a job has to end when it is asked to; then its process is killed.",
        check=check_wait,
        kind=float,
    )

    def __post_init__(self) -> None:
        # Clean values are plain ones, whatever kind they are given as: the study file holds JSON.
        check_options(self)
        for name in ("checkpoints", "mirror"):
            place = getattr(self, name)
            if place is not None and not is_address(place):
                # Workers, or a study that is resumed, may be elsewhere.
                set_frozen(self, **{name: str(Path(place).absolute())})
        if self.backend is None:
            set_frozen(self, backend=Local())

    def store_beside(self, study: Path) -> CheckpointStore:
        """Where the checkpoints of a study file are kept."""
        folder = study_folder(study)
        if self.checkpoints is not None and is_address(self.checkpoints):
            return FsspecStore(f"{self.checkpoints}/{folder.name}")
        if self.checkpoints is not None:  # shared with other studies, perhaps
            folder = Path(self.checkpoints, folder.name)
        return FolderStore(str(folder), durable=self.durability == "full")

    def to_json(self) -> dict[str, Any]:
        """As plain JSON, for the study file."""
        plain = {each.name: getattr(self, each.name) for each in fields(self)}
        return {**plain, "backend": recipe_to_json(self.backend)}

    @classmethod
    def read(
        cls, document: Mapping[str, Any], changes: Mapping[str, Any], types: Iterable[type] = ()
    ) -> RunOptions:
        """The options of a study file, with changes; what this version does not know is dropped.

        Args:
            document: the options in the file.
            changes: what is to change: options, or fields of the backend in their short form.
            types: backends beyond those of rungwise.
        """
        known = [each.name for each in list_options(cls)]
        unknown = sorted(set(changes) - set(RESUMABLE_OPTIONS))
        if unknown:
            rule = f"only how a study is run can be changed: {', '.join(RESUMABLE_OPTIONS)}"
            raise InvalidArgumentError("options", Words(", ".join(unknown)), rule)
        given = {name: value for name, value in {**document, **changes}.items() if name in known}
        chosen = changes.get("backend")
        held = read_backend(document, types) if chosen is None else None
        return cls(**{**given, "backend": choose_backend(chosen, changes, held)})

    @classmethod
    def take(cls, given: Mapping[str, Any]) -> RunOptions:
        """Return the options in arguments by name, as flags and study files give them.

        Args:
            given: the arguments; those that do not say how a study is run are passed over.
        """
        return take(cls, {**given, "backend": choose_backend(given.get("backend"), given)})


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputOptions:
    """Where the study is kept, and what is shown meanwhile."""

    study: Any = option(
        None,
        text="file that keeps the study. Without one, Python keeps the study as long as its "
        "result; the command line takes NAME.db in the current folder.",
        flag_text="file that keeps the study. Default: NAME.db in the current folder.",
        check=check_nothing,
        metavar="FILE",
    )
    show: Any = option(
        "auto",
        text='what is shown while the study runs: the name of a display; "auto": a live view on a '
        "terminal, else log lines. In Python also a display of your own.",
        check=check_display,
        family="show",
    )
    callbacks: Sequence[Any] = option(
        (),
        text="called with everything that happens, such as rungwise.callbacks.TensorBoard(), or "
        "names of such; what one of them raises never ends the study.",
        check=check_callbacks,
        flag=False,
        key=False,
    )
    track: Sequence[str] = option(
        (),
        text="where the study is tracked: the name of a callback, also with options, such as "
        "tensorboard:runs or csv:reports.csv. Give it again when the study is resumed: what is "
        "missing there is added.",
        check=check_nothing,
        repeatable=True,
        keyword=False,
        family="track",
    )
    dashboard: bool = option(
        False,
        text="whether a live page of the study is opened in the browser while it runs.",
        check=check_switch,
        kind=bool,
    )

    def __post_init__(self) -> None:
        check_options(self)


RESUMABLE_OPTIONS = (
    *(each.name for each in list_options(RunOptions) if not each.fixed),
    *(each.name for each in SHORT_FORMS),
)
"""What a study may be resumed with, other than it was run with so far."""

GROUPS = (SearchOptions, LadderOptions, StopOptions, RunOptions, OutputOptions)
"""All groups, in the order for documentation."""


def list_names(each: Option) -> tuple[str, ...]:
    """The names that an option takes, if it takes those of a family."""
    return FAMILIES[each.family].words() if each.family else ()
