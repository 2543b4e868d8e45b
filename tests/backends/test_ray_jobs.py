"""The recipe of docs/cluster.md for a cluster: the tuner as a job that is submitted to it."""

import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import pytest
from extras import needs
from faults.ray_campaign import children

import rungwise as rw

pytestmark = [pytest.mark.integrations, pytest.mark.no_cover]

ROOT = Path(__file__).parents[2]


def find_port():
    """A free port that the system gives to no other part of Ray in the meantime."""
    for port in range(20_000 + os.getpid() % 5_000, 30_000):
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise AssertionError


@pytest.fixture
def address(monkeypatch):
    """A cluster of one node with a dashboard, that `ray start --head` has started."""
    needs("ray", "ray")
    needs("aiohttp-cors")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    # Else it depends on whether a local Ray has left a token in the home of who runs the tests.
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    monkeypatch.setenv("PATH", programs)  # what a job calls python
    port = find_port()
    folder = tempfile.mkdtemp(prefix="ray-jobs-", dir="/tmp")  # for sockets, whose names are short
    options = [f"--temp-dir={folder}", f"--dashboard-port={port}", "--port=0", "--num-cpus=2"]
    command = ["ray", "start", "--head", "--block", *options, f"--object-store-memory={80 << 20}"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT) as head:
        yield f"http://127.0.0.1:{port}"
        below = children(head.pid)
        head.terminate()
        head.wait(60)
    for pid in below:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    shutil.rmtree(folder, ignore_errors=True)


def recipe(tmp_path):
    """The command of the page, with folders of the test and fewer trials."""
    page = (ROOT / "docs" / "cluster.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"^(ray job submit .*?)\n```", page, re.DOTALL | re.MULTILINE)
    command = command.replace("/shared", str(tmp_path)).replace("--workers 16", "--workers 2")
    return [*shlex.split(command.replace("\\\n", " ")), "--trials", "4"]


def run(command, address):
    environment = {**os.environ, "RAY_ADDRESS": address}
    return subprocess.run(
        command,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=300,
    )


def test_the_command_of_the_page_tunes_on_the_cluster_and_runs_once(tmp_path, address):
    command = recipe(tmp_path)
    deadline = time.monotonic() + 120
    done = run(command, address)
    starting = ("No available agent", "Failed to connect to Ray")
    while any(text in done.stdout for text in starting) and time.monotonic() < deadline:
        time.sleep(2)
        done = run(command, address)
    assert done.returncode == 0, done.stdout
    assert "BestTrial" in done.stdout
    assert rw.load(tmp_path / "digits.db").ended
    assert any((tmp_path / "checkpoints").rglob("model.joblib"))
    again = run(command, address)
    assert again.returncode != 0
    assert "digits-1 already exists" in again.stdout
