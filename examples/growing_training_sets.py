"""Growing training sets: the resource is how many images a model is trained on.

    python examples/growing_training_sets.py

For models that are not trained in steps. A support vector machine is fitted from scratch at every
rung, on 50, 150, 450 or all 1,350 images; there is nothing to checkpoint.
What is spent counts each image of a trial once, although it is fitted again at the next rung.
"""
# needs sklearn

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

import rungwise as rw

images, digits = load_digits(return_X_y=True)
train_x, val_x, train_y, val_y = train_test_split(
    images, digits, train_size=1350, stratify=digits, random_state=0
)  # in random order, so that the first images are as good as any


def train(config: dict, run: rw.Run) -> None:
    """Fit on as many images as this job asks for, and report once."""
    model = SVC(**config).fit(train_x[: run.until], train_y[: run.until])
    run.report(run.until, accuracy=model.score(val_x, val_y))


space = {
    "kernel": ["rbf", "poly", "sigmoid"],
    "C": rw.Float(1e-3, 1e3, log=True),
    "gamma": rw.Float(1e-6, 1e-1, log=True),
}

if __name__ == "__main__":
    result = rw.tune(
        train,
        space,
        metric="accuracy",
        goal="max",
        scheduler=rw.PASHA(min_resource=50, max_resource=1350),
        trials=60,
        workers=2,
        preload=["sklearn.svm"],
        show="quiet",
    )
    print(result.why)
    print(
        f"accuracy {result.best.value:.3f} on {result.best.resource} images: {result.best.config}"
    )
    full = result.retrain(train)
    print(f"accuracy {full.value:.3f} on all {full.resource}")
