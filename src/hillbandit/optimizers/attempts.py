"""What a climber has under way: comparisons of children with their bases.

`Attempt` is one comparison; `Siblings` holds what comes of attempts whose base was replaced, or has
to wait, when several are open at once. The rules are told in `climber`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hillbandit.space import Genome

Moves = dict[int, int]
"""A mutation: the new value index of each gene that changes."""

# what the evaluation of a ticket is for: (START, base), (BASE, attempt) or (CHILD, attempt)
START, BASE, CHILD = 0, 1, 2


@dataclass(slots=True)
class Base:
    """A genome climbed from, now or earlier, with the evaluations that the algorithm has of it."""

    identity: int
    genome: Genome
    total: float = 0.0
    count: int = 0


@dataclass(slots=True)
class Attempt:
    """A child being compared with its base."""

    identity: int
    base: Base
    moves: Moves
    genome: Genome
    missing: int
    """Evaluations still to be told, of the child and of the base for its sake."""
    union: bool
    gainful: bool
    """Whether it unites gains; otherwise it unites moves that made no difference, or is none."""
    total: float = 0.0
    count: int = 0


@dataclass(slots=True)
class Siblings:
    """Children that could be kept, to be combined with the genome that is climbed from by now."""

    gains: Moves = field(default_factory=dict)
    """Moves that were better than a base that has been replaced."""
    drifts: Moves = field(default_factory=dict)
    """Moves that made no difference to a base that has been replaced."""
    waiting: list[tuple[Attempt, float]] = field(default_factory=list)
    """Children of the present base, with their differences, that wait for an open union."""

    def keep(self, moves: Moves, difference: float) -> None:
        """Keep moves for the next union, unless they were a loss."""
        if difference > 0:
            self.gains.update(moves)
        elif difference == 0:
            self.drifts.update(moves)

    def union(self, genome: Genome, rng: np.random.Generator) -> Moves:
        """Take the moves to combine next: all gains, or where there are none, half of the drifts.

        Half, drawn at random, because a plateau would be walked in circles with all of them.
        """
        united = self.gains or {
            gene: value for gene, value in self.drifts.items() if rng.random() < 0.5
        }
        self.gains, self.drifts = {}, {}
        return {gene: value for gene, value in united.items() if genome[gene] != value}

    def released(self) -> list[tuple[Attempt, float]]:
        """Take the children that waited, the best first; the first that came of equals."""
        waiting, self.waiting = self.waiting, []
        return sorted(waiting, key=lambda pair: pair[1], reverse=True)

    def state(self) -> dict[str, Any]:
        """Write everything in plain JSON types."""
        return {
            "gains": list(self.gains.items()),
            "drifts": list(self.drifts.items()),
            "waiting": [[plain(attempt), difference] for attempt, difference in self.waiting],
        }

    @classmethod
    def restored(cls, bases: dict[int, Base], state: dict[str, Any]) -> Siblings:
        """Read what `state` wrote."""
        waiting = [(restored(bases, attempt), d) for attempt, d in state["waiting"]]
        return cls(dict(state["gains"]), dict(state["drifts"]), waiting)


def mutated(genome: Genome, moves: Moves) -> Genome:
    """Copy a genome and make the moves in the copy."""
    child = genome.copy()
    for gene, value in moves.items():
        child[gene] = value
    return child


def plain(attempt: Attempt) -> list[Any]:
    """Write an attempt in plain JSON types."""
    moves = list(attempt.moves.items())
    counts = [attempt.missing, attempt.union, attempt.gainful, attempt.total, attempt.count]
    return [attempt.identity, attempt.base.identity, moves, *counts]


def restored(bases: dict[int, Base], plain: list[Any]) -> Attempt:
    """Read what `plain` wrote."""
    identity, base_identity, moves, *counts = plain
    base, changes = bases[base_identity], dict(moves)
    return Attempt(identity, base, changes, mutated(base.genome, changes), *counts)
