"""Noise on top of any problem."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hillbandit.problems.base import Problem
from hillbandit.space import Config, is_number


class Noisy(Problem):
    """A problem with Gaussian noise added afresh to every evaluation.

    Example:
        >>> import hillbandit as hb
        >>> noisy = hb.problems.Noisy(hb.problems.OneMax(4), sd=1.0, seed=0)
        >>> round(noisy([1, 0, 1, 1]), 3)
        3.126
        >>> noisy.true_value([1, 0, 1, 1])
        3.0
        >>> noisy([1, 0, 1, 1], seed=5) == noisy([1, 0, 1, 1], seed=5)
        True

    Args:
        problem: What the noise is added to; where it is noisy itself, both noises count.
        sd: The noise's standard deviation.
        seed: Fixes the noise of evaluations that are called without a seed of their own.

    Raises:
        TypeError: If `problem` is not a Problem, or `sd` not a number.
        ValueError: If `sd` is negative or not finite.
    """

    def __init__(self, problem: Problem, sd: float = 1.0, seed: int | None = 0) -> None:
        if not isinstance(problem, Problem):
            raise TypeError(f"Noisy needs a problem, not {type(problem).__name__}.")
        if not is_number(sd):
            raise TypeError(f"The noise's standard deviation must be a number, not {sd!r}.")
        if not (math.isfinite(sd) and sd >= 0):
            raise ValueError(f"The noise's standard deviation must be 0 or more, not {sd}.")
        self.problem = problem
        self.sd = float(sd)
        self.space = problem.space
        self.optimum = problem.optimum
        # independent Gaussian noise on top of Gaussian noise: the variances add up
        self._total_sd: float = math.hypot(
            self.sd, problem._total_sd if isinstance(problem, Noisy) else 0
        )
        self._rng = np.random.default_rng(seed)

    def _values(self, genomes: NDArray[np.int64]) -> NDArray[np.float64]:
        return self.problem._values(genomes)

    def __call__(self, config: Config, seed: int | None = None) -> Any:
        """Evaluate one configuration, or each row of a 2-D array, with noise.

        Args:
            config: A genome, or a 2-D array of genomes.
            seed: Fixes the noise of this call; without it, it comes from the problem's own stream.

        Raises:
            ValueError: If the configuration does not fit the space.
        """
        rng = self._rng if seed is None else np.random.default_rng(seed)
        value = self.true_value(config)
        if isinstance(value, float):
            return value + self._total_sd * rng.standard_normal()
        return value + self._total_sd * rng.standard_normal(len(value))

    def __repr__(self) -> str:
        return f"Noisy({self.problem!r}, sd={self.sd:g})"
