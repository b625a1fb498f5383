"""NK landscapes: every gene's worth depends on K others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hillbandit.problems.base import Problem
from hillbandit.space import Space

ENUMERATE_BITS = 16
"""Up to this many bits the optimum is found by looking at all genomes."""


class NKLandscape(Problem):
    """An NK landscape (Kauffman and Weinberger 1989): the sum of n tables, each of K + 1 bits.

    Bit i and K other bits, drawn at random, choose an entry of table i, drawn uniformly from 0 to
    1. The value is the sum over all tables. Finding the optimum is NP-hard from K = 2 on: up to 16
    bits `optimum` is exact; above, it is the sum of the tables' maxima, which no genome exceeds
    and hardly any reaches, so that `is_solved` never says so wrongly, but mostly never at all.

    Example:
        >>> import hillbandit as hb
        >>> problem = hb.problems.NKLandscape(10, k=2, seed=1)
        >>> 0 < problem([0] * 10) <= problem.optimum < 10
        True

    Args:
        n: The number of bits.
        k: K, the number of other bits that each bit's worth depends on.
        seed: Fixes the landscape.

    Raises:
        TypeError: If n or k is not an integer.
        ValueError: If n is below 1, or k is negative or not below n.
    """

    def __init__(self, n: int, k: int, seed: int = 0) -> None:
        self.space = Space.binary(n)
        if isinstance(k, bool) or not isinstance(k, int | np.integer):
            raise TypeError(f"K must be an integer, not {k!r}.")
        if not 0 <= k < n:
            raise ValueError(f"K must be at least 0 and below n = {n}; it is {k}.")
        self.k = int(k)
        self.seed = seed
        rng = np.random.default_rng(seed)
        others = [rng.choice(np.delete(np.arange(n), i), k, replace=False) for i in range(n)]
        self.bits: NDArray[np.int64] = np.column_stack(
            (np.arange(n), np.array(others, dtype=np.int64).reshape(n, k))
        )
        """The bits that choose an entry of table i, the most significant first."""
        self.tables: NDArray[np.float64] = rng.random((n, 2 ** (k + 1)))
        self.exact = n <= ENUMERATE_BITS
        """Whether `optimum` is the highest value and not only a bound on it."""
        if self.exact:
            genomes = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
            self.optimum = float(self._values(genomes).max())
        else:
            self.optimum = float(self.tables.max(axis=1).sum())

    def _values(self, genomes: NDArray[np.int64]) -> NDArray[np.float64]:
        entries = genomes[:, self.bits] @ (2 ** np.arange(self.k, -1, -1))
        values: NDArray[np.float64] = self.tables[np.arange(len(self.space)), entries].sum(axis=1)
        return values

    def __repr__(self) -> str:
        return f"NKLandscape({len(self.space)}, k={self.k}, seed={self.seed})"
