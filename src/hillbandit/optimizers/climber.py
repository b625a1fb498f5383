"""The loop that the hill-climbers share: the paper's Algorithms 1 and 2, less the choice of gene.

J. Liu, D. Pérez-Liébana, S. M. Lucas: Bandit-Based Random Mutation Hill-Climbing. CEC 2017.

A climber compares a *child* with the genome climbed from, its *base*. One such comparison is an
`Attempt`. Sequentially there is one attempt at a time, and the loop is the paper's. With more
trials open than one attempt needs, there are several:

- A further attempt changes the most urgent gene that no open attempt changes already (once every
  gene is being tried, the round starts again).
- An attempt whose base has been replaced meanwhile is still evidence: it is credited with the
  difference from its own base. If it was better than that, its change is a *gain* to be combined
  with the new genome; if there was no difference, it is a *drift*.
- Gains are combined: the next attempt, a *union*, carries all of them at once into the genome
  climbed from, and is kept or dropped like any child. Where there are no gains, it carries half of
  the drifts, drawn at random. One union is open at a time, so that more gather for the next. Until
  it comes back, a child that could be kept waits (a gain does not wait for drifts); if the union is
  kept, it is combined in its turn, and if not, the best of those that wait is kept.
- Only changes of one gene are credited to a bandit.
- Under noise, an attempt of which no child has been asked for when its base is replaced is given
  up: the same evaluations say more about a child of the new genome.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from hillbandit.optimizers.attempts import (
    BASE,
    CHILD,
    START,
    Attempt,
    Base,
    Moves,
    Siblings,
    mutated,
    plain,
    restored,
)
from hillbandit.optimizers.base import Exhausted, Ticket
from hillbandit.optimizers.sparing import Duplicates, Sparing
from hillbandit.space import Config, Genome, Space
from hillbandit.trial import GeneReport

DEFAULT_RESAMPLES = 2
"""The paper's best number of resamples under noise."""


