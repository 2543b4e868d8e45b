from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter, OrderedDict
from itertools import product

import numpy as np
import pytest

from rungwise.errors import SpaceError
from rungwise.space import Choice, Float, Int, Space
from rungwise.space import space as space_module
from rungwise.testing.searchers import (
    FINITE_SPACES,
    SPACES,
    conditional_space,
    forbidden_space,
    mixed_space,
    tiny_space,
)

WRITTEN = {
    "lr": Float(1e-5, 10, log=True),
    "layers": Int(1, 5),
    "act": ["relu", "tanh"],
    "fixed": 3,
}


def choices(*names, forbidden=(), **rules):
    """A space of choices between 0 and 1, some of them conditional."""
    return Space.from_json(
        {
            "version": 1,
            "parameters": [
                {"name": name, "type": "choice", "options": [0, 1], "ordered": False}
                | ({"when": rules[name]} if name in rules else {})
                for name in names
            ],
            "forbidden": list(forbidden),
        }
    )


def equal(name, value):
    return {"name": name, "op": "==", "value": value}


class TestParse:
    def test_the_shorthand_means_what_it_says(self):
        space = Space.parse(WRITTEN)
        assert {parameter.name: parameter.domain for parameter in space.parameters} == {
            "lr": Float(1e-5, 10, log=True),
            "layers": Int(1, 5),
            "act": Choice(["relu", "tanh"]),
            "fixed": Choice([3]),
        }

    def test_a_space_does_not_depend_on_the_order_it_was_written_in(self):
        backwards = Space.parse(dict(reversed(WRITTEN.items())))
        assert backwards == Space.parse(WRITTEN)
        assert backwards.names == ("act", "fixed", "layers", "lr")
        assert backwards.sample(np.random.default_rng(0)) == Space.parse(WRITTEN).sample(
            np.random.default_rng(0)
        )

    def test_any_mapping_and_a_space_will_do(self):
        space = Space.parse(OrderedDict(WRITTEN))
        assert Space.parse(space) is space

    @pytest.mark.parametrize("constant", [3, 3.5, "relu", True, None, np.float64(2.5)])
    def test_a_scalar_is_a_constant(self, constant):
        space = Space.parse({"x": constant})
        assert space.size == 1
        assert space.configurations() == ({"x": constant},)

    @pytest.mark.parametrize(
        ("written", "argument"),
        [
            ({}, "space"),
            (None, "space"),
            ([Float(0, 1)], "space"),
            ("lr", "space"),
            ({"": 1}, "name"),
            ({3: 1}, "name"),
            ({"x": []}, "options of x"),
            ({"x": [1, 1]}, "options of x"),
            ({"x": [[1]]}, "options of x"),
            ({"x": object()}, "x"),
            ({"x": {1, 2}}, "x"),
            ({"x": float("nan")}, "x"),
            ({"x": {"low": 1}}, "x"),
            ({"x": Float}, "x"),
        ],
    )
    def test_what_is_no_space_is_refused(self, written, argument):
        with pytest.raises(SpaceError) as caught:
            Space.parse(written)
        assert caught.value.argument == argument

    def test_the_dict_given_may_change_later(self):
        written = {"x": [1, 2, 3]}
        space = Space.parse(written)
        written["x"].append(4)
        assert space.size == 3


