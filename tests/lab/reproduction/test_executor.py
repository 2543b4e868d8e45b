"""Every study once, over any number of processes, with the same bytes."""

import multiprocessing

import numpy as np
import pytest
from reproduction_stories import fatal_load, whole_text, write_curves, write_tiny

import rungwise as rw
from rungwise.benchmarks import catalog, store
from rungwise.benchmarks.card import Card
from rungwise.errors import RungwiseError
from rungwise.lab.reproduction import Settings, reproduce
from rungwise.lab.reproduction.chunks import TableCache, draw_sample
from rungwise.lab.reproduction.executor import plan_chunks, run, uses_nearest
from rungwise.lab.reproduction.experiments import EXPERIMENTS, plan
from rungwise.lab.reproduction.spreadsheets import runs_csv, summary_csv
from rungwise.space import Float, Space

SMALL = Settings((), seeds=2, configs=20, workers=2)


def planned(names, settings=SMALL):
    pairs = plan(names, list(catalog.cards().values()), everything=True)
    return pairs, plan_chunks(pairs, settings)


@pytest.fixture
def curves(folder):
    write_curves(folder, "first", seeds=2)
    write_curves(folder, "second", resources=32, details={"points_per_epoch": 4})
    write_tiny(folder, "lcbench-car")
    return folder


def test_the_number_of_processes_changes_nothing(curves):
    one = reproduce(["all"], settings=SMALL)
    two = reproduce(["all"], settings=SMALL, processes=2)
    assert one == two
    for text in (whole_text, runs_csv, summary_csv):
        assert text(one).encode() == text(two).encode()


def test_a_study_that_several_experiments_need_is_run_once(curves):
    _, chunks = planned(tuple(EXPERIMENTS))
    keys = [(c.benchmark, c.table_seed, c.seed, *run_) for c in chunks for run_ in c.runs]
    assert len(set(keys)) == len(keys)
    # asha and pasha are in nearly every experiment.
    assert keys.count(("first", 0, 0, "asha", "ours")) == 1
    found = run(chunks)
    assert len(found) == len(keys)
    listed = [(o.benchmark, o.table_seed, o.seed, o.method, o.protocol) for o in found]
    assert listed == keys


def test_two_experiments_read_the_same_runs(curves):
    found = reproduce(["table1", "epochs"], ["first"], settings=SMALL)
    table1, epochs = (
        next(s for s in found.sections if s.experiment == name) for name in ("table1", "epochs")
    )
    for method in ("asha", "pasha", "one-epoch", "random"):
        assert table1.row(method) == epochs.row(method)


def test_a_method_comes_to_the_same_alone_and_among_others(curves):
    alone = reproduce(["table1"], ["first"], settings=SMALL)
    among = reproduce(["all"], settings=SMALL)
    assert alone.sections[0] in among.sections


def test_a_benchmark_is_loaded_once_and_one_is_kept(curves):
    loaded = []

    def load(name):
        loaded.append(name)
        return catalog.load(name)

    _, chunks = planned(("table1", "lcbench"))
    run(chunks, load=load)
    assert loaded == ["first", "second", "lcbench-car"]


def test_a_run_sees_the_files_of_its_own_time(folder):
    write_tiny(folder, final=[[0.1, 0.2, 0.3]])
    before = reproduce(["table1"], settings=SMALL).sections
    write_tiny(folder, final=[[0.4, 0.5, 0.6]])
    after = reproduce(["table1"], settings=SMALL).sections
    assert before[0].row("asha").final != after[0].row("asha").final


def test_all_methods_draw_what_simulate_draws(curves):
    _, chunks = planned(("table1",))
    benchmark = catalog.load("first")
    for chunk in chunks[:4]:
        table = benchmark.table(chunk.table_seed)
        expected = rw.simulate(table, rw.ASHA(), trials=20, seed=chunk.seed).rows
        assert draw_sample(table, chunk) == expected


def test_the_result_is_that_of_simulate(curves):
    found = reproduce(["table1"], ["first"], settings=SMALL)
    (outcome,) = [
        o
        for o in found.outcomes
        if (o.method, o.protocol, o.table_seed, o.seed) == ("pasha", "paper", 1, 1)
    ]
    recipe = rw.PASHA(max_resource=27, promote="quantile", check="report")
    table = catalog.load("first").table(1)
    result = rw.simulate(table, recipe, trials=20, workers=2, seed=1, finish="paper")
    assert outcome.row == result.best.row
    assert outcome.seconds == result.seconds
    assert (outcome.max_resource, outcome.spent) == (result.max_resource, result.resource_spent)


