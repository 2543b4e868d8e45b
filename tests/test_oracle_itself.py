"""The oracle against cases small enough to follow with a pencil."""

import itertools
import math
import random

import numpy as np
import pytest
from oracle import CRITERIA, ladder, noise_distances, overlap, regret, run

NAN = math.nan

# Four rows, resources 1 … 4; with η = 2 the levels are 1, 2, 4.
FOUR = [
    [0.80, 0.70, 0.60, 0.55],
    [0.60, 0.50, 0.40, 0.30],
    [0.90, 0.85, 0.80, 0.75],
    [0.50, 0.45, 0.42, 0.41],
]
# The same, but at resource 2 row 3 falls behind row 1.
SWAP = [*FOUR[:3], [0.50, 0.55, 0.42, 0.41]]


def test_ladder():
    assert ladder(1, 200, 3) == [1, 3, 9, 27, 81, 200]
    assert ladder(1, 243, 3) == [1, 3, 9, 27, 81, 243]
    assert ladder(5, 5, 3) == [5]


def test_asha_with_one_worker():
    # Trial 0: rung 0 = {.8}: ⌊1/2⌋ = 0 candidates. Trial 1: {.6, .8}: one candidate, trial 1: up.
    # At 2 it is alone. Trial 2 (.9): ⌊3/2⌋ = 1 candidate, trial 1 again, already sent. Trial 3
    # (.5): ⌊4/2⌋ = 2 candidates, 3 and 1; 3 goes up: .45 beats trial 1's .5 in rung 1, of two one
    # may leave: 3 goes on to 4. Nothing else is promotable.
    got = run(FOUR, range(4), kind="asha", max_resource=4, eta=2)
    assert got.jobs == [(0, 0, 1), (1, 0, 1), (1, 1, 2), (2, 0, 1), (3, 0, 1), (3, 1, 2), (3, 2, 4)]
    assert got.rungs == [{0: 0.8, 1: 0.6, 2: 0.9, 3: 0.5}, {1: 0.5, 3: 0.45}, {3: 0.41}]
    assert got.ceilings == [(0, 4)]
    assert got.best == (3, 0.41, 4)
    assert (got.reports, got.resource_spent, got.seconds, got.max_resource) == (8, 8, 8.0, 4)


def test_rows_are_the_order_of_drawing_and_max_is_minus_min():
    # Trial i trains rows[i]: rungs speak of trials, jobs and best of rows.
    negative = [[-x for x in row] for row in FOUR]
    got = run(negative, [3, 2, 1, 0], kind="asha", max_resource=4, eta=2, goal="max")
    # .5 | .9 → row 3 (trial 0) to 2 | row 1 (.6): ⌊3/2⌋ = 1, sent | row 0 (.8): two candidates,
    # trial 2 to 2 (.5), of two one may leave rung 1: trial 0 (.45).
    assert got.jobs == [(3, 0, 1), (2, 0, 1), (3, 1, 2), (1, 0, 1), (0, 0, 1), (1, 1, 2), (3, 2, 4)]
    assert got.rungs == [{0: 0.5, 1: 0.9, 2: 0.6, 3: 0.8}, {0: 0.45, 2: 0.5}, {0: 0.41}]
    assert got.best == (3, -0.41, 4)


def test_pasha_does_not_raise_while_the_order_holds():
    # K = 1 (level 2). Trial 1 alone in rung 1: stable. Trial 3 joins: 3 before 1 in both: stable.
    got = run(FOUR, range(4), kind="pasha", max_resource=4, eta=2, criterion=("exact",))
    assert got.jobs == [(0, 0, 1), (1, 0, 1), (1, 1, 2), (2, 0, 1), (3, 0, 1), (3, 1, 2)]
    assert got.ceilings == [(0, 2)]
    assert (got.max_resource, got.best) == (2, (3, 0.45, 2))


def test_pasha_raises_when_the_order_changes():
    # Trial 3's second epoch is report 6: rung 1 orders 1, 3, rung 0 orders 3, 1: raised to level 4,
    # and the best of rung 1, trial 1, goes there.
    got = run(SWAP, range(4), kind="pasha", max_resource=4, eta=2, criterion=("exact",))
    assert got.jobs == [(0, 0, 1), (1, 0, 1), (1, 1, 2), (2, 0, 1), (3, 0, 1), (3, 1, 2), (1, 2, 4)]
    assert got.ceilings == [(0, 2), (6, 4)]
    assert got.best == (1, 0.30, 4)


