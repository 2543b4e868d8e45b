"""The conformance suite of searchers, to subclass in a test module.

Example::

    class TestMySearcher(SearcherConformance):
        import_path = "my_package:MySearcher"

Every test makes a fresh searcher. The import path names a callable without arguments; give the
suite a function of your own where the searcher needs arguments. Name its class among ``types`` if
it is a dataclass that study files are to keep.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from typing import Any, ClassVar, cast

import numpy as np
import pytest

from rungwise.core.limits import Limits
from rungwise.core.searcher import Observed, Searcher
from rungwise.core.study import Study
from rungwise.schedulers import PASHA
from rungwise.space import Choice, Float, Int, Space
from rungwise.storage import codec

_CHILD = """
import json, sys
from rungwise.space import Space
from rungwise.testing.searchers import imported, proposals
path, spaces, seed, count = json.load(sys.stdin)
made = [proposals(imported(path), Space.from_json(space), seed, count) for space in spaces]
print(json.dumps(made))
"""


@dataclass(frozen=True, slots=True)
class Observation:
    """A trial that a test makes up."""

    id: int
    config: Mapping[str, Any]
    resources: Sequence[float] = ()
    losses: Sequence[float] = ()
    failed: bool = False


class ListHistory:
    """A history in memory, to which a test adds trials."""

    def __init__(self, space: Space, trials: Iterable[Observation] = ()) -> None:
        self._space = space
        self._trials: list[Observation] = []
        self._drawn: Counter[str] = Counter()
        for trial in trials:
            self._append(trial)

    def __len__(self) -> int:
        return len(self._trials)

    def __iter__(self) -> Iterator[Observed]:
        return iter(self._trials)

    @property
    def levels(self) -> Sequence[float]:
        """Every resource that any trial has reported; 1 while there is no report."""
        return sorted({r for trial in self._trials for r in trial.resources}) or [1.0]

    def times_drawn(self, key: str) -> int:
        """How often the configuration with this key was drawn already."""
        return self._drawn[key]

    def add(self, config: Mapping[str, Any], *losses: float, failed: bool = False) -> None:
        """Adds a trial that has reported these losses after 1, 2, 3, … units of resource."""
        resources = [float(resource) for resource in range(1, len(losses) + 1)]
        self._append(Observation(len(self), dict(config), resources, losses, failed))

    def _append(self, trial: Observation) -> None:
        self._trials.append(trial)
        self._drawn[self._space.key(trial.config)] += 1


def mixed_space() -> Space:
    """Numbers on both scales, options of several types, and a constant; infinite."""
    return Space.parse(
        {
            "lr": Float(1e-5, 10.0, log=True),
            "width": Int(8, 1024, log=True),
            "layers": Int(1, 5),
            "dropout": Float(0.0, 0.9),
            "act": ["relu", "tanh", None],
            "flag": [True, 1, 1.0, "1"],
            "size": Choice(["small", "medium", "large"], ordered=True),
            "fixed": 3,
        }
    )


def conditional_space() -> Space:
    """Parameters that are active for some values of others only; 2 + (1 + 3) + 1 configurations."""
    when_sgd = {"name": "optimizer", "op": "==", "value": "sgd"}
    when_nesterov = {"name": "nesterov", "op": "==", "value": True}
    return Space.from_json(
        {
            "version": 1,
            "parameters": [
                _choice("optimizer", ["adam", "sgd", "rmsprop"]),
                _choice("nesterov", [False, True], when=when_sgd),
                _choice("momentum", [0.5, 0.9, 0.99], when=when_nesterov),
                _choice(
                    "beta", [0.9, 0.99], when={"name": "optimizer", "op": "==", "value": "adam"}
                ),
            ],
            "forbidden": [],
        }
    )


def forbidden_space() -> Space:
    """A grid of 5 · 5 configurations, of which 5 + 1 are forbidden."""
    same = {"left": "left", "op": "==", "right": "right"}
    corner = [{"name": "left", "op": "<", "value": 2}, {"name": "right", "op": ">", "value": 4}]
    return Space.from_json(
        {
            "version": 1,
            "parameters": [
                {"name": name, "type": "int", "low": 1, "high": 5, "log": False}
                for name in ("left", "right")
            ],
            "forbidden": [same, {"all": corner}],
        }
    )


def tiny_space() -> Space:
    """Six configurations without any rule."""
    return Space.parse({"act": ["relu", "tanh"], "layers": Int(1, 3)})


SPACES = (mixed_space, conditional_space, forbidden_space, tiny_space)
FINITE_SPACES = {conditional_space: 2 + (1 + 3) + 1, forbidden_space: 25 - 6, tiny_space: 6}


def imported(path: str) -> Searcher:
    """The searcher that ``"package.module:name"`` makes."""
    module, _, name = path.partition(":")
    return cast("Searcher", getattr(importlib.import_module(module), name)())


def proposals(searcher: Searcher, space: Space, seed: int, count: int) -> list[dict[str, Any]]:
    """What a searcher proposes one after the other, each seen with a made-up loss."""
    history = ListHistory(space)
    made: list[dict[str, Any]] = []
    for number in range(count):
        config = searcher.propose(space, history, np.random.default_rng([seed, number]))
        if config is None:
            break
        made.append(config)
        history.add(config, 1.0 + number % 7, 0.5 + number % 5)
    return made


class SearcherConformance:
    """What every searcher must do. Subclass it and set :attr:`import_path`.

    Attributes:
        import_path: ``"package.module:name"`` of what makes the searcher, without arguments.
        types: classes of your own that are passed to :func:`rungwise.load`.
        looks: how many proposals in a row are checked; fewer for a searcher that takes long, but
            more than the 9 configurations of a small space.
    """

    import_path: ClassVar[str]
    looks: ClassVar[int] = 30
    types: ClassVar[tuple[type, ...]] = ()

    def make_searcher(self) -> Searcher:
        """A fresh searcher."""
        return imported(self.import_path)

    @pytest.mark.parametrize("make_space", SPACES)
    def test_stays_in_the_space(self, make_space: Any) -> None:
        """Every proposal is legal, in plain, conditional and forbidding spaces."""
        space = make_space()
        made = proposals(self.make_searcher(), space, seed=1, count=self.looks)
        assert made
        for config in made:
            assert space.key(space.validate(config)) == space.key(config)

    @pytest.mark.parametrize("make_space", SPACES)
    def test_proposes_plain_python_values(self, make_space: Any) -> None:
        """No NumPy type reaches the user's function or the log."""
        for config in proposals(self.make_searcher(), make_space(), seed=2, count=self.looks):
            assert type(config) is dict
            assert {type(name) for name in config} == {str}
            assert {type(value) for value in config.values()} <= {str, int, float, bool, type(None)}

    @pytest.mark.parametrize("make_space", SPACES)
    def test_repeats_itself_for_the_same_seed(self, make_space: Any) -> None:
        """The generator is the only source of randomness."""
        space = make_space()
        first, second = (proposals(self.make_searcher(), space, seed=3, count=12) for _ in "ab")
        assert json.dumps(first) == json.dumps(second)

    @pytest.mark.parametrize("make_space", SPACES)
    def test_remembers_nothing(self, make_space: Any) -> None:
        """A used searcher proposes what a fresh one does."""
        space, used = make_space(), self.make_searcher()
        proposals(used, space, seed=4, count=5)
        fresh = proposals(self.make_searcher(), space, seed=5, count=5)
        assert json.dumps(proposals(used, space, seed=5, count=5)) == json.dumps(fresh)

    @pytest.mark.parametrize("hash_seed", ["0", "1"])
    def test_repeats_itself_in_another_process(self, hash_seed: str) -> None:
        """Nothing depends on the order of sets or dicts of the process."""
        spaces = [make_space() for make_space in SPACES]
        here = [proposals(imported(self.import_path), space, seed=6, count=8) for space in spaces]
        task = [self.import_path, [space.to_json() for space in spaces], 6, 8]
        child = subprocess.run(  # noqa: S603  # our own interpreter and script
            [sys.executable, "-c", _CHILD],
            input=json.dumps(task),
            capture_output=True,
            text=True,
            check=False,
            env={
                **os.environ,
                "PYTHONHASHSEED": hash_seed,
                "PYTHONPATH": os.pathsep.join(sys.path),
            },
        )
        assert child.returncode == 0, child.stderr
        assert child.stdout.strip() == json.dumps(here)

    @pytest.mark.parametrize("make_space", FINITE_SPACES)
    @pytest.mark.parametrize("seed", range(3))
    def test_uses_up_a_finite_space_before_repeating(self, make_space: Any, seed: int) -> None:
        """As many proposals as configurations: each comes once."""
        space, count = make_space(), FINITE_SPACES[make_space]
        made = proposals(self.make_searcher(), space, seed, count)
        assert len({space.key(config) for config in made}) == count

    @pytest.mark.parametrize("make_space", SPACES)
    def test_proposes_to_several_workers_at_once(self, make_space: Any) -> None:
        """Four ask before any of them reports: all get legal configurations, all different."""
        space, searcher = make_space(), self.make_searcher()
        history = ListHistory(space)
        for number in range(6):
            rng = np.random.default_rng([9, number])
            config = searcher.propose(space, history, rng)
            assert config is not None, "there are at least six configurations"
            assert space.key(space.validate(config)) == space.key(config)
            history.add(config, *([1.0 + number] if number < 2 else []))
        if make_space in FINITE_SPACES:
            assert len({space.key(trial.config) for trial in history}) == 6

    def test_is_kept_by_a_study_file(self) -> None:
        """Read back, it proposes the same."""
        searcher, space = self.make_searcher(), tiny_space()
        public = codec.list_searchers({})
        kinds: list[Any] = [kind for kind in (*public, *self.types) if is_dataclass(kind)]
        if type(searcher) not in kinds:
            pytest.skip("its class is not among the types of this suite")
        study = Study(PASHA(max_resource=9), Limits(trials=6), space=space, searcher=searcher)
        text = codec.to_text(codec.study_to_json(study))
        again = codec.study_from_json(json.loads(text), types=self.types)
        assert again.searcher is not None
        expected, made = (
            proposals(each, space, seed=10, count=6) for each in (searcher, again.searcher)
        )
        assert json.dumps(made) == json.dumps(expected)
        assert codec.to_text(codec.study_to_json(again)) == text

    @pytest.mark.parametrize("make_space", SPACES)
    def test_changes_neither_space_nor_history(self, make_space: Any) -> None:
        """Arguments are for reading, and a proposal is the caller's own."""
        space = make_space()
        history = ListHistory(space)
        for number in range(5):
            history.add(space.sample(np.random.default_rng(number)), float(number))
        before = json.dumps(space.to_json()), repr(list(history))
        config = self.make_searcher().propose(space, history, np.random.default_rng(0))
        if config is not None:
            config.clear()  # a proposal belongs to the caller
        again = self.make_searcher().propose(space, history, np.random.default_rng(0))
        assert (json.dumps(space.to_json()), repr(list(history))) == before
        assert again is None or space.validate(again)

    def test_works_with_an_empty_history(self) -> None:
        """The first proposal of a study."""
        self._check_proposal(ListHistory(mixed_space()))

    def test_works_with_one_observation(self) -> None:
        """Too little to learn from."""
        self._check_proposal(_history(1, lambda _: 0.5))

    def test_works_when_nothing_was_reported_yet(self) -> None:
        """A trial runs but has reported nothing."""
        history = ListHistory(mixed_space())
        history.add(mixed_space().sample(np.random.default_rng(0)))
        self._check_proposal(history)

    def test_works_when_every_loss_is_infinite(self) -> None:
        """Every report was NaN."""
        self._check_proposal(_history(30, lambda _: math.inf))

    def test_works_when_every_trial_failed(self) -> None:
        """Nothing worked so far."""
        self._check_proposal(_history(30, lambda _: math.inf, failed=True))

    def test_works_when_every_loss_is_the_same(self) -> None:
        """There is nothing to rank."""
        self._check_proposal(_history(30, lambda _: 1.0))

    def test_works_when_some_are_broken_and_the_rest_is_the_same(self) -> None:
        """NaN here, a failure there, with and without reports, and nothing to learn otherwise."""
        space, rng = mixed_space(), np.random.default_rng(8)
        history = ListHistory(space)
        for number in range(40):
            losses = ([1.0], [math.inf], [], [1.0, math.inf], [1.0, 1.0])[number % 5]
            history.add(space.sample(rng), *losses, failed=number % 4 == 0)
        self._check_proposal(history)

    def test_works_with_trials_at_several_levels(self) -> None:
        """As successive halving leaves them: the further, the fewer, and some have not begun."""
        space, rng = mixed_space(), np.random.default_rng(8)
        history = ListHistory(space)
        for number in range(54):
            reports = 3 if number % 9 == 0 else 2 if number % 3 == 0 else 1 if number < 50 else 0
            history.add(space.sample(rng), *rng.random(reports).tolist())
        self._check_proposal(history)

    def test_works_with_ten_thousand_observations(self) -> None:
        """A long study."""
        self._check_proposal(_history(10_000, math.sin))

    def _check_proposal(self, history: ListHistory) -> None:
        space = mixed_space()
        config = self.make_searcher().propose(space, history, np.random.default_rng(7))
        assert config is not None, "an infinite space is never used up"
        assert space.key(space.validate(config)) == space.key(config)


def _history(count: int, loss: Any, *, failed: bool = False) -> ListHistory:
    """Random trials with made-up losses."""
    space, rng = mixed_space(), np.random.default_rng(8)
    history = ListHistory(space)
    for number in range(count):
        history.add(space.sample(rng), loss(number), failed=failed)
    return history


def _choice(name: str, options: list[Any], **rules: Any) -> dict[str, Any]:
    return {"name": name, "type": "choice", "options": options, "ordered": False, **rules}
