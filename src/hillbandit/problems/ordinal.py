"""Genes of many values that are ordered: the further, the better."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hillbandit.problems.base import Problem
from hillbandit.space import Space, checked_count


class Ordinal(Problem):
    """A sum in which each gene's value matters monotonically, upwards in some genes, else down.

    Gene i adds its weight, drawn from 0.5 to 1.5, times how far its value is along its direction,
    from 0 at the worst end to 1 at the best.

    Example:
        >>> import hillbandit as hb
        >>> problem = hb.problems.Ordinal(4, m=5, seed=1)
        >>> problem.is_solved(problem.best)
        True

    Args:
        n: The number of genes.
        m: The number of values of each gene, at least 2.
        seed: Fixes the weights and directions.

    Raises:
        TypeError: If n or m is not an integer.
        ValueError: If n is below 1 or m below 2.
    """

    def __init__(self, n: int, m: int, seed: int = 0) -> None:
        self.space = Space.uniform(n, checked_count("the number of values", m))
        if m < 2:
            raise ValueError("An order needs at least two values.")
        self.seed = seed
        rng = np.random.default_rng(seed)
        self.weights: NDArray[np.float64] = 0.5 + rng.random(n)
        self.upwards: NDArray[np.bool_] = rng.random(n) < 0.5
        self.best: NDArray[np.int64] = np.where(self.upwards, m - 1, 0)
        self.optimum = float(self._values(self.best[None, :])[0])

    def _values(self, genomes: NDArray[np.int64]) -> NDArray[np.float64]:
        last = self.space.sizes[0] - 1
        along = np.where(self.upwards, genomes, last - genomes)
        values: NDArray[np.float64] = (self.weights * along / last).sum(axis=1)
        return values

    def __repr__(self) -> str:
        return f"Ordinal({len(self.space)}, m={self.space.sizes[0]}, seed={self.seed})"
