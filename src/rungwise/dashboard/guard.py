"""Who may read a page, and who may change something: the rules, apart from any server.

Law of this file: a request is refused unless every rule lets it through. A browser sends requests
of any page that a person has open, also to this machine; so knowing the address is not enough.

=====  ================================================================================
421    it was sent to another name than ours: a domain that was made to point here
403    another site has sent it, or it does not know the token
405    it wants to change something by another method than POST
413    it is larger than anything we take
=====  ================================================================================
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import re
import secrets
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlsplit

LARGEST = 64 * 1024
"""How many bytes a request that changes something may have."""

_HOST = re.compile(r"(?:\[([0-9a-fA-F:]+)\]|([\w.-]+))(?::([0-9]{1,5}))?", re.ASCII)
"""What a browser says that it has asked: a name or an address, and a port."""

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""What every answer says."""


class Refusal(Exception):  # noqa: N818 - it is an answer
    """Why a request is refused.

    Args:
        status: the status of the answer.
        text: what a person reads.
    """

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text


@dataclass(frozen=True, slots=True)
class Guard:
    """Checks requests.

    Attributes:
        host: the address that the server listens at.
        port: its port.
        token: those who know it may read.
        control: those who know it may change something; empty: no one may.
    """

    host: str
    port: int
    token: str = field(repr=False)
    control: str = field(default="", repr=False)

    @property
    def cookie(self) -> str:
        """The name of the cookie: cookies are per host, and several pages may be open."""
        return f"rungwise_{self.port}"

    @property
    def control_cookie(self) -> str:
        """The name of the cookie of those who may change something."""
        return f"rungwise_control_{self.port}"

    @property
    def proof(self) -> str:
        """What a page of ours sends with every change, and no other page can know."""
        return hmac.new(self.control.encode(), b"proof", hashlib.sha256).hexdigest()

    def check(self, headers: Mapping[str, str]) -> None:
        """Refuse what was not sent to us, or was sent by another site."""
        if not self._is_ours(headers.get("Host", "")):
            raise Refusal(421, "This address is not one of the dashboard.")
        if headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
            raise Refusal(403, "The dashboard answers only its own pages.")

    def check_token(self, headers: Mapping[str, str]) -> None:
        """Refuse a request without the token."""
        if not _equal(_read_cookie(headers, self.cookie), self.token):
            raise Refusal(403, "Open the address that rungwise has printed: it has a token.")

    def may_control(self, headers: Mapping[str, str]) -> bool:
        """Whether a page may show what changes something."""
        return bool(self.control) and _equal(
            _read_cookie(headers, self.control_cookie), self.control
        )

    def check_change(self, headers: Mapping[str, str]) -> int:
        """Refuse a change unless a page of ours sends it for someone who may; its length."""
        if not self.control:
            raise Refusal(403, "The dashboard only reads; start it with --control.")
        origin = headers.get("Origin", "")
        parts = urlsplit(origin)
        if parts.scheme != "http" or parts.netloc != headers.get("Host", ""):
            raise Refusal(403, "The dashboard takes changes only from its own pages.")
        if not self.may_control(headers):
            raise Refusal(403, "Open the address with the token for control.")
        if not _equal(headers.get("X-Rungwise-Proof", ""), self.proof):
            raise Refusal(403, "The dashboard takes changes only from its own pages.")
        if headers.get("Content-Type", "") != "application/json":
            raise Refusal(415, "A change must be JSON.")
        length = headers.get("Content-Length", "")
        if not length.isdecimal():
            raise Refusal(411, "A change must say how long it is.")
        if len(length) > 9 or int(length) > LARGEST:
            raise Refusal(413, f"A change may have {LARGEST} bytes.")
        return int(length)

    def admit(self, query: str) -> list[str] | None:
        """The cookies of someone who has opened the printed address; None without a token."""
        given = read_query(query)
        if "token" not in given:
            return None
        if not _equal(given["token"][0], self.token):
            raise Refusal(403, "This token is not the right one, or not any more.")
        cookies = [self._make_cookie(self.cookie, self.token)]
        if "control" in given:
            if not self.control or not _equal(given["control"][0], self.control):
                raise Refusal(403, "This token for control is not the right one.")
            cookies.append(self._make_cookie(self.control_cookie, self.control))
        return cookies

    @staticmethod
    def _make_cookie(name: str, value: str) -> str:
        return f"{name}={value}; HttpOnly; SameSite=Strict; Path=/"

    def _is_ours(self, host: str) -> bool:
        found = _HOST.fullmatch(host)
        if found is None or int(found[3] or 80) != self.port:
            return False
        name = found[1] or found[2]
        if is_loopback(self.host):
            return name in ("127.0.0.1", "localhost", "::1")
        # Any address by number: only a name can be made to point here by somebody else.
        return name in (self.host, "localhost", socket.gethostname()) or _is_address(name)


def read_query(query: str) -> dict[str, list[str]]:
    """The parts of an address behind its question mark."""
    try:
        return parse_qs(query, max_num_fields=8)
    except ValueError:
        raise Refusal(400, "The address has too many parts.") from None


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    return host == "localhost" or (_is_address(host) and ipaddress.ip_address(host).is_loopback)


def make_token() -> str:
    """A token that cannot be guessed."""
    return secrets.token_hex(32)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _equal(one: str, other: str) -> bool:
    return secrets.compare_digest(one.encode(errors="replace"), other.encode())


def _read_cookie(headers: Mapping[str, str], name: str) -> str:
    try:
        found = SimpleCookie(headers.get("Cookie", "")).get(name)
    except CookieError:
        return ""
    return "" if found is None else found.value