# p₁, p₂ = 3, 1 with .5, .6 in rung 0, c₁, c₂ = 1, 3: both places differ by .1 (in floats a hair
# less); σ = .05; the mean and the median of the one distance .1 are that distance itself.
@pytest.mark.parametrize(
    ("criterion", "raised"),
    [
        (("soft", 0.0), True),
        (("soft", 0.09), True),
        (("soft", 0.11), False),
        (("sigma", 1), True),
        (("sigma", 3), False),
        (("mean",), False),
        (("median",), False),
        (("noise", 90), True),  # two epochs cannot cross twice: ε = 0
        (("leader", 90), True),  # .55 is not .5
        (("rbo", 1.0, 0.5), False),  # overlaps 0/1, 2/2: their average is .5
        (("rbo", 0.5, 0.5), True),  # (0 + 1/2) / (3/2) = 1/3
        (("rrr", 0.5, 0.03), True),  # 2/3 · .05/.5 - 1/3 · .05/.55 = .0364
        (("rrr", 0.5, 0.04), False),
        (("arrr", 0.5, 0.09), True),  # 2/3 · .05/.5 + 1/3 · .05/.55 = .0970
        (("arrr", 0.5, 0.10), False),
    ],
)
@pytest.mark.parametrize("check", ["rung", "report"])
def test_every_criterion_on_the_same_swap(criterion, raised, check):
    got = run(SWAP, range(4), kind="pasha", max_resource=4, eta=2, criterion=criterion, check=check)
    assert got.ceilings == ([(0, 2), (6, 4)] if raised else [(0, 2)])


def test_epsilon_of_the_papers_example():
    # Top rung 8 epochs, the next 4; trained 8, 8, 6 epochs; every pair criss-crosses. Distances:
    # |f8(a) - f8(b)| = 4, |f6(a) - f6(c)| = |6 - 7| = 1, |f6(b) - f6(c)| = |4 - 7| = 3.
    a = dict(enumerate([5, 3, 5, 3, 5, 6, 5, 1], start=1))
    b = dict(enumerate([4, 4, 4, 4, 4, 4, 4, 5], start=1))
    c = dict(enumerate([6, 2, 6, 2, 3, 7], start=1))
    # a - b: + - + - + …; a - c: - + - + + -; b - c: - + - + + -.
    assert noise_distances([a, b, c], 4, 8) == [4, 1, 3]
    # The 90th percentile of 1, 3, 4 lies at place 0.9 · 2 = 1.8: 3 + 0.8 · (4 - 3).
    assert np.percentile([4, 1, 3], 90) == pytest.approx(3.8)


def test_which_pairs_count_for_epsilon():
    base = {1: 2.0, 2: 2.0, 3: 2.0, 4: 2.0}
    count = lambda other: noise_distances([base, other], 2, 4)  # noqa: E731
    assert count({1: 3.0, 2: 1.0, 3: 2.5, 4: 2.75}) == [0.75]  # + - + +
    assert count({1: 3.0, 2: 1.0, 3: 1.0, 4: 1.0}) == []  # one change only
    assert count({1: 3.0, 2: 1.0}) == []  # not beyond level K-1 = 2
    assert count({1: 3.0, 2: 1.0, 3: 3.0}) == [1.0]  # last common resource 3
    assert noise_distances([base, {1: 3.0, 2: 1.0, 3: 3.0}], 3, 4) == []  # at K-1 is not beyond
    assert noise_distances([base, {1: 3.0, 2: 1.0, 3: 3.0, 4: 9.0}], 1, 3) == [1.0]  # K is 3
    assert count({1: 1.0, 2: 2.0, 3: 1.0, 4: 1.0}) == []  # - 0 - -: touching is no crossing
    assert count({1: 3.0, 2: 1.0, 3: 3.0, 4: 2.0}) == [0.0]  # equal is no sign, but a distance
    assert count({1: 3.0, 2: 2.0, 3: 1.0, 4: 2.5}) == [0.5]  # + 0 - +: the 0 is skipped
    assert count({1: 3.0, 2: math.inf, 3: 1.0, 4: 2.5}) == [0.5]  # diverged: no measurement
    assert count({1: 3.0, 2: 1.0, 3: 3.0, 4: math.inf}) == [1.0]


