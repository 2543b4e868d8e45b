"""Checks of options that need to know more than the value: names, files, protocols.

Each is ``check(name, value)``, see :mod:`rungwise.options`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, Literal, cast

from rungwise.backends.base import BackendRecipe
from rungwise.callbacks.base import METHODS, Callback
from rungwise.checkpoints import check_address, is_address, parse_bytes
from rungwise.core.searcher import Searcher
from rungwise.errors import MISSING, InvalidArgumentError
from rungwise.options.registry import BACKENDS, CALLBACKS, DISPLAYS, SEARCHERS
from rungwise.validation import adopt, must_be, one_of

GOALS: Mapping[Literal["min", "max"], tuple[str, ...]] = {
    "max": (
        *("accuracy", "acc", "auc", "f1", "precision", "recall"),
        *("score", "reward", "r2", "bleu", "map", "iou"),
    ),
    "min": (
        *("loss", "error", "err", "mse", "rmse", "mae", "nll"),
        *("perplexity", "ppl", "cost", "regret", "wer", "cer"),
    ),
}
"""Metrics that are always maximised, or minimised."""

LONGEST_UNIT = 20
"""The most letters of a unit of resource."""

REVERSING = ("neg", "negative", "minus", "inverse", "reduction", "drop")
"""Words that reverse the meaning of a metric: with one of them its name says nothing."""


def guess_goal(name: str) -> Literal["min", "max"] | None:
    """The goal that the name of a metric implies: a well-known one, or one with such a part.

    Parts are separated by underscores, and capitals do not matter. None for a name that is not
    known, or whose parts contradict each other.

    Args:
        name: of the metric.

    Example:
        >>> guess_goal("val_accuracy"), guess_goal("test_loss")
        ('max', 'min')
        >>> guess_goal("speed"), guess_goal("neg_loss"), guess_goal("loss_score")
        (None, None, None)
    """
    parts = set(name.lower().split("_"))
    found = [goal for goal, names in GOALS.items() if parts.intersection(names)]
    return found[0] if len(found) == 1 and parts.isdisjoint(REVERSING) else None


def check_metric(name: str, value: Any) -> str:
    """A name that ``run.report`` can be given."""
    if not (isinstance(value, str) and value.isidentifier()):
        rule = "it must be a name that run.report can be given, such as accuracy"
        raise InvalidArgumentError(name, value, rule)
    return value


def check_goal(name: str, value: Any) -> Literal["min", "max"]:
    """``"min"`` or ``"max"``."""
    if value is None:
        rule = (
            "say whether the metric is to be minimised ('min') or maximised ('max'); only the "
            "names of well-known metrics, such as accuracy or loss, say it themselves"
        )
        raise InvalidArgumentError(name, MISSING, rule)
    spelled = {"minim": "min", "maxim": "max"}.get(str(value).lower()[:5])
    if spelled is not None:
        raise InvalidArgumentError(name, value, f"did you mean {spelled!r}? it must be min or max")
    return cast('Literal["min", "max"]', one_of(name, value, ("min", "max")))


def check_unit(name: str, value: Any) -> str:
    """A short word: it stands after numbers, in texts and figures."""
    plain = isinstance(value, str) and value.replace("-", "").isalpha()
    if not (plain and len(value) <= LONGEST_UNIT):
        rule = f"it must be a word of at most {LONGEST_UNIT} letters, such as epochs"
        raise InvalidArgumentError(name, value, rule)
    return str(value)


def check_searcher(name: str, value: Any) -> Any:
    """A searcher, or the name of one."""
    searcher = SEARCHERS.resolve(name, value)
    words = "a searcher such as rungwise.searchers.GP(), or the name of one"
    must_be(name, searcher, Searcher, words)
    return searcher


def check_backend(name: str, value: Any) -> Any:
    """A backend, or the name of one."""
    backend = BACKENDS.resolve(name, value)
    if isinstance(backend, type) or not isinstance(backend, BackendRecipe):
        words = ", ".join(BACKENDS.words())
        rule = (
            f"it must be a backend such as rungwise.Local(workers=4), or one of {words}; one of "
            f"your own has the methods prepare(train) and single()"
        )
        raise InvalidArgumentError(name, value, rule)
    if not hasattr(backend, "__dataclass_fields__"):
        rule = f"the class {type(backend).__name__} must be a dataclass: its fields are kept"
        raise InvalidArgumentError(name, value, rule)
    return backend


def check_display(name: str, value: Any) -> Any:
    """A display, or the name of one."""
    if isinstance(value, str):
        if value not in DISPLAYS.other_words:
            DISPLAYS.find(value, name)
        return value
    parts = ("begin", "due", "update", "notice", "end")
    if isinstance(value, type) or not all(callable(getattr(value, part, None)) for part in parts):
        rule = f"it must be one of {', '.join(DISPLAYS.words())}, or a display"
        raise InvalidArgumentError(name, value, rule)
    return value


def check_callbacks(name: str, value: Any) -> tuple[Any, ...]:
    """Callbacks or the names of some, as a tuple; what they need is there."""
    if isinstance(value, (str, Mapping)) or not isinstance(value, Iterable):
        rule = "it must be a list of callbacks, such as [rungwise.callbacks.CSV()], or their names"
        raise InvalidArgumentError(name, value, rule)
    found = tuple(CALLBACKS.resolve(name, each) for each in value)
    for each in found:
        if isinstance(each, type) or not any(callable(getattr(each, m, None)) for m in METHODS):
            rule = (
                f"a callback must be a value such as rungwise.callbacks.CSV(), one of "
                f"{', '.join(CALLBACKS.words())}, or have some of the methods "
                f"{', '.join(METHODS)}; a function is given as on_report="
            )
            raise InvalidArgumentError(name, each, rule)
        adopt(each, Callback).check()
    return found


def check_configurations(name: str, value: Any) -> Any:
    """A list of configurations, which the space checks one by one."""
    if isinstance(value, (str, Mapping)) or not isinstance(value, Iterable):
        example = f", such as [{dict(value)!r}]" if isinstance(value, Mapping) and value else ""
        raise InvalidArgumentError(name, value, f"it must be a list of configurations{example}")
    return value


def check_quota(name: str, value: Any) -> int | str:
    """A number of bytes; text stays as it was written."""
    size = parse_bytes(name, value)
    return value if isinstance(value, str) else size


def check_folder(name: str, value: Any) -> str:
    """The name of a folder."""
    try:
        folder = os.fspath(value)
    except TypeError:
        folder = ""
    if not isinstance(folder, str) or not folder or not _is_name(folder):
        raise InvalidArgumentError(name, value, "it must be the name of a folder")
    return folder


def _is_name(text: str) -> bool:
    """Whether a file or folder can have that name."""
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def check_folder_or_address(name: str, value: Any) -> str:
    """The name of a folder, or an address such as ``s3://bucket/path``."""
    if is_address(value):
        return check_address(name, value)
    return check_folder(name, value)
