"""Bayesian optimisation with a Gaussian process over configuration and resource.

The paper's table 3 pairs PASHA and ASHA with MOBSTER (Klein et al., 2020): one Gaussian process
over both, trained on the reports at the rungs, and the expected improvement at the resource where
configurations compete. Here that is the highest rung with enough reports, up to the ceiling of the
moment, so under PASHA it rises with it; or the ceiling itself, by extrapolation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from rungwise.core.searcher import History
from rungwise.errors import InvalidArgumentError
from rungwise.searchers.candidates import apart, fresh, neighbour
from rungwise.searchers.model_warnings import warn_once
from rungwise.searchers.observations import Features, Floats, Observations, gather
from rungwise.searchers.random import RandomSearcher
from rungwise.space import Space
from rungwise.validation import one_of, whole

LEADERS = 8
"""Around as many of the best configurations candidates are looked for."""
ROUNDS = 2
"""How often the best candidates are refined."""


@dataclass(frozen=True, slots=True)
class GP:
    """Proposes what a Gaussian process expects to improve most on the best.

    Random at first. Everything it knows comes from the history, so the same history gives the same
    proposal; the model is fitted anew every time, on few points, and then shown many.

    Args:
        startup: how many trials must have told something before the model is asked.
        fit_points: by how many points the model's hyperparameters are fitted.
        points: how many points the model sees; the highest rungs are kept.
        candidates: among how many configurations it chooses first.
        aim: where it looks for an improvement. ``"rung"``: at the highest rung with ``startup``
            reports; ``"ceiling"``: at the ceiling of the moment, however few have been there, which
            relies on what the model expects of curves it has not seen so far.
        reports: ``"rungs"``: it learns from what was reported where trials are compared;
            ``"all"``: from every report, of which ``points`` must then hold many more.

    Needs the extra ``rungwise[bo]``.

    Reference:
        Klein et al. (2020), Model-based asynchronous hyperparameter and neural architecture
        search (MOBSTER).
    """

    slow: ClassVar[bool] = True
    needs: ClassVar[tuple[str, ...]] = ("botorch", "gpytorch", "torch", "bo")

    startup: int = 10
    fit_points: int = 100
    points: int = 400
    candidates: int = 600
    reports: Literal["rungs", "all"] = "rungs"
    aim: Literal["rung", "ceiling"] = "rung"

    def __post_init__(self) -> None:
        for name in ("startup", "fit_points", "points", "candidates"):
            whole(name, getattr(self, name), at_least=2)
        one_of("reports", self.reports, ("rungs", "all"))
        one_of("aim", self.aim, ("rung", "ceiling"))
        if self.points < self.startup:
            rule = f"it must be at least startup, {self.startup}, or no model is ever asked"
            raise InvalidArgumentError("points", self.points, rule)

    def propose(
        self, space: Space, history: History, rng: np.random.Generator
    ) -> dict[str, Any] | None:
        """The next configuration to try."""
        at_random = RandomSearcher().propose(space, history, rng)
        seen = gather(history, limit=self.points, every=self.reports == "all")
        told = {trial.id for trial in seen.trials}
        if len(told) < self.startup or np.ptp(seen.scores) == 0:
            return at_random
        pool = fresh(space, history, [space.sample(rng) for _ in range(self.candidates)])
        if not pool:
            return at_random  # a finite space is nearly used up
        from rungwise.searchers import gaussian  # noqa: PLC0415 - it brings in torch

        with gaussian.one_thread():
            return self._judged(space, history, seen, pool, rng) or at_random

    def _judged(
        self,
        space: Space,
        history: History,
        seen: Observations,
        pool: list[dict[str, Any]],
        rng: np.random.Generator,
    ) -> dict[str, Any] | None:
        """What the model likes best; None, with a warning, if no model can be fitted."""
        from rungwise.searchers import gaussian  # noqa: PLC0415 - it brings in torch

        try:
            enough = self.startup if self.aim == "rung" else 0
            judge = _Judge(space, history, seen, fit_points=self.fit_points, enough=enough)
        except gaussian.FAILURES as error:
            warn_once("A Gaussian process", f"could not be fitted ({error})")
            return None
        pool = [*pool, *self._near(space, history, judge.leaders(LEADERS), rng)]
        for _ in range(ROUNDS):
            best = judge.best(pool, LEADERS)
            pool = [*best, *self._near(space, history, best, rng)]
        chosen: dict[str, Any] = judge.best(pool, 1)[0]
        return chosen

    def _near(
        self, space: Space, history: History, configs: list[Any], rng: np.random.Generator
    ) -> list[dict[str, Any]]:
        each = max(1, self.candidates // (2 * max(len(configs), 1) * ROUNDS))
        found = [neighbour(space, config, rng) for config in configs for _ in range(each)]
        return fresh(space, history, [config for config in found if config is not None])


class _Judge:
    """A fitted model, and what it says of candidates."""

    def __init__(
        self, space: Space, history: History, seen: Observations, *, fit_points: int, enough: int
    ) -> None:
        from rungwise.searchers.gaussian import Gaussian  # noqa: PLC0415 - it brings in torch

        self._space = space
        self._features = Features(space)
        self._waiting = [trial.config for trial in seen.pending]
        levels = history.levels
        self._log_top = np.log(levels[-1] / levels[0]) if levels[-1] > levels[0] else 1.0
        self._low = levels[0]
        sound = np.array([not trial.failed for trial in seen.trials])
        counts = [(level, (sound & (seen.levels == level)).sum()) for level in levels]
        self._here = self._time(max([level for level, n in counts if n >= enough] or [levels[0]]))
        inputs = np.column_stack(
            [
                np.array([self._features.of(trial.config) for trial in seen.trials]),
                self._time(seen.levels),
            ]
        )
        model = Gaussian.fitted(inputs[:fit_points], seen.scores[:fit_points])
        self._model = model.seeing(inputs, seen.scores)
        if self._waiting:
            # Those under way count as being as good as the model thinks: there it is then sure,
            # and elsewhere there is more to gain (the "kriging believer").
            waiting = self._at_rung(self._waiting)
            believed, _ = self._model.predict(waiting)
            self._model = model.seeing(
                np.vstack([inputs, waiting]), np.concatenate([seen.scores, believed])
            )
        self._known = {trial.id: trial.config for trial in (*seen.trials, *seen.pending)}
        self._means, _ = self._model.predict(self._at_rung(list(self._known.values())))

    def leaders(self, count: int) -> list[Any]:
        """The configurations so far that the model thinks best at the rung."""
        configs = list(self._known.values())
        return [configs[i] for i in np.argsort(self._means, kind="stable")[:count]]

    def best(self, pool: list[Any], count: int) -> list[Any]:
        """The candidates of the largest expected improvement, apart from what is under way."""
        mean, deviation = self._model.predict(self._at_rung(pool))
        gains = log_expected_improvement(float(self._means.min()), mean, deviation)
        ranked = [pool[i] for i in np.argsort(-gains, kind="stable")]
        return apart(self._space, ranked, self._waiting, count)

    def _at_rung(self, configs: list[Any]) -> Floats:
        rows = np.array([self._features.of(config) for config in configs])
        return np.column_stack([rows, np.full(len(configs), self._here)])

    def _time(self, resource: Any) -> Any:
        return np.log(np.asarray(resource, dtype=np.float64) / self._low) / self._log_top


def log_expected_improvement(best: float, mean: Floats, deviation: Floats) -> Floats:
    """The logarithm of E[max(best − f, 0)], also where that is too small for a float.

    Reference:
        Ament et al. (2023), Unexpected improvements to expected improvement.
    """
    from scipy.special import erfcx, log_ndtr  # noqa: PLC0415

    u = (best - mean) / deviation
    log_density = -0.5 * u * u - 0.5 * np.log(2 * np.pi)
    low = np.minimum(u, -1.0)
    # φ(u) + uΦ(u) = φ(u)·(1 − |u|·√(π/2)·erfcx(|u|/√2)); far out that is φ(u)/u².
    inner = -low * np.sqrt(np.pi / 2) * erfcx(-low / np.sqrt(2))
    far = np.where(low < -1e4, -2 * np.log(-low), np.log1p(-np.minimum(inner, 1 - 1e-16)))
    high = np.maximum(u, -1.0)
    near = np.log(np.exp(-0.5 * high * high) / np.sqrt(2 * np.pi) + high * np.exp(log_ndtr(high)))
    found: Floats = np.log(deviation) + np.where(u < -1, log_density + far, near)
    return found