@pytest.mark.parametrize(("last", "raised"), [(2.5, False), (3.5, True)])
def test_noise_in_a_study(last, raised):
    # Levels 4, 8, 16; K = 1. Trials 0 and 2 are bad; 1 and 3 meet in rung 1 and cross:
    # 1 - 3 is + - + - - - - +. At 4: 4 and 5; at 8: 4 and `last`: the order is swapped, so stable
    # means |4 - 5| = 1 ≤ ε. ε at the last report is |4 - last|: 1.5 (stable) or 0.5 (raised).
    # One report before it was |4 - 5| = 1, which would have been enough: ε is updated first.
    bad, rest = [9.0] * 16, [1.0] * 8
    table = [bad, [5, 4, 5, 4, 4, 4, 4, 4, *rest], bad, [4, 5, 4, 5, 5, 5, 5, last, *rest]]
    got = run(table, range(4), kind="pasha", min_resource=4, max_resource=16, eta=2)
    # Reports: 4 + 4 + (trial 1) 4 + 4 + 4 + (trial 3) 4 = 24.
    assert got.ceilings == ([(0, 8), (24, 16)] if raised else [(0, 8)])
    assert got.max_resource == (16 if raised else 8)
    assert got.jobs[-1] == ((3, 8, 16) if raised else (3, 4, 8))


def test_overlap_by_hand():
    # Depth 1: 1/1, depth 2: {1, 2} ∩ {1, 3}: 1/2, depth 3: 3/3.
    assert overlap([1, 2, 3], [1, 3, 2], 1.0) == 5 / 6
    assert overlap([1, 2, 3], [1, 3, 2], 0.5) == 6 / 7  # (1 + 1/4 + 1/4) / (7/4)
    assert overlap([1, 2], [2, 1], 1.0) == 0.5
    assert overlap([3, 1, 2], [3, 1, 2], 0.9) == 1.0


def test_regret_by_hand():
    # f = 1, 2, 4; rung K-1 put trial 1 first: f′ = 2, 1, 4: terms 1, -1/2, 0; weights 4, 2, 1 of 7.
    now, before = {0: 1.0, 1: 2.0, 2: 4.0}, {0: 5.0, 1: 4.0, 2: 6.0}
    assert regret(now, before, 0.5) == pytest.approx(3 / 7)
    assert regret(now, before, 0.5, absolute=True) == pytest.approx(5 / 7)
    # Metrics 4, 2, 1, maximised (losses -4, -2, -1): (4 - 2)/4 = 1/2, (2 - 4)/2 = -1: 2/7 - 2/7.
    now = {0: -4.0, 1: -2.0, 2: -1.0}
    assert regret(now, before, 0.5) == pytest.approx(0.0)
    assert regret(now, before, 0.5, absolute=True) == pytest.approx(4 / 7)
    assert regret(now, before, 1.0) == pytest.approx(-1 / 6)  # (1/2 - 1 + 0) / 3
    # A zero best loss, and a diverged trial that rung K-1 put first.
    assert regret({0: 0.0, 1: 1.0}, {0: 2.0, 1: 1.0}, 0.5) == math.inf
    assert regret({0: -1.0, 1: 0.0}, {0: 2.0, 1: 1.0}, 0.5) == -math.inf  # 1 · 2/3 - inf · 1/3
    assert regret({0: 1.0, 1: math.inf}, {0: 2.0, 1: 1.0}, 0.5) == math.inf
    assert regret({0: 1.0, 1: math.inf}, {0: 1.0, 1: 2.0}, 0.5) == 0.0


