from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rungwise.errors import SpaceError
from rungwise.space import Choice, Float, Int, Space
from rungwise.space.domains import looks_like_a_range
from rungwise.testing.searchers import SPACES, conditional_space, mixed_space

names = st.text(min_size=1, max_size=4)
scalars = st.one_of(
    st.text(max_size=3), st.integers(-5, 5), st.floats(-5, 5), st.booleans(), st.none()
)
options = st.lists(scalars, min_size=1, max_size=4, unique_by=lambda x: (type(x), x))
seeds = st.integers(0, 2**32)


@st.composite
def domains(draw):
    kind = draw(st.sampled_from(["float", "int", "choice", "list", "constant"]))
    if kind == "constant":
        return draw(scalars)
    if kind in ("choice", "list"):
        drawn = draw(options)
        if kind == "list" and not looks_like_a_range(drawn):  # that would be refused
            return drawn
        return Choice(drawn, ordered=draw(st.booleans()))
    log = draw(st.booleans())
    if kind == "int":
        low = draw(st.integers(1 if log else -50, 50))
        return Int(low, low + draw(st.integers(1, 50)), log=log)
    low = draw(st.floats(1e-9 if log else -50, 50))
    return Float(low, low + draw(st.floats(0.5, 50)), log=log)


spaces = st.dictionaries(names, domains(), min_size=1, max_size=5).map(Space.parse)


@st.composite
def spaces_with_rules(draw):
    """Up to four switches, where each may depend on earlier ones, and some pairs are forbidden."""
    count = draw(st.integers(2, 4))
    parameters = []

    def comparison(upto):
        name = f"p{draw(st.integers(0, upto - 1))}"
        op = draw(st.sampled_from(["==", "!=", "<", "<=", ">", ">=", "in"]))
        value = draw(st.integers(0, 2))
        return {"name": name, "op": op, "value": [value] if op == "in" else value}

    def rule(upto):
        word = draw(st.sampled_from(["all", "any", "one"]))
        return comparison(upto) if word == "one" else {word: [comparison(upto), comparison(upto)]}

    for number in range(count):
        entry = {"name": f"p{number}", "type": "int", "low": 0, "high": 2, "log": False}
        if number and draw(st.booleans()):
            entry["when"] = rule(number)
        parameters.append(entry)
    forbidden = [rule(count) for _ in range(draw(st.integers(0, 2)))]
    if draw(st.booleans()):
        forbidden.append(
            {"left": "p0", "op": draw(st.sampled_from(["==", "<", ">="])), "right": "p1"}
        )
    space = Space.from_json({"version": 1, "parameters": parameters, "forbidden": forbidden})
    try:
        space.configurations()
    except SpaceError:
        return conditional_space()
    return space


def through_json(document):
    return json.loads(json.dumps(document, allow_nan=False))


@given(st.one_of(spaces, spaces_with_rules()))
def test_a_space_survives_json(space):
    again = Space.from_json(through_json(space.to_json()))
    assert again == space
    assert (again.parameters, again.forbidden) == (space.parameters, space.forbidden)
    assert again.describe(space) == space.describe(again) == []
    assert json.dumps(again.to_json()) == json.dumps(space.to_json())


@given(st.one_of(spaces, spaces_with_rules()), seeds)
def test_a_space_read_from_json_draws_the_same(space, seed):
    again = Space.from_json(through_json(space.to_json()))
    drawn = space.sample(np.random.default_rng(seed))
    assert repr(again.sample(np.random.default_rng(seed))) == repr(drawn)


@given(st.one_of(spaces, spaces_with_rules()), seeds)
def test_a_drawn_configuration_is_legal_and_survives_json_and_its_key(space, seed):
    config = space.sample(np.random.default_rng(seed))
    assert repr(space.validate(config)) == repr(config)
    assert repr(space.validate(through_json(config))) == repr(config)
    backwards = dict(reversed(config.items()))
    assert space.key(backwards) == space.key(config)
    assert repr(space.validate(json.loads(space.key(config)))) == repr(config)


@given(spaces_with_rules(), seeds)
def test_every_drawn_configuration_is_listed(space, seed):
    assert space.key(space.sample(np.random.default_rng(seed))) in space.all_keys()


