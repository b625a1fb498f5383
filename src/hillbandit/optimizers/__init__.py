"""The optimisers. A new one is a file here and its line in the tuple below."""

from hillbandit.optimizers.bandit_rmhc import BanditRMHC
from hillbandit.optimizers.base import Exhausted, Optimizer, find, register
from hillbandit.optimizers.kalman import KalmanClimber
from hillbandit.optimizers.one_plus_one import OnePlusOneEA
from hillbandit.optimizers.rmhc import RMHC

BUILT_IN = (RMHC, OnePlusOneEA, BanditRMHC, KalmanClimber)

for _optimizer in BUILT_IN:
    register(_optimizer)

__all__ = [
    "BUILT_IN",
    "RMHC",
    "BanditRMHC",
    "Exhausted",
    "KalmanClimber",
    "OnePlusOneEA",
    "Optimizer",
    "find",
    "register",
]
