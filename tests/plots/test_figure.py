"""Figures and their files: what is in them, that they are the same each time, and do no harm."""

import io
import json
import os
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest
from browsers import BROWSER, needs_browser
from extras import needs
from figure_reading import Picture, axis_of, title_of
from hypothesis import given, settings
from hypothesis import strategies as st

import rungwise as rw
from rungwise import plots
from rungwise.benchmarks.benchmark import Benchmark
from rungwise.benchmarks.card import Card
from rungwise.plots import html, layers, theme
from rungwise.plots.figure import make_figure, make_svg

needs_converter = pytest.mark.usefixtures("converter")
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>&amp;%{x} ${y} \"'`\\"


@pytest.fixture
def converter():
    return needs("plots", "vl_convert")


@pytest.fixture
def no_converter(monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)


@pytest.fixture(scope="module")
def figure():
    return plots.pareto([plots.Point("A <1>", 1, 10, 0.5), plots.Point("B & C", 2, 900)])


def every_kind():
    """A figure of each kind, by name."""
    table = rw.power_laws(64, 81, seed=1)
    values = np.array(table.values)
    values[3, 5], values[7, :], values[7, 3] = 1e9, np.nan, 0.5
    result = rw.simulate(table, rw.PASHA(max_resource=81), trials=64)
    asha = rw.simulate(table, rw.ASHA(max_resource=81), trials=9)
    return {
        "curves": plots.learning_curves(table),
        "exploded": plots.learning_curves(rw.Table(values)),
        "top": plots.learning_curves(table, others=False),
        "study": plots.learning_curves(result),
        "epsilon": plots.epsilon(result),
        "epsilons": plots.epsilon({"PASHA": result, "ASHA": asha}),
        "ladder": plots.ladder(result),
        "pareto": plots.pareto([plots.Point("a", 1, 10, 0.5, 5), plots.Point("b", 2, 900)]),
        "many": plots.pareto([plots.Point(f"p{n}", n, n) for n in range(1, 30)]),
        "speedup": plots.speedup({"a": 2, "b": 0.5}),
    }


KINDS = every_kind()


@pytest.mark.parametrize("name", KINDS)
def test_the_language_allows_the_specification(name):
    altair = needs("altair", "altair")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of libraries that Altair imports
        altair.Chart.from_dict(KINDS[name].spec)


@needs_converter
@pytest.mark.parametrize("name", KINDS)
def test_the_converter_has_no_objections(name, converter, capfd):
    converter.vegalite_to_svg(KINDS[name].spec, vl_version="6.1", show_warnings=True)
    assert "WARN" not in "".join(capfd.readouterr())


@needs_converter
@pytest.mark.parametrize("name", KINDS)
def test_pictures_have_the_title_the_axes_and_marks(name):
    figure = KINDS[name]
    text = make_svg(figure)
    picture = Picture(text)
    assert text == make_svg(figure)
    assert {title_of(figure), axis_of(figure, "x")["title"]} <= set(picture.texts)
    assert len(picture.marks) >= 2
    assert not re.search(r"NaN|undefined|Infinity|null", text)
    root = picture.root
    assert (root.get("width"), root.get("height")) == ("900", str(figure.spec["height"]))


# -- where things are --------------------------------------------------------------------------


def drawn(rows, mark, **axes):
    titles = {axis: {"title": axis, **axes.get(axis, {})} for axis in "xy"}
    return Picture(make_svg(make_figure([layers.layer(rows, mark)], title="T", **titles)))


@needs_converter
def test_points_are_where_the_ticks_say():
    rows = [{"x": x, "y": y} for x, y in ((0, 0), (10, 4), (5, 2))]
    picture = drawn(rows, {**layers.DOT, "color": "#123456"})
    (low, high, middle), ticks = picture.dots("#123456"), picture.ticks
    assert ticks["y"]["4.0"][1] - 4 == pytest.approx(high[1], abs=2)
    assert ticks["y"]["0.0"][1] - 4 == pytest.approx(low[1], abs=2)
    assert ticks["x"]["5"][0] == pytest.approx(middle[0], abs=2)
    assert middle[0] == pytest.approx((low[0] + high[0]) / 2, abs=0.1)
    assert low[1] > high[1], "up is up"