@given(spaces, spaces)
def test_two_spaces_are_equal_if_and_only_if_nothing_differs(here, there):
    assert (here == there) == (here.describe(there) == []) == (there.describe(here) == [])
    assert (here == there) == (json.dumps(here.to_json()) == json.dumps(there.to_json()))


@pytest.mark.parametrize("make_space", SPACES)
def test_writing_gives_a_fresh_document(make_space):
    space = make_space()
    before = json.dumps(space.to_json())
    space.to_json()["parameters"].clear()
    assert json.dumps(space.to_json()) == before


def test_reading_leaves_the_document_as_it_is():
    document = conditional_space().to_json()
    before = json.dumps(document)
    Space.from_json(document)
    assert json.dumps(document) == before


NORMAL = {"type": "normal", "mu": 1.0, "sigma": 1.0}


def entry(**changes):
    """The document of a space with one choice, with changes in its only entry."""
    written = {"name": "x", "type": "choice", "options": [1, 2], "ordered": True} | changes
    written = {key: value for key, value in written.items() if value is not ...}
    return {"version": 1, "parameters": [written], "forbidden": []}


def forbidding(rule):
    return mixed_space().to_json() | {"forbidden": [rule]}


@pytest.mark.parametrize(
    ("document", "complaint"),
    [
        ([], "document is .* must be a JSON object"),
        ({}, "must have an entry 'version'"),
        ({"version": 2}, "version is 2, but this version of rungwise reads version 1"),
        ({"version": 1}, "must have an entry 'parameters'"),
        ({"version": 1, "parameters": {}}, "parameters is {}, but it must be a list"),
        ({"version": 1, "parameters": [3], "forbidden": []}, "document is 3"),
        ({"version": 1, "parameters": [], "forbidden": []}, "at least one parameter"),
        (entry(name=...), "must have an entry 'name'"),
        (entry(name=""), "name is ''"),
        (entry(name=[]), "name is \\[\\]"),
        (entry(type="real"), "type of x is 'real'"),
        (entry(options=...), "must have an entry 'options'"),
        (entry(options=[]), "options of x is \\[\\]"),
        (entry(type="float", low=1, high=0, log=False), "low of x is 1.0"),
        (entry(prior={"type": "gamma"}), "its type must be 'weights', 'normal' or 'beta'"),
        (entry(prior=NORMAL), "does not fit Choice"),
        (entry(prior=NORMAL | {"mu": "a"}), "mu is 'a'"),
        (entry(prior=NORMAL | {"sigma": 0.0}), "sigma is 0.0"),
        (
            entry(type="int", low=1, high=2, log=True, prior=NORMAL | {"mu": 0.0}),
            "does not fit Int",
        ),
        (entry(prior={"type": "beta", "alpha": 0.5, "beta": 1.0}), "alpha is 0.5"),
        (entry(prior={"type": "weights", "weights": [1.0]}), "does not fit Choice"),
        (entry(prior={"type": "weights", "weights": [0.0, 0.0]}), "nor all be zero"),
        (entry(prior={"type": "weights", "weights": [-1.0, 2.0]}), "no weight may be negative"),
        (entry(when={"name": "y", "op": "==", "value": 1}), "a rule may name only 'x'"),
        (forbidding({}), "must have an entry 'op'"),
        (forbidding({"all": []}), "'all' needs at least one rule"),
        (forbidding({"any": 3}), "any is 3, but it must be a list"),
        (forbidding({"name": "layers", "op": "~", "value": 1}), "op is '~'"),
        (forbidding({"name": "layers", "op": "==", "value": 9}), "layers is 9"),
        (forbidding({"name": "layers", "op": "in", "value": 3}), "'in' needs a list"),
        (forbidding({"name": "act", "op": "<", "value": "tanh"}), "ordered=True"),
        (forbidding({"left": "lr", "op": "<", "right": "act"}), "both must be numbers"),
        (forbidding({"left": "lr", "op": "in", "right": "layers"}), "op is 'in'"),
        (forbidding({"left": "lr", "op": "<", "right": "no"}), "a rule may name only"),
    ],
)
def test_a_broken_document_is_refused(document, complaint):
    with pytest.raises(SpaceError, match=complaint):
        Space.from_json(document)


def test_two_parameters_of_one_name_are_refused():
    document = entry()
    document["parameters"] *= 2
    with pytest.raises(SpaceError, match="two parameters have this name"):
        Space.from_json(document)
