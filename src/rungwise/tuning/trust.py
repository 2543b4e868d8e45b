"""Whether a study file was made by this user: resuming it runs what it names.

A study file says which function or command trains, which modules workers import and where they
run. So the author of the file decides what is executed. Files are signed with a key that only
this user has; one without a valid signature is resumed only when that is asked for.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from rungwise.errors import InvalidArgumentError
from rungwise.storage.record import StudyRecord

_made_here: set[Path] = set()
"""Files that this very process has made, for homes in which no key can be kept."""

_PLAIN = ("Local", "Threads")
"""Backends that run nothing of their own, unless modules are preloaded."""


def sign(train: Mapping[str, Any] | None, run: Mapping[str, Any]) -> str:
    """The signature of what a study file names; empty where no key can be kept."""
    key = _read_key(create=True)
    return "" if key is None else _compute(key, train, run)


def remember(path: Path) -> None:
    """This process has made the file."""
    _made_here.add(path)


def is_trusted(about: StudyRecord, path: Path) -> bool:
    """Whether what a file names was written by this user."""
    if path in _made_here:
        return True
    key = _read_key(create=False)
    if key is None or not about.signature:
        return False
    expected = _compute(key, about.train, about.run)
    return hmac.compare_digest(expected.encode(), about.signature.encode(errors="replace"))


def check_trust(about: StudyRecord, path: Path, *, train: bool, backend: bool, trust: bool) -> None:
    """Refuse to run what a foreign file names.

    Args:
        about: what the file says.
        path: the file.
        train: whether the training function is taken from it.
        backend: whether the backend is taken from it.
        trust: whether that was asked for.
    """
    named = []
    if train and about.train is not None:
        named.append(f"it trains {_describe(about.train)}")
    kept = about.run.get("backend")
    if backend and not _is_plain(kept):
        named.append(f"it uses the backend {json.dumps(kept)[:200]}")
    if not named or trust or is_trusted(about, path):
        return
    rule = (
        f"it was not made by you on this machine, and what it names would be run: "
        f"{'; '.join(named)}. If you trust it, add --trust (in Python trust=True)"
    )
    if train:
        rule += ", or name the training function or script yourself (--train; in Python train=)"
    raise InvalidArgumentError("study", str(path), rule)


def derive_secret(purpose: str) -> str | None:
    """A secret that only this user can compute, always the same for a purpose; None without a key.

    Args:
        purpose: what it is for.
    """
    key = _read_key(create=True)
    return None if key is None else hmac.new(key, purpose.encode(), hashlib.sha256).hexdigest()


def _describe(train: Mapping[str, Any]) -> str:
    if "command" in train:
        return f"the command {json.dumps(train['command'])[:200]}"
    return str(train.get("function"))[:200]


def _is_plain(backend: Any) -> bool:
    if backend is None:
        return True
    if not isinstance(backend, Mapping):
        return False
    return backend.get("type") in _PLAIN and not backend.get("preload")


def _compute(key: bytes, train: Mapping[str, Any] | None, run: Mapping[str, Any]) -> str:
    signed = {"train": train, "backend": run.get("backend")}
    text = json.dumps(json.loads(json.dumps(signed)), sort_keys=True)
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def _read_key(*, create: bool) -> bytes | None:
    """The user's key; None if there is none and none can be kept."""
    try:
        state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
        place = Path(state, "rungwise", "key")
        if create and not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            draft = place.with_name(f"key-{os.getpid()}")
            draft.touch(mode=0o600)
            draft.write_bytes(secrets.token_bytes(32))
            with suppress(FileExistsError):  # another process was quicker
                os.link(draft, place)
            draft.unlink()
        key = place.read_bytes()
    except (OSError, RuntimeError):  # no home, or one that cannot be written
        return None
    return key if len(key) == 32 else None