class TestSample:
    @pytest.mark.parametrize("make_space", SPACES)
    def test_every_draw_is_legal_and_plain(self, make_space):
        space, rng = make_space(), np.random.default_rng(0)
        for _ in range(200):
            config = space.sample(rng)
            assert list(config) == [name for name in space.written if name in config]
            assert space.key(space.validate(config)) == space.key(config)
            assert {type(value) for value in config.values()} <= {str, int, float, bool, type(None)}

    def test_it_depends_on_the_generator_alone(self):
        space = mixed_space()
        first = space.sample(np.random.default_rng(5))
        for _ in range(3):
            space.sample(np.random.default_rng())
        assert space.sample(np.random.default_rng(5)) == first
        assert mixed_space().sample(np.random.default_rng(5)) == first
        assert space.sample(np.random.default_rng(6)) != first

    def test_the_generator_moves_on(self):
        rng = np.random.default_rng(0)
        assert mixed_space().sample(rng) != mixed_space().sample(rng)

    def test_draws_never_change_from_version_to_version(self):
        config = mixed_space().sample(np.random.default_rng(0))
        assert config == {
            "act": "tanh",
            "dropout": pytest.approx(0.2428080423874833),
            "fixed": 3,
            "flag": True,
            "layers": 5,
            "lr": pytest.approx(2.9959424297045674),
            "size": "medium",
            "width": 271,
        }

    @pytest.mark.parametrize("make_space", [forbidden_space, tiny_space])
    def test_legal_configurations_are_equally_likely(self, make_space):
        space, rng, draws = make_space(), np.random.default_rng(1), 6000
        counts = Counter(space.key(space.sample(rng)) for _ in range(draws))
        assert set(counts) == set(space.all_keys())
        expected = draws / len(counts)
        assert all(abs(count - expected) < 5 * expected**0.5 for count in counts.values())

    def test_parameters_are_drawn_independently(self):
        space, rng = (
            Space.parse({"a": Choice([0, 1]), "b": Choice([0, 1]), "c": Float(0, 1)}),
            np.random.default_rng(2),
        )
        drawn = np.array([list(space.sample(rng).values()) for _ in range(4000)])
        assert np.abs(np.corrcoef(drawn.T) - np.eye(3)).max() < 0.06

    def test_a_needle_in_a_haystack_is_found(self, monkeypatch):
        monkeypatch.setattr(space_module, "MAX_DRAWS", 3)
        names = [f"p{number:02}" for number in range(12)]
        space = choices(*names, forbidden=[equal(name, 0) for name in names])
        assert space.sample(np.random.default_rng(0)) == dict.fromkeys(names, 1)

    def test_rare_configurations_are_equally_likely_and_the_callers_own(self, monkeypatch):
        monkeypatch.setattr(space_module, "MAX_DRAWS", 1)
        names = [f"p{number:02}" for number in range(12)]
        space = choices(*names, forbidden=[equal(name, 0) for name in names[1:]])
        drawn = [space.sample(np.random.default_rng(seed)) for seed in range(100)]
        assert 30 < sum(config["p00"] for config in drawn) < 70
        drawn[0].clear()
        assert all(len(config) == 12 for config in space.configurations())

    def test_a_needle_in_an_infinite_haystack_is_an_error(self, monkeypatch):
        monkeypatch.setattr(space_module, "MAX_DRAWS", 3)
        below = {"name": "x", "op": "<", "value": 1.0}
        document = Space.parse({"x": Float(0, 1)}).to_json() | {"forbidden": [below]}
        with pytest.raises(SpaceError, match="its forbidden clauses refused 3 draws in a row"):
            Space.from_json(document).sample(np.random.default_rng(0))

    def test_a_space_without_legal_configurations_is_an_error(self, monkeypatch):
        monkeypatch.setattr(space_module, "MAX_DRAWS", 3)
        space = choices("x", forbidden=[equal("x", 0), equal("x", 1)])
        with pytest.raises(SpaceError, match="leave no configuration"):
            space.sample(np.random.default_rng(0))


class TestValidate:
    def test_it_gives_the_plain_form_in_the_order_written(self):
        given = {"lr": 1, "layers": 2.0, "fixed": np.int64(3), "act": np.str_("relu")}
        legal = Space.parse(WRITTEN).validate(given)
        assert repr(legal) == "{'lr': 1.0, 'layers': 2, 'act': 'relu', 'fixed': 3}"

    def test_what_was_given_stays_as_it_is(self):
        given = {"x": 1}
        Space.parse({"x": Float(0, 1)}).validate(given)
        assert repr(given) == "{'x': 1}"

    def test_a_bad_value_is_named_with_its_rule(self):
        with pytest.raises(SpaceError) as caught:
            tiny_space().validate({"act": "relu", "layers": 9})
        assert str(caught.value) == "layers is 9, but it must be a whole number from 1 to 3."

    def test_unknown_names_are_spelled_out(self):
        with pytest.raises(
            SpaceError, match=r"the space has no 'lairs', 3; it has 'act', 'layers'"
        ):
            tiny_space().validate({"act": "relu", "lairs": 1, 3: 4})

    def test_missing_names_are_spelled_out(self):
        with pytest.raises(SpaceError, match="it must also give 'act', 'layers'"):
            tiny_space().validate({})

    @pytest.mark.parametrize("config", [None, "act", ["act"], 3])
    def test_a_configuration_is_a_mapping(self, config):
        with pytest.raises(SpaceError, match="a configuration must be a dict"):
            tiny_space().validate(config)

    def test_an_inactive_parameter_must_be_absent(self):
        with pytest.raises(
            SpaceError, match=r"beta is 0\.9, but .* absent unless optimizer == 'adam'"
        ):
            conditional_space().validate({"optimizer": "sgd", "nesterov": False, "beta": 0.9})

    def test_an_active_parameter_must_be_given(self):
        with pytest.raises(SpaceError, match=r"'beta' is missing, .* when optimizer == 'adam'"):
            conditional_space().validate({"optimizer": "adam"})

    def test_a_child_of_an_inactive_parent_is_inactive(self):
        with pytest.raises(SpaceError, match=r"momentum is 0\.5, but it must be absent"):
            conditional_space().validate({"optimizer": "rmsprop", "momentum": 0.5})

    def test_a_forbidden_configuration_is_refused_with_the_rule(self):
        with pytest.raises(SpaceError, match="the space forbids left == right"):
            forbidden_space().validate({"left": 2, "right": 2})
        with pytest.raises(SpaceError, match=r"forbids \(left < 2 and right > 4\)"):
            forbidden_space().validate({"left": 1, "right": 5})


