"""The Royal Road function R1: only complete blocks count."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hillbandit.problems.base import Problem
from hillbandit.space import Space, checked_count


class RoyalRoad(Problem):
    """The Royal Road function R1 (Mitchell, Forrest, Holland 1992).

    The bits form contiguous blocks; a block of ones adds its size, any other block nothing.

    Example:
        >>> import hillbandit as hb
        >>> hb.problems.RoyalRoad(6, block_size=2)([1, 1, 1, 0, 1, 1])
        4.0

    Args:
        n: The number of bits.
        block_size: The number of bits in a block; it must divide n.

    Raises:
        TypeError: If n or block_size is not an integer.
        ValueError: If either is below 1, or block_size does not divide n.
    """

    def __init__(self, n: int, block_size: int) -> None:
        self.space = Space.binary(n)
        self.block_size = checked_count("the block size", block_size)
        if n % self.block_size:
            raise ValueError(f"The block size must divide n; {block_size} does not divide {n}.")
        self.optimum = float(n)

    def _values(self, genomes: NDArray[np.int64]) -> NDArray[np.float64]:
        blocks = genomes.reshape(len(genomes), len(self.space) // self.block_size, self.block_size)
        complete: NDArray[np.float64] = blocks.all(axis=2).sum(axis=1, dtype=np.float64)
        return complete * self.block_size

    def __repr__(self) -> str:
        return f"RoyalRoad({len(self.space)}, block_size={self.block_size})"
