"""What is said of the figures follows from them, above all where PASHA loses."""

import math
from dataclasses import replace

import pytest
from reproduction_stories import outcome, row, section, write_tiny

from rungwise.benchmarks.card import Card
from rungwise.lab.reproduction import Settings, reproduce
from rungwise.lab.reproduction.findings import (
    describe_part,
    find_better,
    find_losses,
    find_rivals,
    list_remarks,
    write_findings,
)
from rungwise.lab.reproduction.methods import METHODS
from rungwise.lab.reproduction.results import Figure, PaperRow, Rival
from rungwise.lab.reproduction.sections import make_row


def runs(**finals):
    """method=[final values of its runs] → outcomes; an underscore stands for a hyphen."""
    return {
        name.replace("_", "-"): [
            outcome(name.replace("_", "-"), seed=seed, final=final)
            for seed, final in enumerate(values)
        ]
        for name, values in finals.items()
    }


def rivals(section_, **finals):
    return find_rivals(section_, runs(**finals))


# -- rivals -------------------------------------------------------------------------------------

ONE = row("one-epoch", "One-epoch baseline", seconds=10.0)


def test_a_cheaper_method_that_is_better_is_a_rival():
    (found,) = rivals(section(row(), ONE), pasha=[0.90, 0.80, 0.70], one_epoch=[0.91, 0.80, 0.72])
    assert (found.method, found.label) == ("one-epoch", "One-epoch baseline")
    assert found.gain == pytest.approx(0.01)
    # Gains of 0.01, 0 and 0.02: their sample standard deviation is 0.01.
    assert found.error == pytest.approx(0.01 / math.sqrt(3))
    assert found.time_share == pytest.approx(0.1)


def test_a_cheaper_method_that_is_worse_by_less_than_a_standard_error_is_one():
    # Gains of −0.03 and 0.01: mean −0.01, standard error 0.02.
    assert rivals(section(row(), ONE), pasha=[0.9, 0.9], one_epoch=[0.87, 0.91])


def test_one_run_that_differs_is_exactly_a_standard_error():
    for runs_ in range(2, 40):
        same = [0.9 + 0.001 * number for number in range(runs_)]
        other = [same[0] - 0.0137, *same[1:]]
        assert rivals(section(row(), ONE), pasha=same, one_epoch=other), runs_


def test_a_method_that_is_clearly_worse_is_no_rival():
    # Gains of −0.03 and −0.01: mean −0.02, standard error 0.01.
    assert not rivals(section(row(), ONE), pasha=[0.9, 0.9], one_epoch=[0.87, 0.89])


def test_a_method_that_takes_as_long_is_no_rival():
    slow = row("asha", "ASHA", seconds=100.0)
    assert not rivals(section(row(), slow), pasha=[0.8, 0.8], asha=[0.9, 0.9])


def test_with_a_single_run_a_rival_must_be_as_good():
    assert not rivals(section(row(), ONE), pasha=[0.9], one_epoch=[0.89])
    (found,) = rivals(section(row(), ONE), pasha=[0.9], one_epoch=[0.9])
    assert found.gain == 0
    assert math.isnan(found.error)


def test_rounding_is_no_gain():
    (found,) = rivals(section(row(), ONE), pasha=[0.3, 0.3], one_epoch=[0.1 + 0.2, 0.3])
    assert found.gain == 0


def test_smaller_is_better_where_it_is():
    smaller = section(row(), ONE, final_goal="min", percent=False)
    (found,) = rivals(smaller, pasha=[2.0, 2.0], one_epoch=[1.5, 1.5])
    assert found.gain == 0.5
    assert not rivals(smaller, pasha=[1.5, 1.5], one_epoch=[2.0, 2.0])


def test_chance_is_no_rival():
    lucky = row("random", "Random baseline", seconds=0.0, spent=Figure(0.0, 0.0))
    assert not rivals(section(row(), lucky), pasha=[0.8, 0.8], random=[0.9, 0.9])


def test_without_pasha_there_are_no_rivals():
    assert rivals(section(ONE), one_epoch=[0.9]) == ()
    assert find_losses(section(ONE)) == ()


def test_what_rounds_to_all_of_the_time_is_no_less():
    for seconds, found in ((98.9, 1), (99.1, 0)):
        other = row("noise-95", "PASHA N=95%", seconds=seconds)
        assert len(rivals(section(row(), other), pasha=[0.9], noise_95=[0.9])) == found


# -- an ASHA that ends better -------------------------------------------------------------------

ASHA = row("asha", "ASHA", seconds=250.0)


