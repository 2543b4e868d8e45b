"""PASHA inside Ray Tune: the trainable is one of Ray's, the decisions are rungwise's.

Run it again after any kill, and it goes on where it was.
"""

import argparse
import tempfile
from pathlib import Path

import joblib
from ray import tune
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

from rungwise.integrations.ray_tune import TuneStudy


def train(config: dict) -> None:
    """A small neural network; it continues from its checkpoint."""
    images, labels = load_digits(return_X_y=True)
    images, held_out, labels, true = train_test_split(images / 16, labels, random_state=0)
    epoch = 0
    model = MLPClassifier(
        hidden_layer_sizes=(config["width"],), learning_rate_init=config["rate"], random_state=0
    )
    checkpoint = tune.get_checkpoint()
    if checkpoint:
        with checkpoint.as_directory() as folder:
            epoch, model = joblib.load(Path(folder, "model.joblib"))
    while True:  # the scheduler says when it is enough
        epoch += 1
        model.partial_fit(images, labels, classes=range(10))
        with tempfile.TemporaryDirectory() as folder:
            joblib.dump((epoch, model), Path(folder, "model.joblib"))
            tune.report(
                {"epoch": epoch, "accuracy": model.score(held_out, true)},
                checkpoint=tune.Checkpoint.from_directory(folder),
            )


def main() -> None:
    """Tune, or go on."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, default=Path("digits"))
    parser.add_argument("--trials", type=int, default=16)
    options = parser.parse_args()
    folder = options.folder.resolve()
    pasha = TuneStudy(
        folder / "digits.db",
        {"rate": tune.loguniform(1e-4, 0.3), "width": tune.choice([16, 32, 64, 128])},
        metric="accuracy",
        mode="max",
        scheduler="pasha",
        max_resource=27,
        trials=options.trials,
        workers=2,
        time_attr="epoch",
    )
    experiment = folder / "experiment"
    if tune.Tuner.can_restore(str(experiment)):
        tuner = tune.Tuner.restore(str(experiment), train, resume_unfinished=True)
    else:
        tuner = tune.Tuner(
            train,
            tune_config=tune.TuneConfig(
                metric="accuracy",
                mode="max",
                search_alg=pasha.searcher,
                scheduler=pasha.scheduler,
                num_samples=-1,
                reuse_actors=True,
            ),
            run_config=tune.RunConfig(name="experiment", storage_path=str(folder), verbose=0),
        )
    tuner.fit()
    print(pasha.result.best)
    print(pasha.result.why)


if __name__ == "__main__":
    main()
