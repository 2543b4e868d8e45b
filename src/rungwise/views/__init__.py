"""Reading a study, running or over: folds, a view that cannot change it, and results."""

from rungwise.views.folds import (
    BestTrial,
    Row,
    RungView,
    ceiling,
    curve,
    describe_rest,
    describe_state,
    epsilon,
    find_furthest,
    leaderboard,
    list_levels,
    next_level,
    rungs,
)
from rungwise.views.results import StudyResult
from rungwise.views.study_view import UNNAMED, StudyView, TrialView, find_view
from rungwise.views.winners import Winner, choose_winner, find_record

__all__ = [
    "UNNAMED",
    "BestTrial",
    "Row",
    "RungView",
    "StudyResult",
    "StudyView",
    "TrialView",
    "Winner",
    "ceiling",
    "choose_winner",
    "curve",
    "describe_rest",
    "describe_state",
    "epsilon",
    "find_furthest",
    "find_record",
    "find_view",
    "leaderboard",
    "list_levels",
    "next_level",
    "rungs",
]
