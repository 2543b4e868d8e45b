"""Figures of learning curves, of studies and of comparisons.

Every function returns a :class:`Figure`: a Vega-Lite specification, from which notebooks, web
pages, SVG and PNG are made. :func:`export` writes one to a file; for pages and pictures it needs
the extra ``rungwise[plots]``.
"""

from rungwise.plots.comparisons import Point, pareto, speedup
from rungwise.plots.curves import learning_curves
from rungwise.plots.figure import Figure, export
from rungwise.plots.history import epsilon, ladder

__all__ = ["Figure", "Point", "epsilon", "export", "ladder", "learning_curves", "pareto", "speedup"]
