"""Figures into files: what is in them, and that they are the same each time."""

import io
import json
import os
import re
import subprocess
import sys
from types import SimpleNamespace

import pytest
from browsers import BROWSER, needs_browser
from extras import needs

import rungwise as rw
from rungwise import plots
from rungwise.plots import exporting, pages

go = needs("plots", "plotly.graph_objects")


@pytest.fixture(scope="module")
def figure():
    return plots.pareto([plots.Point("</script><b>", 1, 10, 0.5), plots.Point("B & C", 2, 900)])


def test_a_page_holds_all_it_needs(figure, tmp_path):
    text = plots.export(figure, tmp_path / "f.html").read_text(encoding="utf-8")
    assert text.count("plotly.js v") >= 1
    outside = re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)
    assert len(outside) < 20_000
    assert not re.search(r"<(link|img|iframe|object)\b", outside)
    assert not re.search(r"\b(src|href)=", outside)
    assert pages.POLICY.startswith("default-src 'none'")
    assert f'content="{pages.POLICY}"' in outside
    assert "<title>Value against cost</title>" in outside


def test_text_cannot_end_the_script_it_is_in(figure, tmp_path):
    text = plots.export(figure, tmp_path / "f.html").read_text(encoding="utf-8")
    (document,) = re.findall(
        r'<script type="application/json"[^>]*>(.*?)</script>', text, re.DOTALL
    )
    assert "<" not in document
    assert json.loads(document)["data"][1]["name"] == "&lt;/script&gt;&lt;b&gt;"


def test_json_can_be_read_back(figure, tmp_path):
    path = plots.export(figure, tmp_path / "f.json")
    document = json.loads(path.read_text(encoding="utf-8"))
    again = go.Figure(document)
    assert [trace.name for trace in again.data] == [trace.name for trace in figure.data]


def test_a_vector_picture(figure, tmp_path):
    path = plots.export(figure, str(tmp_path / "F.SVG"))
    text = path.read_text(encoding="utf-8")
    assert text.startswith("<svg ")
    assert "B &amp; C" in text


def test_a_pixel_picture_is_twice_as_fine(figure, tmp_path):
    pytest.importorskip("resvg_py")
    image = pytest.importorskip("PIL.Image")
    try:
        path = plots.export(figure, tmp_path / "f.png")
    except rw.InvalidArgumentError as error:
        pytest.skip(str(error))
    with image.open(io.BytesIO(path.read_bytes())) as opened:
        assert opened.size == (1800, 1040)
        assert len(opened.convert("RGB").getcolors(1 << 20)) > 5


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
    with pytest.raises(rw.InvalidArgumentError, match="plotly figure"):
        plots.export({"data": []}, tmp_path / "f.html")


def stand_in(monkeypatch, draw):
    monkeypatch.setitem(sys.modules, "resvg_py", SimpleNamespace(svg_to_bytes=draw))


def test_without_a_font_nothing_is_written(figure, tmp_path, monkeypatch):
    """A stand-in that draws no text, like resvg on a machine without fonts."""
    stand_in(monkeypatch, lambda svg_string, zoom=1: b"the same")
    with pytest.raises(rw.InvalidArgumentError, match="fonts-dejavu-core"):
        plots.export(figure, tmp_path / "f.png")
    assert list(tmp_path.iterdir()) == []


def test_pictures_are_drawn_from_the_vector_picture(figure, tmp_path, monkeypatch):
    stand_in(monkeypatch, lambda svg_string, zoom=1: f"{zoom} {svg_string}".encode())
    path = plots.export(figure, tmp_path / "f.png")
    vector = plots.export(figure, tmp_path / "f.svg").read_bytes()
    assert path.read_bytes() == f"{exporting.ZOOM} ".encode() + vector


@pytest.mark.slow
@needs_browser
def test_a_browser_draws_the_page_without_a_network(figure, tmp_path):
    path = plots.export(figure, tmp_path / "f.html")
    options = ("--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr")
    done = subprocess.run(
        [
            *(BROWSER, *options, f"--user-data-dir={tmp_path / 'user'}"),
            *("--virtual-time-budget=10000", "--dump-dom", path.as_uri()),
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert 'class="main-svg"' in done.stdout
    assert done.stdout.count('class="legendtext"') == 3
    assert "Content Security Policy" not in done.stderr, "nothing was to be loaded"
    assert "Uncaught" not in done.stderr
