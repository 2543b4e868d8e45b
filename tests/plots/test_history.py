"""The history of a study: ε and the ladder, from simulated studies, engines and tuned ones."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from figure_reading import axis_of, layers_of, legend_of, note_of, points_of, rows_of, title_of

import rungwise as rw
from rungwise import plots, rankings
from rungwise.plots import theme
from rungwise.views import StudyView

TABLE = rw.power_laws(64, 81, seed=1)
CALM = rw.Table(np.add.outer(np.linspace(0, 1, 40), 1 / np.arange(1, 82)))
"""Curves that never cross."""


@pytest.fixture(scope="module")
def result():
    return rw.simulate(TABLE, rw.PASHA(max_resource=81), trials=64)


@pytest.fixture(scope="module")
def asha():
    return rw.simulate(TABLE, rw.ASHA(max_resource=81), trials=64)


def changed(result, **facts):
    """The view of a study, with another history."""
    study = result.view._study
    scheduler = SimpleNamespace(**{**vars(study.scheduler), **facts})
    return StudyView(replace(study, scheduler=scheduler))


def pairs(layer):
    return [(row["x"], row["y"]) for row in rows_of(layer)]


def labelled(figure, mark, name):
    """The layer of a mark whose rows have a label."""
    (found,) = [
        layer
        for layer in layers_of(figure, mark)
        if any(row.get("label", "").startswith(name) for row in rows_of(layer))
    ]
    return found


# -- ε -----------------------------------------------------------------------------------------


def test_epsilon_is_a_stair_from_0_to_the_end(result):
    figure = plots.epsilon(result)
    (line,) = layers_of(figure, "line")
    last = result.epsilons[-1][1]
    assert points_of(rows_of(line)[0]) == [(0, 0), *result.epsilons, (result.reports, last)]
    assert line["mark"]["interpolate"] == "step-after"
    assert axis_of(figure, "y")["title"] == "ε"
    (rises,) = layers_of(figure, "point")
    assert [row["x"] for row in rows_of(rises)] == [reports for reports, _ in result.ceilings[1:]]
    assert legend_of(figure) == {}, "one line needs no legend"
    assert axis_of(figure, "y")["scale"]["domain"][1] > max(y for _, y in result.epsilons)


def test_where_the_ceiling_rises_the_dot_is_on_the_line(result):
    made = changed(
        result, ceilings=[(0, 3), (5, 9), (12, 27), (30, 81)], epsilons=[(10, 0.2), (30, 0.1)]
    )
    figure = plots.epsilon(made)
    (rises,) = layers_of(figure, "point")
    assert pairs(rises) == [(5, 0.0), (12, 0.2), (30, 0.1)]
    (levels,) = layers_of(figure, "text")
    assert [row["level"] for row in rows_of(levels)] == [9, 27, 81]
    assert levels["encoding"]["text"]["field"] == "level"
    assert "dots mark where the ceiling rose" in note_of(figure)


def test_a_ceiling_that_never_rose_has_no_dots(result):
    figure = plots.epsilon(changed(result, ceilings=[(0, 3)]))
    assert all(not rows_of(layer) for layer in layers_of(figure, "point"))
    assert "dots" not in note_of(figure)


def test_several_studies_by_label(result, asha):
    figure = plots.epsilon({"<PASHA>": result, "ASHA": asha})
    looks = legend_of(figure)
    assert list(looks) == ["<PASHA>", "ASHA (has no ε)"]
    assert len(set(looks.values())) == 2
    lines = {row["label"]: points_of(row) for row in rows_of(layers_of(figure, "line")[0])}
    assert lines["ASHA (has no ε)"] == []
    assert {row["label"] for row in rows_of(layers_of(figure, "point")[0])} == {"<PASHA>"}


def test_a_study_whose_ranking_never_changed_is_drawn_with_a_note(result):
    calm = rw.simulate(CALM, rw.PASHA(max_resource=81), trials=40)
    assert calm.epsilons == []
    figure = plots.epsilon(calm)
    (line,) = layers_of(figure, "line")
    assert points_of(rows_of(line)[0]) == [(0, 0.0), (calm.reports, 0.0)]
    assert note_of(figure) == "no check has depended on ε, so it is still 0"
    assert axis_of(figure, "y")["axis"]["values"] == [0], "no other height means anything"
    both = plots.epsilon({"calm": calm, "noisy": result})
    assert list(legend_of(both)) == ["calm (not needed)", "noisy"]


def test_a_study_under_a_bar_is_asked_for_its_inner_scheduler():
    recipe = rw.Rush(rw.PASHA(max_resource=81), priors=1)
    rushed = rw.simulate(CALM, recipe, trials=40)
    assert rushed.epsilons == []
    assert len(rows_of(layers_of(plots.epsilon(rushed), "line")[0])) == 1


def test_a_study_without_epsilon_is_refused(asha):
    with pytest.raises(rw.InvalidArgumentError, match="at least one study must estimate it"):
        plots.epsilon(asha)
    exact = rw.simulate(TABLE, rw.PASHA(max_resource=81, ranking=rankings.Exact()), trials=9)
    with pytest.raises(rw.InvalidArgumentError, match="at least one study must estimate it"):
        plots.epsilon({"exact": exact})
    with pytest.raises(rw.InvalidArgumentError, match="at least one"):
        plots.epsilon({})
    with pytest.raises(rw.InvalidArgumentError, match="the result of a study"):
        plots.epsilon({"a": TABLE})


# -- the ladder --------------------------------------------------------------------------------


def test_jobs_stand_one_after_the_other(result):
    figure = plots.ladder(result)
    ends, total = [], 0
    for row, start, until in result.jobs:
        total += until - start
        ends.append((total, until, row, start))
    best = result.best.row
    jobs = labelled(figure, "point", "end of a job")
    assert pairs(jobs) == [(x, y) for x, y, row, _ in ends if row != best]
    winner = labelled(figure, "point", "the winner")
    path = [(x, y) for x, y, row, _ in ends if row == best]
    assert pairs(winner) == pairs(labelled(figure, "line", "the winner")) == path
    first = rows_of(jobs)[0]
    assert (first["trial"], first["from"], first["y"]) == (0, 0, 1)
    assert first["about"] == f"row={result.jobs[0][0]}"
    assert list(legend_of(figure)) == [
        *("end of a job", f"the winner (trial {result.best.trial})", "the ceiling"),
    ]
    assert note_of(figure) == f"{len(result.jobs)} jobs; thin lines are promotions"
    assert title_of(figure) == "The ladder over time"


def test_promotions_are_lines_from_rung_to_rung(result):
    (promoted,) = layers_of(plots.ladder(result), "rule")
    lines = [(start, until) for _, start, until in result.jobs if start > 0]
    assert [(row["y"], row["y2"]) for row in rows_of(promoted)] == lines


def test_the_ceiling_rises_in_steps_and_no_job_is_above_it(result):
    figure = plots.ladder(result)
    ceiling = labelled(figure, "line", "the ceiling")
    last = result.ceilings[-1][1]
    assert pairs(ceiling) == [*result.ceilings, (result.reports, last)]
    assert ceiling["mark"]["interpolate"] == "step-after"
    for x, y in pairs(labelled(figure, "point", "end of a job")):
        level = max(level for reports, level in result.ceilings if reports <= x)
        assert y <= level


def test_the_ceiling_is_below_the_dots(result):
    marks = [
        next((row["label"] for row in rows_of(layer) if "label" in row), "")
        for layer in plots.ladder(result).spec["layer"]
        if layer.get("name") != "hover"
    ]
    assert marks.index("the ceiling") < marks.index("end of a job")


def test_rungs_are_evenly_spaced_and_written_at_the_axis(result):
    y = axis_of(plots.ladder(result), "y")
    assert (y["scale"]["type"], y["axis"]["values"]) == ("log", [1, 3, 9, 27])
    low, high = y["scale"]["domain"]
    assert 0 < low < 1
    assert high > 27


def test_many_levels_are_not_all_written():
    table = rw.power_laws(3, 3000)
    recipe = rw.ASHA(max_resource=3000, min_resource=1, eta=2)
    # Every level in turn, with a ladder of more of them than there is room for.
    long = rw.simulate(table, recipe, trials=3)
    ladder = SimpleNamespace(levels=tuple(range(1, 3000, 30)))
    y = axis_of(plots.ladder(changed(long, ladder=ladder)), "y")
    reached = [level for level in ladder.levels if level <= 3000]
    assert len(y["axis"]["values"]) == 12
    assert y["axis"]["values"][-1] == reached[-1]


def test_a_study_that_ended_early_shows_what_was_trained():
    ended = rw.simulate(TABLE, rw.PASHA(max_resource=81), trials=64, finish="paper")
    due = sum(until - start for _, start, until in ended.jobs)
    assert due > ended.resource_spent
    figure = plots.ladder(ended)
    dots = [pair for layer in layers_of(figure, "point") for pair in pairs(layer)]
    assert max(x for x, _ in dots) == ended.resource_spent


def test_jobs_that_were_stopped_end_where_they_were_stopped():
    recipe, log = rw.PASHA(max_resource=81, variant="stopping"), rw.MemoryLog()
    stopped = rw.simulate(TABLE, recipe, trials=64, log=log)
    figure = plots.ladder(stopped)
    dots = [pair for layer in layers_of(figure, "point") for pair in pairs(layer)]
    engine = rw.replay(log)
    assert sorted(y for _, y in dots) == sorted(trial.resource for trial in engine.trials)
    assert max(x for x, _ in dots) == engine.spent
    assert plots.ladder(engine).spec == figure.spec


def test_an_engine_shows_the_same_as_its_result(result):
    log = rw.MemoryLog()
    rw.simulate(TABLE, rw.PASHA(max_resource=81), trials=64, log=log)
    engine = rw.replay(log)
    assert plots.ladder(engine).spec == plots.ladder(result).spec
    assert plots.epsilon(engine).spec == plots.epsilon(result).spec


def train(config, run):
    start = 0
    if run.latest:
        start = int((run.latest / "epoch").read_text())
    for epoch in run.resources():
        assert epoch > start
        with run.checkpoint(epoch) as folder:
            (folder / "epoch").write_text(str(epoch))
        run.report(epoch, error=config["x"] + 1 / epoch)


SPACE = {"x": rw.Float(0, 1)}


def test_a_tuned_study_names_its_metric_and_its_trials(tmp_path):
    done = rw.tune(
        train,
        SPACE,
        metric="error",
        goal="min",
        scheduler="pasha",
        max_resource=27,
        trials=20,
        study=tmp_path / "study.db",
        show="quiet",
    )
    figure = plots.ladder(done)
    assert f"the winner (trial {done.best.trial})" in legend_of(figure)
    reached = [y for layer in layers_of(figure, "point") for _, y in pairs(layer)]
    assert max(reached) == done.max_resource
    assert rows_of(layers_of(figure, "point")[0])[0]["about"].startswith("x=")
    assert axis_of(plots.epsilon(done), "y")["title"] == "ε (in units of error)"


def test_the_ends_of_interrupted_jobs_are_no_rungs(tmp_path):
    def stop(report):
        if report.resource == 5:
            raise KeyboardInterrupt

    common = {
        "metric": "error",
        "goal": "min",
        "max_resource": 27,
        "trials": 12,
        "study": tmp_path / "study.db",
        "show": "quiet",
        "scheduler": rw.ASHA(),
        "backend": rw.Threads(1),
    }
    with pytest.raises(KeyboardInterrupt):
        rw.tune(train, SPACE, on_report=stop, **common)
    done = rw.tune(train, SPACE, **common)
    figure = plots.ladder(done)
    reached = {y for layer in layers_of(figure, "point") for _, y in pairs(layer)}
    assert reached - {1, 3, 9, 27}, "a job ended between two rungs"
    assert axis_of(figure, "y")["axis"]["values"] == [1, 3, 9, 27]


def test_colours_say_what_is_what(result):
    looks = legend_of(plots.ladder(result))
    assert list(looks.values()) == [theme.colour(0), theme.colour(2), theme.colour(1)]
    shapes = legend_of(plots.ladder(result), "shape")
    assert list(shapes.values()) == ["circle", "circle", "stroke"]


def test_nothing_to_draw_is_refused():
    nothing = rw.random_configuration(TABLE)
    with pytest.raises(rw.InvalidArgumentError, match="at least one job must have reported"):
        plots.ladder(nothing)
    with pytest.raises(rw.InvalidArgumentError, match="the result of a study"):
        plots.ladder("study.db")
