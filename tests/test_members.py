"""Members of our own objects are declared: nothing asks for one by its name in quotes.

``getattr(x, "name", default)`` hides what a protocol has from its readers and from mypy: declare
the member, with its default, in the class that others inherit from.
"""

import ast
from pathlib import Path

import pytest

import rungwise
import rungwise as rw
from rungwise.callbacks.base import Callback
from rungwise.core.decisions import CONTINUE, PAUSE
from rungwise.core.engine import Engine
from rungwise.core.limits import Limits
from rungwise.core.scheduler import Draw, Scheduler
from rungwise.core.study import Study
from rungwise.display import Display, choose
from rungwise.validation import adopt

ROOT = Path(rungwise.__file__).parent

FOREIGN = {
    "backends/processes.py waitid": "os: not on every Unix",
    "backends/ray_check.py cause": "an error of Ray",
    "backends/ray_launcher.py cause": "an error of Ray",
    "backends/ray_launcher.py preempted": "an error of Ray",
    "backends/ray_slot.py waitid": "os: not on every Unix",
    "backends/shipping.py __file__": "a module",
    "backends/shipping.py __module__": "a function or a class",
    "backends/shipping.py find_spec": "a finder of modules",
    "backends/unwinding.py SIGUSR2": "signal: not on every system",
    "backends/worker.py __globals__": "a training function",
    "backends/worker.py __module__": "a training function",
    "backends/worker.py func": "functools.partial, or a training function",
    "cli/commands.py commands": "a command of click",
    "cli/commands.py display_type": "a parameter of click, by its version",
    "cli/commands.py is_flag": "a parameter of click",
    "dashboard/handler.py command": "http.server sets it when a request was read",
    "integrations/lightning.py _SubprocessScriptLauncher": "a module of Lightning",
    "integrations/lightning.py callbacks": "a trainer of Lightning",
    "integrations/ray_space.py q": "a sampler of Ray",
    "integrations/ray_tune.py cause": "an error of Ray",
    "integrations/ray_tune.py total_samples": "a search algorithm of Ray",
    "integrations/reporting.py item": "a value of NumPy, PyTorch, …",
    "integrations/sklearn_continuing.py _rungwise_kind": "an estimator of scikit-learn, maybe ours",
    "integrations/sklearn_rung_search.py best_estimator_": "scikit-learn's sign of being fitted",
    "integrations/sklearn_rung_search.py get_params": "an estimator of scikit-learn",
    "integrations/sklearn_rung_search.py partial_fit": "an estimator of scikit-learn",
    "integrations/sklearn_subsampling.py random_state": "a splitter of scikit-learn",
    "integrations/sklearn_subsampling.py shuffle": "a splitter of scikit-learn",
    "integrations/torch.py load_state_dict": "an object of PyTorch",
    "integrations/torch.py state_dict": "an object of PyTorch",
    "integrations/transformers.py value": "an enumeration of transformers, or its text",
    "lab/sources/download.py reason": "an error of urllib",
    "locking.py O_NOFOLLOW": "os: not on every system",
    "locking.py O_NONBLOCK": "os: not on every system",
    "options/checks.py __dataclass_fields__": "the mark of a dataclass",
    "options/registry.py _is_protocol": "typing's mark of a protocol",
    "plots/curves.py card": "a benchmark, or whatever a user gave",
    "plots/curves.py table": "a benchmark, or whatever a user gave",
    "process_pools.py pthread_sigmask": "signal: not on every system",
    "validation.py item": "a value of NumPy, PyTorch, …",
    "searchers/samplers.py __module__": "a sampler of Optuna",
    "searchers/samplers.py __name__": "a sampler of Optuna",
    "searchers/samplers.py __qualname__": "a sampler of Optuna",
    "sharing.py AF_UNIX": "socket: not on every system",
    "space/space.py tolist": "a value of NumPy",
    "storage/engine_state.py __file__": "a module",
    "storage/object_graphs.py __dict__": "any object, with slots or without",
    "tuning/function_reference.py __file__": "a module",
    "tuning/function_reference.py __qualname__": "a training function",
    "tuning/function_reference.py __spec__": "a module",
    "session/interrupts.py ps1": "sys, where Python is interactive",
    "views/study_view.py view": "a result, or whatever a user gave",
}
"""File and name → whose member it is, if it is none of ours."""


