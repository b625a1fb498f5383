"""Problems with known optima. A new one is a file here and its line in the list below."""

from hillbandit.problems.base import Problem
from hillbandit.problems.leading_ones import LeadingOnes
from hillbandit.problems.noise import Noisy
from hillbandit.problems.onemax import OneMax
from hillbandit.problems.royal_road import RoyalRoad

__all__ = ["LeadingOnes", "Noisy", "OneMax", "Problem", "RoyalRoad"]