def test_an_asha_that_ends_better_by_more_than_a_standard_error_is_ahead():
    # Gains of 0.03 and 0.01: mean 0.02, standard error 0.01.
    facts = runs(asha=[0.93, 0.91], pasha=[0.90, 0.90])
    (found,) = find_better(section(ASHA, row()), facts)
    assert (found.method, found.label, found.time_share) == ("asha", "ASHA", 2.5)
    assert (found.gain, found.error) == (pytest.approx(0.02), pytest.approx(0.01))


def test_an_asha_within_a_standard_error_is_not_ahead():
    # Gains of 0.02 and 0: as much as the standard error.
    assert not find_better(section(ASHA, row()), runs(asha=[0.92, 0.90], pasha=[0.90, 0.90]))
    assert not find_better(section(ASHA, row()), runs(asha=[0.80, 0.80], pasha=[0.90, 0.90]))
    assert not find_better(section(row()), runs(pasha=[0.90, 0.90])), "there is no ASHA"


def test_each_pasha_has_its_own_asha():
    quarter = row("pasha-quarter", "PASHA, a quarter", seconds=0.0)
    found = section(ASHA, row(), row("asha-quarter", "ASHA, a quarter"), quarter)
    facts = runs(asha=[0.8], pasha=[0.9], asha_quarter=[0.85], pasha_quarter=[0.84])
    (ahead,) = find_better(found, facts)
    assert (ahead.method, ahead.time_share) == ("asha-quarter", math.inf)
    found = section(*found.rows, ahead=(ahead,))
    (loss,) = find_losses(found)
    assert loss == (
        "PASHA, a quarter ends worse than ASHA, a quarter by more than a standard error: by "
        "1.00 points, at 2.0× the speed."
    )


def test_an_asha_ahead_is_told_with_its_standard_error():
    found = section(ASHA, row(speedup=2.5), ahead=(Rival("asha", "ASHA", 0.0542, 0.0208, 2.5),))
    (loss,) = find_losses(found)
    assert loss == (
        "PASHA ends worse than ASHA by more than a standard error: by 5.42 points, standard error "
        "2.08 points, at 2.5× the speed."
    )


# -- losses -------------------------------------------------------------------------------------


def test_rivals_are_told_with_their_gain_and_time():
    found = section(
        row(),
        ONE,
        rivals=(
            Rival("one-epoch", "One-epoch baseline", 0.0123, 0.004, 0.25),
            Rival("soft-0.02", "PASHA soft ranking ε=0.02", -0.001, 0.002, 0.5),
            Rival("random", "Random baseline", 0.0, 0.0, 0.0),
        ),
    )
    (loss,) = find_losses(found)
    assert loss == (
        "In less time than PASHA, and not worse by more than a standard error: "
        "One-epoch baseline (1.23 points better, standard error 0.40 points, 25.0 % of its time); "
        "PASHA soft ranking ε=0.02 (0.10 points worse, standard error 0.20 points, 50.0 % of its "
        "time); Random baseline (equally good, 0.0 % of its time)."
    )


def test_a_pasha_slower_than_asha_is_a_loss():
    slow = row(speedup=0.98)
    found = section(row("asha", "ASHA"), slow)
    assert find_losses(found) == ("PASHA takes longer than ASHA.",)
    eta = section(row("asha-eta2", "ASHA, η=2"), row("pasha-eta2", "PASHA, η=2", speedup=0.5))
    assert find_losses(eta) == ("PASHA, η=2 takes longer than ASHA, η=2.",)
    assert find_losses(section(row("asha", "ASHA"), row(speedup=1.0))) == ()


# -- notes --------------------------------------------------------------------------------------


def test_pasha_is_told_against_asha_on_the_same_samples():
    found = section(
        row("asha", "ASHA", seconds=231.0, better_share=Figure(0.02, 0)),
        row(better_share=Figure(0.053, 0)),
    )
    (note,) = write_findings(found, runs(asha=[0.92, 0.90], pasha=[0.90, 0.90]))
    assert note == (
        "PASHA against ASHA on the same samples: 1.00 points worse, standard error 1.00 points, "
        "2.3× the speed; 5.3 % of the sampled configurations end better than its choice (ASHA: "
        "2.0 %)."
    )


def test_final_values_that_are_no_shares_are_told_as_they_are():
    asha = row("asha", "ASHA", seconds=200.0)
    found = section(asha, row(), final_goal="min", percent=False)
    (note,) = write_findings(found, runs(asha=[2.5], pasha=[2.25]))
    assert "0.25 better, 2.0× the speed" in note


