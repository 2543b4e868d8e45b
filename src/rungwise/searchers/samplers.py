"""Find a sampler of Optuna by its name, and make it."""

from __future__ import annotations

import importlib
import inspect
import json
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

from rungwise.errors import InvalidArgumentError, MissingExtraError, Words
from rungwise.searchers.checking import is_installed
from rungwise.searchers.model_warnings import silence_libraries

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
"""Packages that Optuna does not install, and imports only after some trials."""


def name_sampler(sampler: Any) -> str:
    """The name that a study file keeps: a short one, or where to import the sampler from."""
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
        shown = Words(f"an instance of {kind}")
        raise InvalidArgumentError("sampler", shown, rule)
    if f"{module}.".startswith(f"{PACKAGE}."):
        return _short(name)  # its exact module may change
    if "<" in name or module == "__main__":
        raise InvalidArgumentError(
            "sampler", sampler, "it must be defined in a module, so that a restart can import it"
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


def find_sampler(sampler: str) -> Any:
    """The class or function that makes a sampler."""
    optuna = library()
    if sampler in NAMES:
        return getattr(optuna.samplers, NAMES[sampler])
    module, _, name = sampler.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except Exception as error:  # a third-party module may raise anything when it is imported
        rule = f"it cannot be imported: {_describe(error)}"
        raise InvalidArgumentError("sampler", sampler, rule) from error
    if not callable(found):
        kind = type(found).__name__
        rule = f"it must be a class or function that makes a sampler, not of type {kind}"
        raise InvalidArgumentError("sampler", sampler, rule)
    return found


def make_sampler(name: str, given: Mapping[str, Any], seed: int) -> Any:
    """A new sampler.

    Args:
        name: of the sampler, as :func:`name_sampler` returns it.
        given: its options.
        seed: of this proposal.
    """
    maker = find_sampler(name)
    needed = NEEDS.get(getattr(maker, "__name__", ""))
    if needed is not None and not is_installed(needed):
        rule = f"it needs the package {needed}: pip install {needed}"
        raise InvalidArgumentError("sampler", name, rule)
    options = json.loads(json.dumps(dict(given)))  # a sampler may change its own
    try:
        known: Mapping[str, inspect.Parameter] = inspect.signature(maker).parameters
    except (TypeError, ValueError):  # its signature is not available
        known = {}
    if isinstance(maker, type) and issubclass(maker, library().samplers.QMCSampler):
        # One sequence for the whole study, and random values for what is not part of it.
        independent = library().samplers.RandomSampler(seed=seed)
        options = {"seed": 0, "independent_sampler": independent, **options}
    elif "seed" in known or any(p.kind is p.VAR_KEYWORD for p in known.values()):
        options["seed"] = seed
    if maker is library().samplers.TPESampler:
        # Its default from version 5 on: keep a distance from running trials.
        options.setdefault("constant_liar", True)
    try:
        sampler = maker(**options)
    except (TypeError, ValueError) as error:
        rule = f"{name} does not accept them: {str(error).rstrip('.')}"
        raise InvalidArgumentError("options", dict(given), rule) from error
    except Exception as error:  # a third-party function may raise anything
        rule = f"it cannot be made: {_describe(error)}"
        raise InvalidArgumentError("sampler", name, rule) from error
    if not isinstance(sampler, library().samplers.BaseSampler):
        raise InvalidArgumentError("sampler", name, "it must make a sampler of Optuna")
    return sampler


def _describe(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".rstrip(".")


@contextmanager
def silence_optuna() -> Iterator[None]:
    """Without this, Optuna logs every study and trial, and warns about experimental features."""
    logging = library().logging
    before = logging.get_verbosity()
    logging.set_verbosity(logging.CRITICAL)
    try:
        with silence_libraries():
            yield
    finally:
        logging.set_verbosity(before)
