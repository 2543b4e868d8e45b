"""Numbers with steps: from how they are drawn to what searchers make of them."""

from collections import Counter

import numpy as np
import pytest
from extras import needs
from hypothesis import given
from hypothesis import strategies as st

import rungwise as rw
from rungwise.core.searcher import NoHistory
from rungwise.errors import InvalidArgumentError, SpaceError
from rungwise.space import Choice, Float, Int, Space
from rungwise.space.rules import compare
from rungwise.specification import read_space

DOMAINS = {
    "float": Float(0, 0.5, step=0.1),
    "float from elsewhere": Float(-0.3, 0.4, step=0.35),
    "log float": Float(0.25, 4, log=True, step=0.25),
    "int": Int(16, 128, step=16),
    "int below 0": Int(-6, 6, step=4),
    "log int": Int(1, 41, log=True, step=10),
}


@st.composite
def stepped(draw):
    count = draw(st.integers(1, 300))
    log = draw(st.booleans())
    if draw(st.booleans()):
        low, step = draw(st.integers(1 if log else -1000, 1000)), draw(st.integers(1, 50))
        return Int(low, low + count * step, log=log, step=step)
    tenths = st.integers(1 if log else -1000, 1000)
    low, step = draw(tenths) / 10, draw(st.integers(1, 1000)) / 1000
    return Float(low, low + count * step, log=log, step=step)


@given(stepped(), st.floats(0, 1, exclude_max=True))
def test_what_is_drawn_is_one_of_the_values_and_has_its_place(domain, u):
    value = domain.at(u)
    values = list(domain.values())
    assert len(values) == domain.size
    assert values == sorted(values)
    assert (values[0], values[-1]) == (domain.low, pytest.approx(domain.high))
    assert value in values
    assert domain.accept("x", value) == value
    assert 0 <= domain.place(value) <= 1
    assert domain.at(min(domain.place(value), 1 - 1e-12)) == value
    below, above = domain.cell(value)
    assert below < domain.place(value) < above
    assert below - 1e-9 <= u <= above + 1e-9
    assert 0 <= domain.unit(value) <= 1


@pytest.mark.parametrize("domain", DOMAINS.values(), ids=DOMAINS)
def test_every_value_is_drawn_in_proportion_to_its_cell(domain):
    draws = 20_000
    counts = Counter(domain.at((n + 0.5) / draws) for n in range(draws))
    assert list(counts) == list(domain.values())
    for value, count in counts.items():
        below, above = domain.cell(value)
        assert count / draws == pytest.approx(above - below, abs=2 / draws)
    if not domain.log:
        assert max(counts.values()) - min(counts.values()) <= 1


def test_decimal_fractions_are_what_they_are_written_as():
    assert list(Float(0, 0.5, step=0.1).values()) == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]
    assert Float(0, 1, step=0.1).accept("x", 0.1 + 0.2) == 0.3
    assert Int(0, 8, step=np.int64(2)).accept("x", 4.0) == 4
    assert type(Float(0, 4, step=2).at(0.5)) is float


def test_steps_of_1_are_those_that_whole_numbers_have_anyway():
    assert Int(1, 9, step=1) == Int(1, 9)
    assert repr(Int(1, 9, step=2)) == "Int(1, 9, step=2)"
    assert repr(Float(1, 4, log=True, step=0.5)) == "Float(1.0, 4.0, log=True, step=0.5)"


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Float(0, 1, step=0), "step is 0, but it must be a finite number above 0"),
        (lambda: Float(0, 1, step="a"), "step is 'a'"),
        (lambda: Float(0, 1, step=float("nan")), "step is nan"),
        (lambda: Float(0, 1, step=True), "step is True"),
        (lambda: Int(0, 9, step=1.5), "step is 1.5, but it must be a whole number above 0"),
        (lambda: Int(0, 9, step=-3), "step is -3"),
        (lambda: Float(0, 1, step=0.3), "high is 1.0, but .* low = 0.0, such as 0.9 or 1.2"),
        (lambda: Int(1, 10, step=2), "high is 10, but .* such as 9 or 11"),
        (lambda: Int(1, 10, step=20), "high is 10, but .* such as 21"),
        (lambda: Space.parse({"x": Int(0, 8, step=4)}).validate({"x": 5}), "nearest is 4"),
        (lambda: Space.parse({"x": Float(0, 1, step=0.5)}).validate({"x": 0.4}), "nearest is 0.5"),
    ],
)
def test_what_is_wrong_is_said_with_what_would_be_right(build, message):
    with pytest.raises(SpaceError, match=message):
        build()


