"""The report: one page that holds everything, says it as text, and needs nothing else."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from browsers import BROWSER, needs_browser
from extras import needs
from reproduction_stories import row, section, write_curves

import rungwise as rw
from rungwise import plots
from rungwise.benchmarks import catalog
from rungwise.benchmarks.card import Card
from rungwise.lab.reproduction import Reproduction, Settings, number_text, reproduce
from rungwise.lab.reproduction.report import html
from rungwise.lab.reproduction.results import Figure, PaperRow, Rival
from rungwise.lab.reproduction.tables import make_grid

SETTINGS = Settings(("table1", "lcbench"), seeds=2, configs=30)
VOID = {"meta", "br", "hr", "img", "link", "input"}


class Reader(HTMLParser):
    """What is in a page: that its tags match, its texts, ids, links, and tables."""

    def __init__(self, text):
        super().__init__()
        self.open, self.texts, self.ids, self.links, self.tables = [], [], [], [], []
        self.documents, self.attributes = {}, []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.attributes += given
        if "id" in given:
            self.ids.append(given["id"])
        if tag == "a":
            self.links.append(given["href"])
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.tables[-1][-1].append("")
        if tag not in VOID:
            self.open.append((tag, given))

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        tag, given = self.open[-1] if self.open else ("", {})
        if tag == "script":
            if given.get("type") == "application/json":
                self.documents[self.open[-2][1]["id"]] = json.loads(data)
            return
        if tag == "style":
            return
        if tag in ("td", "th"):
            self.tables[-1][-1][-1] += data
        self.texts.append(data)

    @property
    def text(self):
        return "\n".join(self.texts)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    data = tmp_path_factory.mktemp("data")
    write_curves(data, "nasbench201-cifar10", seeds=2, title="<b>NAS</b> & co")
    write_curves(data, "own-hpo", licence="CC-BY-4.0")
    for name in ("adult", "higgs", "jannis"):
        write_curves(data, f"lcbench-{name}")
    return data


@pytest.fixture
def data(folder, tmp_path, monkeypatch):
    monkeypatch.setenv(catalog.VARIABLE, str(folder))
    monkeypatch.setattr(catalog, "PACKAGED", tmp_path / "nothing")
    return folder


@pytest.fixture
def found(data):
    return reproduce(("table1", "lcbench"), settings=SETTINGS)


def hand_made(*sections, **facts):
    """A reproduction of given sections, without runs."""
    names = dict.fromkeys(one.benchmark for one in sections)
    return Reproduction(
        sections=sections,
        outcomes=(),
        benchmarks={name: Card(name=name, **facts) for name in names},
        settings=Settings(("table1",), protocols=("ours",)),
    )


def test_every_cell_of_every_table_is_there(found):
    tables = Reader(html(found, load=None)).tables
    for one in found.sections:
        if one.experiment == "table1":
            cells = {cell for line in make_grid(one).lines for cell in line}
            assert any(cells <= {cell for line in table for cell in line} for table in tables)
    assert {line[0] for line in tables[-1][1:]} == {"adult", "higgs", "jannis"}


def test_the_papers_figures_stand_right_of_ours():
    paper = PaperRow(
        "t", 1, "d", "pasha", "PASHA", Figure(93.57, 0.75), Figure(1.3, 0.6), 2.3, Figure(36.1, 50)
    )
    page = Reader(html(hand_made(section(row(paper=paper), row("asha", "ASHA"))), load=None))
    head, pasha, asha = page.tables[-1]
    assert head[:9] == [
        *("approach", "test accuracy (%)", "paper", "runtime", "paper"),
        *("speed-up", "paper", "max resource", "paper"),
    ]
    assert pasha[2:9:2] == ["93.57 ± 0.75", "1.3 h ± 0.6 h", "2.3×", "36.1 ± 50.0"]
    assert pasha[1:9:2][0] == "90.00 ± 1.00"
    assert asha[2:9:2] == ["–"] * 4
    assert head[9:] == ["resource spent", "better in the end", "regret"]


def test_where_the_paper_has_nothing_there_is_no_column_of_it():
    page = Reader(html(hand_made(section(row())), load=None))
    assert "paper" not in page.tables[-1][0]


def test_a_papers_column_of_lcbench_stands_by_its_name(found):
    head = Reader(html(found, load=None)).tables[-1][0]
    assert head[1:5] == ["ASHA (%)", "paper", "PASHA (%)", "paper"]
    assert head[head.index("PASHA speed-up") + 1] == "paper"
    assert head.count("paper") == 3


def test_the_navigation_leads_everywhere(found):
    page = Reader(html(found, load=None))
    assert len(set(page.ids)) == len(page.ids)
    assert page.links
    assert all(link.startswith("#") and link[1:] in page.ids for link in page.links)
    headings = re.findall(r'<h([23]) id="([^"]+)">', html(found, load=None))
    assert [f"#{place}" for _, place in headings] == page.links, "each heading once, in order"


def test_tables_are_listed_under_their_experiments(found):
    navigation = html(found, load=None).split("</nav>")[0]
    assert re.search(
        r">PASHA, ASHA and the baselines[^<]*</a><ol>(<li><a [^>]*>[^<]+</a></li>){4}</ol>",
        navigation,
    )
    assert re.search(r">In short</a></li>", navigation)


def test_in_short_is_the_main_experiment(found):
    tables = Reader(html(found, load=None)).tables
    head, *lines = tables[0]
    assert head == [
        *("benchmark", "protocol", "ASHA (%)", "PASHA (%)", "one epoch (%)", "PASHA's speed-up"),
    ]
    assert [line[:2] for line in lines] == [
        [name, protocol]
        for name in ("nasbench201-cifar10", "own-hpo")
        for protocol in ("paper", "ours")
    ]
    main = [one for one in found.sections if one.experiment == "table1"]
    assert lines[0][3] == number_text.final(main[0], main[0].row("pasha").final)
    assert lines[0][5] == number_text.speedup(main[0].row("pasha").speedup)


def test_in_short_tells_what_there_is():
    other = section(row("asha", "ASHA"), experiment="eta")
    assert "In short" not in Reader(html(hand_made(other), load=None)).texts
    lost = replace(other, rivals=(Rival("asha", "ASHA", 0.0, 0.0, 0.5),))
    assert "In short" in Reader(html(hand_made(lost), load=None)).texts
    pair = Reader(html(hand_made(section(row("asha", "ASHA"), row())), load=None))
    assert pair.tables[0][1][3:] == ["90.00 ± 1.00", "–", "2.0×"]
    alone = Reader(html(hand_made(section(row("asha", "ASHA"))), load=None))
    assert alone.tables[0][1] == ["made", "ours", "90.00 ± 1.00", "–", "–", "–"]


def test_what_a_benchmark_tells_without_a_final_metric():
    page = Reader(html(hand_made(section(row("asha", "ASHA")), metric="accuracy"), load=None))
    assert page.tables[1][1][4] == "accuracy at the end"
    told = hand_made(section(row("asha", "ASHA")), metric="accuracy", final_metric="in the test")
    assert Reader(html(told, load=None)).tables[1][1][4] == "in the test"


def test_settings_notes_losses_remarks_and_gaps_are_told():
    one = section(row(), notes=("a note",), losses=("a loss",))
    made = replace(
        hand_made(one), remarks={"made": ("a remark",)}, left_out=("bo was left out: why.",)
    )
    text = Reader(html(made, load=None)).text
    for told in ("rungwise reproduce table1", "a note", "made: a remark", "bo was left out: why."):
        assert told in text
    assert text.count("a loss") == 2, "with its table and in short"
    assert "256" in text
    assert rw.__version__ in text


def test_a_remark_on_several_benchmarks_is_made_once(found):
    text = Reader(html(found, load=None)).text
    assert text.count("Runtime") <= 2
    alone = "The paper has no figures for it."
    assert f"own-hpo: {alone}" in text
    made = hand_made(section(row()), section(row(), benchmark="other"))
    made = replace(made, remarks={"made": ("same",), "other": ("same",)})
    assert "made and other: same" in Reader(html(made, load=None)).text


HOSTILE = "<script>alert('1')</script>&\"'"


def test_all_text_is_text():
    one = section(
        row(label=HOSTILE),
        benchmark="made",
        final_metric=HOSTILE,
        title=HOSTILE,
        notes=(HOSTILE,),
        losses=(HOSTILE,),
    )
    made = hand_made(one, title=HOSTILE, metric=HOSTILE, licence=HOSTILE)
    made = replace(made, remarks={"made": (HOSTILE,)}, left_out=(HOSTILE,))
    text = html(made, load=None)
    assert "<script>alert" not in text
    page = Reader(text)
    assert page.text.count(HOSTILE) >= 8
    assert not [name for name in page.attributes if name.startswith("on")]


def test_nothing_is_loaded_from_anywhere(found):
    text = html(found)
    outside = re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)
    assert "default-src 'none'" in outside
    page = Reader(text)
    assert "src" not in page.attributes
    assert not re.search(r"url\(|@import|https?:", outside.split("<body>")[0])


def test_without_the_extra_all_but_the_figures_is_there(found, monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    text = html(found)
    page = Reader(text)
    assert "pip install 'rungwise[plots]'" in page.text
    assert page.documents == {}
    assert "Figures" not in page.texts
    assert len(text) < 200_000, "no library either"
    assert len(page.tables) > 5


# -- figures -----------------------------------------------------------------------------------


def titles(page):
    return [document["title"]["text"] for document in page.documents.values()]


def names_of(document):
    """What the legend of a figure lists."""
    for layer in document["layer"]:
        if "scale" in layer["encoding"].get("color", {}):
            return layer["encoding"]["color"]["scale"]["domain"]
    return []


def test_every_benchmark_has_its_figures_and_the_library_is_there_once(found):
    needs("plots")
    text = html(found)
    page = Reader(text)
    assert list(page.documents) == [f"figure-{n + 1}" for n in range(len(page.documents))]
    assert set(page.documents) <= set(page.ids)
    drawn = " ".join(titles(page))
    for name in ("nasbench201-cifar10", "own-hpo"):
        for protocol in ("paper", "ours"):
            assert f"{name}, protocol {protocol}: test accuracy" in drawn
        assert f"Learning curves of {name}: the top 3" in drawn
        assert f"Learning curves of {name}: 30 configurations" in drawn
    assert drawn.count("The ladder over time") == 4
    assert drawn.count("ε over the study") == 2
    for protocol in ("paper", "ours"):
        assert f"speed-up over ASHA on LCBench, protocol {protocol}" in drawn
    bars = page.documents["figure-1"]["layer"][0]["data"]["values"]
    assert sorted(bar["name"] for bar in bars) == ["adult", "higgs", "jannis"]
    assert text.count("window.vegaEmbed=") == 1
    assert "There are no figures" not in page.text


def test_axes_count_what_the_benchmark_counts(found):
    needs("plots")
    page = Reader(html(found))
    axes = {
        (document["encoding"]["x"]["title"], document["encoding"]["y"]["title"])
        for document in page.documents.values()
    }
    assert ("resource spent (epochs)", "test accuracy after 27 epochs (%)") in axes
    assert ("reports (cumulative over jobs)", "rungs (epochs)") in axes
    assert ("reports", "ε (validation accuracy)") in axes


def test_bars_stand_with_lcbench_and_the_others_in_a_chapter_of_their_own(found):
    needs("plots")
    text = html(found, load=None)
    places = [
        text.index(part)
        for part in (
            ">LCBench, protocol ours</h3>",
            'id="figure-1"',
            ">Figures</h2>",
            'id="figure-3"',
        )
    ]
    assert places == sorted(places)


def test_figures_show_the_sample_of_the_first_seed(found):
    needs("plots")
    page = Reader(html(found))
    benchmark = catalog.load("own-hpo")
    for others in (True, False):
        figure = plots.learning_curves(benchmark, sample=30, seed=0, others=others)
        drawn = [
            document["layer"]
            for document in page.documents.values()
            if document["title"]["text"] == figure.title
        ]
        assert drawn == [figure.spec["layer"]]


def test_who_spent_nothing_is_told_in_words(found):
    needs("plots")
    page = Reader(html(found, load=None))
    assert names_of(page.documents["figure-3"]) == ["ASHA", "PASHA", "One-epoch baseline"]
    assert "because they spent nothing: Random baseline (" in page.text


def test_a_method_of_several_experiments_is_one_point():
    needs("plots")
    one = section(row(), row("asha", "ASHA"))
    two = section(row(label="PASHA, η=3"), row("pasha-eta2", "PASHA, η=2"), experiment="eta")
    page = Reader(html(hand_made(one, two), load=None))
    (document,) = page.documents.values()
    assert names_of(document) == ["PASHA", "ASHA", "PASHA, η=2"]


def test_curves_that_cannot_be_read_again_are_no_reason_to_fail(found, folder, monkeypatch):
    needs("plots")
    monkeypatch.setenv(catalog.VARIABLE, str(folder / "elsewhere"))
    page = Reader(html(found))
    assert page.text.count("could not be read again for more figures") == 2
    assert len(page.documents) == len(Reader(html(found, load=None)).documents) > 0


def test_figures_without_finite_values_are_left_out():
    needs("plots")
    nothing = section(row(final=(float("nan"), 0.0)))
    assert Reader(html(hand_made(nothing), load=None)).documents == {}


def test_the_same_reproduction_gives_the_same_bytes(found):
    assert html(found) == html(reproduce(("table1", "lcbench"), settings=SETTINGS))


def test_studies_too_short_for_a_ladder_have_none(tmp_path, monkeypatch):
    """Eight configurations on four workers: the study ends when the last has just begun."""
    needs("plots")
    write_curves(tmp_path, "short", rows=8)
    monkeypatch.setenv(catalog.VARIABLE, str(tmp_path))
    monkeypatch.setattr(catalog, "PACKAGED", tmp_path / "nothing")
    settings = Settings((), protocols=("paper", "ours"), seeds=1, configs=8, workers=8)
    page = Reader(html(reproduce(("table1",), settings=settings)))
    drawn = " ".join(titles(page))
    assert drawn.count("The ladder over time") == 1, "ours trains all to the end"
    assert "Learning curves of short: 8 configurations" in drawn


@pytest.mark.slow
@needs_browser
def test_a_browser_draws_every_figure_from_the_file(found, tmp_path):
    needs("plots")
    text = html(found)
    number = len(Reader(text).documents)
    assert number >= 14
    path = tmp_path / "report.html"
    # Figures are drawn when they come into sight, and all of them before the page is printed.
    printing = '<script>window.dispatchEvent(new Event("beforeprint"))</script></body>'
    # The library has such a tag in one of its texts.
    path.write_text(printing.join(text.rsplit("</body>", 1)), encoding="utf-8")
    options = ("--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr")
    done = subprocess.run(
        [
            *(BROWSER, *options, f"--user-data-dir={tmp_path / 'user'}"),
            *("--virtual-time-budget=20000", "--dump-dom", path.as_uri()),
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=200,
    )
    assert done.stdout.count('class="marks"') == number
    assert done.stdout.count('data-shown="yes"') == number
    assert "Content Security Policy" not in done.stderr, "nothing was to be loaded"
    assert "Uncaught" not in done.stderr