class TestKey:
    def test_it_does_not_depend_on_the_order(self):
        space = tiny_space()
        assert space.key({"act": "relu", "layers": 2}) == space.key({"layers": 2, "act": "relu"})

    def test_it_tells_equal_numbers_of_other_types_apart(self):
        space = Space.parse({"x": [1, 1.0, True, "1"]})
        keys = [space.key({"x": value}) for value in (1, 1.0, True, "1")]
        assert keys == ['{"x":1}', '{"x":1.0}', '{"x":true}', '{"x":"1"}']
        assert space.all_keys() == tuple(keys)

    def test_numpy_makes_no_difference(self):
        space = tiny_space()
        assert space.key({"layers": np.int64(2)}) == space.key({"layers": 2})

    @pytest.mark.parametrize("value", [float("nan"), float("inf"), [1], object()])
    def test_what_is_no_scalar_has_no_key(self, value):
        with pytest.raises(SpaceError, match="a value must be a str, bool, None or finite number"):
            tiny_space().key({"layers": value})


class TestConfigurations:
    def test_without_rules_it_is_the_product(self):
        expected = [{"act": act, "layers": n} for act, n in product(["relu", "tanh"], [1, 2, 3])]
        assert list(tiny_space().configurations()) == expected
        assert tiny_space().size == len(expected)

    @pytest.mark.parametrize(("make_space", "count"), FINITE_SPACES.items())
    def test_with_rules_each_legal_one_comes_once(self, make_space, count):
        space = make_space()
        assert len(space.configurations()) == len(set(space.all_keys())) == count <= space.size
        assert [space.key(config) for config in space.configurations()] == list(space.all_keys())
        for config in space.configurations():
            assert space.validate(config) == config

    @pytest.mark.parametrize("make_space", FINITE_SPACES)
    def test_it_agrees_with_trying_everything(self, make_space):
        space, found = make_space(), set()
        absent = object()
        values = [[*parameter.domain.values(), absent] for parameter in space.parameters]
        for combination in product(*values):
            config = {
                name: value
                for name, value in zip(space.names, combination, strict=True)
                if value is not absent
            }
            try:
                found.add(space.key(space.validate(config)))
            except SpaceError:
                continue
        assert found == set(space.all_keys())

    def test_changing_the_list_changes_nothing(self):
        space = tiny_space()
        space.configurations()[0].clear()
        assert space.configurations()[0] == {"act": "relu", "layers": 1}

    def test_an_infinite_space_has_no_size_and_no_list(self):
        assert mixed_space().size is None
        with pytest.raises(SpaceError, match="only a finite space can be listed"):
            mixed_space().configurations()

    def test_a_huge_space_has_a_size_but_no_list(self):
        space = Space.parse({"a": Int(1, 1000), "b": Int(1, 1001)})
        assert space.size == 1_001_000
        with pytest.raises(SpaceError, match="it has 1001000 configurations, and at most 1000000"):
            space.configurations()


class TestEncode:
    def test_each_parameter_has_its_place(self):
        vector = Space.parse(WRITTEN).encode({"lr": 1e-2, "layers": 4, "act": "tanh", "fixed": 3})
        assert vector.dtype == np.float64
        assert vector == pytest.approx([1.0, 0.0, 0.75, 0.5])

    def test_inactive_parameters_are_nan(self):
        vector = conditional_space().encode({"optimizer": "sgd", "nesterov": True, "momentum": 0.9})
        assert conditional_space().names == ("optimizer", "beta", "nesterov", "momentum")
        np.testing.assert_array_equal(vector, [0.5, np.nan, 1.0, 0.5])

    def test_an_illegal_configuration_has_no_vector(self):
        with pytest.raises(SpaceError):
            tiny_space().encode({"act": "relu", "layers": 4})

    @pytest.mark.parametrize("make_space", SPACES)
    def test_it_lies_in_the_unit_cube(self, make_space):
        space, rng = make_space(), np.random.default_rng(3)
        vectors = np.array([space.encode(space.sample(rng)) for _ in range(100)])
        assert vectors.shape == (100, len(space.names))
        assert np.nanmin(vectors) >= 0.0
        assert np.nanmax(vectors) <= 1.0


