"""PASHA and ASHA in Ray Tune, with pauses and promotions."""

import os
import runpy
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from extras import needs

import rungwise as rw
from rungwise.testing import AdapterConformance, HostRecord

ray = needs("ray-tune", "ray")
tune = needs("ray-tune", "ray.tune")
ray_tune = needs("ray-tune", "rungwise.integrations.ray_tune")
trainables = needs("ray-tune", "ray_tune_trainables")
ray_tune_driver = needs("ray-tune", "ray_tune_driver")

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


def kill_and_restore(kind, folder, reports):
    """A run that is killed after so many reports, and restored by Ray; its scheduler then."""
    driver = Path(trainables.__file__).with_name("ray_tune_driver.py")
    command = [sys.executable, str(driver), kind, str(folder), str(reports)]
    killed = subprocess.run(command, capture_output=True, check=False, timeout=300)
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
    trainable = ray_tune_driver.make_trainable(folder)
    space = None if kind == "rungwise" else ray_tune_driver.SPACE  # Ray does not keep it
    tuner = tune.Tuner.restore(
        str(folder / kind), trainable, resume_unfinished=True, param_space=space
    )
    scheduler = tuner._local_tuner._tune_config.scheduler
    tuner._local_tuner._run_config.callbacks = []
    tuner.fit()
    return scheduler


def test_a_run_that_was_killed_is_restored_with_its_rungs_and_that_of_ray_is_not(tmp_path):
    """Side by side: 12 trials, killed after 14 reports or more, restored by Tuner.restore."""
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    ours.mkdir()
    theirs.mkdir()
    kill_and_restore("rungwise", ours, 14)
    result = rw.load(ours / "study.db")
    assert result.ended
    assert result.trials == 12
    compared = {trial.id for trial in result.engine.trials if trial.resource >= 1}
    assert len(compared) == 12  # all are in the first rung, those from before the kill as well
    lines = (ours / "trained").read_text().splitlines()
    assert len(lines) - len(set(lines)) <= 2 * 2  # what two workers had not saved

    scheduler = kill_and_restore("asha", theirs, 14)
    lines = (theirs / "trained").read_text().splitlines()
    trained = {line.split()[0] for line in lines if line.split()[1] == "1"}
    (bracket,) = scheduler._brackets
    _, first = bracket._rungs[-1]
    assert len(trained) == 12
    assert len(first) < 12  # those that were compared before the kill are forgotten


def test_the_example_runs_and_has_nothing_to_do_a_second_time(tmp_path, monkeypatch, capsys):
    example = Path(__file__).parents[2] / "examples" / "ray_tune" / "digits.py"
    monkeypatch.setattr(sys, "argv", [str(example), "--folder", str(tmp_path), "--trials", "6"])
    for _ in range(2):
        runpy.run_path(str(example), run_name="__main__")
        assert "BestTrial" in capsys.readouterr().out
    assert rw.load(tmp_path / "digits.db").trials == 6
