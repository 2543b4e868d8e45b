"""Any sampler of Optuna as a searcher: the sampler proposes, rungwise schedules."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, ClassVar

import numpy as np

from rungwise.core.searcher import History, NoHistory, Observed, Searcher
from rungwise.errors import InvalidArgumentError, SpaceError
from rungwise.searchers.model_warnings import warn_once
from rungwise.searchers.observations import Observations, standings
from rungwise.searchers.random import RandomSearcher
from rungwise.searchers.samplers import library, make_sampler, name_sampler, silence_optuna
from rungwise.space import Choice, Float, Int, Space
from rungwise.space.domains import Domain
from rungwise.space.steps import find_number, value_at
from rungwise.validation import set_frozen

REPEATED = ("CmaEsSampler", "NSGAIISampler", "NSGAIIISampler")
"""Samplers that mark their trials when they are asked: each trial must be asked for again."""

POINTS = 500
"""The largest number of trials a sampler receives: the highest levels first, then the newest."""
REPEATED_POINTS = 300
"""The largest number of trials that are asked for again: the newest."""
TRIES = 10
"""How often a sampler is asked again when its proposal is forbidden or was drawn before."""
STRIDE = 10_007
"""How far to skip in a sequence that is asked again, so that no later point is used up."""


@dataclass(frozen=True, slots=True, init=False, repr=False)
class OptunaSearcher(Searcher):
    """Proposes what a sampler of Optuna suggests.

    A searcher keeps no state, so every proposal creates a study in memory from the history, and a
    sampler with its own seed, and asks once. The sampler receives at most 500 trials, those at the
    highest levels first. Samplers that mark their trials (CMA-ES, NSGA) are asked for the last 300
    again, in their order.

    The sampler receives one number per trial: its place in the order "highest level first, then
    loss", as a quantile of the normal distribution. So there is one target for any sampler and any
    scheduler: losses of different levels are not compared directly, but a trial that has passed
    more rungs is better by selection, as in BOHB, whose model is that of the highest level. NaN,
    infinite losses and failed trials are worst. Trials without a report are passed as running
    ones, from which TPE and others keep a distance.

    Options of a choice are identified by their position, so that 1, 1.0, True and "1" stay what
    they are; ordered ones are whole numbers. Conditional parameters are suggested when they are
    active. Optuna does not receive the priors of a space (weights, normal distributions). If a
    proposal is forbidden or was drawn before, the sampler is asked again a few times; then a
    random configuration is proposed, as it is, with a :class:`rungwise.ModelWarning`, when a
    sampler fails.

    Args:
        sampler: one of ``"tpe"``, ``"gp"``, ``"cmaes"``, ``"qmc"``, ``"random"``, ``"nsgaii"``,
            ``"nsgaiii"`` and ``"bruteforce"``; or ``"package.module:name"`` of anything that makes
            a sampler (OptunaHub's, your own), which is called with the options, and with ``seed``
            if it takes one; or such a class or function itself.
        options: of the sampler, as plain JSON: they are kept in the study file. They may be
            given by name instead: ``OptunaSearcher("tpe", multivariate=True)``.

    Every proposal has another seed. Only a sequence must keep the same one: ``"qmc"`` takes
    ``seed`` among its options; its default is 0.

    Needs the extra ``rungwise[optuna]``; ``"cmaes"`` also needs the package ``cmaes``, and
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
            # A copy as plain JSON, so that the caller cannot change it later.
            clean = json.loads(json.dumps(given, allow_nan=False))
        except (TypeError, ValueError):
            clean = given = None
        if clean is None or clean != given:
            rule = "they must be plain JSON, to be kept in a study file; for other options, "
            rule += "write a function that makes the sampler: "
            rule += "OptunaSearcher('my_module:my_function')"
            raise InvalidArgumentError("options", {**_options_to_show(options), **more}, rule)
        if "seed" in clean and name != "qmc":
            rule = "every proposal gets its own seed from the study's seed: remove this one"
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
        with silence_optuna():
            sampler = make_sampler(self.sampler, dict(self.options), seed)
            try:
                config = _ask_sampler(space, history, sampler)
            except ImportError as error:
                rule = f"it needs a package that is not installed: {error}"
                raise InvalidArgumentError("sampler", self.sampler, rule) from error
            except Exception as error:  # noqa: BLE001 - a third-party sampler may raise anything
                failure = error
        if failure is not None:
            kind = type(failure).__name__
            warn_once(repr(self), f"could not propose ({kind}: {failure})")
        return RandomSearcher().propose(space, history, rng) if config is None else config

    def check(self, space: Space) -> None:
        """Raise if there is no such sampler, or if it cannot propose with these options."""
        with silence_optuna():
            sampler = make_sampler(self.sampler, dict(self.options), 0)
            try:
                _ask_sampler(space, NoHistory(), sampler)
            except Exception as error:
                rule = f"{self.sampler} cannot propose with them: {type(error).__name__}: {error}"
                raise InvalidArgumentError("options", dict(self.options), rule) from error


def _options_to_show(options: Any) -> dict[str, Any]:
    return (
        dict(options) if isinstance(options, Mapping) else {"options": options} if options else {}
    )


def _ask_sampler(space: Space, history: History, sampler: Any) -> dict[str, Any] | None:
    """What the sampler proposes; None if no proposal was new and legal."""
    if space.size is not None and len(history) >= space.size:
        return None  # nothing new is left
    samplers = library().samplers
    repeats = isinstance(sampler, tuple(getattr(samplers, name) for name in REPEATED))
    if repeats or isinstance(sampler, samplers.QMCSampler):
        _restrict_to_unconditional(space, sampler)
    if isinstance(sampler, samplers.QMCSampler):
        # It counts trials of its study, which is new every time; its first point is random.
        places = count(max(len(history) - 1, 0), STRIDE)
        sampler._find_sample_id = lambda *_: next(places)  # noqa: SLF001 - there is no other way
    study = library().create_study(study_name="rungwise", sampler=sampler)
    seen = standings(history)
    if repeats:
        _repeat_trials(space, study, seen)
    else:
        _add_trials(space, study, seen)
    for _ in range(TRIES):
        # A refused proposal stays a running trial: samplers that consider these avoid it.
        trial = study.ask()
        try:
            config = space.validate(suggest_config(space, trial))
        except SpaceError:
            continue
        if history.times_drawn(space.key(config)) == 0:
            return config
    return None


def _restrict_to_unconditional(space: Space, sampler: Any) -> None:
    """A space of fixed dimension for samplers that need one; other parameters are random.

    Optuna infers the parameters that all trials so far have in common: the set may shrink during
    the study, and then CMA-ES would stop working.
    """
    always = {parameter.name for parameter in space.parameters if parameter.condition is None}
    inferred = sampler.infer_relative_search_space

    def steady(study: Any, trial: Any) -> dict[str, Any]:
        found = inferred(study, trial)
        return {name: found[name] for name in found if name in always}

    sampler.infer_relative_search_space = steady


def _add_trials(space: Space, study: Any, seen: Observations) -> None:
    """Add all trials to a study of Optuna at once."""
    trial = library().trial
    distributions = {p.name: to_distribution(p.domain) for p in space.parameters}
    order = sorted(
        range(len(seen.trials)), key=lambda i: (-seen.levels[i], -seen.trials[i].id)
    )  # the highest levels first
    values = {seen.trials[i].id: (seen.trials[i], float(seen.scores[i])) for i in order[:POINTS]}
    known: dict[int, tuple[Observed, float | None]] = {
        **values,
        **{waiting.id: (waiting, None) for waiting in seen.pending[-POINTS:]},
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


def _repeat_trials(space: Space, study: Any, seen: Observations) -> None:
    """Ask for one trial after the other with its own values, then report its score."""
    scores = {trial.id: float(score) for trial, score in zip(seen.trials, seen.scores, strict=True)}
    for observed in sorted([*seen.trials, *seen.pending], key=lambda t: t.id)[-REPEATED_POINTS:]:
        study.enqueue_trial(_params(space, observed))
        trial = study.ask()
        if observed.id in scores:
            # The sampler updates its state when it is asked for these, from version 5 on only
            # then; the values are fixed, so its own suggestion does not matter.
            _ = trial.relative_params
            suggest_config(space, trial)
            study.tell(trial, scores[observed.id])
        else:
            suggest_config(space, trial)


def has_choice(domain: Domain) -> bool:
    """Whether the domain has more than one value."""
    return domain.size != 1


def count_steps(domain: Float | Int) -> int:
    """How many steps lead from the lowest value of a domain to the highest."""
    assert domain.size is not None
    return domain.size - 1


def to_distribution(domain: Domain) -> Any:
    """A domain as a distribution of Optuna; unordered options are their positions."""
    kinds = library().distributions
    if not isinstance(domain, Choice) and domain.step is not None:
        # Optuna has no steps on a log scale; positions are numbers in any case.
        return kinds.IntDistribution(0, count_steps(domain))
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
        if parameter.name in observed.config and has_choice(domain):
            value = observed.config[parameter.name]
            if isinstance(domain, Choice):
                value = domain.index(value)
            elif domain.step is not None:
                value = find_number(domain.low, domain.step, value)
            params[parameter.name] = value
    return params


def suggest_config(space: Space, trial: Any) -> dict[str, Any]:
    """A configuration, parameter by parameter, so that conditions are respected."""
    config: dict[str, Any] = {}
    for parameter in space.parameters:
        name, domain = parameter.name, parameter.domain
        if not parameter.is_active(config):
            continue
        if not has_choice(domain):
            config[name] = next(domain.values())
        elif not isinstance(domain, Choice) and domain.step is not None:
            number = trial.suggest_int(name, 0, count_steps(domain))
            config[name] = value_at(domain.low, domain.step, number)
        elif isinstance(domain, Float):
            config[name] = trial.suggest_float(name, domain.low, domain.high, log=domain.log)
        elif not isinstance(domain, Choice):
            config[name] = trial.suggest_int(name, domain.low, domain.high, log=domain.log)
        elif domain.ordered:
            config[name] = domain.options[trial.suggest_int(name, 0, domain.size - 1)]
        else:
            config[name] = domain.options[trial.suggest_categorical(name, range(domain.size))]
    return config
