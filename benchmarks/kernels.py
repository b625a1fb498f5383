"""Measure the compiled kernels against a straightforward compiled loop, in one run.

    python -m benchmarks.kernels            prints the table
    python -m benchmarks.kernels --write    also writes it to benchmarks/kernels.md

The yardstick is what one would write first: in every step it computes the urgency of all n genes,
with a random number each to break ties, and it draws every one of the r samples. It is compiled by
the same compiler, updates the fitness in O(1) as the kernel does, and runs the same algorithm with
the same distribution of results. Both are given whole runs from the start to the solution, in turn,
and the least processor time per iteration of several blocks of runs counts.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from time import process_time

import numpy as np
from numpy.typing import NDArray

from hillbandit.experiments import kernels

BLOCKS = 7
CASES = (
    ("Royal Road 64, blocks of 8", 64, 8, 0, 40, 8),
    ("Royal Road 1024, blocks of 8", 1024, 8, 0, 2, 1),
    ("noisy OneMax n = 1000, r = 2", 1000, 1, 2, 6, 1),
)
"""Name, n, block, r (0: no noise), runs per block of the kernel and of the yardstick."""


@kernels.compiled
def straightforward(
    rng: np.random.Generator,
    noise: np.random.Generator,
    genome: NDArray[np.int64],
    block: int,
    resamples: int,
    budget: int,
) -> tuple[int, int]:
    """Run the bandit the plain way; return evaluations and iterations."""
    n = len(genome)
    zeros = kernels.zeros_in_blocks(genome, block)
    left = len(zeros) - kernels.complete_blocks(zeros)
    fitness = float(n - left * block)
    mean, count = fitness, 1
    if resamples:
        mean += noise.standard_normal()
    sums = np.zeros((n, 2))
    tries = np.ones(n)
    evaluations, iterations = 1, 0
    while left and evaluations < budget:
        highest, gene = -np.inf, 0
        for i in range(n):
            urgency = -max(sums[i, 0], sums[i, 1]) / tries[i]
            urgency += 0.5 * math.sqrt(math.log(evaluations + 1) / tries[i])
            urgency += 1e-6 * rng.random()
            if urgency > highest:
                highest, gene = urgency, i
        old = genome[gene]
        change = kernels.gain(old, zeros[gene // block], block)
        child = fitness + change
        if resamples:
            total = 0.0
            for _ in range(resamples):
                total += fitness + noise.standard_normal()
            mean = (mean * count + total) / (count + resamples)
            count += resamples
            total = 0.0
            for _ in range(resamples):
                total += child + noise.standard_normal()
            difference = total / resamples - mean
            evaluations += 2 * resamples
        else:
            difference = child - fitness
            evaluations += 1
        iterations += 1
        sums[gene, 1 - old] += difference
        sums[gene, old] -= difference
        tries[gene] += 1
        if difference >= 0:
            genome[gene] = 1 - old
            zeros[gene // block] += 2 * old - 1
            mean, count = mean + difference, max(resamples, 1)
            fitness = child
            if change > 0:
                left -= 1
            elif change < 0:
                left += 1
    return evaluations, iterations


RNG = np.random.Generator(np.random.PCG64(0))
NOISE = np.random.Generator(np.random.PCG64(0))


def start(n: int, seed: int) -> NDArray[np.int64]:
    """Set the generators for a run and draw its start."""
    RNG.bit_generator.state = np.random.PCG64(seed).state
    NOISE.bit_generator.state = np.random.PCG64([seed, 1]).state
    return (RNG.random(n) * 2).astype(np.int64)


def kernel(
    genome: NDArray[np.int64], tries: NDArray[np.int64], block: int, r: int, budget: int
) -> int:
    """Run the kernel of a case; return the iterations."""
    if r:
        spent, _ = kernels.bandit_noisy(RNG, NOISE, genome, tries, block, 1.0, r, 0.5, budget)
        return (spent - 1) // (2 * r)
    spent, _ = kernels.bandit_noise_free(RNG, genome, tries, block, 0.5, budget)
    return spent - 1


def block_of_runs(plain: bool, n: int, block: int, r: int, runs: int, first: int) -> float:
    """Time some runs, in nanoseconds of processor time per iteration."""
    tries = np.ones(n, dtype=np.int64)
    seconds, iterations = 0.0, 0
    for seed in range(first, first + runs):
        genome = start(n, seed)
        began = process_time()
        if plain:
            iterations += straightforward(RNG, NOISE, genome, block, r, 1000 * n)[1]
        else:
            iterations += kernel(genome, tries, block, r, 1000 * n)
        seconds += process_time() - began
    return 1e9 * seconds / iterations


def measure(case: tuple[str, int, int, int, int, int]) -> tuple[float, float]:
    """Time both for a case, block by block in turn, and take the least of each."""
    _, n, block, r, fast_runs, plain_runs = case
    block_of_runs(True, n, block, r, 1, 0)
    block_of_runs(False, n, block, r, 1, 0)
    plain, fast = math.inf, math.inf
    for number in range(BLOCKS):
        first = 1 + 1000 * number
        plain = min(plain, block_of_runs(True, n, block, r, plain_runs, first))
        fast = min(fast, block_of_runs(False, n, block, r, fast_runs, first))
    return plain, fast


def handing_over(n: int) -> float:
    """Time a call of the kernel that does nothing, in nanoseconds."""
    tries, best = np.ones(n, dtype=np.int64), math.inf
    for _ in range(BLOCKS):
        genome = start(n, 1)
        began = process_time()
        for _ in range(100):
            kernel(genome, tries, 8, 0, 1)
        best = min(best, 1e7 * (process_time() - began))
    return best


def floor(n: int) -> float:
    """Time an iteration without a choice of gene: RMHC where no block is ever completed."""
    best = math.inf
    for seed in range(BLOCKS):
        genome = start(n, seed)
        genome[0] = 0
        began = process_time()
        spent, _ = kernels.rmhc_noise_free(RNG, genome, n, 300_000)
        best = min(best, 1e9 * (process_time() - began) / spent)
    return best


def unsolved(n: int, block: int) -> float:
    """Time an iteration of the kernel on blocks too large to be completed."""
    tries, best = np.ones(n, dtype=np.int64), math.inf
    for seed in range(BLOCKS):
        genome = start(n, seed)
        began = process_time()
        iterations = kernel(genome, tries, block, 0, 300_000)
        best = min(best, 1e9 * (process_time() - began) / iterations)
    return best


def main() -> None:
    """Print the table, and write it if asked to."""
    lines = [
        "# Compiled kernels against a straightforward compiled loop",
        "",
        "`python -m benchmarks.kernels --write`: nanoseconds of processor time per iteration of "
        "the bandit, whole runs from the start to the solution, both in one process in turn, the "
        f"least of {BLOCKS} blocks of runs. The yardstick is in that file.",
        "",
        "| problem | straightforward loop | kernel | times faster |",
        "| --- | ---: | ---: | ---: |",
    ]
    for case in CASES:
        plain, fast = measure(case)
        lines.append(f"| {case[0]} | {plain:,.0f} ns | {fast:,.0f} ns | {plain / fast:.0f} |")
    lines += [
        "",
        "## The limit at 64 genes",
        "",
        "With 64 genes the straightforward loop is short, and 20 times would leave the kernel "
        "hardly more than an iteration needs besides the choice of the gene:",
        "",
        "| part | cost |",
        "| --- | ---: |",
        f"| a random number and the flip of a bit (RMHC, 64 bits) | {floor(64):.1f} ns |",
        "| the same, and keeping n_i, the two terms of the urgency and the order of the most "
        f"urgent genes (bandit, 64 bits in one block of 64) | {unsolved(64, 64):.1f} ns |",
        "| handing the generator to compiled code, once a run of about 3,300 iterations | "
        f"{handing_over(64):,.0f} ns, {handing_over(64) / 3300:.1f} ns an iteration |",
        "",
        "The rest, at blocks of 8, is looking at all 64 genes when the list of the most urgent "
        "ones has run empty.",
    ]
    text = "\n".join(lines) + "\n"
    print(text)
    if "--write" in sys.argv:
        Path(__file__).with_suffix(".md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
