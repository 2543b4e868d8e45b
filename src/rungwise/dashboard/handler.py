"""Answers requests: pages, studies, streams and changes, each behind the rules of the guard."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from rungwise._version import __version__
from rungwise.dashboard import control, details
from rungwise.dashboard.feed import Feed
from rungwise.dashboard.files import find_kind, list_files, write_page
from rungwise.dashboard.guard import HEADERS, Refusal, read_query

if TYPE_CHECKING:
    from rungwise.dashboard.server import DashboardServer

ALIVE = 10.0
"""Seconds after which a stream without news says that it is still there."""

STUDIES_EVERY = 2.0
"""Seconds between two looks at the list of studies, for a page that shows it."""

HANGS = 30.0
"""Seconds after which a connection that neither sends nor takes anything is closed."""


class Handler(BaseHTTPRequestHandler):
    """One request, or several of one connection."""

    protocol_version = "HTTP/1.1"
    server_version = "rungwise"
    sys_version = ""
    timeout = HANGS
    server: DashboardServer

    # -- in ------------------------------------------------------------------------------------

    def do_GET(self) -> None:
        """Read something."""
        self._answer(self._get)

    def do_POST(self) -> None:
        """Change something."""
        self._answer(self._post)

    def do_HEAD(self) -> None:
        """Nothing is asked for in this way, nor in any other."""
        self._answer(self._refuse_method)

    do_PUT = do_DELETE = do_OPTIONS = do_PATCH = do_HEAD  # noqa: N815 - names of the base class

    def _refuse_method(self) -> None:
        raise Refusal(405, "Only GET and POST are answered.")

    def _answer(self, how: Callable[[], None]) -> None:
        try:
            self.server.guard.check(_plain(self.headers))
            how()
        except Refusal as refusal:
            self.close_connection = True  # a body that was not read must not be taken for more
            self._send(refusal.status, f"{refusal.text}\n".encode(), "text/plain; charset=utf-8")

    # -- reading -------------------------------------------------------------------------------

    def _get(self) -> None:
        parts = urlsplit(self.path)
        guard = self.server.guard
        if parts.path == "/" and (cookies := guard.admit(parts.query)) is not None:
            self._send(303, b"", more=[("Location", "/"), *(("Set-Cookie", c) for c in cookies)])
            return
        guard.check_token(_plain(self.headers))
        if parts.path == "/":
            self._send(200, write_page(self._describe_session()), find_kind("x.html"))
            return
        name = parts.path.removeprefix("/static/")
        if name != parts.path:
            if name not in list_files():
                raise Refusal(404, "There is no such file.")
            self._send(200, list_files()[name], find_kind(name))
            return
        answer = self._routes().get(parts.path)
        if answer is None:
            raise Refusal(404, "There is no such page.")
        answer({key: values[0] for key, values in read_query(parts.query).items()})

    def _routes(self) -> Mapping[str, Callable[[dict[str, str]], None]]:
        return {
            "/events": self._stream,
            "/studies": self._list_studies,
            "/snapshot": self._show_snapshot,
            "/trial": self._show_trial,
            "/importance": self._show_importance,
        }

    def _describe_session(self) -> dict[str, Any]:
        guard = self.server.guard
        may = guard.may_control(_plain(self.headers))
        library = self.server.library
        return {
            "version": __version__,
            "single": library.names()[0] if library.single else None,
            "place": str(library.place),
            "proof": guard.proof if may else "",
            "live": True,
        }

    def _find_feed(self, asked: Mapping[str, str]) -> tuple[str, Feed]:
        name = asked.get("study", "")
        feed = self.server.library.feed(name)
        if feed is None:
            raise Refusal(404, "There is no such study.")
        return name, feed

    def _list_studies(self, asked: dict[str, str]) -> None:  # noqa: ARG002 - the form
        self._send_json({"studies": self.server.library.list_studies()})

    def _show_snapshot(self, asked: dict[str, str]) -> None:
        _, feed = self._find_feed(asked)
        since = int(_read_number(asked, "since")) if "since" in asked else 0
        _, text = feed.write(since if asked.get("epoch") == feed.epoch else 0)
        self._send(200, text.encode(), "application/json")

    def _show_trial(self, asked: dict[str, str]) -> None:
        _, feed = self._find_feed(asked)
        number = _read_number(asked, "trial")
        found = feed.read(lambda view, fold: details.write_trial(view, fold, int(number)))
        if found is None:
            raise Refusal(404, "There is no such trial.")
        jobs = [job["job"] for job in found["jobs"]]
        self._send_json({**found, **details.write_files(feed.path, int(number), jobs)})

    def _show_importance(self, asked: dict[str, str]) -> None:
        _, feed = self._find_feed(asked)
        level = _read_number(asked, "rung") if "rung" in asked else None
        self._send_json(self.server.importance.get(feed, level))

    def _stream(self, asked: dict[str, str]) -> None:
        with self.server.streams.taken() as taken:
            if not taken:
                raise Refusal(503, "Too many pages are open; close some of them.")
            self.close_connection = True
            self._start(200, "text/event-stream; charset=utf-8")
            self._write_event("retry: 1000\n\n")
            if "study" in asked:
                self._follow(*self._find_feed(asked))
            else:
                self._follow_studies()

    def _follow(self, name: str, feed: Feed) -> None:
        epoch, _, since = self.headers.get("Last-Event-ID", "").partition("-")
        version = int(since) if since.isdecimal() and len(since) < 16 else 0
        while not self.server.closing.is_set():
            self.server.library.keep(name)
            found = feed.wait(epoch, version, ALIVE)
            if found is None:
                self._write_event(": still here\n\n")
                continue
            epoch, version, text = found
            self._write_event(f"id: {epoch}-{version}\nevent: update\ndata: {text}\n\n")
        self._write_event("event: bye\ndata: {}\n\n")

    def _follow_studies(self) -> None:
        last = ""
        while not self.server.closing.is_set():
            text = json.dumps({"studies": self.server.library.list_studies()})
            if text != last:
                last = text
                self._write_event(f"event: studies\ndata: {text}\n\n")
            else:
                self._write_event(": still here\n\n")
            self.server.closing.wait(STUDIES_EVERY)
        self._write_event("event: bye\ndata: {}\n\n")

    # -- changing ------------------------------------------------------------------------------

    def _post(self) -> None:
        guard, headers = self.server.guard, _plain(self.headers)
        guard.check_token(headers)
        if urlsplit(self.path).path != "/control":
            raise Refusal(404, "There is nothing to change.")
        body = self.rfile.read(guard.check_change(headers))
        try:
            asked = json.loads(body)
        except (ValueError, RecursionError):
            raise Refusal(400, "A change must be JSON.") from None
        if not isinstance(asked, dict) or not isinstance(asked.get("study"), str):
            raise Refusal(400, "A change must say which study it is about.")
        if asked["study"] not in self.server.library.names():
            raise Refusal(404, "There is no such study.")
        with self.server.changing:
            found = control.act(self.server.library.path(asked["study"]), asked)
        self._send_json({"state": found.state, "text": found.text})

    # -- out -----------------------------------------------------------------------------------

    def _send_json(self, document: Any) -> None:
        text = json.dumps(document, separators=(",", ":"), allow_nan=False)
        self._send(200, text.encode(), "application/json")

    def _send(
        self, status: int, body: bytes, kind: str = "", more: list[tuple[str, str]] | None = None
    ) -> None:
        self._start(status, kind, [("Content-Length", str(len(body))), *(more or [])])
        if self.command != "HEAD":
            self.wfile.write(body)

    def _start(self, status: int, kind: str, more: list[tuple[str, str]] | None = None) -> None:
        self.send_response(status)
        for name, value in (*HEADERS.items(), *(more or [])):
            self.send_header(name, value)
        if kind:
            self.send_header("Content-Type", kind)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
        """What is no request of HTTP at all is answered in the same way."""
        self.close_connection = True
        if not hasattr(self, "command") or self.command is None:
            self.command = "GET"
        self.request_version = "HTTP/1.1"  # else there would be no line of status
        self._send(code, b"This request cannot be answered.\n", "text/plain; charset=utf-8")

    def _write_event(self, text: str) -> None:
        self.wfile.write(text.encode())
        self.wfile.flush()

    def log_message(self, *_: Any) -> None:
        """Requests are not printed."""


def _plain(headers: Any) -> dict[str, str]:
    """Headers by their usual names; of one that comes twice, nothing is taken."""
    found: dict[str, str] = {}
    for name in headers:
        values = headers.get_all(name)
        found["-".join(part.capitalize() for part in name.split("-"))] = (
            values[0] if len(values) == 1 else "\0"
        )
    return found


def _read_number(asked: Mapping[str, str], name: str) -> float:
    try:
        number = float(asked.get(name, ""))
    except ValueError:
        number = -1.0
    if not 0 <= number < 2**53:
        raise Refusal(400, f"{name} must be a number.")
    return number
