"""Figures of learning curves, of studies and of comparisons, as plotly figures.

They need the extra ``rungwise[plots]``. Every function returns a ``plotly.graph_objects.Figure``,
which notebooks show as it is; :func:`export` writes one to a file.
"""

from rungwise.plots.comparisons import Point, pareto, speedup
from rungwise.plots.course import epsilon, ladder
from rungwise.plots.curves import learning_curves
from rungwise.plots.exporting import export

__all__ = ["Point", "epsilon", "export", "ladder", "learning_curves", "pareto", "speedup"]
