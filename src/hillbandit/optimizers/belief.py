"""What the Kalman climber believes: a Gaussian over the effect of every value of every gene.

The model is linear: the value of a genome is the value b of the genome climbed from plus, for each
gene that differs from it, the weight of the new value less the weight of the old one. The weights
are absolute, w[i, v] being what value v of gene i gains over value 0, so that a move of the climber
changes b alone. `docs/kalman.md` has the formulas; the names here are those used there.

`DenseBelief` keeps the whole covariance, `DiagonalBelief` variances only.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hillbandit.optimizers.packing import packed, unpacked
from hillbandit.space import Genome, Space

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

LARGE_BLOCK = 32
"""From this many weights on, a gene's block is widened as a square instead of by its indices."""
CHUNK = 32_768
"""A rank-one update takes the covariance in pieces of this many numbers, which fit a cache."""


class Layout:
    """Where the weights of each gene are.

    Genes are those with at least two values, and are counted among themselves; the weights of a
    gene are neighbours. Value 0 needs no weight, the others being relative to it. With
    `whole=True`, genes of three and more values have a weight for value 0 as well: variances
    alone cannot say that all the others share their reference.

    Args:
        space: The space.
        whole: Whether value 0 of genes with more than two values has a weight of its own.
    """

    def __init__(self, space: Space, *, whole: bool = False) -> None:
        self.genes: Indices = np.flatnonzero(space.sizes > 1)
        self.all_mutable = len(self.genes) == len(space)
        sizes = space.sizes[self.genes]
        self.first: Indices = np.where(sizes > 2, 0 if whole else 1, 1).astype(np.int64)
        """The least value that has a weight."""
        self.counts: Indices = sizes - self.first
        self.starts: Indices = np.cumsum(self.counts) - self.counts
        self.n = len(self.genes)
        self.weights = int(self.counts.sum())
        self.binary = bool((sizes == 2).all())
        self.width = int(self.counts[0]) if self.n and len(set(self.counts.tolist())) == 1 else 0
        """How many weights every gene has, 0 where genes differ."""
        self.gene_of: Indices = np.repeat(np.arange(self.n), self.counts)
        self.value_of: Indices = (
            np.arange(self.weights) - (self.starts - self.first)[self.gene_of]
            if self.n
            else np.empty(0, dtype=np.int64)
        )
        self.has_zero = self.first == 0

    def mutable(self, genome: Genome) -> Genome:
        """Pick the genes that have a choice."""
        return genome if self.all_mutable else genome[self.genes]

    def slots(self, values: Indices, genes: Indices | slice = slice(None)) -> tuple[Indices, Any]:
        """Find the weights of one value for each gene, and which of them exist."""
        exist = values >= self.first[genes]
        return self.starts[genes] + values - self.first[genes], exist

    def best(self, scores: Floats) -> tuple[Floats, Indices | None]:
        """Find the greatest score of each gene and its place; None where each has one only."""
        if self.binary:
            return scores, None
        if self.width:
            place = scores.reshape(self.n, self.width).argmax(axis=1) + self.starts
            return scores[place], place
        best = np.maximum.reduceat(scores, self.starts)
        reached = np.flatnonzero(scores == best[self.gene_of])[::-1]
        place = np.empty(self.n, dtype=np.int64)
        place[self.gene_of[reached]] = reached  # written backwards, so that the first one stays
        return best, place

    def values(self, places: Indices, x: Genome) -> Indices:
        """Say which values the changes at these places lead to: see `Belief.gains`."""
        if self.binary:
            return 1 - x[places]
        values = self.value_of[places]
        return np.where(values == x[self.gene_of[places]], 0, values)


@dataclass(slots=True)
class Forecast:
    """What the belief says of one child, before its value is known."""

    genes: Indices
    """F, the genes that differ from the genome climbed from."""
    index: Indices
    """The weights that enter, with their signs: h without its b."""
    signs: Floats
    gains: Floats
    """The mean gain of each gene of F."""
    mean: float
    """h'mu."""
    variance: float
    """V = h'P h."""
    cross: Floats
    """c = P h: of all weights and b, or of `index` and b where there are variances only."""


