"""Steps as the resource, and a study that is interrupted and resumed.

    python examples/steps_and_resume.py

Logistic regression by stochastic gradient descent in plain NumPy: up to 2,700 steps, measured every
100. When trial 20 has made its first report, Ctrl-C is pressed.
"""

import signal
import tempfile
from pathlib import Path

import numpy as np

import rungwise as rw


def points(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Points in 20 dimensions, and the side of a curved border that each lies on."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, 20))
    return x, np.where(x @ np.linspace(-1, 1, 20) + 0.3 * x[:, 0] ** 2 > 0, 1, -1)


def train(config: dict, run: rw.Run) -> None:
    """Steps of gradient descent from the last checkpoint on."""
    x, y = points(2000, seed=1)
    val_x, val_y = points(1000, seed=2)
    w = np.load(run.latest / "w.npy") if run.latest else np.zeros(20)
    for step in run.resources(step=100):
        rng = np.random.default_rng((run.seed, step))
        for batch in rng.integers(len(x), size=(100, config["batch"])):
            pull = y[batch] / (1 + np.exp(y[batch] * (x[batch] @ w)))
            w = (1 - config["decay"]) * w + config["lr"] * (pull @ x[batch]) / len(batch)
        with run.checkpoint(step) as folder:
            np.save(folder / "w.npy", w)
        run.report(step, accuracy=np.mean(np.sign(val_x @ w) == val_y))


def press_ctrl_c(report: rw.ReportEvent) -> None:
    """What a user may do at any time."""
    if report.trial == 20 and report.resource == 100:
        signal.raise_signal(signal.SIGINT)


space = {
    "lr": rw.Float(1e-4, 1, log=True),
    "decay": rw.Float(1e-7, 1e-2, log=True),
    "batch": [1, 4, 16],
}

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        study = Path(folder) / "steps.db"
        try:
            rw.tune(
                train,
                space,
                metric="accuracy",
                goal="max",
                scheduler=rw.PASHA(min_resource=100, max_resource=2700),
                trials=40,
                workers=2,
                study=study,
                on_report=press_ctrl_c,
                show="quiet",
            )
        except rw.StudyInterrupted:
            held = rw.load(study)
            print(f"interrupted: {held.reports} reports of {held.trials} trials are kept")
        result = rw.resume(study, train, show="quiet")
        print(f"resumed: {result.reports} reports of {result.trials} trials")
        print(result.why)
        print(f"accuracy {result.best.value:.3f} with {result.best.config}")
