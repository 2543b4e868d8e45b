"""Small benchmarks whose reproduction can be worked out by hand, and loads that go wrong."""

import os

import numpy as np

from rungwise.benchmarks import store
from rungwise.benchmarks.card import Card
from rungwise.benchmarks.table import Table
from rungwise.core.seeding import generator
from rungwise.lab.reproduction.pages import make_pages
from rungwise.lab.reproduction.results import Figure, Outcome, Row, Section
from rungwise.space import Choice, Float, Int, Space

VALUES = [[[0.5, 0.55, 0.6], [0.6, 0.5, 0.4], [0.1, 0.2, 0.9]]]
"""One epoch prefers row 1, which ends last; row 2 ends best."""

FINAL = [[0.61, 0.41, 0.91]]
SECONDS = [10.0, 20.0, 40.0]


def write_tiny(folder, name="tiny", *, values=None, final=FINAL, seconds=None, **about):
    """Three configurations, three epochs, accuracies."""
    card = {
        "metric": "validation accuracy",
        "goal": "max",
        "final_metric": "test accuracy after 3 epochs",
        "unit_seconds": "made up",
        **about,
    }
    store.write(
        folder,
        Card(name=name, **card),
        values=VALUES if values is None else values,
        seconds=SECONDS if seconds is None else seconds,
        final=final,
    )


def write_curves(folder, name, *, rows=40, resources=27, seeds=1, **about):
    """Curves that cross, with some that diverge."""
    rng = generator(1, name)
    epochs = np.arange(1, resources + 1)
    best = rng.uniform(0.3, 0.95, (rows, 1))
    speed = rng.uniform(0.2, 1.2, (rows, 1))
    curves = [best * (1 - 0.8 * epochs**-speed) for _ in range(seeds)]
    values = np.array([np.clip(c + 0.02 * rng.standard_normal(c.shape), 0, 1) for c in curves])
    values[:, 3, 2:] = np.nan
    card = {"metric": "validation accuracy", "goal": "max", **about}
    card.setdefault("final_metric", f"test accuracy after {resources} epochs")
    seconds = rng.uniform(1, 3, (rows,))
    made = Card(name=name, seeds=tuple(range(seeds)), **card)
    store.write(folder, made, values=values, seconds=seconds)


SEARCHED = {
    "lr": Float(1e-4, 1.0, log=True),
    "width": Int(8, 64, log=True),
    "kind": Choice(["a", "b", "c"]),
}


def _searchable(rows, resources, seeds):
    """(configurations, values [seeds, rows, resources]): better near lr 0.01, and of kind b."""
    rng = generator(1, "searchable")
    space = Space.parse(SEARCHED)
    configs = [space.sample(rng) for _ in range(rows)]
    away = np.array([abs(np.log10(one["lr"]) + 2) + 0.5 * (one["kind"] != "b") for one in configs])
    best = 0.9 - 0.2 * away[:, None]
    curves = best * (1 - 0.7 * np.arange(1, resources + 1.0) ** -0.8)
    noise = 0.01 * rng.standard_normal((seeds, rows, resources))
    return configs, np.clip(curves + noise, 0, 1)


def searchable(rows, *, resources=27, nearest=False):
    """A table that can be searched in."""
    configs, values = _searchable(rows, resources, 1)
    seconds = np.linspace(1, 3, rows)
    return Table(
        values[0], seconds, "max", configs=configs, space=Space.parse(SEARCHED), nearest=nearest
    )


def write_searchable(folder, name, *, rows=24, resources=27, seeds=1):
    """A benchmark that can be searched in."""
    configs, values = _searchable(rows, resources, seeds)
    card = Card(
        name=name,
        metric="validation accuracy",
        goal="max",
        final_metric=f"test accuracy after {resources} epochs",
        seeds=tuple(range(seeds)),
        space=Space.parse(SEARCHED).to_json(),
    )
    store.write(folder, card, values=values, seconds=np.linspace(1, 3, rows), configs=configs)


def whole_text(reproduction):
    """All pages of a reproduction, one below the other."""
    return "\n".join(make_pages(reproduction).values())


def order(rows, seed):
    """The order in which a seed draws all rows of a table."""
    return generator(seed, "rows", 0).permutation(rows).tolist()


def outcome(method="pasha", **facts):
    """An outcome with some of its facts given."""
    plain = {
        "benchmark": "made",
        "protocol": "ours",
        "table_seed": 0,
        "seed": 0,
        "row": 0,
        "final": 0.9,
        "trained": True,
        "seconds": 100.0,
        "max_resource": 9,
        "spent": 50,
        "better_share": 0.1,
        "regret": 0.2,
    }
    return Outcome(method=method, **{**plain, **facts})


def row(method="pasha", label="PASHA", *, final=(0.9, 0.01), seconds=100.0, **facts):
    """A row with some of its figures given."""
    plain = {
        "n": 5,
        "final": Figure(*final),
        "seconds": Figure(seconds, 1.0),
        "speedup": 2.0,
        "max_resource": Figure(9.0, 0.0),
        "spent": Figure(50.0, 0.0),
        "better_share": Figure(0.1, 0.0),
        "regret": Figure(0.2, 0.0),
    }
    return Row(method=method, label=label, **{**plain, **facts})


def section(*rows, experiment="table1", **facts):
    """A section of some rows."""
    plain = {
        "title": "PASHA and others",
        "benchmark": "made",
        "protocol": "ours",
        "final_metric": "test accuracy",
        "final_goal": "max",
        "percent": True,
    }
    return Section(experiment=experiment, rows=rows, **{**plain, **facts})


def fatal_load(name):
    """Ends its process as a lack of memory does."""
    os._exit(9)
