"""Bandit-based Random Mutation Hill-Climbing, the paper's Algorithms 1 and 2."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any, Literal

import numpy as np

from hillbandit.optimizers.attempts import Moves
from hillbandit.optimizers.climber import Climber
from hillbandit.optimizers.sparing import Duplicates
from hillbandit.optimizers.urgency import GeneBandits, K, PrintedBandits
from hillbandit.space import Config, Genome, Space, is_number


class BanditRMHC(Climber):
    """Bandit-based Random Mutation Hill-Climbing: the gene of the greatest urgency is mutated next.

    Example:
        >>> import hillbandit as hb
        >>> problem = hb.problems.OneMax(20)
        >>> optimizer = hb.BanditRMHC(problem.space, seed=1)
        >>> while optimizer.evaluations < 21:
        ...     trial = optimizer.ask()
        ...     optimizer.tell(trial, problem(trial.config))
        >>> optimizer.recommend().mean
        20.0

    Args:
        space: What is searched.
        noisy: Whether evaluations are noisy: Algorithm 2 in place of Algorithm 1.
        resamples: r, the evaluations of either genome in one comparison under noise; 2 when None.
            Given alone, it implies `noisy=True`.
        k: The weight of exploration, 1/2 when None.
        urgency: "published", the reading of the paper that reproduces its results, or "printed",
            its equation 5 to the letter. The printed one does not reproduce them: it solves
            neither Royal Road nor noisy OneMax. In it an untried value is infinitely urgent: as
            long as the gene was never mutated to the value that it has, its urgency is infinite.
        scale: The size of a fitness difference that matters, in units of fitness: 1 as published.
            "auto" learns it: the mean size of the differences seen so far, zeros left out, so that
            the unit of fitness makes no difference.
        start: The configuration to begin from; random when None, or the best of those told in
            advance by `observe`. Evaluations of its neighbours told in advance are credited.
        restart_after: Restart at random after this many comparisons in a row without a gain, and,
            noise-free, as soon as every neighbour is worse. The bandits then forget.
        duplicates: "reevaluate" a child that was evaluated before, as published, "reuse" its value
            (noise-free only), or "avoid" it.
        seed: Fixes the run.

    Raises:
        TypeError: If `resamples` or `restart_after` is not an integer.
        ValueError: If one of them is below 1, `resamples` comes with `noisy=False`, `k` is negative
            or comes with the printed urgency, which has none, `scale` is not positive, or `start`
            is not a valid configuration.
    """

    name = "bandit_rmhc"

    def __init__(
        self,
        space: Space,
        *,
        noisy: bool | None = None,
        resamples: int | None = None,
        k: float | None = None,
        urgency: Literal["published", "printed"] = "published",
        scale: float | Literal["auto"] = 1.0,
        start: Config | None = None,
        restart_after: int | None = None,
        duplicates: Duplicates = "reevaluate",
        seed: int | None = None,
    ) -> None:
        super().__init__(
            space,
            noisy=noisy,
            resamples=resamples,
            start=start,
            restart_after=restart_after,
            duplicates=duplicates,
            seed=seed,
        )
        if urgency not in ("published", "printed"):
            raise ValueError(f'urgency is "published" or "printed", not {urgency!r}.')
        if urgency == "printed" and k is not None:
            raise ValueError("k= is for the published urgency; the printed one has none.")
        self.k = K if k is None else _finite("k", k)
        if self.k < 0:
            raise ValueError(f"k must not be negative; it is {k}.")
        self.urgency = urgency
        automatic = isinstance(scale, str) and scale == "auto"
        self.scale: float | Literal["auto"] = "auto" if automatic else _finite("scale", scale)
        if self.scale != "auto" and self.scale <= 0:
            raise ValueError(f"scale must be positive; it is {scale}.")
        self._size_total = 0.0
        self._size_count = 0
        self._reset()

    def _reset(self) -> None:
        if self.urgency == "printed":
            self._bandits: GeneBandits = PrintedBandits(self.space)
        else:
            self._bandits = GeneBandits(self.space, self.k)

    def _climb_state(self) -> tuple[int, float, Genome]:
        """Give T, the scale and the genome climbed from: what the urgencies depend on.

        Each climb of a multi-start run is a run of its own, so T counts from its beginning.
        """
        scale = self.scale
        if scale == "auto":
            scale = self._size_total / self._size_count if self._size_count else 1.0
        return self.evaluations + self.reused - self._climb_began, scale, self._incumbent.genome

    def _choose(self) -> Moves:
        evaluations, scale, genome = self._climb_state()
        busy = self._busy() if self._attempts else ()
        gene = self._bandits.most_urgent(evaluations, scale, genome, busy, self._rng)
        current = int(genome[gene])
        if self._sizes[gene] == 2:
            return {gene: 1 - current}
        return {gene: next(self._bandits.next_values(gene, current, scale, self._rng))}

    def _genes(self) -> Iterator[int]:
        busy = self._busy()
        order = self._bandits.by_urgency(*self._climb_state(), self._rng)
        yield from sorted(order, key=busy.__contains__)

    def _values(self, gene: int) -> Iterable[int]:
        _, scale, genome = self._climb_state()
        return self._bandits.next_values(gene, int(genome[gene]), scale, self._rng)

    def _credit(self, gene: int, old: int, new: int, difference: float) -> None:
        if difference:
            self._size_total += abs(difference)
            self._size_count += 1
        self._bandits.credit(gene, old, new, difference)

    def _urgency_terms(self) -> tuple[list[float], list[float]]:
        """Give rescue and explore for each gene, in multiples of the scale."""
        evaluations, scale, genome = self._climb_state()
        urgency = self._bandits.urgencies(evaluations, scale, genome)
        rescue = self._bandits.rescue
        with np.errstate(invalid="ignore"):
            explore = np.where(np.isinf(rescue), 0.0, urgency - rescue)
        return (rescue / scale).tolist(), (explore / scale).tolist()

    def _options(self) -> dict[str, Any]:
        return {
            **super()._options(),
            "k": None if self.urgency == "printed" else self.k,
            "urgency": self.urgency,
            "scale": self.scale,
        }

    def _state(self) -> dict[str, Any]:
        return {
            **super()._state(),
            "bandits": self._bandits.state(),
            "size_total": self._size_total,
            "size_count": self._size_count,
        }

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        self._bandits.restore(state["bandits"])
        self._size_total = state["size_total"]
        self._size_count = state["size_count"]


def _finite(what: str, value: Any) -> float:
    if not is_number(value):
        raise TypeError(f"{what} must be a number, not {value!r}.")
    if not math.isfinite(value):
        raise ValueError(f"{what} must be finite; it is {value}.")
    return float(value)
