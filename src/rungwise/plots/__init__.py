"""Figures of learning curves, of studies, of hyperparameters and of comparisons.

Every function returns a :class:`Figure`: a Vega-Lite specification, from which notebooks, web
pages, SVG and PNG are made. :func:`export` writes one to a file; for pages and pictures it needs
the extra ``rungwise[plots]``.
"""

from rungwise.plots.comparisons import Point, pareto, speedup
from rungwise.plots.curves import learning_curves
from rungwise.plots.figure import Figure, export
from rungwise.plots.history import epsilon, ladder
from rungwise.plots.hyperparameters import (
    contour,
    importance,
    parallel_coordinates,
    slice,  # noqa: A004 - what the field calls it
)
from rungwise.plots.progress import history, timeline

__all__ = [
    "Figure",
    "Point",
    "contour",
    "epsilon",
    "export",
    "history",
    "importance",
    "ladder",
    "learning_curves",
    "parallel_coordinates",
    "pareto",
    "slice",
    "speedup",
    "timeline",
]
