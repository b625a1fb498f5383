"""The loop that the hill-climbers share: the paper's Algorithms 1 and 2, less the choice of gene.

J. Liu, D. Pérez-Liébana, S. M. Lucas: Bandit-Based Random Mutation Hill-Climbing. CEC 2017.

A climber compares a *child* with the genome climbed from, its *base*. One such comparison is an
`_Attempt`. Sequentially there is one attempt at a time, and the loop is the paper's. With more
trials open than one attempt needs, there are several:

- A further attempt changes the most urgent gene that no open attempt changes already (once every
  gene is being tried, the round starts again).
- An attempt whose base has been replaced meanwhile is still evidence: it is credited with the
  difference from its own base. If it was no loss there, its change is a *gain* to be combined with
  the new genome.
- Gains are combined: the next attempt carries all of them at once into the genome climbed from, and
  is kept or dropped like any child. One such union is open at a time, so that further gains
  gather for the next. Only changes of one gene are credited to a bandit.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from hillbandit.optimizers.base import Exhausted, Optimizer, Ticket
from hillbandit.space import Config, Genome, Space
from hillbandit.trial import GeneReport

DEFAULT_RESAMPLES = 2
"""The paper's best number of resamples under noise."""

Moves = dict[int, int]
"""A mutation: the new value index of each gene that changes."""

# what the evaluation of a ticket is for: (START, base), (BASE, attempt) or (CHILD, attempt)
START, BASE, CHILD = 0, 1, 2


@dataclass(slots=True)
class _Base:
    """A genome climbed from, now or earlier, with the evaluations that the algorithm has of it."""

    identity: int
    genome: Genome
    total: float = 0.0
    count: int = 0


@dataclass(slots=True)
class _Attempt:
    """A child being compared with its base."""

    identity: int
    base: _Base
    moves: Moves
    genome: Genome
    missing: int
    """Evaluations still to be told, of the child and of the base for its sake."""
    union: bool
    total: float = 0.0
    count: int = 0