@needs_converter
def test_a_logarithm_spaces_factors_evenly():
    rows = [{"x": x, "y": 1} for x in (1, 10, 100)]
    axis = layers.log_axis(0.5, 200, [1, 10, 100])
    picture = drawn(rows, {**layers.DOT, "color": "#123456"}, x=axis)
    one, ten, hundred = (x for x, _ in picture.dots("#123456"))
    assert ten - one == pytest.approx(hundred - ten, abs=0.1)
    places = {int(text): x for text, (x, _) in picture.ticks["x"].items()}
    assert places == {n: pytest.approx(x, abs=2) for n, x in ((1, one), (10, ten), (100, hundred))}


@needs_converter
def test_a_line_breaks_where_a_value_is_missing():
    table = rw.Table([[0.1, 0.2, np.nan, 0.4, 0.5, 0.6]])
    text = make_svg(plots.learning_curves(table))
    (line,) = [path for path in Picture(text).paths(theme.colour(0)) if len(path) > 2]
    assert len(line) == 5
    commands = re.findall(rf'd="([^"]*)"[^>]*stroke="{theme.colour(0)}"', text)
    assert max(commands, key=len).count("M") == 2


@needs_converter
def test_curves_are_where_their_values_are():
    picture = Picture(make_svg(plots.learning_curves(rw.Table([[1.0, 3.0, 2.0]]))))
    (line,) = [path for path in picture.paths(theme.colour(0)) if len(path) == 3]
    (x1, y1), (x2, y2), (x3, y3) = line
    assert x2 - x1 == pytest.approx(x3 - x2, abs=0.1)
    assert y1 - y3 == pytest.approx(y3 - y2, abs=0.1)


@needs_converter
def test_the_best_curve_is_drawn_last_and_over_all_others():
    table = rw.power_laws(40, 27)
    lines = re.findall(
        r'stroke="(#\w+)" stroke-(?:opacity|width)', make_svg(plots.learning_curves(table))
    )
    drawn = [colour for colour in lines if colour in (theme.FAINT, *theme.PALETTE[:3])]
    assert drawn.index(theme.colour(0)) > drawn.index(theme.FAINT)
    order = [colour for colour in drawn if colour != theme.FAINT][:3]
    assert order == [theme.colour(n) for n in (2, 1, 0)]


@needs_converter
def test_the_ceiling_is_drawn_at_its_levels():
    result = rw.simulate(rw.power_laws(64, 81, seed=1), rw.PASHA(max_resource=81), trials=64)
    picture = Picture(make_svg(plots.ladder(result)))
    (stairs,) = [path for path in picture.paths(theme.colour(1)) if len(path) > 2]
    heights = {round(y) for _, y in stairs}
    ticks = picture.ticks["y"]
    for _, level in result.ceilings:
        assert any(abs(ticks[str(level)][1] - 4 - height) <= 2 for height in heights)


@needs_converter
def test_what_only_needs_a_pointer_is_not_in_pictures(figure):
    hidden = [layer for layer in KINDS["top"].spec["layer"] if layer.get("name") == "hover"]
    assert len(hidden) == 1
    assert len(Picture(make_svg(KINDS["top"])).marks) < 20, "no dot for each point"


# -- files -------------------------------------------------------------------------------------


@needs_converter
def test_a_page_holds_all_it_needs(figure, tmp_path):
    text = plots.export(figure, tmp_path / "f.html").read_text(encoding="utf-8")
    scripts = re.findall(r"<script[^>]*>(.*?)</script>", text, re.DOTALL)
    assert len(scripts) == 3, "the figure, the library, the looks"
    assert max(map(len, scripts)) > 500_000
    outside = re.sub(r"<script[^>]*>.*?</script>", "", text, flags=re.DOTALL)
    assert len(outside) < 5_000
    assert not re.search(r"<(link|img|iframe|object|embed|base)\b", outside)
    assert not re.search(r"\b(src|href)=|url\(|@import|https?:", outside)
    assert html.POLICY.startswith("default-src 'none'")
    assert "unsafe-eval" not in html.POLICY
    assert f'content="{html.POLICY}"' in outside
    assert "<title>Value against cost</title>" in outside
    assert len(text) < 1_500_000


@pytest.mark.parametrize("name", ["f.png", "f.svg", "f.html", "f.json"])
def test_a_missing_folder_is_named(figure, tmp_path, name):
    folder = tmp_path / "missing"
    with pytest.raises(rw.InvalidArgumentError, match="must exist: create it first") as caught:
        plots.export(figure, folder / name)
    assert f"the folder {folder} must exist" in str(caught.value)


def document_of(text):
    (document,) = re.findall(r'<script type="application/json">(.*?)</script>', text, re.DOTALL)
    return document


