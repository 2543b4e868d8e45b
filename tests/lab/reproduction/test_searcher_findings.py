"""The experiment ``bo``: what is planned, what it needs, and what is said of searchers."""

from dataclasses import replace

import pytest
from extras import needs
from reproduction_stories import outcome, row, section, whole_text, write_searchable, write_tiny

import rungwise as rw
from rungwise.benchmarks import catalog
from rungwise.errors import InvalidArgumentError
from rungwise.lab.reproduction import Settings, available, reproduce, searcher_findings
from rungwise.lab.reproduction.chunks import TableCache, run_chunk
from rungwise.lab.reproduction.executor import plan_chunks, run
from rungwise.lab.reproduction.experiments import EXPERIMENTS, chosen, plan, protocols_for, shortest
from rungwise.lab.reproduction.findings import write_findings
from rungwise.lab.reproduction.markdown import command
from rungwise.lab.reproduction.report import html
from rungwise.lab.reproduction.results import Figure
from rungwise.lab.reproduction.spreadsheets import runs_csv, summary_csv

BO = EXPERIMENTS["bo"]
SMALL = Settings((), seeds=2, configs=20, workers=2)
FEW = replace(SMALL, configs=8)
"""So few that no model is asked: GP draws at random before ten trials have told something."""


def lacking(monkeypatch, *missing):
    monkeypatch.setattr(available, "is_installed", lambda extra: extra not in missing)


# -- the plan -----------------------------------------------------------------------------------


def test_it_is_run_by_name_only():
    assert "bo" not in chosen(["all"])
    assert chosen(["bo"]) == ("bo",)
    assert chosen(["bo", "all"]) == (*chosen(["all"]), "bo") == tuple(EXPERIMENTS)
    assert [name for name, one in EXPERIMENTS.items() if one.by_name_only] == ["bo"]


@pytest.mark.parametrize("names", [("table1",), ("bo",), ("all",), ("all", "bo"), ("eta", "bo")])
def test_the_words_for_a_choice_give_that_choice(names):
    assert shortest(chosen(names)) == names
    assert command(Settings(chosen(names))) == f"rungwise reproduce {' '.join(names)}"


@pytest.mark.parametrize(
    ("settings", "protocols"),
    [
        (Settings(()), ("paper",)),
        (Settings((), everywhere=True), ("paper", "ours")),
        (Settings((), protocols=("ours",)), ("ours",)),
        (Settings((), protocols=("paper",)), ("paper",)),
    ],
)
def test_it_has_the_protocol_of_the_paper_unless_asked(settings, protocols):
    assert protocols_for(BO, settings) == protocols
    assert protocols_for(EXPERIMENTS["eta"], settings) == settings.protocols


def test_studies_with_a_searcher_are_chunks_of_their_own(folder, monkeypatch):
    lacking(monkeypatch)
    write_searchable(folder, "own", seeds=2)
    pairs = plan(("table1", "bo"), list(catalog.cards().values()), everything=True)
    chunks = plan_chunks(pairs, SMALL)
    one = [chunk.runs for chunk in chunks if (chunk.table_seed, chunk.seed) == (1, 1)]
    both = [(name, protocol) for name in ("asha", "pasha") for protocol in ("paper", "ours")]
    assert set(both) < set(one[0])
    names = ("asha-bo", "pasha-bo", "asha-kde", "pasha-kde", "asha-tpe", "pasha-tpe", "optuna")
    assert one[1:] == [((name, "paper"),) for name in names]
    assert len(chunks) == 4 * len(one)


def test_a_table_without_a_space_has_nothing_to_search_in(folder, monkeypatch):
    lacking(monkeypatch)
    write_tiny(folder)
    write_searchable(folder, "own")
    pairs = plan(("bo",), list(catalog.cards().values()), everything=True)
    assert [card.name for _, card in pairs] == ["own"]
    with pytest.raises(InvalidArgumentError, match="no search space to search in"):
        reproduce(["bo"], ["tiny"])


