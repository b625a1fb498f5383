"""Problems with known optima. A new one is a file here and its line in the list below."""

from hillbandit.problems.base import Problem
from hillbandit.problems.best_values import BestValues
from hillbandit.problems.leading_ones import LeadingOnes
from hillbandit.problems.linear import WeightedLinear
from hillbandit.problems.max_sat import MaxThreeSat
from hillbandit.problems.nk import NKLandscape
from hillbandit.problems.noise import Noisy
from hillbandit.problems.onemax import OneMax
from hillbandit.problems.ordinal import Ordinal
from hillbandit.problems.royal_road import RoyalRoad
from hillbandit.problems.trap import DeceptiveTrap

__all__ = [
    "BestValues",
    "DeceptiveTrap",
    "LeadingOnes",
    "MaxThreeSat",
    "NKLandscape",
    "Noisy",
    "OneMax",
    "Ordinal",
    "Problem",
    "RoyalRoad",
    "WeightedLinear",
]
