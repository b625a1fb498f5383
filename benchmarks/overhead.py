"""Measure what the optimisers cost: microseconds per ask + tell, the fitness excluded.

    python benchmarks/overhead.py            prints the table
    python benchmarks/overhead.py --write    also writes it to benchmarks/overhead.md

Each figure is the least of many short blocks of steps, spread over seconds because a machine's
speed comes and goes; the blocks around evaluation 100 (of fresh runs), around evaluation 100,000
and of the bare scan take turns, so that they can be compared. Before a block its optimiser makes
100 steps that are not timed: otherwise, with long genomes, the block would measure how its data
come back into the processor's cache, which costs 15 to 50 % more at 100,000 genes whatever the
number of evaluations. The values told are noise, drawn beforehand: half of the children are kept,
which is the dearer half. The bare scan is the NumPy arithmetic of one scan of the urgencies: a
multiplication, an addition, the maximum and the genes that reach it.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter

import numpy as np

import hillbandit as hb

LENGTHS = (10, 100, 1_000, 10_000, 100_000)
EARLY, LATE = 100, 100_000
TURNS = 300


def bare_scan(n: int) -> Callable[[], float]:
    """Prepare the arithmetic of one scan; each call times a block and returns seconds a scan."""
    rng = np.random.default_rng(1)
    rescue, width, urgency = rng.standard_normal(n), rng.random(n), np.empty(n)
    count = max(2, min(200, 200_000 // n))

    def block() -> float:
        began = perf_counter()
        for _ in range(count):
            np.multiply(width, 1.5, urgency)
            np.add(rescue, urgency, urgency)
            (urgency == urgency[urgency.argmax()]).nonzero()
        return (perf_counter() - began) / count

    return block


def advance(optimizer: hb.Optimizer, values: list[float]) -> float:
    """Ask and tell once for each value; return the seconds a step."""
    began = perf_counter()
    for value in values:
        optimizer.tell(optimizer.ask(), value)
    return (perf_counter() - began) / len(values)


def measure(make: Callable[[], hb.Optimizer], n: int) -> tuple[float, float, float]:
    """Time the bare scan, steps around evaluation 100, and around 100,000, in microseconds."""
    rng = np.random.default_rng(n)
    late = make()
    while late.evaluations < LATE:
        advance(late, rng.standard_normal(10_000).tolist())
    scan = bare_scan(n)
    steps = 40 if n < 50_000 else 8
    turns = TURNS if n < 50_000 else TURNS // 5
    least = [np.inf] * 3
    for _ in range(turns):
        first = rng.standard_normal(EARLY).tolist()
        values = rng.standard_normal(steps).tolist()
        block = [scan()]
        for optimizer in (make(), late):
            advance(optimizer, first)
            block.append(advance(optimizer, values))
        least = [min(a, b) for a, b in zip(least, block, strict=True)]
    return least[0] * 1e6, least[1] * 1e6, least[2] * 1e6


def main() -> None:
    """Measure everything and print the table."""
    lines = [
        "| n | bare scan | bandit, at 100 | at 100,000 | bandit noisy r=2, at 100 | at 100,000 "
        "| RMHC, at 100 | at 100,000 |",
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for n in LENGTHS:
        space = hb.Space.binary(n)
        makers: list[Callable[[], hb.Optimizer]] = [
            partial(hb.BanditRMHC, space, seed=1),
            partial(hb.BanditRMHC, space, resamples=2, seed=1),
            partial(hb.RMHC, space, seed=1),
        ]
        results = [measure(make, n) for make in makers]
        row = [f"{n:,}", f"{min(scan for scan, _, _ in results):.1f}"]
        row += [f"{time:.1f}" for _, *times in results for time in times]
        lines.append(f"| {' | '.join(row)} |")
        print(lines[-1], flush=True)
    table = "\n".join(lines)
    if "--write" in sys.argv:
        Path(__file__).with_suffix(".md").write_text(
            "# Microseconds per ask + tell\n\n"
            "Made by `python benchmarks/overhead.py --write` "
            f"(Python {platform.python_version()}, NumPy {np.__version__}, one core); "
            "the script's text says how.\n\n" + table + "\n"
        )


if __name__ == "__main__":
    main()