# -- what it needs ------------------------------------------------------------------------------


def test_without_optuna_its_rows_are_left_out_and_told(folder, monkeypatch):
    write_searchable(folder, "own")
    lacking(monkeypatch, "optuna")
    found = reproduce(["bo"], settings=FEW)
    (one,) = found.sections
    names = ["asha", "pasha", "asha-bo", "pasha-bo", "asha-kde", "pasha-kde"]
    assert [row.method for row in one.rows] == names
    (sentence,) = found.left_out
    assert sentence == (
        "Of Bayesian optimisation (bo, the paper's table 3), ASHA + Optuna's TPE, PASHA + Optuna's "
        "TPE and Optuna's Hyperband were left out: they need an extra: pip install "
        "'rungwise[optuna]'."
    )


def test_an_extra_is_installed_if_its_package_is(monkeypatch):
    monkeypatch.setattr(available, "PACKAGES", {"here": ["json"], "optuna": ["no_such_package"]})
    assert available.is_installed("")
    assert available.is_installed("here")
    assert not available.is_installed("optuna")


# -- what comes of it ---------------------------------------------------------------------------


def test_a_study_is_that_of_simulate_with_the_searcher(folder):
    write_searchable(folder, "own", seeds=2)
    pairs = [(replace(BO, methods=("asha", "pasha-kde")), *catalog.cards().values())]
    outcomes = run(plan_chunks(pairs, SMALL))
    (found,) = [o for o in outcomes if (o.method, o.table_seed, o.seed) == ("pasha-kde", 1, 1)]
    recipe = rw.PASHA(max_resource=27, promote="quantile", check="report")
    table = catalog.load("own").table(1)
    result = rw.simulate(
        table, recipe, searcher=rw.searchers.KDE(), trials=20, workers=2, seed=1, finish="paper"
    )
    assert (found.row, found.seconds) == (result.best.row, result.seconds)
    assert (found.max_resource, found.spent) == (result.max_resource, result.resource_spent)
    assert len(set(result.rows)) == 20


def test_choices_are_judged_by_the_sample_drawn_at_random(folder):
    """Whatever a searcher draws, one sample a seed is the measure."""
    write_searchable(folder, "own")
    pairs = [(replace(BO, methods=("asha", "asha-kde")), *catalog.cards().values())]
    outcomes = run(plan_chunks(pairs, replace(SMALL, seeds=8, configs=12)))
    table = catalog.load("own").table()
    for one in outcomes:
        sample = rw.simulate(table, rw.ASHA(), trials=12, seed=one.seed).rows
        finals = table.values[sample, -1]
        best, median = finals.max(), sorted(finals)[5:7]
        regret = (best - one.final) / (best - sum(median) / 2)
        assert one.regret == pytest.approx(regret)
        assert one.better_share == (finals > one.final).mean()
    assert any(one.regret < 0 for one in outcomes)  # better than all that chance has drawn
    assert all(one.regret >= 0 for one in outcomes if one.method == "asha")


def test_nobody_waits_for_the_end_of_a_long_study(folder):
    write_searchable(folder, "own")
    pairs = [(replace(BO, methods=("asha-kde", "asha")), *catalog.cards().values())]
    quick, slow = plan_chunks(pairs, replace(SMALL, seeds=1))
    asked = []

    def enough():
        asked.append(True)
        return len(asked) > 5

    assert not run_chunk(slow, TableCache(catalog.load), cancelled=enough)
    assert len(asked) == 6  # in its middle: it has more reports
    asked.clear()
    assert len(run_chunk(quick, TableCache(catalog.load), cancelled=enough)) == 1
    assert len(asked) == 1  # once, at its end


def test_the_number_of_processes_changes_nothing(folder):
    needs("optuna")
    write_searchable(folder, "own")
    methods = ("asha", "pasha", "pasha-kde", "pasha-tpe", "optuna")
    pairs = [(replace(BO, methods=methods), *catalog.cards().values())]
    chunks = plan_chunks(pairs, replace(SMALL, configs=16))
    assert run(chunks) == run(chunks, processes=2)


