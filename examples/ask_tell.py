"""Ask/tell: a trainer that exists already asks for jobs, in two threads.

python examples/ask_tell.py
"""

import threading

import numpy as np

import rungwise as rw

rng = np.random.default_rng(0)
x = rng.normal(size=(400, 20))
y = x @ rng.normal(size=20) + rng.normal(scale=0.5, size=400)


class Trainer:
    """Linear regression by gradient descent; it knows nothing of rungwise."""

    def __init__(self, lr: float, decay: float) -> None:
        self.weights, self.lr, self.decay = np.zeros(20), lr, decay

    def train_epoch(self) -> None:
        for batch in np.array_split(np.arange(300), 10):
            residual = x[batch] @ self.weights - y[batch]
            self.weights -= self.lr * (x[batch].T @ residual / len(batch))
            self.weights *= 1 - self.lr * self.decay

    def loss(self) -> float:
        return float(np.mean((x[300:] @ self.weights - y[300:]) ** 2))


trainers: dict[int, Trainer] = {}  # by trial: where a promoted one continues


def work(study: rw.AskTellStudy) -> None:
    """What each machine does until the study is over."""
    for job in study.jobs():
        if job.start == 0:  # a new trial, or one that failed before its first report
            trainers[job.trial] = Trainer(**job.config)
        trainer = trainers[job.trial]
        try:
            for epoch in job.resources():
                trainer.train_epoch()
                if not study.report(job, epoch, trainer.loss()):
                    break
        except FloatingPointError as error:
            study.failed(job, repr(error))


space = {"lr": rw.Float(1e-4, 1, log=True), "decay": rw.Float(1e-6, 1, log=True)}

if __name__ == "__main__":
    np.seterr(over="raise", invalid="raise")
    limits = {"max_resource": 81, "trials": 30}
    with rw.open_study(None, space, metric="loss", goal="min", **limits) as study:
        threads = [threading.Thread(target=work, args=(study,)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        result = study.result
    print(result.why)
    print(f"loss {result.best.value:.3f} with {result.best.config}")
    print(result.saved_versus("asha"))
