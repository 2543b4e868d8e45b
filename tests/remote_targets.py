"""What the tests of objects in other processes call."""

import os
import sys
import time
from pathlib import Path


class Target:
    def __init__(self, *start):
        if start == ("broken",):
            raise ValueError("no such server")
        self.seen = list(start)

    def add(self, value):
        self.seen.append(value)
        return self.seen

    def fail(self):
        raise KeyError("it is not there")

    def exit(self):
        sys.exit("it gives up")

    def die(self):
        os._exit(3)

    def process(self):
        return os.getpid(), os.getpriority(os.PRIO_PROCESS, 0)

    def write_slowly(self, path):
        Path(path).touch()
        time.sleep(60)
