"""The scheduler that is asked for: a value, a name, or options of one in short form.

Law of this file: a scheduler is chosen here and nowhere else, for Python, flags, study files and
adapters alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rungwise.core.scheduler import Recipe
from rungwise.errors import InvalidArgumentError
from rungwise.options.registry import SCHEDULERS, list_parameters
from rungwise.schedulers import PASHA
from rungwise.schedulers.default import default_scheduler
from rungwise.validation import must_be, whole


def choose_scheduler(
    scheduler: Any, beside: Mapping[str, Any], max_resource: Any = None
) -> tuple[Recipe, bool]:
    """Return the scheduler that is asked for, and whether it is the default.

    Options without a scheduler belong to the default one. If it lacks one of them (``ranking``,
    ``promote``, …), they choose PASHA.

    Args:
        scheduler: a scheduler, its name (see :func:`rungwise.options.registry.is_name`), or None.
        beside: its options that were given as arguments of their own; None for one that was not.
        max_resource: the most training for one configuration; None if it is not known.
    """
    options = {name: value for name, value in beside.items() if value is not None}
    usual: dict[str, Any] = {}
    if max_resource is not None:
        maximum = whole("max_resource", max_resource, at_least=1)
        usual = {"max_resource": maximum, "resource": maximum}
    default: type = type(default_scheduler(max_resource))
    if options and not set(options) <= set(list_parameters(default)):
        default = PASHA
    recipe = SCHEDULERS.choose(scheduler, options, default, usual)
    must_be("scheduler", recipe, Recipe, "a recipe such as rungwise.PASHA(…), or the name of one")
    if max_resource is not None and recipe.max_resource not in (None, maximum):
        rule = f"the scheduler has max_resource={recipe.max_resource}: give it only once"
        raise InvalidArgumentError("max_resource", maximum, rule)
    if max_resource is not None and recipe.max_resource is None:
        recipe = recipe.limited_to(maximum)
    return recipe, scheduler is None
