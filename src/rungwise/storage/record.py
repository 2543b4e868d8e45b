"""What a study file holds about its study besides the specification and the events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NamedTuple

VERSION = 1
"""The version of the document; readers refuse others."""

Kind = Literal["tune", "ask/tell"]


@dataclass(frozen=True, slots=True)
class FunctionNote:
    """What is noted of a training function, to find it when both are moved, and to know it.

    Attributes:
        beside: the number of each of its parts that is a file → its place relative to the study.
        fingerprint: changes when its code does; None if the code is not known.
    """

    beside: Mapping[str, str] = field(default_factory=dict)
    fingerprint: str | None = None


class Labels(NamedTuple):
    """What a person has written on a study."""

    tags: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class TransferRecord:
    """The earlier studies that a study was begun with.

    Attributes:
        files: their files.
        leaders: how many configurations were taken from them at most.
    """

    files: tuple[str, ...]
    leaders: int


@dataclass(frozen=True, slots=True)
class StudyRecord:
    """What a study file holds about its study besides the specification.

    Attributes:
        metric: the name of the metric.
        open_ended: whether no maximum was given (the one in the scheduler is a safety net).
        train: how to find the training function or script again, if it can be found.
        run: how it is run, as the JSON of :class:`RunOptions`: the defaults when it is resumed;
            and what a later version says there.
        workers: how many jobs may run at a time; "auto" depends on the machine.
        key: what identifies the study; empty in files of version 0.1.0.
        kind: whether rungwise trains, or a loop that asks for jobs.
        function: what is noted of the training function.
        labels: tags and a note.
        transfer: the earlier studies it was begun with.
        created: when, in ISO 8601.
        version: of rungwise.
        signature: shows whose file it is, see ``tuning/trust.py``.
    """

    metric: str
    open_ended: bool = False
    train: Mapping[str, Any] | None = None
    run: Mapping[str, Any] = field(default_factory=dict)
    workers: int = 1
    key: str = ""
    kind: Kind = "tune"
    function: FunctionNote = FunctionNote()
    labels: Labels = field(default_factory=Labels)
    transfer: TransferRecord | None = None
    created: str = ""
    version: str = ""
    signature: str = ""

    @property
    def winner(self) -> Literal["top", "best"] | None:
        """Which trial wins; None: as it suits the scheduler."""
        found = self.run.get("winner")
        return found if found in ("top", "best") else None

    @property
    def unit(self) -> str:
        """What one unit of resource is called."""
        return str(self.run.get("unit", "resource"))

    def to_json(self) -> dict[str, Any]:
        """As plain JSON, in the form of version 0.1.0: what came later is among the options."""
        options = {**self.run, "crew": self.workers}
        if self.key:
            options["key"] = self.key
        if self.kind == "ask/tell":
            options["asked"] = True
        if self.function != FunctionNote():
            options["function"] = asdict(self.function)
        if self.labels != Labels():
            options["labels"] = {"tags": list(self.labels.tags), "note": self.labels.note}
        if self.transfer is not None:
            options["transfer"] = {**asdict(self.transfer), "files": list(self.transfer.files)}
        return {
            "version_of_about": VERSION,
            "metric": self.metric,
            "open_ended": self.open_ended,
            "train": None if self.train is None else dict(self.train),
            "options": options,
            "created": self.created,
            "version": self.version,
            "signature": self.signature,
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> StudyRecord:
        """The record that :meth:`to_json` wrote, in this version or an earlier one.

        What is wrong with a document raises ``TypeError``, ``ValueError``, ``KeyError`` or
        ``AttributeError``.
        """
        told = {name: document[name] for name in document if name != "version_of_about"}
        options = {**told.pop("options", {})}
        transfer, noted = options.pop("transfer", None), options.pop("function", {})
        found = cls(
            **told,
            workers=options.pop("crew", 1),
            key=_text(options.pop("key", "")),
            kind="ask/tell" if options.pop("asked", False) else "tune",
            function=FunctionNote(dict(noted.get("beside", {})), noted.get("fingerprint")),
            labels=_read_labels(options.pop("labels", None)),
            transfer=None
            if transfer is None
            else TransferRecord(tuple(transfer["files"]), transfer["leaders"]),
            run=options,
        )
        for name, kinds in _TYPES.items():
            if type(getattr(found, name)) not in kinds:
                raise TypeError(f"{name} is of another type")
        return found


_TYPES: Mapping[str, tuple[type, ...]] = {
    "open_ended": (bool,),
    "train": (dict, type(None)),
    "workers": (int,),
    **dict.fromkeys(("metric", "created", "version", "signature"), (str,)),
}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _read_labels(document: Any) -> Labels:
    """The labels of a document; none where something else was written there."""
    if not isinstance(document, Mapping):
        return Labels()
    tags = document.get("tags")
    listed = tags if isinstance(tags, list) else ()
    return Labels(tuple(tag for tag in listed if isinstance(tag, str)), _text(document.get("note")))
