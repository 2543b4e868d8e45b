"""PASHA and ASHA in Ray Tune, with pauses and promotions."""

import os
from pathlib import Path

import pytest
from extras import needs

import rungwise as rw
from rungwise.testing import AdapterConformance, HostRecord

ray = needs("ray-tune", "ray")
tune = needs("ray-tune", "ray.tune")
ray_tune = needs("ray-tune", "rungwise.integrations.ray_tune")
trainables = needs("ray-tune", "ray_tune_trainables")

pytestmark = [
    pytest.mark.integrations,
    pytest.mark.no_cover,
    pytest.mark.filterwarnings("ignore"),  # of Ray itself
]


@pytest.fixture(scope="module", autouse=True)
def cluster():
    folder = str(Path(trainables.__file__).parent)
    os.environ["PYTHONPATH"] = os.pathsep.join([folder, os.environ.get("PYTHONPATH", "")])
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray.init(
        address="local",
        num_cpus=4,
        include_dashboard=False,
        log_to_driver=False,
        logging_level="ERROR",
        object_store_memory=80 << 20,
    )
    yield
    ray.shutdown()


def run_tuner(trainable, pair, folder, **more):
    config = {"search_alg": pair.searcher, "scheduler": pair.scheduler, "num_samples": -1}
    config |= {"metric": pair.metric, "mode": pair.mode, "reuse_actors": True}
    tuner = tune.Tuner(
        tune.with_resources(trainable, {"cpu": 1}),
        tune_config=tune.TuneConfig(**{**config, **more.pop("config", {})}),
        run_config=tune.RunConfig(name="run", storage_path=str(folder), verbose=0),
        **more,
    )
    return tuner.fit()


class TestRayTune(AdapterConformance):
    def run_host(self, study):
        path = study.folder / "study.db"
        pair = ray_tune.TuneStudy(
            path,
            {"row": rw.Int(0, max(study.trials - 1, 1))},
            metric="value",
            mode=study.goal,
            workers=study.workers,
            time_attr="epoch",
            scheduler=study.recipe,
            trials=study.trials,
            initial=study.configs(),
        )
        trainable = tune.with_parameters(trainables.train_host_study, study=study)
        run_tuner(trainable, pair, study.folder / "ray")
        best = pair.result.best
        return HostRecord.read(path, None if best is None else best.config["row"])