class Belief(ABC):
    """The mean of the weights and of b, and how sure they are.

    Args:
        layout: Where the weights are.
    """

    mu: Floats
    """The means: of the weights, and of b in the last place."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.mu = np.zeros(layout.weights + 1)
        self._w = self.mu[:-1]

    # --- what differs between a covariance and variances ------------------------------------------

    @abstractmethod
    def start(self, g: float, b_variance: float) -> None:
        """Begin with block(g) for every gene, and with b independent of them."""

    @abstractmethod
    def b_variance(self) -> float:
        """Give P_bb, the variance of b."""

    @abstractmethod
    def _cross(self, index: Indices, signs: Floats) -> tuple[Floats, float]:
        """Give c = P h and V = h'P h."""

    @abstractmethod
    def _differences(self, x: Genome) -> Floats:
        """Give the variance of each change that `gains` lists, for genes of many values."""

    @abstractmethod
    def _variances(self) -> Floats:
        """Give the variance of each weight."""

    @abstractmethod
    def widen(self, g: Floats | float) -> None:
        """Add block(g): every difference of two values of gene i gets the variance g[i] on top."""

    @abstractmethod
    def scale(self, factor: float) -> None:
        """Multiply all variances."""

    @abstractmethod
    def update(self, forecast: Forecast, innovation: float, total: float) -> None:
        """Take in an observation of total variance S: mu += c inn/S, P -= c c'/S."""

    @abstractmethod
    def move(self, forecast: Forecast, gain: float, rest: float) -> None:
        """Let b be the value of the child just learned from; rest = (R + misfit)/S."""

    @abstractmethod
    def set_b(self, value: float, variance: float) -> None:
        """Set b to something known by other means, independent of the weights."""

    @abstractmethod
    def _arrays(self) -> dict[str, Floats]:
        """Name the arrays that make up the state."""

    # --- what they share --------------------------------------------------------------------------

    def gains(self, x: Genome) -> tuple[Floats, Floats]:
        """Give mean and variance of the gain of every change of one gene.

        There are as many as weights: place j stands for the change to the value of weight j. Where
        the gene has that value already, it stands for the change to value 0, or for none (a gain of
        minus infinity) where value 0 has a weight of its own.
        """
        layout = self.layout
        if layout.binary:
            return self._w * (1 - 2 * x), np.maximum(self._variances(), 0.0)
        own, exist = layout.slots(x)
        level = np.where(exist, self._w[np.where(exist, own, 0)], 0.0)
        mean = self._w - level[layout.gene_of]
        variance = self._differences(x)
        own = own[exist]
        whole = layout.has_zero[exist]
        mean[own] = np.where(whole, -np.inf, -self._w[own])
        variance[own] = np.where(whole, 0.0, self._variances()[own])
        return mean, np.maximum(variance, 0.0)

    def forecast(self, x: Genome, y: Genome) -> Forecast:
        """Predict the value of y, x being the genome climbed from."""
        layout = self.layout
        genes = (x != y).nonzero()[0]
        if layout.binary:
            index, signs = genes, 1.0 - 2.0 * x[genes]
            gains = signs * self._w[genes]
        else:
            new, is_new = layout.slots(y[genes], genes)
            old, is_old = layout.slots(x[genes], genes)
            index = np.concatenate((new[is_new], old[is_old]))
            signs = np.ones(len(index))
            signs[np.count_nonzero(is_new) :] = -1.0
            gains = np.zeros(len(genes))
            gains[is_new] = self._w[new[is_new]]
            gains[is_old] -= self._w[old[is_old]]
        cross, variance = self._cross(index, signs)
        mean = float(self.mu[-1]) + float(gains.sum())
        return Forecast(genes, index, signs, gains, mean, max(variance, 0.0), cross)

    def predicted(self, x: Genome, y: Genome) -> float:
        """Give the mean of the value of y alone, x being the genome climbed from."""
        layout = self.layout
        total = float(self.mu[-1])
        for values, sign in ((y, 1.0), (x, -1.0)):
            slots, exist = layout.slots(values)
            total += sign * float(self._w[slots[exist]].sum())
        return total

    def renewed(self, forecast: Forecast) -> None:
        """Bring c and V of a forecast up to date after the belief was widened."""
        forecast.cross, variance = self._cross(forecast.index, forecast.signs)
        forecast.variance = max(variance, 0.0)

    def gain(self, forecast: Forecast) -> float:
        """Give the mean gain of a forecast's child by what is believed now."""
        # not np.dot: from some length on that starts threads, which cost more than they save
        return float((forecast.signs * self.mu.take(forecast.index)).sum())

    def ranges(self) -> Floats:
        """Give, for each gene, how far the means of its values lie apart."""
        layout = self.layout
        if layout.binary:
            return np.abs(self._w)
        if layout.width:
            table = self._w.reshape(layout.n, layout.width)
            high, low = table.max(axis=1), table.min(axis=1)
        else:
            high = np.maximum.reduceat(self._w, layout.starts)
            low = np.minimum.reduceat(self._w, layout.starts)
        apart: Floats = np.where(
            layout.has_zero, high - low, np.maximum(high, 0.0) - np.minimum(low, 0.0)
        )
        return apart

    def state(self) -> dict[str, str]:
        """Write the arrays as text."""
        return {name: packed(array, "<f8") for name, array in self._arrays().items()}

    def restore(self, state: dict[str, str]) -> None:
        """Read what `state` wrote."""
        for name, array in self._arrays().items():
            array[...] = unpacked(state[name], "<f8").reshape(array.shape)


