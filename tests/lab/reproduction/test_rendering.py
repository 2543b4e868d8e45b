"""Markdown, CSV and terminal show what was found, and the same on every machine."""

import csv
import io
import math
import posixpath
import re
from dataclasses import replace

import pytest
from extras import needs
from reproduction_stories import outcome, row, section, whole_text, write_curves, write_tiny
from rich.console import Console

from rungwise.benchmarks.card import Card
from rungwise.lab.reproduction import Settings, reproduce
from rungwise.lab.reproduction.markdown import command
from rungwise.lab.reproduction.number_text import choose_unit, spread
from rungwise.lab.reproduction.overview import draw_overviews
from rungwise.lab.reproduction.pages import make_pages
from rungwise.lab.reproduction.results import Figure, PaperRow, Reproduction, Rival
from rungwise.lab.reproduction.spreadsheets import runs_csv, summary_csv
from rungwise.lab.reproduction.tables import grids, lcbench_grid, make_grid
from rungwise.lab.reproduction.terminal import show

BESIDE = PaperRow(
    "nas201",
    1,
    "CIFAR-10",
    "pasha",
    "PASHA",
    Figure(93.57, 0.75),
    Figure(1.3, 0.6),
    2.3,
    Figure(36.1, 50.0),
)


def reproduction(*sections, outcomes=(), **facts):
    names = dict.fromkeys(one.benchmark for one in sections)
    cards = {name: Card(name=name, title=f"title of {name}", resources=9) for name in names}
    plain = {
        "benchmarks": cards,
        "settings": Settings(("table1",)),
        "remarks": {name: (f"A remark on {name}.",) for name in names},
    }
    return Reproduction(sections=sections, outcomes=outcomes, **{**plain, **facts})


def full(**facts):
    """A section as table 1 has it."""
    asha = row("asha", "ASHA", seconds=72000.0, speedup=1.0)
    one = row("one-epoch", "One-epoch baseline", seconds=60.0)
    random = row("random", "Random baseline", seconds=0.0, speedup=None)
    return section(asha, row(seconds=3600.0), one, random, **facts)


# -- grids --------------------------------------------------------------------------------------


def test_a_line_holds_every_figure():
    line = make_grid(
        section(
            row(
                final=(0.93574, 0.0075),
                seconds=46800.0,
                speedup=2.34,
                max_resource=Figure(36.12, 50.0),
                spent=Figure(1234.4, 99.6),
                better_share=Figure(0.0312, 0.0),
                regret=Figure(0.123, 0.2),
            )
        )
    ).lines[0]
    assert line == (
        *("PASHA", "93.57 ± 0.75", "13.0 h ± 0.0 h", "2.3×", "36.1 ± 50.0"),
        *("1,234 ± 100", "3.1 %", "0.12 ± 0.20"),
    )


def test_the_paper_stands_to_the_right_where_it_has_figures():
    grid = make_grid(section(row("asha", "ASHA", seconds=10.0), row(paper=BESIDE)))
    assert grid.head[8:] == (
        *("paper: accuracy (%)", "paper: runtime", "paper: speed-up", "paper: max resource"),
    )
    assert grid.lines[0][8:] == ("–", "–", "–", "–")
    assert grid.lines[1][8:] == ("93.57 ± 0.75", "1.3 h ± 0.6 h", "2.3×", "36.1 ± 50.0")
    assert {len(line) for line in grid.lines} == {len(grid.head)}
    assert grid.lines[0][2].endswith("h")  # in the paper's hours, however short


def test_alone_our_figures_have_no_empty_columns():
    grid = make_grid(full())
    assert len(grid.head) == 8
    assert grid.lines[3][2:4] == ("0.0 h ± 0.0 h", "N/A")


@pytest.mark.parametrize(("seconds", "sign"), [(599.0, "s"), (600.0, "min"), (36000.0, "h")])
def test_runtimes_are_told_in_units_that_show_them(seconds, sign):
    assert choose_unit(section(row(seconds=seconds)))[1] == sign


def test_values_that_are_no_shares_keep_their_digits():
    grid = make_grid(section(row(final=(2.34567, 0.01234)), percent=False, final_metric="loss"))
    assert grid.head[1] == "loss"
    assert grid.lines[0][1] == "2.346 ± 0.01234"


def test_what_is_no_number_is_a_dash():
    assert spread(Figure(math.nan, math.nan)) == spread(None) == "–"


