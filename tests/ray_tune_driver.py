"""A run of Ray Tune that is killed in the middle: with a study of rungwise, or with Ray's own ASHA.

python tests/ray_tune_driver.py KIND FOLDER REPORTS: the process kills itself after that many.
"""

import json
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

import ray
from ray import tune
from ray.tune.schedulers import ASHAScheduler
from ray_tune_trainables import train_and_record

from rungwise.integrations.ray_tune import TuneStudy

TRIALS = 12
SPACE = {"x": tune.uniform(0, 1)}


class Killer(tune.Callback):
    """Ends this process after so many reports, when Ray's stored state has this word in it.

    It is not ended while Ray copies its state: a copy that was cut off is an empty file, with which
    Ray begins from the start.
    """

    def __init__(self, reports, folder, word):
        self.left, self.folder, self.word = reports, folder, word

    def on_trial_result(self, iteration, trials, trial, result, **info):
        self.left -= 1
        if self.left <= 0 and self.is_stored():
            os.kill(os.getpid(), signal.SIGKILL)

    def is_stored(self):
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            with suppress(OSError, ValueError):
                file = max(self.folder.glob("experiment_state-*.json"))
                text = file.read_text()
                if json.loads(text) and time.time() - file.stat().st_mtime > 1:
                    return self.word in text
            time.sleep(0.05)
        return False


def start_ray():
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    options = {"include_dashboard": False, "log_to_driver": False, "logging_level": "ERROR"}
    ray.init(address="local", num_cpus=4, object_store_memory=80 << 20, **options)


def make_trainable(folder):
    return tune.with_resources(tune.with_parameters(train_and_record, folder=folder), {"cpu": 1})


def make_tuner(kind, folder, reports):
    config = {"metric": "loss", "mode": "min", "reuse_actors": True}
    if kind == "rungwise":
        study = TuneStudy(
            Path(folder, "study.db"),
            SPACE,
            metric="loss",
            mode="min",
            workers=2,
            time_attr="epoch",
            scheduler="asha",
            max_resource=27,
            trials=TRIALS,
        )
        config |= {"search_alg": study.searcher, "scheduler": study.scheduler, "num_samples": -1}
    else:
        scheduler = ASHAScheduler(time_attr="epoch", max_t=27, grace_period=1, reduction_factor=3)
        config |= {"scheduler": scheduler, "num_samples": TRIALS, "max_concurrent_trials": 2}
    # What Ray forgets are the results of trials that had ended.
    word = "TERMINATED" if kind == "asha" else ""
    killer = Killer(reports, Path(folder, kind), word)
    run = tune.RunConfig(name=kind, storage_path=str(folder), verbose=0, callbacks=[killer])
    parameters = None if kind == "rungwise" else SPACE
    return tune.Tuner(
        make_trainable(folder),
        tune_config=tune.TuneConfig(**config),
        run_config=run,
        param_space=parameters,
    )


if __name__ == "__main__":
    os.environ["TUNE_GLOBAL_CHECKPOINT_S"] = "0"  # else Ray would have saved nothing by then
    start_ray()
    make_tuner(sys.argv[1], sys.argv[2], int(sys.argv[3])).fit()
