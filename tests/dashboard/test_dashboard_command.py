"""The commands, and the page that a tuner opens: real processes."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest
from command_line import run_here, started
from dashboard_client import serving
from dashboard_stories import wait_until, write_slow

import rungwise as rw
from rungwise.dashboard.bundle import bundle
from rungwise.dashboard.files import KINDS, list_files, write_data
from rungwise.dashboard.report import make_report
from rungwise.dashboard.server import DashboardServer
from rungwise.display import QuietDisplay
from rungwise.errors import InvalidArgumentError

START = [sys.executable, "-c", "from rungwise.cli import main; main()"]


def test_ctrl_c_ends_the_server_at_once_also_while_a_page_is_open(studies):
    command = [*START, "dashboard", str(studies), "--no-open", "--port", "0"]
    with started(command, stdout=subprocess.PIPE, text=True) as process:
        lines = [process.stdout.readline() for _ in range(3)]
        port, token = re.search(r"http://127\.0\.0\.1:(\d+)/\?token=(\w{64})$", lines[2]).groups()
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/events?study=finished.db",
            headers={"Cookie": f"rungwise_{port}={token}"},
        )
        with urllib.request.urlopen(request) as page:  # noqa: S310 - the same
            assert page.readline() == b"retry: 1000\n"
            begun = time.monotonic()
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 0
            assert time.monotonic() - begun < 10


def test_a_busy_port_is_named_with_the_next_free_one(studies):
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = busy.getsockname()[1]
        done = run_here(["dashboard", str(studies), "--no-open", "--port", str(port)])
        assert done.returncode != 0
        found = re.search(rf"--port is {port}, but .* --port (\d+)", done.stderr)
        with serving(studies, port=int(found[1])):
            pass
        with pytest.raises(InvalidArgumentError, match="not an address of this machine"):
            DashboardServer(studies, host="203.0.113.7", port=0)


@pytest.mark.parametrize("name", ["missing.db", "notes.txt", "missing/s.db"])
def test_what_is_no_study_is_refused(tmp_path, name):
    (tmp_path / "notes.txt").write_text("no study")
    for command in ("dashboard", "report"):
        done = run_here([command, str(tmp_path / name)])
        assert done.returncode == 2
        assert re.search("there is no such|no study file|not a study file", done.stderr)


def test_beyond_this_machine_it_says_that_nothing_is_encrypted(studies):
    command = [*START, "dashboard", str(studies), "--no-open", "--port", "0", "--host", "0.0.0.0"]  # noqa: S104
    with started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert "not encrypted" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)


def test_a_tuner_opens_a_page_that_ends_with_it_and_never_harms_it(tmp_path):
    script, said = write_slow(tmp_path, tmp_path / "s.db", trials=30), []
    text = script.read_text().replace('show="quiet"', 'show="lines", dashboard=True')
    script.write_text(text)
    with started(
        [sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        start_new_session=True,
    ) as tuner:  # fmt: skip
        for line in tuner.stdout:
            said.append(line)
            if "live page" in line:
                break
        address = re.search(r"http://\S+", said[-1])[0]
        assert ask(address) == 403  # another cookie jar, but it is there: 303 leads to a page
        for _ in tuner.stdout:
            pass
        assert tuner.wait(60) == 0
    assert rw.load(tmp_path / "s.db").ended
    with pytest.raises(urllib.error.URLError):
        ask(address)


def test_a_page_whose_tuner_was_killed_ends_too(tmp_path):
    command = [*START, "dashboard", str(tmp_path), "--until-closed", "--no-open"]
    with started(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as page:
        assert json.loads(page.stdout.readline())["address"].startswith("http://127.0.0.1:")
        page.stdin.close()
        assert page.wait(20) == 0


def test_a_page_that_cannot_start_is_a_notice(tmp_path, monkeypatch):
    monkeypatch.setattr("rungwise.tuning.live_page._COMMAND", "raise SystemExit(1)")
    heard = []

    display = QuietDisplay()
    display.notice = heard.append
    result = rw.tune(
        quick, {"x": rw.Float(0, 1)}, metric="loss", goal="min", max_resource=3, trials=3,
        backend="threads:1", show=display, study=tmp_path / "s.db", dashboard=True,
    )  # fmt: skip
    assert result.ended
    assert any("no live page" in text for text in heard)


def quick(config, run):
    for epoch in run.resources():
        run.report(epoch, loss=config["x"])


def ask(address):
    try:
        with urllib.request.urlopen(address, timeout=10) as page:  # noqa: S310 - our own
            return page.status
    except urllib.error.HTTPError as error:
        return error.code


# -- files ------------------------------------------------------------------------------------


def test_a_report_is_one_file_that_loads_nothing(studies, tmp_path):
    target = tmp_path / "r.html"
    done = run_here(["report", str(studies / "<b>hostile.db"), "-o", str(target)])
    assert done.returncode == 0
    text = target.read_text(encoding="utf-8")
    outside = re.sub(r'"http://www\.w3\.org/[^"]*"', "", text)
    assert "http://" not in outside.partition('id="session"')[0]
    assert text.count("<script") == 3  # the session, the data and the page: no text of a study
    assert text.count("</script>") == 3
    assert "<img src=x" not in text
    refused = run_here(["report", str(studies / "finished.db"), "-o", str(studies / "finished.db")])
    assert refused.returncode == 2
    assert rw.load(studies / "finished.db").ended


def test_the_modules_can_be_bundled_and_other_forms_are_refused():
    files = {name: text.decode() for name, text in list_files().items()}
    script = bundle(files, "app.js")
    assert not re.search(r"^(import|export)\b", script, re.MULTILINE)
    unused = {name for name in files if name.endswith(".js") and f"// {name}" not in script}
    assert all(f"${name.replace('.', '_')}" in script for name in unused)
    for form in ('import x from "./b.js";', "export default 3;", 'import { a } from "elsewhere";'):
        with pytest.raises((ValueError, KeyError)):
            bundle({"a.js": form, "b.js": ""}, "a.js")
    with pytest.raises(ValueError, match="would end the element"):
        bundle({"a.js": "'</script>'"}, "a.js")


def test_data_cannot_end_its_element():
    text = write_data({"a": "</script><!--&\u2028"})
    assert not set("<>&") & set(text)
    assert json.loads(text)["a"].startswith("</script>")


def test_every_file_of_the_page_is_small_and_of_a_known_kind():
    for name, content in list_files().items():
        assert any(name.endswith(kind) for kind in KINDS)
        assert content.count(b"\n") <= 400, name
        assert b"innerHTML" not in content
        assert b"//cdn" not in content


def test_a_report_of_a_running_study_is_as_it_stands(tmp_path):
    script = write_slow(tmp_path, tmp_path / "s.db")
    with started([sys.executable, str(script)]) as tuner:
        wait_until(lambda: (tmp_path / "s.db").exists() and has_reports(tmp_path / "s.db"))
        text = make_report(tmp_path / "s.db")
        os.kill(tuner.pid, signal.SIGKILL)
    assert '"state":"running"' in text


def has_reports(path):
    try:
        return rw.load(path).reports > 3
    except rw.RungwiseError:
        return False