def test_soft_is_about_the_previous_rungs_losses():
    # Rung K orders 2, 1, 0, rung K-1 orders 0, 1, 2 with 1, 2, 4: places differ by 3, 0, 3.
    now, before = {0: 9.0, 1: 8.0, 2: 7.0}, {0: 1.0, 1: 2.0, 2: 4.0}
    assert not CRITERIA["soft"](now, before, 0.0, 2.9)
    assert CRITERIA["soft"](now, before, 0.0, 3.0)
    # Distances 1, 2, 3: mean and median 2. Variance (16/9 + 1/9 + 25/9) / 3 = 14/9, σ = 1.247.
    assert not CRITERIA["mean"](now, before, 0.0)
    assert not CRITERIA["median"](now, before, 0.0)
    assert not CRITERIA["sigma"](now, before, 0.0, 2.4)
    assert CRITERIA["sigma"](now, before, 0.0, 2.41)
    # The leader of rung K-1 (0, now 9) is 2 behind rung K's best.
    assert not CRITERIA["leader"](now, before, 1.9, 90)
    assert CRITERIA["leader"](now, before, 2.0, 90)
    # Diverged in both rungs: |inf - inf| = 0; in place of a finite one: never within ε.
    assert CRITERIA["soft"]({0: 1.0, 1: math.inf}, {0: 1.0, 1: math.inf}, 0.0, 0.0)
    assert not CRITERIA["soft"]({0: math.inf, 1: 1.0}, {0: 1.0, 1: math.inf}, 0.0, 1e300)


def test_exact_minds_ties_and_soft_zero_does_not():
    now, before = {0: 2.0, 1: 1.0}, {0: 3.0, 1: 3.0}  # tied before: 0, 1 by number; now 1, 0
    assert not CRITERIA["exact"](now, before, 0.0)
    assert CRITERIA["soft"](now, before, 0.0, 0.0)


@pytest.mark.parametrize("check", ["rung", "report"])
def test_a_check_after_every_report_sees_epsilon_shrink(check):
    # As in test_noise_in_a_study with last = 2.5, but ε is the median distance: after report 24 it
    # is |4 - 2.5| = 1.5 and the swap of 1 and 3 (1 apart at 4) is tolerated. Trials 4 (bad) and 5
    # cost 8 reports. Trial 5 goes up (3 of 6 may); it crosses both: 5 - 1 is + - + - +, 5 - 3 is
    # + - + - -. Its fifth epoch is report 33: distances 1.5, |4 - 4.25|, |5 - 4.25|: median 0.75.
    # At its eighth: 1.5, |4 - 1| = 3, |2.5 - 1| = 1.5: median 1.5, and in rung 0 the order 5, 1, 3
    # against 5, 3, 1 now is tolerated again: who checks only there never raises.
    bad, rest = [9.0] * 16, [0.5] * 8
    table = [
        bad,
        [5, 4, 5, 4, 4, 4, 4, 4, *rest],
        bad,
        [4, 5, 4, 5, 5, 5, 5, 2.5, *rest],
        bad,
        [6, 3, 6, 3, 4.25, 4.25, 4.25, 1, *rest],
    ]
    got = run(
        table,
        range(6),
        kind="pasha",
        min_resource=4,
        max_resource=16,
        eta=2,
        criterion=("noise", 50),
        check=check,
    )
    assert got.ceilings == ([(0, 8), (33, 16)] if check == "report" else [(0, 8)])
    assert got.rungs[1] == {1: 4.0, 3: 2.5, 5: 1.0}
    assert got.rungs[2] == ({5: 0.5} if check == "report" else {})


def test_stopping():
    # Trial 0: first at 1 and 2 (at least one survives), ends at the top. Trial 1 (.6): of two one
    # survives: itself; at 2 .5 beats .7; runs on. Trial 2 (.9): rank 3 of 3: stopped at 1.
    # Trial 3 (.5): rank 1; at 2 .45 is first of three; runs on.
    got = run(FOUR, range(4), kind="asha", variant="stopping", max_resource=4, eta=2)
    assert got.jobs == [(row, 0, 4) for row in range(4)]
    assert got.rungs == [
        {0: 0.8, 1: 0.6, 2: 0.9, 3: 0.5},
        {0: 0.7, 1: 0.5, 3: 0.45},
        {0: 0.55, 1: 0.3, 3: 0.41},
    ]
    assert got.reports == 4 + 4 + 1 + 4


def test_stopping_under_a_rising_ceiling():
    # K = 1. Trial 0 ends at 2, the ceiling. Trial 1: .5 < .6 at 1, but .9 > .5 at 2: report 4
    # raises the ceiling, too late for trial 1 itself. Trial 2: first at 1 and at 2, goes on to 4.
    table = [[0.6, 0.5, 0.5, 0.5], [0.5, 0.9, 0.1, 0.1], [0.4, 0.3, 0.2, 0.25], [0.7] * 4]
    got = run(
        table,
        range(4),
        kind="pasha",
        variant="stopping",
        max_resource=4,
        eta=2,
        criterion=("exact",),
    )
    assert got.ceilings == [(0, 2), (4, 4)]
    assert got.rungs == [{0: 0.6, 1: 0.5, 2: 0.4, 3: 0.7}, {0: 0.5, 1: 0.9, 2: 0.3}, {2: 0.25}]
    assert got.best == (2, 0.2, 3)


