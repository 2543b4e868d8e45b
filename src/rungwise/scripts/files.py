"""Which command runs the script in a file."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from rungwise.errors import InvalidArgumentError
from rungwise.scripts.script import Script


def find_script(
    path: str | os.PathLike[str],
    *,
    flags: bool = True,
    folder: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> Script:
    """The script in a file.

    ``.py`` is run by this Python; a file that may be executed is executed; others are run by the
    interpreter that their first line names (``#!``), or, if they are called ``.sh``, by ``sh``.

    Args:
        path: the file.
        flags: see :class:`Script`.
        folder: see :class:`Script`.
        environment: see :class:`Script`.
    """
    file = Path(path).absolute()
    if not file.exists():
        raise InvalidArgumentError("train", os.fspath(path), "there is no such file")
    if not file.is_file():
        raise InvalidArgumentError("train", os.fspath(path), "it must be a file")
    parts = (*_interpreter(file), str(file))
    command = tuple(part.replace("{", "{{").replace("}", "}}") for part in parts)
    return Script(command, flags=flags, folder=folder, environment=environment or {})


def _interpreter(file: Path) -> tuple[str, ...]:
    if file.suffix == ".py":
        return (sys.executable,)
    try:
        with file.open("rb") as stream:
            first = stream.readline(4096).decode(errors="replace").strip()
    except OSError as error:
        raise InvalidArgumentError("train", str(file), f"it must be readable: {error}") from None
    named = first[2:].split(None, 1) if first.startswith("#!") else []
    if os.access(file, os.X_OK) and (named or file.suffix != ".sh"):
        return ()
    if named:
        return tuple(named)
    if file.suffix == ".sh":
        return ("sh",)
    rule = "it must end in .py or .sh, be executable, or begin with #! and its interpreter"
    raise InvalidArgumentError("train", str(file), rule)
