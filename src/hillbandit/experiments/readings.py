"""Other readings of the paper's urgency equation, compiled plainly: every gene, every step.

The printed equation 5 and the published results do not agree. Experiment 5 runs each reading on
problems that tell them apart. This kernel is for study and has none of the shortcuts of `kernels`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hillbandit.experiments.kernels import Outcome, compiled

PUBLISHED, PRINTED, ONE_WAY, OWN_LOGARITHM = range(4)
"""The readings, in the order of `plan.READINGS`. The last one has ln(n_i + 1) for ln(T + 1)."""


@compiled
def bandit_reading(
    rng: np.random.Generator,
    noise: np.random.Generator,
    genome: NDArray[np.int64],
    block: int,
    sd: float,
    resamples: int,
    k: float,
    reading: int,
    budget: int,
) -> Outcome:
    """Run Algorithm 1 (sd = 0) or 2 with one of the readings of the urgency.

    Per gene: the credited sums and the counts of mutations to 0 and to 1, and n_i.
    """
    n = len(genome)
    fitness = royal_road(genome, block)
    base_total = fitness + (sd * noise.standard_normal() if sd > 0 else 0.0)
    base_count = 1
    sums = np.zeros((n, 2))
    counts = np.zeros((n, 2))
    tries = np.ones(n)
    urgency = np.empty(n)
    spread = sd / math.sqrt(resamples)
    cost = 2 * resamples if sd > 0 else 1
    evaluations = 1
    while fitness < n and evaluations + cost <= budget:
        growth = math.sqrt(math.log(evaluations + 1))
        for i in range(n):
            if reading == PRINTED:
                urgency[i] = printed(sums[i], counts[i], tries[i], genome[i])
            else:
                if reading == OWN_LOGARITHM:
                    growth = math.sqrt(math.log(tries[i] + 1))
                best = max(sums[i, 0], sums[i, 1])
                urgency[i] = -best / tries[i] + k / math.sqrt(tries[i]) * growth
        gene = one_of_the_highest(urgency, rng)
        old = genome[gene]
        new = 1 - old
        genome[gene] = new
        child_fitness = royal_road(genome, block)
        if sd > 0:
            base_mean = fitness + spread * noise.standard_normal()
            child_mean = child_fitness + spread * noise.standard_normal()
            child_total = 0.0
            for _ in range(resamples):
                base_total += base_mean
                child_total += child_mean
            base_count += resamples
            child_count = resamples
        else:
            child_total, child_count = child_fitness, 1
        evaluations += cost
        difference = (child_total * base_count - base_total * child_count) / (
            child_count * base_count
        )
        sums[gene, new] += difference
        counts[gene, new] += 1
        if reading != PRINTED and reading != ONE_WAY:
            sums[gene, old] -= difference
        tries[gene] += 1
        if difference >= 0:
            fitness, base_total, base_count = child_fitness, child_total, child_count
        else:
            genome[gene] = old
    return (evaluations, True) if fitness == n else (budget, False)


@compiled
def printed(
    sums: NDArray[np.float64], counts: NDArray[np.float64], tries: float, value: int
) -> float:
    """Equation 5 to the letter: means per value, N_i(j) of the current value j."""
    if counts[value] == 0:
        return np.inf
    best = max(sums[0] / max(counts[0], 1.0), sums[1] / max(counts[1], 1.0))
    return float(-best + math.sqrt(0.5) * math.sqrt(math.log(tries) / counts[value]))


@compiled
def one_of_the_highest(urgency: NDArray[np.float64], rng: np.random.Generator) -> int:
    """Choose the gene of the greatest urgency, uniformly among exact ties."""
    highest, ties, last = -np.inf, 0, 0
    for i in range(len(urgency)):
        if urgency[i] > highest:
            highest, ties = urgency[i], 0
        if urgency[i] == highest:
            ties += 1
            last = i
    if ties == 1:
        return last
    nth = int(rng.random() * ties)
    gene = -1
    while nth >= 0:
        gene += 1
        if urgency[gene] == highest:
            nth -= 1
    return gene


@compiled
def royal_road(genome: NDArray[np.int64], block: int) -> float:
    """Evaluate Royal Road, which is OneMax for blocks of one bit, from scratch."""
    fitness = 0
    for start in range(0, len(genome), block):
        complete = True
        for i in range(start, start + block):
            if genome[i] == 0:
                complete = False
        if complete:
            fitness += block
    return float(fitness)
