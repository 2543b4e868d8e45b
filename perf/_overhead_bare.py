"""No tuner at all, for overhead.py: so many processes train so many trials and tell nobody.

What the machine itself allows: how late it wakes sleepers, and what the counting costs.
"""

from __future__ import annotations

import json
import sys
import time

from _overhead_common import Task, crew, tally, tell, wait_for_go


def member(task: Task, number: int) -> None:
    """Train every so-manieth trial."""
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
    """Measure one task, or be a member of the crew that does."""
    task = Task.given()
    if sys.argv[1:]:
        member(task, int(sys.argv[2]))
        return
    watch, said = crew(task, __file__)
    tell(task, watch, seen=sum(each["reports"] for each in said))


if __name__ == "__main__":
    main()
