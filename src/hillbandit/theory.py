"""Exact expectations for the hill-climbers on OneMax.

In all of them the state is the number of ones i of the genome climbed from. A mutation of one bit
leads to i - 1 or i + 1, so the climb is a birth-death chain, and the expected steps from i to i + 1
follow from those from i - 1 to i.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

Start = Literal["random", "zeros"]


def correct_comparison(resamples: int, sd: float = 1.0) -> float:
    """Give the probability that two OneMax neighbours are ranked correctly, without history.

    Both are evaluated r times under N(0, sd²). The means differ by 1, and the noise of their
    difference has the variance 2·sd²/r, so p = ½ + ½·erf(√r / (2·sd)).

    Example:
        >>> from hillbandit.theory import correct_comparison
        >>> round(correct_comparison(1), 4)
        0.7602

    Args:
        resamples: r.
        sd: The noise's standard deviation; 0 for none.

    Raises:
        ValueError: If `resamples` is below 1 or `sd` is negative.
    """
    if resamples < 1:
        raise ValueError(f"resamples must be at least 1; it is {resamples}.")
    if sd < 0:
        raise ValueError(f"sd must not be negative; it is {sd}.")
    if sd == 0:
        return 1.0
    return 0.5 + 0.5 * math.erf(math.sqrt(resamples) / (2 * sd))


def steps_up(n: int, p: float) -> list[float]:
    """Give, for each number of ones i below n, the expected iterations of RMHC from i to i + 1.

    With i ones, an iteration goes up with probability (n-i)/n · p and down with i/n · (1-p). So

        E_i = n / ((n-i)·p)  +  i·(1-p) / ((n-i)·p) · E_(i-1)

    Example:
        >>> from hillbandit.theory import steps_up
        >>> steps_up(2, 1.0)
        [1.0, 2.0]

    Args:
        n: The number of bits.
        p: The probability of a correct comparison, 1 without noise.

    Raises:
        ValueError: If n is below 1, or p is not above 0 and at most 1.
    """
    if n < 1:
        raise ValueError(f"n must be at least 1; it is {n}.")
    if not 0 < p <= 1:
        raise ValueError(f"p must be above 0 and at most 1; it is {p}.")
    steps: list[float] = []
    below = 0.0
    for i in range(n):
        below = (n + i * (1 - p) * below) / ((n - i) * p)
        steps.append(below)
    return steps


def _from_start(steps: Sequence[float], start: Start) -> float:
    """Add up the steps to the top, averaged over the starts."""
    if start == "zeros":
        return math.fsum(steps)
    if start != "random":
        raise ValueError(f'start is "random" or "zeros", not {start!r}.')
    # a climb passes from i to i + 1 if it starts at i or below
    return math.fsum(map(operator.mul, _starts_up_to(len(steps)), steps))


@lru_cache(maxsize=128)
def _starts_up_to(n: int) -> tuple[float, ...]:
    """Give, for each i below n, the probability that a random start has at most i ones."""
    # integers, so exact to the last bit; each coefficient follows from the one before
    every, ways, so_far = 1 << n, 1, 0
    shares = []
    for i in range(n):
        so_far += ways
        shares.append(so_far / every)
        ways = ways * (n - i) // (i + 1)
    return tuple(shares)


def binomial(n: int, i: int) -> float:
    """Give the probability of i ones among n random bits.

    Example:
        >>> from hillbandit.theory import binomial
        >>> binomial(4, 2)
        0.375

    Args:
        n: The number of bits.
        i: The number of ones.
    """
    # integers, so exact to the last bit for every n
    return math.comb(n, i) / (1 << n)


def rmhc_onemax(n: int, start: Start = "random") -> float:
    """Give the expected evaluations of RMHC on OneMax without noise, the first one included.

    With z zeros left, the next improvement takes n/z mutations on average: n·H_z from z zeros, and
    about n·(H_n - ln 2) from a random start.

    Example:
        >>> from hillbandit.theory import rmhc_onemax
        >>> rmhc_onemax(2, start="zeros")
        4.0

    Args:
        n: The number of bits.
        start: From a random genome, or from zeros only.

    Raises:
        ValueError: If n is below 1 or `start` is neither.
    """
    return 1 + _from_start(steps_up(n, 1.0), start)


def bandit_onemax(n: int) -> float:
    """Give the expected evaluations of the bandit RMHC on OneMax without noise: n + 2^-n.

    An untried bit is more urgent than any tried one, so each is tried once, in random order, and
    is then right. The last of z zeros comes at place (n+1) - (n+1)/(z+1) on average. Over random
    starts that is n - 1 + 2^-n, and one evaluation comes first.

    Example:
        >>> from hillbandit.theory import bandit_onemax
        >>> bandit_onemax(2)
        2.25

    Args:
        n: The number of bits.

    Raises:
        ValueError: If n is below 1.
    """
    if n < 1:
        raise ValueError(f"n must be at least 1; it is {n}.")
    return n + 0.5**n


def noisy_rmhc_onemax(n: int, resamples: int, sd: float = 1.0, start: Start = "random") -> float:
    """Give the expected evaluations of RMHC on OneMax under noise, without history.

    Each iteration evaluates child and parent r times each, and remembers nothing of the parent's
    earlier evaluations. (The paper's algorithm does remember, and so needs fewer.)

    Example:
        >>> from hillbandit.theory import noisy_rmhc_onemax
        >>> round(noisy_rmhc_onemax(100, 10))
        12639

    Args:
        n: The number of bits.
        resamples: r.
        sd: The noise's standard deviation.
        start: From a random genome, or from zeros only.

    Returns:
        The first time that the genome climbed from is the optimum; infinite beyond 1e308.

    Raises:
        ValueError: If an argument is out of range.
    """
    steps = steps_up(n, correct_comparison(resamples, sd))
    if math.isinf(steps[-1]):
        return math.inf
    return 2 * resamples * _from_start(steps, start)


def noisy_rmhc_ending(
    n: int, resamples: int, iterations: int, sd: float = 1.0
) -> tuple[float, float]:
    """Give where RMHC without history stands on noisy OneMax after some iterations.

    It walks on after it has hit the optimum. In the long run each bit is right with the
    probability p of a correct comparison, independently of the others, so it is on the optimum
    with p^n.

    Example:
        >>> from hillbandit.theory import correct_comparison, noisy_rmhc_ending
        >>> hit, end = noisy_rmhc_ending(10, 1, 250)
        >>> round(hit, 4), round(end, 4), round(correct_comparison(1) ** 10, 4)
        (0.949, 0.0645, 0.0645)

    Args:
        n: The number of bits.
        resamples: r.
        iterations: Comparisons of a child with its parent; each costs 2r evaluations.
        sd: The noise's standard deviation.

    Returns:
        The probability that a random start or a later genome was the optimum, and the probability
        that the last one is.

    Raises:
        ValueError: If an argument is out of range.
    """
    if n < 1:
        raise ValueError(f"n must be at least 1; it is {n}.")
    if iterations < 0:
        raise ValueError(f"iterations must not be negative; it is {iterations}.")
    p = correct_comparison(resamples, sd)
    up = [(n - i) / n * p for i in range(n + 1)]
    down = [i / n * (1 - p) for i in range(n + 1)]

    def stepped(at: list[float]) -> list[float]:
        after = [mass * (1 - u - d) for mass, u, d in zip(at, up, down, strict=True)]
        for i in range(n):
            after[i + 1] += at[i] * up[i]
            after[i] += at[i + 1] * down[i + 1]
        return after

    walking = [binomial(n, i) for i in range(n + 1)]
    # of the climbs that have not hit the optimum yet
    waiting = [*walking[:n], 0.0]
    for _ in range(iterations):
        walking, waiting = stepped(walking), [*stepped(waiting)[:n], 0.0]
    return 1 - math.fsum(waiting), walking[n]


def best_resamples(n: int, sd: float = 1.0, start: Start = "random") -> int:
    """Find the r with which `noisy_rmhc_onemax` is smallest.

    Example:
        >>> from hillbandit.theory import best_resamples
        >>> [best_resamples(n) for n in (10, 50, 100, 500, 1000)]
        [1, 8, 11, 17, 19]

    Args:
        n: The number of bits.
        sd: The noise's standard deviation.
        start: From a random genome, or from zeros only.

    Raises:
        ValueError: If an argument is out of range.
    """
    at_least = _from_start(steps_up(n, 1.0), start)
    best, fewest, r = 1, math.inf, 1
    # even if every comparison were right, r would cost 2r for each of these iterations
    while 2 * r * at_least < fewest:
        expected = noisy_rmhc_onemax(n, r, sd, start)
        if expected < fewest:
            best, fewest = r, expected
        r += 1
    return best
