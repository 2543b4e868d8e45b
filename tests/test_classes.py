"""No class has too many attributes: what belongs together is an object of its own."""

import ast
from pathlib import Path

import pytest

import rungwise

ROOT = Path(rungwise.__file__).parent

MOST = 15
"""As many attributes a class may have: those it assigns to, and the fields that it declares."""

EXCEPTIONS = {
    "benchmarks/card.py Card": "a record: the card of a benchmark, one field per line of it",
    "integrations/sklearn_rung_search.py RungSearchCV": "scikit-learn wants every argument as one",
    "views/ended.py EndedStudy": "a record: what a summary keeps of a study, under its own names",
}
"""Classes that have more, each with its reason."""


def list_attributes(node):
    """The attributes of a class: fields that are declared, and what its methods assign to."""
    for statement in node.body:
        if (
            isinstance(statement, ast.AnnAssign)
            and isinstance(statement.target, ast.Name)
            and "ClassVar" not in ast.unparse(statement.annotation)
        ):
            yield statement.target.id
    for each in ast.walk(node):
        if (
            isinstance(each, ast.Attribute)
            and isinstance(each.ctx, ast.Store)
            and isinstance(each.value, ast.Name)
            and each.value.id == "self"
        ):
            yield each.attr


def count_attributes():
    """Class → how many attributes it has, of every class of the package."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                name = f"{path.relative_to(ROOT)} {node.name}"
                found[name] = len(set(list_attributes(node)))
    return found


@pytest.fixture(scope="module")
def counted():
    return count_attributes()


def test_no_class_has_too_many_attributes(counted):
    assert len(counted) > 500
    large = {name: count for name, count in counted.items() if count > MOST}
    assert {name: large[name] for name in large if name not in EXCEPTIONS} == {}


def test_every_exception_is_needed(counted):
    assert [name for name in EXCEPTIONS if counted.get(name, 0) <= MOST] == []
