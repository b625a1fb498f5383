"""The (1+1)-EA: every gene mutates with probability 1/n."""

from __future__ import annotations

from collections.abc import Iterator

from hillbandit.optimizers.attempts import Moves, mutated
from hillbandit.optimizers.climber import Climber

TRIES = 1_000
"""How many refused mutations are drawn before a change of one gene is looked for."""


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
        duplicates: "reevaluate" a child that was evaluated before, as published, "reuse" its value
            (noise-free only), or "avoid" it.
        seed: Fixes the run.

    Raises:
        TypeError: If `resamples` or `restart_after` is not an integer.
        ValueError: If one of them is below 1, `resamples` comes with `noisy=False`, or `start` is
            not a valid configuration.
    """

    name = "one_plus_one"

    def _choose(self) -> Moves:
        rate = 1.0 / len(self._mutable)
        while True:
            chosen = (self._rng.random(len(self._mutable)) < rate).nonzero()[0].tolist()
            if chosen:
                genes = [self._mutable[i] for i in chosen]
                return {gene: next(iter(self._values(gene))) for gene in genes}

    def _genes(self) -> Iterator[int]:
        yield from self._rng.permutation(self._mutable).tolist()

    def _mutate(self, new: bool = False) -> Moves:
        for _ in range(TRIES if self._mutable else 0):
            moves = self._choose()
            if self._allowed(moves) and not (
                new and self._known(mutated(self._incumbent.genome, moves))
            ):
                return moves
        return super()._mutate(new)
