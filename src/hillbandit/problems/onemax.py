"""OneMax: count the ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hillbandit.problems.base import Problem
from hillbandit.space import Space


class OneMax(Problem):
    """The number of ones (Schaffer and Eshelman 1991); every bit matters alone.

    Example:
        >>> import hillbandit as hb
        >>> hb.problems.OneMax(4)([1, 0, 1, 1])
        3.0

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
        values: NDArray[np.float64] = genomes.sum(axis=1, dtype=np.float64)
        return values

    def __repr__(self) -> str:
        return f"OneMax({len(self.space)})"
