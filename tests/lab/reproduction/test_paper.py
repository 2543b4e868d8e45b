"""The paper's figures are those that the paper prints."""

import csv
import re
from importlib import resources
from pathlib import Path

import pytest

from rungwise.lab.reproduction import paper
from rungwise.lab.reproduction.experiments import EXPERIMENTS
from rungwise.lab.reproduction.methods import METHODS
from rungwise.lab.reproduction.results import Figure

SOURCE = Path(__file__).parents[4] / "shared" / "seeds" / "000_bedf0164399b9e49.txt"
NOT_THERE_YET = {"asha-bo", "pasha-bo"}


def typed_in():
    text = resources.files("rungwise.lab.reproduction").joinpath("paper.csv").read_text("utf-8")
    return list(csv.DictReader(text.splitlines()))


def words(text):
    """LaTeX as plain words."""
    text = re.sub(r"\\multirow\{\d\}\{\*\}\{+(.*?)\}+$", r"\1", text.strip())
    for latex, plain in (
        (r"\epsilon", "ε"),
        (r"\sigma", "σ"),
        (r"\eta", "η"),
        (r"\%", "%"),
        (r"\_", "_"),
        ("$", ""),
    ):
        text = text.replace(latex, plain)
    return " ".join(text.split())


def figures(cell):
    """The numbers of a cell, as printed."""
    return re.findall(r"\d+(?:\.\d+)?", re.sub(r"\\phantom\{0+\}", "", cell))


def printed():
    """(table, caption, cells of a line) of every line with figures, in the paper's order."""
    tex = SOURCE.read_text(encoding="utf-8")
    for table in re.findall(r"\\begin\{table\}.*?\\end\{table\}", tex, re.DOTALL):
        name = re.search(r"\\label\{tab:(.*?)\}", table)[1]
        body = table[table.index(r"\toprule") : table.index(r"\bottomrule")]
        for line in body.split(r"\\"):
            if r"\pm" in line:
                yield name, table, line.replace(r"\midrule", "").split("&")


def expected():
    """The lines that should have been typed in, from the paper's source."""
    dataset, setting, last = "", "", ""
    for table, text, cells in printed():
        if table != last:
            caption = re.search(r"NASBench201 -- (\S+) results", text)
            dataset, setting, last = caption[1] if caption else "", "", table
        if table == "lcbench_experiments":
            asha, pasha = figures(cells[1]), figures(cells[2])
            yield table, words(cells[0]), "ASHA", [*asha, "", "", "", "", ""]
            yield table, words(cells[0]), "PASHA", [*pasha, "", "", *figures(cells[3]), "", ""]
            continue
        *head, accuracy, hours, speedup, furthest = cells
        if len(head) > 1 and words(head[0]):
            dataset = words(head[0])
        if len(head) == 3 and words(head[1]):
            setting = words(head[1])
        label = words(head[-1])
        if setting:
            label += f", {setting}" if setting.startswith("η") else f", {setting} epochs"
        known = figures(speedup) or [""]
        yield (
            table,
            dataset,
            label,
            [*figures(accuracy), *figures(hours), *known, *figures(furthest)],
        )


@pytest.mark.skipif(not SOURCE.exists(), reason="the paper is not at hand")
def test_every_figure_is_the_one_printed():
    columns = ("accuracy", "accuracy_std", "hours", "hours_std", "speedup")
    columns += ("max_resource", "max_resource_std")
    found = [
        (line["table"], line["dataset"], line["label"], [line[name] for name in columns])
        for line in typed_in()
    ]
    assert found == list(expected())


def test_all_fifteen_tables_are_there():
    tables = dict.fromkeys(row.table for row in paper.rows())
    assert [paper.find_number(table) for table in tables] == list(range(1, 16))
    assert len(paper.rows()) == 268


def test_every_line_belongs_to_a_method():
    assert {row.method for row in paper.rows()} - NOT_THERE_YET <= set(METHODS)


def test_no_line_is_there_twice():
    keys = [(row.table, row.dataset, row.method) for row in paper.rows()]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize(
    ("label", "words_of_it"),
    [
        ("pasha-eta2", "η=2"),
        ("pasha-eta4", "η=4"),
        ("asha-quarter", "50 epochs"),
        ("noise-95", "N=95%"),
        ("soft-2sigma", "2σ"),
        ("rrr-0.5", "RRR"),
        ("arrr-1.0", "ARRR p=1.0"),
        ("soft-0.01", "0.01"),
        ("five-epoch", "Five"),
    ],
)
def test_methods_are_given_to_the_lines_that_name_them(label, words_of_it):
    lines = [row for row in paper.rows() if row.method == label]
    assert lines
    assert all(words_of_it in row.label for row in lines)