def test_a_small_table_gives_each_row_once(folder):
    write_tiny(folder)
    _, chunks = planned(("table1",), Settings((), seeds=1, configs=256))
    table, _ = TableCache(catalog.load).load(chunks[0])
    assert sorted(draw_sample(table, chunks[0])) == [0, 1, 2]


def test_coarse_tables_sum_the_seconds_and_follow_the_seed(curves):
    _, chunks = planned(("granularity",))
    cache = TableCache(catalog.load)
    fine, _ = cache.load(chunks[0])
    coarse, points = cache.load_coarse(chunks[0])
    assert points == 4
    assert np.array_equal(coarse.values, fine.values[:, 3::4], equal_nan=True)
    assert coarse.leg(5, 0, 2)[1] == pytest.approx([4 * fine.seconds[5]] * 2)


def test_progress_is_told_to_the_end(curves):
    told = []
    found = reproduce(
        ["table1"], ["first"], settings=SMALL, progress=lambda *numbers: told.append(numbers)
    )
    total = len(found.outcomes)
    assert [done for done, _ in told] == sorted({done for done, _ in told})
    assert {of for _, of in told} == {total}
    assert told[-1] == (total, total)


# -- the nearest neighbour ----------------------------------------------------------------------


def test_pd1_and_whoever_says_so_are_asked_by_the_nearest_neighbour():
    plain = Settings(())
    assert uses_nearest(Card(name="pd1-wmt-xformer-64"), plain)
    assert uses_nearest(Card(name="own", details={"surrogate": "1-NN"}), plain)
    assert not uses_nearest(Card(name="own"), plain)
    assert uses_nearest(Card(name="own"), Settings((), nearest=True))


def test_with_nearest_configurations_come_from_the_space(folder):
    space = Space.parse({"x": Float(0, 1)})
    card = Card(name="own", goal="max", metric="accuracy", space=space.to_json())
    configs = [{"x": 0.1}, {"x": 0.9}]
    store.write(
        folder,
        card,
        values=[[[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]],
        seconds=1.0,
        configs=configs,
    )
    settings = Settings((), protocols=("ours",), seeds=1, configs=30, nearest=True)
    found = reproduce(["table1"], settings=settings)
    one = found.sections[0].row("one-epoch")
    assert one.spent.mean == 30  # more than the table has rows
    # Row 1 is the better one, and about half of the configurations drawn are next to row 0.
    asha = found.sections[0].row("asha")
    assert (asha.better_share.mean, asha.final.mean) == (0, pytest.approx(0.6))
    assert any("nearest recorded" in remark for remark in found.remarks["own"])


# -- what goes wrong ----------------------------------------------------------------------------


@pytest.fixture
def _no_process_is_left():
    """Of those that the test starts; fixtures of other folders may keep some for the session."""
    before = set(multiprocessing.active_children())
    yield
    assert set(multiprocessing.active_children()) <= before


@pytest.mark.usefixtures("_no_process_is_left")
@pytest.mark.parametrize("processes", [1, 2])
def test_a_damaged_benchmark_is_named(folder, processes):
    write_tiny(folder, "good")
    write_tiny(folder, "poor")
    (folder / "poor.npz").write_bytes(b"not a zip file")
    with pytest.raises(RungwiseError, match="benchmark poor: "):
        reproduce(["table1"], settings=SMALL, processes=processes)


@pytest.mark.usefixtures("_no_process_is_left")
def test_a_process_that_dies_is_told(folder):
    write_tiny(folder)
    _, chunks = planned(("table1",))
    with pytest.raises(RungwiseError, match="fewer --processes"):
        run(chunks, load=fatal_load, processes=2)


@pytest.mark.usefixtures("_no_process_is_left")
def test_an_interrupt_ends_all_processes(curves):
    def interrupt(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reproduce(["table1"], settings=SMALL, processes=2, progress=interrupt)


def test_the_number_of_processes_is_checked(folder):
    write_tiny(folder)
    with pytest.raises(ValueError, match="processes is 0"):
        reproduce(["table1"], settings=SMALL, processes=0)
