"""One run of a cell: by a compiled kernel, or step by step with the ask/tell classes."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from hillbandit.experiments import kernels, readings
from hillbandit.experiments.plan import READINGS, Cell, Task
from hillbandit.optimizers import RMHC, BanditRMHC
from hillbandit.problems import OneMax, Problem, RoyalRoad

Record = list[int]
"""What is kept of a run. Of a first hit: evaluations, and 1 if solved; of the bandit under noise
also the mutations that the busiest tenth of the genes had, in 1/1000 of all. Of a run with
checkpoints: the evaluations at the first hit (0: none), then for each checkpoint the true value of
the genome climbed from, then for each that of the recommendation."""


def run_task(task: Task) -> list[Record]:
    """Make the runs of a task; the same ones in every process."""
    cell = task.cell
    one: Callable[[Cell, int], Record] = ending if cell.checkpoints else first_hit
    return [one(cell, cell.seed(task.root, task.first + i)) for i in range(task.runs)]


@cache
def _generators() -> tuple[np.random.Generator, np.random.Generator]:
    """Make one pair per process: handing a new generator to compiled code takes 0.1 ms."""
    return np.random.Generator(np.random.PCG64(0)), np.random.Generator(np.random.PCG64(0))


def noise_generator(seed: int) -> np.random.Generator:
    """Make the generator of a run's noise, independent of the climber's own."""
    return np.random.Generator(np.random.PCG64([seed, 1]))


def first_hit(cell: Cell, seed: int) -> Record:
    """Run a cell once, compiled, until the optimum is climbed from or the budget is spent.

    Example:
        >>> from hillbandit.experiments.plan import Cell
        >>> from hillbandit.experiments.simulation import first_hit
        >>> evaluations, solved = first_hit(Cell("onemax", "bandit_rmhc", 0.0, 1, 1, 50), 1)
        >>> evaluations <= 51, solved
        (True, 1)

    Args:
        cell: The setting.
        seed: The seed of the run, as `Cell.seed` gives it and runs.csv holds it.
    """
    rng, noise = _generators()
    rng.bit_generator.state = np.random.PCG64(seed).state
    noise.bit_generator.state = noise_generator(seed).bit_generator.state
    genome = (rng.random(cell.n) * 2).astype(np.int64)
    block, sd, r, k = cell.block_size, cell.noise_sd, cell.resamples, cell.k
    if cell.reading != "published":
        reading = READINGS.index(cell.reading)
        outcome = readings.bandit_reading(rng, noise, genome, block, sd, r, k, reading, cell.budget)
    elif cell.algorithm == "rmhc":
        if sd:
            outcome = kernels.rmhc_noisy(rng, noise, genome, block, sd, r, cell.budget)
        else:
            outcome = kernels.rmhc_noise_free(rng, genome, block, cell.budget)
    else:
        tries = np.ones(cell.n, dtype=np.int64)
        if sd:
            outcome = kernels.bandit_noisy(rng, noise, genome, tries, block, sd, r, k, cell.budget)
            return [int(outcome[0]), int(outcome[1]), busiest_tenth(tries - 1)]
        outcome = kernels.bandit_noise_free(rng, genome, tries, block, k, cell.budget)
    return [int(outcome[0]), int(outcome[1])]


def busiest_tenth(mutations: NDArray[np.int64]) -> int:
    """Give the share of the mutations that the busiest tenth of the genes had, in 1/1000.

    Example:
        >>> import numpy as np
        >>> from hillbandit.experiments.simulation import busiest_tenth
        >>> busiest_tenth(np.array([1, 1, 1, 1, 1, 11, 1, 1, 1, 1]))
        550

    Args:
        mutations: How often each gene was mutated.
    """
    total = int(mutations.sum())
    tenth = -(-len(mutations) // 10)
    return 1000 * int(np.sort(mutations)[-tenth:].sum()) // total if total else 0


def compile_kernels() -> None:
    """Compile every kernel, or load the machine code from an earlier time."""
    for algorithm in ("rmhc", "bandit_rmhc"):
        for sd in (0.0, 1.0):
            first_hit(Cell("onemax", algorithm, sd, 1, 1, 2), 1)
    first_hit(Cell("onemax", "bandit_rmhc", 0.0, 1, 1, 2, READINGS[1]), 1)


def problem_of(cell: Cell) -> Problem:
    """Make the problem of a cell, without its noise."""
    return OneMax(cell.n) if cell.problem == "onemax" else RoyalRoad(cell.n, cell.block_size)


def optimizer_of(cell: Cell, seed: int) -> RMHC | BanditRMHC:
    """Make the optimiser of a cell, as a user of the library would."""
    resamples = cell.resamples if cell.noise_sd else None
    space = problem_of(cell).space
    if cell.algorithm == "rmhc":
        return RMHC(space, resamples=resamples, seed=seed)
    if cell.reading == "printed":
        return BanditRMHC(space, resamples=resamples, urgency="printed", seed=seed)
    return BanditRMHC(space, resamples=resamples, k=cell.k, seed=seed)


def first_hit_by_class(cell: Cell, seed: int) -> Record:
    """Run a cell once with the ask/tell classes: the run that `first_hit` gives, slowly.

    Where the kernel replaces r samples by one draw of their mean, the class is told that mean r
    times.

    Example:
        >>> from hillbandit.experiments.plan import Cell
        >>> from hillbandit.experiments.simulation import first_hit, first_hit_by_class
        >>> cell = Cell("royal_road", "bandit_rmhc", 0.0, 1, 2, 16)
        >>> first_hit_by_class(cell, 7) == first_hit(cell, 7)
        True

    Args:
        cell: The setting.
        seed: The seed of the run.
    """
    problem, optimizer, noise = problem_of(cell), optimizer_of(cell, seed), noise_generator(seed)
    sd, r = cell.noise_sd, cell.resamples

    def tell(samples: int) -> None:
        """Evaluate what is asked for so many times, as one draw of the mean."""
        draw = sd / math.sqrt(samples) * noise.standard_normal() if sd else 0.0
        for _ in range(samples):
            trial = optimizer.ask()
            optimizer.tell(trial, problem.true_value(trial.genome) + draw)

    tell(1)
    cost = 2 * r if sd else 1
    while not problem.is_solved(optimizer.current):
        if optimizer.evaluations + cost > cell.budget:
            return [cell.budget, 0]
        for _ in range(2 if sd else 1):
            tell(r if sd else 1)
    return [optimizer.evaluations, 1]


def ending(cell: Cell, seed: int) -> Record:
    """Run a cell once with the ask/tell classes, and look at it at the checkpoints.

    Args:
        cell: The setting, with checkpoints.
        seed: The seed of the run.
    """
    problem, optimizer, noise = problem_of(cell), optimizer_of(cell, seed), noise_generator(seed)
    hit, value = 0, 0.0
    genome = None
    current: Record = []
    recommended: Record = []
    for checkpoint in cell.checkpoints:
        while optimizer.evaluations < checkpoint:
            trial = optimizer.ask()
            if trial.genome is not genome:  # resampling asks for one genome several times
                genome = trial.genome
                value = problem.true_value(genome)
            optimizer.tell(trial, value + cell.noise_sd * noise.standard_normal())
            if not hit and problem.is_solved(optimizer.current):
                hit = optimizer.evaluations
        current.append(int(problem.true_value(optimizer.current)))
        recommended.append(int(problem.true_value(optimizer.recommend().genome)))
    return [hit, *current, *recommended]
