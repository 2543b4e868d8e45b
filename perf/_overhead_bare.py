"""No tuner at all, for overhead.py: the same processes train the same trials, without reports.

What the machine itself allows: how late it wakes sleeping processes, and what counting costs.
"""

from __future__ import annotations

import json
import sys
import time

from _overhead_common import Task, print_outcome, run_processes, tally, wait_for_go


def run_process(task: Task, number: int) -> None:
    """Train this process's share of the trials."""
    mine = tally(task)
    wait_for_go()
    deadline = time.monotonic() + task.limit
    for trial in range(number, task.trials, task.workers):
        if time.monotonic() > deadline:
            break
        for epoch in range(1, task.epochs + 1):
            mine.train(trial / task.trials, epoch)
            mine.reported()
    print(json.dumps({"reports": mine.counts.reports}))


def main() -> None:
    """Measure one task, or be one of the processes that do."""
    task = Task.given()
    if sys.argv[1:]:
        run_process(task, int(sys.argv[2]))
        return
    watch, said = run_processes(task, __file__)
    print_outcome(task, watch, seen=sum(each["reports"] for each in said))


if __name__ == "__main__":
    main()
