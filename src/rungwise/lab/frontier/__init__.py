"""Every method against ASHA at equal resource: what a saving is worth.

A method that trains less than ASHA with the same number of trials has a rival: ASHA with fewer
trials. This package measures both on the same samples of the same tables.
"""

from rungwise.lab.frontier.api import compare
from rungwise.lab.frontier.methods import METHODS
from rungwise.lab.frontier.results import Frontier, Group, Run, Score, Settings, Study

__all__ = ["METHODS", "Frontier", "Group", "Run", "Score", "Settings", "Study", "compare"]
