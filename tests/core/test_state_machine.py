"""Random studies, event by event, with everything checked after every step."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from core.model import Fact, Model
from core.stories import Story, rungs_of, snapshot
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from rungwise import ASHA, PASHA, AsyncHyperband, FixedResource, Hyperband, SuccessiveHalving
from rungwise.core.decisions import Continue, Done, Noted, Pause, Stop, Wait
from rungwise.core.events import StudyExtended
from rungwise.core.replay import replay
from rungwise.core.trials import Cause, State
from rungwise.errors import IllegalEventError
from rungwise.rankings import ARRR, RBO, RRR, Exact, Leader, Noise, Soft, SoftSigma

INF = math.inf
POOL, HIGHEST = 100, 60
REPLAY_EVERY = 6
TOLD = {"continue": Continue(), "pause": Pause(), "stop": Stop()}
CRITERIA = {
    ("exact",): Exact(),
    ("soft", 0.25): Soft(0.25),
    ("sigma", 1): SoftSigma(1),
    ("noise", 90): Noise(),
    ("leader", 90): Leader(),
    ("rbo", 1.0, 0.5): RBO(1.0, 0.5),
    ("rrr", 1.0, 0.05): RRR(),
    ("arrr", 0.5, 0.25): ARRR(0.5, 0.25),
}
LADDERS = [
    (1, 9, 3),
    (1, 8, 2),
    (1, 20, 3),
    (2, 9, 2),
    (2, 12, 3),
    (1, 16, 4),
    (1, 12, 2),
    (3, 3, 2),
]
ladder = st.sampled_from(LADDERS)
promote = st.sampled_from(["floor", "quantile"])


def levels_of(low, high, eta):
    return [level for level in (low * eta**k for k in range(9)) if level < high] + [high]


@st.composite
def pashas(draw, *names):
    low, high, eta = draw(ladder)
    criterion = draw(st.sampled_from([key for key in CRITERIA if key[0] in names]))
    shared = {"promote": draw(promote), "check": draw(st.sampled_from(["rung", "report"]))}
    variant = draw(st.sampled_from(["promotion", "promotion", "stopping"]))
    recipe = PASHA(low, high, eta, CRITERIA[criterion], variant=variant, **shared)
    levels = levels_of(low, high, eta)
    return recipe, Model([levels], kind=variant, eta=eta, criterion=criterion, **shared)


@st.composite
def ashas(draw):
    (low, high, eta), chosen = draw(ladder), draw(promote)
    levels = levels_of(low, high, eta)
    kind = draw(st.sampled_from(["promotion", "stopping", "brackets", "fixed"]))
    if kind == "fixed":
        return FixedResource(high), Model([[high]], kind="fixed", eta=2)
    if kind == "brackets":
        brackets = [levels[k:] for k in range(len(levels))]
        recipe = AsyncHyperband(low, high, eta, promote=chosen)
        return recipe, Model(brackets, kind="promotion", eta=eta, promote=chosen, brackets=True)
    recipe = ASHA(low, high, eta, promote=chosen, variant=kind)
    return recipe, Model([levels], kind=kind, eta=eta, promote=chosen)


@st.composite
def synchronous(draw):
    low, high, eta = draw(ladder)
    levels = levels_of(low, high, eta)
    if draw(st.booleans()):
        brackets = [levels[k:] for k in range(len(levels))]
        model = Model(brackets, kind="synchronous", eta=eta, brackets=True)
        return Hyperband(low, high, eta), model
    size = draw(st.sampled_from([None, 1, 4, 6]))
    recipe = SuccessiveHalving(low, high, eta, size=size)
    return recipe, Model([levels], kind="synchronous", eta=eta)


class Machine(RuleBasedStateMachine):
    """Subclasses say which recipes are drawn."""

    recipes = st.nothing()

    @initialize(data=st.data(), goal=st.sampled_from(["min", "max"]))
    def begin(self, data, goal):
        recipe, self.model = data.draw(self.recipes)
        self.trials = data.draw(st.sampled_from([2, 12, 24, 40]), label="trials")
        self.budget = data.draw(st.sampled_from([None, None, None, 60]), label="budget")
        self.story = Story(recipe, trials=self.trials, pool=POOL, goal=goal, resource=self.budget)
        self.engine = self.story.engine
        self.sign = 1 if goal == "min" else -1
        self.ended = self.drained = self.extended = False
        self.steps = 0

    # ---- rules -----------------------------------------------------------------------------------

    @rule(workers=st.integers(1, 4))
    def ask(self, workers):
        for _ in range(workers):
            self.one_asks()

    def one_asks(self):
        model = self.model
        expected = self.expected_job()
        told = self.story.ask()
        if isinstance(told, (Wait, Done)):
            assert expected in (None, "any")
            assert isinstance(told, Done) == (self.ended or not model.open())
            if isinstance(told, Done) and not self.ended and model.kind == "synchronous":
                self.check_that_all_were_promoted()
            if isinstance(told, Done) and not self.ended:
                self.ended = True
                self.drained = True
            return
        number, start, until = told
        assert not self.ended
        assert expected in ("any", told)
        new = number == len(model.trials)
        if new:
            assert (start, len(model.trials) < self.trials) == (0, True)
            model.trials.append(Fact(number, self.engine.trials[number].bracket))
        trial = model.trials[number]
        assert start == trial.furthest
        if trial.state is State.LOST:
            assert (model.lost.pop(0), until) == (number, trial.until)
        elif not new and model.kind == "synchronous":
            self.check_synchronous_promotion(trial, until)
        if number in model.behind:
            model.behind.remove(number)
        model.run(trial, until)
        if model.kind == "promotion" and not model.brackets:
            assert until <= model.levels(0)[model.ceiling]

    def expected_job(self):
        """(trial, start, until); None: no job; "any": more than this model knows."""
        model = self.model
        if self.ended:
            return None
        if model.lost:
            trial = model.trials[model.lost[0]]
            return trial.id, trial.furthest, trial.until
        if model.kind == "synchronous":
            return "any"
        job = model.promotion()
        if job is None and len(model.trials) < self.trials:
            if model.brackets:
                return "any"  # which bracket, the scheduler knows
            levels = model.levels(0)
            return len(model.trials), 0, levels[-1 if model.kind == "stopping" else 0]
        return job

    def check_synchronous_promotion(self, trial, until):
        """Everyone sent to the rung is back, and the trial is in its best part."""
        model = self.model
        levels = model.levels(trial.bracket)
        k = levels.index(until) - 1
        rung = rungs_of(self.engine)[trial.bracket][k].losses
        sent = [
            t
            for t in model.trials
            if t.bracket == trial.bracket and (k == 0 or levels[k] in t.aims)
        ]
        assert {t.id for t in sent} <= set(rung)
        assert trial.state is State.PAUSED
        assert trial.id in model.best_part(rung)
        assert len(set(rung) & {t.id for t in sent if until in t.aims}) < len(rung) // model.eta

    def check_that_all_were_promoted(self):
        """The best part of every rung is in the next one."""
        for rungs in rungs_of(self.engine).values():
            for lower, upper in pairwise(rungs):
                best, there = set(self.model.best_part(lower.losses)), set(upper.losses)
                if self.extended:  # who was promoted before stays promoted
                    assert len(there) >= len(lower.losses) // self.model.eta or best <= there
                else:
                    assert best == there

    @rule(data=st.data(), step=st.sampled_from([0.25, 0.5, 1, 1, 1, 2, 5, "level"]))
    @precondition(lambda self: self.running())
    def report(self, data, step):
        trial = self.choose(data, self.running())
        resource = self.model.aim(trial) if step == "level" else trial.furthest + step
        ordinary = st.integers(0, 16).map(lambda k: k / 16)
        odd = st.sampled_from([math.nan, INF, -INF])
        self.reports(trial, resource, data.draw(ordinary | ordinary | odd, label="value"))

    @rule(seed=st.integers(0, 2**16), steps=st.sampled_from([[1], [1], [0.5], [1, 0.5, 3]]))
    def work(self, seed, steps):
        """The ordinary course of things, so that studies get somewhere."""
        rng = np.random.default_rng(seed)
        self.ask(6)
        for _ in range(80):
            running = self.running()
            if not running:
                break
            trial = running[int(rng.integers(len(running)))]
            resource = trial.furthest + float(rng.choice(steps))
            self.reports(trial, resource, int(rng.integers(64)) / 64)
            if trial.state is not State.RUNNING:
                self.leave(trial, Cause.END)

    def reports(self, trial, resource, value):
        finite = math.isfinite(value)
        expected = self.model.report(trial, resource, self.sign * value if finite else INF)
        self.ended = self.ended or self.over_budget()
        if self.ended and expected == "continue":
            expected = "pause"
            self.model.cut.append(trial.id)
        assert self.story.report(trial.id, resource, value) == TOLD[expected]
        if expected != "continue":
            trial.move(Cause.PAUSE if expected == "pause" else Cause.STOP)

    @rule(data=st.data(), part=st.sampled_from([1, 0.5, 0.125]))
    @precondition(lambda self: any(trial.curve for trial in self.running()))
    def repeat(self, data, part):
        trial = self.choose(data, [trial for trial in self.running() if trial.curve])
        before = snapshot(self.engine)
        told = self.story.report(trial.id, trial.furthest * part, -9.0)
        if self.ended:
            assert told == Pause()
            trial.move(Cause.PAUSE)
            self.model.cut.append(trial.id)
        else:
            assert told == Continue()
            assert snapshot(self.engine) == before

    @rule(data=st.data(), further=st.sampled_from([0, 1, 30]))
    @precondition(lambda self: self.settled())
    def report_late(self, data, further):
        trial = self.choose(data, self.settled())
        before = snapshot(self.engine)
        told = Pause() if trial.state is State.PAUSING else Stop()
        assert self.story.report(trial.id, trial.furthest + further, -9.0) == told
        assert snapshot(self.engine) == before

    @rule(data=st.data(), cause=st.sampled_from([Cause.END, Cause.LOSE, Cause.FAIL]))
    @precondition(lambda self: self.settled())
    def settled_job_leaves(self, data, cause):
        self.leave(self.choose(data, self.settled()), cause)

    @rule(data=st.data(), cause=st.sampled_from([Cause.LOSE, Cause.LOSE, Cause.FAIL, Cause.END]))
    @precondition(lambda self: self.running())
    def running_job_leaves(self, data, cause):
        self.leave(self.choose(data, self.running()), cause)

    @rule(
        more=st.sampled_from([0, 0, 1, 12]),
        factor=st.sampled_from([None, 2, 3, 5]),
        resource=st.sampled_from([0, 40]),
    )
    def extend(self, more, factor, resource):
        """More trials, a higher maximum (while no job is open), a larger budget."""
        model, held = self.model, self.engine.study
        trials = min(self.trials + more, POOL)
        budget = None if self.budget is None else self.budget + resource
        maximum = None
        if factor is not None and not model.open():
            higher = held.scheduler.max_resource * factor
            maximum = higher if higher <= HIGHEST else None  # the model takes its time
        limits = replace(held.limits, trials=trials, resource=budget)
        event = StudyExtended(limits, maximum)
        spent = sum(trial.furthest for trial in model.trials)
        still = self.ended and (
            (budget is not None and spent >= budget)
            or (self.drained and maximum is None and trials == self.trials)
        )
        if still or (maximum is None and limits == held.limits):
            before = snapshot(self.engine)
            with pytest.raises(IllegalEventError):
                self.engine.handle(event)
            assert snapshot(self.engine) == before
            return
        assert self.story.send(event) == Noted()
        self.trials, self.budget = trials, budget
        self.ended = self.drained = False
        self.extended = True
        model.extend(maximum)

    # ---- helpers ---------------------------------------------------------------------------------

    def running(self):
        return [trial for trial in self.model.open() if trial.state is State.RUNNING]

    def settled(self):
        return [trial for trial in self.model.open() if trial.state is not State.RUNNING]

    def choose(self, data, trials):
        return trials[data.draw(st.integers(0, len(trials) - 1), label="which")]

    def over_budget(self):
        spent = sum(trial.furthest for trial in self.model.trials)
        return self.budget is not None and spent >= self.budget

    def leave(self, trial, cause):
        send = {Cause.END: Story.end, Cause.LOSE: Story.lose, Cause.FAIL: Story.fail}[cause]
        assert send(self.story, trial.id) == Noted()
        trial.move(cause)
        if trial.id in self.model.cut and not self.ended:  # extended while it was leaving
            self.model.cut.remove(trial.id)
            trial.move(Cause.EXTEND)
        if trial.state is State.LOST:
            self.model.lost.append(trial.id)

    # ---- invariants ------------------------------------------------------------------------------

    @invariant()
    def every_trial_is_in_the_state_the_table_of_moves_gives(self):
        assert [t.state for t in self.engine.trials] == [t.state for t in self.model.trials]
        assert [t.resource for t in self.engine.trials] == [t.furthest for t in self.model.trials]

    @invariant()
    def nobody_has_two_open_jobs(self):
        on_workers = sorted(trial.id for trial in self.engine._work.open.values())
        assert on_workers == [trial.id for trial in self.model.open()]
        assert all(
            self.engine.list_jobs(trial.id)[-1].id == job
            for job, trial in self.engine._work.open.items()
        )

    @invariant()
    def rungs_hold_the_first_report_at_or_beyond_their_level(self):
        model = self.model
        for bracket, rungs in rungs_of(self.engine).items():
            assert [rung.level for rung in rungs] == model.levels(bracket)
            for k, rung in enumerate(rungs):
                expected = model.rung(bracket, k)
                if model.kind == "synchronous":  # a rung is entered when its turn has come
                    expected = {t: loss for t, loss in expected.items() if t in rung.losses}
                assert rung.losses == expected

    @invariant()
    def the_ceiling_stands_where_it_should(self):
        ceilings = [tuple(entry) for entry in self.engine.scheduler.ceilings]
        assert ceilings == self.model.ceilings
        assert ceilings == sorted(ceilings)
        assert ceilings[-1][1] <= self.model.levels(0)[-1]

    @invariant()
    def the_best_and_the_sums_are_those_of_all_reports(self):
        engine, best = self.engine, self.model.best()
        assert (engine.best is None) == (best is None)
        if best is not None:
            assert (engine.best_loss, engine.best.id, engine.best_resource) == best
            assert engine.best_value == self.sign * best[0]
        assert engine.spent == sum(trial.furthest for trial in self.model.trials)
        assert engine.reports == sum(len(trial.curve) for trial in self.model.trials)

    @invariant()
    def the_log_rebuilds_the_engine_now_and_then(self):
        """A replay compares every decision; the rest of the engine at some steps and the last."""
        self.steps += 1
        if self.steps % REPLAY_EVERY == 0:
            self.assert_rebuilt()

    def teardown(self):
        if hasattr(self, "story"):
            self.assert_rebuilt()

    def assert_rebuilt(self):
        assert snapshot(replay(self.story.study, self.story.log)) == snapshot(self.engine)


@pytest.mark.no_cover
@pytest.mark.parametrize(
    "recipes",
    [
        pashas("noise", "leader"),
        pashas("exact", "soft", "sigma"),
        pashas("rbo", "rrr", "arrr"),
        ashas(),
        synchronous(),
    ],
    ids=["noise", "soft", "regret", "asha", "synchronous"],
)
def test_random_studies_keep_every_promise(recipes, request):
    machine = type("Machine", (Machine,), {"recipes": recipes})
    studies = 8 if "not slow" in request.config.option.markexpr else 40
    size = settings(max_examples=studies, stateful_step_count=40)
    run_state_machine_as_test(machine, settings=size)
