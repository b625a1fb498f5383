"""Bandit-based hill-climbing for expensive, noisy choices among discrete settings."""

from hillbandit import problems
from hillbandit._version import __version__
from hillbandit.optimizers import RMHC, BanditRMHC, Exhausted, OnePlusOneEA, Optimizer
from hillbandit.space import Space
from hillbandit.trial import GeneReport, Observation, Recommendation, Trial

__all__ = [
    "RMHC",
    "BanditRMHC",
    "Exhausted",
    "GeneReport",
    "Observation",
    "OnePlusOneEA",
    "Optimizer",
    "Recommendation",
    "Space",
    "Trial",
    "__version__",
    "problems",
]
