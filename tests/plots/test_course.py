"""How a study went: ε and the ladder, from simulated studies, engines and tuned ones."""

import math
from dataclasses import replace

import pytest
from extras import needs

import rungwise as rw
from rungwise import plots

needs("plots")

TABLE = rw.power_laws(64, 81, seed=1)


@pytest.fixture(scope="module")
def result():
    return rw.simulate(TABLE, rw.PASHA(max_resource=81), trials=64)


@pytest.fixture(scope="module")
def asha():
    return rw.simulate(TABLE, rw.ASHA(max_resource=81), trials=64)


def points(trace):
    return list(zip(trace.x, trace.y, strict=True))


def named(figure, name):
    (found,) = [trace for trace in figure.data if trace.name.startswith(name)]
    return found


# -- ε -----------------------------------------------------------------------------------------


def test_epsilon_is_a_stair_from_0_to_the_end(result):
    line, rises = plots.epsilon(result).data
    last = result.epsilons[-1][1]
    assert points(line) == [(0, 0), *result.epsilons, (result.reports, last)]
    assert line.line.shape == "hv"
    assert plots.epsilon(result).layout.yaxis.title.text == "ε"
    assert list(rises.x) == [reports for reports, _ in result.ceilings[1:]]


def test_where_the_ceiling_rises_the_dot_is_on_the_line(result):
    made = replace(
        result, ceilings=[(0, 3), (5, 9), (12, 27), (30, 81)], epsilons=[(10, 0.2), (30, 0.1)]
    )
    _, rises = plots.epsilon(made).data
    assert points(rises) == [(5, 0.0), (12, 0.2), (30, 0.1)]
    assert rises.text[:2] == ("ε<br>the ceiling rises to 9", "ε<br>the ceiling rises to 27")


def test_a_ceiling_that_never_rose_has_no_dots(result):
    made = replace(result, ceilings=[(0, 3)])
    assert len(plots.epsilon(made).data) == 1


def test_several_studies_by_label(result, asha):
    figure = plots.epsilon({"<PASHA>": result, "ASHA": asha})
    names = [trace.name for trace in figure.data]
    assert names == [
        "&lt;PASHA&gt;",
        "&lt;PASHA&gt;: the ceiling rises",
        "ASHA (asked for no ε)",
    ]
    assert figure.data[0].line.color != figure.data[2].line.color


def test_a_study_without_epsilon_is_refused(asha):
    with pytest.raises(rw.InvalidArgumentError, match="must have asked for ε"):
        plots.epsilon(asha)
    with pytest.raises(rw.InvalidArgumentError, match="one at least"):
        plots.epsilon({})
    with pytest.raises(rw.InvalidArgumentError, match="what came of a study"):
        plots.epsilon({"a": TABLE})


# -- the ladder --------------------------------------------------------------------------------


def test_jobs_stand_one_after_the_other(result):
    figure = plots.ladder(result)
    ends, total = [], 0
    for row, start, until in result.jobs:
        total += until - start
        ends.append((total, until, row, start))
    best = result.best.row
    assert points(named(figure, "a job ends")) == [(x, y) for x, y, row, _ in ends if row != best]
    winner = named(figure, "the winner climbs")
    assert points(winner) == [(x, y) for x, y, row, _ in ends if row == best]
    assert winner.name == f"the winner climbs (row {best})"
    assert winner.mode == "lines+markers"
    assert named(figure, "a job ends").mode == "markers"
    assert named(figure, "a job ends").text[0] == f"row {result.jobs[0][0]}: from 0 to 1"
    assert f"{len(result.jobs)} jobs" in figure.layout.title.text


def test_promotions_are_lines_from_rung_to_rung(result):
    promoted = named(plots.ladder(result), "promoted")
    lines = [(start, until) for _, start, until in result.jobs if start > 0]
    assert len(promoted.x) == 3 * len(lines)
    assert [(promoted.y[3 * n], promoted.y[3 * n + 1]) for n in range(len(lines))] == lines
    assert promoted.x[0] == promoted.x[1]
    assert promoted.x[2] is None


def test_the_ceiling_rises_in_steps_and_no_job_is_above_it(result):
    figure = plots.ladder(result)
    ceiling = named(figure, "the ceiling")
    last = result.ceilings[-1][1]
    assert points(ceiling) == [*result.ceilings, (result.reports, last)]
    assert ceiling.line.shape == "hv"
    for x, y in points(named(figure, "a job ends")):
        level = max(level for reports, level in result.ceilings if reports <= x)
        assert y <= level


