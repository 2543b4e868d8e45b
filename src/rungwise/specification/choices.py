"""Short forms: the goal from the name of a metric, a scheduler from its name and options."""

from __future__ import annotations

from typing import Any

from rungwise.core.scheduler import Recipe
from rungwise.errors import InvalidArgumentError
from rungwise.options.checks import guess_goal
from rungwise.options.registry import RANKINGS, SCHEDULERS

__all__ = ["build_scheduler", "guess_goal"]


def build_scheduler(text: str | None, **options: Any) -> Recipe:
    """A scheduler by name, with those of the options that it has; None means its default.

    Args:
        text: ``NAME`` or ``NAME:option,…``; the default scheduler if None.
        options: the flags, by the names of the scheduler's fields; ``max_resource`` is passed over
            where it has none.
    """
    word, written = SCHEDULERS.parse(text or SCHEDULERS.words()[0], "--scheduler")
    kind: Any = SCHEDULERS.find(word)
    known = set(kind.__dataclass_fields__)
    given = {key: value for key, value in options.items() if value is not None}
    if isinstance(given.get("ranking"), str):
        given["ranking"] = RANKINGS.build(given["ranking"], "--ranking")
    if isinstance(written.get("ranking"), str):
        written["ranking"] = RANKINGS.build(written["ranking"], "ranking of --scheduler")
    if "resource" in known and "resource" not in written:
        given["resource"] = given.get("max_resource", 1)
    for key in sorted(set(given) & set(written)):
        rule = f"it must be given once, here or with --{key.replace('_', '-')}"
        raise InvalidArgumentError(f"{key} of --scheduler", written[key], rule)
    unused = sorted(set(given) - known - {"max_resource"})
    if unused:
        flags = ", ".join("--" + key.replace("_", "-") for key in unused)
        raise InvalidArgumentError("--scheduler", word, f"it has no {flags}")
    if not known.issuperset(written):
        SCHEDULERS.make(word, written, "--scheduler", text)  # raises, with the options that it has
    recipe: Recipe = kind(**written, **{key: given[key] for key in given if key in known})
    return recipe
