"""Parameters as W&B writes them are answered with how they are written here."""

import math

import pytest

from rungwise.errors import SpaceError
from rungwise.space import Choice, Float, Int, Space
from rungwise.space.foreign import translate
from rungwise.specification import read_space

KNOWN = {
    "uniform": ({"distribution": "uniform", "min": 0, "max": 1}, Float(0, 1)),
    "no distribution": ({"min": 0.1, "max": 1}, Float(0.1, 1)),
    "whole numbers": ({"min": 1, "max": 9}, Int(1, 9)),
    "int_uniform": ({"distribution": "int_uniform", "min": 1, "max": 9}, Int(1, 9)),
    "log values": (
        {"distribution": "log_uniform_values", "min": 1e-4, "max": 0.1},
        Float(1e-4, 0.1, log=True),
    ),
    "exponents": (
        {"distribution": "log_uniform", "min": -2, "max": 0},
        Float(math.exp(-2), 1, log=True),
    ),
    "steps": (
        {"distribution": "q_uniform", "min": 0, "max": 8, "q": 2},
        Float(0, 8, step=2),
    ),
    "values": ({"values": ["adam", "sgd"]}, Choice(["adam", "sgd"])),
    "value": ({"value": 32}, Choice([32])),
}


@pytest.mark.parametrize(("written", "meant"), KNOWN.values(), ids=KNOWN)
def test_what_is_meant_is_said_in_python_and_in_files(written, meant):
    assert translate(written) == meant
    with pytest.raises(SpaceError) as wrong:
        Space.parse({"lr": written})
    assert f"what W&B writes so is rungwise.{meant!r} here" in str(wrong.value)
    with pytest.raises(SpaceError, match="what W&B writes so is") as wrong:
        read_space({"lr": written})
    spelled = str(wrong.value).partition("writes so is ")[2].removesuffix(" here.")
    assert Space.parse({"lr": meant}) == read_space({"lr": _parse(spelled)})


def _parse(text):
    import yaml  # noqa: PLC0415

    return yaml.safe_load(text)


@pytest.mark.parametrize(
    "written",
    [
        {"distribution": "normal", "mu": 0, "sigma": 1},
        {"min": 2, "max": 1},
        {"min": "a", "max": 1},
        {"values": []},
        {"low": 0, "high": 1},
        {},
        5,
    ],
)
def test_anything_else_is_refused_as_before(written):
    assert translate(written) is None
    if written != 5:
        with pytest.raises(SpaceError):
            Space.parse({"lr": written})