def test_rungs_are_evenly_spaced_and_written_at_the_axis(result):
    axis = plots.ladder(result).layout.yaxis
    assert (axis.type, list(axis.tickvals)) == ("log", [1, 3, 9, 27])
    assert list(axis.ticktext) == ["1", "3", "9", "27"]
    low, high = axis.range
    assert low < math.log10(1)
    assert math.log10(27) < high


def test_many_levels_are_not_all_written(result):
    made = replace(result, jobs=[(n, 0, n + 1) for n in range(100)], resource_spent=5050)
    written = plots.ladder(made).layout.yaxis.tickvals
    assert len(written) == 12
    assert written[-1] == 100


def test_what_the_end_cut_off_is_told(result):
    ended = rw.simulate(TABLE, rw.PASHA(max_resource=81), trials=64, finish="paper")
    due = sum(until - start for _, start, until in ended.jobs)
    assert due > ended.resource_spent
    text = plots.ladder(ended).layout.title.text
    assert f"{due - ended.resource_spent} of their reports were due when the study ended" in text
    assert "were due" not in plots.ladder(result).layout.title.text


def test_jobs_that_were_stopped_need_the_log():
    recipe, log = rw.PASHA(max_resource=81, variant="stopping"), rw.MemoryLog()
    stopped = rw.simulate(TABLE, recipe, trials=64, log=log)
    due = sum(until - start for _, start, until in stopped.jobs)
    words = (
        rf"jobs that were to train {due:,} and trained {stopped.resource_spent}, .*replay\(log\)"
    )
    with pytest.raises(rw.InvalidArgumentError, match=words):
        plots.ladder(stopped)
    engine = rw.replay(log)
    figure = plots.ladder(engine)
    ends = points(named(figure, "a job ends")) + points(named(figure, "the winner climbs"))
    assert sorted(y for _, y in ends) == sorted(trial.resource for trial in engine.trials)
    assert max(x for x, _ in ends) == engine.spent
    assert "were due" not in figure.layout.title.text


def test_an_engine_shows_the_same_as_its_result(result):
    log = rw.MemoryLog()
    rw.simulate(TABLE, rw.PASHA(max_resource=81), trials=64, log=log)
    engine = rw.replay(log)
    of_engine, of_result = plots.ladder(engine), plots.ladder(result)
    for one, other in zip(of_engine.data, of_result.data, strict=True):
        assert points(one) == points(other)
    assert points(plots.epsilon(engine).data[0]) == points(plots.epsilon(result).data[0])


def train(config, run):
    for epoch in run.resources():
        run.report(epoch, error=config["x"] + 1 / epoch)


def test_a_tuned_study_names_its_metric_and_its_trials(tmp_path):
    done = rw.tune(
        train,
        {"x": rw.Float(0, 1)},
        metric="error",
        goal="min",
        max_resource=27,
        trials=20,
        study=tmp_path / "study.db",
        show="quiet",
    )
    figure = plots.ladder(done)
    assert named(figure, "the winner climbs").name == f"the winner climbs (trial {done.best.trial})"
    reached = [y for trace in figure.data[1:3] for _, y in points(trace)]
    assert max(reached) == done.max_resource
    if done.engine.scheduler.epsilons:
        assert plots.epsilon(done).layout.yaxis.title.text == "ε (in units of error)"


def test_nothing_to_draw_is_refused():
    nothing = rw.random_configuration(TABLE)
    with pytest.raises(rw.InvalidArgumentError, match="one at least"):
        plots.ladder(nothing)
    with pytest.raises(rw.InvalidArgumentError, match="what came of a study"):
        plots.ladder("study.db")


def test_a_study_of_one_row_is_its_winners_climb(result):
    alone = rw.simulate(TABLE, rw.RandomSearch(max_resource=9), trials=[3])
    names = [trace.name for trace in plots.ladder(alone).data]
    assert names == ["promoted", "the winner climbs (row 3)", "the ceiling"]
    lost = replace(result, best=None, ceilings=[])
    assert [trace.name for trace in plots.ladder(lost).data] == ["promoted", "a job ends"]


def test_jobs_that_have_not_reported_yet_are_no_dots():
    log = rw.MemoryLog()
    rw.simulate(TABLE, rw.ASHA(max_resource=81), trials=20, finish="paper", log=log)
    engine = rw.replay(log)
    waiting = [trial for trial in engine.trials if not trial.resource]
    assert waiting
    figure = plots.ladder(engine)
    dots = sum(len(trace.x) for trace in figure.data[1:3])
    assert dots == sum(job.start < end for job, end in _ends(engine))


def _ends(engine):
    """(job, where it ended) of every job, looked up the long way."""
    for job in engine.jobs:
        later = [other.start for other in engine.list_jobs(job.trial) if other.id > job.id]
        yield job, min(later, default=engine.trials[job.trial].resource)
