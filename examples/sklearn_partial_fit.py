"""scikit-learn: a linear classifier, trained an epoch at a time with ``partial_fit``.

python examples/sklearn_partial_fit.py
"""
# needs sklearn

import joblib
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import train_test_split

import rungwise as rw

images, digits = load_digits(return_X_y=True)
train_x, val_x, train_y, val_y = train_test_split(images / 16, digits, random_state=0)


def train(config: dict, run: rw.Run) -> None:
    """An epoch, a checkpoint, a report; again and again until enough is known."""
    if run.latest:
        model = joblib.load(run.latest / "model.joblib")
    else:
        # A generator, not a number: with a number every epoch would have the same order of images.
        model = SGDClassifier(**config, random_state=np.random.RandomState(run.seed))
    for epoch in run.resources():
        model.partial_fit(train_x, train_y, classes=range(10))
        with run.checkpoint(epoch) as folder:
            joblib.dump(model, folder / "model.joblib")
        run.report(epoch, accuracy=model.score(val_x, val_y))


space = {
    "loss": ["hinge", "log_loss", "modified_huber"],
    "alpha": rw.Float(1e-7, 1e-1, log=True),
    "learning_rate": ["constant", "invscaling", "adaptive"],
    "eta0": rw.Float(1e-4, 1, log=True),
}

if __name__ == "__main__":
    result = rw.tune(
        train,
        space,
        metric="accuracy",
        goal="max",
        max_resource=81,
        trials=40,
        workers=2,
        preload=["sklearn.linear_model"],  # imported before the first trial's clock starts
        show="quiet",
    )
    print(result.why)
    print(f"accuracy {result.best.value:.3f} with {result.best.config}")
    print(result.saved_versus("asha"))
