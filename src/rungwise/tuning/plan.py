"""What a person asks for, checked and turned into a study and the options to run it with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from rungwise.checkpoints import bytes_of
from rungwise.core.checks import keep, must_be, one_of, real, whole
from rungwise.core.limits import Finish, Limits
from rungwise.core.scheduling import Recipe
from rungwise.core.study import Study
from rungwise.errors import InvalidArgumentError, Told
from rungwise.schedulers import PASHA, Rush
from rungwise.searchers import RandomSearcher
from rungwise.searchers.base import Searcher
from rungwise.searchers.checking import check_searcher
from rungwise.space import Space
from rungwise.storage import documents
from rungwise.storage.sqlite import Durability

TRIALS = 256
"""How many configurations are tried where no other end was asked for: as many as in the paper."""

NET = 10
"""Without a maximum the ladder ends, for safety, this many rungs above its beginning."""


@dataclass(frozen=True, slots=True)
class Options:
    """How a study is run; no decision depends on it.

    Args:
        workers: how many configurations train at a time, or ``"auto"``.
        gpus_per_worker: how many GPUs each worker gets; fractions share one.
        preload: modules that workers import before their first job.
        retries: how often a trial that fails is tried again without having got any further.
        trial_timeout: the longest a job (one leg of a trial) may run, in seconds.
        report_timeout: the longest a job may be silent, in seconds.
        checkpoint_quota: how many bytes checkpoints may take in all, as number or ``"20GB"``.
        keep: of how many leaders the checkpoints stay when the study has ended, or ``"all"``.
        durability: ``"normal"`` survives any kill of any process, ``"full"`` a power failure.
        grace: seconds that a job has to end when it is told to.
    """

    workers: int | Literal["auto"] = "auto"
    gpus_per_worker: float | None = None
    preload: Sequence[str] = ()
    retries: int = 1
    trial_timeout: float | None = None
    report_timeout: float | None = None
    checkpoint_quota: int | str | None = None
    keep: int | Literal["all"] = 3
    durability: Durability = "normal"
    grace: float = 5.0

    def __post_init__(self) -> None:
        # Kept as plain numbers, whatever kind they are given as: the study file holds JSON.
        keep(self, retries=whole("retries", self.retries, at_least=0))
        keep(self, grace=real("grace", self.grace, at_least=0))
        one_of("durability", self.durability, ("normal", "full"))
        if not isinstance(self.workers, str):
            keep(self, workers=whole("workers", self.workers, at_least=1))
        if self.gpus_per_worker is not None:
            keep(self, gpus_per_worker=real("gpus_per_worker", self.gpus_per_worker, at_least=0))
        for name in ("trial_timeout", "report_timeout"):
            if (given := getattr(self, name)) is not None:
                if real(name, given) <= 0:
                    raise InvalidArgumentError(name, given, "it must be above 0")
                keep(self, **{name: real(name, given)})
        if self.checkpoint_quota is not None:
            size = bytes_of("checkpoint_quota", self.checkpoint_quota)
            keep(self, checkpoint_quota=_or_text(self.checkpoint_quota, size))
        if self.keep != "all":
            keep(self, keep=_count_or_all(self.keep))
        keep(self, preload=_modules(self.preload))

    def to_json(self) -> dict[str, Any]:
        """As plain JSON, for the study file."""
        return {**asdict(self), "preload": list(self.preload)}

    @classmethod
    def read(cls, document: Mapping[str, Any], changes: Mapping[str, Any]) -> Options:
        """The options of a study file, with changes; what this version does not know is dropped."""
        known = cls.__dataclass_fields__
        unknown = sorted(set(changes) - set(known))
        if unknown:
            rule = f"only how a study is run can be changed: {', '.join(known)}"
            raise InvalidArgumentError("options", Told(", ".join(unknown)), rule)
        return cls(
            **{name: value for name, value in {**document, **changes}.items() if name in known}
        )


def _or_text(given: Any, number: int) -> int | str:
    return given if isinstance(given, str) else number


def _count_or_all(given: Any) -> int:
    try:
        return whole("keep", given, at_least=0)
    except InvalidArgumentError:
        rule = "it must be a whole number of at least 0, or 'all'"
        raise InvalidArgumentError("keep", given, rule) from None


def _modules(given: Any) -> tuple[str, ...]:
    single = isinstance(given, str) or not isinstance(given, Iterable)
    names = () if single else tuple(given)
    if single or not all(isinstance(name, str) for name in names):
        rule = "it must be a sequence of names of modules"
        raise InvalidArgumentError("preload", given, rule)
    return names


def study_of(
    space: Any,
    *,
    goal: Any,
    scheduler: Recipe | None,
    max_resource: int | None,
    searcher: Searcher | None,
    initial: Sequence[Mapping[str, Any]],
    seed: int,
    limits: Limits,
) -> tuple[Study, bool]:
    """The study that is asked for, and whether it is open-ended."""
    recipe = PASHA() if scheduler is None else scheduler
    must_be("scheduler", recipe, Recipe, "a recipe such as rungwise.PASHA(…)")
    recipe, open_ended = _with_maximum(recipe, max_resource)
    if goal is None:
        rule = "say whether the metric is to be minimised ('min') or maximised ('max')"
        raise InvalidArgumentError("goal", None, rule)
    several: object = initial
    if isinstance(several, (str, Mapping)) or not isinstance(several, Iterable):
        raise InvalidArgumentError("initial", initial, "it must be a list of configurations")
    study = Study(
        recipe,
        limits,
        goal=goal,
        space=Space.parse(space),
        searcher=RandomSearcher() if searcher is None else searcher,
        initial=tuple(initial),
        seed=seed,
    )
    assert study.space is not None
    check_searcher(study.searcher, study.space)
    if isinstance(recipe, Rush) and recipe.priors > len(study.initial):
        rule = f"they are the first of initial=, which holds {len(study.initial)}"
        raise InvalidArgumentError("priors", recipe.priors, rule)
    recipe.build(trials=study.limits.trials)  # what it objects to, it objects to now
    return study, open_ended


def _with_maximum(recipe: Recipe, max_resource: int | None) -> tuple[Recipe, bool]:
    if max_resource is not None:
        maximum = whole("max_resource", max_resource, at_least=1)
        if recipe.max_resource not in (None, maximum):
            rule = f"the scheduler has another, {recipe.max_resource}: give it once"
            raise InvalidArgumentError("max_resource", maximum, rule)
        return (recipe if recipe.max_resource else recipe.limited_to(maximum)), False
    climber = recipe
    while isinstance(climber, Rush):
        climber = climber.scheduler
    if recipe.max_resource is not None or not isinstance(climber, PASHA):
        return recipe, False
    return recipe.limited_to(climber.min_resource * climber.eta**NET), True


def limits_of(
    trials: int | None,
    finish: Finish,
    seconds: float | None,
    resource_budget: float | None,
    target: float | None,
) -> Limits:
    """When the study ends, with the names that the caller has for it."""
    if trials is None and seconds is None and resource_budget is None:
        trials = TRIALS
    try:
        return Limits(trials, finish, seconds, resource_budget, None, target)
    except InvalidArgumentError as error:
        if error.argument == "resource":
            raise InvalidArgumentError("resource_budget", error.value, error.rule) from None
        raise


def differences(held: Study, asked: Study, metrics: tuple[str, str]) -> list[str]:
    """What differs between the study of a file and the one asked for, a sentence each."""
    lines = []
    if metrics[0] != metrics[1]:
        lines.append(f"metric: {metrics[0]!r} in the file, {metrics[1]!r} asked for")
    there, here = documents.write(held), documents.write(asked)
    for part, ours in here.items():
        theirs = there[part]
        if part == "space" and held.space is not None and asked.space is not None:
            told = (
                line.replace(" here", " in the file").replace(" there", " asked for")
                for line in held.space.describe(asked.space)
            )
            lines += [f"space: {line}" for line in told]
        elif theirs != ours:
            lines += _parts(part, theirs, ours)
    return lines


def _parts(name: str, theirs: Any, ours: Any) -> list[str]:
    if isinstance(theirs, Mapping) and isinstance(ours, Mapping):
        if theirs.get("type") == ours.get("type"):
            keys = sorted(set(theirs) | set(ours))
            changed = [key for key in keys if theirs.get(key) != ours.get(key)]
            return [
                line
                for key in changed
                for line in _parts(f"{name}.{key}", theirs.get(key), ours.get(key))
            ]
        return [f"{name}: {theirs.get('type')} in the file, {ours.get('type')} asked for"]
    return [f"{name}: {theirs!r} in the file, {ours!r} asked for"]
