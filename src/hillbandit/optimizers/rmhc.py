"""Random Mutation Hill-Climbing, the paper's baseline."""

from __future__ import annotations

from collections.abc import Iterator

from hillbandit.optimizers.attempts import Moves
from hillbandit.optimizers.climber import Climber


class RMHC(Climber):
    """Random Mutation Hill-Climbing: a uniformly random gene is mutated next.

    The child is kept when it is no worse. Under noise both genomes are evaluated `resamples` times
    for each comparison, and the mean of the genome climbed from is kept up over comparisons
    (Algorithm 2 of the paper with a random gene).

    Example:
        >>> import hillbandit as hb
        >>> problem = hb.problems.OneMax(20)
        >>> optimizer = hb.RMHC(problem.space, seed=1)
        >>> while optimizer.evaluations < 200:
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

    name = "rmhc"

    def _choose(self) -> Moves:
        genes = self._mutable
        if self._attempts:
            busy = self._busy()
            genes = [gene for gene in genes if gene not in busy] or genes
        gene = genes[int(self._rng.random() * len(genes))]
        return {gene: next(iter(self._values(gene)))}

    def _genes(self) -> Iterator[int]:
        busy = self._busy()
        order = self._rng.permutation(self._mutable).tolist()
        yield from sorted(order, key=busy.__contains__)
