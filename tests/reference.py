"""A naive transcription of the reading of the paper that reproduces its results, for comparison.

Every line follows the text: sums S, counters n, all urgencies recomputed at every step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

Values = list[int]


class Reference:
    """Bandit-based RMHC (or RMHC, if `bandit` is False) on binary genes, one step a time."""

    def __init__(
        self,
        n: int,
        fitness: Callable[[Values], float],
        seed: int,
        resamples: int | None,
        bandit: bool = True,
    ) -> None:
        self.n, self.fitness, self.r, self.bandit = n, fitness, resamples, bandit
        self.rng = np.random.Generator(np.random.PCG64(seed))
        self.x = [int(2 * u) for u in self.rng.random(n)]
        self.sums = [[0.0, 0.0] for _ in range(n)]
        self.tries = [1] * n
        self.mean = fitness(self.x)
        self.h = 1
        self.evaluations = 1

    def urgency(self, i: int) -> float:
        rescue = -max(self.sums[i]) / self.tries[i]
        return rescue + 0.5 * math.sqrt(math.log(self.evaluations + 1) / self.tries[i])

    def choose(self) -> int:
        if not self.bandit:
            return int(self.rng.random() * self.n)
        urgencies = [self.urgency(i) for i in range(self.n)]
        highest = max(urgencies)
        # equal up to the last digits, in which this way to write the formula differs
        ties = [i for i, u in enumerate(urgencies) if math.isclose(u, highest, rel_tol=1e-12)]
        return ties[int(self.rng.random() * len(ties))] if len(ties) > 1 else ties[0]

    def step(self) -> tuple[int, float]:
        """Mutate one gene; return it with the difference seen."""
        i = self.choose()
        u, v = self.x[i], 1 - self.x[i]
        y = [*self.x[:i], v, *self.x[i + 1 :]]
        if self.r is None:
            fitness = self.fitness(y)
            difference = fitness - self.mean
            self.evaluations += 1
            if difference >= 0:
                self.x, self.mean = y, fitness
        else:
            total = sum(self.fitness(self.x) for _ in range(self.r))
            self.mean = (self.mean * self.h + total) / (self.h + self.r)
            self.h += self.r
            fitness = sum(self.fitness(y) for _ in range(self.r)) / self.r
            difference = fitness - self.mean
            self.evaluations += 2 * self.r
            if difference >= 0:
                self.x, self.mean, self.h = y, fitness, self.r
        self.sums[i][v] += difference
        self.sums[i][u] -= difference
        self.tries[i] += 1
        return i, difference


def noise(seed: int) -> Iterator[float]:
    rng = np.random.default_rng(seed)
    while True:
        yield float(rng.standard_normal())


def as_array(values: Values) -> NDArray[np.int64]:
    return np.array(values, dtype=np.int64)
