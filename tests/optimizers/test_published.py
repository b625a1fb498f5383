"""The climbers against the numbers that the paper's authors archived."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

import hillbandit as hb

PUBLISHED = Path(hb.__file__).parent / "experiments" / "published_results.csv"


def published(**wanted: str) -> tuple[float, float]:
    with PUBLISHED.open() as file:
        (row,) = [r for r in csv.DictReader(file) if all(r[k] == v for k, v in wanted.items())]
    return float(row["mean_evaluations"]), float(row["standard_error"])


def evaluations_until_solved(
    kind: type[hb.RMHC] | type[hb.BanditRMHC],
    n: int,
    block: int,
    resamples: int | None,
    seed: int,
) -> int:
    """Run until the genome climbed from is the optimum; the oracle sees it without noise."""
    optimizer = kind(hb.Space.binary(n), resamples=resamples, seed=seed)
    rng = np.random.default_rng([seed, 1])
    seen: bytes = b""
    while optimizer.evaluations < 1000 * n:
        trial = optimizer.ask()
        fitness = float(block * trial.genome.reshape(-1, block).all(axis=1).sum())
        optimizer.tell(trial, fitness if resamples is None else fitness + rng.standard_normal())
        current = optimizer.current
        if current.tobytes() != seen:
            seen = current.tobytes()
            if current.all():
                return optimizer.evaluations
    raise AssertionError("unsolved within the budget")


CELLS = [
    # algorithm, problem, n, block, r, runs
    (hb.BanditRMHC, "royal_road", 64, 8, None, 50),
    (hb.BanditRMHC, "royal_road", 64, 4, None, 100),
    (hb.BanditRMHC, "onemax", 100, 1, 1, 60),
    (hb.BanditRMHC, "onemax", 100, 1, 2, 60),
    (hb.BanditRMHC, "onemax", 100, 1, 10, 30),
    (hb.RMHC, "royal_road", 64, 4, None, 60),
    (hb.RMHC, "onemax", 50, 1, 5, 40),
]


@pytest.mark.parametrize(("kind", "problem", "n", "block", "r", "runs"), CELLS)
def test_the_mean_number_of_evaluations_is_the_published_one(
    kind: type[hb.RMHC] | type[hb.BanditRMHC],
    problem: str,
    n: int,
    block: int,
    r: int | None,
    runs: int,
) -> None:
    mean, error = published(
        problem=problem,
        algorithm=kind.name,
        noise_sd="0" if r is None else "1",
        resamples=str(r or 1),
        block_size=str(block),
        n=str(n),
    )
    ours = [evaluations_until_solved(kind, n, block, r, seed) for seed in range(runs)]
    our_error = float(np.std(ours, ddof=1)) / runs**0.5
    # 3.5 standard errors of the difference: 1 in 2,000 for a correct reading
    assert abs(np.mean(ours) - mean) < 3.5 * (error**2 + our_error**2) ** 0.5


def test_the_printed_equation_does_not_solve_royal_road() -> None:
    problem = hb.problems.RoyalRoad(64, 8)
    for seed in range(3):
        optimizer = hb.BanditRMHC(problem.space, urgency="printed", seed=seed)
        while optimizer.evaluations < 9_000:  # three times what the published reading needs
            trial = optimizer.ask()
            optimizer.tell(trial, problem(trial.config))
        assert not problem.is_solved(optimizer.recommend().config)


def test_noise_free_onemax_takes_the_bandit_about_n_evaluations() -> None:
    n, runs = 30, 40
    counts = [evaluations_until_solved(hb.BanditRMHC, n, 1, None, seed) for seed in range(runs)]
    assert max(counts) <= n + 1
    # each bit is tried once: n + 2**-n in expectation
    error = float(np.std(counts, ddof=1)) / runs**0.5
    assert abs(np.mean(counts) - n) < 4 * error
