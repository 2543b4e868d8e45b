"""Every rule by the request that it refuses; the same request without the flaw is answered."""

import json
import socket
from contextlib import ExitStack

import pytest
from dashboard_client import Client, serving
from dashboard_stories import make_finished

from rungwise.dashboard.guard import HEADERS, LARGEST, Guard, Refusal
from rungwise.dashboard.server import STREAMS


def test_what_keeps_every_rule_is_answered(client):
    status, headers, body = client.ask("/", Sec_Fetch_Site="same-origin")
    assert status == 200
    assert b'<div id="app">' in body
    for name, text in HEADERS.items():
        assert headers[name] == text
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert "Set-Cookie" not in headers


@pytest.mark.parametrize(
    "path", ["/", "/static/app.js", "/events", "/studies", "/snapshot?study=x"]
)
def test_without_the_token_nothing_is_told(client, path):
    status, headers, body = client.ask(path, known=False)
    assert (status, headers["Content-Type"]) == (403, "text/plain; charset=utf-8")
    assert b"token" in body
    assert headers["Content-Security-Policy"] == HEADERS["Content-Security-Policy"]
    assert client.ask(path, known=False, Cookie=f"{client.guard.cookie}=wrong")[0] == 403
    assert client.ask(path, known=False, Cookie=f"rungwise_1={client.guard.token}")[0] == 403


def test_the_address_with_the_token_gives_a_cookie_named_after_the_port(client):
    status, headers, _ = client.ask(f"/?token={client.guard.token}", known=False)
    assert (status, headers["Location"]) == (303, "/")
    name = f"rungwise_{client.guard.port}={client.guard.token}"
    assert headers["Set-Cookie"] == f"{name}; HttpOnly; SameSite=Strict; Path=/"
    for wrong in ("", "x", client.guard.token[:-1], client.guard.token + "0", "%ff"):
        status, headers, _ = client.ask(f"/?token={wrong}", known=False)
        assert status == 403
        assert "Set-Cookie" not in headers


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "localhost.evil:{port}",
     "127.0.0.1:{port}@evil", "x@127.0.0.1:{port}", "", "[::1", "127.0.0.1:{port}/", None],
)  # fmt: skip
def test_a_domain_that_points_here_is_refused(client, host):
    name = None if host is None else host.format(port=client.guard.port)
    assert client.ask("/", Host=name)[0] == 421
    assert client.ask(f"/?token={client.guard.token}", Host=name)[0] == 421


@pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}", "[::1]:{port}"])
def test_our_own_names_are_answered(client, host):
    assert client.ask("/", Host=host.format(port=client.guard.port))[0] == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site", "anything"])
def test_other_sites_are_refused(client, site):
    assert client.ask("/snapshot?study=finished.db", Sec_Fetch_Site=site)[0] == 403


@pytest.mark.parametrize(
    "path",
    ["/static/../../pyproject.toml", "/static/%2e%2e/guard.py", "/static//etc/passwd",
     "/etc/passwd", "/static/", "/static/app.js/", "/static/app.py", "/index.html",
     "//evil.example/", "/static/app.js%00"],
)  # fmt: skip
def test_only_files_of_the_list_are_sent(client, path):
    assert client.ask(path)[0] == 404


@pytest.mark.parametrize(
    "name", ["../finished.db", "/etc/passwd", "finished.db.lock", "", "%00", "finished.db/."]
)
def test_only_studies_of_the_folder_can_be_asked_for(client, name):
    assert client.ask(f"/snapshot?study={name}")[0] == 404
    assert client.ask(f"/trial?study={name}&trial=1")[0] == 404


@pytest.mark.parametrize("trial", ["-1", "x", "1e99", "nan", "", "999"])
def test_only_trials_that_there_are_can_be_asked_for(client, trial):
    assert client.ask(f"/trial?study=finished.db&trial={trial}")[0] in (400, 404)


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "PATCH", "HEAD"])
def test_other_methods_are_refused(client, method):
    assert client.ask("/", method)[0] == 405


def test_what_is_no_request_is_answered_without_a_word_of_python(client):
    for raw in (
        b"\x16\x03\x01\x02\x00\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET " + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n",
    ):
        with socket.create_connection(("127.0.0.1", client.guard.port), timeout=10) as raw_client:
            raw_client.sendall(raw)
            answer = raw_client.recv(4096)
        assert b" 4" in answer[:16] or b" 5" in answer[:16]
        assert b"Traceback" not in answer
        assert b"Python" not in answer


def test_a_header_that_comes_twice_counts_for_nothing(client):
    connection = socket.create_connection(("127.0.0.1", client.guard.port), timeout=10)
    with connection:
        ours = f"Host: 127.0.0.1:{client.guard.port}\r\n"
        connection.sendall(
            f"GET / HTTP/1.1\r\n{ours}Host: evil\r\nConnection: close\r\n\r\n".encode()
        )
        assert b" 421 " in connection.recv(4096)


def test_too_many_parts_of_an_address_are_refused(client):
    many = "&".join(f"a{n}=1" for n in range(50))
    assert client.ask(f"/studies?{many}")[0] == 400
    assert client.ask(f"/?{many}")[0] in (200, 400)


