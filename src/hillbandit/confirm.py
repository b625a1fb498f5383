"""Confirmation: the leading candidates are evaluated afresh against each other before the answer.

The rule is sequential halving. The reserved evaluations are split evenly over log2(K) rounds for K
candidates, and in each round evenly over the candidates that are left; after a round the better
half goes on. What cannot be split evenly is left to the next round, and at the end to the winner,
so that the reserve is spent to the last evaluation. Candidates are compared as
`Optimizer.recommend` compares them, by their mean over all evaluations up to the end of that round,
those of the search included, less its standard error. The mean and the interval of the winner come
from its fresh evaluations only. These have also decided between it and the other finalist, so the
interval is one that holds for both of two at once (97.5 % each, Bonferroni): whichever won, 95 %.
`benchmarks/confirm.md` has its measured coverage.
"""

from __future__ import annotations

import math

import numpy as np

from hillbandit.ledger import Confirmation
from hillbandit.optimizers import Optimizer
from hillbandit.optimizers.archive import interval_of
from hillbandit.trial import Recommendation

CANDIDATES = 8
"""How many candidates a confirmation begins with, at the most."""
EACH = 4
"""With fewer evaluations than this for each, there are fewer candidates."""


def reserve(budget: int, share: float) -> int:
    """Tell how many evaluations of a budget are kept for confirmation; one is left to search."""
    return min(budget - 1, max(1, round(budget * share)))


def prepared(optimizer: Optimizer, evaluations: int) -> Confirmation:
    """Choose the candidates that so many evaluations can tell apart."""
    count = max(1, min(CANDIDATES, evaluations // EACH))
    leaders = optimizer.leaders(count)
    return Confirmation(
        candidates=[leader.genome.tolist() for leader in leaders],
        fresh=[[] for _ in leaders],
        evaluations=evaluations,
        means=[leader.mean for leader in leaders],
        counts=[leader.evaluations for leader in leaders],
        noise=optimizer.noise()[0],
    )


def still_missing(confirmation: Confirmation) -> tuple[list[int], list[int]]:
    """Work out where the halving stands.

    Example:
        >>> from hillbandit.confirm import still_missing
        >>> from hillbandit.ledger import Confirmation
        >>> race = Confirmation([[0], [1]], [[1.0, 1.0], [2.0]], 6, [1.0, 2.0], [3, 3], noise=1.0)
        >>> still_missing(race)
        ([0, 1], [0, 1, 1])

    Args:
        confirmation: The candidates and their fresh evaluations so far.

    Returns:
        The candidates still in the race, and those to evaluate now, each as often as is missing in
        the round that is under way. When nothing is missing, the first candidate has won.
    """
    alive = list(range(len(confirmation.candidates)))
    rounds = max(1, math.ceil(math.log2(len(alive))))
    target, left = 0, confirmation.evaluations
    for turn in range(rounds):
        each = max(1, left // (rounds - turn) // len(alive))
        target += each
        left -= each * len(alive)
        missing = [
            candidate
            for candidate in alive
            for _ in range(target - len(confirmation.fresh[candidate]))
        ]
        if missing:
            return alive, missing
        scores = {candidate: _score(confirmation, candidate, target) for candidate in alive}
        alive.sort(key=scores.__getitem__, reverse=True)  # stable: equals keep their order
        if turn < rounds - 1:
            alive = alive[: max(1, math.ceil(len(alive) / 2))]
    return alive, alive[:1] * (target + left - len(confirmation.fresh[alive[0]]))


def _score(confirmation: Confirmation, candidate: int, fresh: int) -> float:
    """Compare by what was known when a candidate had so many fresh evaluations, not by later ones.

    A round that is over is then decided for good, whatever comes after.
    """
    earlier = confirmation.counts[candidate]
    count = earlier + fresh
    total = confirmation.means[candidate] * earlier + sum(confirmation.fresh[candidate][:fresh])
    return total / count - math.sqrt(confirmation.noise / count)


def confirmed(optimizer: Optimizer, confirmation: Confirmation) -> Recommendation | None:
    """Give the winner with its fresh mean and interval, or None before there is one."""
    alive, missing = still_missing(confirmation)
    if missing:
        return None
    fresh = np.array(confirmation.fresh[alive[0]])
    genome = np.array(confirmation.candidates[alive[0]], dtype=np.int64)
    genome.setflags(write=False)
    mean = float(fresh.mean())
    variance, freedom = optimizer.noise()
    squares = float(((fresh - mean) ** 2).sum())
    level = 0.975 if len(alive) == 1 else 0.9875
    low, high = interval_of(mean, len(fresh), squares, variance, freedom, level)
    return Recommendation(
        config=optimizer.space.decode(genome),
        genome=genome,
        mean=mean,
        low=low,
        high=high,
        evaluations=len(fresh),
        basis="samples",
    )
