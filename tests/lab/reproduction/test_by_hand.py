"""A reproduction on a table so small that every figure can be worked out by hand.

Three configurations, three epochs: row 1 leads after one epoch (0.6) and ends last (0.41 on the
test set), row 2 is last after one epoch (0.1) and ends best (0.91). One worker, so that time adds
up: 10, 20 and 40 seconds an epoch.
"""

import pytest
from reproduction_stories import FINAL, VALUES, order, write_tiny

from rungwise.errors import InvalidArgumentError, RungwiseError, TableError
from rungwise.lab.reproduction import Figure, Settings, reproduce

ONE_WORKER = Settings((), protocols=("ours",), seeds=1, workers=1)


def make_section(found, experiment="table1", protocol="ours", benchmark="tiny"):
    (section,) = [
        section
        for section in found.sections
        if (section.experiment, section.protocol, section.benchmark)
        == (experiment, protocol, benchmark)
    ]
    return section


def test_table_1_with_our_protocol(folder):
    write_tiny(folder)
    found = reproduce(["table1"], settings=ONE_WORKER)
    section = make_section(found)
    assert [row.method for row in section.rows] == ["asha", "pasha", "one-epoch", "random"]
    assert (section.final_metric, section.final_goal) == ("test accuracy after 3 epochs", "max")
    asha, pasha, one, random = section.rows

    # One epoch for all: 10 + 20 + 40 seconds; row 1 is chosen, and both others end better.
    assert one.seconds == Figure(70.0, 0.0)
    assert one.final.mean == pytest.approx(0.41)
    assert one.better_share.mean == pytest.approx(2 / 3)
    assert one.regret.mean == pytest.approx((0.91 - 0.41) / (0.91 - 0.61))
    assert (one.max_resource, one.spent) == (Figure(1, 0), Figure(3, 0))

    # ASHA promotes the best ⌊3/3⌋ = 1, row 1, for two epochs more: 40 seconds. Its 0.6 after one
    # epoch is as good as row 0 would have come to, so it is chosen again.
    assert asha.seconds == Figure(110.0, 0.0)
    assert (asha.max_resource, asha.spent) == (Figure(3, 0), Figure(5, 0))
    assert asha.final.mean == pytest.approx(0.41)

    # PASHA has two rungs at first, 1 and 3, and one trial in the upper one is no change.
    assert (pasha.seconds, pasha.spent, pasha.final) == (asha.seconds, asha.spent, asha.final)

    assert (asha.speedup, pasha.speedup, random.speedup) == (1.0, 1.0, None)
    assert one.speedup == pytest.approx(110 / 70)
    first = order(3, seed=0)[0]
    assert random.final.mean == pytest.approx(FINAL[0][first])
    assert random.seconds == Figure(0.0, 0.0)
    assert {row.n for row in section.rows} == {1}
    assert {row.paper for row in section.rows} == {None}


def test_the_papers_protocol_does_not_wait_for_the_last(folder):
    write_tiny(folder)
    settings = Settings((), protocols=("paper",), seeds=3, workers=1)
    section = make_section(reproduce(["table1"], settings=settings), protocol="paper")
    seconds, finals = [], []
    for seed in range(3):
        evaluated = order(3, seed)[:-1]  # the last one is started, and that is the end
        seconds.append(sum((10.0, 20.0, 40.0)[row] for row in evaluated))
        finals.append(FINAL[0][max(evaluated, key=lambda row: VALUES[0][row][0])])
    one = section.row("one-epoch")
    assert one.n == 3
    assert one.seconds.mean == pytest.approx(sum(seconds) / 3)
    assert one.final.mean == pytest.approx(sum(finals) / 3)
    assert one.spent == Figure(2, 0)