def test_streams_are_counted_and_given_back(tmp_path):
    with serving(make_finished(tmp_path)) as server, ExitStack() as held:
        client = Client(server)
        request = (
            f"GET /events?study=finished.db HTTP/1.1\r\nHost: 127.0.0.1:{server.guard.port}\r\n"
            f"Cookie: {server.guard.cookie}={server.guard.token}\r\n\r\n"
        ).encode()
        for _ in range(STREAMS):
            stream = socket.create_connection(("127.0.0.1", server.guard.port), timeout=10)
            held.enter_context(stream)
            stream.sendall(request)
            assert b" 200 " in stream.recv(64)
        assert client.ask("/events?study=finished.db")[0] == 503
        assert client.ask("/studies")[0] == 200


# -- changes ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def controlled(tmp_path_factory):
    path = make_finished(tmp_path_factory.mktemp("controlled"))
    with serving(path, control=True) as server:
        yield Client(server)


def change(client, request=None, **headers):
    asked = {"study": "finished.db", "action": "label", "tags": ["seen"], **(request or {})}
    given = {
        "Origin": f"http://127.0.0.1:{client.guard.port}",
        "Content_Type": "application/json",
        "X_Rungwise_Proof": client.guard.proof if client.guard.control else "",
        "may": True,
        **headers,
    }
    return client.ask("/control", "POST", json.dumps(asked).encode(), **given)


def test_a_page_that_may_changes_something(controlled):
    status, _, body = change(controlled)
    assert (status, json.loads(body)["state"]) == (200, "applied")


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        (403, {"may": False}),
        (403, {"known": False}),
        (403, {"Origin": "http://evil.example"}),
        (403, {"Origin": "null"}),
        (403, {"Origin": None}),
        (403, {"Origin": "https://127.0.0.1:{port}"}),
        (403, {"Origin": "http://127.0.0.1:1"}),
        (403, {"X_Rungwise_Proof": None}),
        (403, {"X_Rungwise_Proof": "0" * 64}),
        (403, {"Sec_Fetch_Site": "cross-site"}),
        (403, {"Sec_Fetch_Site": "same-site"}),
        (421, {"Host": "evil.example"}),
        (415, {"Content_Type": "text/plain"}),
        (415, {"Content_Type": "application/x-www-form-urlencoded"}),
        (413, {"Content_Length": str(LARGEST + 1)}),
        (413, {"Content_Length": "9" * 30}),
        (411, {"Content_Length": "-1"}),
        (411, {"Content_Length": "x"}),
    ],
)
def test_a_change_with_any_flaw_is_refused(controlled, status, headers):
    port = controlled.guard.port
    given = {k: v.format(port=port) if isinstance(v, str) else v for k, v in headers.items()}
    assert change(controlled, **given)[0] == status


def test_a_change_of_something_else_is_refused(controlled):
    assert change(controlled, {"study": "../finished.db"})[0] == 404
    assert change(controlled, {"study": None})[0] == 400
    refused = json.loads(change(controlled, {"action": "delete"})[2])
    assert refused == {"state": "refused", "text": "there is no action 'delete'"}
    assert controlled.ask("/control", "POST", b"{}", may=True)[0] == 403
    assert controlled.ask("/other", "POST", b"{}", may=True)[0] == 404


def test_without_control_nothing_can_be_changed_and_no_page_knows_the_proof(client):
    assert change(client, may=False, X_Rungwise_Proof="x")[0] == 403
    assert b'"proof":""' in client.ask("/")[2]


def test_the_token_for_control_is_another_one(controlled):
    guard = controlled.guard
    assert guard.control != guard.token
    assert guard.proof.encode() not in controlled.ask("/")[2]
    assert guard.proof.encode() in controlled.ask("/", may=True)[2]
    path = f"/?token={guard.token}&control={guard.control}"
    status, headers, _ = controlled.ask(path, known=False)
    assert status == 303
    assert guard.control in headers["Set-Cookie"]
    assert controlled.ask(f"/?token={guard.token}&control=x", known=False)[0] == 403


# -- beyond this machine --------------------------------------------------------------------------


def test_over_a_network_only_names_that_cannot_be_made_to_point_here_are_answered():
    guard = Guard("0.0.0.0", 80, "secret")  # noqa: S104
    for host in ("10.0.0.7:80", "192.168.1.2", f"{socket.gethostname()}:80"):
        guard.check({"Host": host})
    for host in ("evil.example", "evil.example:80", "10.0.0.7:81", "10.0.0.7.evil"):
        with pytest.raises(Refusal):
            guard.check({"Host": host})


def test_a_token_over_a_network_is_new_each_time_and_the_one_at_home_is_not(studies):
    def token(host):
        with serving(studies / "finished.db", host=host, port=found) as server:
            return server.guard.token

    with serving(studies / "finished.db") as server:
        found = server.guard.port
    assert token("127.0.0.1") == token("127.0.0.1")
    assert token("0.0.0.0") != token("0.0.0.0")  # noqa: S104
