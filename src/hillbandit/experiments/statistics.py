"""What is said of many runs: means, standard errors, success rates, ERT, and z-scores."""

from __future__ import annotations

import csv
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from hillbandit.experiments.plan import Cell

Z_95 = 1.959963984540054
FAR = 2.6
"""A z-score beyond this, either way, comes up about once in a hundred by chance."""


@dataclass(frozen=True, slots=True)
class Summary:
    """The runs of a cell in numbers; None where there is nothing to say."""

    runs: int
    solved: int
    mean: float | None
    """Over the solved runs only, as published: biased low where some failed."""
    standard_error: float | None
    success_low: float
    success_high: float
    ert: float | None
    """Expected running time: all evaluations spent, over the number of successes."""
    median: float | None
    """Over all runs, an unsolved one being longer than any; None if that is the median."""


def wilson(solved: int, runs: int) -> tuple[float, float]:
    """Give Wilson's 95 % interval for a success rate.

    Example:
        >>> from hillbandit.experiments.statistics import wilson
        >>> [round(end, 4) for end in wilson(9, 10)]
        [0.5958, 0.9821]

    Args:
        solved: The successes.
        runs: The attempts, at least 1.
    """
    rate, z2 = solved / runs, Z_95 * Z_95
    centre = rate + z2 / (2 * runs)
    half = Z_95 * math.sqrt(rate * (1 - rate) / runs + z2 / (4 * runs * runs))
    scale = 1 + z2 / runs
    # at the ends the exact value is 0 or 1, which rounding would miss
    low = 0.0 if solved == 0 else (centre - half) / scale
    high = 1.0 if solved == runs else (centre + half) / scale
    return low, high


def expected_running_time(evaluations: Sequence[int], solved: Sequence[int]) -> float | None:
    """Give ERT: the evaluations of all runs, failed ones too, over the number of successes.

    Example:
        >>> from hillbandit.experiments.statistics import expected_running_time
        >>> expected_running_time([100, 200, 1000], [1, 1, 0])
        650.0

    Args:
        evaluations: What each run spent.
        solved: Whether each succeeded.

    Returns:
        None if no run succeeded.
    """
    successes = sum(solved)
    return sum(evaluations) / successes if successes else None


def summarise(evaluations: Sequence[int], solved: Sequence[int]) -> Summary:
    """Summarise the runs of a cell.

    Example:
        >>> from hillbandit.experiments.statistics import summarise
        >>> summary = summarise([100, 200, 1000], [1, 1, 0])
        >>> summary.mean, summary.standard_error, summary.median
        (150.0, 50.0, 200.0)

    Args:
        evaluations: What each run spent.
        solved: Whether each succeeded.

    Raises:
        ValueError: If there are no runs.
    """
    if not evaluations:
        raise ValueError("There is nothing to summarise: a cell needs at least one run.")
    times = [spent for spent, ok in zip(evaluations, solved, strict=True) if ok]
    ranked = [
        float(spent) if ok else math.inf for spent, ok in zip(evaluations, solved, strict=True)
    ]
    low, high = wilson(len(times), len(evaluations))
    median = statistics.median(ranked)
    return Summary(
        runs=len(evaluations),
        solved=len(times),
        mean=statistics.fmean(times) if times else None,
        standard_error=standard_error(times),
        success_low=low,
        success_high=high,
        ert=expected_running_time(evaluations, solved),
        median=median if math.isfinite(median) else None,
    )


def standard_error(values: Sequence[float]) -> float | None:
    """Give the standard error of a mean; None for fewer than two values.

    Example:
        >>> from hillbandit.experiments.statistics import standard_error
        >>> standard_error([1.0, 3.0])
        1.0

    Args:
        values: The sample.
    """
    if len(values) < 2:
        return None
    return statistics.stdev(values) / math.sqrt(len(values))


def z_score(
    mean: float | None, error: float | None, other: float | None, other_error: float | None
) -> float | None:
    """Say how far a mean is above another, in units of the standard error of their difference.

    Example:
        >>> from hillbandit.experiments.statistics import z_score
        >>> z_score(110.0, 3.0, 100.0, 4.0)
        2.0

    Args:
        mean: The one mean.
        error: Its standard error.
        other: The other mean.
        other_error: Its standard error.

    Returns:
        None if one of the four is missing, or both errors are 0.
    """
    if mean is None or error is None or other is None or other_error is None:
        return None
    both = math.hypot(error, other_error)
    return (mean - other) / both if both else None


@dataclass(frozen=True, slots=True)
class Published:
    """One row of the archived results behind the paper's figures."""

    cell: Cell
    mean: float | None
    standard_error: float | None


def published_results() -> list[Published]:
    """Read the results that the authors archived, in the order of their file.

    Example:
        >>> from hillbandit.experiments.statistics import published_results
        >>> len(published_results())
        312
    """
    path = files("hillbandit.experiments").joinpath("published_results.csv")
    with path.open(encoding="utf-8") as file:
        return [
            Published(
                Cell(
                    row["problem"],
                    row["algorithm"],
                    float(row["noise_sd"]),
                    int(row["resamples"]),
                    int(row["block_size"]),
                    int(row["n"]),
                ),
                float(row["mean_evaluations"]) if row["mean_evaluations"] else None,
                float(row["standard_error"]) if row["standard_error"] else None,
            )
            for row in csv.DictReader(file)
        ]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A published point beside ours."""

    published: Published
    ours: Summary
    z: float | None

    @property
    def complete(self) -> bool:
        """Whether all of our runs succeeded, so that no survivorship blurs the comparison."""
        return self.ours.solved == self.ours.runs


def compare(summaries: dict[Cell, Summary]) -> list[Comparison]:
    """Hold each published point that was run against ours.

    Args:
        summaries: Our results by cell.
    """
    rows = []
    for published in published_results():
        ours = summaries.get(published.cell)
        if ours is not None:
            z = z_score(ours.mean, ours.standard_error, published.mean, published.standard_error)
            rows.append(Comparison(published, ours, z))
    return rows


def slope(x: Sequence[float], y: Sequence[float]) -> float:
    """Fit the exponent of a power law y = a · x^slope by least squares on logarithms.

    Example:
        >>> from hillbandit.experiments.statistics import slope
        >>> round(slope([1, 2, 4], [3, 6, 12]), 12)
        1.0

    Args:
        x: At least two different positive values.
        y: As many positive values.
    """
    logs_x, logs_y = [math.log(v) for v in x], [math.log(v) for v in y]
    return statistics.linear_regression(logs_x, logs_y).slope
