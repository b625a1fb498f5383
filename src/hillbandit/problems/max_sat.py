"""Random MAX-3-SAT: satisfy as many clauses as possible."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hillbandit.problems.base import Problem
from hillbandit.space import Space, checked_count


class MaxThreeSat(Problem):
    """The number of satisfied clauses of a random formula with three literals a clause.

    Whether all can be satisfied is not known: `optimum` is the number of clauses, a bound that is
    mostly reached below 4.2 clauses a variable, and `is_solved` says that all are satisfied.

    Example:
        >>> import hillbandit as hb
        >>> problem = hb.problems.MaxThreeSat(20, clauses=84, seed=1)
        >>> 0 < problem([0] * 20) < problem.optimum
        True

    Args:
        n: The number of variables, at least 3.
        clauses: The number of clauses; 4.2·n, where random formulas are hardest, when None.
        seed: Fixes the formula.

    Raises:
        TypeError: If n or clauses is not an integer.
        ValueError: If n is below 3 or clauses below 1.
    """

    def __init__(self, n: int, clauses: int | None = None, seed: int = 0) -> None:
        self.space = Space.binary(n)
        if n < 3:
            raise ValueError(f"A clause needs three different variables; there are {n}.")
        count = checked_count(
            "the number of clauses", round(4.2 * n) if clauses is None else clauses
        )
        self.seed = seed
        rng = np.random.default_rng(seed)
        self.variables: NDArray[np.int64] = np.array(
            [rng.choice(n, 3, replace=False) for _ in range(count)]
        )
        """The three variables of each clause ..."""
        self.wanted: NDArray[np.int64] = rng.integers(0, 2, (count, 3))
        """... and the values that satisfy it."""
        self.optimum = float(count)

    def _values(self, genomes: NDArray[np.int64]) -> NDArray[np.float64]:
        satisfied = (genomes[:, self.variables] == self.wanted).any(axis=2)
        values: NDArray[np.float64] = satisfied.sum(axis=1, dtype=np.float64)
        return values

    def __repr__(self) -> str:
        n, clauses = len(self.space), len(self.variables)
        return f"MaxThreeSat({n}, clauses={clauses}, seed={self.seed})"
