"""LeadingOnes: count the ones before the first zero."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hillbandit.problems.base import Problem
from hillbandit.space import Space


class LeadingOnes(Problem):
    """The number of ones before the first zero (Rudolph 1997); bits matter one after the other.

    Example:
        >>> import hillbandit as hb
        >>> hb.problems.LeadingOnes(4)([1, 1, 0, 1])
        2.0

    Args:
        n: The number of bits.

    Raises:
        TypeError: If n is not an integer.
        ValueError: If n is below 1.
    """

    def __init__(self, n: int) -> None:
        self.space = Space.binary(n)
        self.optimum = float(n)

    def _values(self, genomes: NDArray[np.int64]) -> NDArray[np.float64]:
        values: NDArray[np.float64] = np.cumprod(genomes, axis=1).sum(axis=1, dtype=np.float64)
        return values

    def __repr__(self) -> str:
        return f"LeadingOnes({len(self.space)})"