@needs_converter
def test_users_texts_are_only_texts(tmp_path):
    made = plots.pareto([plots.Point(HOSTILE, 1, 10), plots.Point("b", 2, 20)], value=HOSTILE)
    figures = {
        "pareto": made.with_titles(HOSTILE, x=HOSTILE),
        "speedup": plots.speedup({HOSTILE: 2.0}, title=HOSTILE),
        "curves": plots.learning_curves(
            rw.Table([[0.1, 0.2], [0.3, 0.4]], names=[HOSTILE, HOSTILE + "2"])
        ),
        "benchmark": plots.learning_curves(
            Benchmark.from_arrays(
                Card(name="made", metric=HOSTILE, resource=HOSTILE),
                values=[[[0.1, 0.2], [0.3, 0.4]]],
                configs=[{HOSTILE: HOSTILE}, {}],
            ),
            top=1,
        ),
        "epsilon": plots.epsilon(
            {HOSTILE: rw.simulate(rw.power_laws(20, 27), rw.PASHA(), trials=20)}
        ),
    }
    for name, figure in figures.items():
        text = plots.export(figure, tmp_path / f"{name}.html").read_text(encoding="utf-8")
        assert "<" not in document_of(text)
        assert json.loads(document_of(text)) == figure.spec
        assert "<script>alert" not in text
        picture = Picture(plots.export(figure, tmp_path / f"{name}.svg").read_text("utf-8"))
        tags = {element.tag.split("}")[1] for element in picture.root.iter()}
        assert tags <= {"svg", "g", "path", "line", "rect", "text", "defs", "clipPath"}
        attributes = {key for element in picture.root.iter() for key in element.keys()}  # noqa: SIM118
        assert not [key for key in attributes if key.startswith("on") or "href" in key]
    assert any(HOSTILE[:30] in text for text in Picture(make_svg(figures["pareto"])).texts)


@given(st.text())
def test_texts_are_on_one_line_and_without_control_characters(text):
    cleaned = theme.clean_text(text)
    assert cleaned.isprintable() or not cleaned
    assert theme.clean_text(cleaned) == cleaned


@needs_converter
@settings(max_examples=25)
@given(label=st.text(max_size=20))
def test_any_label_can_be_drawn(label):
    Picture(make_svg(plots.pareto([plots.Point(label, 1, 2)], value=label, cost=label)))


@needs_converter
def test_figures_load_nothing(figure, tmp_path):
    spec = {
        **figure.spec,
        "layer": [{"data": {"url": "https://127.0.0.1:9/x.json"}, "mark": "bar"}],
    }
    with pytest.raises(ValueError, match=r"(?i)allowed"):
        plots.export(plots.Figure(spec), tmp_path / "f.svg")


def test_json_is_the_specification(figure, tmp_path, no_converter):
    path = plots.export(figure, tmp_path / "f.json")
    assert json.loads(path.read_text(encoding="utf-8")) == figure.spec


@needs_converter
def test_a_vector_picture(figure, tmp_path):
    path = plots.export(figure, str(tmp_path / "F.SVG"))
    text = path.read_text(encoding="utf-8")
    assert text.startswith("<svg ")
    assert "B &amp; C" in text
    assert {"A <1>", "B & C"} <= set(Picture(text).texts)


@needs_converter
@pytest.mark.parametrize("name", KINDS)
def test_a_pixel_picture_is_twice_as_fine_and_light(name, tmp_path):
    image = needs("pillow", "PIL.Image")
    path = plots.export(KINDS[name], tmp_path / "f.png")
    with image.open(io.BytesIO(path.read_bytes())) as opened:
        assert opened.size == (1800, 2 * KINDS[name].spec["height"])
        pixels = opened.convert("RGB")
        assert pixels.getpixel((2, 2)) == (255, 255, 255)
        colours = {colour: n for n, colour in pixels.getcolors(1 << 20)}
    first = tuple(bytes.fromhex(theme.colour(0)[1:]))
    assert colours.get(first, 0) > 100, "the house's first colour is there"
    assert colours[255, 255, 255] > sum(colours.values()) / 3


@needs_converter
@pytest.mark.parametrize("ending", ["html", "svg", "json"])
def test_the_same_bytes_under_any_hash_seed(ending, tmp_path):
    code = (
        "import sys, rungwise as rw; from rungwise import plots\n"
        "table = rw.power_laws(40, 27)\n"
        "result = rw.simulate(table, rw.PASHA(max_resource=27), trials=40)\n"
        "plots.export(plots.learning_curves(table), sys.argv[1] + '/curves.' + sys.argv[2])\n"
        "plots.export(plots.ladder(result), sys.argv[1] + '/ladder.' + sys.argv[2])\n"
    )
    written = []
    for seed in ("1", "2"):
        folder = tmp_path / seed
        folder.mkdir()
        subprocess.run(
            [sys.executable, "-c", code, str(folder), ending],
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )
        written.append([path.read_bytes() for path in sorted(folder.iterdir())])
    assert len(written[0]) == 2
    assert written[0] == written[1]