def lcbench_section(name, *, asha=(0.9, 0.01), pasha=(0.9, 0.01), one=(0.9, 0.01), paper=None):
    return section(
        row("asha", "ASHA", final=asha, speedup=1.0, spent=Figure(2000, 0)),
        row(final=pasha, speedup=1.25, paper=paper),
        row("one-epoch", "One-epoch baseline", final=one),
        row("random", "Random baseline", speedup=None),
        experiment="lcbench",
        benchmark=f"lcbench-{name}",
    )


def test_lcbench_is_one_table_with_a_line_a_data_set():
    paper = replace(BESIDE, dataset="Car", hours=None, max_resource=None, speedup=1.1)
    sections = [
        lcbench_section("car", pasha=(0.95, 0.01), paper=paper),
        replace(lcbench_section("kc1"), ahead=(Rival("asha", "ASHA", 0.02, 0.01, 1.1),)),
        replace(lcbench_section("dionis"), rivals=(Rival("one-epoch", "One", 0.1, 0.0, 0.2),)),
    ]
    grid = lcbench_grid(sections)
    assert [line[0] for line in grid.lines] == ["car", "kc1", "dionis"]
    assert {len(line) for line in grid.lines} == {len(grid.head)}
    assert grid.lines[0][1:7] == (
        *("90.00 ± 1.00", "95.00 ± 1.00", "90.00 ± 1.00", "1.2×", "50 ± 0", "2,000 ± 0"),
    )
    assert grid.lines[0][-3:] == ("–", "93.57 ± 0.75", "1.1×")
    assert grid.lines[1][-3:] == ("–", "–", "–")
    assert "over 3 data sets: 1.2× to 1.2×, 1.25× on average" in grid.notes[0]
    assert any("PASHA: final value 91.67" in note for note in grid.notes)
    assert any("+1.43 points from the paper's" in note for note in grid.notes)  # 95.00 − 93.57
    worse = "not worse by more than a standard error"
    assert grid.losses == (
        "On 1 of 3 data sets PASHA ends worse than ASHA by more than a standard error: kc1.",
        f"On 1 of 3 data sets one epoch for all takes less time than PASHA and is {worse}: dionis.",
    )
    slow = section(*(replace(one, speedup=0.9) for one in sections[0].rows), experiment="lcbench")
    slow = replace(slow, benchmark="lcbench-car")
    assert lcbench_grid([slow]).losses == (
        "On 1 of 1 data sets PASHA takes longer than ASHA: car.",
    )


def test_lcbench_has_a_table_a_protocol_and_others_one_a_section():
    sections = [
        full(protocol="paper"),
        full(protocol="ours"),
        *(
            replace(lcbench_section(name), protocol=protocol)
            for name in ("car", "kc1")
            for protocol in ("paper", "ours")
        ),
    ]
    drawn = grids(sections)
    assert [grid.title for _, grid in drawn] == [
        *("made, protocol paper", "made, protocol ours"),
        *("LCBench, protocol paper", "LCBench, protocol ours"),
    ]
    assert [len(grid.lines) for _, grid in drawn] == [4, 4, 2, 2]


# -- Markdown -----------------------------------------------------------------------------------


def test_the_pages_have_everything_in_its_place():
    rivals = (Rival("one-epoch", "One-epoch baseline", 0.01, 0.001, 0.1),)
    pages = make_pages(
        reproduction(
            full(notes=("A note.",), losses=("A loss.",), rivals=rivals),
            full(experiment="eta", rivals=rivals),
            full(experiment="eta", protocol="paper", rivals=rivals),
            left_out=("Something was left out.",),
        )
    )
    headings = {
        name: [line for line in text.splitlines() if line.startswith("#")]
        for name, text in pages.items()
    }
    assert headings == {
        "results.md": [
            "# Results",
            "## In short",
            "## Where PASHA is not the best choice",
            "## Details",
            "## Left out",
        ],
        "results/how-it-was-run.md": ["# How it was run", "## The benchmarks"],
        "results/table1.md": [
            "# PASHA, ASHA and the baselines (the paper's tables 1 and 5)",
            "## made, protocol ours",
        ],
        "results/eta.md": [
            "# Reduction factors (the paper's tables 1, 2, 5 and 8)",
            "## made, protocol ours",
            "## made, protocol paper",
        ],
    }
    first, how, main, _ = pages.values()
    assert "| `made` | title of made | 0 × 9 × 1 |" in how
    assert "- `made`: A remark on made." in how
    assert "| `made` | ours | 90.00 ± 1.00 | 90.00 ± 1.00 | 90.00 ± 1.00 | 2.0× |" in first
    against = "not worse by more than a standard error"
    one = "**as good or better**: 1.00 points ± 0.10 points better, in 10.0 % of the time"
    assert f"| `made` | ours | {against} | {one} |" in first
    assert "\n- A note.\n- A loss.\n" in main
    assert "counted over 2 tables (benchmarks × protocols): One-epoch baseline (2)." in first
    assert "- Something was left out." in first
    for page in pages.values():
        assert page.endswith("\n")
        assert not page.endswith("\n\n")