class Climber(Optimizer):
    """Random mutation hill-climbing with the choice of the mutation left to a subclass.

    A subclass defines `_genes`, the order in which genes are considered for mutation, and may
    define `_values`, `_credit`, `_settle`, `_reset` and `_urgency_terms`.

    Args:
        space: What is searched.
        noisy: Whether evaluations are noisy: Algorithm 2 in place of Algorithm 1.
        resamples: r, how often child and base are evaluated in one comparison under noise; 2 when
            None. Given alone, it implies `noisy=True`.
        start: The configuration to begin from; random when None, or the best of those told in
            advance by `observe`.
        restart_after: Restart from a random configuration after this many comparisons in a row
            without a gain, and, noise-free, as soon as every neighbour has turned out worse. The
            recommendation is the best of all climbs. None never restarts.
        seed: Fixes the run.

    Raises:
        TypeError: If `resamples` or `restart_after` is not an integer.
        ValueError: If one of them is below 1, `resamples` comes with `noisy=False`, or `start` is
            not a valid configuration.
    """

    def __init__(
        self,
        space: Space,
        *,
        noisy: bool | None = None,
        resamples: int | None = None,
        start: Config | None = None,
        restart_after: int | None = None,
        seed: int | None = None,
    ) -> None:
        if noisy is not None and not isinstance(noisy, bool | np.bool_):
            raise TypeError(f"noisy must be True or False, not {noisy!r}.")
        if resamples is not None:
            _require_positive("resamples", resamples)
            if noisy is not None and not noisy:
                raise ValueError(
                    "resamples= is for noisy evaluations: leave it out, or say noisy=True."
                )
            noisy = True
        if restart_after is not None:
            _require_positive("restart_after", restart_after)
        super().__init__(space, noisy=bool(noisy), seed=seed)
        self.resamples = resamples or DEFAULT_RESAMPLES if self.noisy else 1
        self.restart_after = restart_after
        self._start = None if start is None else space.encode(start)
        if self._start is not None and not space.is_valid(self._start):
            raise ValueError(f"The start {start!r} is not valid: `valid` refuses it.")
        self._mutable: list[int] = np.flatnonzero(space.sizes > 1).tolist()
        self._sizes: list[int] = space.sizes.tolist()
        self._neighbours = sum(size - 1 for size in self._sizes)
        self._mutations = [0] * len(space)
        self._identities = 0
        self._queue: deque[Ticket] = deque()
        """Evaluations of the open attempts that have not been asked for yet."""
        self._attempts: dict[int, _Attempt] = {}
        self._busy: dict[int, int] = {}
        """Genes that open attempts change, with the number of these attempts."""
        self._gains: Moves = {}
        self._climb_began = 0
        self._stalled = 0
        """Attempts since the last one that was better than the genome climbed from."""
        self._tried: set[tuple[int, int]] = set()
        """Its moves that lead nowhere: evaluated and worse (noise-free only), or invalid."""
        genome = space.sample(self._rng) if self._start is None else self._start
        self._incumbent = self._new_base(genome)
        self._starting: dict[int, _Base] = {}
        """Bases whose first evaluation has been asked for."""

    # --- what a subclass defines --------------------------------------------------------------

    @abstractmethod
    def _genes(self) -> Iterator[int]:
        """Yield the genes to mutate, the first choice first; the others only if it is refused."""

    def _values(self, gene: int) -> Iterable[int]:
        """Order the values that a gene may change to: at random, each as likely."""
        current = int(self._incumbent.genome[gene])
        others = [value for value in range(self._sizes[gene]) if value != current]
        while len(others) > 1:
            yield others.pop(int(self._rng.random() * len(others)))
        yield others[0]

    def _mutate(self) -> Moves:
        """Choose a mutation of the genome climbed from that is valid."""
        base = self._incumbent.genome
        for gene in self._genes():
            for value in self._values(gene):
                if self.space.valid is None:
                    return {gene: value}
                child = base.copy()
                child[gene] = value
                if self.space.is_valid(child):
                    return {gene: value}
                self._tried.add((gene, value))
        raise Exhausted(
            "no valid neighbour: every change of one gene is refused by `valid`"
            if self._mutable
            else "a single configuration: no gene has more than one value"
        )

    def _credit(self, gene: int, old: int, new: int, difference: float) -> None:
        """Take in the difference that one mutation of one gene made."""

    def _settle(self, genes: Iterable[int]) -> None:
        """Take note that the values of these genes in the genome climbed from may have changed."""

    def _reset(self) -> None:
        """Forget everything learned: a new climb begins."""

    def _urgency_terms(self) -> tuple[list[float], list[float]]:
        """Give rescue and explore for each gene; without bandits all genes are equally urgent."""
        zeros = [0.0] * len(self.space)
        return zeros, zeros

    # --- the contract ---------------------------------------------------------------------------

    @property
    def current(self) -> Genome:
        """The genome climbed from: the start, or the last child adopted."""
        return self._incumbent.genome.copy()

    def explain(self) -> list[GeneReport]:
        """Report on every gene: its current value, the terms of its urgency, its mutations.

        Example:
            >>> import hillbandit as hb
            >>> hb.BanditRMHC(hb.Space.binary(3), seed=1).explain()[0].mutations
            0
        """
        rescue, explore = self._urgency_terms()
        return [
            GeneReport(
                gene=self.space.label(i),
                value=self.space.value(i, value),
                rescue=rescue[i],
                explore=explore[i],
                urgency=rescue[i] + explore[i],
                mutations=self._mutations[i],
            )
            for i, value in enumerate(self._incumbent.genome.tolist())
        ]

    # --- asking -----------------------------------------------------------------------------------

    def _propose(self) -> tuple[Genome, Ticket]:
        if not self._queue:
            self._plan()
        ticket = self._queue.popleft()
        kind, identity = ticket
        if kind == CHILD:
            return self._attempts[identity].genome, ticket
        if kind == BASE:
            return self._attempts[identity].base.genome, ticket
        return self._starting[identity].genome, ticket

    def _plan(self) -> None:
        """Queue the evaluations that come next: of a start, or of a new attempt."""
        base = self._incumbent
        if self._next_number == 0:
            self._begin()
            base = self._incumbent
        if base.count == 0 and base.identity not in self._starting:
            self._starting[base.identity] = base
            self._queue.append((START, base.identity))
            return
        union = bool(self._gains) and not any(a.union for a in self._attempts.values())
        moves = self._union() if union else {}
        if not moves:
            union = False
            try:
                moves = self._mutate()
            except Exhausted:
                if not self._without_neighbours():
                    raise
                return self._plan()
        self._new_attempt(moves, union)
        return None

    def _without_neighbours(self) -> bool:
        """Find something to do although nothing can be mutated; tell whether there is anything."""
        if self.noisy and self.space.size == 1:
            # more evaluations of the only configuration still say more of its value
            base = self._incumbent
            self._starting[base.identity] = base
            self._queue.append((START, base.identity))
        elif self.restart_after is not None and self._mutable and self._incumbent.count:
            self._restart()
        else:
            return False
        return True

    def _union(self) -> Moves:
        """Combine the gains of attempts whose base was replaced before they came back."""
        genome = self._incumbent.genome
        moves = {gene: value for gene, value in self._gains.items() if genome[gene] != value}
        self._gains = {}
        if moves and not self.space.is_valid(mutated(genome, moves)):
            return {}
        return moves

    def _new_attempt(self, moves: Moves, union: bool) -> None:
        self._identities += 1
        identity = self._identities
        r = self.resamples
        base = self._incumbent
        self._attempts[identity] = _Attempt(
            identity,
            base,
            moves,
            mutated(base.genome, moves),
            missing=2 * r if self.noisy else 1,
            union=union,
        )
        for gene in moves:
            self._busy[gene] = self._busy.get(gene, 0) + 1
        if self.noisy:
            self._queue.extend([(BASE, identity)] * r)
            self._queue.extend([(CHILD, identity)] * r)
        else:
            self._queue.append((CHILD, identity))

    # --- telling ----------------------------------------------------------------------------------

    def _learn(self, ticket: Ticket, value: float) -> None:
        kind, identity = ticket
        if kind == START:
            base = self._starting.pop(identity, None)
            if base is not None:
                base.total += value
                base.count += 1
                for attempt in [a for a in self._attempts.values() if a.base is base]:
                    self._resolve_if_complete(attempt)
            return
        attempt = self._attempts.get(identity)
        if attempt is None:
            return  # dropped meanwhile; the archive has the value
        if kind == CHILD:
            attempt.total += value
            attempt.count += 1
        else:
            attempt.base.total += value
            attempt.base.count += 1
        attempt.missing -= 1
        self._resolve_if_complete(attempt)

    def _resolve_if_complete(self, attempt: _Attempt) -> None:
        base = attempt.base
        if attempt.missing or not base.count:
            return
        self._remove(attempt)
        # the difference of the two means, in the form that is exact for integer values
        difference = (attempt.total * base.count - base.total * attempt.count) / (
            attempt.count * base.count
        )
        for gene in attempt.moves:
            self._mutations[gene] += 1
        if len(attempt.moves) == 1:
            ((gene, new),) = attempt.moves.items()
            self._credit(gene, int(base.genome[gene]), new, difference)
        if base is self._incumbent:
            self._decide(attempt, difference)
        elif difference >= 0:
            self._gains.update(attempt.moves)
        self._settle(attempt.moves)
        self._restart_if_stuck()

    def _decide(self, attempt: _Attempt, difference: float) -> None:
        """Keep the child when it is no worse than its base."""
        if difference >= 0:
            self._incumbent = self._new_base(attempt.genome)
            self._incumbent.total, self._incumbent.count = attempt.total, attempt.count
            self._tried.clear()
        elif not self.noisy and len(attempt.moves) == 1:
            self._tried.update(attempt.moves.items())
        self._stalled = 0 if difference > 0 else self._stalled + 1

    def _restart_if_stuck(self) -> None:
        if self.restart_after is None:
            return
        if self._stalled >= self.restart_after or len(self._tried) >= self._neighbours:
            self._restart()

    def _restart(self) -> None:
        self._climb_began = self.evaluations
        self._incumbent = self._new_base(self.space.sample(self._rng))
        # what is still open belongs to the climb before: its values go to the archive alone
        for waiting in (self._attempts, self._busy, self._queue, self._starting, self._tried):
            waiting.clear()
        self._gains = {}
        self._stalled = 0
        self._reset()

    def _drop(self, ticket: Ticket) -> None:
        kind, identity = ticket
        if kind == START:
            base = self._starting.pop(identity, None)
            if base is self._incumbent and base is not None:
                # a start that cannot be evaluated is no start
                self._restart()
            return
        attempt = self._attempts.get(identity)
        if attempt is not None:
            self._remove(attempt)
            self._queue = deque(t for t in self._queue if t[0] == START or t[1] != identity)

    def _remove(self, attempt: _Attempt) -> None:
        del self._attempts[attempt.identity]
        for gene in attempt.moves:
            self._busy[gene] -= 1
            if not self._busy[gene]:
                del self._busy[gene]

    # --- the start --------------------------------------------------------------------------------

    def _new_base(self, genome: Genome) -> _Base:
        self._identities += 1
        return _Base(self._identities, genome)

    def _begin(self) -> None:
        """Use what was told in advance: the start's own evaluations, and those of its neighbours."""
        archive = self._archive
        if not len(archive):
            return
        if self._start is None:
            leader = archive.genome_at(archive.leader(self.noisy))
            if self.space.is_valid(leader):
                self._incumbent = self._new_base(leader)
        base = self._incumbent
        row = archive.row(archive.key(base.genome))
        if row is None:
            return
        base.count = archive.counts[row]
        base.total = archive.means[row] * base.count
        for genome, other in archive.items():
            changed = np.flatnonzero(genome != base.genome)
            if len(changed) == 1:
                gene = int(changed[0])
                self._credit(
                    gene,
                    int(base.genome[gene]),
                    int(genome[gene]),
                    archive.means[other] - archive.means[row],
                )
                self._settle((gene,))

    # --- state ------------------------------------------------------------------------------------

    def _options(self) -> dict[str, Any]:
        return {
            "noisy": self.noisy,
            "resamples": self.resamples if self.noisy else None,
            "start": None if self._start is None else self._start.tolist(),
            "restart_after": self.restart_after,
        }

    @classmethod
    def _revived(cls, space: Space, seed: int, options: dict[str, Any]) -> Self:
        start = options["start"]
        return super()._revived(
            space, seed, {**options, "start": None if start is None else space.decode(start)}
        )

    def _state(self) -> dict[str, Any]:
        bases = {a.base.identity: a.base for a in self._attempts.values()}
        bases |= self._starting | {self._incumbent.identity: self._incumbent}
        return {
            "identities": self._identities,
            "climb_began": self._climb_began,
            "bases": [[b.identity, b.genome.tolist(), b.total, b.count] for b in bases.values()],
            "incumbent": self._incumbent.identity,
            "starting": list(self._starting),
            "attempts": [
                [
                    a.identity,
                    a.base.identity,
                    sorted(a.moves.items()),
                    a.missing,
                    a.union,
                    a.total,
                    a.count,
                ]
                for a in self._attempts.values()
            ],
            "queue": [list(ticket) for ticket in self._queue],
            "gains": sorted(self._gains.items()),
            "stalled": self._stalled,
            "tried": sorted(self._tried),
            "mutations": list(self._mutations),
        }

    def _restore(self, state: dict[str, Any]) -> None:
        self._identities = state["identities"]
        self._climb_began = state["climb_began"]
        bases = {
            identity: _Base(identity, np.array(genome, dtype=np.int64), total, count)
            for identity, genome, total, count in state["bases"]
        }
        self._incumbent = bases[state["incumbent"]]
        self._starting = {identity: bases[identity] for identity in state["starting"]}
        self._attempts = {}
        self._busy = {}
        for identity, base_identity, moves, missing, union, total, count in state["attempts"]:
            base, changes = bases[base_identity], {gene: value for gene, value in moves}
            genome = mutated(base.genome, changes)
            self._attempts[identity] = _Attempt(
                identity, base, changes, genome, missing, union, total, count
            )
            for gene in changes:
                self._busy[gene] = self._busy.get(gene, 0) + 1
        self._queue = deque(tuple(ticket) for ticket in state["queue"])
        self._gains = {gene: value for gene, value in state["gains"]}
        self._stalled = state["stalled"]
        self._tried = {(gene, value) for gene, value in state["tried"]}
        self._mutations = list(state["mutations"])


def mutated(genome: Genome, moves: Moves) -> Genome:
    """Copy a genome and make the moves in the copy."""
    child = genome.copy()
    for gene, value in moves.items():
        child[gene] = value
    return child


def _require_positive(what: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{what} must be an integer, not {value!r}.")
    if value < 1:
        raise ValueError(f"{what} must be at least 1, not {value}.")