def test_other_endings_are_refused(figure, tmp_path):
    for name in ("f.gif", "f", "png"):
        with pytest.raises(rw.InvalidArgumentError, match=r"must end in \.html, \.svg, \.png or"):
            plots.export(figure, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_figure_is_refused(tmp_path):
    with pytest.raises(rw.InvalidArgumentError, match=r"must be a figure of rungwise\.plots"):
        plots.export({"layer": []}, tmp_path / "f.html")


@pytest.mark.parametrize("ending", ["html", "svg", "png"])
def test_without_the_extra_it_is_named(ending, figure, tmp_path, no_converter):
    with pytest.raises(rw.MissingExtraError, match=r"pip install 'rungwise\[plots\]'"):
        plots.export(figure, tmp_path / f"f.{ending}")
    assert list(tmp_path.iterdir()) == []


def test_the_converter_is_loaded_when_a_file_is_written():
    code = (
        "import sys; from rungwise import plots; plots.speedup({'a': 1})\n"
        "print('vl_convert' in sys.modules, 'altair' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"


# -- figures as values -------------------------------------------------------------------------


def test_titles_can_be_changed_in_a_copy(figure):
    other = figure.with_titles("T\n2", x="across", y="up")
    assert (title_of(other), other.title) == ("T 2", "T 2")
    assert (axis_of(other, "x")["title"], axis_of(other, "y")["title"]) == ("across", "up")
    assert title_of(figure) == "Value against cost"
    assert axis_of(figure, "x")["title"] == "cost"
    assert figure.with_titles().spec == figure.spec
    assert repr(other) == "<figure: T 2>"


def test_changing_one_figure_changes_no_other():
    one, other = plots.speedup({"a": 1}), plots.speedup({"a": 1})
    one.spec["config"]["title"]["color"] = "red"
    one.spec["layer"][0]["mark"]["color"] = "red"
    assert other.spec == plots.speedup({"a": 1}).spec
    points = [plots.Point("a", 1, 2)]
    one = plots.pareto(points)
    for layer in one.spec["layer"]:
        layer["mark"]["size"] = 1
    assert one.spec != plots.pareto(points).spec
    assert theme.CONFIG["title"]["color"] == theme.INK


@needs_converter
def test_notebooks_are_given_a_specification_and_a_picture(figure):
    shown = figure._repr_mimebundle_(include=None, exclude=None)
    spec = shown["application/vnd.vegalite.v5+json"]
    assert spec["$schema"].endswith("v5.json")
    assert {**spec, "$schema": 0} == {**figure.spec, "$schema": 0}
    assert shown["image/svg+xml"].startswith('<svg style="overflow:visible" ')


def test_notebooks_without_the_extra_are_given_its_name(figure, no_converter):
    shown = figure._repr_mimebundle_()
    assert "rungwise[plots]" in shown["text/plain"]
    assert "image/svg+xml" not in shown


# -- in a browser ------------------------------------------------------------------------------


@pytest.mark.slow
@needs_browser
@needs_converter
def test_a_browser_draws_the_page_without_a_network(tmp_path):
    figure = plots.pareto([plots.Point(HOSTILE, 1, 10), plots.Point("B & C", 2, 900)])
    path = plots.export(figure, tmp_path / "f.html")
    options = ("--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr")
    for _ in range(3):  # on a busy machine its time may be up before the first frame is painted
        done = subprocess.run(
            [
                *(BROWSER, *options, f"--user-data-dir={tmp_path / 'user'}"),
                *("--window-size=1280,900", "--virtual-time-budget=10000"),
                *("--dump-dom", path.as_uri()),
            ],
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        )
        if 'data-shown="yes"' in done.stdout:
            break
    assert 'data-shown="yes"' in done.stdout
    assert "B &amp; C</text>" in done.stdout
    # The only figure of a page fills it.
    (height,) = re.findall(r'<svg[^>]* class="marks"[^>]*? height="(\d+)', done.stdout)
    assert theme.HEIGHT + 100 < int(height) < 900
    assert "<img" not in done.stdout.split("<script")[0]
    assert "Content Security Policy" not in done.stderr, "nothing was to be loaded"
    assert "Uncaught" not in done.stderr
