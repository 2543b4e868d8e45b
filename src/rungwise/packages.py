"""Whether an optional package is installed, in a version that is new enough."""

from __future__ import annotations

import importlib.util

from rungwise.errors import InvalidArgumentError, MissingExtraError


def check_package(
    feature: str, name: str, *, extra: str, at_least: str, module: str | None = None
) -> None:
    """Raise now if a package is missing or too old; it is not imported.

    Args:
        feature: what needs it, for the error.
        name: of the package, as it is installed and imported.
        extra: the extra of rungwise that installs it.
        at_least: the lowest version, such as ``"2.10"``.
        module: the name by which it is imported, if that is another.

    Raises:
        MissingExtraError: it is not installed.
        InvalidArgumentError: it is too old.
    """
    try:
        found = importlib.util.find_spec(module or name.replace("-", "_")) is not None
    except (ImportError, ValueError):  # its import is blocked, or it is installed only in part
        found = False
    if not found:
        raise MissingExtraError(feature, extra)
    from importlib import metadata  # noqa: PLC0415 - it brings in the package email

    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:  # a source tree on the path
        return
    if _numbers(version) < _numbers(at_least):
        rule = (
            f"{feature} needs {name} {at_least} or newer: pip install --upgrade 'rungwise[{extra}]'"
        )
        raise InvalidArgumentError(f"the version of {name}", version, rule)


def _numbers(version: str) -> list[int]:
    """The leading numbers of a version: 2.10.0rc1 is [2, 10, 0]."""
    found = []
    for part in version.split("+", maxsplit=1)[0].split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        found.append(int(digits))
        if digits != part:
            break
    return found
