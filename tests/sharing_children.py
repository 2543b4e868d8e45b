"""What child processes do with a shared run; spawned ones import it."""

import multiprocessing
import os
import time

import pytest

import rungwise as rw


def report_until_enough(shared, results):
    """As a loop of one's own would; the last is what became of the run in this process."""
    answers = []
    for epoch in shared.resources():
        with shared.checkpoint(epoch) as folder:
            (folder / "model").write_text(str(epoch))
        answers.append((epoch, shared.report(epoch, loss=1 / epoch, extra=epoch)))
    results.put((answers, shared.enough, str(shared.latest), shared.trial, shared.metric))


def report_a_run(run, results):
    """The run itself is of no use in a child."""
    for act in (lambda: run.report(1, loss=1), lambda: run.checkpoint(1).__enter__(), run.share):
        with pytest.raises(rw.ShareError) as caught:
            act()
        results.put(str(caught.value))


def sleep(shared, results):
    results.put(os.getpid())
    while True:
        time.sleep(1)


# -- training functions --------------------------------------------------------------------------


def run_children(method, target, *arguments):
    context = multiprocessing.get_context(method)
    child = context.Process(target=target, args=arguments)
    child.start()
    child.join()
    if child.exitcode:
        raise RuntimeError(f"the child ended with {child.exitcode}")


def train_in_spawned_child(config, run):
    run_children("spawn", train_child, config, run.share())


def train_in_forked_child(config, run):
    run_children("fork", train_child, config, run.share())


def train_child(config, shared):
    done = int((shared.latest / "model").read_text()) if shared.latest else 0
    assert done == shared.start
    for epoch in shared.resources():
        with shared.checkpoint(epoch) as folder:
            (folder / "model").write_text(str(epoch))
        shared.report(epoch, loss=abs(config["x"] - 0.3) + 1 / epoch)


def train_with_hanging_child(config, run):
    """The child reports once and hangs."""
    run_children("fork", hang, run.share(), os.environ["SHARING_PIDS"])


def hang(shared, pids):
    with open(pids, "a", encoding="utf-8") as file:  # noqa: PTH123
        file.write(f"{os.getpid()}\n")
    shared.report(0.5, loss=1)
    while True:
        time.sleep(1)


def train_in_child_without_share(config, run):
    run_children("fork", run.report, 1)