def test_a_model_is_asked_and_every_page_has_it(folder):
    needs("optuna")
    write_searchable(folder, "own")
    told = []
    found = reproduce(
        ["bo"], settings=replace(SMALL, seeds=1), progress=lambda *numbers: told.append(numbers)
    )
    assert found.settings.protocols == ("paper",)
    (one,) = found.sections
    assert [row.method for row in one.rows] == list(BO.methods)
    assert [row.n for row in one.rows] == [1] * 9
    assert told == [(done, 9) for done in range(2, 10)]  # the two without a searcher come together
    labels = {made.method: made.label for made in one.rows}
    assert (labels["asha"], labels["pasha-bo"]) == ("ASHA, random", "PASHA + GP")
    page = whole_text(found)
    for text in (page, html(found), summary_csv(found)):
        for label in labels.values():
            assert label in text.replace("&#x27;", "'")
    assert runs_csv(found).count("PASHA + GP") == 1
    assert "`rungwise reproduce bo --seeds 1 --configs 20 --workers 2 --protocol paper`" in page
    assert "but those with a searcher choose their own" in page
    assert searcher_findings.MEASURE in page


def test_the_paper_stands_beside_its_own_two(folder, monkeypatch):
    lacking(monkeypatch, "optuna")
    write_searchable(folder, "nasbench201-cifar10")
    (one,) = reproduce(["bo"], settings=FEW).sections
    beside = {row.method: row.paper for row in one.rows if row.paper is not None}
    assert list(beside) == ["asha-bo", "pasha-bo"]
    assert beside["asha-bo"].label == "MOBSTER"
    assert (beside["pasha-bo"].accuracy.mean, beside["pasha-bo"].speedup) == (94.0, 2.0)
    assert beside["pasha-bo"].number == 3


def test_all_tells_that_it_was_left_out(folder):
    write_tiny(folder)
    found = reproduce(["all"], settings=SMALL)
    (sentence,) = [told for told in found.left_out if "(bo, " in told]
    assert sentence == (
        "Bayesian optimisation (bo, the paper's table 3) was left out: it takes tens of minutes, "
        "so it is run only by name (rungwise reproduce bo)."
    )
    assert not reproduce(["table1"], settings=SMALL).left_out


# -- what is said -------------------------------------------------------------------------------

ASHA, PASHA = row("asha", "ASHA, random"), row("pasha", "PASHA, random", seconds=50.0)
GP = row("pasha-bo", "PASHA + GP", seconds=40.0, spent=Figure(30.0, 0.0))


def runs_of(**finals):
    return {
        name.replace("_", "-"): [outcome(name, final=final) for final in values]
        for name, values in finals.items()
    }


def said(gp, *, plain=(0.8, 0.8, 0.8)):
    """What is said of PASHA + GP against PASHA alone."""
    runs = runs_of(asha=plain, pasha=plain, pasha_bo=gp)
    notes = list(searcher_findings.write_findings(section(ASHA, PASHA, GP, experiment="bo"), runs))
    assert notes[0] == searcher_findings.MEASURE
    return notes[1:]


def test_a_searcher_that_beats_chance():
    (sentence,) = said((0.83, 0.84, 0.82))
    assert sentence == (
        "PASHA + GP against PASHA, random: 3.00 points better, standard error 0.58 points; it "
        "beats random sampling (by more than a standard error). Resource spent: 30 against 50, in "
        "80.0 % of the time. At equal resource, 50: 3.00 points better, standard error 0.58 "
        "points; it beats random sampling (by more than a standard error)."
    )