def test_links_of_the_pages_lead_to_pages():
    found = reproduction(full(), full(experiment="eta"))
    pages = make_pages(found, {"ours": "<svg/>"})
    assert pages["results/overview-ours.svg"] == "<svg/>"
    for name, text in pages.items():
        for target in re.findall(r"\]\(([^)]+)\)", text):
            assert posixpath.normpath(posixpath.join(posixpath.dirname(name), target)) in pages


def test_an_asha_that_ends_better_is_named_on_the_first_page():
    ahead = (Rival("asha", "ASHA", -0.02, 0.01, 2.0),)
    first = make_pages(reproduction(full(ahead=ahead)))["results.md"]
    assert "| **2.00 points ± 1.00 points worse** | one epoch ends worse |" in first


def test_the_overview_is_drawn_from_the_runs():
    needs("plots")
    outcomes = [
        outcome(method, final=final, seed=seed)
        for method, final in (("asha", 0.9), ("pasha", 0.88), ("one-epoch", 0.91))
        for seed in (0, 1)
    ]
    made = full()
    found = reproduction(made, outcomes=outcomes, settings=Settings(("table1",), ("ours",)))
    ((protocol, picture),) = draw_overviews(found)
    assert protocol == "ours"
    for word in ("<svg", "made", "PASHA", "one unit for all", "protocol ours"):
        assert word in picture


def test_every_table_of_the_page_is_rectangular():
    page = whole_text(reproduction(full(), lcbench_section("car"), lcbench_section("kc1")))
    widths = []
    for block in page.split("\n\n"):
        lines = block.splitlines()
        if lines[0].startswith("|"):
            widths.append({line.count("|") for line in lines})
    assert len(widths) >= 4
    assert all(len(counts) == 1 for counts in widths)


def test_text_of_cards_cannot_break_a_table():
    card = Card(name="made", title="a | b\nc", metric="m", resources=9)
    page = whole_text(reproduction(full(), benchmarks={"made": card}))
    assert "| `made` | a \\| b c |" in page


def test_remarks_that_lcbench_shares_are_told_once():
    names = [f"lcbench-{name}" for name in ("a", "b", "c", "d", "e")]
    sections = [lcbench_section(name.removeprefix("lcbench-")) for name in names]
    remarks = {**dict.fromkeys(names, ("Shared.",)), "lcbench-e": ("Its own.",)}
    page = whole_text(reproduction(*sections, remarks=remarks))
    assert "- `lcbench-…`: Shared." in page
    assert "- `lcbench-e`: Its own." in page
    assert page.count("Shared.") == 1
    assert "LCBench, 5 data sets" in page


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        (Settings(("table1", "eta")), "rungwise reproduce table1 eta"),
        (Settings(("table1",), seeds=1, configs=64), "table1 --seeds 1 --configs 64"),
        (Settings(("table1",), ("ours",), workers=8), "table1 --workers 8 --protocol ours"),
        (Settings(("table1",), nearest=True), "table1 --nearest"),
    ],
)
def test_the_page_tells_the_command_that_makes_it(settings, text):
    assert command(settings).endswith(text)
    assert f"`{command(settings)}`" in whole_text(reproduction(full(), settings=settings))


def test_only_protocols_that_were_run_are_explained():
    page = whole_text(reproduction(full(), settings=Settings(("table1",), ("ours",))))
    assert "- Protocol `ours`" in page
    assert "- Protocol `paper`" not in page


# -- CSV ----------------------------------------------------------------------------------------


