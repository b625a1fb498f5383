"""Exact expectations: by hand, and against simulation."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest

from hillbandit import theory
from hillbandit.experiments.plan import Cell
from hillbandit.experiments.simulation import first_hit
from hillbandit.experiments.statistics import summarise


def test_a_comparison_is_right_with_the_probability_worked_by_hand() -> None:
    # r = 4: ½ + ½·erf(1) = ½ + ½·0.8427008
    assert theory.correct_comparison(4) == pytest.approx(0.9213504, abs=1e-7)
    assert theory.correct_comparison(1, sd=0.5) == theory.correct_comparison(4)
    assert theory.correct_comparison(3, sd=0.0) == 1.0


def test_the_recursion_agrees_with_the_linear_system_of_the_chain() -> None:
    n, p = 12, 0.8
    up = np.array([(n - i) / n * p for i in range(n)])
    down = np.array([i / n * (1 - p) for i in range(n)])
    matrix = np.diag(up + down) - np.diag(up[:-1], 1) - np.diag(down[1:], -1)
    to_the_top = np.linalg.solve(matrix, np.ones(n))
    steps = theory.steps_up(n, p)
    assert np.cumsum(steps[::-1])[::-1] == pytest.approx(to_the_top)


def test_without_noise_rmhc_collects_coupons() -> None:
    # from n zeros: n·H_n, and 1 for the first evaluation
    assert theory.rmhc_onemax(4, start="zeros") == pytest.approx(
        1 + 4 * (1 + 1 / 2 + 1 / 3 + 1 / 4)
    )
    # n = 2 at random: 0, 1, 2 zeros with ¼, ½, ¼: 1 + ½·2 + ¼·3
    assert theory.rmhc_onemax(2) == 1 + 0.5 * 2 + 0.25 * 3
    n = 1000
    harmonic = sum(1 / i for i in range(1, n + 1))
    assert theory.rmhc_onemax(n) == pytest.approx(n * (harmonic - math.log(2)), rel=1e-3)


def test_a_long_genome_takes_no_longer_than_a_look() -> None:
    n = 10_000
    theory._starts_up_to.cache_clear()
    began = time.process_time()
    expected = theory.rmhc_onemax(n)
    # a coefficient from scratch for each number of ones took 12 seconds
    assert time.process_time() - began < 2
    harmonic = sum(1 / i for i in range(1, n + 1))
    assert expected == pytest.approx(n * (harmonic - math.log(2)), rel=1e-4)


def test_the_share_of_starts_is_exact() -> None:
    n = 60
    exact = [sum(math.comb(n, j) for j in range(i + 1)) / 2**n for i in range(n)]
    assert list(theory._starts_up_to(n)) == exact


def test_the_bandit_expectation_is_the_average_over_starts() -> None:
    for n in (1, 2, 7, 20):
        average = sum(theory.binomial(n, z) * ((n + 1) - (n + 1) / (z + 1)) for z in range(n + 1))
        assert theory.bandit_onemax(n) == pytest.approx(1 + average, abs=1e-12)


def test_the_best_number_of_resamples_is_the_known_one() -> None:
    sizes = (10, 50, 100, 500, 1000)
    assert [theory.best_resamples(n) for n in sizes] == [1, 8, 11, 17, 19]
    assert [theory.best_resamples(n, start="zeros") for n in sizes] == [1, 8, 10, 16, 19]


def test_the_best_number_of_resamples_is_better_than_its_neighbours() -> None:
    best = theory.best_resamples(75)
    expected = [theory.noisy_rmhc_onemax(75, r) for r in range(1, 40)]
    assert min(expected) == expected[best - 1]


def test_an_expectation_beyond_all_numbers_is_infinite() -> None:
    assert theory.noisy_rmhc_onemax(5000, 1) == math.inf


@pytest.mark.parametrize("n", [20, 150])
@pytest.mark.parametrize(
    ("algorithm", "expectation"),
    [("rmhc", theory.rmhc_onemax), ("bandit_rmhc", theory.bandit_onemax)],
)
def test_noise_free_simulations_meet_the_expectation(
    n: int, algorithm: str, expectation: object
) -> None:
    assert callable(expectation)
    cell = Cell("onemax", algorithm, 0.0, 1, 1, n)
    runs = [first_hit(cell, seed) for seed in range(1500)]
    summary = summarise([run[0] for run in runs], [run[1] for run in runs])
    assert summary.mean is not None
    assert summary.standard_error is not None
    # four standard errors: wrong once in 16,000 by chance, and the seeds are fixed
    assert abs(summary.mean - expectation(n)) < 4 * summary.standard_error


@pytest.mark.parametrize(("n", "r"), [(5, 1), (8, 2), (12, 4)])
def test_noisy_simulations_without_history_meet_the_expectation(n: int, r: int) -> None:
    """RMHC that forgets its genome's evaluations, simulated by its number of ones."""
    rng = np.random.default_rng(3)
    times = []
    for _ in range(800):
        ones, iterations = int((rng.random(n) < 0.5).sum()), 0
        while ones < n:
            iterations += 1
            change = -1 if rng.random() * n < ones else 1
            parent = ones + rng.standard_normal(r).mean()
            child = ones + change + rng.standard_normal(r).mean()
            if child >= parent:
                ones += change
        times.append(2 * r * iterations)
    error = np.std(times, ddof=1) / math.sqrt(len(times))
    assert abs(np.mean(times) - theory.noisy_rmhc_onemax(n, r)) < 4 * error


