"""Figures of hyperparameters, of the history and of the workers show what there is."""

import math
import sys
import threading

import numpy as np
import pytest
from command_line import run_here
from extras import needs
from figure_reading import axis_of, layers_of, legend_of, note_of, points_of, rows_of, title_of

import rungwise as rw
from rungwise import plots
from rungwise.errors import InvalidArgumentError, MissingExtraError
from rungwise.plots.html import to_json
from rungwise.plots.progress import list_bars
from rungwise.views.hyperparameters import (
    ENOUGH,
    compare_trials,
    estimate_surface,
    rank_importance,
)

SPACE = {
    "wd": rw.Float(0, 0.5, step=0.1),
    "lr": rw.Float(1e-4, 1, log=True),
    "act": ["relu", "</script>", "tanh"],
    "idle": rw.Int(1, 9),
    "fixed": 3,
}


REPORTED = threading.Event()  # by trial 0: the others come after it, however busy the machine is


def train(config, run):
    if run.trial > 0:
        REPORTED.wait(60)
    for epoch in run.resources():
        with run.checkpoint(epoch):
            pass
        loss = (math.log10(config["lr"]) + 2) ** 2 + config["wd"] + 1 / epoch
        run.report(epoch, loss=loss + (100 if config["act"] == "tanh" and run.trial == 0 else 0))
        REPORTED.set()


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    path = tmp_path_factory.mktemp("study") / "s.db"
    rw.tune(train, SPACE, metric="loss", max_resource=9, trials=60, study=path, seed=3,
            scheduler="asha", backend=rw.Threads(2), show="quiet",
            initial=[{"wd": 0.5, "lr": 1.0, "act": "tanh", "idle": 1, "fixed": 3}])  # fmt: skip
    return path


@pytest.fixture(scope="module")
def result(study):
    return rw.load(study)


# -- what is computed --------------------------------------------------------------------------


def test_trials_are_compared_at_the_highest_rung_that_enough_have_reached(result):
    reached = {level: sum(rung.entered for rung in result.rungs() if rung.level == level)
               for level in (1, 3, 9)}  # fmt: skip
    assert reached[9] < ENOUGH <= reached[3]
    comparable = compare_trials(result.view)
    assert comparable.level == 3
    curves = result.curves()
    assert {point.trial: point.value for point in comparable.points} == {
        trial: dict(curve)[3] for trial, curve in curves.items() if len(curve) >= 3
    }
    assert len(compare_trials(result.view, 1).points) == 60
    assert [scale.name for scale in comparable.scales] == ["wd", "lr", "act", "idle"]
    with pytest.raises(InvalidArgumentError, match="at least two trials must be compared"):
        compare_trials(result.view, 27)


def test_what_matters_is_found_and_it_says_where_it_looked(result):
    needs("importance")
    found = rank_importance(compare_trials(result.view, 1))
    assert found[0].name == "lr"
    assert sum(one.share for one in found) == pytest.approx(1)
    shares = {one.name: one.share for one in found}
    assert shares["lr"] > 3 * shares["idle"]
    assert found == rank_importance(compare_trials(result.view, 1))  # the same seed, the same
    figure = plots.importance(result, rung=1)
    assert [row["name"] for row in rows_of(layers_of(figure, "bar")[0])] == [
        one.name for one in found
    ]
    assert note_of(figure) == "permutation importance, at rung 1: 60 trials"


