"""A benchmark in memory: its curves, seconds, final values and tables."""

import numpy as np
import pytest

import rungwise as rw
from rungwise.benchmarks import Benchmark, Card, Table, store
from rungwise.errors import InvalidArgumentError, TableError
from rungwise.space import Space

SPACE = Space.parse({"lr": rw.Float(0.0, 1.0)})
VALUES = np.arange(24.0).reshape(2, 3, 4)  # seeds, rows, resources


def made(**more):
    card = more.pop("card", Card(name="tiny", goal="max", seeds=[7, 9], space=SPACE))
    configs = [{"lr": 0.1}, {"lr": 0.5}, {"lr": 0.9}]
    arguments = {"values": VALUES, "configs": configs, "names": ["a", "b", "c"], **more}
    return Benchmark.from_arrays(card, **arguments)


def test_what_it_is():
    benchmark = made()
    assert (benchmark.name, benchmark.goal, benchmark.rows) == ("tiny", "max", 3)
    assert (benchmark.resources, benchmark.seeds) == (4, 2)
    assert (benchmark.card.rows, benchmark.card.resources) == (3, 4)
    assert benchmark.space == SPACE
    assert benchmark.configs == ({"lr": 0.1}, {"lr": 0.5}, {"lr": 0.9})
    assert benchmark.names == ("a", "b", "c")
    assert repr(benchmark) == ("Benchmark('tiny', 3 rows × 4 resources × 2 seeds, goal='max')")


def test_little_is_needed():
    benchmark = Benchmark.from_arrays(Card(name="a"), values=[[[0.5]]])
    assert (benchmark.space, benchmark.configs, benchmark.names) == (None, None, None)
    assert benchmark.table().seconds == 1.0


def test_values_are_those_of_a_seed_and_belong_to_who_asks():
    benchmark = made()
    np.testing.assert_array_equal(benchmark.values(), VALUES[0])
    asked = benchmark.values(1)
    np.testing.assert_array_equal(asked, VALUES[1])
    asked[:] = -1
    np.testing.assert_array_equal(benchmark.values(1), VALUES[1])


def test_final_is_the_last_value_unless_given():
    np.testing.assert_array_equal(made().final(1), VALUES[1, :, -1])
    final = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, np.nan]])
    np.testing.assert_array_equal(made(final=final).final(1), final[1])
    np.testing.assert_array_equal(made(final=final).final(), final[0])


@pytest.mark.parametrize("seed", [-1, 2, 0.5, "0", True])
def test_seeds_are_counted_from_nothing(seed):
    for ask in (made().values, made().seconds, made().final, made().table):
        with pytest.raises(InvalidArgumentError, match="seed is"):
            ask(seed)


def test_an_unknown_seed_says_which_there_are():
    with pytest.raises(TableError, match="seed is 2, but tiny has the seeds 0 to 1"):
        made().values(2)


def test_a_table_has_everything():
    table = made(seconds=[1.0, 2.0, 3.0]).table(1)
    assert isinstance(table, Table)
    np.testing.assert_array_equal(table.values, VALUES[1])
    np.testing.assert_array_equal(table.seconds, [1.0, 2.0, 3.0])
    assert (table.goal, table.space, table.nearest) == ("max", SPACE, False)
    assert table.configs == ({"lr": 0.1}, {"lr": 0.5}, {"lr": 0.9})
    assert table.names == ("a", "b", "c")
    assert made().table(nearest=True).find_row({"lr": 0.6}) == 1


SECONDS = {
    "one": np.array(2.0),
    "rows": np.array([1.0, 2.0, 3.0]),
    "seeds": np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
    "all": np.arange(24.0).reshape(2, 3, 4) ** 2,
}


def full(seconds, seed):
    """Seconds of every row and resource, the slow way."""
    whole = np.empty((3, 4))
    for row in range(3):
        for resource in range(4):
            place = {0: (), 1: (row,), 2: (seed, row), 3: (seed, row, resource)}[seconds.ndim]
            whole[row, resource] = seconds[place]
    return whole


@pytest.mark.parametrize("kind", SECONDS)
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("kept", [None, 1, 3, 4, [1, 2], [2, 4], [1, 4], [3], range(2, 5, 2)])
def test_coarser_tables_take_as_long(kind, seed, kept):
    """A resource of a coarser table takes as long as those that it is made of."""
    table = made(seconds=SECONDS[kind]).table(seed, resources=kept)
    ends = list(range(1, (kept or 4) + 1)) if kept is None or isinstance(kept, int) else list(kept)
    whole = full(SECONDS[kind], seed)
    assert table.resources == len(ends)
    for row in range(3):
        values, seconds = table.leg(row, 0, len(ends))
        assert values == [VALUES[seed, row, end - 1] for end in ends]
        starts = [0, *ends[:-1]]
        expected = [whole[row, a:b].sum() for a, b in zip(starts, ends, strict=True)]
        assert seconds == pytest.approx(expected)


def test_seconds_stay_small_where_they_are_shared():
    assert made(seconds=2.0).table().seconds.shape == ()
    assert made(seconds=2.0).table(resources=2).seconds.shape == ()
    assert made(seconds=[1.0, 2.0, 3.0]).table(resources=2).seconds.shape == (3,)


@pytest.mark.parametrize("kept", [0, 5, [], [2, 2], [3, 1], [0, 1], [4, 5], 1.5, "12"])
def test_wrong_resources_are_refused(kept):
    with pytest.raises(InvalidArgumentError, match="resources is"):
        made().table(resources=kept)


def test_a_benchmark_in_memory_is_the_one_from_disk(tmp_path):
    benchmark = made(seconds=SECONDS["all"], final=VALUES[:, :, 0])
    store.write(
        tmp_path,
        benchmark.card,
        values=VALUES,
        seconds=SECONDS["all"],
        final=VALUES[:, :, 0],
        configs=benchmark.configs,
        names=benchmark.names,
    )
    read = store.read(tmp_path, "tiny")
    for seed in range(2):
        for ask in ("values", "seconds", "final"):
            np.testing.assert_array_equal(getattr(read, ask)(seed), getattr(benchmark, ask)(seed))
    assert (read.configs, read.names, read.space) == (benchmark.configs, benchmark.names, SPACE)
    run = [
        rw.simulate(one.table(1, nearest=True), rw.PASHA(), trials=8) for one in (read, benchmark)
    ]
    assert run[0] == run[1]


def test_the_card_must_be_of_these_curves():
    with pytest.raises(
        TableError, match="number of seeds of the card is 1, but the curves have 2 seeds"
    ):
        made(card=Card(name="a", space=SPACE))
    with pytest.raises(TableError, match=r"configs\[1\].*lr is 2"):
        made(configs=[{"lr": 0.1}, {"lr": 2}, {"lr": 0.2}])
    with pytest.raises(InvalidArgumentError, match="card is None"):
        Benchmark.from_arrays(None, values=VALUES)
