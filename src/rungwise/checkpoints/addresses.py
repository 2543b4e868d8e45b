"""Addresses of fsspec: which are taken, and what opens them."""

from __future__ import annotations

import re
from typing import Any

from rungwise.errors import InvalidArgumentError, MissingExtraError, Words

_ADDRESS = re.compile(r"(?P<kind>[a-z][a-z0-9+.-]*)://(?P<rest>[^?#]*)", re.ASCII)


def is_address(value: object) -> bool:
    """Whether a value is meant as an address, and not as a folder."""
    return isinstance(value, str) and "://" in value


def check_address(name: str, value: str) -> str:
    """An address that can be kept in a study file, and whose storage can be opened.

    Nothing is sent to the storage.
    """
    found = _ADDRESS.fullmatch(value)
    if found is None or "::" in value:
        rule = "it must be a folder, or an address such as s3://bucket/path"
        # Whatever follows a question mark may be a key.
        raise InvalidArgumentError(name, Words(repr(value.partition("?")[0])), rule)
    if "@" in found["rest"].partition("/")[0]:
        rule = (
            "no credentials belong in it, since the study file keeps it: give them by the "
            "environment variables or the configuration files of the storage's library"
        )
        raise InvalidArgumentError(name, Words(f"'{found['kind']}://…@…'"), rule)
    kind, path = found["kind"], found["rest"].rstrip("/")
    if not path.strip("/"):
        rule = f"it must name a place, such as {kind}://bucket/path"
        raise InvalidArgumentError(name, value, rule)
    _import_storage(name, value, kind)
    return f"{kind}://{path}"


def open_address(address: str) -> tuple[Any, str]:
    """The file system of an address, and the path in it.

    Returns:
        The file system; and the path, to which names are added after a slash.
    """
    fsspec = _import_fsspec(address)
    kind = address.partition("://")[0]
    options: dict[str, Any] = {"use_listings_cache": False}
    if kind in ("file", "local"):
        options = {"auto_mkdir": True}
    files, root = fsspec.core.url_to_fs(address, **options)
    return files, str(root).rstrip("/")


def _import_storage(name: str, value: str, kind: str) -> None:
    fsspec = _import_fsspec(value)
    try:
        fsspec.get_filesystem_class(kind)
    except ImportError as error:
        rule = f"a package is missing: {error}"
        raise InvalidArgumentError(name, value, rule) from error
    except ValueError:
        rule = "fsspec does not know this kind of address; examples are s3, gs, abfs and file"
        raise InvalidArgumentError(name, value, rule) from None


def _import_fsspec(address: str) -> Any:
    try:
        import fsspec.core  # noqa: PLC0415 - an extra
    except ImportError:
        raise MissingExtraError(f"the address {address}", "fsspec") from None
    return fsspec
