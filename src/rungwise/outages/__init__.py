"""Whether failures belong to configurations, or to what surrounds the study.

Law of this package: it is pure; it sees which jobs started, reported, ended and failed, in order.
"""

from rungwise.outages.causes import depends_on_configuration, find_cause
from rungwise.outages.watch import HELD_FROM, IN_A_ROW, LAST_IN_A_ROW, LAST_RECOGNISED, OutageWatch

__all__ = [
    "HELD_FROM",
    "IN_A_ROW",
    "LAST_IN_A_ROW",
    "LAST_RECOGNISED",
    "OutageWatch",
    "depends_on_configuration",
    "find_cause",
]
