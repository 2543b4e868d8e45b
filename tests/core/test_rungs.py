"""Rungs against a model that sorts a list at every question."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rungwise.core.rungs import FloorCut, QuantileCut, Rung

INF = math.inf
CUTS = {
    "floor": FloorCut,
    "floor, at least 1": lambda eta: FloorCut(eta, at_least=1),
    "quantile": QuantileCut,
    "quantile, at least 1": lambda eta: QuantileCut(eta, at_least=1),
}


class Model:
    """A rung from the definition: everything is sorted anew."""

    def __init__(self, kind, eta):
        self.kind, self.eta = kind, eta
        self.losses = {}
        self.waiting = set()

    def ranked(self):
        return [trial for _, trial in sorted((loss, t) for t, loss in self.losses.items())]

    def best_part(self):
        n = len(self.losses)
        at_least_1 = self.kind.endswith("1")
        if self.kind.startswith("floor"):
            chosen = self.ranked()[: max(n // self.eta, int(at_least_1))]
        elif n >= (1 if at_least_1 else 2):
            edge = sorted(self.losses.values())[(n - 1) // self.eta]
            chosen = [trial for trial in self.ranked() if self.losses[trial] <= edge]
        else:
            chosen = []
        return [trial for trial in chosen if self.losses[trial] < INF]

    def peek(self):
        return next((t for t in self.ranked() if t in self.waiting & set(self.best_part())), None)

    def best_waiting(self):
        """A rung only offers its best waiting trial; were it outside, so would be all others."""
        candidates = [t for t in self.ranked() if t in self.waiting]
        return candidates[0] if candidates and candidates[0] in self.best_part() else None


@st.composite
def histories(draw):
    """Arrivals in any order of ids (ties and infinite losses included), offers and takes."""
    n = draw(st.integers(0, 30))
    ids = draw(st.permutations(range(n)))
    loss = st.one_of(st.integers(-4, 4).map(lambda k: k / 4), st.just(INF))
    losses = draw(st.lists(loss, min_size=n, max_size=n))
    does = draw(st.lists(st.sampled_from(["offer", "hold", "take"]), min_size=n, max_size=n))
    return list(zip(ids, losses, does, strict=True))


@pytest.mark.no_cover
@pytest.mark.parametrize("kind", CUTS)
@given(history=histories(), eta=st.integers(2, 5))
@settings(max_examples=80)
def test_a_rung_answers_as_sorting_everything_would(kind, history, eta):
    rung, model = Rung(1, CUTS[kind](eta)), Model(kind, eta)
    for trial, loss, what in history:
        rung.enter(trial, loss)
        model.losses[trial] = loss
        if what != "hold":
            rung.offer(trial)
            model.waiting |= {trial} if loss < INF else set()
        assert model.peek() == model.best_waiting()  # the model agrees with itself
        assert rung.peek() == model.peek()
        assert [t for t in model.losses if rung.includes(t)] == [
            t for t in model.losses if t in model.best_part()
        ]
        if what == "take":
            assert rung.take() == model.peek()
            model.waiting.discard(model.peek())
            assert rung.peek() == model.peek()
    assert rung.ranked() == model.ranked()
    assert rung.losses == model.losses
    assert len(rung) == len(history)
    assert all(trial in rung for trial, _, _ in history)
    assert len(history) not in rung


@given(
    losses=st.lists(st.integers(-4096, 4096), min_size=2, max_size=40, unique=True),
    eta=st.integers(2, 6),
)
def test_the_quantile_cut_is_numpys_linear_quantile(losses, eta):
    values = [loss / 1024 for loss in losses]
    rung = Rung(1, QuantileCut(eta))
    for trial, loss in enumerate(values):
        rung.enter(trial, loss)
    edge = np.quantile(values, 1 / eta, method="linear")
    # 1/eta is rounded, and so may be the quantile where it is exactly one of the losses.
    within = [trial for trial, loss in enumerate(values) if loss <= edge + 1e-9]
    assert [trial for trial in range(len(values)) if rung.includes(trial)] == within


def test_the_floor_cut_lets_nobody_up_before_eta_trials_arrived():
    rung = Rung(1, FloorCut(3))
    for trial, loss in enumerate([0.5, 0.25]):
        rung.enter(trial, loss)
        rung.offer(trial)
        assert rung.take() is None
    rung.enter(2, 0.75)
    assert rung.take() == 1
    assert rung.take() is None  # ⌊3/3⌋ = 1


def test_equal_losses_go_by_trial_id_under_the_floor_cut():
    rung = Rung(1, FloorCut(2))
    for trial in (3, 1, 2, 0):
        rung.enter(trial, 0.5)
        rung.offer(trial)
    assert rung.ranked() == [0, 1, 2, 3]
    assert [rung.take(), rung.take(), rung.take()] == [0, 1, None]


def test_equal_losses_are_all_within_the_quantile():
    rung = Rung(1, QuantileCut(3))
    for trial in (2, 0, 1):
        rung.enter(trial, 0.5)
        rung.offer(trial)
    assert [rung.take(), rung.take(), rung.take(), rung.take()] == [0, 1, 2, None]


@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)
def test_an_infinite_loss_is_never_offered_nor_included_even_when_all_are(cut):
    rung = Rung(1, cut(2))
    for trial in range(4):
        rung.enter(trial, INF)
        rung.offer(trial)
    assert rung.take() is None
    assert not any(rung.includes(trial) for trial in range(4))


def test_infinite_losses_count_as_members_when_the_part_is_measured():
    rung = Rung(1, FloorCut(3))
    for trial, loss in enumerate([INF, INF, 0.5]):
        rung.enter(trial, loss)
    rung.offer(2)
    assert rung.take() == 2  # one of three, though the other two diverged


def test_a_trial_taken_is_not_offered_again_by_itself():
    rung = Rung(1, FloorCut(2))
    for trial, loss in enumerate([0.1, 0.2, 0.3, 0.4]):
        rung.enter(trial, loss)
        rung.offer(trial)
    assert [rung.take(), rung.take()] == [0, 1]
    rung.enter(4, 0.05)  # ⌊5/2⌋ = 2: the best two are now 4 and 0
    assert rung.take() is None
    rung.offer(4)
    assert rung.take() == 4
