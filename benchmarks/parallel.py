"""Measure what evaluating q at a time costs and saves: evaluations and rounds until solved.

    python benchmarks/parallel.py            prints the table
    python benchmarks/parallel.py --write    also writes it to benchmarks/parallel.md

In a round q trials are asked for, evaluated at once, and told in random order. A run is solved when
the genome climbed from is the optimum; the oracle that says so sees no noise. Every run counts: one
that is not solved within 1000·n evaluations is listed as such.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

import hillbandit as hb
from hillbandit.problems import OneMax, Problem, RoyalRoad

WIDTHS = (1, 2, 4, 8, 16)
KINDS: list[type[hb.BanditRMHC | hb.KalmanClimber]] = [hb.BanditRMHC, hb.KalmanClimber]
CASES: list[tuple[str, Problem, bool, int]] = [
    ("OneMax, n = 100", OneMax(100), False, 100),
    ("noisy OneMax, n = 100", OneMax(100), True, 100),
    ("Royal Road 64, blocks of 8", RoyalRoad(64, 8), False, 50),
]


def solve(
    kind: type[hb.BanditRMHC | hb.KalmanClimber],
    problem: Problem,
    noisy: bool,
    width: int,
    seed: int,
) -> tuple[int, int] | None:
    """Run until solved; return the evaluations and the rounds, or None."""
    optimizer = kind(problem.space, noisy=noisy, seed=seed)
    rng = np.random.default_rng([seed, width])
    noise: Callable[[], float] = rng.standard_normal if noisy else float
    solved: Callable[[], bool] = lambda: problem.is_solved(optimizer.current)  # noqa: E731
    rounds = 0
    while optimizer.evaluations < 1000 * len(problem.space):
        trials = [optimizer.ask() for _ in range(width)]
        values = problem(np.array([trial.genome for trial in trials]))
        rounds += 1
        for i in rng.permutation(width):
            optimizer.tell(trials[i], float(values[i]) + noise())
        if solved():
            return optimizer.evaluations, rounds
    return None


def main() -> None:
    """Measure every case and print the table."""
    lines = [
        "| optimiser | problem | q | evaluations | rounds | evaluations, times those of q = 1 "
        "| rounds, fewer by | unsolved |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for kind, (label, problem, noisy, runs) in itertools.product(KINDS, CASES):
        base: tuple[float, float] | None = None
        for width in WIDTHS:
            results = [solve(kind, problem, noisy, width, seed) for seed in range(runs)]
            done = np.array([r for r in results if r is not None], dtype=float)
            means, errors = done.mean(axis=0), done.std(axis=0, ddof=1) / len(done) ** 0.5
            base = base or (means[0], means[1])
            lines.append(
                f"| {kind.__name__} | {label} | {width} | {means[0]:.0f} ± {errors[0]:.0f} "
                f"| {means[1]:.1f} ± {errors[1]:.1f} | {means[0] / base[0]:.2f} "
                f"| {base[1] / means[1]:.2f} | {runs - len(done)} of {runs} |"
            )
            print(lines[-1], flush=True)
    if "--write" in sys.argv:
        Path(__file__).with_suffix(".md").write_text(
            "# Evaluating q at a time\n\n"
            "Made by `python benchmarks/parallel.py --write`: noise N(0, 1) where noisy, with r = "
            "2 for `BanditRMHC`; means with standard errors over the solved runs.\n\n"
            + "\n".join(lines)
            + "\n"
        )


if __name__ == "__main__":
    main()
