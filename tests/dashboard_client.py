"""A server of the page in a thread, and what asks it."""

import http.client
import threading
from contextlib import contextmanager

from rungwise.dashboard.server import DashboardServer


@contextmanager
def serving(place, **options):
    server = DashboardServer(place, **{"port": 0, **options})
    thread = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
    )
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.close()
        thread.join()


class Client:
    """Asks as a browser of ours would, unless told otherwise."""

    def __init__(self, server):
        self.server = server
        self.guard = server.guard

    def ask(self, path, method="GET", body=None, *, known=True, may=False, **headers):
        given = {"Host": f"127.0.0.1:{self.guard.port}"}
        cookies = [f"{self.guard.cookie}={self.guard.token}"] if known else []
        cookies += [f"{self.guard.control_cookie}={self.guard.control}"] if may else []
        if cookies:
            given["Cookie"] = "; ".join(cookies)
        given |= {
            name.replace("_", "-"): text for name, text in headers.items() if text is not None
        }
        given = {
            name: text
            for name, text in given.items()
            if headers.get(name.replace("-", "_"), "") is not None
        }
        connection = http.client.HTTPConnection("127.0.0.1", self.guard.port, timeout=20)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, text in given.items():
                connection.putheader(name, text)
            if body is not None and "Content-Length" not in given:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()
