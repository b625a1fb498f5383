"""The (1+1)-EA: every gene mutates with probability 1/n."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hillbandit.optimizers.base import Exhausted
from hillbandit.optimizers.climber import Climber, Moves, mutated

TRIES = 10_000
"""How many mutations are drawn before a `valid` predicate counts as refusing them all."""


class OnePlusOneEA(Climber):
    """The (1+1)-EA: every gene mutates with probability 1/n, to a uniformly random other value.

    A draw that changes nothing is drawn again, since its evaluation would be wasted. Under noise
    comparisons are those of Algorithm 2 of the paper.

    Example:
        >>> import hillbandit as hb
        >>> problem = hb.problems.OneMax(20)
        >>> optimizer = hb.OnePlusOneEA(problem.space, seed=1)
        >>> while optimizer.evaluations < 400:
        ...     trial = optimizer.ask()
        ...     optimizer.tell(trial, problem(trial.config))
        >>> optimizer.recommend().mean
        20.0

    Args:
        space: What is searched.
        noisy: Whether evaluations are noisy.
        resamples: r, the evaluations of either genome in one comparison under noise; 2 when None.
        start: The configuration to begin from; random when None.
        restart_after: Restart at random after this many comparisons in a row without a gain.
        seed: Fixes the run.

    Raises:
        TypeError: If `resamples` or `restart_after` is not an integer.
        ValueError: If one of them is below 1, `resamples` comes with `noisy=False`, or `start` is
            not a valid configuration.
    """

    name = "one_plus_one"

    def _genes(self) -> Iterator[int]:
        yield from self._mutable

    def _mutate(self) -> Moves:
        if not self._mutable:
            return super()._mutate()  # which says why that is impossible
        rate = 1.0 / len(self._mutable)
        base = self._incumbent.genome
        for _ in range(TRIES):
            chosen = (self._rng.random(len(self._mutable)) < rate).nonzero()[0]
            if not len(chosen):
                continue
            genes = np.asarray(self._mutable)[chosen].tolist()
            moves = {gene: next(iter(self._values(gene))) for gene in genes}
            if self.space.is_valid(mutated(base, moves)):
                return moves
        raise Exhausted(f"no valid mutation: {TRIES:,} in a row were refused by `valid`")
