"""The public names are pinned: changing them is a decision, not an accident."""

import ast
import inspect
import pickle
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import rungwise
from rungwise import callbacks, errors, rankings, searchers, space, testing

PUBLIC = [
    "ASHA",
    "PASHA",
    "AdaptiveHalving",
    "AskTellStudy",
    "AsyncHyperband",
    "Best",
    "BestTrial",
    "Choice",
    "CorruptLogError",
    "Done",
    "FixedResource",
    "Float",
    "FunctionChangedWarning",
    "Hyperband",
    "IllegalEventError",
    "Int",
    "InvalidArgumentError",
    "Job",
    "Local",
    "LogInUseError",
    "LogUnavailableError",
    "MemoryLog",
    "MissingExtraError",
    "ModelWarning",
    "NotFiniteError",
    "NothingFoundError",
    "OutageError",
    "RandomSearch",
    "Ray",
    "ReplayMismatchError",
    "ReportEvent",
    "Retrained",
    "RetrainingError",
    "RoundingWarning",
    "Run",
    "RungwiseError",
    "Rush",
    "SafetyNetWarning",
    "SchemaError",
    "Script",
    "ScriptError",
    "ShareError",
    "SharedRun",
    "SharpHalving",
    "SilentTrialError",
    "SimulationResult",
    "Space",
    "SpaceError",
    "SqliteLog",
    "StoreUnavailableError",
    "StudyClosedError",
    "StudyDiffersError",
    "StudyInterrupted",
    "StudyResult",
    "StudyView",
    "SuccessiveHalving",
    "Table",
    "TableError",
    "Threads",
    "TuningResult",
    "UnknownArgumentError",
    "UsageWarning",
    "Wait",
    "WorkerStartError",
    "__version__",
    "add",
    "benchmarks",
    "callbacks",
    "default_scheduler",
    "default_searcher",
    "leaders",
    "load",
    "open_study",
    "plots",
    "power_laws",
    "random_configuration",
    "rankings",
    "replay",
    "resume",
    "searchers",
    "simulate",
    "tune",
]


def test_public_names_are_pinned():
    assert rungwise.__all__ == PUBLIC
    assert all(hasattr(rungwise, name) for name in PUBLIC)


def test_no_other_name_is_exposed():
    """Neither what ``__init__`` imports for itself, nor what its imports leave behind."""
    code = (
        "import rungwise as rw\nfor name in rw.__all__: getattr(rw, name)\n"
        "rw.tune\nprint(*vars(rw), *dir(rw))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    public = {name for name in out.stdout.split() if not name.startswith("_")}
    parts = {module.name for module in pkgutil.iter_modules(rungwise.__path__)}
    assert {"tuning", "errors"} < parts & public
    assert public <= {*PUBLIC, *parts}


def test_dir_lists_public_names_and_submodules_only():
    code = "import rungwise as rw\nprint(*dir(rw))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.split() == sorted(PUBLIC)


@pytest.mark.parametrize("part", ["rankings", "searchers", "callbacks", "benchmarks", "plots"])
def test_no_other_name_is_exposed_by_the_parts_either(part):
    code = (
        f"import rungwise as rw\npart = rw.{part}\nfor name in part.__all__: getattr(part, name)\n"
        "print(*vars(part), *dir(part))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found = {name for name in out.stdout.split() if not name.startswith("_")}
    package = getattr(rungwise, part)
    modules = {module.name for module in pkgutil.iter_modules(package.__path__)}
    future = {"annotations"}  # of ``from __future__ import annotations``
    assert set(package.__all__) <= found <= {*package.__all__, *modules, *future}


def test_parts_that_load_their_names_late_have_them_where_type_checkers_look():
    for part in (callbacks, searchers):
        tree = ast.parse(Path(part.__file__).read_text(encoding="utf-8"))
        (typed,) = [node for node in tree.body if isinstance(node, ast.If)]
        places = {name.name: one.module for one in typed.body for name in one.names}
        assert places == part._PLACES
        assert sorted(places) == sorted(part.__all__)


def test_parts_list_their_names_in_order():
    for part in (rankings, searchers, space, testing):
        assert part.__all__ == sorted(part.__all__, key=lambda name: (not name.isupper(), name))
        assert all(hasattr(part, name) for name in part.__all__)


def test_every_error_is_public_and_of_one_family():
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    mine = {kind for kind in kinds if issubclass(kind, BaseException)}
    assert {kind.__name__ for kind in mine} <= set(rungwise.__all__)
    others = mine - {kind for kind in mine if issubclass(kind, errors.RungwiseError)}
    assert others == {
        errors.FunctionChangedWarning,
        errors.ModelWarning,
        errors.RoundingWarning,
        errors.SafetyNetWarning,
        errors.StudyInterrupted,
        errors.UsageWarning,
    }


def test_errors_come_back_from_another_process():
    error = errors.TableError("values", [1, None], "it must hold numbers")
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
    assert type(again) is errors.TableError
    assert str(again) == str(error)
    assert (again.argument, again.value, again.rule) == (error.argument, error.value, error.rule)
    missing = errors.MissingExtraError("the demo", "demo")
    assert str(pickle.loads(pickle.dumps(missing))) == str(missing)  # noqa: S301 - our own


def test_the_tree_of_errors_is_drawn_as_it_is():
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    for kind in kinds:
        if issubclass(kind, BaseException):
            assert f" {kind.__name__}" in f" {errors.__doc__}".replace("\n    ", "\n "), kind


def test_every_public_thing_is_documented():
    for name in set(PUBLIC) - {"__version__"}:
        text = getattr(rungwise, name).__doc__
        assert text, f"{name} has no docstring"
        # Dataclasses get one of their own accord, which says nothing.
        assert not text.startswith(f"{name}("), f"{name} has no docstring of its own"


def test_every_argument_of_the_front_door_is_documented():
    for function in (
        rungwise.tune,
        rungwise.open_study,
        rungwise.resume,
        rungwise.load,
        rungwise.simulate,
    ):
        for name in inspect.signature(function).parameters:
            assert f"        {name}: " in function.__doc__, f"{function.__name__}({name})"


def test_every_public_method_is_documented():
    for kind in (
        rungwise.Run,
        rungwise.AskTellStudy,
        rungwise.TuningResult,
        rungwise.Table,
        rungwise.Space,
    ):
        for name, member in vars(kind).items():
            if not name.startswith("_") and (callable(member) or isinstance(member, property)):
                assert inspect.getdoc(member), f"{kind.__name__}.{name}"