def test_the_largest_speedup_is_named():
    rows = [
        row("asha-eta2", "ASHA, η=2", speedup=1.0),
        row("pasha-eta2", "PASHA, η=2", speedup=4.2),
        row("asha-eta4", "ASHA, η=4", speedup=1.0),
        row("pasha-eta4", "PASHA, η=4", speedup=2.8),
    ]
    facts = runs(asha_eta2=[0.9], pasha_eta2=[0.9], asha_eta4=[0.9], pasha_eta4=[0.9])
    *_, note = write_findings(section(*rows, experiment="eta"), facts)
    assert "4.2× (PASHA, η=2) and 2.8× (PASHA, η=4); the largest is PASHA, η=2, as in" in note
    rows[3] = row("pasha-eta4", "PASHA, η=4", speedup=5.0)
    *_, note = write_findings(section(*rows, experiment="eta"), facts)
    assert "the largest is PASHA, η=4, the paper's is with η=2" in note


@pytest.mark.parametrize(
    ("whole", "word"), [(3.0, "as the paper expects"), (1.4, "unlike in the paper")]
)
def test_more_rungs_are_held_against_the_papers_advice(whole, word):
    rows = (
        row("asha", "ASHA, all"),
        row(speedup=whole, label="PASHA, all"),
        row("asha-quarter", "ASHA, a quarter"),
        row("pasha-quarter", "PASHA, a quarter", speedup=1.5),
    )
    facts = runs(asha=[0.9], pasha=[0.9], asha_quarter=[0.9], pasha_quarter=[0.9])
    *_, between, note = write_findings(section(*rows, experiment="resources"), facts)
    assert between.startswith("PASHA, all against PASHA, a quarter on the same samples: equally")
    assert f"With more rungs PASHA's speed-up against ASHA is {whole}×, with fewer 1.5×" in note
    assert word in note


def test_who_chose_nothing_and_whose_choice_diverged_are_told_apart():
    facts = {
        "asha": [outcome("asha", row=-1, trained=False), outcome("asha", trained=False)],
        "pasha": [outcome(), outcome(trained=False)],
    }
    *_, nothing, diverged = write_findings(section(row("asha", "ASHA", n=2), row(n=2)), facts)
    assert nothing.startswith("Runs that ended before a finite value was reported")
    assert nothing.endswith("worst final value of the table): ASHA 1 of 2.")
    assert diverged.startswith("Runs whose choice diverged in full training")
    assert diverged.endswith(": ASHA 1 of 2 and PASHA 1 of 2.")


def test_without_a_runtime_no_speed_is_told():
    found = section(row("asha", "ASHA", seconds=0.0), row(seconds=0.0))
    note, *_ = write_findings(found, runs(asha=[0.9], pasha=[0.9]))
    assert "samples: equally good; 10.0 % of" in note


def test_missing_regrets_are_counted():
    facts = {
        "asha": [outcome("asha", regret=math.nan), outcome("asha", regret=0.5)],
        "pasha": [outcome(regret=math.nan), outcome(regret=math.nan)],
    }
    found = section(row("asha", "ASHA", n=2), row(n=2))
    (note,) = [note for note in write_findings(found, facts) if "regret" in note]
    assert note.startswith("3 of 4 runs have no regret")


def test_the_paper_is_compared_by_its_furthest_figure():
    def beside(mean):
        return PaperRow("nas201", 1, "CIFAR-10", "x", "X", Figure(mean, 0.75))

    found = section(row("asha", "ASHA", paper=beside(91.5)), row(paper=beside(90.2)))
    *_, note = write_findings(found, runs(asha=[0.9], pasha=[0.9]))
    assert note.startswith("Furthest from the paper's accuracy: ASHA, by -1.50 points")
    assert "0.75" in note


# -- remarks ------------------------------------------------------------------------------------


def remarks(name="own", *, nearest=False, **facts):
    about = {"rows": 1000, "resources": 10, "metric": "accuracy", **facts}
    return " ".join(list_remarks(Card(name=name, **about), Settings(()), nearest=nearest))


def test_what_a_reader_must_know_is_told():
    assert remarks() == "The paper has no figures for it."
    assert "A unit of resource: 1/8 epoch." in remarks(resource="1/8 epoch")
    assert "An epoch is 8 units" in remarks(details={"points_per_epoch": 8})
    assert "drawn from the search space" in remarks(nearest=True)
    assert "The table has 100 configurations: each is drawn once." in remarks(rows=100)
    assert "each is drawn once" not in remarks(rows=100, nearest=True)
    assert "1 − error" in remarks(goal="min", final_metric="test error")
    assert "Runtime: measured on one core." in remarks(unit_seconds="measured on one core.")


