"""The paper's evaluation on the installed benchmarks, its figures beside ours.

Reference:
    Bohdal et al., PASHA: Efficient HPO and NAS with Progressive Resource Allocation (2023).
"""

from rungwise.lab.reproduction.api import reproduce
from rungwise.lab.reproduction.experiments import EXPERIMENTS
from rungwise.lab.reproduction.results import (
    Figure,
    Outcome,
    PaperRow,
    Reproduction,
    Row,
    Section,
    Settings,
)

__all__ = [
    "EXPERIMENTS",
    "Figure",
    "Outcome",
    "PaperRow",
    "Reproduction",
    "Row",
    "Section",
    "Settings",
    "reproduce",
]
