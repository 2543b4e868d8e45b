"""The data card of a benchmark: what was measured, how, by whom, and how its file is written.

A card is the file ``NAME.json`` beside ``NAME.npz``. It can be read without reading the curves.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import date
from typing import Any, cast

from rungwise.errors import TableError
from rungwise.space import Space
from rungwise.validation import Goal, parse_goal, set_frozen, whole

FORMAT = 2
"""The version of the pair of files; a reader refuses others."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")

_TEXTS = (
    "title",
    "description",
    "metric",
    "resource",
    "final_metric",
    "unit_seconds",
    "licence",
    "source",
    "citation",
)
_COUNTS = ("rows", "resources")
_OBJECTS = ("details", "checks", "encoding")


@dataclass(frozen=True, kw_only=True)
class Card:
    """What is known about a benchmark besides its curves.

    ``rows``, ``resources``, ``encoding`` and ``sha256`` are filled in by
    :func:`rungwise.benchmarks.store.write`; all else is the maker's to say.

    Attributes:
        name: the name of the benchmark and of its files.
        title: a line that says what it is.
        description: what was trained, in a few sentences.
        metric: what the curves hold, for example ``"validation accuracy"``.
        goal: whether the metric is minimised or maximised.
        resource: what a unit of resource is, for example ``"epoch"``.
        final_metric: what is reported after full training; empty where that is the last value.
        unit_seconds: what the seconds are.
        rows: how many configurations there are.
        resources: how many values a curve has at most.
        seeds: the seeds of the training runs, one for each set of curves.
        licence: under which terms the data may be used.
        source: where it comes from.
        citation: what to cite.
        created: the day it was made, as ``YYYY-MM-DD``; empty where unknown.
        details: anything else about how it was made.
        checks: figures that show whether the data is sound.
        space: the document of the search space (``Space.to_json``), None if there is none.
        encoding: how each array is written.
        sha256: the checksum of the ``.npz`` file.
        format: the version of the files.
    """

    name: str
    title: str = ""
    description: str = ""
    metric: str = ""
    goal: Goal = "min"
    resource: str = "epoch"
    final_metric: str = ""
    unit_seconds: str = ""
    rows: int = 0
    resources: int = 0
    seeds: Sequence[int] = (0,)
    licence: str = ""
    source: str = ""
    citation: str = ""
    created: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)
    checks: Mapping[str, Any] = field(default_factory=dict)
    space: Mapping[str, Any] | None = None
    encoding: Mapping[str, Any] = field(default_factory=dict)
    sha256: str = ""
    format: int = FORMAT

    def __post_init__(self) -> None:
        check_name(self.name)
        parse_goal(self.goal)
        for name in (*_TEXTS, "created", "sha256"):
            if not isinstance(getattr(self, name), str):
                raise TableError(f"{name} of the card", getattr(self, name), "it must be text")
            _writable(name, getattr(self, name))
        for name in _COUNTS:
            set_frozen(
                self, **{name: whole(f"{name} of the card", getattr(self, name), at_least=0)}
            )
        set_frozen(self, seeds=_seeds(self.seeds), space=_space(self.space))
        for name in _OBJECTS:
            set_frozen(self, **{name: _plain(name, getattr(self, name))})
        if self.created:
            _check_day(self.created)

    def to_json(self) -> dict[str, Any]:
        """The card as plain JSON values, in the order of its fields."""
        document = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        return {**document, "seeds": list(self.seeds)}

    def to_bytes(self) -> bytes:
        """The content of the file: JSON for people, in UTF-8."""
        text = json.dumps(self.to_json(), indent=2, ensure_ascii=False, allow_nan=False)
        return f"{text}\n".encode()

    @classmethod
    def from_json(cls, document: Any) -> Card:
        """The card that :meth:`to_json` wrote."""
        if not isinstance(document, Mapping):
            raise TableError("card", document, "it must be a JSON object")
        version = document.get("format")
        if type(version) is not int or version < 1:
            raise TableError("format of the card", version, "it must be a whole number, at least 1")
        if version != FORMAT:
            advice = "update it"
            if version < FORMAT:
                advice = "convert the source again, or write the benchmark again with store.write"
            rule = f"this version of rungwise reads format {FORMAT}: {advice}"
            raise TableError("format of the card", version, rule)
        known = [entry.name for entry in fields(cls)]
        missing = [name for name in known if name not in document]
        if missing:
            raise TableError("card", document, f"it must also have {', '.join(missing)}")
        unknown = sorted(map(str, document.keys() - set(known)))
        if unknown:
            rule = f"it must have no {', '.join(unknown)}: put other fields into details"
            raise TableError("card", document, rule)
        return cls(**document)

    @property
    def shape(self) -> str:
        """``2,048 × 251 × 1``: rows, resources and seeds."""
        return f"{self.rows:,} × {self.resources:,} × {len(self.seeds)}"

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be known about it, without full stops: ``notes`` of the details."""
        notes = self.details.get("notes")
        known = notes if isinstance(notes, list) else ()
        return tuple(note.rstrip(".") for note in known if isinstance(note, str))

    def search_space(self) -> Space | None:
        """The search space, None if there is none."""
        return None if self.space is None else Space.from_json(self.space)


def check_name(name: Any) -> str:
    """A name that is a file name everywhere, and never a path."""
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        rule = (
            "it must be of letters, digits, '.', '_' and '-', 100 at most, and begin with a letter "
            "or digit"
        )
        raise TableError("name of the benchmark", name, rule)
    return name


def _seeds(seeds: Any) -> tuple[int, ...]:
    if isinstance(seeds, str) or not isinstance(seeds, Sequence) or not seeds:
        rule = "it must be a list of whole numbers, at least one"
        raise TableError("seeds of the card", seeds, rule)
    return tuple(whole("seeds of the card", seed, at_least=0) for seed in seeds)


def _space(space: Any) -> Mapping[str, Any] | None:
    """The document of a space, known to be readable."""
    if space is None:
        return None
    known = space if isinstance(space, Space) else Space.from_json(space)
    return cast("Mapping[str, Any]", _plain("space", known.to_json()))


def _plain(name: str, value: Any) -> Any:
    """A copy in plain JSON values, so that a caller cannot change it."""
    rule = "it must be a JSON object without NaN and infinity"
    if not isinstance(value, Mapping):
        raise TableError(f"{name} of the card", value, rule)
    try:
        text = json.dumps(dict(value), allow_nan=False, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        raise TableError(f"{name} of the card", value, rule) from None
    _writable(name, text)
    return json.loads(text)


def _writable(name: str, text: str) -> None:
    """Half a surrogate pair is text for JSON and for Python, and for no file."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        broken = error.object[error.start : error.end]
        raise TableError(f"{name} of the card", broken, "it must be writable in UTF-8") from None


def _check_day(text: str) -> None:
    try:
        # Python 3.11 reads other forms too, which 3.10 would then refuse.
        sound = date.fromisoformat(text).isoformat() == text
    except ValueError:
        sound = False
    if not sound:
        raise TableError("created of the card", text, "it must be a day as YYYY-MM-DD")