def test_choices_are_compared_at_equal_resource_too():
    """Seed by seed, as they stood when the thriftier of the two had ended."""
    late = outcome("pasha-bo", final=0.9, spent=80, leads=((10, 0.5), (40, 0.7), (60, 0.9)))
    early = outcome("pasha-bo", final=0.9, spent=30, leads=((10, 0.5), (30, 0.9)))
    plain = outcome("pasha", final=0.8, spent=50, leads=((20, 0.6), (50, 0.8)))
    runs = {"asha": [plain] * 2, "pasha": [plain] * 2, "pasha-bo": [late, early]}
    *_, sentence = searcher_findings.write_findings(section(ASHA, PASHA, GP, experiment="bo"), runs)
    # 0.7 against 0.8 when 50 was spent, 0.9 against 0.6 when 30 was.
    assert sentence.endswith(
        "At equal resource, 40: 10.00 points better, standard error 20.00 points; it does not beat "
        "random sampling."
    )


def test_what_was_chosen_with_so_much_spent():
    made = outcome(final=0.9, spent=60, leads=((10, 0.5), (40, 0.7), (60, 0.9)))
    assert [made.within(spent).final for spent in (10, 39, 40, 59, 60, 99)] == [
        *(0.5, 0.5, 0.7, 0.7, 0.9, 0.9)
    ]
    nothing = outcome(final=0.2, row=-1, spent=60)
    assert nothing.within(30) == nothing


@pytest.mark.parametrize(
    ("gp", "plain", "words"),
    [
        ((0.83, 0.80, 0.80), (0.8,) * 3, "it does not beat random sampling."),
        ((0.8, 0.8, 0.8), (0.8,) * 3, "equally good; it does not beat random sampling."),
        ((0.77, 0.80, 0.80), (0.8,) * 3, "it does not beat random sampling."),
        ((0.7, 0.71, 0.7), (0.8,) * 3, "it is worse than random sampling (by more than a "),
        (
            (0.9,),
            (0.8,),
            "10.00 points better; it beats random sampling (a single run says little)",
        ),
        ((0.7,), (0.8,), "it is worse than random sampling (a single run says little)."),
    ],
)
def test_where_a_searcher_does_not_beat_chance_that_is_said(gp, plain, words):
    (sentence,) = said(gp, plain=plain)
    assert words in sentence


def test_everyone_is_told_against_optuna():
    peer = row("optuna", "Optuna's Hyperband", seconds=200.0, spent=Figure(120, 0))
    runs = runs_of(asha=(0.8, 0.8), pasha=(0.8, 0.8), pasha_bo=(0.9, 0.9), optuna=(0.85, 0.83))
    made = section(ASHA, PASHA, GP, peer, experiment="bo")
    ends, against = list(searcher_findings.write_findings(made, runs))[-2:]
    assert ends.startswith("Optuna's Hyperband is a study of Optuna alone")
    assert against == (
        "Against Optuna's Hyperband: ASHA, random (4.00 points worse, standard error 1.00 points, "
        "2.0× the speed, 41.7 % of its resource); PASHA, random (4.00 points worse, standard error "
        "1.00 points, 4.0× the speed, 41.7 % of its resource); PASHA + GP (6.00 points better, "
        "standard error 1.00 points, 5.0× the speed, 25.0 % of its resource)."
    )


def test_pasha_is_compared_with_the_asha_of_its_searcher():
    asha = row("asha-bo", "ASHA + GP", seconds=120.0)
    runs = runs_of(asha=(0.8,), pasha=(0.8,), asha_bo=(0.9,), pasha_bo=(0.88,))
    notes = write_findings(section(ASHA, PASHA, asha, GP, experiment="bo"), runs)
    assert notes[0].startswith("PASHA, random against ASHA, random on the same samples: equally")
    assert notes[1].startswith(
        "PASHA + GP against ASHA + GP with the same seeds: 2.00 points worse, 3.0× the speed;"
    )


def test_where_nobody_searches_nothing_is_said():
    assert not list(
        searcher_findings.write_findings(section(ASHA, PASHA), runs_of(asha=(1,), pasha=(1,)))
    )
