"""Any sampler of Optuna as a searcher: the sampler proposes, rungwise schedules."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import count
from typing import Any, ClassVar

import numpy as np

from rungwise.core.checks import keep
from rungwise.errors import InvalidArgumentError, MissingExtraError, SpaceError, Told
from rungwise.searchers.base import History, Observed
from rungwise.searchers.observations import Observations, standings
from rungwise.searchers.random import RandomSearcher
from rungwise.searchers.telling import libraries_silent, warn_once
from rungwise.space import Choice, Float, Space
from rungwise.space.domains import Domain

PACKAGE = "optuna.samplers"
NAMES: Mapping[str, str] = {
    "tpe": "TPESampler",
    "gp": "GPSampler",
    "cmaes": "CmaEsSampler",
    "qmc": "QMCSampler",
    "random": "RandomSampler",
    "nsgaii": "NSGAIISampler",
    "nsgaiii": "NSGAIIISampler",
    "bruteforce": "BruteForceSampler",
}
"""Samplers of Optuna itself, by short names."""

NEEDS: Mapping[str, str] = {"CmaEsSampler": "cmaes", "GPSampler": "torch"}
"""Packages that Optuna does not bring, and asks for only after some trials."""

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
    needs: ClassVar[tuple[str, str]] = ("optuna", "optuna")

    sampler: str
    options: tuple[tuple[str, Any], ...]

    def __init__(
        self,
        sampler: str | Callable[..., Any] = "tpe",
        options: Mapping[str, Any] | Sequence[tuple[str, Any]] = (),
        **more: Any,
    ) -> None:
        name = _name_of(sampler)
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
        keep(self, sampler=name, options=tuple(sorted(clean.items())))

    def __repr__(self) -> str:
        options = "".join(f", {name}={value!r}" for name, value in self.options)
        return f"OptunaSearcher({self.sampler!r}{options})"

    def propose(self, space: Space, history: History, rng: np.random.Generator) -> dict[str, Any]:
        """The next configuration to try; there always is one."""
        seed = int(rng.integers(2**31 - 1))
        config: dict[str, Any] | None = None
        failure: Exception | None = None
        with quietly():
            sampler = self._made(seed)
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
        """Whether there is such a sampler and it takes these options; an error tells if not."""
        del space  # any will do
        with quietly():
            self._made(0)

    def _made(self, seed: int) -> Any:
        """A fresh sampler."""
        maker = _maker(self.sampler)
        needed = NEEDS.get(getattr(maker, "__name__", ""))
        if needed is not None and importlib.util.find_spec(needed) is None:
            rule = f"it needs the package {needed}: pip install {needed}"
            raise InvalidArgumentError("sampler", self.sampler, rule)
        options = json.loads(json.dumps(dict(self.options)))  # a sampler may change its own
        known = inspect.signature(maker).parameters
        if isinstance(maker, type) and issubclass(maker, library().samplers.QMCSampler):
            # One sequence for the whole study, and chance for what is no part of it.
            chance = library().samplers.RandomSampler(seed=seed)
            options = {"seed": 0, "independent_sampler": chance, **options}
        elif "seed" in known or any(p.kind is p.VAR_KEYWORD for p in known.values()):
            options["seed"] = seed
        if maker is library().samplers.TPESampler:
            # Its default from version 5 on: keep away from what is under way.
            options.setdefault("constant_liar", True)
        try:
            sampler = maker(**options)
        except (TypeError, ValueError) as error:
            rule = f"{self.sampler} does not take them: {str(error).rstrip('.')}"
            raise InvalidArgumentError("options", dict(self.options), rule) from error
        if not isinstance(sampler, library().samplers.BaseSampler):
            raise InvalidArgumentError("sampler", self.sampler, "it must make a sampler of Optuna")
        return sampler


def _shown(options: Any) -> dict[str, Any]:
    return (
        dict(options) if isinstance(options, Mapping) else {"options": options} if options else {}
    )


def _name_of(sampler: Any) -> str:
    """What a study file keeps: a short name, or where to import it from."""
    rule = f"it must be one of {', '.join(NAMES)}; or 'package.module:name', or a class or function"
    if isinstance(sampler, str):
        module, _, name = sampler.partition(":")
        if sampler not in NAMES and not (module and name):
            raise InvalidArgumentError("sampler", sampler, rule)
        return _short(name) if module == PACKAGE else sampler
    name, module = getattr(sampler, "__qualname__", ""), getattr(sampler, "__module__", "")
    if not name or not module or not callable(sampler):
        kind = type(sampler).__name__
        rule = "its state would be lost at a restart: give the class and its options, as in "
        rule += f"OptunaSearcher({kind}, option=…), or the name of a function that makes it"
        shown = Told(f"a {kind} that is made already")
        raise InvalidArgumentError("sampler", shown, rule)
    if f"{module}.".startswith(f"{PACKAGE}."):
        return _short(name)  # where exactly it stands there may change
    if "<" in name or module == "__main__":
        raise InvalidArgumentError(
            "sampler", sampler, "it must stand in a module, so that a restart can import it"
        )
    return f"{module}:{name}"


def _short(name: str) -> str:
    """The short name of a sampler of Optuna itself; where it is, if it has none."""
    return {full: short for short, full in NAMES.items()}.get(name, f"{PACKAGE}:{name}")


@cache
def library() -> Any:
    """Optuna, or an error that names the extra."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module("optuna")
    except ImportError:
        raise MissingExtraError("the searcher OptunaSearcher", "optuna") from None


def _maker(sampler: str) -> Any:
    """The class or function that makes a sampler."""
    optuna = library()
    if sampler in NAMES:
        return getattr(optuna.samplers, NAMES[sampler])
    module, _, name = sampler.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise InvalidArgumentError("sampler", sampler, f"it cannot be imported: {error}") from error
    return found


@contextmanager
def quietly() -> Iterator[None]:
    """Optuna tells of every study and trial, and warns of what is experimental."""
    logging = library().logging
    before = logging.get_verbosity()
    logging.set_verbosity(logging.CRITICAL)
    try:
        with libraries_silent():
            yield
    finally:
        logging.set_verbosity(before)


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
    distributions = {p.name: distribution_of(p.domain) for p in space.parameters}
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


def distribution_of(domain: Domain) -> Any:
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
