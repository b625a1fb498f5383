"""Section III of the paper: gene bandits and the urgency equation.

J. Liu, D. Pérez-Liébana, S. M. Lucas: Bandit-Based Random Mutation Hill-Climbing. CEC 2017.

The printed equation 5 and the published results do not agree. `GeneBandits` is the reading that
reproduces the results; `PrintedBandits` is the equation to the letter, for study.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hillbandit.space import Genome, Space

K = 0.5
"""The weight of exploration in the published results."""


class GeneBandits:
    """One bandit for each gene, and the urgency by which the next gene to mutate is chosen.

    For gene i and value v, `sums` holds S_i(v), the fitness differences credited to v, and `counts`
    holds c_i(v), how often gene i was mutated to v; both are flat, gene i's part beginning at
    `offsets[i]`. `tries` holds n_i, one more than the number of mutations of gene i. Then

        urgency_i = - max_v S_i(v) / n_i  +  scale · k · sqrt(ln(T + 1) / n_i)

    with T the evaluations so far, and `scale` the size of a fitness difference that matters.

    Args:
        space: The genes.
        k: The weight of exploration.
    """

    def __init__(self, space: Space, k: float) -> None:
        sizes = space.sizes
        self.k = k
        self.sizes: list[int] = sizes.tolist()
        self.offsets: list[int] = (np.cumsum(sizes) - sizes).tolist()
        total = int(sizes.sum())
        self.sums = [0.0] * total
        self.counts = [0] * total
        self.tries = [1] * len(space)
        # The two terms change for one gene at a time, so they are kept and not recomputed:
        # a scan is one multiplication and one addition of arrays.
        self.rescue: NDArray[np.float64] = np.where(sizes > 1, 0.0, -np.inf)
        self.width: NDArray[np.float64] = np.full(len(space), k)
        self._urgency: NDArray[np.float64] = np.empty(len(space))
        self._backwards = self._urgency[::-1]

    def credit(self, gene: int, old: int, new: int, difference: float) -> None:
        """Credit a mutation of one gene both ways: the new value gains what the old one loses."""
        at = self.offsets[gene]
        self.sums[at + new] += difference
        self.sums[at + old] -= difference
        self.counts[at + new] += 1
        self.tries[gene] += 1
        self._weigh(gene)

    def _weigh(self, gene: int) -> None:
        """Recompute the two terms of one gene."""
        at, tries = self.offsets[gene], self.tries[gene]
        self.rescue[gene] = -max(self.sums[at : at + self.sizes[gene]]) / tries
        self.width[gene] = self.k / math.sqrt(tries)

    def urgencies(self, evaluations: int, scale: float, genome: Genome) -> NDArray[np.float64]:  # noqa: ARG002
        """Compute the urgency of every gene, in units of fitness (equation 5, as published).

        Args:
            evaluations: T.
            scale: The size of a fitness difference that matters; 1 as published.
            genome: The genome climbed from; this reading does not depend on it.

        Returns:
            An array that the next call overwrites.
        """
        growth = scale * math.sqrt(math.log(evaluations + 1))
        np.multiply(self.width, growth, self._urgency)
        return np.add(self.rescue, self._urgency, self._urgency)

    def most_urgent(
        self,
        evaluations: int,
        scale: float,
        genome: Genome,
        busy: Collection[int],
        rng: np.random.Generator,
    ) -> int:
        """Choose the gene of the greatest urgency (equation 4), uniformly among exact ties.

        Args:
            evaluations: T.
            scale: As in `urgencies`.
            genome: The genome climbed from.
            busy: Genes to leave alone, unless there are no others.
            rng: Asked for one number, and only if there is a tie.
        """
        urgency = self.urgencies(evaluations, scale, genome)
        for gene in busy:
            urgency[gene] = -math.inf
        first = int(urgency.argmax())
        if first == len(urgency) - 1 - int(self._backwards.argmax()):
            return first  # the first and the last of the most urgent are one
        highest = urgency[first]
        if busy and highest == -math.inf:
            return self.most_urgent(evaluations, scale, genome, (), rng)
        ties = (urgency == highest).nonzero()[0]
        return int(ties[int(rng.random() * len(ties))])

    def by_urgency(
        self, evaluations: int, scale: float, genome: Genome, rng: np.random.Generator
    ) -> Iterator[int]:
        """Yield all genes that can be mutated, the most urgent first, ties in random order."""
        urgency = self.urgencies(evaluations, scale, genome)
        shuffled = rng.permutation(len(urgency))
        for gene in shuffled[np.argsort(-urgency[shuffled], kind="stable")].tolist():
            if self.sizes[gene] > 1:
                yield gene

    def next_values(
        self, gene: int, current: int, scale: float, rng: np.random.Generator
    ) -> Iterator[int]:
        """Yield the values that a gene may change to, by UCB within the gene.

        The index of value v is S_i(v)/(1 + c_i(v)) + scale · k · sqrt(ln(n_i + 1) / (1 + c_i(v))).

        Args:
            gene: i.
            current: The value that it has now.
            scale: As in `urgencies`.
            rng: Asked for one number at each tie.
        """
        others = [value for value in range(self.sizes[gene]) if value != current]
        if len(others) > 1:
            at = self.offsets[gene]
            reach = scale * self.k * math.sqrt(math.log(self.tries[gene] + 1))
            index = {
                value: self.sums[at + value] / (1 + self.counts[at + value])
                + reach / math.sqrt(1 + self.counts[at + value])
                for value in others
            }
            while len(others) > 1:
                highest = max(index[value] for value in others)
                ties = [value for value in others if index[value] == highest]
                pick = ties[int(rng.random() * len(ties))] if len(ties) > 1 else ties[0]
                others.remove(pick)
                yield pick
        yield from others

    def state(self) -> dict[str, Any]:
        """Write what was learned, in plain JSON types."""
        return {"sums": list(self.sums), "counts": list(self.counts), "tries": list(self.tries)}

    def restore(self, state: dict[str, Any]) -> None:
        """Read what `state` wrote."""
        self.sums = list(state["sums"])
        self.counts = list(state["counts"])
        self.tries = list(state["tries"])
        for gene, tries in enumerate(self.tries):
            if tries > 1:
                self._weigh(gene)


class PrintedBandits(GeneBandits):
    """Equation 5 to the letter.

        urgency_i = - max_j mean_i(j)  +  sqrt(ln(N_i + 1) / (2 N_i(j)))

    N_i counts the mutations of gene i and N_i(j) those to its current value j; mean_i(j) is the
    mean difference of the mutations to j, 0 where there was none. While N_i(j) is 0 the urgency
    is infinite. It is here for study, and so recomputed in full at every step.
    """

    def __init__(self, space: Space) -> None:
        super().__init__(space, k=math.sqrt(0.5))

    def credit(self, gene: int, old: int, new: int, difference: float) -> None:  # noqa: ARG002
        """Credit the value that was reached, and only that one."""
        at = self.offsets[gene] + new
        self.sums[at] += difference
        self.counts[at] += 1
        self.tries[gene] += 1

    def urgencies(self, evaluations: int, scale: float, genome: Genome) -> NDArray[np.float64]:  # noqa: ARG002
        """Compute the urgency of every gene; the printed logarithm is each gene's own."""
        counts = np.array(self.counts)
        offsets = np.array(self.offsets)
        means = np.array(self.sums) / np.maximum(counts, 1)
        reached = counts[offsets + genome]
        with np.errstate(divide="ignore", invalid="ignore"):
            width = self.k * np.sqrt(np.log(self.tries) / reached)
        width[reached == 0] = math.inf
        self.rescue[:] = -np.maximum.reduceat(means, offsets)
        self.rescue[np.array(self.sizes) == 1] = -math.inf
        self.width[:] = np.where(np.isinf(self.rescue), 0.0, width)
        return np.add(self.rescue, scale * self.width, self._urgency)

    def restore(self, state: dict[str, Any]) -> None:
        """Read what `state` wrote; the terms follow from it at the next step."""
        self.sums = list(state["sums"])
        self.counts = list(state["counts"])
        self.tries = list(state["tries"])
