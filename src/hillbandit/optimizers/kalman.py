"""The Kalman climber: the effects of all genes estimated jointly, and mutations that are sets.

Every evaluation is an observation of a linear model of all genes' effects (`belief.py`), taken in
by a Kalman filter (`kalman_filter.py`). A mutation is the set of genes whose Thompson samples
promise the most; its size L follows how well the model predicts. Nothing has to be tuned: the unit
of fitness, the noise, the forgetting and L are learned from the run, and all constants are pure
numbers. `docs/kalman.md` explains each step with the names used here.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from hillbandit.optimizers.base import Exhausted, Ticket
from hillbandit.optimizers.belief import (
    Belief,
    DenseBelief,
    DiagonalBelief,
    Floats,
    Layout,
)
from hillbandit.optimizers.kalman_filter import BURN, Filter
from hillbandit.optimizers.sparing import Duplicates, Sparing
from hillbandit.space import Config, Genome, Space
from hillbandit.trial import GeneReport, Recommendation

# pairs are (noise-free, noisy)
TEMPER = (1.0, 0.9)
"""The width of the Thompson samples in standard deviations."""
DRIFT = (-0.05, 0.2)
KEPT = (0.4, 0.0)
DOWN = 0.7
UP = (0.0, 0.7)
"""ln L changes by DRIFT, by KEPT for a child that was kept, and by DOWN·z or UP·z."""
FIRST = (0.0, 0.25)
"""L starts at FIRST·n, or 1: under noise every evaluation should weigh many genes at once."""
CAP = 0.5
"""L is at most CAP·n: on a plateau larger sets only alternate between complements."""
CONFIDENT = 0.5
"""When every mean gain + CONFIDENT·sigma is negative, the genome is a local optimum: kick."""
KICK, KICK_SAME, KICK_WORSE = 3.0, 1.3, 1.1
"""The first kick changes 3 genes; the size grows when it led back, or to something worse."""
DENSE_AT_MOST = 2_000
"""Up to this many weights the covariance is kept (32 MB); above, variances only."""
OFTEN = 10
"""A genome evaluated so often is recommended by its samples alone."""
WIDER = 1.5
"""The interval takes the noise variance as WIDER·sqrt(s2·spread).

s2 is too small where the belief is too wide, and spread too large, being all of the innovation."""
TRIES = 50
"""How many sets are drawn, where some may not be evaluated, before single genes are looked at."""
PAIRED = 64
"""Where no change of one gene is allowed, so many changes are tried two at a time."""

START, MOVE, KICKED, HOME = range(4)
"""What a ticket's evaluation is: (kind, identity, whether L limited the set, or the epoch)."""


@dataclass(slots=True)
class _Home:
    """The best local optimum so far, to which kicks return."""

    genome: Genome
    b: float
    variance: float


