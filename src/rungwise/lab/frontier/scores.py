"""From runs to scores: gaps to ASHA's line, groups of tables, standard errors over seeds."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from rungwise.lab.frontier.results import Group, Run, Score, Study

FAMILY = 3
"""From this number on, tables whose names begin with the same word are one group."""

Pick = Callable[[Run], Study]
"""Which study of a run is meant."""


def find_groups(names: Iterable[str]) -> dict[str, list[str]]:
    """Tables by group: the data sets of a public benchmark begin with its name.

    ``lcbench-adult``, ``lcbench-kr-vs-kp`` and so on are one group, which counts once.
    """
    names = list(names)
    words = [re.split(r"[-_]", name, maxsplit=1)[0] for name in names]
    found: dict[str, list[str]] = {}
    for name, word in zip(names, words, strict=True):
        found.setdefault(word if words.count(word) >= FAMILY else name, []).append(name)
    return found


def find_gap(study: Study, line: Sequence[Study]) -> float:
    """Regret minus that of ASHA for the same resource, between its numbers of trials."""
    return _measure_gap(study.spent, study.regret, [(one.spent, one.regret) for one in line])


def find_top_gap(study: Study, line: Sequence[Study]) -> float:
    """The same if the winner is the best of those that were trained furthest, for both."""
    return _measure_gap(study.spent, study.top, [(one.spent, one.top) for one in line])


def _measure_gap(spent: float, regret: float, line: Sequence[tuple[float, float]]) -> float:
    costs, regrets = zip(*sorted(line), strict=True)
    return regret - float(np.interp(spent, costs, regrets))


def score(name: str, groups: Mapping[str, Sequence[Run]], pick: Pick) -> Score:
    """A method over groups that count the same.

    Args:
        name: of the method.
        groups: the runs of each group.
        pick: its study in a run.
    """
    savings, regrets, tops, gaps, top_gaps = [], [], [], [], []
    by_seed: dict[int, list[float]] = defaultdict(list)
    for runs in groups.values():
        tables = split_tables(runs)
        savings.append(
            _mean(
                math.log(_mean(one.line[-1].spent for one in table))
                - math.log(_mean(pick(one).spent for one in table))
                for table in tables
            )
        )
        regrets.append(_mean(_mean(pick(one).regret for one in table) for table in tables))
        tops.append(_mean(_mean(pick(one).top for one in table) for table in tables))
        gaps.append(_mean(_mean(find_gap(pick(o), o.line) for o in table) for table in tables))
        top_gaps.append(
            _mean(_mean(find_top_gap(pick(o), o.line) for o in table) for table in tables)
        )
        for seed in sorted({one.seed for one in runs}):
            same = ([one for one in table if one.seed == seed] for table in tables)
            by_seed[seed].append(
                _mean(_mean(find_gap(pick(o), o.line) for o in part) for part in same)
            )
    means = np.array([_mean(values) for values in by_seed.values()])
    error = float(means.std(ddof=1) / math.sqrt(means.size)) if means.size > 1 else math.nan
    saving = math.exp(_mean(savings))
    return Score(name, saving, _mean(regrets), _mean(gaps), error, _mean(tops), _mean(top_gaps))


def draw_line(groups: Mapping[str, Sequence[Run]]) -> tuple[tuple[float, float], ...]:
    """ASHA's line: (share of its resource with all trials, mean regret) by number of trials."""
    sizes = len(next(iter(groups.values()))[0].line)
    points = (score("", groups, lambda run, n=n: run.line[n]) for n in range(sizes))  # type: ignore[misc]
    return tuple((1 / point.saving, point.regret) for point in points)


def score_group(name: str, runs: Sequence[Run], methods: Sequence[str]) -> Group:
    """All methods on a group."""
    one = {name: runs}
    return Group(
        name,
        tuple(dict.fromkeys(run.benchmark for run in runs)),
        tuple(score(method, one, pick_method(method)) for method in methods),
        draw_line(one),
    )


def pick_method(method: str) -> Pick:
    """The study of a method."""
    return lambda run: run.studies[method]


def pick_guess(name: str) -> Pick:
    """The study with a maximum that was guessed wrongly."""
    return lambda run: run.guesses[name]


def split_tables(runs: Sequence[Run]) -> list[list[Run]]:
    """Runs by benchmark; its training seeds count as repetitions."""
    tables: dict[str, list[Run]] = {}
    for run in runs:
        tables.setdefault(run.benchmark, []).append(run)
    return list(tables.values())


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return sum(listed) / len(listed)