def test_a_raise_does_not_serve_the_trial_that_caused_it():
    # Trial 0 ends at 2. Trials 1 and 2 stop at 1. Trial 3 is second of four there (two may go on)
    # and first at 2: report 6 raises the ceiling to 4; trial 3 met it at 2 and stops all the same.
    table = [[0.4, 0.5, 0.1, 0.1], [0.9] * 4, [0.9] * 4, [0.5, 0.1, 0.1, 0.1]]
    got = run(
        table,
        range(4),
        kind="pasha",
        variant="stopping",
        max_resource=4,
        eta=2,
        criterion=("exact",),
    )
    assert got.ceilings == [(0, 2), (6, 4)]
    assert got.rungs[1:] == [{0: 0.5, 3: 0.1}, {}]


def test_successive_halving_waits_for_the_whole_rung():
    got = run(FOUR, range(4), kind="sh", max_resource=4, eta=2, workers=3)
    # Two of three workers idle while trial 3 trains; then 3 and 1, best first; then 3 alone.
    assert got.jobs == [(0, 0, 1), (1, 0, 1), (2, 0, 1), (3, 0, 1), (3, 1, 2), (1, 1, 2), (3, 2, 4)]
    assert got.seconds == 1 + 1 + 1 + 2
    # With three rows ⌊3/2⌋ = 1 goes up, and of one nobody: rung 2 stays empty.
    got = run(FOUR, range(3), kind="sh", max_resource=4, eta=2)
    assert got.rungs == [{0: 0.8, 1: 0.6, 2: 0.9}, {1: 0.5}, {}]


def test_fixed_trains_everything():
    got = run(FOUR, range(4), kind="fixed", max_resource=3, workers=2)
    assert got.jobs == [(row, 0, 3) for row in range(4)]
    assert (got.seconds, got.reports, got.best) == (6.0, 12, (1, 0.40, 3))
    assert got.ceilings == [(0, 3)]


def test_virtual_time():
    # Two workers, one second for row 0, two for rows 1 and 3, one for row 2. Time 1: trial 0 (.8)
    # in; its worker draws trial 2. Time 2: trial 1's report (scheduled at 0) comes before trial 2's
    # (scheduled at 1): {0: .8, 1: .6}: 1 goes up, in at 4. Then trial 2 (.9): trial 3, in at 4, but
    # scheduled after trial 1's report.
    got = run(FOUR, range(4), kind="asha", max_resource=4, eta=2, workers=2, seconds=[1, 2, 1, 2])
    assert got.jobs[:5] == [(0, 0, 1), (1, 0, 1), (2, 0, 1), (1, 1, 2), (3, 0, 1)]
    # Time 4: trial 1 in rung 1; its worker finds no one; trial 3 in rung 0: its worker sends it up
    # (in at 6, first of rung 1) and on to 4: two more units of two seconds.
    assert got.jobs[5:] == [(3, 1, 2), (3, 2, 4)]
    assert got.seconds == 10.0


def test_the_papers_end():
    # Two workers, three rows: trial 2 starts at time 1, when trial 0's only report has been
    # handled; trial 1's report of the same moment is not.
    got = run(FOUR, range(3), kind="asha", max_resource=4, eta=2, workers=2, finish="paper")
    assert got.jobs == [(0, 0, 1), (1, 0, 1), (2, 0, 1)]
    assert (got.seconds, got.reports, got.best) == (1.0, 1, (0, 0.8, 1))


def test_diverged_trials_count_but_never_go_up():
    # Rung 0: {.8, inf, inf, inf}: ⌊4/2⌋ = 2 candidates, but only trial 0 is finite.
    table = [[0.8, NAN, NAN, 0.1], [NAN] * 4, [math.inf] * 4, [-math.inf] * 4]
    got = run(table, range(4), kind="asha", max_resource=4, eta=2)
    assert got.jobs == [(0, 0, 1), (1, 0, 1), (0, 1, 2), (2, 0, 1), (3, 0, 1)]
    assert got.rungs[1] == {0: math.inf}
    assert got.best == (0, 0.8, 1)
    assert run(table, [1, 2], kind="asha", max_resource=4).best is None


