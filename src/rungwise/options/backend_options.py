"""The backend that is asked for: a value, a name, or fields of the default one in short form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from rungwise.backends.local import Local
from rungwise.errors import InvalidArgumentError
from rungwise.options import Option, list_options
from rungwise.options.checks import check_backend
from rungwise.options.registry import BACKENDS

SHORT_FORMS: tuple[Option, ...] = list_options(Local)
"""Fields of the default backend that may be given without naming it."""


@dataclass(frozen=True, slots=True)
class UnknownBackend:
    """The backend of a study that is read where its class is not known.

    Args:
        name: the name of the class.
    """

    name: str

    def prepare(self, train: Any) -> Any:
        """Refuse: nothing can be trained on it."""
        del train
        raise InvalidArgumentError("backend", self.name, UNKNOWN)

    def single(self) -> UnknownBackend:
        """The same."""
        return self


UNKNOWN = "the study was run on a backend that is not known here: give backend=…"


def choose_backend(backend: Any, given: Mapping[str, Any], held: Any = None) -> Any:
    """Return the backend that is asked for.

    Args:
        backend: a backend, its name (see :func:`rungwise.options.registry.is_name`), or None.
        given: arguments by name, and with them fields of the backend in their short form; None for
            one that is not given.
        held: the backend that short forms change if no other is asked for.
    """
    short = {each.name: given.get(each.name) for each in SHORT_FORMS}
    beside = {name: value for name, value in short.items() if value is not None}
    if backend is None and held is not None:
        return _set_fields(held, beside)
    return check_backend("backend", BACKENDS.choose(backend, beside, Local))


def _set_fields(backend: Any, given: Mapping[str, Any]) -> Any:
    known = [each.name for each in fields(backend)]
    for name, value in given.items():
        if name not in known:
            kind = type(backend).__name__
            rule = f"the backend {kind} has no such option; its options are {', '.join(known)}"
            raise InvalidArgumentError(name, value, rule)
    return replace(backend, **given) if given else backend


def read_backend(options: Mapping[str, Any], types: Iterable[type] = ()) -> Any:
    """The backend of a study file; version 0.1.0 kept the fields of the only one it had."""
    written = options.get("backend")
    if written is None:
        names = [each.name for each in SHORT_FORMS]
        return Local(**{name: options[name] for name in names if name in options})
    kinds: dict[Any, Any] = {kind.__name__: kind for kind in types}
    name = written.get("type") if isinstance(written, Mapping) else None
    try:
        kind = kinds[name] if name in kinds else BACKENDS.find(str(name))  # and load no other
    except InvalidArgumentError:
        raise InvalidArgumentError("backend", name, UNKNOWN) from None
    # What a later version has added is dropped, as with the other options.
    known = [each.name for each in fields(kind)]
    return kind(**{key: written[key] for key in known if key in written})
