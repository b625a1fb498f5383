from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hillbandit as hb
from hillbandit.problems import (
    BestValues,
    DeceptiveTrap,
    LeadingOnes,
    MaxThreeSat,
    NKLandscape,
    Noisy,
    OneMax,
    Ordinal,
    Problem,
    RoyalRoad,
    WeightedLinear,
)


@pytest.mark.parametrize(
    ("problem", "genome", "value"),
    [
        (OneMax(5), [1, 0, 1, 1, 0], 3),
        (LeadingOnes(5), [1, 1, 0, 1, 1], 2),
        (LeadingOnes(5), [0, 1, 1, 1, 1], 0),
        (RoyalRoad(8, 4), [1, 1, 1, 1, 1, 1, 1, 0], 4),
        (RoyalRoad(8, 2), [1, 1, 0, 1, 1, 1, 0, 0], 4),
        (RoyalRoad(6, 1), [1, 0, 1, 0, 1, 0], 3),
        (DeceptiveTrap(10, 5), [1, 1, 1, 1, 1, 1, 1, 0, 0, 0], 5 + 2),
        (DeceptiveTrap(4, 2), [0, 0, 0, 1], 1),
    ],
)
def test_values_worked_by_hand(problem: Problem, genome: list[int], value: float) -> None:
    assert problem(genome) == value
    assert problem.true_value(np.array(genome)) == value
    assert not problem.is_solved(genome)


@pytest.mark.parametrize(
    "problem",
    [
        OneMax(6),
        LeadingOnes(6),
        RoyalRoad(6, 3),
        Noisy(OneMax(6), sd=2.0),
        DeceptiveTrap(6, 3),
        NKLandscape(6, k=2, seed=3),
        MaxThreeSat(6, clauses=8, seed=1),
        WeightedLinear(6, seed=4),
        BestValues(3, m=4, seed=5),
        Ordinal(3, m=4, seed=6),
    ],
)
def test_a_batch_gives_what_its_rows_give_and_the_optimum_is_known(problem: Problem) -> None:
    batch = np.array(list(problem.space.genomes()))
    values = problem.true_value(batch)
    assert values.tolist() == [problem.true_value(row) for row in batch]
    assert values.max() == problem.optimum
    assert [problem.is_solved(row) for row in batch] == (values == problem.optimum).tolist()
    assert problem(batch).shape == (64,)
    assert problem(batch[:0]).shape == (0,)


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


def test_noise_on_top_of_noise_is_both() -> None:
    count, genomes = 20_000, np.zeros((20_000, 4), dtype=int)
    for inner, outer, sd in ((3.0, 0.0, 3.0), (3.0, 4.0, 5.0), (0.0, 2.0, 2.0)):
        problem = Noisy(Noisy(OneMax(4), sd=inner), sd=outer)
        for seed in (None, 7):
            assert abs(problem(genomes, seed=seed).std() - sd) < 4 * sd / (2 * count) ** 0.5
        assert problem.true_value([1, 0, 1, 0]) == 2.0


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: RoyalRoad(10, 4), "must divide n; 4 does not divide 10"),
        (lambda: RoyalRoad(10, 0), "at least 1"),
        (lambda: OneMax(0), "at least 1"),
        (lambda: Noisy(OneMax(3), sd=-1), "0 or more"),
        (lambda: Noisy(OneMax(3), sd=float("nan")), "0 or more"),
        (lambda: Noisy(OneMax(3), sd="a"), "must be a number, not 'a'"),  # type: ignore[arg-type]
        (lambda: OneMax(3)([0.5, 1.9, 1]), "holds integers"),
        (lambda: OneMax(3)([[0.5, 1.9, 1]]), "holds integers"),
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


def test_an_nk_landscape_adds_the_entries_that_the_bits_choose() -> None:
    problem = NKLandscape(3, k=1, seed=1)
    problem.bits = np.array([[0, 1], [1, 2], [2, 0]])
    problem.tables = np.array([[0.0, 0.1, 0.2, 0.3], [1.0, 1.1, 1.2, 1.3], [2.0, 2.1, 2.2, 2.3]])
    # bits (1, 0) choose entry 2 of table 0, (0, 1) entry 1 of table 1, (1, 1) entry 3 of table 2
    assert problem([1, 0, 1]) == pytest.approx(0.2 + 1.1 + 2.3)


def test_each_bit_of_an_nk_landscape_depends_on_itself_and_k_others() -> None:
    problem = NKLandscape(20, k=4, seed=2)
    assert not problem.exact
    assert problem.bits[:, 0].tolist() == list(range(20))
    assert all(len(set(row)) == 5 for row in problem.bits.tolist())
    assert problem.tables.shape == (20, 32)
    batch = np.random.default_rng(1).integers(0, 2, (200, 20))
    assert max(problem.true_value(row) for row in batch) < problem.optimum
    assert NKLandscape(20, k=4, seed=2)(batch[0]) == problem(batch[0])


def test_a_clause_is_satisfied_by_any_of_its_three_literals() -> None:
    problem = MaxThreeSat(4, clauses=3, seed=1)
    problem.variables = np.array([[0, 1, 2], [1, 2, 3], [0, 2, 3]])
    problem.wanted = np.array([[1, 1, 1], [0, 0, 0], [0, 1, 1]])
    assert problem([0, 0, 0, 0]) == 2  # not the first
    assert problem([1, 1, 1, 1]) == 2  # not the second
    assert problem([1, 0, 0, 0]) == 2  # not the third
    assert problem.is_solved([1, 0, 1, 0])


def test_a_linear_function_adds_the_weights_of_the_bits_that_agree() -> None:
    problem = WeightedLinear(200, seed=1)
    assert 1e-2 <= problem.weights.min() < 0.03
    assert 30 < problem.weights.max() <= 1e2
    other = problem.hidden.copy()
    other[7] = 1 - other[7]
    assert problem.optimum - problem(other) == pytest.approx(problem.weights[7])
    assert not problem.is_solved(other)


def test_values_of_many_valued_problems_worked_by_hand() -> None:
    problem = BestValues(3, m=4, seed=1)
    problem.best = np.array([0, 3, 2])
    assert problem([0, 3, 1]) == 2
    ordinal = Ordinal(3, m=5, seed=1)
    ordinal.weights = np.array([1.0, 0.5, 1.5])
    ordinal.upwards = np.array([True, False, True])
    # 4/4 of 1, (4 - 1)/4 of 0.5 and 2/4 of 1.5
    assert ordinal([4, 1, 2]) == 1.0 + 0.375 + 0.75


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: NKLandscape(5, k=5), "below n"),
        (lambda: MaxThreeSat(2), "three different variables"),
        (lambda: WeightedLinear(5, decades=-1), "decades"),
        (lambda: DeceptiveTrap(7, 5), "must divide"),
        (lambda: Ordinal(5, m=1), "two values"),
    ],
)
def test_impossible_sizes_of_the_new_problems_get_a_sentence(make: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        make()