def list_questions(tree):
    """The names that are asked for with ``getattr`` or ``hasattr``, written out."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("getattr", "hasattr"):
            name = node.args[1]
            if isinstance(name, ast.Constant):
                yield name.value


def test_members_of_our_own_objects_are_declared():
    found = {
        f"{path.relative_to(ROOT).as_posix()} {name}"
        for path in ROOT.rglob("*.py")
        for name in list_questions(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert found == set(FOREIGN)


def test_questions_are_found():
    code = "getattr(a, 'slow', False) or hasattr(b, name) or hasattr(c.d, 'ladder')"
    assert list(list_questions(ast.parse(code))) == ["slow", "ladder"]


# -- parts of a user's own -----------------------------------------------------------------------


class Equal(Scheduler):
    """Trains all to 3: the least that a scheduler must have."""

    ceilings = ((0, 3),)
    levels = (3,)

    def next_move(self, *, may_draw):
        return Draw(3) if may_draw else None

    def reported(self, trial, resource, loss):
        return CONTINUE if resource < 3 else PAUSE

    def released(self, trial): ...

    def dropped(self, trial): ...

    def explain(self):
        return "all are trained to 3"


class Loose:
    """Another one that inherits nothing, and so lacks what has a default."""

    ceilings, levels = Equal.ceilings, Equal.levels
    next_move, reported, started = Equal.next_move, Equal.reported, Equal.released
    released, dropped, explain = Equal.released, Equal.dropped, Equal.explain


class OwnRecipe(rw.RandomSearch):
    kind = Equal

    def build(self, *, trials):
        return self.kind()


class LooseRecipe(OwnRecipe):
    kind = Loose


def test_a_scheduler_has_defaults():
    table = rw.power_laws(rows=8, resources=9, seed=1)
    found = rw.simulate(table, OwnRecipe(9), trials=8)
    assert (found.trials, found.max_resource) == (8, 3)
    assert "all are trained to 3" in found.rule


def test_a_scheduler_that_lacks_defaults_is_told_where_they_are():
    study = Study(LooseRecipe(9), Limits(trials=1), initial=[{"x": 1}])
    said = (
        "the class Loose has no brackets, checks, epsilons, extend, ladder, pauses, raisable, "
        "version: let it inherit from rungwise.core.scheduler.Scheduler, which has defaults"
    )
    with pytest.raises(rw.InvalidArgumentError, match=said):
        Engine(study)


def test_a_recipe_and_a_searcher_that_lack_defaults_are_told_where_they_are():
    class Bare:
        max_resource = 9

        def build(self, *, trials): ...

        def limited_to(self, max_resource): ...

        def propose(self, space, history, rng): ...

    said = (
        "Bare has no eta, min_resource, noise_percentile, winner: let it inherit from rungwise.co"
    )
    with pytest.raises(rw.InvalidArgumentError, match=said):
        Study(Bare(), Limits(trials=1), initial=[{"x": 1}])
    space = rw.Space.parse({"x": rw.Float(0, 1)})
    said = (
        "Bare has no check, needs, repeatable, slow: let it inherit from rungwise.core.searcher.Se"
    )
    with pytest.raises(rw.InvalidArgumentError, match=said):
        Study(rw.ASHA(max_resource=9), Limits(trials=1), space=space, searcher=Bare())
    with pytest.raises(rw.InvalidArgumentError, match=r"a recipe such as rungwise\.PASHA\(…\)\.$"):
        Study(object(), Limits(trials=1), initial=[{"x": 1}])


def test_what_others_call_may_inherit_nothing():
    class Said:
        shows_notices = False

        def __init__(self):
            self.texts = []

        def notice(self, text):
            self.texts.append(text)

        @staticmethod
        def reported(report):
            return report

    own = Said()
    display, callback = choose(own), adopt(own, Callback)
    display.notice("here")
    display.begin(None)
    assert own.texts == ["here"]
    assert not display.shows_notices
    assert not display.due()
    assert isinstance(display, Display)
    assert callback.reported(3) == 3
    assert type(callback).__name__ == "Said"
    assert callback.slow is False
    assert adopt(callback, Callback) is callback
