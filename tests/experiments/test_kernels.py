"""The compiled kernels give exactly the runs of the ask/tell classes."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from numba.core.caching import CacheImpl

from hillbandit.experiments import kernels, readings
from hillbandit.experiments.plan import READINGS, Cell
from hillbandit.experiments.simulation import (
    first_hit,
    first_hit_by_class,
    noise_generator,
    optimizer_of,
    problem_of,
)

SEEDS = range(24)

SETTINGS = [
    Cell("onemax", "", 0.0, 1, 1, 1),
    Cell("onemax", "", 0.0, 1, 1, 40),
    Cell("royal_road", "", 0.0, 1, 2, 32),
    Cell("royal_road", "", 0.0, 1, 4, 32),
    Cell("royal_road", "", 0.0, 1, 8, 16),
    Cell("onemax", "", 1.0, 1, 1, 10),
    Cell("onemax", "", 1.0, 2, 1, 20),
    Cell("onemax", "", 1.0, 10, 1, 33),
    Cell("onemax", "", 0.5, 3, 1, 64),
    Cell("royal_road", "", 1.0, 2, 2, 8),
    Cell("royal_road", "", 0.3, 3, 4, 8),
]


@pytest.mark.parametrize("algorithm", ["rmhc", "bandit_rmhc"])
@pytest.mark.parametrize("setting", SETTINGS, ids=lambda cell: cell.key)
def test_a_kernel_gives_the_run_of_the_class_for_dozens_of_seeds(
    algorithm: str, setting: Cell
) -> None:
    cell = replace(setting, algorithm=algorithm)
    for seed in SEEDS:
        assert first_hit(cell, seed)[:2] == first_hit_by_class(cell, seed), seed


@pytest.mark.parametrize("k", [0.05, 1.0, 8.0])
@pytest.mark.parametrize(
    ("sd", "r", "block", "n"), [(0.0, 1, 4, 32), (1.0, 1, 1, 40), (1.0, 2, 2, 6)]
)
def test_so_it_does_with_another_weight_of_exploration(
    k: float, sd: float, r: int, block: int, n: int
) -> None:
    problem = "onemax" if block == 1 else "royal_road"
    cell = Cell(problem, "bandit_rmhc", sd, r, block, n, k=k)
    for seed in range(6):
        assert first_hit(cell, seed)[:2] == first_hit_by_class(cell, seed), seed


@pytest.mark.parametrize("algorithm", ["rmhc", "bandit_rmhc"])
def test_so_it_does_where_the_budget_ends_the_run(algorithm: str) -> None:
    cell = Cell("royal_road", algorithm, 0.0, 1, 16, 16)
    runs = [first_hit(cell, seed) for seed in range(2)]
    assert runs == [first_hit_by_class(cell, seed) for seed in range(2)]
    assert [16_000, 0] in runs


def start(cell: Cell, seed: int) -> tuple[np.random.Generator, npt.NDArray[np.int64]]:
    rng = np.random.Generator(np.random.PCG64(seed))
    return rng, (rng.random(cell.n) * 2).astype(np.int64)


@pytest.mark.parametrize("noisy", [False, True])
def test_genome_and_mutations_after_each_number_of_steps_are_those_of_the_class(
    noisy: bool,
) -> None:
    cell = Cell("royal_road", "bandit_rmhc", 1.0 if noisy else 0.0, 1, 8, 64)
    problem, optimizer, noise = problem_of(cell), optimizer_of(cell, 5), noise_generator(5)
    for budget in range(1, 1500, 2 if noisy else 1):
        while optimizer.evaluations < budget:
            trial = optimizer.ask()
            draw = noise.standard_normal() if noisy else 0.0
            optimizer.tell(trial, problem.true_value(trial.genome) + draw)
        if budget % 97:
            continue
        rng, genome = start(cell, 5)
        tries = np.ones(64, dtype=np.int64)
        if noisy:
            kernels.bandit_noisy(rng, noise_generator(5), genome, tries, 8, 1.0, 1, 0.5, budget)
        else:
            kernels.bandit_noise_free(rng, genome, tries, 8, 0.5, budget)
        assert genome.tolist() == optimizer.current.tolist()
        assert (tries - 1).tolist() == [gene.mutations for gene in optimizer.explain()]


@pytest.mark.parametrize("reading", ["published", "printed"])
@pytest.mark.parametrize("sd", [0.0, 1.0])
def test_the_plain_kernel_of_the_readings_gives_the_runs_of_the_class(
    reading: str, sd: float
) -> None:
    cell = Cell("onemax", "bandit_rmhc", sd, 2 if sd else 1, 1, 10, reading=reading)
    for seed in range(8):
        rng, genome = start(cell, seed)
        plain = readings.bandit_reading(
            rng,
            noise_generator(seed),
            genome,
            1,
            sd,
            cell.resamples,
            0.5,
            READINGS.index(reading),
            cell.budget,
        )
        assert list(plain) == first_hit_by_class(cell, seed)


def test_a_tie_of_different_lines_is_seen() -> None:
    # at ln(T+1) = 1 two genes with (rescue, width) = (0, 1) and (-1, 2) are equally urgent
    rescue, width = np.array([0.0, -1.0, -5.0]), np.array([1.0, 2.0, 1.0])
    group, urgency = np.empty(3, dtype=np.uint16), np.empty(3)
    t = round(math.e) - 1
    c = math.sqrt(math.log(t + 1))
    rescue[1] = width[0] * c - width[1] * c
    size, until = kernels.most_urgent_group(rescue, width, t, urgency, group)
    assert urgency[0] == urgency[1]
    assert (size, until) == (2, t)
    assert group[:2].tolist() == [0, 1]


def test_a_certificate_ends_before_the_crossing() -> None:
    # the second line, steeper by 1 and lower by 1, overtakes at c = 1 + sqrt(ln 2)
    rescue = np.array([0.0, -1.0 - math.sqrt(math.log(2)), -100.0])
    width = np.array([1.0, 2.0, 1.0])
    group, urgency = np.empty(3, dtype=np.uint16), np.empty(3)
    size, until = kernels.most_urgent_group(rescue, width, 1, urgency, group)
    crossing = math.exp((1 + math.sqrt(math.log(2))) ** 2) - 1
    assert (size, group[0]) == (1, 0)
    assert crossing - 4 < until < crossing


def test_where_nothing_can_be_cached_the_kernels_are_compiled_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(CacheImpl, "_locator_classes", [])

    @kernels.compiled
    def double(x: int) -> int:
        return 2 * x

    assert double(21) == 42
