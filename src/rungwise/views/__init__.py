"""Reading a study, running or over: folds, a view that cannot change it, and results."""

from rungwise.core.scheduler import Winner
from rungwise.views.folds import (
    BestTrial,
    JobView,
    RankedTrial,
    Row,
    RungView,
    ceiling,
    curve,
    describe_state,
    epsilon,
    find_furthest,
    leaderboard,
    list_levels,
    next_level,
    rungs,
)
from rungwise.views.results import StudyResult
from rungwise.views.status import Situation
from rungwise.views.study_view import UNNAMED, StudyView, find_view
from rungwise.views.trial_view import TrialView
from rungwise.views.winners import choose_winner, find_record

__all__ = [
    "UNNAMED",
    "BestTrial",
    "JobView",
    "RankedTrial",
    "Row",
    "RungView",
    "Situation",
    "StudyResult",
    "StudyView",
    "TrialView",
    "Winner",
    "ceiling",
    "choose_winner",
    "curve",
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
