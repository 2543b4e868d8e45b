"""Bayesian optimisation with a Gaussian process over configuration and resource.

The paper's table 3 pairs PASHA and ASHA with MOBSTER (Klein et al., 2020): one Gaussian process
over both, trained on the reports at the rungs, and the expected improvement at the resource where
configurations compete. Here that is the highest rung with enough reports, up to the current
ceiling, so under PASHA it rises with the ceiling; or the ceiling itself, by extrapolation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from rungwise.core.searcher import History, Searcher
from rungwise.errors import InvalidArgumentError
from rungwise.searchers.candidates import draw_neighbour, keep_apart, select_new
from rungwise.searchers.model_warnings import warn_once
from rungwise.searchers.observations import Features, Floats, Observations, gather
from rungwise.searchers.random import RandomSearcher
from rungwise.space import Space
from rungwise.validation import one_of, whole

LEADERS = 8
"""Candidates are drawn around this number of the best configurations."""
ROUNDS = 2
"""How often the best candidates are refined."""


@dataclass(frozen=True, slots=True)
class GP(Searcher):
    """Proposes the configuration with the largest expected improvement of a Gaussian process.

    Random at first. Everything it knows comes from the history, so the same history gives the same
    proposal; the model is fitted again every time, on few points, and then conditioned on many.

    Args:
        startup: how many trials must have reported before the model is used.
        fit_points: the number of points on which the model's hyperparameters are fitted.
        points: the number of points the model is conditioned on; the highest rungs are kept.
        candidates: the number of configurations from which it chooses first.
        aim: where it looks for an improvement. ``"rung"``: at the highest rung with ``startup``
            reports; ``"ceiling"``: at the current ceiling, even if few trials have reached it,
            which relies on the model's extrapolation of curves.
        reports: ``"rungs"``: it learns from the reports at the rungs, where trials are compared;
            ``"all"``: from every report; then ``points`` should be much larger.

    Reference:
        Klein et al. (2020), Model-based asynchronous hyperparameter and neural architecture
        search (MOBSTER).
    """

    slow: ClassVar[bool] = True

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
            rule = f"it must be at least startup = {self.startup}, or the model is never used"
            raise InvalidArgumentError("points", self.points, rule)

    def propose(
        self, space: Space, history: History, rng: np.random.Generator
    ) -> dict[str, Any] | None:
        """The next configuration to try."""
        at_random = RandomSearcher().propose(space, history, rng)
        seen = gather(history, limit=self.points, every=self.reports == "all")
        reported = {trial.id for trial in seen.trials}
        if len(reported) < self.startup or np.ptp(seen.scores) == 0:
            return at_random
        pool = select_new(space, history, [space.sample(rng) for _ in range(self.candidates)])
        if not pool:
            return at_random  # a finite space is nearly used up
        from rungwise.searchers import gaussian  # noqa: PLC0415 - it brings in SciPy

        with gaussian.use_one_thread():
            return self._choose(space, history, seen, pool, rng) or at_random

    def _choose(
        self,
        space: Space,
        history: History,
        seen: Observations,
        pool: list[dict[str, Any]],
        rng: np.random.Generator,
    ) -> dict[str, Any] | None:
        """The best candidate of the model; None, with a warning, if no model can be fitted."""
        from rungwise.searchers import gaussian  # noqa: PLC0415 - it brings in SciPy

        try:
            enough = self.startup if self.aim == "rung" else 0
            model = _Model(space, history, seen, fit_points=self.fit_points, enough=enough)
        except gaussian.FAILURES as error:
            warn_once("A Gaussian process", f"could not be fitted ({error})")
            return None
        pool = [*pool, *self._near(space, history, model.leaders(LEADERS), rng)]
        for _ in range(ROUNDS):
            best = model.best(pool, LEADERS)
            pool = [*best, *self._near(space, history, best, rng)]
        chosen: dict[str, Any] = model.best(pool, 1)[0]
        return chosen

    def _near(
        self, space: Space, history: History, configs: list[Any], rng: np.random.Generator
    ) -> list[dict[str, Any]]:
        each = max(1, self.candidates // (2 * max(len(configs), 1) * ROUNDS))
        found = [draw_neighbour(space, config, rng) for config in configs for _ in range(each)]
        return select_new(space, history, [config for config in found if config is not None])


class _Model:
    """A fitted model and its predictions for candidates."""

    def __init__(
        self, space: Space, history: History, seen: Observations, *, fit_points: int, enough: int
    ) -> None:
        from rungwise.searchers.gaussian import Gaussian  # noqa: PLC0415 - it brings in SciPy

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
        process = Gaussian.fit(inputs[:fit_points], seen.scores[:fit_points])
        self._model = process.condition_on(inputs, seen.scores)
        if self._waiting:
            # Running trials count as observed, with the values that the model predicts: there is
            # then less to gain there than elsewhere (the "kriging believer").
            waiting = self._at_rung(self._waiting)
            believed, _ = self._model.predict(waiting)
            self._model = process.condition_on(
                np.vstack([inputs, waiting]), np.concatenate([seen.scores, believed])
            )
        self._known = {trial.id: trial.config for trial in (*seen.trials, *seen.pending)}
        self._means, _ = self._model.predict(self._at_rung(list(self._known.values())))

    def leaders(self, count: int) -> list[Any]:
        """The configurations so far that are best at the rung by the model's prediction."""
        configs = list(self._known.values())
        return [configs[i] for i in np.argsort(self._means, kind="stable")[:count]]

    def best(self, pool: list[Any], count: int) -> list[Any]:
        """The candidates with the largest expected improvement, not too close to running ones."""
        mean, deviation = self._model.predict(self._at_rung(pool))
        gains = log_expected_improvement(float(self._means.min()), mean, deviation)
        ranked = [pool[i] for i in np.argsort(-gains, kind="stable")]
        return keep_apart(self._space, ranked, self._waiting, count)

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
