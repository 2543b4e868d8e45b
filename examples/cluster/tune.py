"""A study whose trials are trained on the nodes of a Ray cluster.

On this machine, with a Ray of its own:      python tune.py
On the cluster that this machine is part of: python tune.py --address auto --workers 8

It runs again from where it was when it is started again: after Ctrl-C, after a crash of this
process, after the loss of nodes. The folder of the checkpoints must be on a disk that all nodes
share.
"""

import argparse

import joblib
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

import rungwise as rw


def train(config: dict, run: rw.Run) -> None:
    """A small neural network; one resource is one pass over the images."""
    images, labels = load_digits(return_X_y=True)
    images, held_out, labels, true = train_test_split(images / 16, labels, random_state=0)
    model = MLPClassifier(
        hidden_layer_sizes=(config["width"],), learning_rate_init=config["rate"], random_state=0
    )
    if run.latest:
        model = joblib.load(run.latest / "model.joblib")
    for epoch in run.resources():
        model.partial_fit(images, labels, classes=range(10))
        with run.checkpoint(epoch) as folder:
            joblib.dump(model, folder / "model.joblib")
        run.report(epoch, accuracy=model.score(held_out, true))


def main() -> None:
    """Read where to train, and tune."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--address", default="local", help="local, auto or HOST:PORT")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--study", default="digits.db", help="on the disk of this machine")
    parser.add_argument("--checkpoints", help="on a disk that all nodes share")
    options = parser.parse_args()
    result = rw.tune(
        train,
        {"rate": rw.Float(1e-4, 0.3, log=True), "width": [16, 32, 64, 128]},
        metric="accuracy",
        goal="max",
        max_resource=27,
        trials=options.trials,
        study=options.study,
        checkpoints=options.checkpoints,
        backend=rw.Ray(workers=options.workers, address=options.address),
        show="lines",
    )
    print(result.best)


if __name__ == "__main__":
    main()