def test_the_codec_keeps_steps_and_files_without_them_stay_as_they_are():
    space = Space.parse(DOMAINS)
    assert Space.from_json(space.to_json()) == space
    assert "step" not in str(Space.parse({"a": Float(0, 1), "b": Int(0, 9)}).to_json())
    assert Space.parse({"a": Int(0, 8)}) != Space.parse({"a": Int(0, 8, step=2)})
    (line,) = Space.parse({"a": Int(0, 8)}).describe(Space.parse({"a": Int(0, 8, step=2)}))
    assert "step=2" in line


def test_files_have_steps(tmp_path):
    file = tmp_path / "space.yaml"
    file.write_text("a: {type: float, low: 0, high: 1, step: 1e-1}\nb: {type: int, low: 2, "
                    "high: 8, step: 2}\n")  # fmt: skip
    assert read_space(file) == Space.parse({"a": Float(0, 1, step=0.1), "b": Int(2, 8, step=2)})
    file.write_text("a: {type: float, low: 0, high: 1, step: 0.3}\n")
    with pytest.raises(InvalidArgumentError, match=r"high of a .*line 1.* such as 0.9 or 1.2"):
        read_space(file)


def test_a_rule_may_draw_its_line_between_two_values():
    rule = compare({"x": Float(0, 1, step=0.5)}, "x", "<", 0.7)
    assert [rule.holds({"x": value}) for value in (0.0, 0.5, 1.0)] == [True, True, False]
    with pytest.raises(SpaceError):
        compare({"x": Float(0, 1, step=0.5)}, "x", "==", 0.7)


SEARCHERS = {
    "random": ("", rw.searchers.RandomSearcher),
    "sobol": ("", rw.searchers.Sobol),
    "grid": ("", lambda: rw.searchers.Grid(3)),
    "kde": ("", rw.searchers.KDE),
    "tpe": ("", rw.searchers.TPE),
    "gp": ("", lambda: rw.searchers.GP(startup=4)),
    "optuna": ("optuna", lambda: rw.searchers.OptunaSearcher("tpe")),
}


class Seen:
    """A history of trials that have reported once."""

    levels = (1.0,)

    def __init__(self, space, configs):
        self.space, self.trials = space, [_Trial(n, config) for n, config in enumerate(configs)]

    def __len__(self):
        return len(self.trials)

    def __iter__(self):
        return iter(self.trials)

    def times_drawn(self, key):
        return sum(self.space.key(trial.config) == key for trial in self.trials)


class _Trial:
    failed = False
    resources = (1.0,)

    def __init__(self, number, config):
        self.id, self.config = number, config
        self.losses = (abs(config["float"] - 0.3) + config["int"] / 100,)


@pytest.mark.parametrize("name", SEARCHERS)
def test_every_searcher_proposes_values_that_there_are(name):
    extra, make = SEARCHERS[name]
    if extra:
        needs(extra)
    searcher = make()
    space = Space.parse({**DOMAINS, "act": Choice(["a", "b"])})
    rng = np.random.default_rng(0)
    configs = [space.sample(rng) for _ in range(25)]
    for history in (NoHistory(), Seen(space, configs)):
        for seed in range(3):
            config = searcher.propose(space, history, np.random.default_rng(seed))
            assert space.validate(config) == config


def test_a_finite_space_of_steps_is_used_up_before_anything_repeats():
    def train(config, run):
        run.report(1, loss=config["x"])

    result = rw.tune(
        train,
        {"x": Float(0, 1, step=0.25), "n": Int(0, 10, step=5)},
        metric="loss",
        max_resource=1,
        trials=15,
        backend=rw.Threads(1),
        show="quiet",
    )
    drawn = {(trial.config["x"], trial.config["n"]) for trial in result.engine.trials}
    assert len(drawn) == 15