def test_the_seeds_of_the_table_are_crossed_with_those_of_the_scheduler(folder):
    # The second training seed has the rows the other way round, so row 1 stays the leader.
    values = [VALUES[0], VALUES[0][::-1]]
    final = [FINAL[0], [0.95, 0.45, 0.65]]
    seconds = [[10.0, 20.0, 40.0], [30.0, 40.0, 60.0]]
    write_tiny(folder, values=values, final=final, seconds=seconds, seeds=(7, 8))
    settings = Settings((), protocols=("ours",), seeds=2, workers=1)
    found = reproduce(["table1"], settings=settings)
    one = make_section(found).row("one-epoch")
    assert one.n == 4
    assert one.seconds == Figure((70 + 130) / 2, 30.0)
    assert one.final.mean == pytest.approx((0.41 + 0.45) / 2)
    assert one.final.std == pytest.approx(0.02)
    keys = [(o.table_seed, o.seed) for o in found.outcomes if o.method == "one-epoch"]
    assert keys == [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_whole_epochs_against_their_parts(folder):
    # Six points are two epochs of three points. One row: every study is that row.
    values = [[[0.1, 0.2, 0.3, 0.4, 0.5, 0.6]]]
    write_tiny(
        folder,
        values=values,
        final=[[0.6]],
        seconds=[2.0],
        details={"points_per_epoch": 3},
        resource="third of an epoch",
    )
    section = make_section(
        reproduce(["granularity"], settings=ONE_WORKER), experiment="granularity"
    )
    names = ["asha-coarse", "pasha-coarse", "asha", "pasha"]
    assert [row.method for row in section.rows] == names
    # A single configuration is never one of the best ⌊1/3⌋: it is trained for one unit.
    coarse, fine = section.rows[0], section.rows[2]
    assert (coarse.max_resource, coarse.spent) == (Figure(3, 0), Figure(3, 0))  # in points
    assert (fine.max_resource, fine.spent) == (Figure(1, 0), Figure(1, 0))
    assert (coarse.seconds, fine.seconds) == (Figure(6.0, 0.0), Figure(2.0, 0.0))


def test_a_row_that_was_never_trained_in_full_is_told_and_counted(folder):
    write_tiny(folder, final=[[0.61, float("nan"), 0.91]])
    section = make_section(reproduce(["table1"], settings=ONE_WORKER))
    one = section.row("one-epoch")
    assert one.final.mean == pytest.approx(0.61)  # the worst of the table
    assert one.untrained == 1
    (note,) = [note for note in section.notes if "no final value" in note]
    assert "One-epoch baseline 1 of 1" in note


def test_figures_of_the_paper_stand_beside_where_the_data_is_installed(folder):
    write_tiny(folder, "nasbench201-cifar10")
    write_tiny(folder, "lcbench-car")
    found = reproduce(["table1", "lcbench"], settings=ONE_WORKER)
    section = make_section(found, benchmark="nasbench201-cifar10")
    assert section.row("pasha").paper.accuracy == Figure(93.57, 0.75)
    assert section.row("one-epoch").paper.speedup == 8.5
    assert any("Only 3 configurations are in this table" in note for note in section.notes)
    lcbench = make_section(found, "lcbench", benchmark="lcbench-car")
    assert lcbench.row("asha").paper.accuracy == Figure(86.60, 6.41)
    assert lcbench.row("one-epoch").paper is None


def test_the_settings_of_the_paper_are_the_default():
    assert Settings(("table1",)) == Settings(
        ("table1",), ("paper", "ours"), seeds=5, configs=256, workers=4, nearest=False
    )


# -- what is refused, and what is left out ------------------------------------------------------


def test_an_experiment_without_a_benchmark_is_told(folder):
    write_tiny(folder)
    found = reproduce(["all"], settings=ONE_WORKER)
    told = " ".join(found.left_out)
    assert "LCBench (lcbench, the paper's table 13) was left out: none of these benchmarks" in told
    assert "`rungwise benchmark fetch lcbench`" in told
    assert "Resources finer than an epoch (granularity) was left out" in told
    assert {section.experiment for section in found.sections} == {
        *("table1", "eta", "rankings", "epochs", "percentiles", "resources")
    }


def test_a_damaged_benchmark_is_no_matter_where_others_are_named(folder):
    write_tiny(folder)
    write_tiny(folder, "other")
    (folder / "other.json").write_text("no card")
    assert reproduce(["table1"], ["tiny"], settings=ONE_WORKER).sections
    with pytest.raises(TableError, match=r"other\.json"):
        reproduce(["table1"], settings=ONE_WORKER)


def test_an_experiment_that_was_asked_for_says_where_it_was_not_run(folder):
    write_tiny(folder)
    write_tiny(folder, "fine", details={"points_per_epoch": 3})
    found = reproduce(["granularity"], settings=ONE_WORKER)
    assert [section.benchmark for section in found.sections] == ["fine"]
    (sentence,) = found.left_out
    assert "was left out on tiny: its curves have at most one point per epoch" in sentence
    assert not any("on tiny" in told for told in reproduce(settings=ONE_WORKER).left_out)


@pytest.mark.parametrize(
    ("facts", "error"),
    [
        ({"seeds": 0}, "seeds is 0"),
        ({"configs": 1}, "configs is 1"),
        ({"workers": 0}, "workers is 0"),
        ({"protocols": ("theirs",)}, "protocol is 'theirs'"),
        ({"protocols": ()}, "at least one"),
    ],
)
def test_settings_are_checked(folder, facts, error):
    write_tiny(folder)
    with pytest.raises(InvalidArgumentError, match=error):
        reproduce(["table1"], settings=Settings((), **facts))


def test_a_data_folder_without_benchmarks_says_how_to_get_some(folder):
    with pytest.raises(TableError, match=r"rungwise benchmark convert.*RUNGWISE_DATA"):
        reproduce(["table1"])


def test_an_unknown_benchmark_lists_those_at_hand(folder):
    write_tiny(folder)
    with pytest.raises(TableError, match=r"'tinny'.*installed: tiny"):
        reproduce(["table1"], ["tiny", "tinny"])


def test_no_benchmarks_at_all_is_a_mistake(folder):
    write_tiny(folder)
    with pytest.raises(InvalidArgumentError, match="at least one"):
        reproduce(["table1"], [])
    with pytest.raises(InvalidArgumentError, match="at least one"):
        reproduce([], ["tiny"])


def test_names_may_be_given_as_one_word(folder):
    write_tiny(folder)
    found = reproduce("table1", "tiny", settings=ONE_WORKER)
    assert [section.benchmark for section in found.sections] == ["tiny"]


def test_nearest_needs_a_space(folder):
    write_tiny(folder)
    settings = Settings((), seeds=1, nearest=True)
    with pytest.raises(RungwiseError, match=r"benchmark tiny: nearest .* space"):
        reproduce(["table1"], settings=settings)
