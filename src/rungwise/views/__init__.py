"""Reading a study, running or over: folds, a view that cannot change it, and results."""

from rungwise.views.folds import (
    BestTrial,
    Row,
    RungView,
    ceiling,
    curve,
    describe_rest,
    epsilon,
    leaderboard,
    list_levels,
    next_level,
    rungs,
)
from rungwise.views.results import StudyResult
from rungwise.views.study_view import UNNAMED, StudyView, TrialView, find_view

__all__ = [
    "UNNAMED",
    "BestTrial",
    "Row",
    "RungView",
    "StudyResult",
    "StudyView",
    "TrialView",
    "ceiling",
    "curve",
    "describe_rest",
    "epsilon",
    "find_view",
    "leaderboard",
    "list_levels",
    "next_level",
    "rungs",
]
