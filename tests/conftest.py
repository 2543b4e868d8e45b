"""Settings of every test: Hypothesis draws the same examples each time; long files come first."""

import gc
import os
import signal
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# The key that signs study files is kept there, and not in the home of who runs the tests.
os.environ["XDG_STATE_HOME"] = str(Path(tempfile.gettempdir(), "rungwise-tests-state"))

# Keras is tested on PyTorch, which is there.
os.environ.setdefault("KERAS_BACKEND", "torch")

# A shell that is not interactive lets what it starts in the background ignore Ctrl-C, and so would
# every process that a test starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

LIMIT = 600
"""Seconds after which a test has failed: nothing that it waits for may stop the others."""

settings.register_profile(
    "rungwise",
    derandomize=True,
    deadline=None,
    # A busy machine is slow; that says nothing about a test.
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("rungwise")

LONGEST = (
    "test_demo.py",
    "test_docs.py",
    "test_searchers.py",
    "test_models.py",
    "backends/test_ray.py",
    "test_tuner_killed.py",
    "backends/test_conformance.py",
    "test_retraining.py",
    "test_optuna.py",
    "test_cli_commands.py",
    "test_recorder.py",
    "test_the_suites_notice.py",
)
"""Files that take longest, which come first: at the end the others keep all processes busy."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """With ``--no-loadscope-reorder``, files are given out in this order.

    Tests that look into ``/proc``, or rely on what only systems with it enforce, are skipped where
    there is none (macOS). Tests of large hosts run only where their marker is asked for.
    """
    if not Path("/proc/self/stat").exists():
        for item in items:
            if item.get_closest_marker("proc") or "/faults/" in item.path.as_posix():
                item.add_marker(pytest.mark.skip(reason="needs /proc"))
    if "integrations" not in config.option.markexpr:
        left_out = [item for item in items if item.get_closest_marker("integrations")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
    rank = {name: number for number, name in enumerate(LONGEST)}

    def place(item):
        path = item.path.as_posix()
        return min((rank[name] for name in LONGEST if path.endswith("/" + name)), default=len(rank))

    items.sort(key=place)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session):
    """What is loaded stays until the end: garbage is not looked for in it, which takes long."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def _fail(signum, frame):
    pytest.fail(f"the test has taken {LIMIT} seconds")


def _limited(item):
    signal.signal(signal.SIGALRM, _fail)
    # Once more every ten seconds: what is left of the test may wait, too.
    signal.setitimer(signal.ITIMER_REAL, LIMIT, 10)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


pytest_runtest_setup = pytest.hookimpl(wrapper=True)(_limited)
pytest_runtest_call = pytest.hookimpl(wrapper=True)(_limited)
pytest_runtest_teardown = pytest.hookimpl(wrapper=True)(_limited)
