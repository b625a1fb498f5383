from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hillbandit as hb
from hillbandit.problems import LeadingOnes, Noisy, OneMax, Problem, RoyalRoad


@pytest.mark.parametrize(
    ("problem", "genome", "value"),
    [
        (OneMax(5), [1, 0, 1, 1, 0], 3),
        (LeadingOnes(5), [1, 1, 0, 1, 1], 2),
        (LeadingOnes(5), [0, 1, 1, 1, 1], 0),
        (RoyalRoad(8, 4), [1, 1, 1, 1, 1, 1, 1, 0], 4),
        (RoyalRoad(8, 2), [1, 1, 0, 1, 1, 1, 0, 0], 4),
        (RoyalRoad(6, 1), [1, 0, 1, 0, 1, 0], 3),
    ],
)
def test_values_worked_by_hand(problem: Problem, genome: list[int], value: float) -> None:
    assert problem(genome) == value
    assert problem.true_value(np.array(genome)) == value
    assert not problem.is_solved(genome)


@pytest.mark.parametrize(
    "problem", [OneMax(6), LeadingOnes(6), RoyalRoad(6, 3), Noisy(OneMax(6), sd=2.0)]
)
def test_a_batch_gives_what_its_rows_give_and_the_optimum_is_known(problem: Problem) -> None:
    batch = np.array(list(problem.space.genomes()))
    values = problem.true_value(batch)
    assert values.tolist() == [problem.true_value(row) for row in batch]
    assert values.max() == problem.optimum
    assert [problem.is_solved(row) for row in batch] == (values == problem.optimum).tolist()
    assert problem(batch).shape == (64,)


def test_noise_is_that_of_the_seed_or_of_its_own_stream() -> None:
    noisy = Noisy(OneMax(4), sd=1.0, seed=3)
    genome = [1, 0, 0, 1]
    assert noisy(genome, seed=9) == noisy(genome, seed=9)
    assert noisy(genome, seed=9) != noisy(genome, seed=10)
    assert noisy(genome) != noisy(genome)
    assert Noisy(OneMax(4), seed=3)(genome) == Noisy(OneMax(4), seed=3)(genome)
    batch = np.array([genome] * 3)
    assert noisy(batch, seed=1).tolist() == noisy(batch, seed=1).tolist()


def test_noise_has_the_stated_mean_and_spread() -> None:
    count, sd = 20_000, 3.0
    noise = Noisy(OneMax(4), sd=sd, seed=1)(np.zeros((count, 4), dtype=int))
    assert abs(noise.mean()) < 4 * sd / count**0.5
    assert abs(noise.std() - sd) < 4 * sd / (2 * count) ** 0.5


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: RoyalRoad(10, 4), "must divide n; 4 does not divide 10"),
        (lambda: RoyalRoad(10, 0), "at least 1"),
        (lambda: OneMax(0), "at least 1"),
        (lambda: Noisy(OneMax(3), sd=-1), "0 or more"),
        (lambda: Noisy(OneMax(3), sd=float("nan")), "0 or more"),
        (lambda: Noisy("OneMax"), "needs a problem"),  # type: ignore[arg-type]
        (lambda: OneMax(3)([1, 2, 0]), "values 0 to 1"),
        (lambda: OneMax(3)([1, 0]), "3 value indices"),
        (lambda: OneMax(3)(np.zeros((2, 4), dtype=int)), "3 columns"),
        (lambda: OneMax(3)(np.full((2, 3), 2)), "does not have"),
    ],
)
def test_impossible_problems_and_configurations_get_a_sentence(make: Any, says: str) -> None:
    with pytest.raises((ValueError, TypeError), match=says):
        make()


def test_a_problem_runs_under_maximize_with_the_trials_seed() -> None:
    problem = Noisy(OneMax(12), seed=None)
    runs = [hb.maximize(problem, problem.space, budget=60, noisy=True, seed=4) for _ in range(2)]
    assert runs[0].history.values.tolist() == runs[1].history.values.tolist()
