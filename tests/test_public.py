"""The public names are pinned: changing them is a decision, not an accident."""

import rungwise
from rungwise import errors, rankings, searchers, space, testing

PUBLIC = [
    "ASHA",
    "PASHA",
    "AsyncHyperband",
    "Best",
    "Choice",
    "CorruptLogError",
    "FixedResource",
    "Float",
    "Hyperband",
    "IllegalEventError",
    "Int",
    "InvalidArgumentError",
    "LogInUseError",
    "LogUnavailableError",
    "MemoryLog",
    "MissingExtraError",
    "RandomSearch",
    "ReplayMismatchError",
    "RungwiseError",
    "SchemaError",
    "SimulationResult",
    "Space",
    "SpaceError",
    "SqliteLog",
    "SuccessiveHalving",
    "Table",
    "TableError",
    "__version__",
    "power_laws",
    "random_configuration",
    "rankings",
    "replay",
    "searchers",
    "simulate",
]


def test_public_names_are_pinned():
    assert rungwise.__all__ == PUBLIC
    assert all(hasattr(rungwise, name) for name in PUBLIC)


def test_parts_list_their_names_in_order():
    for part in (rankings, searchers, space, testing):
        assert part.__all__ == sorted(part.__all__, key=lambda name: (not name.isupper(), name))
        assert all(hasattr(part, name) for name in part.__all__)


def test_every_error_is_public_and_of_one_family():
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    mine = {kind for kind in kinds if issubclass(kind, errors.RungwiseError)}
    assert {kind.__name__ for kind in mine} <= set(rungwise.__all__)


def test_every_public_thing_is_documented():
    for name in set(PUBLIC) - {"__version__"}:
        assert getattr(rungwise, name).__doc__, f"{name} has no docstring"