def test_a_part_of_a_benchmark_is_not_compared_with_the_paper():
    name = "nasbench201-cifar10"
    whole = {"architectures_in_all": 15625}
    few = Card(name=name, rows=3, details=whole)
    assert "Only 3 of 15,625 architectures are in this table" in describe_part(few)
    assert describe_part(Card(name=name, rows=300, details=whole)), "256 of them, but not of all"
    assert "Only 255 configurations are" in describe_part(Card(name=name, rows=255))
    for complete in (
        Card(name=name, rows=15625, details=whole),
        Card(name=name, rows=256),
        Card(name="own", rows=3, details=whole),  # the paper has no figures for it
    ):
        assert describe_part(complete) == ""
    assert describe_part(few) in remarks(name, rows=3, resources=200, details=whole)
    beside = PaperRow("nas201", 1, "CIFAR-10", "pasha", "PASHA", Figure(93.57, 0.75))
    notes = write_findings(section(row(paper=beside), part=describe_part(few)), runs(pasha=[0.9]))
    assert notes[-1] == describe_part(few)
    assert not any("Furthest from" in note for note in notes)


def test_studies_decided_by_another_metric_than_the_papers_are_told():
    told = remarks("lcbench-car", metric="validation cross-entropy")
    assert "Studies use validation cross-entropy here" in told
    assert "has no figures" not in told
    assert remarks("lcbench-car", metric="validation accuracy", resources=50) == ""


@pytest.mark.parametrize(
    ("name", "facts", "words"),
    [
        ("pd1-imagenet-resnet-512", {"details": {"parts": ["matched"]}}, "runs (matched)"),
        ("pd1-imagenet-resnet-512", {"resources": 50}, "50 points, and the paper's 251"),
        ("pd1-wmt-xformer-64", {"resources": 251}, "251 points, and the paper's 1,414"),
        ("lcbench-car", {"resources": 20, "rows": 9}, "only 9 configurations are in this table"),
    ],
)
def test_what_is_not_the_papers_table_is_not_compared_with_it(name, facts, words):
    told = describe_part(Card(name=name, **{"rows": 1000, **facts}))
    assert words.lower() in told.lower()
    assert told.endswith("are shown beside ours, but cannot be compared with them.")
    both = {"parts": ["matched", "unmatched"]}
    assert (
        describe_part(Card(name="pd1-wmt-xformer-64", rows=900, resources=1414, details=both)) == ""
    )


def test_notes_of_a_card_are_repeated():
    told = remarks(details={"notes": ["3 runs outside of the space are left out"]})
    assert "From its card: 3 runs outside of the space are left out." in told


def test_a_single_run_is_not_called_sure():
    made = section(row("asha", "ASHA", n=1, final=(0.9, 0)), row(n=1, final=(0.8, 0), seconds=50.0))
    finals = runs(asha=[0.9], pasha=[0.8])
    made = replace(made, rivals=find_rivals(made, finals), ahead=find_better(made, finals))
    (told,) = find_losses(made)
    assert told == (
        "PASHA ends worse than ASHA in a single run, which says little: by 10.00 points, at 2.0× "
        "the speed."
    )


# -- rows ---------------------------------------------------------------------------------------


def test_the_speedup_is_the_ratio_of_mean_runtimes():
    mine = [outcome(seconds=10.0), outcome(seconds=30.0)]
    theirs = [outcome("asha", seconds=30.0), outcome("asha", seconds=50.0)]
    found = make_row(METHODS["pasha"], "PASHA", mine, reference=theirs, found=None)
    assert found.speedup == 2.0  # and not (3 + 5/3) / 2
    assert found.seconds == Figure(20.0, 10.0)


def test_no_runtime_no_speedup():
    nothing = [outcome("random", seconds=0.0)]
    found = make_row(METHODS["random"], "Random", nothing, reference=nothing, found=None)
    assert found.speedup is None


def test_a_real_run_that_one_epoch_wins_says_so(folder):
    # Curves that never cross, and ASHA's promotions that bring nothing: one epoch is enough.
    values = [[[0.1 * row + 0.01 * epoch for epoch in range(3)] for row in range(9)]]
    write_tiny(folder, values=values, final=None, seconds=1.0)
    settings = Settings((), protocols=("ours",), seeds=2)
    (found,) = reproduce(["table1"], settings=settings).sections
    assert [rival.method for rival in found.rivals] == ["one-epoch"]
    assert "One-epoch baseline (equally good, " in found.losses[0]
