"""LightGBM: boosting rounds are the resource, and a model file is the checkpoint.

    python examples/lightgbm_rounds.py

The library has a loop of its own, so reports are made from a callback.
"""
# needs lightgbm, sklearn

import lightgbm as lgb
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import rungwise as rw

images, digits = load_digits(n_class=5, return_X_y=True)
train_x, val_x, train_y, val_y = train_test_split(images, digits, random_state=0)


def train(config: dict, run: rw.Run) -> None:
    """Boost from the last model file on, to the end of this job."""
    data = lgb.Dataset(train_x, train_y)

    def report(env: lgb.callback.CallbackEnv) -> None:
        rounds = env.iteration + 1  # with those of the model file
        with run.checkpoint(rounds) as folder:
            env.model.save_model(folder / "model.txt")
        loss = env.evaluation_result_list[0][2]
        if not run.report(rounds, loss=loss):
            raise lgb.callback.EarlyStopException(env.iteration, env.evaluation_result_list)

    lgb.train(
        {
            "objective": "multiclass",
            "num_class": 5,
            "verbosity": -1,
            "seed": run.seed,
            **config,
        },
        data,
        num_boost_round=run.until - run.start,
        init_model=run.latest / "model.txt" if run.latest else None,
        valid_sets=[lgb.Dataset(val_x, val_y, reference=data)],
        callbacks=[report],
    )


space = {
    "learning_rate": rw.Float(0.01, 1, log=True),
    "num_leaves": rw.Int(3, 63, log=True),
    "min_data_in_leaf": rw.Int(1, 50, log=True),
    "lambda_l2": rw.Float(1e-3, 10, log=True),
    "feature_fraction": rw.Float(0.2, 1),
}

if __name__ == "__main__":
    result = rw.tune(
        train,
        space,
        metric="loss",
        goal="min",
        max_resource=81,
        trials=27,
        workers=2,
        preload=["lightgbm"],
        show="quiet",
    )
    print(result.why)
    print(f"loss {result.best.value:.4f} after {result.best.resource} rounds: {result.best.config}")
    booster = lgb.Booster(model_file=result.best.checkpoint / "model.txt")
    right = (booster.predict(val_x).argmax(axis=1) == val_y).mean()
    print(f"its model file has {booster.num_trees()} trees and gets {right:.1%} right")
