"""Bandit-based hill-climbing for expensive, noisy choices among discrete settings."""

from hillbandit import problems
from hillbandit._version import __version__
from hillbandit.optimizers import (
    RMHC,
    BanditRMHC,
    Exhausted,
    KalmanClimber,
    OnePlusOneEA,
    Optimizer,
)
from hillbandit.space import Space
from hillbandit.study import Progress, Study, StudyError, maximize, minimize
from hillbandit.trial import GeneReport, History, Observation, Recommendation, Result, Trial

__all__ = [
    "RMHC",
    "BanditRMHC",
    "Exhausted",
    "GeneReport",
    "History",
    "KalmanClimber",
    "Observation",
    "OnePlusOneEA",
    "Optimizer",
    "Progress",
    "Recommendation",
    "Result",
    "Space",
    "Study",
    "StudyError",
    "Trial",
    "__version__",
    "maximize",
    "minimize",
    "problems",
]
