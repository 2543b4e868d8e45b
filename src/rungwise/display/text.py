"""Words and figures that displays share, and a pen that survives the loss of its paper."""

from __future__ import annotations

import re
from typing import TextIO

from rungwise.counterfactual import Saving
from rungwise.display.base import Snapshot

MINUTE, HOUR, DAY = 60, 3600, 86400


def value(figure: float | None) -> str:
    """A value of the metric."""
    return "–" if figure is None else f"{figure:.4g}"


def amount(resource: float) -> str:
    """An amount of resource: whole numbers in full, others to four digits."""
    return f"{resource:,.0f}" if resource == int(resource) else f"{resource:,.4g}"


def clock(seconds: float) -> str:
    """Time that has passed: 0:42, 12:05, 1:02:33."""
    whole = max(0, int(seconds))
    hours, minutes, rest = whole // HOUR, whole % HOUR // MINUTE, whole % MINUTE
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def duration(seconds: float) -> str:
    """Time to come, no more precise than it can be known."""
    if seconds < MINUTE - 0.5:
        return f"{max(1, round(seconds))} s"
    if seconds < HOUR - 30:
        return f"{round(seconds / MINUTE)} min"
    if seconds < DAY:
        hours, tens = divmod(round(seconds / 600), 6)
        return f"{hours} h {tens}0 min" if tens else f"{hours} h"
    return f"{seconds / DAY:.1f} days"


def size(count: float) -> str:
    """An amount of bytes."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:,.3g} TB"


def counted(number: int, noun: str) -> str:
    """``1 trial``, ``2 trials``."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def drawn(snapshot: Snapshot) -> str:
    """How many of its trials a study has drawn."""
    limit = snapshot.view.limits.trials
    number = snapshot.view.trials
    return counted(number, "trial") if limit is None else f"{number:,} of {limit:,} trials"


def recipe(snapshot: Snapshot) -> str:
    """The scheduler of a study and how far it may train."""
    furthest = snapshot.max_resource
    end = "open-ended" if furthest is None else f"up to {amount(furthest)}"
    return f"{type(snapshot.view.recipe).__name__} {end}"


def saved(saving: Saving) -> str:
    """A saving in a few words, with how much of it had to be guessed."""
    much = "as much" if f"{saving.ratio:.1f}" == "1.0" else f"{saving.ratio:.1f} times as much"
    held = f" ({saving.held:,} of {saving.reports:,} values held)" if saving.held else ""
    return f"{saving.name} would have spent {much}{held}"


_ESCAPES = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|.)", re.DOTALL)


def plain(text: str) -> str:
    """Text without anything that could move a cursor: what trials print is not to be trusted."""
    text = _ESCAPES.sub("", text).expandtabs(4)
    return "".join(char if char.isprintable() or char == "\n" else " " for char in text)


class Pen:
    """Writes lines to a stream until the stream is gone; then it is silent.

    Args:
        stream: where to.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lost = False

    def line(self, text: str) -> None:
        """Write a line now."""
        if self._lost:
            return
        try:
            try:
                self._stream.write(f"{text}\n")
            except UnicodeEncodeError as error:
                self._stream.write(text.encode(error.encoding, "replace").decode(error.encoding))
                self._stream.write("\n")
            self._stream.flush()
        except (OSError, ValueError):  # a broken pipe, a closed file
            self._lost = True