def test_where_a_climber_without_history_ends_is_worked_by_hand() -> None:
    p = theory.correct_comparison(1)
    # one bit: right in half of the starts; a right one is kept, and a wrong one mended, with p
    assert theory.noisy_rmhc_ending(1, 1, 0) == (0.5, 0.5)
    assert theory.noisy_rmhc_ending(1, 1, 1) == pytest.approx((0.5 + 0.5 * p, p))
    # two bits, from 0, 1, 2 ones with 1/4, 1/2, 1/4, after one comparison: 2 stays with p, and 1
    # goes up if the other bit is tried and the comparison right
    hit, end = theory.noisy_rmhc_ending(2, 1, 1)
    assert hit == pytest.approx(0.25 + 0.5 * 0.5 * p)
    assert end == pytest.approx(0.25 * p + 0.5 * 0.5 * p)
    # the authors' 6.4 % of 10 bits
    assert theory.noisy_rmhc_ending(10, 1, 250)[1] == pytest.approx(p**10, rel=1e-6)


def test_ends_of_simulated_climbers_without_history_meet_the_expectation() -> None:
    rng = np.random.default_rng(5)
    n, r, iterations, runs = 6, 2, 15, 2000
    hits = ends = 0
    for _ in range(runs):
        ones = int((rng.random(n) < 0.5).sum())
        hit = ones == n
        for _ in range(iterations):
            change = -1 if rng.random() * n < ones else 1
            noise = rng.standard_normal((2, r)).mean(axis=1)
            if ones + change + noise[1] >= ones + noise[0]:
                ones += change
            hit |= ones == n
        hits += hit
        ends += ones == n
    for found, expected in zip(
        (hits, ends), theory.noisy_rmhc_ending(n, r, iterations), strict=True
    ):
        error = math.sqrt(expected * (1 - expected) / runs)
        assert abs(found / runs - expected) < 4 * error


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: theory.steps_up(0, 1.0), "n must be at least 1"),
        (lambda: theory.steps_up(3, 0.0), "p must be above 0"),
        (lambda: theory.correct_comparison(0), "resamples must be at least 1"),
        (lambda: theory.correct_comparison(1, -1.0), "sd must not be negative"),
        (lambda: theory.bandit_onemax(0), "n must be at least 1"),
        (lambda: theory.noisy_rmhc_ending(0, 1, 1), "n must be at least 1"),
        (lambda: theory.noisy_rmhc_ending(3, 1, -1), "iterations must not be negative"),
        (lambda: theory.rmhc_onemax(3, "ones"), 'start is "random" or "zeros"'),  # type: ignore[arg-type]
    ],
)
def test_impossible_arguments_get_a_sentence(call: object, sentence: str) -> None:
    assert callable(call)
    with pytest.raises(ValueError, match=sentence):
        call()
