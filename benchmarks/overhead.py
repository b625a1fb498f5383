"""Measure what the optimisers cost: microseconds per ask + tell, the fitness excluded.

    python benchmarks/overhead.py            prints the table
    python benchmarks/overhead.py --write    also writes it to benchmarks/overhead.md

Each figure is the least of several blocks of steps, around evaluation 100 and around evaluation
100,000 of the same run. The values told are noise, drawn beforehand: half of the children are kept,
which is the dearer half. Beside it, in the same process, stands the bare NumPy arithmetic of one
urgency scan: a multiplication, an addition, the maximum and the genes that reach it.
"""

from __future__ import annotations

import platform
import sys
from pathlib import Path
from time import perf_counter

import numpy as np

import hillbandit as hb

LENGTHS = (10, 100, 1_000, 10_000, 100_000)
EARLY, LATE = 100, 100_000
BLOCKS = 12


def bare_scan(n: int) -> float:
    """Time the arithmetic of one scan, in microseconds."""
    rng = np.random.default_rng(1)
    rescue, width, urgency = rng.standard_normal(n), rng.random(n), np.empty(n)
    count = max(5, min(2_000, 2_000_000 // n))
    best = np.inf
    for _ in range(BLOCKS):
        began = perf_counter()
        for _ in range(count):
            np.multiply(width, 1.5, urgency)
            np.add(rescue, urgency, urgency)
            (urgency == urgency[urgency.argmax()]).nonzero()
        best = min(best, (perf_counter() - began) / count)
    return best * 1e6


def advance(optimizer: hb.Optimizer, values: list[float]) -> float:
    """Ask and tell once for each value; return the seconds that it took."""
    began = perf_counter()
    for value in values:
        optimizer.tell(optimizer.ask(), value)
    return perf_counter() - began


def per_step(optimizer: hb.Optimizer, at: int) -> float:
    """Bring the optimiser to an evaluation, and time its steps from there, in microseconds."""
    rng = np.random.default_rng(at)
    while optimizer.evaluations < at:
        advance(optimizer, rng.standard_normal(min(10_000, at - optimizer.evaluations)).tolist())
    size = 40 if len(optimizer.space) < 50_000 else 8
    blocks = [advance(optimizer, rng.standard_normal(size).tolist()) for _ in range(BLOCKS)]
    return min(blocks) / size * 1e6


def main() -> None:
    """Measure everything and print the table."""
    lines = [
        "| n | bare scan | bandit, at 100 | at 100,000 | bandit noisy r=2, at 100 | at 100,000 "
        "| RMHC, at 100 | at 100,000 |",
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for n in LENGTHS:
        space = hb.Space.binary(n)
        row = [f"{n:,}", f"{bare_scan(n):.1f}"]
        for optimizer in (
            hb.BanditRMHC(space, seed=1),
            hb.BanditRMHC(space, resamples=2, seed=1),
            hb.RMHC(space, seed=1),
        ):
            row += [f"{per_step(optimizer, at):.1f}" for at in (EARLY, LATE)]
            print(f"{n:>7}  {type(optimizer).__name__:<12} {row[-2]:>7} {row[-1]:>7}", flush=True)
        lines.append(f"| {' | '.join(row)} |")
    table = "\n".join(lines)
    print(table)
    if "--write" in sys.argv:
        Path(__file__).with_suffix(".md").write_text(
            "# Microseconds per ask + tell\n\n"
            "Made by `python benchmarks/overhead.py --write` "
            f"(Python {platform.python_version()}, NumPy {np.__version__}, one core); "
            "the script's text says how.\n\n" + table + "\n"
        )


if __name__ == "__main__":
    main()