class DenseBelief(Belief):
    """The belief with its whole covariance: O(N²) memory and time for an observation."""

    def __init__(self, layout: Layout) -> None:
        super().__init__(layout)
        size = layout.weights + 1
        self.P: Floats = np.zeros((size, size))
        self._flat = self.P.reshape(-1)
        self._diagonal = self._flat[:: size + 1][:-1]
        rows = max(1, CHUNK // size)
        buffer = np.empty((min(rows, size), size))
        ends = [(i, min(i + rows, size)) for i in range(0, size, rows)]
        self._pieces = [(slice(i, end), buffer[: end - i]) for i, end in ends]
        self._index_blocks()

    def _index_blocks(self) -> None:
        """List the entries of P that couple two weights of one gene."""
        layout, size = self.layout, self.layout.weights + 1
        self._large: list[tuple[int, slice]] = []
        flat, gene, factor = [], [], []
        pairs = zip(layout.starts.tolist(), layout.counts.tolist(), strict=True)
        for i, (start, count) in enumerate(pairs if not layout.binary else ()):
            if count >= LARGE_BLOCK:
                self._large.append((i, slice(start, start + count)))
                continue
            own = np.arange(start, start + count)
            flat.append((own[:, None] * size + own).reshape(-1))
            factor.append((0.5 + 0.5 * np.eye(count)).reshape(-1))
            gene.append(np.full(count * count, i))
        empty = np.empty(0, dtype=np.int64)
        self._entries = np.concatenate(flat) if flat else empty
        self._entry_gene = np.concatenate(gene) if gene else empty
        self._entry_factor = np.concatenate(factor) if factor else np.empty(0)

    def start(self, g: float, b_variance: float) -> None:
        """Begin with block(g) for every gene, and with b independent of them."""
        self.P.fill(0.0)
        self.widen(g)
        self.P[-1, -1] = b_variance

    def b_variance(self) -> float:
        """Give P_bb."""
        return float(self.P[-1, -1])

    def _variances(self) -> Floats:
        return self._diagonal

    def _differences(self, x: Genome) -> Floats:
        layout = self.layout
        own, exist = layout.slots(x)
        own = np.where(exist, own, 0)
        spread = np.where(exist, self._diagonal[own], 0.0)[layout.gene_of]
        places = np.arange(layout.weights) * len(self.P) + own[layout.gene_of]
        shared = np.where(exist[layout.gene_of], self._flat[places], 0.0)
        differences: Floats = self._diagonal + spread - 2.0 * shared
        return differences

    def _cross(self, index: Indices, signs: Floats) -> tuple[Floats, float]:
        cross: Floats = np.dot(signs, self.P.take(index, axis=0))
        cross += self.P[-1]
        return cross, float(cross[-1]) + float(np.dot(signs, cross.take(index)))

    def widen(self, g: Floats | float) -> None:
        """Add block(g)."""
        if self.layout.binary:
            self._diagonal += g
            return
        each = np.broadcast_to(g, self.layout.n)
        self._flat[self._entries] += each[self._entry_gene] * self._entry_factor
        for i, own in self._large:
            self.P[own, own] += 0.5 * each[i]
            self._diagonal[own] += 0.5 * each[i]

    def scale(self, factor: float) -> None:
        """Multiply all variances."""
        self.P *= factor

    def update(self, forecast: Forecast, innovation: float, total: float) -> None:
        """Take in an observation."""
        cross = forecast.cross
        share = cross / total
        column, row = share[:, None], cross[None, :]
        for rows, piece in self._pieces:
            np.dot(column[rows], row, out=piece)  # faster than a broadcast product
            part = self.P[rows]
            np.subtract(part, piece, out=part)
        share *= innovation
        self.mu += share

    def move(self, forecast: Forecast, gain: float, rest: float) -> None:
        """Let b be the value of the child."""
        self.mu[-1] += gain
        row = forecast.cross * rest  # P h after the update
        self.P[-1] = row
        self.P[:, -1] = row
        self.P[-1, -1] = forecast.variance * rest

    def set_b(self, value: float, variance: float) -> None:
        """Set b, independent of the weights."""
        self.mu[-1] = value
        self.P[-1] = 0.0
        self.P[:, -1] = 0.0
        self.P[-1, -1] = variance

    def _arrays(self) -> dict[str, Floats]:
        return {"mu": self.mu, "P": self.P}


class DiagonalBelief(Belief):
    """The belief with variances only: memory and time linear in the number of values."""

    def __init__(self, layout: Layout) -> None:
        super().__init__(layout)
        self.D: Floats = np.zeros(layout.weights + 1)
        self._d = self.D[:-1]
        self._factor = np.where(layout.has_zero, 0.5, 1.0)
        """A difference of two weights has the variances of both."""

    def start(self, g: float, b_variance: float) -> None:
        """Begin with block(g) for every gene, and with b independent of them."""
        self.D.fill(0.0)
        self.widen(g)
        self.D[-1] = b_variance

    def b_variance(self) -> float:
        """Give P_bb."""
        return float(self.D[-1])

    def _variances(self) -> Floats:
        return self._d

    def _differences(self, x: Genome) -> Floats:
        layout = self.layout
        own, exist = layout.slots(x)
        spread = np.where(exist, self._d[np.where(exist, own, 0)], 0.0)
        differences: Floats = self._d + spread[layout.gene_of]
        return differences

    def _cross(self, index: Indices, signs: Floats) -> tuple[Floats, float]:
        cross = np.empty(len(index) + 1)
        cross[:-1] = signs * self.D[index]
        cross[-1] = self.D[-1]
        return cross, float(np.abs(cross).sum())

    def widen(self, g: Floats | float) -> None:
        """Add block(g)."""
        if self.layout.binary:
            self._d += g
        else:
            self._d += (g * self._factor)[self.layout.gene_of]

    def scale(self, factor: float) -> None:
        """Multiply all variances."""
        self.D *= factor

    def update(self, forecast: Forecast, innovation: float, total: float) -> None:
        """Take in an observation."""
        places = np.append(forecast.index, self.layout.weights)
        self.mu[places] += forecast.cross * (innovation / total)
        self.D[places] -= forecast.cross**2 / total

    def move(self, forecast: Forecast, gain: float, rest: float) -> None:
        """Let b be the value of the child."""
        self.mu[-1] += gain
        self.D[-1] = forecast.variance * rest

    def set_b(self, value: float, variance: float) -> None:
        """Set b, independent of the weights."""
        self.mu[-1] = value
        self.D[-1] = variance

    def _arrays(self) -> dict[str, Floats]:
        return {"mu": self.mu, "D": self.D}
