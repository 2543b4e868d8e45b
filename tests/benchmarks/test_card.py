"""Data cards: what they hold, and what they refuse."""

import json
from dataclasses import FrozenInstanceError, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rungwise as rw
from rungwise.benchmarks import Card
from rungwise.errors import InvalidArgumentError, TableError
from rungwise.space import Space

SPACE = Space.parse({"lr": rw.Float(1e-5, 10, log=True), "act": ["relu", "tanh"]})


def full_card():
    return Card(
        name="fashion-nas",
        title="Cells on Fashion-MNIST",
        description="Trained with care.",
        metric="validation accuracy",
        goal="max",
        resource="epoch",
        final_metric="test accuracy after 200 epochs",
        unit_seconds="on one card",
        rows=3,
        resources=4,
        seeds=[777, 888],
        licence="CC-BY-4.0",
        source="recorded",
        citation="nobody",
        created="2024-02-29",
        details={"commit": "abc", "split": [1, 2.5, None, True]},
        checks={"diverged": 0.25},
        space=SPACE.to_json(),
        encoding={"values": {"dtype": "float32"}},
        sha256="00",
    )


def test_a_card_survives_its_text():
    card = full_card()
    again = Card.from_json(json.loads(card.to_bytes()))
    assert again == card
    assert again.to_bytes() == card.to_bytes()
    assert again.seeds == (777, 888)
    assert again.search_space() == SPACE
    assert again.format == 2


def test_the_text_is_for_people_too():
    text = replace(full_card(), title="η × ε").to_bytes().decode()
    assert "η × ε" in text
    assert text.endswith("}\n")
    assert text.splitlines()[1] == '  "name": "fashion-nas",'


def test_a_name_is_enough():
    card = Card(name="tiny")
    assert (card.goal, card.rows, card.resources, card.seeds) == ("min", 0, 0, (0,))
    assert card.search_space() is None


def test_a_space_may_be_given_as_it_is():
    assert Card(name="a", space=SPACE) == Card(name="a", space=SPACE.to_json())


def test_nobody_else_can_change_a_card():
    details = {"inner": {"epochs": 1}}
    card = Card(name="a", details=details)
    details["inner"]["epochs"] = 2
    assert card.details == {"inner": {"epochs": 1}}
    with pytest.raises(FrozenInstanceError):
        card.name = "b"


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "../up", "a/b", "a\\b", ".hidden", "a b", "a\n", "é", "x" * 101, 3, None],
)
def test_a_name_is_never_a_path(name):
    with pytest.raises(TableError, match="name of the benchmark"):
        Card(name=name)


def test_longest_names():
    assert Card(name="Az09._-" + "x" * 93).name.startswith("Az09._-")


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("title", 3, "title of the card is 3"),
        ("licence", None, "licence of the card is None"),
        ("sha256", b"00", "sha256 of the card"),
        ("goal", "up", "goal is 'up'"),
        ("rows", -1, "rows of the card is -1"),
        ("resources", 2.5, "resources of the card is 2.5"),
        ("seeds", [], "seeds of the card"),
        ("seeds", "12", "seeds of the card"),
        ("seeds", 3, "seeds of the card"),
        ("seeds", [0, "1"], "seeds of the card"),
        ("created", "29.2.2024", "YYYY-MM-DD"),
        ("created", "2023-02-29", "YYYY-MM-DD"),
        ("created", "20230228", "YYYY-MM-DD"),
        ("details", [1], "details of the card"),
        ("checks", {"x": float("nan")}, "without NaN"),
        ("checks", {"x": {1, 2}}, "checks of the card"),
        ("encoding", None, "encoding of the card"),
        ("space", {"version": 1}, "parameters"),
        ("space", 5, "JSON object"),
    ],
)
def test_wrong_fields_are_named(field, value, told):
    with pytest.raises(InvalidArgumentError, match=told):
        Card(**{"name": "a", field: value})


def test_newer_formats_are_refused():
    document = {**full_card().to_json(), "format": 3, "new field": 1}
    with pytest.raises(TableError, match=r"format of the card is 3.*reads format 2: update it"):
        Card.from_json(document)


@pytest.mark.parametrize("version", [None, 0, "1", True, 1.0])
def test_formats_are_numbers(version):
    with pytest.raises(TableError, match="format of the card"):
        Card.from_json({**full_card().to_json(), "format": version})


def test_missing_and_unknown_fields_are_named():
    document = full_card().to_json()
    del document["goal"], document["licence"]
    with pytest.raises(TableError, match="must also have goal, licence"):
        Card.from_json(document)
    with pytest.raises(TableError, match=r"must have no colour, size: .* details"):
        Card.from_json({**full_card().to_json(), "size": 1, "colour": 2})
    with pytest.raises(TableError, match="JSON object"):
        Card.from_json([1])


SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
)
VALUES = st.recursive(
    SCALARS | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), VALUES), st.text(), st.lists(st.integers(0), min_size=1))
def test_anything_json_survives(details, title, seeds):
    card = Card(name="a", details=details, title=title, seeds=seeds)
    assert Card.from_json(json.loads(card.to_bytes())) == card


def test_half_a_character_cannot_be_written():
    for facts in ({"title": "\ud800"}, {"details": {"notes": ["\ud800"]}}, {"metric": "a \udfff"}):
        with pytest.raises(TableError, match=f"{next(iter(facts))} of the card.*UTF-8"):
            Card(name="a", **facts)
