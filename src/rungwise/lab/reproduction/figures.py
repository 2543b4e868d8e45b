"""The figures of the report: what the studies found for what they spent, and their history."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from rungwise import plots
from rungwise.benchmarks.benchmark import Benchmark
from rungwise.benchmarks.card import Card
from rungwise.errors import InvalidArgumentError
from rungwise.formatting import join_words
from rungwise.lab.reproduction import number_text
from rungwise.lab.reproduction.chunks import Chunk, draw_sample
from rungwise.lab.reproduction.executor import uses_nearest
from rungwise.lab.reproduction.methods import METHODS, Case
from rungwise.lab.reproduction.paper import LCBENCH
from rungwise.lab.reproduction.protocols import PROTOCOLS
from rungwise.lab.reproduction.results import Reproduction, Row, Section
from rungwise.plots.curves import plural
from rungwise.simulation import SimulationResult


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure with its caption.

    Attributes:
        figure: the figure.
        caption: what it shows, in a sentence or two.
    """

    figure: plots.Figure
    caption: str


def draw_results(reproduction: Reproduction, benchmark: str) -> Iterator[Picture]:
    """All methods on a benchmark, one picture per protocol: the final value against the cost."""
    for protocol in reproduction.settings.protocols:
        sections = [
            section
            for section in reproduction.sections
            if (section.benchmark, section.protocol) == (benchmark, protocol)
        ]
        if not sections:
            continue
        # A method may be in several experiments, with the same runs; the first names it.
        rows: dict[str, Row] = {}
        for row in (row for section in sections for row in section.rows):
            rows.setdefault(row.method, row)
        shown = tuple(row for row in rows.values() if row.spent.mean > 0)
        named = replace(sections[0], benchmark=f"{benchmark}, protocol {protocol}", rows=shown)
        try:
            figure = plots.pareto(named)
        except InvalidArgumentError:  # no method has finite figures
            continue
        unit = _name_unit(reproduction.benchmarks[benchmark])
        figure = figure.with_titles(x=f"resource spent ({unit})")
        yield Picture(
            figure, _write_caption(named, [row for row in rows.values() if row not in shown])
        )


def draw_speed(reproduction: Reproduction) -> Iterator[Picture]:
    """PASHA's speed-up on every data set of LCBench, one picture per protocol."""
    for protocol in reproduction.settings.protocols:
        factors = {
            section.benchmark.removeprefix(LCBENCH): row.speedup
            for section in reproduction.sections
            if (section.experiment, section.protocol) == ("lcbench", protocol)
            and (row := section.row("pasha")) is not None
            and row.speedup is not None
        }
        if factors:
            title = f"PASHA's speed-up over ASHA on LCBench, protocol {protocol}"
            yield Picture(plots.speedup(factors, title=title), "Mean runtimes over all seeds.")


def draw_studies(reproduction: Reproduction, benchmark: Benchmark) -> Iterator[Picture]:
    """The curves of a benchmark, and the history of PASHA on the sample of the first seed."""
    settings = reproduction.settings
    table = benchmark.table(nearest=uses_nearest(benchmark.card, settings))
    chunk = Chunk(
        benchmark=benchmark.name,
        table_seed=0,
        seed=0,
        runs=(),
        configs=settings.configs,
        workers=settings.workers,
        nearest=table.nearest,
    )
    sample = draw_sample(table, chunk)
    rows = list(dict.fromkeys(sample))
    yield Picture(
        plots.learning_curves(benchmark, rows=rows, others=False),
        f"The three of {len(rows)} sampled configurations that are best in the end. Curves that "
        "cross again and again belong to configurations that are equally good: PASHA estimates "
        "the noise from them.",
    )
    yield Picture(
        plots.learning_curves(benchmark, rows=rows),
        f"All {len(rows)} sampled configurations, the same three in colour.",
    )
    played = {
        name: METHODS["pasha"].play(Case(table, sample, PROTOCOLS[name], settings.workers, 0))
        for name in settings.protocols
    }
    yield from _draw_histories(played, benchmark.card)


def _draw_histories(played: Mapping[str, SimulationResult], card: Card) -> Iterator[Picture]:
    """The history of PASHA under each protocol."""
    if any(result.epsilons for result in played.values()):
        labelled = {f"protocol {name}": result for name, result in played.items()}
        figure = plots.epsilon(labelled)
        if card.metric:
            figure = figure.with_titles(y=f"ε ({card.metric})")
        yield Picture(figure, "The difference that PASHA takes for noise, first seed.")
    for name, result in played.items():
        try:
            figure = plots.ladder(result)
        except InvalidArgumentError:  # too short a study: no job had reported when it ended
            continue
        figure = figure.with_titles(y=f"rungs ({_name_unit(card)})")
        yield Picture(figure, f"PASHA, protocol {name}, first seed. {result.why}")


def _name_unit(card: Card) -> str:
    """What the resource of a benchmark is counted in."""
    return plural(card.resource or "unit")


def _write_caption(section: Section, free: list[Row]) -> str:
    bars = "Bars are a standard deviation to either side."
    if not free:
        return bars
    names = join_words([f"{row.label} ({number_text.final(section, row.final)})" for row in free])
    return f"{bars} Not shown, because they spent nothing: {names}."
