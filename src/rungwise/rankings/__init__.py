"""Ranking criteria: when is the ranking of configurations stable?"""

from rungwise.rankings.base import Ranking, Verdict
from rungwise.rankings.exact import Exact
from rungwise.rankings.leader import Leader
from rungwise.rankings.noise import Noise
from rungwise.rankings.rbo import RBO
from rungwise.rankings.rrr import ARRR, RRR
from rungwise.rankings.rung_noise import RungNoise
from rungwise.rankings.soft import Soft, SoftMean, SoftMedian, SoftSigma
from rungwise.rankings.standing import Standing

__all__ = [
    "ARRR",
    "RBO",
    "RRR",
    "Exact",
    "Leader",
    "Noise",
    "Ranking",
    "RungNoise",
    "Soft",
    "SoftMean",
    "SoftMedian",
    "SoftSigma",
    "Standing",
    "Verdict",
]