class Climber(Sparing):
    """Random mutation hill-climbing with the choice of the mutation left to a subclass.

    A subclass defines `_choose`, the mutation that it wants next, and `_genes`, the order of the
    genes for when that one may not be evaluated. It may define `_values`, `_credit`, `_reset` and
    `_urgency_terms`.

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
        duplicates: What to do with a child that has been evaluated before. "reevaluate" it, as
            published. "reuse" its value (noise-free only): the run is the same run, and only the
            evaluation is spared; after as many reuses in a row as there are neighbours, a new one
            is looked for. Or "avoid" it: its turn passes to the next most urgent gene. Where
            every neighbour is known, "reuse" and "avoid" restart or end the climb.
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
        duplicates: Duplicates = "reevaluate",
        seed: int | None = None,
    ) -> None:
        if resamples is not None:
            _require_positive("resamples", resamples)
            if noisy is not None and not noisy:
                raise ValueError(
                    "resamples= is for noisy evaluations: leave it out, or say noisy=True."
                )
            noisy = True if noisy is None else noisy
        if restart_after is not None:
            _require_positive("restart_after", restart_after)
        super().__init__(
            space,
            noisy=False if noisy is None else noisy,
            start=start,
            duplicates=duplicates,
            seed=seed,
        )
        # a NumPy integer would not go into JSON
        self.resamples = int(resamples or DEFAULT_RESAMPLES) if self.noisy else 1
        self.restart_after = None if restart_after is None else int(restart_after)
        self._mutable: list[int] = np.flatnonzero(space.sizes > 1).tolist()
        self._sizes: list[int] = space.sizes.tolist()
        self._neighbours = sum(size - 1 for size in self._sizes)
        self._mutations = [0] * len(space)
        self._identities = 0
        self._queue: deque[Ticket] = deque()
        """Evaluations of the open attempts that have not been asked for yet."""
        self._attempts: dict[int, Attempt] = {}
        self._siblings = Siblings()
        self._climb_began = 0
        self._stalled = 0
        """Attempts since the last one that was better than the genome climbed from."""
        self._tried: set[tuple[int, int]] = set()
        """Its moves that lead nowhere: evaluated and worse (noise-free only), or invalid."""
        self._stuck = False
        """Whether the climb is over and the next evaluation is that of a new start."""
        genome = space.sample(self._rng) if self._start is None else self._start
        self._incumbent = self._new_base(genome)
        self._starting: dict[int, Base] = {}
        """Bases whose first evaluation has been asked for."""

    # --- what a subclass defines --------------------------------------------------------------

    @abstractmethod
    def _choose(self) -> Moves:
        """Choose the mutation to try first, valid or not."""

    @abstractmethod
    def _genes(self) -> Iterator[int]:
        """Order the genes that can be mutated, the one to be tried first in front."""

    def _values(self, gene: int) -> Iterable[int]:
        """Order the values that a gene may change to: at random, each as likely."""
        current = int(self._incumbent.genome[gene])
        others = [value for value in range(self._sizes[gene]) if value != current]
        while len(others) > 1:
            yield others.pop(int(self._rng.random() * len(others)))
        yield others[0]

    def _mutate(self, new: bool = False) -> Moves:
        """Choose a valid mutation; a gene without a valid move passes its turn to the next.

        Args:
            new: Whether it has to lead to a genome that has not been evaluated.
        """
        if not self._mutable:
            raise Exhausted("a single configuration: no gene has more than one value")
        first = self._choose()
        if self._allowed(first) and not new:
            return first
        base = self._incumbent.genome
        for gene in self._genes() if new else self._turns(first):
            for value in self._values(gene):
                child = mutated(base, {gene: value})
                if not self.space.is_valid(child):
                    self._tried.add((gene, value))
                elif not (self._known(child) if new else self._refused(child)):
                    return {gene: value}
        if len(self._tried) == self._neighbours and self.space.valid is not None:
            raise Exhausted("no valid neighbour: every change of one gene is refused by `valid`")
        raise Exhausted("every neighbour of the genome climbed from has been evaluated or failed")

    def _turns(self, refused: Moves) -> Iterator[int]:
        """Order the genes after a refused mutation: where values may be invalid, its own first."""
        if self.space.valid is None or len(refused) > 1:
            yield from self._genes()
            return
        (chosen,) = refused
        yield chosen
        yield from (gene for gene in self._genes() if gene != chosen)

    def _allowed(self, moves: Moves) -> bool:
        """Tell whether a mutation may be evaluated; mostly nothing stands against any."""
        alone = self.duplicates == "reevaluate" or (self.duplicates == "reuse" and not self._open)
        if self.space.valid is None and alone and not self._lost:
            return True
        child = mutated(self._incumbent.genome, moves)
        return self.space.is_valid(child) and not self._refused(child)

    def _known(self, genome: Genome) -> bool:
        """Tell whether a genome has been evaluated, was dropped, or is or will be on its way."""
        return super()._known(genome) or any(
            np.array_equal(genome, attempt.genome) for attempt in self._attempts.values()
        )

    def _busy(self) -> set[int]:
        """Find the genes that open attempts change."""
        return {gene for attempt in self._attempts.values() for gene in attempt.moves}

    def _credit(self, gene: int, old: int, new: int, difference: float) -> None:
        """Take in the difference that one mutation of one gene made."""

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

        `GeneReport` says in what unit the terms are.

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

    # --- asking ---------------------------------------------------------------------------------

    def _propose(self) -> tuple[Genome, Ticket]:
        if not self._queue:
            self._plan()
        ticket = kind, identity = self._queue.popleft()
        if kind == CHILD:
            return self._attempts[identity].genome, ticket
        if kind == BASE:
            return self._attempts[identity].base.genome, ticket
        return self._starting[identity].genome, ticket

    def _plan(self) -> None:
        """Queue the evaluations that come next: of a start, or of a new attempt."""
        if self._next_number == 0:
            self._begin()
        if self._stuck:
            self._restart()
        base = self._incumbent
        if base.count == 0 and base.identity not in self._starting:
            self._evaluate_start()
            return
        gainful = bool(self._siblings.gains)
        moves = self._union() if gainful or self._siblings.drifts else {}
        union = bool(moves)
        reuses = 0
        while True:
            if not union:
                try:
                    moves = self._mutate(new=reuses > self._neighbours)
                except Exhausted:
                    if not self._alternative():
                        raise
                    return
            self._new_attempt(moves, union, union and gainful)
            if self.duplicates != "reuse" or not self._reuse():
                return
            union = False
            reuses += 1
            if self._stuck:
                self._restart()
                self._evaluate_start()
                return

    def _reuse(self) -> bool:
        """Answer the newest attempt from memory, if its genome has been evaluated."""
        _, identity = self._queue[-1]
        attempt = self._attempts[identity]
        row = self._archive.row(self._archive.key(attempt.genome))
        if row is None:
            return False
        self._queue.pop()
        self.reused += 1
        self._learn((CHILD, identity), self._archive.means[row])
        return True

    def _evaluate_start(self) -> None:
        base = self._incumbent
        self._starting[base.identity] = base
        self._queue.append((START, base.identity))

    def _alternative(self) -> bool:
        """Queue something else to evaluate where nothing can be mutated, if there is anything."""
        if self.noisy and self.space.size == 1:
            # more evaluations of the only configuration still say more of its value
            self._evaluate_start()
            return True
        if self.restart_after is None or not self._mutable or self._attempts or self._starting:
            return False
        self._restart()
        self._evaluate_start()
        return True

    def _union(self) -> Moves:
        """Combine what came of attempts whose base was replaced before they came back."""
        if any(attempt.union for attempt in self._attempts.values()):
            return {}
        genome = self._incumbent.genome
        moves = self._siblings.union(genome, self._rng)
        child = mutated(genome, moves)
        return moves if self.space.is_valid(child) and not self._refused(child) else {}

    def _new_attempt(self, moves: Moves, union: bool, gainful: bool) -> None:
        identity = self._identities = self._identities + 1
        base = self._incumbent
        child = mutated(base.genome, moves)
        if self.noisy:
            r = self.resamples
            self._attempts[identity] = Attempt(identity, base, moves, child, 2 * r, union, gainful)
            self._queue.extend([(BASE, identity)] * r)
            self._queue.extend([(CHILD, identity)] * r)
        else:
            self._attempts[identity] = Attempt(identity, base, moves, child, 1, union, gainful)
            self._queue.append((CHILD, identity))

    # --- telling --------------------------------------------------------------------------------

    def _learn(self, ticket: Ticket, value: float) -> None:
        kind, identity = ticket
        if kind == START:
            self._learn_start(identity, value)
            return
        attempt = self._attempts.get(identity)
        if attempt is None:
            return  # dropped meanwhile, or of an earlier climb; the archive has the value
        base = attempt.base
        if kind == CHILD:
            attempt.total += value
            attempt.count += 1
        else:
            base.total += value
            base.count += 1
        attempt.missing -= 1
        if not attempt.missing and base.count:
            self._resolve(attempt)

    def _learn_start(self, identity: int, value: float) -> None:
        base = self._starting.pop(identity, None)
        if base is None:
            return
        base.total += value
        base.count += 1
        for attempt in list(self._attempts.values()):
            if attempt.base is base and not attempt.missing:
                self._resolve(attempt)

    def _resolve(self, attempt: Attempt) -> None:
        """Compare a child with its base, now that all its evaluations have been told."""
        del self._attempts[attempt.identity]
        base, moves = attempt.base, attempt.moves
        # the difference of the two means, in the form that is exact for integer values
        count, base_count = attempt.count, base.count
        difference = (attempt.total * base_count - base.total * count) / (count * base_count)
        for gene, new in moves.items():
            self._mutations[gene] += 1
            if len(moves) == 1:
                self._credit(gene, int(base.genome[gene]), new, difference)
        if base is not self._incumbent:
            self._siblings.keep(moves, difference)
        elif difference >= 0 and self._union_goes_first(difference):
            self._siblings.waiting.append((attempt, difference))
        else:
            self._decide(attempt, difference)
        if attempt.union:
            self._release()
        if self.restart_after is not None and (
            self._stalled >= self.restart_after or len(self._tried) >= self._neighbours
        ):
            self._stuck = True

    def _decide(self, attempt: Attempt, difference: float) -> None:
        """Keep the child when it is no worse than its base."""
        if difference >= 0:
            self._incumbent = self._new_base(attempt.genome)
            self._incumbent.total, self._incumbent.count = attempt.total, attempt.count
            self._tried.clear()
            if difference > 0:
                self._siblings.drifts = {}  # what made no difference before may make one now
            if self._attempts and self.noisy:
                self._give_up_unstarted()
        elif not self.noisy and len(attempt.moves) == 1:
            self._tried.update(attempt.moves.items())
        self._stalled = 0 if difference > 0 else self._stalled + 1

    def _union_goes_first(self, difference: float) -> bool:
        """Tell whether a child that could be kept has to wait for an open union.

        A gain is not kept waiting for a union of moves that make no difference.
        """
        base = self._incumbent
        return any(
            a.union and a.base is base and (difference == 0 or a.gainful)
            for a in self._attempts.values()
        )

    def _release(self) -> None:
        """Let the children that waited for a union go their way, now that it is decided."""
        for attempt, difference in self._siblings.released():
            if attempt.base is self._incumbent:
                self._decide(attempt, difference)
            else:
                self._siblings.keep(attempt.moves, difference)

    def _give_up_unstarted(self) -> None:
        """Give up the attempts of an earlier base of which no child has been asked for."""
        unasked = Counter(identity for kind, identity in self._queue if kind == CHILD)
        for identity, count in unasked.items():
            if count == self.resamples and self._attempts[identity].base is not self._incumbent:
                self._drop((BASE, identity))

    def _restart(self) -> None:
        self._incumbent = self._new_base(self._elsewhere())
        self._climb_began = self.evaluations + self.reused
        self._stuck = False
        # what is still open belongs to the climb before: its values go to the archive alone
        self._attempts.clear()
        self._queue.clear()
        self._starting.clear()
        self._tried.clear()
        self._siblings = Siblings()
        self._stalled = 0
        self._reset()

    def _drop(self, ticket: Ticket) -> None:
        kind, identity = ticket
        if kind == START:
            base = self._starting.pop(identity, None)
            if base is self._incumbent and not base.count:
                self._stuck = True  # a start that cannot be evaluated is no start
                self._lost.add(self._archive.key(base.genome))
        elif (attempt := self._attempts.pop(identity, None)) is not None:
            self._queue = deque(t for t in self._queue if t[0] == START or t[1] != identity)
            if kind == CHILD:
                self._lost.add(self._archive.key(attempt.genome))
            if attempt.union:
                self._release()

    # --- the start ------------------------------------------------------------------------------

    def _new_base(self, genome: Genome) -> Base:
        self._identities += 1
        return Base(self._identities, genome)

    def _begin(self) -> None:
        """Use what was told in advance: evaluations of the start and of its neighbours."""
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
                difference = archive.means[other] - archive.means[row]
                self._credit(gene, int(base.genome[gene]), int(genome[gene]), difference)

    # --- state ----------------------------------------------------------------------------------

    def _options(self) -> dict[str, Any]:
        return {
            **super()._options(),
            "resamples": self.resamples if self.noisy else None,
            "restart_after": self.restart_after,
        }

    def _state(self) -> dict[str, Any]:
        attempts = [*self._attempts.values(), *(a for a, _ in self._siblings.waiting)]
        bases = {a.base.identity: a.base for a in attempts}
        bases |= self._starting | {self._incumbent.identity: self._incumbent}
        return {
            **super()._state(),
            "identities": self._identities,
            "climb_began": self._climb_began,
            "bases": [[b.identity, b.genome.tolist(), b.total, b.count] for b in bases.values()],
            "incumbent": self._incumbent.identity,
            "starting": list(self._starting),
            "attempts": [plain(a) for a in self._attempts.values()],
            "queue": [list(ticket) for ticket in self._queue],
            "siblings": self._siblings.state(),
            "stalled": self._stalled,
            "stuck": self._stuck,
            "tried": sorted(self._tried),
            "mutations": list(self._mutations),
        }

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        self._identities = state["identities"]
        self._climb_began = state["climb_began"]
        bases = {
            identity: Base(identity, np.array(genome, dtype=np.int64), total, count)
            for identity, genome, total, count in state["bases"]
        }
        self._incumbent = bases[state["incumbent"]]
        self._starting = {identity: bases[identity] for identity in state["starting"]}
        self._attempts = {plain[0]: restored(bases, plain) for plain in state["attempts"]}
        self._queue = deque(tuple(ticket) for ticket in state["queue"])
        self._siblings = Siblings.restored(bases, state["siblings"])
        self._stalled = state["stalled"]
        self._stuck = state["stuck"]
        self._tried = {(gene, value) for gene, value in state["tried"]}
        self._mutations = list(state["mutations"])


def _require_positive(what: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{what} must be an integer, not {value!r}.")
    if value < 1:
        raise ValueError(f"{what} must be at least 1, not {value}.")
