"""What has been evaluated: counts, means and spreads per genome, and the choice among them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hillbandit.optimizers.packing import packed, unpacked
from hillbandit.space import Genome, Space

PRIOR_FREEDOM = 4
"""Degrees of freedom that the noise seen everywhere lends to the noise of one genome."""
PACK_FROM = 256
"""Binary genomes from this length on are kept as bits; below it, time is dearer."""


class Archive:
    """Running statistics of every genome evaluated.

    A genome is kept as bytes, eight genes to a byte in long binary genomes, so that memory is
    what the distinct genomes need and little more. Means and spreads are updated one value at a
    time (Welford), so large offsets do not cost precision.

    Args:
        space: The space that the genomes belong to.
    """

    __slots__ = (
        "_binary",
        "_dtype",
        "_length",
        "_packed",
        "_rows",
        "barred",
        "counts",
        "means",
        "squares",
    )

    def __init__(self, space: Space) -> None:
        largest = int(space.sizes.max())
        self._length = len(space)
        self._binary = largest <= 2
        self._packed = self._binary and self._length >= PACK_FROM
        self._dtype = np.min_scalar_type(largest - 1)
        self._rows: dict[bytes, int] = {}
        self.counts: list[int] = []
        self.means: list[float] = []
        self.squares: list[float] = []
        """Sums of squared deviations from the mean."""
        self.barred: set[int] = set()
        """Rows that are never to be recommended: told in advance, and not valid here."""

    def __len__(self) -> int:
        return len(self.counts)

    def key(self, genome: Genome) -> bytes:
        """Write a genome as bytes."""
        small = genome.astype(self._dtype)
        return np.packbits(small).tobytes() if self._packed else small.tobytes()

    def genome(self, key: bytes) -> Genome:
        """Read a genome from its bytes."""
        small: NDArray[Any]
        if self._packed:
            small = np.unpackbits(np.frombuffer(key, dtype=np.uint8), count=self._length)
        else:
            small = np.frombuffer(key, dtype=self._dtype)
        return small.astype(np.int64)

    def add(self, key: bytes, value: float) -> int:
        """Take in one evaluation; return the row of its genome."""
        row = self._rows.get(key)
        if row is None:
            row = self._rows[key] = len(self.counts)
            self.counts.append(1)
            self.means.append(value)
            self.squares.append(0.0)
            return row
        count = self.counts[row] = self.counts[row] + 1
        step = value - self.means[row]
        mean = self.means[row] = self.means[row] + step / count
        self.squares[row] += step * (value - mean)
        return row

    def row(self, key: bytes) -> int | None:
        """Find the row of a genome, None if it was never evaluated."""
        return self._rows.get(key)

    def items(self) -> Iterator[tuple[Genome, int]]:
        """Iterate over the genomes with their rows, in the order of their first evaluations."""
        for key, row in self._rows.items():
            yield self.genome(key), row

    def genome_at(self, row: int) -> Genome:
        """Find the genome of a row."""
        return self.genome(next(itertools.islice(self._rows, row, None)))

    def noise(self) -> tuple[float, int]:
        """Estimate the variance of an evaluation, pooled over genomes evaluated more than once.

        Returns:
            The variance and its degrees of freedom; both are 0 when no genome was evaluated twice.
        """
        freedom = sum(self.counts) - len(self.counts)
        return (math.fsum(self.squares) / freedom, freedom) if freedom else (0.0, 0)

    def leader(self, noisy: bool) -> int:
        """Choose the row to recommend: see `Optimizer.recommend` for the rule."""
        return int(self.scores(noisy).argmax())

    def ranking(self, noisy: bool, count: int) -> list[int]:
        """Give the rows that the same rule prefers, the best first."""
        count = min(count, len(self) - len(self.barred))
        best: list[int] = np.argsort(-self.scores(noisy), kind="stable")[:count].tolist()
        return best

    def scores(self, noisy: bool) -> NDArray[np.float64]:
        """Give the figure by which rows are compared: see `Optimizer.recommend`.

        It is minus infinity for those that are never to be recommended.
        """
        scores = np.array(self.means)
        if noisy:
            variance, _ = self.noise()
            scores -= np.sqrt(variance / np.asarray(self.counts))
        if self.barred:
            scores[list(self.barred)] = -math.inf
        return scores

    def interval(self, row: int, noisy: bool) -> tuple[float, float]:
        """Give the 95 % interval of a row's mean: see `Optimizer.recommend`."""
        mean = self.means[row]
        if not noisy:
            return mean, mean
        return interval_of(mean, self.counts[row], self.squares[row], *self.noise())

    def state(self) -> dict[str, Any]:
        """Write the archive in plain JSON types."""
        genomes = np.frombuffer(b"".join(self._rows), dtype=np.uint8)
        if self._binary and not self._packed:
            # bits again: a snapshot of a long study consists of little else
            genomes = np.packbits(genomes.reshape(-1, self._length), axis=1)
        return {
            "genomes": packed(genomes, "u1"),
            "counts": packed(self.counts, "<i8"),
            "means": packed(self.means, "<f8"),
            "squares": packed(self.squares, "<f8"),
            "barred": sorted(self.barred),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Read what `state` wrote."""
        self.counts = unpacked(state["counts"], "<i8").tolist()
        self.means = unpacked(state["means"], "<f8").tolist()
        self.squares = unpacked(state["squares"], "<f8").tolist()
        self.barred = set(state["barred"])
        genomes = unpacked(state["genomes"], "u1")
        if self._binary and not self._packed:
            rows = genomes.reshape(-1, -(-self._length // 8))
            genomes = np.unpackbits(rows, axis=1, count=self._length)
        width, blob = len(self.key(np.zeros(self._length, dtype=np.int64))), genomes.tobytes()
        self._rows = {blob[row * width : (row + 1) * width]: row for row in range(len(self.counts))}


def interval_of(
    mean: float,
    count: int,
    squares: float,
    pooled: float,
    freedom: int,
    level: float = 0.975,
) -> tuple[float, float]:
    """Give Student's 95 % interval of a mean, its variance steadied by a pooled one.

    Args:
        mean: The mean.
        count: Of how many values.
        squares: The sum of their squared deviations from it.
        pooled: The variance seen on all genomes.
        freedom: Its degrees of freedom; without any there is no interval.
        level: The quantile at its upper end: 0.975 for 95 %.
    """
    if not freedom:
        return -math.inf, math.inf
    lent = min(PRIOR_FREEDOM, freedom)
    own = count - 1
    variance = (squares + lent * pooled) / (own + lent)
    half = student_t(own + lent, level) * math.sqrt(variance / count)
    return mean - half, mean + half


_QUANTILES = {
    0.975: (1.959963984540054, (12.70620474, 4.30265273, 3.18244631, 2.77644511, 2.57058184)),
    0.9875: (2.241402727604947, (25.45169958, 6.20534682, 4.17653485, 3.49540593, 3.16338145)),
}
"""The normal quantile, and those of Student's t up to five degrees of freedom."""


def student_t(freedom: int, level: float = 0.975) -> float:
    """Give a quantile of Student's t distribution, to within 0.02 %.

    A table up to five degrees of freedom; above, the expansion in powers of 1/freedom around the
    normal quantile (Abramowitz and Stegun, 26.7.5).

    Args:
        freedom: Degrees of freedom, at least 1.
        level: 0.975, or 0.9875.
    """
    z, table = _QUANTILES[level]
    if freedom <= len(table):
        return table[freedom - 1]
    v = freedom
    return (
        z
        + (z**3 + z) / (4 * v)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * v**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * v**3)
        + (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / (92160 * v**4)
    )