def test_importance_names_its_extra(result, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    with pytest.raises(MissingExtraError, match=r"rungwise\[importance\]"):
        plots.importance(result)


def test_the_surface_is_near_the_trials_what_they_reported(result):
    comparable = compare_trials(result.view, 1)
    first, second = comparable.find("lr"), comparable.find("wd")
    cells = estimate_surface(comparable, first, second, cells=10)
    assert len(cells) == 100
    values = [point.value for point in comparable.points]
    assert min(values) <= min(v for *_, v in cells) <= max(v for *_, v in cells) <= max(values)


# -- what is drawn -----------------------------------------------------------------------------


def test_the_history_is_the_best_so_far_over_what_was_spent(result):
    figure = plots.history(result)
    (line,) = rows_of(layers_of(figure, "line")[0])
    bests = result.view.bests
    values = [value for *_, value in bests]
    assert values == sorted(values, reverse=True)
    assert (bests[-1][2], values[-1]) == (result.best.trial, result.best.value)
    points = points_of(line)
    assert [x for x, _ in points] == [spent for spent, *_ in bests] + [result.resource_spent]
    assert points[-1][1] == result.best.value
    # The first value, 100 more than the others, does not flatten them.
    assert axis_of(figure, "y")["scale"]["domain"][1] < 50 < values[0]
    changes = rows_of(layers_of(figure, "point")[0])
    assert changes[-1]["name"] == f"trial {result.best.trial}"
    over = plots.history(result, over="seconds")
    assert axis_of(over, "x")["title"] == "seconds"
    with pytest.raises(InvalidArgumentError, match="'resource' or 'seconds'"):
        plots.history(result, over="epochs")


def test_a_maximised_metric_climbs():
    figure = plots.history(rw.simulate(
        rw.Table(np.random.default_rng(0).random((30, 9)), goal="max"), rw.ASHA(), trials=30
    ))  # fmt: skip
    (line,) = rows_of(layers_of(figure, "line")[0])
    assert line["y"] == sorted(line["y"])


def test_parallel_coordinates_have_a_line_per_trial_in_the_users_order(result):
    figure = plots.parallel_coordinates(result, rung=1)
    lines = rows_of(layers_of(figure, "line")[0])
    assert len(lines) == 60
    assert axis_of(figure, "x")["sort"] == ["wd", "lr", "act", "idle"]
    best = lines[-1]  # on top
    top = min(compare_trials(result.view, 1).points, key=lambda point: point.value)
    assert best["number"] == top.trial
    assert best["y"][0] == pytest.approx(top.config["wd"] / 0.5)
    assert all(0 <= y <= 1 for line in lines for y in line["y"])
    assert len(rows_of(layers_of(plots.parallel_coordinates(result, limit=5), "line")[0])) == 5


def test_a_slice_has_the_values_over_one_hyperparameter(result):
    figure = plots.slice(result, "lr", rung=1)
    rows = rows_of(layers_of(figure, "point")[0])
    assert {(row["x"], row["y"]) for row in rows} == {
        (point.config["lr"], point.value) for point in compare_trials(result.view, 1).points
    }
    assert axis_of(figure, "x")["scale"]["type"] == "log"
    assert axis_of(plots.slice(result, "act"), "x")["type"] == "nominal"
    assert title_of(plots.slice(result)) == "loss over wd"
    with pytest.raises(InvalidArgumentError, match="it must be one of wd, lr, act, idle"):
        plots.slice(result, "fixed")


def test_a_contour_is_over_two_hyperparameters(result):
    figure = plots.contour(result, rung=1)
    assert title_of(figure) == "loss over wd and lr"
    assert len(rows_of(layers_of(figure, "point")[0])) == 60
    low, high = layers_of(figure, "rect")[0]["encoding"]["color"]["scale"]["domain"]
    assert high < 50  # the one that exploded does not take all the colours
    assert low < high
    with pytest.raises(InvalidArgumentError, match="another one than the first"):
        plots.contour(result, "lr", "lr")


def test_no_two_jobs_of_a_timeline_overlap_on_a_line(result):
    bars = list_bars(result.view)
    assert len(bars) == len(result.engine.jobs)
    lanes = {}
    for bar in sorted(bars, key=lambda bar: bar["x"]):
        assert bar["x"] <= bar["x2"]
        assert lanes.get(bar["lane"], 0) <= bar["x"]
        lanes[bar["lane"]] = bar["x2"]
    assert set(lanes) == {0, 1}
    figure = plots.timeline(result)
    assert set(legend_of(figure)) == {"completed", "paused"}
    assert note_of(figure) == f"{len(bars)} jobs on 2 workers"


def test_a_running_job_ends_where_the_study_stands():
    engine = rw.replay(_log())
    (bar,) = list_bars(rw.StudyView(engine))
    assert (bar["x"], bar["x2"], bar["label"]) == (1.0, 1.0, "running")


def _log():
    from rungwise.core.engine import Engine  # noqa: PLC0415
    from rungwise.core.events import JobRequested  # noqa: PLC0415
    from rungwise.core.limits import Limits  # noqa: PLC0415
    from rungwise.core.study import Study  # noqa: PLC0415

    log = rw.MemoryLog()
    study = Study(rw.ASHA(max_resource=9), Limits(trials=2), initial=[{"x": 1}, {"x": 2}])
    log.begin(study)
    event = JobRequested(1.0)
    log.append(event, Engine(study).handle(event))
    return log


@pytest.mark.parametrize("draw", [plots.history, plots.slice, plots.timeline, plots.contour])
def test_what_cannot_be_drawn_is_said(draw):
    with pytest.raises(InvalidArgumentError, match="it must be the result of a study"):
        draw(5)

    def silent(config, run):
        raise ValueError("nothing works")

    empty = rw.tune(silent, {"x": rw.Float(0, 1)}, metric="loss", max_resource=3, trials=2,
                    retries=0, backend=rw.Threads(1), show="quiet")  # fmt: skip
    if draw is not plots.timeline:
        with pytest.raises(InvalidArgumentError, match="at least"):
            draw(empty)


# -- the command -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        "",
        "--kind history --over seconds -o h.json",
        "--kind importance -o i.png",
        "--kind parallel -o p.json",
        "--kind slice --parameter act -o s.json",
        "--kind contour --parameter lr --parameter act --rung 1 -o c.svg",
        "--kind timeline -o t.json",
        "--kind curves -o v.json",
        "--kind ladder -o l.json",
    ],
)
def test_the_command_draws_every_kind(study, tmp_path, options):
    needs("plots")
    needs("importance")
    done = run_here(["plot", study, *options.split()], folder=tmp_path)
    assert done.returncode == 0, done.stderr
    name = options.split()[-1] if "-o" in options else "s-history.html"
    assert done.stdout == f"wrote {name}\n"
    assert (tmp_path / name).stat().st_size > 1000


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--kind pie", "--kind is 'pie', but it must be 'history' or 'curves'"),
        ("--kind history --rung 3", "it is for the kinds importance, parallel, slice, contour"),
        ("--kind slice --parameter none", "it must be one of wd, lr, act, idle"),
        ("--kind slice --parameter lr --parameter wd", "a slice has at most 1"),
        ("-o h.gif", "it must end in .html, .svg, .png or .json"),
    ],
)
def test_the_command_says_what_is_wrong(study, tmp_path, options, said):
    done = run_here(["plot", study, *options.split()], folder=tmp_path)
    assert done.returncode == 2
    assert said in " ".join(done.stderr.split())
    assert not list(tmp_path.iterdir())


def test_users_texts_are_data_in_every_specification(result):
    for figure in (plots.parallel_coordinates(result), plots.contour(result, "act", "lr")):
        assert "</script>" in to_json(figure.spec)
        assert "'</script>'" not in to_json(figure.spec)
