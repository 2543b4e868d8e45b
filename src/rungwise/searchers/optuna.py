"""Any sampler of Optuna as a searcher: the sampler proposes, rungwise schedules."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, ClassVar

import numpy as np

from rungwise.core.searcher import History, NoHistory, Observed
from rungwise.errors import InvalidArgumentError, SpaceError
from rungwise.searchers.model_warnings import warn_once
from rungwise.searchers.observations import Observations, standings
from rungwise.searchers.random import RandomSearcher
from rungwise.searchers.samplers import library, made, name_sampler, quietly
from rungwise.space import Choice, Float, Space
from rungwise.space.domains import Domain
from rungwise.validation import set_frozen

ENACTED = ("CmaEsSampler", "NSGAIISampler", "NSGAIIISampler")
"""Samplers that mark the trials they have asked for: they must see each being asked for."""

POINTS = 500
"""How many trials a sampler is told of at most; those of the highest levels, then the newest."""
ENACTED_POINTS = 300
"""How many trials are asked for again at most: the newest."""
TRIES = 10
"""How often a sampler is asked again when its proposal is forbidden or was drawn before."""
STRIDE = 10_007
"""How far a sequence is left behind when it is asked again, so that no later point is used up."""


@dataclass(frozen=True, slots=True, init=False, repr=False)
class OptunaSearcher:
    """Proposes what a sampler of Optuna suggests.

    A searcher remembers nothing, so every proposal makes a study in memory from the history, and
    a sampler with a seed of its own, and asks once. It is told of 500 trials at most, those that
    came furthest first. Samplers that mark their trials (CMA-ES, NSGA) are led through the last 300
    again, in their order.

    What the sampler is told of a trial is one number: its place in the order "furthest level
    first, then loss", as a quantile of the normal distribution. So there is one target for any
    sampler, whatever the scheduler does: losses of different levels are not compared as they are,
    but who has survived more rungs is better by selection, as in BOHB, whose model is that of the
    highest level. NaN, infinite losses and failed trials are the worst. Trials that have told
    nothing yet are running ones, which TPE and others keep away from.

    Options of a choice are told apart by their position, so that 1, 1.0, True and "1" stay what
    they are; ordered ones are whole numbers. Conditional parameters are suggested when they are
    active. Priors of a space (weights, normal distributions) are not known to Optuna. A forbidden
    proposal is asked for again a few times, and so is one that was drawn before; then chance
    decides, as it does, with a :class:`rungwise.ModelWarning`, when a sampler fails.

    Args:
        sampler: one of ``"tpe"``, ``"gp"``, ``"cmaes"``, ``"qmc"``, ``"random"``, ``"nsgaii"``,
            ``"nsgaiii"`` and ``"bruteforce"``; or ``"package.module:name"`` of anything that makes
            a sampler (OptunaHub's, your own), which is called with the options, and with ``seed``
            if it takes one; or such a class or function itself.
        options: of the sampler, as plain JSON: they are kept in the study file. They may be
            given by name instead: ``OptunaSearcher("tpe", multivariate=True)``.

    Every proposal has another seed. Only a sequence must keep its own: ``"qmc"`` takes ``seed``
    among its options, and has 0 otherwise.

    Needs the extra ``rungwise[optuna]``; ``"cmaes"`` needs the package ``cmaes`` besides, and
    ``"gp"`` needs ``torch``.

    Example:
        >>> OptunaSearcher("tpe", multivariate=True)
        OptunaSearcher('tpe', multivariate=True)

    Reference:
        Akiba et al. (2019), Optuna: a next-generation hyperparameter optimization framework;
        Falkner et al. (2018), BOHB: robust and efficient hyperparameter optimization at scale.
    """

    slow: ClassVar[bool] = True
    needs: ClassVar[tuple[str, ...]] = ("optuna", "optuna")

    sampler: str
    options: tuple[tuple[str, Any], ...]

    def __init__(
        self,
        sampler: str | Callable[..., Any] = "tpe",
        options: Mapping[str, Any] | Sequence[tuple[str, Any]] = (),
        **more: Any,
    ) -> None:
        name = name_sampler(sampler)
        try:
            given = {**dict(options), **more}
            # A copy of plain JSON, so that nothing outside can change it.
            clean = json.loads(json.dumps(given, allow_nan=False))
        except (TypeError, ValueError):
            clean = given = None
        if clean is None or clean != given:
            rule = "they must be plain JSON, to be kept in a study file; a function of your own "
            rule += "can make a sampler with others: OptunaSearcher('my_module:my_function')"
            raise InvalidArgumentError("options", {**_shown(options), **more}, rule)
        if "seed" in clean and name != "qmc":
            rule = "the study's own seed decides: every proposal gets another"
            raise InvalidArgumentError("seed", clean["seed"], rule)
        set_frozen(self, sampler=name, options=tuple(sorted(clean.items())))

    def __repr__(self) -> str:
        options = "".join(f", {name}={value!r}" for name, value in self.options)
        return f"OptunaSearcher({self.sampler!r}{options})"

    def propose(self, space: Space, history: History, rng: np.random.Generator) -> dict[str, Any]:
        """The next configuration to try; there always is one."""
        seed = int(rng.integers(2**31 - 1))
        config: dict[str, Any] | None = None
        failure: Exception | None = None
        with quietly():
            sampler = made(self.sampler, dict(self.options), seed)
            try:
                config = _asked(space, history, sampler)
            except ImportError as error:
                rule = f"it needs a package that is not there: {error}"
                raise InvalidArgumentError("sampler", self.sampler, rule) from error
            except Exception as error:  # noqa: BLE001 - whatever a sampler of others may raise
                failure = error
        if failure is not None:
            kind = type(failure).__name__
            warn_once(repr(self), f"could not propose ({kind}: {failure})")
        return RandomSearcher().propose(space, history, rng) if config is None else config

    def check(self, space: Space) -> None:
        """Whether there is such a sampler and it proposes with these options; an error if not."""
        with quietly():
            sampler = made(self.sampler, dict(self.options), 0)
            try:
                _asked(space, NoHistory(), sampler)
            except Exception as error:
                rule = f"{self.sampler} cannot propose with them: {type(error).__name__}: {error}"
                raise InvalidArgumentError("options", dict(self.options), rule) from error


def _shown(options: Any) -> dict[str, Any]:
    return (
        dict(options) if isinstance(options, Mapping) else {"options": options} if options else {}
    )


def _asked(space: Space, history: History, sampler: Any) -> dict[str, Any] | None:
    """What the sampler proposes; None if that is never new and legal."""
    if space.size is not None and len(history) >= space.size:
        return None  # nothing new is left
    samplers = library().samplers
    enacted = isinstance(sampler, tuple(getattr(samplers, name) for name in ENACTED))
    if enacted or isinstance(sampler, samplers.QMCSampler):
        _keep_to_the_unconditional(space, sampler)
    if isinstance(sampler, samplers.QMCSampler):
        # It counts in the study, which is new every time; its first point is by chance.
        places = count(max(len(history) - 1, 0), STRIDE)
        sampler._find_sample_id = lambda *_: next(places)  # noqa: SLF001 - there is no other way
    study = library().create_study(study_name="rungwise", sampler=sampler)
    told = standings(history)
    if enacted:
        _enact(space, study, told)
    else:
        _tell(space, study, told)
    for _ in range(TRIES):
        # What was refused stays a running trial: those that look at these go elsewhere.
        trial = study.ask()
        try:
            config = space.validate(suggested(space, trial))
        except SpaceError:
            continue
        if history.times_drawn(space.key(config)) == 0:
            return config
    return None


def _keep_to_the_unconditional(space: Space, sampler: Any) -> None:
    """A space of fixed dimension for those that know no other; the rest is drawn by chance.

    What Optuna infers is what all trials so far have in common: it may shrink on the way, and
    CMA-ES would give up then.
    """
    always = {parameter.name for parameter in space.parameters if parameter.condition is None}
    inferred = sampler.infer_relative_search_space

    def steady(study: Any, trial: Any) -> dict[str, Any]:
        found = inferred(study, trial)
        return {name: found[name] for name in found if name in always}

    sampler.infer_relative_search_space = steady


def _tell(space: Space, study: Any, told: Observations) -> None:
    """All trials at once."""
    trial = library().trial
    distributions = {p.name: to_distribution(p.domain) for p in space.parameters}
    order = sorted(
        range(len(told.trials)), key=lambda i: (-told.levels[i], -told.trials[i].id)
    )  # the most telling first
    values = {told.trials[i].id: (told.trials[i], float(told.scores[i])) for i in order[:POINTS]}
    known: dict[int, tuple[Observed, float | None]] = {
        **values,
        **{waiting.id: (waiting, None) for waiting in told.pending[-POINTS:]},
    }
    for number in sorted(known):
        observed, value = known[number]
        params = _params(space, observed)
        study.add_trial(
            trial.create_trial(
                state=trial.TrialState.RUNNING if value is None else trial.TrialState.COMPLETE,
                value=value,
                params=params,
                distributions={name: distributions[name] for name in params},
            )
        )


def _enact(space: Space, study: Any, told: Observations) -> None:
    """One trial after the other: asked for with its very values, then told."""
    scores = {trial.id: float(score) for trial, score in zip(told.trials, told.scores, strict=True)}
    for observed in sorted([*told.trials, *told.pending], key=lambda t: t.id)[-ENACTED_POINTS:]:
        study.enqueue_trial(_params(space, observed))
        trial = study.ask()
        if observed.id in scores:
            # The sampler does its book-keeping when it is asked for these, from version 5 on only
            # then; the values are given, so what it would have liked does not matter.
            _ = trial.relative_params
            suggested(space, trial)
            study.tell(trial, scores[observed.id])
        else:
            suggested(space, trial)


def varied(domain: Domain) -> bool:
    """Whether there is anything to choose."""
    return domain.size != 1


def to_distribution(domain: Domain) -> Any:
    """What Optuna calls a domain; unordered options are their positions."""
    kinds = library().distributions
    if isinstance(domain, Float):
        return kinds.FloatDistribution(domain.low, domain.high, log=domain.log)
    if not isinstance(domain, Choice):
        return kinds.IntDistribution(domain.low, domain.high, log=domain.log)
    if domain.ordered:
        return kinds.IntDistribution(0, domain.size - 1)
    return kinds.CategoricalDistribution(range(domain.size))


def _params(space: Space, observed: Observed) -> dict[str, Any]:
    """The configuration of a trial in Optuna's terms."""
    params: dict[str, Any] = {}
    for parameter in space.parameters:
        domain = parameter.domain
        if parameter.name in observed.config and varied(domain):
            value = observed.config[parameter.name]
            params[parameter.name] = domain.index(value) if isinstance(domain, Choice) else value
    return params


def suggested(space: Space, trial: Any) -> dict[str, Any]:
    """A configuration, parameter by parameter, so that conditions are honoured."""
    config: dict[str, Any] = {}
    for parameter in space.parameters:
        name, domain = parameter.name, parameter.domain
        if not parameter.is_active(config):
            continue
        if not varied(domain):
            config[name] = next(domain.values())
        elif isinstance(domain, Float):
            config[name] = trial.suggest_float(name, domain.low, domain.high, log=domain.log)
        elif not isinstance(domain, Choice):
            config[name] = trial.suggest_int(name, domain.low, domain.high, log=domain.log)
        elif domain.ordered:
            config[name] = domain.options[trial.suggest_int(name, 0, domain.size - 1)]
        else:
            config[name] = domain.options[trial.suggest_categorical(name, range(domain.size))]
    return config