class TestCompare:
    def test_equal_spaces_have_no_differences(self):
        for make_space in SPACES:
            assert make_space() == make_space()
            assert hash(make_space()) == hash(make_space())
            assert make_space().describe(make_space()) == []

    @pytest.mark.parametrize("pair", [(1, True), (1, 1.0), (1, "1"), (0, False)])
    def test_equal_numbers_of_other_types_make_other_spaces(self, pair):
        here, there = (Space.parse({"x": value}) for value in pair)
        assert here != there
        assert here.describe(there) == [
            f"x is Choice([{pair[0]!r}]) here, and Choice([{pair[1]!r}]) there"
        ]

    def test_differences_are_spelled_out(self):
        here = choices("a", "b", "c", c=equal("a", 1), forbidden=[equal("b", 1)])
        there = choices("a", "c", "d", c=equal("a", 0), forbidden=[equal("d", 1)])
        assert here.describe(there) == [
            "b is Choice([0, 1]) here, and is missing there",
            "c is Choice([0, 1]) when a == 1 here, and Choice([0, 1]) when a == 0 there",
            "d is Choice([0, 1]) there, and is missing here",
            "b == 1 is forbidden here only",
            "d == 1 is forbidden there only",
        ]

    def test_forbidden_rules_count_once_and_in_any_order(self):
        rules = [equal("a", 1), equal("b", 1)]
        assert choices("a", "b", forbidden=rules * 2) == choices("a", "b", forbidden=rules)
        assert choices("a", "b", forbidden=rules) == choices("a", "b", forbidden=rules[::-1])
        assert choices("a", "b", forbidden=rules) != choices("a", "b", forbidden=rules[:1])

    def test_the_order_of_options_counts(self):
        plain, other = Space.parse({"x": [1, 2, 3]}), Space.parse({"x": [2, 1, 3]})
        ordered = Space.parse({"x": Choice([1, 2], ordered=True)})
        assert len({plain, other, ordered}) == 3
        assert plain.describe(ordered)

    def test_a_space_equals_no_other_kind_of_thing(self):
        assert tiny_space() != tiny_space().to_json()


def test_repr_is_short_and_readable():
    assert repr(tiny_space()) == "Space({'act': Choice(['relu', 'tanh']), 'layers': Int(1, 3)})"
    assert repr(forbidden_space()).endswith("'right': Int(1, 5)}, 2 forbidden)")
    many = Space.parse({f"p{number:02}": Float(0, 1) for number in range(50)})
    assert repr(many).endswith("'p05': Float(0.0, 1.0), … 44 more})")


def test_conditions_must_not_go_round_in_a_circle():
    with pytest.raises(SpaceError, match=r"condition is '. → . → .', but conditions must not"):
        choices("a", "b", a=equal("b", 1), b=equal("a", 1))
    with pytest.raises(SpaceError, match="condition is 'a → a'"):
        choices("a", a=equal("a", 1))


def test_parents_stand_before_children_however_deep():
    space = choices("a", "b", "z", a=equal("b", 1), b=equal("z", 1))
    assert space.names == ("z", "b", "a")
    assert [json.loads(key) for key in space.all_keys()] == [
        {"z": 0},
        {"z": 1, "b": 0},
        {"z": 1, "b": 1, "a": 0},
        {"z": 1, "b": 1, "a": 1},
    ]


def test_a_relation_between_two_parents_can_be_a_condition():
    space = choices("a", "b", "x", x={"left": "b", "op": ">", "right": "a"})
    assert space.names == ("a", "b", "x")
    assert [config for config in space.configurations() if "x" in config] == [
        {"a": 0, "b": 1, "x": 0},
        {"a": 0, "b": 1, "x": 1},
    ]


def test_dict_spaces_do_not_wait_for_configspace():
    script = """
import sys, numpy
from rungwise.space import Float, Space
space = Space.parse({"x": Float(0, 1), "y": [1, 2, 3]})
config = space.validate(space.sample(numpy.random.default_rng(0)))
space.encode(config), space.key(config), Space.from_json(space.to_json())
sys.exit("ConfigSpace" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
