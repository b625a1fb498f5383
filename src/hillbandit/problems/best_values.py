"""Genes of many values, one of which is right."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hillbandit.problems.base import Problem
from hillbandit.space import Space


class BestValues(Problem):
    """The number of genes that have their best value; the other values are all as bad.

    Example:
        >>> import hillbandit as hb
        >>> problem = hb.problems.BestValues(4, m=3, seed=1)
        >>> problem(problem.best)
        4.0

    Args:
        n: The number of genes.
        m: The number of values of each gene.
        seed: Fixes the best values.

    Raises:
        TypeError: If n or m is not an integer.
        ValueError: If n or m is below 1.
    """

    def __init__(self, n: int, m: int, seed: int = 0) -> None:
        self.space = Space.uniform(n, m)
        self.seed = seed
        self.best: NDArray[np.int64] = np.random.default_rng(seed).integers(0, m, n)
        self.optimum = float(n)

    def _values(self, genomes: NDArray[np.int64]) -> NDArray[np.float64]:
        values: NDArray[np.float64] = (genomes == self.best).sum(axis=1, dtype=np.float64)
        return values

    def __repr__(self) -> str:
        return f"BestValues({len(self.space)}, m={self.space.sizes[0]}, seed={self.seed})"