class KalmanClimber(Sparing):
    """A hill-climber that learns the effects of all genes at once from mutations of many genes.

    Example:
        >>> import hillbandit as hb
        >>> problem = hb.problems.Noisy(hb.problems.OneMax(20), sd=1.0)
        >>> optimizer = hb.KalmanClimber(problem.space, noisy=True, seed=1)
        >>> while optimizer.evaluations < 100:
        ...     trial = optimizer.ask()
        ...     optimizer.tell(trial, problem(trial.config, seed=trial.seed))
        >>> problem.is_solved(optimizer.recommend().config)
        True

    Args:
        space: What is searched.
        noisy: Whether evaluations are noisy.
        start: The configuration to begin from; random when None, or the best of those told in
            advance by `observe`, all of which the belief learns from.
        duplicates: What to do with a child that has been evaluated before: "reevaluate" it, "reuse"
            its value (noise-free only), or "avoid" it. With the latter two a run ends when every
            configuration has been evaluated.
        seed: Fixes the run.

    Raises:
        TypeError: If `noisy` is not a truth value, or `seed` not an integer.
        ValueError: If `start` is not a valid configuration, or `duplicates` none of the above.
    """

    name = "kalman"

    def __init__(
        self,
        space: Space,
        *,
        noisy: bool = False,
        start: Config | None = None,
        duplicates: Duplicates = "reevaluate",
        seed: int | None = None,
    ) -> None:
        super().__init__(space, noisy=noisy, start=start, duplicates=duplicates, seed=seed)
        self._mode = int(self.noisy)  # the index into the pairs of constants
        self._belief = self._new_belief()
        self._belief.start(1.0, 0.0)
        self._filter = self._new_filter()
        self._layout = self._belief.layout
        self._n = max(1, self._layout.n)
        self._current = space.sample(self._rng) if self._start is None else self._start
        self._children: dict[int, Genome] = {}
        self._identities = 0
        self._advance = 0
        """How many genomes were told in advance: the first rows of the archive."""
        self._begun = False
        self._L = max(1.0, FIRST[self._mode] * self._n)
        self._K = KICK
        self._home: _Home | None = None
        self._returned = False
        self._epoch = 0
        """Counts the moves; a kick holds only if there was none since it was proposed."""
        self._mutations = np.zeros(len(space), dtype=np.int64)

    def _new_belief(self) -> Belief:
        layout = Layout(self.space)
        if layout.weights <= DENSE_AT_MOST:
            return DenseBelief(layout)
        return DiagonalBelief(Layout(self.space, whole=True))

    def _new_filter(self) -> Filter:
        return Filter(self._belief, self.noisy)

    # --- the contract -----------------------------------------------------------------------------

    @property
    def current(self) -> Genome:
        """The genome climbed from: the start, or the last child adopted."""
        return self._current.copy()

    def recommend(self) -> Recommendation:
        """Recommend the configuration that the model of all evaluations speaks for.

        Noise-free, it is the one with the highest value. Under noise it is the genome climbed from,
        or the best local optimum that a kick left, whichever the model thinks better. Its mean
        is the model's (`basis="model"`), unless the very genome was evaluated ten times and more:
        then it is that of these evaluations (`basis="samples"`). If another genome was evaluated as
        often, and its mean less one standard error is above the same of that genome, it is
        recommended in its place: in a small space the evaluations know better than any model.

        The model's 95 % interval is 1.96 standard deviations of b, wider than the model itself has
        it, because what was chosen has been lucky and no problem is quite linear:
        `benchmarks/climbers.md` tells how often it holds the truth. Before ten innovations were
        seen, the rule of `Optimizer.recommend` holds.

        Example:
            >>> import hillbandit as hb
            >>> optimizer = hb.KalmanClimber(hb.Space.binary(3), seed=1)
            >>> optimizer.tell(optimizer.ask(), 2.0)
            >>> optimizer.recommend().mean
            2.0

        Raises:
            ValueError: If nothing has been told yet.
        """
        if not self.noisy or not self._begun or self._filter.seen < BURN:
            return super().recommend()
        genome, b, variance = self._favourite()
        noise = WIDER * math.sqrt(self._filter.s2 * self._filter.spread)
        deviation = math.sqrt(noise * variance)
        archive = self._archive
        row = archive.row(archive.key(genome))
        count = 0 if row is None else archive.counts[row]
        scores = np.where(np.asarray(archive.counts) >= OFTEN, archive.scores(True), -math.inf)
        best = int(scores.argmax())
        by_model = row is None or count < OFTEN
        if scores[best] > (b - deviation if by_model else scores[row]):
            return self._recommendation(best)
        if row is not None and not by_model:
            return self._recommendation(row)
        genome = genome.copy()
        genome.setflags(write=False)
        return Recommendation(
            config=self.space.decode(genome),
            genome=genome,
            mean=b,
            low=b - 1.96 * deviation,
            high=b + 1.96 * deviation,
            evaluations=count,
            basis="model",
        )

    def _favourite(self) -> tuple[Genome, float, float]:
        """Give the genome that the model thinks best, with mean and variance of its value."""
        b, home = float(self._belief.mu[-1]), self._home
        if home is not None and home.b > b:
            return home.genome, home.b, home.variance
        return self._current, b, self._belief.b_variance()

    def may_recommend(self, mean: float) -> bool:
        """Tell without much work whether the recommendation's mean could be at least so high."""
        return super().may_recommend(mean) or (self._begun and self._favourite()[1] >= mean)

    def leaders(self, count: int) -> list[Recommendation]:
        """Give the configurations that the model speaks for, the best first.

        The first is the recommendation; the others are those evaluated, in the model's order.

        Args:
            count: How many at the most.
        """
        if not self.noisy or not self._begun:
            return super().leaders(count)
        found = [self.recommend()]
        rows = [item for item in self._archive.items() if item[1] not in self._archive.barred]
        x = self._layout.mutable(self._current)
        means = np.array(
            [self._belief.predicted(x, self._layout.mutable(genome)) for genome, _ in rows]
        )
        for place in np.argsort(-means, kind="stable").tolist():
            if len(found) >= count:
                break
            genome, row = rows[place]
            if not np.array_equal(genome, found[0].genome):
                found.append(self._recommendation(row))
        return found[:count]

    def explain(self) -> list[GeneReport]:
        """Report on every gene: urgency is the mean gain of its best change plus one deviation.

        `rescue` is the mean gain and `explore` the standard deviation of the change of that gene
        with the greatest sum of both, in units of fitness.

        Example:
            >>> import hillbandit as hb
            >>> hb.KalmanClimber(hb.Space.binary(3), seed=1).explain()[0].mutations
            0
        """
        rescue, explore = np.zeros(len(self.space)), np.zeros(len(self.space))
        layout = self._layout
        if layout.n:
            mean, sigma = self._gains()
            _, places = layout.best(mean + sigma)
            chosen = slice(None) if places is None else places
            rescue[layout.genes], explore[layout.genes] = mean[chosen], sigma[chosen]
        return [
            GeneReport(
                gene=self.space.label(i),
                value=self.space.value(i, value),
                rescue=float(rescue[i]),
                explore=float(explore[i]),
                urgency=float(rescue[i]) + float(explore[i]),
                mutations=int(self._mutations[i]),
            )
            for i, value in enumerate(self._current.tolist())
        ]

    # --- asking: the choice -----------------------------------------------------------------------

    def _propose(self) -> tuple[Genome, Ticket]:
        if self._next_number == 0:
            self._begin()
        if not self._begun and not self._children:
            if self._archive.key(self._current) in self._lost:
                self._current = self._elsewhere()  # one that cannot be evaluated is no start
            return self._issue(self._current, START, 0)
        if not self._layout.n:
            if self.noisy:
                # more evaluations of the only configuration still say more of its value
                return self._issue(self._current, HOME, 0)
            raise Exhausted("a single configuration: no gene has more than one value")
        if self.duplicates != "reuse":
            return self._issue(*self._choose())
        for _ in range(self._layout.weights + 1):
            child, kind, mark = self._choose()
            row = self._archive.row(self._archive.key(child))
            if row is None or not self._begun:
                return self._issue(child, kind, mark)
            self.reused += 1
            self._take(child, self._archive.means[row], kind, mark)
        return self._issue(self._elsewhere(), MOVE, 0)

    def _issue(self, genome: Genome, kind: int, mark: int) -> tuple[Genome, Ticket]:
        identity = self._identities = self._identities + 1
        self._children[identity] = genome.copy()
        return self._children[identity], (kind, identity, mark)

    def _gains(self) -> tuple[Floats, Floats]:
        """Give mean and standard deviation of the gain of every change, in units of fitness."""
        mean, variance = self._belief.gains(self._layout.mutable(self._current))
        sigma = np.sqrt(variance)
        if self._filter.s2 > 0:
            sigma *= math.sqrt(self._filter.s2)
        return mean, sigma

    def _choose(self) -> tuple[Genome, int, int]:
        """Choose a child: the set of greatest sampled gains, or a kick."""
        mean, sigma = self._gains()
        if self._at_local_optimum(mean, sigma):
            return self._kick()
        for attempt in range(TRIES):
            child, full = self._sampled_set(mean, sigma, attempt)
            if self._allowed(child):
                return child, MOVE, full
        return self._small_change(mean, sigma), MOVE, 0

    def _sampled_set(self, mean: Floats, sigma: Floats, attempt: int) -> tuple[Genome, int]:
        """Mutate the k genes whose Thompson samples are greatest, k being L on average."""
        sample = self._rng.standard_normal(len(mean))
        sample *= sigma
        sample *= TEMPER[self._mode]
        sample += mean
        best, places = self._layout.best(sample)
        positive = int(np.count_nonzero(best > 0))
        k = max(1, int(self._L + self._rng.random()))
        full = k <= positive
        k = max(1, min(k, positive))
        if attempt:
            # where single changes are refused, larger sets may still be allowed
            k = min(k + attempt % 3, len(best))
        chosen = (
            np.array([best.argmax()])
            if k == 1
            else np.argpartition(best, len(best) - k)[len(best) - k :]
        )
        return self._mutated(chosen if places is None else places[chosen]), int(full)

    def _mutated(self, places: Any) -> Genome:
        layout = self._layout
        child = self._current.copy()
        genes = places if layout.binary else layout.gene_of[places]
        if not layout.all_mutable:
            genes = layout.genes[genes]
        child[genes] = layout.values(places, layout.mutable(self._current))
        return child

    def _allowed(self, child: Genome) -> bool:
        """Tell whether a set may be evaluated; mostly nothing stands against any."""
        if not self.noisy and self._in_flight(child):
            return False
        return self.space.is_valid(child) and not self._refused(child)

    def _small_change(self, mean: Floats, sigma: Floats) -> Genome:
        """Find the most promising change of one gene that is allowed, or else of two."""
        sample = mean + sigma * self._rng.standard_normal(len(mean))
        places = [place for place in np.argsort(-sample).tolist() if mean[place] > -math.inf]
        gene_of = self._layout.gene_of
        few = range(min(len(places), PAIRED))
        singles = ([place] for place in places)
        pairs = (
            [places[i], places[j]]
            for j in few
            for i in range(j)
            if gene_of[places[i]] != gene_of[places[j]]
        )
        for change in itertools.chain(singles, pairs):
            child = self._mutated(np.array(change))
            if self.space.is_valid(child) and not self._refused(child):
                return child
        if self.duplicates != "reevaluate" or self._lost:
            return self._elsewhere()
        raise Exhausted(
            "no valid neighbour: every change of one gene is refused by `valid`, and so is every "
            "change of two that was tried"
        )

    # --- asking: kicks ----------------------------------------------------------------------------

    def _at_local_optimum(self, mean: Floats, sigma: Floats) -> bool:
        return (
            self._filter.scaled
            and self._filter.late
            and float((mean + CONFIDENT * sigma).max()) < 0
        )

    def _kick(self) -> tuple[Genome, int, int]:
        """Go on from the better of home and here, with a few genes changed at random."""
        if not self._kick_is_open() and self._settle():
            return self._current, HOME, 0
        for _ in range(TRIES):
            child = self._kicked()
            if self.space.is_valid(child) and not self._refused(child):
                return child, KICKED, self._epoch
        return self._elsewhere(), KICKED, self._epoch

    def _kick_is_open(self) -> bool:
        tickets = [ticket for _, ticket in (*self._open.values(), *self._again)]
        return any(
            ticket and ticket[0] == KICKED and ticket[2] == self._epoch for ticket in tickets
        )

    def _settle(self) -> bool:
        """Decide where home is; tell whether it is to be evaluated again before the kick."""
        b, home = float(self._belief.mu[-1]), self._home
        here = home is not None and np.array_equal(home.genome, self._current)
        largest = self._n / 4 + 2
        if home is None or here or b >= home.b:
            if not here:
                self._K = KICK
            elif not self._returned:
                self._K = min(KICK_SAME * self._K, largest)
            self._returned = False
            self._home = _Home(self._current, b, self._belief.b_variance())
            return False
        self._K = min(KICK_WORSE * self._K, largest)
        self._current = home.genome
        self._belief.set_b(home.b, home.variance)
        self._epoch += 1
        # a home is the highest of several estimates, so it is probably less than it looks:
        # under noise each return measures it once more
        self._returned = self.noisy and self.duplicates != "avoid"
        return self._returned

    def _kicked(self) -> Genome:
        layout = self._layout
        k = min(max(1, int(self._K + self._rng.random())), layout.n)
        genes = layout.genes[self._rng.permutation(layout.n)[:k]]
        child = self._current.copy()
        others = (self._rng.random(k) * (self.space.sizes[genes] - 1)).astype(np.int64)
        child[genes] = others + (others >= child[genes])
        return child

    # --- telling: the filter ----------------------------------------------------------------------

    def _learn(self, ticket: Ticket, value: float) -> None:
        kind, identity, mark = ticket
        self._take(self._children.pop(identity), value, kind, mark)

    def _drop(self, ticket: Ticket) -> None:
        key = self._archive.key(self._children.pop(ticket[1]))
        if self._archive.row(key) is None:
            self._lost.add(key)

    def _take(self, genome: Genome, value: float, kind: int, mark: int) -> None:
        """Learn from the value of a genome, and move to it if it is no worse."""
        if not self._begun:
            self._first(genome, value, 1)
            return
        belief, layout = self._belief, self._layout
        forecast = belief.forecast(layout.mutable(self._current), layout.mutable(genome))
        genes = forecast.genes
        self._mutations[genes if layout.all_mutable else layout.genes[genes]] += 1
        worse = value < float(belief.mu[-1])
        unit, z, rest = self._filter.take(forecast, value)
        gain = belief.gain(forecast) if self.noisy else 0.0
        forced = kind == KICKED and mark == self._epoch
        kept = forced or (gain >= 0 if self.noisy else not worse)
        if kept and len(genes):
            self._current = genome
            self._epoch += 1
            if self.noisy:
                belief.move(forecast, gain, rest)
            else:
                belief.mu[-1] = value
        self._filter.forget(unit)
        if kind == MOVE:
            self._adapt(z, kept, bool(mark))

    def _adapt(self, z: float, kept: bool, full: bool) -> None:
        """Let the size of a mutation follow how well the model predicted its value."""
        mode = self._mode
        z = min(max(z, -1.0), 1.0)
        step = DRIFT[mode] + (KEPT[mode] if kept else 0.0) + (DOWN if z < 0 else UP[mode]) * z
        if step < 0 or full:
            self._L = min(max(1.0, self._L * math.exp(step)), max(1.0, CAP * self._n))

    # --- the start --------------------------------------------------------------------------------

    def _begin(self) -> None:
        """Begin with what was told in advance, if it includes the start."""
        archive = self._archive
        self._advance = len(archive)
        if not self._advance:
            return
        if self._start is None:
            leader = archive.genome_at(archive.leader(self.noisy))
            if self.space.is_valid(leader):
                self._current = leader
        row = archive.row(archive.key(self._current))
        if row is not None:
            self._first(self._current, archive.means[row], archive.counts[row])

    def _first(self, genome: Genome, value: float, count: int) -> None:
        """Climb from the first genome whose value is known; learn what was told in advance."""
        self._current = genome
        self._begun = True
        self._filter.begin(value, count)
        x = self._layout.mutable(genome)
        for other, row in list(self._archive.items())[: self._advance]:
            if not np.array_equal(other, genome):
                forecast = self._belief.forecast(x, self._layout.mutable(other))
                self._filter.take(forecast, self._archive.means[row], self._archive.counts[row])

    # --- state ------------------------------------------------------------------------------------

    def _state(self) -> dict[str, Any]:
        home = self._home
        return {
            **super()._state(),
            "belief": self._belief.state(),
            "filter": self._filter.state(),
            "current": self._current.tolist(),
            "children": [[i, child.tolist()] for i, child in self._children.items()],
            "home": None if home is None else [home.genome.tolist(), home.b, home.variance],
            "mutations": self._mutations.tolist(),
            **{name: getattr(self, f"_{name}") for name in _SCALARS},
        }

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        self._belief.restore(state["belief"])
        self._filter.restore(state["filter"])
        self._current = np.array(state["current"], dtype=np.int64)
        self._children = {i: np.array(child, dtype=np.int64) for i, child in state["children"]}
        self._home = None
        if state["home"] is not None:
            genome, b, variance = state["home"]
            self._home = _Home(np.array(genome, dtype=np.int64), b, variance)
        self._mutations = np.array(state["mutations"], dtype=np.int64)
        for name in _SCALARS:
            setattr(self, f"_{name}", state[name])


_SCALARS = ("identities", "advance", "begun", "L", "K", "returned", "epoch")
"""What a state holds as plain numbers, less the underscore."""
