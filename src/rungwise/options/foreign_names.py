"""Arguments by the names that other libraries have for them: answered with ours."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar

from rungwise.errors import InvalidArgumentError, UnknownArgumentError

P = ParamSpec("P")
T = TypeVar("T")

FOREIGN: Mapping[str, tuple[str, ...]] = {
    "trials=": (
        *("num_samples", "n_trials", "num_trials", "max_trials", "trial_num", "max_evals"),
        *("n_iter", "n_calls", "n_configs", "max_evaluations_total", "evaluations", "count"),
    ),
    "max_resource=": (
        *("max_t", "max_epochs", "epochs", "max_iter", "max_steps", "max_budget", "max_r"),
        *("n_epochs", "num_epochs", "budget"),
    ),
    "seconds=": (
        *("timeout", "time_budget_s", "timeout_s", "max_time", "time_limit", "time_budget"),
        *("max_wallclock_time", "wall_clock_limit"),
    ),
    "goal=": ("mode", "direction", "minimize", "maximize", "greater_is_better"),
    "workers=": (
        *("max_concurrent_trials", "max_concurrent", "n_jobs", "n_workers", "num_workers"),
        *("concurrency", "max_parallelism", "n_parallel"),
    ),
    "gpus_per_worker=": ("resources_per_trial", "gpus_per_trial", "gpus", "num_gpus"),
    "min_resource=": ("grace_period", "min_t", "min_budget", "min_epochs"),
    "eta=": ("reduction_factor", "factor"),
    'scheduler=, such as "asha" or rungwise.PASHA(min_resource=…, eta=…),': (
        *("pruner", "brackets", "max_t_attr"),
    ),
    "searcher=": ("sampler", "search_alg", "search", "suggester", "algo", "optimizer", "method"),
    "initial=": ("points_to_evaluate", "initial_points", "init_configs", "enqueue"),
    "study=": ("storage", "storage_path", "study_name", "name", "path", "db", "local_dir", "file"),
    "seed=": ("random_state", "random_seed", "rng"),
    "retries=": ("max_failures", "max_retries", "retry"),
    "target=": ("stop_value", "goal_value"),
    "callbacks= (or on_report=, for a function)": ("callback", "on_trial_result", "logger"),
    "callbacks=, such as ['tensorboard'],": ("track", "tracker", "loggers", "logging"),
    "show=": ("verbose", "verbosity", "progress_bar", "show_progress_bar", "progress"),
    "metric=": ("metrics", "scoring", "objective_metric", "monitor", "measure"),
    "the second argument, space,": ("param_space", "search_space", "params", "config", "domain"),
    "the first argument, train,": ("objective", "func", "function", "trainable", "fn", "run_fn"),
}
"""What an argument is called here, and what other libraries call it."""

OF_SCHEDULER: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys(("ranking", "promote", "check", "variant"), ("pasha", "PASHA")),
    "size": ("adaptive", "AdaptiveHalving"),
}
"""Options that have a flag but no argument: the name of a scheduler with each, and its class."""

_OURS = {theirs: ours for ours, names in FOREIGN.items() for theirs in names}


def answer_unknown_names(function: Callable[P, T]) -> Callable[P, T]:
    """Let a function answer an unknown keyword with the one that was probably meant."""
    known = inspect.signature(function).parameters

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> T:
        for name, value in kwargs.items():
            if name not in known:
                meant = suggest_name(name, tuple(known), value)
                raise UnknownArgumentError(function.__name__, name, meant)
        return function(*args, **kwargs)

    return checked


def refuse_unchangeable(
    given: Mapping[str, Any], changeable: Sequence[str], of_study: Callable[..., Any]
) -> None:
    """Refuse what ``resume`` cannot change, with what to do instead.

    Args:
        given: the options that were given to it.
        changeable: the options that it has.
        of_study: the function that begins studies: what only that has belongs to the study.
    """
    known = inspect.signature(of_study).parameters
    for name, value in given.items():
        if name in changeable:
            continue
        if name in known or name in OF_SCHEDULER:
            rule = (
                "it belongs to the study and cannot be changed: begin another study in another "
                f"file. A study is resumed with other {', '.join(changeable)}"
            )
            raise InvalidArgumentError(name, value, rule)
        raise UnknownArgumentError("resume", name, suggest_name(name, tuple(changeable), value))


def translate_name(name: str) -> str | None:
    """What an argument of another library is called here; None if it is not known."""
    ours = _OURS.get(name.lower())
    return None if ours is None else ours.removesuffix(",")


def suggest_name(name: str, known: Sequence[str], value: Any) -> str:
    """What is probably meant by an unknown argument, as a clause."""
    if name in OF_SCHEDULER:
        word, kind = OF_SCHEDULER[name]
        by_name = f'scheduler="{word}:{name}={value}" or '
        by_name = by_name if isinstance(value, (str, int)) and "," not in str(value) else ""
        return f"it belongs to the scheduler: {by_name}scheduler=rungwise.{kind}({name}={value!r})"
    ours = translate_name(name)
    if ours is not None:
        return f"here it is {ours}"
    near = difflib.get_close_matches(name, known, n=1)
    if near:
        return f"did you mean {near[0]}=?"
    return f"it has {', '.join(known)}"
