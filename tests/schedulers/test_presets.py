"""Recipes that cannot be built, and raises that put idle workers to work."""

import numpy as np
import oracle
import pytest
from test_against_oracle import random_table

import rungwise as rw
from rungwise.core.decisions import Continue, StartJob
from rungwise.core.engine import Engine
from rungwise.core.events import JobEnded, Reported
from rungwise.core.limits import Limits
from rungwise.core.study import Study
from rungwise.errors import InvalidArgumentError, MissingExtraError

ROWS = [{"row": row} for row in range(9)]


@pytest.mark.parametrize(
    "recipe", [rw.ASHA(), rw.SuccessiveHalving(), rw.Hyperband(), rw.AsyncHyperband()]
)
def test_all_but_pasha_need_a_maximum(recipe):
    with pytest.raises(InvalidArgumentError, match="max_resource is None") as refused:
        Engine(Study(recipe, Limits(trials=9), initial=ROWS))
    assert type(recipe).__name__ in str(refused.value)
    Engine(Study(rw.PASHA(), Limits(trials=9), initial=ROWS))


def test_random_search_needs_a_maximum_outside_a_table():
    with pytest.raises(InvalidArgumentError, match="RandomSearch needs a maximum"):
        Engine(Study(rw.RandomSearch(), Limits(trials=9), initial=ROWS))


def test_halving_must_know_how_many_start():
    recipe = rw.SuccessiveHalving(max_resource=9)
    with pytest.raises(InvalidArgumentError, match="size is None"):
        Engine(Study(recipe, Limits(seconds=5), initial=ROWS))


def test_a_missing_extra_is_named():
    error = MissingExtraError("Drawing", "plots")
    assert str(error) == "Drawing needs an extra: pip install 'rungwise[plots]'"
    assert (error.feature, error.extra) == ("Drawing", "plots")
    assert isinstance(error, ImportError)


def idle_when_raised(log, workers, raises):
    """Whether the ceiling rose with a report in the middle of a leg while workers were idle."""
    busy = reports = 0
    for event, decision in log.read_from():
        busy += isinstance(decision, StartJob) - isinstance(event, JobEnded)
        reports += isinstance(event, Reported)
        if isinstance(event, Reported) and isinstance(decision, Continue) and reports in raises:
            return busy < workers
    return False


@pytest.mark.parametrize(
    ("seed", "name", "ranking"),
    [
        (73, "noise", rw.rankings.Noise(50)),
        (459, "noise", rw.rankings.Noise(50)),
        (843, "noise", rw.rankings.Noise(50)),
        (236, "leader", rw.rankings.Leader(50)),
        (424, "leader", rw.rankings.Leader(50)),
    ],
)
def test_a_raise_between_rungs_puts_idle_workers_to_work(seed, name, ranking):
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(6, 30))
    values = random_table(rng, rows, 27, "plain")
    order = rng.permutation(rows).tolist()
    workers = int(rng.choice([8, 16, 32]))
    log = rw.MemoryLog()
    recipe = rw.PASHA(max_resource=27, eta=2, ranking=ranking, check="report")
    result = rw.simulate(rw.Table(values), recipe, trials=order, workers=workers, log=log)
    assert idle_when_raised(log, workers, {reports for reports, _ in result.ceilings})
    expected = oracle.run(
        values.tolist(),
        order,
        kind="pasha",
        criterion=(name, 50),
        check="report",
        max_resource=27,
        eta=2,
        workers=workers,
    )
    assert (result.jobs, result.ceilings) == (expected.jobs, expected.ceilings)