def read(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_runs_have_a_line_each_with_nothing_rounded():
    outcomes = (
        outcome("soft-0.02", seconds=1 / 3, final=0.1 + 0.2, table_seed=2, seed=4),
        outcome("pasha", regret=math.nan, trained=False, row=-1),
    )
    first, second = read(runs_csv(reproduction(full(), outcomes=outcomes)))
    assert float(first["seconds"]) == 1 / 3
    assert float(first["final"]) == 0.1 + 0.2
    assert (first["table_seed"], first["seed"], first["trained"]) == ("2", "4", "True")
    assert first["label"] == "PASHA soft ranking ε=0.02"
    assert (second["regret"], second["trained"], second["row"]) == ("", "False", "-1")


def test_summaries_have_a_line_a_method_and_the_papers_figures():
    made = reproduction(section(row("asha", "ASHA", speedup=None), row(paper=BESIDE)))
    asha, pasha = read(summary_csv(made))
    assert (asha["experiment"], asha["benchmark"], asha["method"]) == ("table1", "made", "asha")
    assert asha["speedup"] == asha["paper_accuracy"] == asha["paper_table"] == ""
    assert float(pasha["final_mean"]) == 0.9
    assert float(pasha["final_std"]) == 0.01
    assert (pasha["paper_table"], pasha["paper_accuracy"]) == ("1", "93.57")
    assert (pasha["paper_hours_std"], pasha["paper_max_resource"]) == ("0.6", "36.1")
    assert pasha["paper_speedup"] == "2.3"


def test_files_and_sections_tell_the_same(folder):
    write_curves(folder, "own", seeds=2)
    found = reproduce(["table1"], settings=Settings((), seeds=2, configs=20))
    lines = read(runs_csv(found))
    for summary in read(summary_csv(found)):
        mine = [
            float(line["seconds"])
            for line in lines
            if (line["method"], line["protocol"]) == (summary["method"], summary["protocol"])
        ]
        assert len(mine) == int(summary["n"]) == 4
        assert sum(mine) / 4 == pytest.approx(float(summary["seconds_mean"]))


# -- the terminal -------------------------------------------------------------------------------


def shown(made, **options):
    screen = Console(file=io.StringIO(), width=200, **options)
    show(made, screen)
    return screen.file.getvalue()


def test_the_terminal_shows_tables_notes_remarks_and_what_is_missing():
    text = shown(
        reproduction(
            full(notes=("A note.",), losses=("A loss.",)), left_out=("Something was left out.",)
        )
    )
    for part in (
        "PASHA, ASHA and the baselines (the paper's tables 1 and 5)",
        "made, protocol ours",
        "| One-epoch baseline | ",
        "- A note.",
        "- A loss.",
        "- made: A remark on made.",
        "- Something was left out.",
    ):
        assert part in text


def test_the_terminal_ends_with_the_whole_in_short():
    rivals = (Rival("one-epoch", "One-epoch baseline", 0.01, 0.001, 0.1),)
    text = shown(reproduction(full(losses=("A loss.",)), full(experiment="eta", rivals=rivals)))
    _, short = text.split("In short")
    assert "| made | ours | 90.00 ± 1.00 | 90.00 ± 1.00 | 90.00 ± 1.00 |" in " ".join(short.split())
    assert "Where PASHA is not the best choice" in short
    assert "- made, protocol ours: A loss." in short
    assert "counted over 1 table (benchmarks × protocols): One-epoch baseline (1)." in short
    assert "In short" not in shown(reproduction(full())), "one table is short enough"
    without = shown(reproduction(*(full(experiment="eta", benchmark=name) for name in "ab")))
    assert "In short" not in without
    assert "best choice" not in without


def test_the_terminal_takes_names_as_they_are():
    # Square brackets would be colours, were they read as rich's markup.
    odd = full(benchmark="made", notes=("[bold]not bold[/bold]",))
    assert "- [bold]not bold[/bold]" in shown(reproduction(odd))


def test_remarks_that_many_share_are_shown_once():
    sections = [lcbench_section(name) for name in "abcdef"]
    names = [one.benchmark for one in sections]
    text = shown(reproduction(*sections, remarks=dict.fromkeys(names, ("Shared.",))))
    assert "- lcbench-a, lcbench-b, lcbench-c and 3 more: Shared." in text


def test_a_real_reproduction_can_be_drawn_whole(folder):
    write_curves(folder, "own")
    write_tiny(folder, "lcbench-car")
    found = reproduce(["all"], settings=Settings((), seeds=1, configs=20))
    page = whole_text(found)
    for one in found.sections:
        if one.experiment != "lcbench":
            assert all(line.label in page for line in one.rows)
    assert " nan" not in page
    assert shown(found)
