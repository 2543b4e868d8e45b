"""Programs that jobs start in threads of the tuner: Ctrl-C, kills and jobs that are given up."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import rungwise as rw

TUNER = """
import sys
import rungwise as rw
study, marks = sys.argv[1:]
script = rw.Script(("sh", "-c", '''
trap "" TERM
for r in 1 2 3 4 5 6 7 8 9; do
    [ "$r" -gt "$RUNGWISE_START" ] || continue
    echo $$ >> "$0/$RUNGWISE_TRIAL"
    sleep 0.3
    echo "{{\\\\"resource\\\\": $r, \\\\"loss\\\\": $r}}" >> "$RUNGWISE_REPORTS"
done
''', marks))
result = rw.tune(
    script, {"x": rw.Float(0, 1)}, metric="loss", goal="min", max_resource=9,
    scheduler=rw.FixedResource(9), trials=2, retries=0, backend=rw.Threads(2), study=study,
    show="quiet",
)
"""


@pytest.fixture
def tuner(tmp_path):
    """Start a tuner of two programs in threads, in a process group of its own."""
    (tmp_path / "marks").mkdir()
    started = []

    def start():
        arguments = [sys.executable, "-c", TUNER, tmp_path / "s.db", tmp_path / "marks"]
        started.append(subprocess.Popen(arguments, start_new_session=True, stderr=subprocess.PIPE))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait(60)
        process.stderr.close()


def programs(folder):
    """The programs that have run for each trial."""
    return {path.name: set(path.read_text().split()) for path in (folder / "marks").iterdir()}


def wait_for(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def is_alive(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def two_programs(folder):
    return len(programs(folder)) == 2


def test_ctrl_c_on_a_terminal_fails_no_trial(tuner, tmp_path):
    """It reaches the whole process group; programs have a group of their own."""
    process = tuner()
    wait_for(lambda: two_programs(tmp_path))
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(60) != 0
    found = rw.load(tmp_path / "s.db")
    assert found.failures == ()
    assert {row.state for row in found.leaderboard()} <= {"paused", "lost", "running"}


def test_programs_end_with_a_tuner_that_is_killed(tuner, tmp_path):
    """Before the next tuner can start; else two would train one trial."""
    process = tuner()
    wait_for(lambda: two_programs(tmp_path))
    before = set().union(*programs(tmp_path).values())
    process.kill()
    process.wait(60)
    wait_for(lambda: not any(map(is_alive, before)))


def test_programs_of_jobs_that_were_given_up_end_with_the_study(tmp_path):
    pid = tmp_path / "pid"
    script = rw.Script(("sh", "-c", f'trap "" TERM; echo $$ > {pid}; sleep 60; sleep 60'))
    begun = time.monotonic()
    result = rw.tune(
        script,
        {"x": rw.Float(0, 1)},
        metric="loss",
        goal="min",
        max_resource=1,
        trials=1,
        retries=0,
        report_timeout=0.5,
        grace=0.2,
        backend=rw.Threads(1),
        show="quiet",
    )
    assert result.failures[0].reason.endswith("(report_timeout)")
    assert time.monotonic() - begun < 40
    wait_for(lambda: not is_alive(int(pid.read_text())))
