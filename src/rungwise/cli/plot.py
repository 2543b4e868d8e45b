"""``rungwise plot``: a figure of a study, as a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from rungwise import plots
from rungwise.cli.arguments import Study
from rungwise.errors import InvalidArgumentError
from rungwise.tuning.loading import load
from rungwise.validation import one_of

Draw = Callable[..., plots.Figure]

KINDS: Mapping[str, tuple[Draw, tuple[str, ...]]] = {
    "history": (plots.history, ("over",)),
    "curves": (plots.learning_curves, ()),
    "ladder": (plots.ladder, ()),
    "epsilon": (plots.epsilon, ()),
    "importance": (plots.importance, ("rung",)),
    "parallel": (plots.parallel_coordinates, ("rung",)),
    "slice": (plots.slice, ("parameter", "rung")),
    "contour": (plots.contour, ("parameter", "rung")),
    "timeline": (plots.timeline, ()),
}
"""Each kind of figure, and the options that it has."""

Kind = Annotated[str, typer.Option(metavar="KIND", help=f"What is drawn: {', '.join(KINDS)}.")]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="The file to write; it must end in .html, .svg, .png or .json. "
        "Default: STUDY-KIND.html in the current folder.",
    ),
]
Parameters = Annotated[
    list[str] | None,
    typer.Option(
        "--parameter",
        metavar="NAME",
        help="The hyperparameter of a slice; give it twice for a contour.",
    ),
]
Rung = Annotated[
    float | None,
    typer.Option(
        help="Compare the trials at this rung. Default: the highest that at least 12 have reached."
    ),
]
Over = Annotated[
    str | None, typer.Option(metavar="WHAT", help="History: over the resource or the seconds.")
]


def plot(
    study: Study,
    kind: Kind = "history",
    output: Output = None,
    parameter: Parameters = None,
    rung: Rung = None,
    over: Over = None,
) -> None:
    """Draw a figure of a study, also while it runs.

    rungwise plot train.db --kind importance -o importance.png

    rungwise plot train.db --kind contour --parameter lr --parameter wd
    """
    one_of("--kind", kind, tuple(KINDS))
    draw, known = KINDS[kind]
    given: dict[str, Any] = {"parameter": parameter or None, "rung": rung, "over": over}
    options = {name: value for name, value in given.items() if value is not None}
    for name, value in options.items():
        if name not in known:
            having = ", ".join(other for other, (_, names) in KINDS.items() if name in names)
            rule = f"it is for the kinds {having}, not for {kind}"
            raise InvalidArgumentError(f"--{name}", value, rule)
    names = options.pop("parameter", [])
    most = 2 if kind == "contour" else 1
    if len(names) > most:
        raise InvalidArgumentError("--parameter", names, f"a {kind} has at most {most}")
    figure = draw(load(study), *names, **options)
    target = Path(f"{study.stem}-{kind}.html") if output is None else output
    typer.echo(f"wrote {plots.export(figure, target)}")