def test_quantile_promotion():
    # Trial 0 alone: at least two. {.6, .8}: rank ⌊1/2⌋ + 1 = 1: trial 1. Trial 2 {.6, .8, .9}: rank
    # ⌊2/2⌋ + 1 = 2: .8: trial 0 goes up as well; in rung 1 {.5, .7}: trial 1 to 4.
    got = run(FOUR, range(3), kind="asha", max_resource=4, eta=2, promote="quantile")
    assert got.jobs == [(0, 0, 1), (1, 0, 1), (1, 1, 2), (2, 0, 1), (0, 1, 2), (1, 2, 4)]


def test_the_highest_rung_goes_first():
    # Trial 1 goes up as soon as it beats trial 0. Trial 2 ties with trial 0 at the quantile, rank
    # ⌊2/2⌋ + 1 = 2: both may go. 0 first; now rung 1 has two, and its best goes before trial 2.
    # At last rung 1 is {.7, .8, .85}, rank 2 again: trial 0 follows to 4.
    table = [[0.9, 0.8, 0.8, 0.8], [0.8, 0.7, 0.6, 0.5], [0.9, 0.85, 0.8, 0.8]]
    got = run(table, range(3), kind="asha", max_resource=4, eta=2, promote="quantile")
    assert got.jobs[:4] == [(0, 0, 1), (1, 0, 1), (1, 1, 2), (2, 0, 1)]
    assert got.jobs[4:] == [(0, 1, 2), (1, 2, 4), (2, 1, 2), (0, 2, 4)]


@pytest.mark.parametrize("eta", [2, 3, 4])
def test_quantile_by_rank_is_numpys_quantile(eta):
    draw = random.Random(eta)  # noqa: S311
    for n in range(1, 40):
        losses = [draw.randrange(20) / 4 for _ in range(n)]
        bound = np.quantile(losses, 1 / eta)
        rank = sorted(losses)[(n - 1) // eta]
        assert [x <= bound + 1e-12 for x in losses] == [x <= rank for x in losses]


KINDS = [("asha", "promotion"), ("pasha", "promotion"), ("asha", "stopping"), ("pasha", "stopping")]
RULES = [
    ("exact",),
    ("soft", 0.25),
    ("sigma", 1),
    ("mean",),
    ("median",),
    ("noise", 90),
    ("leader", 50),
    ("rbo", 0.5, 0.5),
    ("rrr", 0.5, 0.05),
    ("arrr", 1.0, 0.05),
]


@pytest.mark.parametrize(("kind", "variant"), KINDS)
@pytest.mark.parametrize("criterion", RULES)
def test_what_must_hold_whatever_the_table(kind, variant, criterion):
    draw = random.Random(str((kind, variant, criterion)))  # noqa: S311
    choices = itertools.product(["floor", "quantile"], ["rung", "report"], ["drain", "paper"])
    for promote, check, finish in choices:
        table = [[draw.choice([*range(-3, 9), NAN]) / 4 for _ in range(9)] for _ in range(10)]
        speeds = [[draw.choice([1, 1, 2]) for _ in range(9)] for _ in range(10)]
        got = run(
            table,
            draw.sample(range(10), 10),
            kind=kind,
            variant=variant,
            max_resource=9,
            eta=2,
            criterion=criterion,
            promote=promote,
            check=check,
            finish=finish,
            workers=draw.randrange(1, 4),
            seconds=speeds,
            goal=draw.choice(["min", "max"]),
        )
        assert len({row for row, _, _ in got.jobs}) == 10  # all were drawn …
        assert len(set(got.jobs)) == len(got.jobs)  # … and no leg was run twice
        levels = [level for _, level in got.ceilings]
        assert levels == sorted(set(levels))
        assert levels[0] == (9 if kind == "asha" else 2)
        assert got.max_resource <= levels[-1]
        if variant == "promotion" and finish == "drain":
            assert got.reports == sum(until - start for _, start, until in got.jobs)
        for low, high in itertools.pairwise(got.rungs):
            assert set(high) <= {trial for trial, loss in low.items() if loss < math.inf}
