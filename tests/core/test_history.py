"""Searching through the engine: what a searcher sees, and what it may not repeat."""

import rungwise as rw
from rungwise.core.decisions import Done, StartJob
from rungwise.core.engine import Engine
from rungwise.core.events import JobEnded, JobFailed, JobRequested, Reported
from rungwise.core.limits import Limits
from rungwise.core.study import Study
from rungwise.searchers import RandomSearcher

SMALL = {"act": ["relu", "tanh"], "layers": rw.Int(1, 3)}


def drawn(engine):
    while isinstance(run := engine.handle(JobRequested()), StartJob):
        engine.handle(Reported(run.job.id, 1, 0.5))
        engine.handle(JobEnded(run.job.id))
        yield run.job.config
    assert isinstance(run, Done)


def study(space, trials, searcher=None, **more):
    return Study(
        rw.FixedResource(1),
        Limits(trials=trials),
        space=space,
        searcher=RandomSearcher() if searcher is None else searcher,
        **more,
    )


def test_a_finite_space_is_used_up_before_anything_is_drawn_twice():
    configs = [tuple(sorted(config.items())) for config in drawn(Engine(study(SMALL, 14)))]
    assert len(set(configs[:6])) == len(set(configs[6:12])) == 6
    assert len(set(configs[12:])) == 2


def test_initial_configurations_count_as_drawn():
    first = {"act": "tanh", "layers": 2}
    configs = list(drawn(Engine(study(SMALL, 6, initial=[first]))))
    assert configs[0] == first
    assert first not in configs[1:]


def test_seeds_decide_what_is_drawn():
    space = {"lr": rw.Float(1e-5, 1, log=True)}
    runs = [list(drawn(Engine(study(space, 5, seed=seed)))) for seed in (0, 1, 0)]
    assert runs[0] == runs[2] != runs[1]


class Spy(rw.searchers.Searcher):
    """A searcher that notes what it is shown."""

    def __init__(self):
        self.seen = []

    def propose(self, space, history, rng):
        shown = [(t.id, list(t.resources), list(t.losses), t.failed) for t in history]
        self.seen.append((len(history), shown))
        return space.sample(rng)


def test_a_searcher_sees_curves_and_failures_of_the_trials_so_far():
    spy = Spy()
    engine = Engine(study(SMALL, 3, searcher=spy, goal="max"))
    engine.handle(JobRequested())
    engine.handle(Reported(0, 0.5, 0.9))
    engine.handle(JobRequested())
    engine.handle(JobFailed(1, "out of memory"))
    engine.handle(JobRequested())
    assert [count for count, _ in spy.seen] == [0, 1, 2]
    assert spy.seen[-1][1] == [(0, [0.5], [-0.9], False), (1, [], [], True)]
