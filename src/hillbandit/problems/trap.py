"""The deceptive trap: every single bit points away from the optimum."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hillbandit.problems.base import Problem
from hillbandit.space import Space, checked_count


class DeceptiveTrap(Problem):
    """Blocks in which fewer ones are better, except that all ones are best (Ackley 1987).

    A block of s bits with u ones adds s where u = s, and s - 1 - u otherwise.

    Example:
        >>> import hillbandit as hb
        >>> hb.problems.DeceptiveTrap(6, block_size=3)([0, 0, 1, 1, 1, 1])
        4.0

    Args:
        n: The number of bits.
        block_size: The number of bits in a block; it must divide n.

    Raises:
        TypeError: If n or block_size is not an integer.
        ValueError: If either is below 1, or block_size does not divide n.
    """

    def __init__(self, n: int, block_size: int = 5) -> None:
        self.space = Space.binary(n)
        self.block_size = checked_count("the block size", block_size)
        if n % self.block_size:
            raise ValueError(f"The block size must divide n; {block_size} does not divide {n}.")
        self.optimum = float(n)

    def _values(self, genomes: NDArray[np.int64]) -> NDArray[np.float64]:
        size = self.block_size
        ones = genomes.reshape(len(genomes), len(self.space) // size, size).sum(axis=2)
        values: NDArray[np.float64] = np.where(ones == size, size, size - 1 - ones).sum(
            axis=1, dtype=np.float64
        )
        return values

    def __repr__(self) -> str:
        return f"DeceptiveTrap({len(self.space)}, block_size={self.block_size})"