def test_labels_and_methods_go_together():
    # A method has the paper's label, but for the paper's own ways to write the same.
    ways = {
        "PASHA soft ranking ε=2.5%": "PASHA soft ranking ε=0.025",
        "PASHA soft ranking ε=2σ": "PASHA soft ranking 2σ",
        "PASHA RBO": "PASHA RBO p=0.5, t=0.5",
        "PASHA RRR": "PASHA RRR p=0.5, t=0.05",
        "PASHA N=90%": "PASHA",
        "ASHA, 200 epochs": "ASHA",
        "PASHA, 200 epochs": "PASHA",
        "ASHA, 50 epochs": "ASHA, a quarter",
        "PASHA, 50 epochs": "PASHA, a quarter",
        "Two epoch baseline": "Two-epoch baseline",
        "Three epoch baseline": "Three-epoch baseline",
        "Five epoch baseline": "Five-epoch baseline",
    }
    for row in paper.rows():
        if row.method not in NOT_THERE_YET:
            assert METHODS[row.method].label == ways.get(row.label, row.label), row


@pytest.mark.parametrize(
    ("benchmark", "accuracy", "hours", "speedup"),
    [
        ("nasbench201-cifar10", Figure(93.57, 0.75), Figure(1.3, 0.6), 2.3),
        ("nasbench201-cifar100", Figure(71.84, 1.41), Figure(0.9, 0.4), 3.4),
        ("nasbench201-imagenet16-120", Figure(45.13, 1.51), Figure(2.9, 1.7), 3.1),
        ("pd1-wmt-xformer-64", Figure(62.04, 2.05), Figure(2.8, 0.6), 15.5),
        ("pd1-imagenet-resnet-512", Figure(73.37, 2.71), Figure(3.8, 1.0), 1.9),
    ],
)
def test_pasha_of_table_1_and_5_is_found_by_the_names_of_benchmarks(
    benchmark, accuracy, hours, speedup
):
    found = paper.find(benchmark, "pasha", EXPERIMENTS["table1"].tables)
    assert (found.accuracy, found.hours, found.speedup) == (accuracy, hours, speedup)
    assert paper.knows(benchmark)


@pytest.mark.parametrize(
    ("name", "asha", "pasha"),
    [
        ("adult", 79.14, 79.14),
        ("blood-transfusion-service-center", 79.92, 76.99),
        ("jungle_chess_2pcs_raw_endgame_complete", 72.86, 74.94),
        ("numerai28.6", 52.03, 52.30),
        ("APSFailure", 97.52, 97.01),
    ],
)
def test_data_sets_of_lcbench_are_found_however_they_are_written(name, asha, pasha):
    tables = EXPERIMENTS["lcbench"].tables
    for method, mean in (("asha", asha), ("pasha", pasha)):
        assert paper.find(f"lcbench-{name}", method, tables).accuracy.mean == mean


def test_what_the_paper_does_not_have_is_not_found():
    assert paper.find("lcbench-shuttle", "pasha", ("lcbench_experiments",)) is None
    assert paper.find("fashion-nas", "pasha", ("nas201",)) is None
    assert paper.find("nasbench201-cifar10", "pasha", ("hpo_experiments_pd1",)) is None
    assert not paper.knows("fashion-nas")
    assert not paper.knows("lcbench-shuttle")


def test_the_first_table_that_has_a_line_gives_it():
    # The paper's table 15 has another PASHA with N=90 on CIFAR-100 than its table 1.
    name = "nasbench201-cifar100"
    assert paper.find(name, "pasha", ("nas201pc", "nas201")).accuracy.mean == 71.91
    assert paper.find(name, "pasha", ("nas201", "nas201pc")).accuracy.mean == 71.84
    assert paper.find(name, "pasha", ("nasbench_BO", "nas201")).accuracy.mean == 71.84


def test_not_available_is_no_figure():
    (line,) = [
        r
        for r in paper.rows()
        if (r.table, r.dataset, r.method) == ("nas201", "CIFAR-10", "random")
    ]
    assert line.speedup is None
    lcbench = paper.find("lcbench-car", "asha", ("lcbench_experiments",))
    assert lcbench.hours is lcbench.speedup is lcbench.max_resource is None
