"""Two numbers as options may be meant as a range: they are refused, with both spellings."""

import pytest

from rungwise.errors import SpaceError
from rungwise.space import Choice, Float, Int, Space
from rungwise.specification import read_space

PAIRS = {
    "the range of ConfigSpace": ((1e-3, 1), "Float(0.001, 1, log=True)", Float(1e-3, 1, log=True)),
    "floats": ([0.1, 0.9], "Float(0.1, 0.9)", Float(0.1, 0.9)),
    "downwards": ([0.9, 0.1], "Float(0.1, 0.9)", Float(0.1, 0.9)),
    "whole numbers": ([16, 32], "Int(16, 32)", Int(16, 32)),
    "whole numbers far apart": ([1, 1024], "Int(1, 1024, log=True)", Int(1, 1024, log=True)),
    "around 0": ([-1, 1], "Int(-1, 1)", Int(-1, 1)),
}


@pytest.mark.parametrize(("written", "spelled", "meant"), PAIRS.values(), ids=PAIRS)
def test_both_spellings_are_given_and_both_are_right(written, spelled, meant, tmp_path):
    with pytest.raises(SpaceError) as refused:
        Space.parse({"lr": written})
    text = str(refused.value)
    assert text.startswith(f"lr is {written!r}, but two numbers may mean a range or two options: ")
    assert f"write rungwise.{spelled} for all values between them" in text
    assert f"or rungwise.Choice({list(written)!r}) for these two" in text
    assert Space.parse({"lr": meant}).size != 2
    assert Space.parse({"lr": Choice(written)}).size == 2


def test_files_have_the_same_trap_and_the_same_answer(tmp_path):
    file = tmp_path / "space.yaml"
    file.write_text("act: [relu, tanh]\nlr: [0.1, 1]\n")
    with pytest.raises(SpaceError) as refused:
        read_space(file)
    text = str(refused.value)
    assert "line 2" in text
    ranged, listed = "{type: float, low: 0.1, high: 1}", "{type: choice, options: [0.1, 1]}"
    assert ranged in text
    assert listed in text
    file.write_text(f"lr: {ranged}\nwd: {listed}\n")
    assert read_space(file) == Space.parse({"lr": Float(0.1, 1), "wd": Choice([0.1, 1])})


@pytest.mark.parametrize(
    "options", [["a", "b"], [True, False], [1, "1"], [1, 2, 3], [5], [None, 1]]
)
def test_what_cannot_be_a_range_is_a_list_of_options(options):
    assert Space.parse({"x": options}) == Space.parse({"x": Choice(options)})
    assert read_space({"x": options}) == Space.parse({"x": Choice(options)})


def test_a_study_of_an_earlier_version_with_two_numbers_is_still_read():
    held = Space.parse({"x": Choice([1, 2])}).to_json()
    assert Space.from_json(held) == Space.parse({"x": Choice([1, 2])})
