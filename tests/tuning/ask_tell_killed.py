"""Threads that do random things to an ask/tell study, for tests that kill them.

python ask_tell_killed.py STUDY ANSWERS SEED: every answer is a line of ANSWERS.
"""

import json
import math
import sys
import threading

import numpy as np

import rungwise as rw

SPACE = {"x": rw.Float(0, 1)}
LIMITS = {"metric": "loss", "goal": "min", "max_resource": 27, "trials": 150, "retries": 2}
LIMITS["scheduler"] = "pasha"  # it gives work to any number of threads, and draws all trials


def loss(config, resource):
    return (config["x"] - 0.3) ** 2 + 1 / resource


def work(study, say, rng):
    while True:
        job = study.ask()
        if isinstance(job, rw.Done):
            return
        if isinstance(job, rw.Wait):
            continue
        say("asked", job.id, job.trial, job.start, job.until)
        for resource in job.resources():
            fate = rng.random()
            if fate < 0.03:
                study.failed(job, "it failed")
                break
            if fate < 0.06:
                study.lost(job)
                break
            if fate < 0.07:
                study.ended(job)
                break
            value = math.nan if fate < 0.08 else loss(job.config, resource)
            go_on = study.report(job, resource, value)
            if not math.isnan(value):
                say("reported", job.id, resource, value, go_on)
            if not go_on:
                break


def main():
    path, answers, seed = sys.argv[1:]
    lock = threading.Lock()
    with open(answers, "a", encoding="utf-8") as file:  # noqa: PTH123 - a plain file

        def say(*words):
            with lock:
                file.write(json.dumps(words) + "\n")
                file.flush()

        file.write("\n")
        with rw.open_study(path, SPACE, **LIMITS) as study:
            threads = [
                threading.Thread(
                    target=work,
                    args=(study, say, np.random.default_rng([*map(int, seed.split()), n])),
                )
                for n in range(4)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()


if __name__ == "__main__":
    main()
