"""A linear function whose weights differ by orders of magnitude."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hillbandit.problems.base import Problem
from hillbandit.space import Space


class WeightedLinear(Problem):
    """The sum of the weights of the bits that agree with a hidden genome.

    The weights are 10 to a power drawn uniformly around 0, so that a few bits matter much.

    Example:
        >>> import hillbandit as hb
        >>> problem = hb.problems.WeightedLinear(8, seed=1)
        >>> problem.is_solved(problem.hidden)
        True

    Args:
        n: The number of bits.
        decades: How many orders of magnitude the weights span.
        seed: Fixes the weights and the hidden genome.

    Raises:
        TypeError: If n is not an integer.
        ValueError: If n is below 1, or decades is negative or not finite.
    """

    def __init__(self, n: int, decades: float = 4.0, seed: int = 0) -> None:
        self.space = Space.binary(n)
        if not (math.isfinite(decades) and decades >= 0):
            raise ValueError(f"The weights must span 0 or more decades, not {decades}.")
        self.decades = float(decades)
        self.seed = seed
        rng = np.random.default_rng(seed)
        self.weights: NDArray[np.float64] = 10.0 ** ((rng.random(n) - 0.5) * decades)
        self.hidden: NDArray[np.int64] = rng.integers(0, 2, n)
        self.optimum = float(self._values(self.hidden[None, :])[0])

    def _values(self, genomes: NDArray[np.int64]) -> NDArray[np.float64]:
        values: NDArray[np.float64] = np.where(genomes == self.hidden, self.weights, 0.0).sum(
            axis=1
        )
        return values

    def __repr__(self) -> str:
        return f"WeightedLinear({len(self.space)}, decades={self.decades:g}, seed={self.seed})"
