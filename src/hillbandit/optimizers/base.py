"""The contract of every optimiser: ask, tell, abandon, recommend, explain, state."""

from __future__ import annotations

import math
import secrets
from abc import ABC, abstractmethod
from collections import deque
from typing import Any, ClassVar, NoReturn, Self, SupportsFloat, TypeVar

import numpy as np

from hillbandit.optimizers.archive import Archive
from hillbandit.space import Config, Genome, Space
from hillbandit.trial import GeneReport, Observation, Recommendation, Trial

STATE_FORMAT = 2
"""Changes whenever an older state can no longer be read."""
LARGEST_VALUE = 1e300
"""Values beyond this would make differences and sums of values overflow."""
IN_ADVANCE = -1
"""The number of an evaluation that was told in advance and so belongs to no trial."""

Ticket = tuple[int, ...]
"""What a proposed evaluation is for; an optimiser gets it back with the value."""
REQUESTED: Ticket = ()
"""The ticket of a trial that the user asked for."""


class Exhausted(Exception):  # noqa: N818 - an end is not an error
    """Raised by `ask` when there is nothing left to evaluate; its text is the reason."""


_Proposal = tuple[Genome, Ticket]
_PARTS = frozenset(
    {"format", "optimizer", "options", "seed", "sizes", "evaluations", "rng", "next_number"}
    | {"open", "again", "abandoned", "best", "archive", "own"}
)
"""What every state has."""


class Optimizer(ABC):
    """An optimiser that is asked for trials and told their values, which it maximises.

    This class keeps the books: trial numbers, open and abandoned trials, statistics of every
    genome, the random generator, the state. A subclass proposes and learns: it defines `name`,
    `_propose`, `_learn`, `_drop`, `_options`, `_state` and `_restore`, and draws all its
    randomness from `self._rng`.

    Args:
        space: What is searched.
        noisy: Whether two evaluations of the same configuration may differ.
        seed: Fixes the run; None draws one, and `optimizer.seed` tells it.

    Raises:
        TypeError: If `space` is not a Space, or `seed` is not an integer.
        ValueError: If `seed` is negative.
    """

    name: ClassVar[str]
    """The registered name, by which `maximize` and `from_state_dict` find the class."""

    def __init__(self, space: Space, *, noisy: bool = False, seed: int | None = None) -> None:
        if not isinstance(space, Space):
            raise TypeError(f"An optimiser needs a Space, not {type(space).__name__}.")
        self.space = space
        self.noisy = bool(noisy)
        self.seed = _checked_seed(seed)
        self.evaluations = 0
        """How many evaluations have been told (the paper's T)."""
        self._rng = np.random.Generator(np.random.PCG64(self.seed))
        self._archive = Archive(space)
        self._best: tuple[float, bytes, int] | None = None
        self._next_number = 0
        self._open: dict[int, _Proposal] = {}
        self._again: deque[_Proposal] = deque()
        self._abandoned: set[int] = set()

    # --- what a subclass defines ------------------------------------------------------------

    @abstractmethod
    def _propose(self) -> tuple[Genome, Ticket]:
        """Decide what to evaluate next. Raises Exhausted when there is nothing."""

    @abstractmethod
    def _learn(self, ticket: Ticket, value: float) -> None:
        """Take in the value of a proposal."""

    @abstractmethod
    def _drop(self, ticket: Ticket) -> None:
        """Go on without the value of a proposal: it will never come."""

    @abstractmethod
    def _options(self) -> dict[str, Any]:
        """Give the constructor's arguments besides space and seed, in plain JSON types."""

    @abstractmethod
    def _state(self) -> dict[str, Any]:
        """Write all that `_propose` and `_learn` changed, in plain JSON types."""

    @abstractmethod
    def _restore(self, state: dict[str, Any]) -> None:
        """Read what `_state` wrote."""

    def _begin(self) -> None:  # noqa: B027 - an optimiser need not learn from a warm start
        """Use what was told in advance. `request` calls it if no trial has been asked for yet.

        An optimiser that defines it calls it itself in `_propose` while `_next_number` is 0.
        """

    @classmethod
    def _revived(cls, space: Space, seed: int, options: dict[str, Any]) -> Self:
        """Make an optimiser from what `_options` wrote."""
        return cls(space, seed=seed, **options)

    # --- the contract -------------------------------------------------------------------------

    def ask(self) -> Trial:
        """Say what to evaluate next.

        Any number of trials may be open at once, and they may be told in any order.

        Example:
            >>> import hillbandit as hb
            >>> optimizer = hb.RMHC(hb.Space.binary(3), seed=1)
            >>> trial = optimizer.ask()
            >>> trial.number, len(trial.genome)
            (0, 3)

        Raises:
            Exhausted: If there is nothing left to evaluate; the text says why.
        """
        if self._again:
            proposal = self._again.popleft()
        else:
            proposal = self._propose()
            proposal[0].setflags(write=False)
        number = self._next_number
        self._next_number = number + 1
        self._open[number] = proposal
        return Trial(number, proposal[0], self.space, self.seed)

    def request(self, config: Config) -> Trial:
        """Open a trial of a configuration of your own choice, to measure it better.

        Its value counts for `evaluations`, `recommend` and `best_observed`; the search itself does
        not learn from it.

        Example:
            >>> import hillbandit as hb
            >>> optimizer = hb.RMHC(hb.Space.binary(3), noisy=True, seed=1)
            >>> optimizer.tell(optimizer.request([1, 1, 1]), 3.0)
            >>> optimizer.recommend().config.tolist()
            [1, 1, 1]

        Args:
            config: The configuration.

        Raises:
            ValueError: If it is not one of the space, or not valid.
        """
        genome = self.space.encode(config)
        if not self.space.is_valid(genome):
            raise ValueError(f"The configuration {config!r} is not valid: `valid` refuses it.")
        genome.setflags(write=False)
        number = self._next_number
        if number == 0:
            self._begin()
        self._next_number = number + 1
        self._open[number] = genome, REQUESTED
        return Trial(number, genome, self.space, self.seed)

    def leaders(self, count: int) -> list[Recommendation]:
        """Give the configurations that all evaluations so far speak for, the best first.

        The first is the one that `recommend` gives by samples.

        Example:
            >>> import hillbandit as hb
            >>> optimizer = hb.RMHC(hb.Space.binary(3), seed=1)
            >>> optimizer.tell(optimizer.ask(), 2.0)
            >>> [leader.mean for leader in optimizer.leaders(5)]
            [2.0]

        Args:
            count: How many at the most.
        """
        return [self._recommendation(row) for row in self._archive.ranking(self.noisy, count)]

    def tell(self, trial: Trial, value: SupportsFloat) -> None:
        """Report the value of a trial; greater is better.

        Example:
            >>> import hillbandit as hb
            >>> optimizer = hb.RMHC(hb.Space.binary(3), seed=1)
            >>> optimizer.tell(optimizer.ask(), 2.0)
            >>> optimizer.evaluations
            1

        Args:
            trial: What `ask` returned.
            value: A finite number. If it is not, the trial stays open and can be told again.

        Raises:
            TypeError: If the value is not a number.
            ValueError: If it is NaN, infinite or beyond 1e300, or the trial is not open.
        """
        genome, ticket = self._expect_open(trial)
        if type(value) is not float or not -LARGEST_VALUE <= value <= LARGEST_VALUE:
            value = checked_value(value, trial)
        number = trial.number
        del self._open[number]
        self.evaluations += 1
        self._record(genome, value, number)
        if ticket != REQUESTED:
            self._learn(ticket, value)

    def abandon(self, trial: Trial, *, retry: bool = True) -> None:
        """Say that a trial's value will never come.

        Example:
            >>> import hillbandit as hb
            >>> optimizer = hb.RMHC(hb.Space.binary(3), seed=1)
            >>> lost = optimizer.ask()
            >>> optimizer.abandon(lost)
            >>> again = optimizer.ask()
            >>> again.number, bool((again.genome == lost.genome).all())
            (1, True)

        Args:
            trial: What `ask` returned.
            retry: Ask for the same genome again under a new number (the default), or drop it: the
                optimiser then goes on without it, and nothing is credited for it.

        Raises:
            ValueError: If the trial is not open.
        """
        proposal = self._expect_open(trial)
        del self._open[trial.number]
        self._abandoned.add(trial.number)
        if retry:
            self._again.append(proposal)
        elif proposal[1] != REQUESTED:
            self._drop(proposal[1])

    def observe(self, config: Config, value: SupportsFloat) -> None:
        """Tell an evaluation that was made earlier, outside this run (a warm start).

        It counts for `recommend` and `best_observed`, not for `evaluations`: this run did not spend
        it. What else an optimiser makes of it, its class says. A configuration that `valid` refuses
        may be told too: there is something to learn from it, but it is never recommended.

        Example:
            >>> import hillbandit as hb
            >>> optimizer = hb.BanditRMHC(hb.Space.binary(3), seed=1)
            >>> optimizer.observe([1, 1, 0], 2.0)
            >>> optimizer.best_observed.value
            2.0

        Args:
            config: The configuration that was evaluated.
            value: Its value; greater is better.

        Raises:
            TypeError: If the value is not a number or the configuration is of the wrong type.
            ValueError: If the value is not finite, the configuration is not one of the space, or
                trials have been asked for already.
        """
        if self._next_number:
            raise ValueError(
                "Earlier evaluations must be told before the first ask; this run has begun."
            )
        genome = self.space.encode(config)
        row = self._record(genome, checked_value(value, None), IN_ADVANCE)
        if not self.space.is_valid(genome):
            self._archive.barred.add(row)

    def recommend(self) -> Recommendation:
        """Recommend the configuration that all evaluations so far speak for.

        Noise-free, that is the one with the highest value. Under noise it is the one whose mean,
        less one standard error of that mean, is highest: a mean of many evaluations is preferred to
        a slightly higher one of few. The standard error comes from the noise variance pooled over
        all configurations evaluated more than once. Neither the genome climbed from (the climber
        may just have moved by luck) nor the highest single value (the luckiest) is preferred.

        The mean and the count are those of all evaluations of that very configuration. The 95 %
        interval is Student's around the mean; its variance is that of these evaluations, steadied
        by the pooled one with the weight of 4 further degrees of freedom, so that two equal values
        do not look like certainty. Where nothing was evaluated twice it is infinite. It is
        optimistic, because the same evaluations chose the configuration and measure it. How much,
        `benchmarks/interval_coverage.md` measures: the mean of few evaluations is too high, that of
        many hardly, and the coverage was not seen to suffer. Fresh evaluations (`confirm=` of
        `maximize`) give an interval that allows for the choice (`benchmarks/confirm.md`).

        Example:
            >>> import hillbandit as hb
            >>> optimizer = hb.RMHC(hb.Space.binary(3), seed=1)
            >>> optimizer.tell(optimizer.ask(), 2.0)
            >>> optimizer.recommend().mean
            2.0

        Raises:
            ValueError: If nothing valid has been told yet.
        """
        if not self.can_recommend:
            self._nothing_yet("recommend")
        return self._recommendation(self._archive.leader(self.noisy))

    @property
    def can_recommend(self) -> bool:
        """Whether a configuration that may be recommended has been told."""
        return len(self._archive) > len(self._archive.barred)

    def may_recommend(self, mean: float) -> bool:
        """Tell without much work whether the recommendation's mean could be at least so high.

        No mean of evaluations is above the highest of them. An optimiser whose `recommend` takes
        means from elsewhere has to define this too.
        """
        return self._best is not None and self._best[0] >= mean

    def score(self, config: Config) -> float:
        """Give the figure by which `recommend` compares configurations that were evaluated.

        It is minus infinity for one that was told in advance and that `valid` refuses.

        Args:
            config: A configuration with at least one evaluation.

        Raises:
            ValueError: If it has none.
        """
        row = self._archive.row(self._archive.key(self.space.encode(config)))
        if row is None:
            raise ValueError(f"The configuration {config!r} has not been evaluated.")
        return float(self._archive.scores(self.noisy)[row])

    def noise(self) -> tuple[float, int]:
        """Give the variance of an evaluation and its degrees of freedom, as far as it is known.

        It is pooled over the configurations that were evaluated more than once.

        Example:
            >>> import hillbandit as hb
            >>> optimizer = hb.RMHC(hb.Space.binary(2), noisy=True, seed=1)
            >>> for value in (1.0, 3.0):
            ...     optimizer.observe([0, 1], value)
            >>> optimizer.noise()
            (2.0, 1)
        """
        return self._archive.noise()

    def _recommendation(self, row: int) -> Recommendation:
        low, high = self._archive.interval(row, self.noisy)
        genome = self._archive.genome_at(row)
        genome.setflags(write=False)
        return Recommendation(
            config=self.space.decode(genome),
            genome=genome,
            mean=self._archive.means[row],
            low=low,
            high=high,
            evaluations=self._archive.counts[row],
            basis="samples",
        )

    @property
    def best_observed(self) -> Observation:
        """The highest single value: under noise a lucky one, and not the recommendation.

        Raises:
            ValueError: If nothing has been told yet.
        """
        if self._best is None:
            self._nothing_yet("best_observed")
        value, key, number = self._best
        genome = self._archive.genome(key)
        return Observation(value, self.space.decode(genome), genome, number)

    @abstractmethod
    def explain(self) -> list[GeneReport]:
        """Report on every gene: its value, why it is urgent, and how often it was mutated.

        Example:
            >>> import hillbandit as hb
            >>> hb.BanditRMHC(hb.Space.binary(3), seed=1).explain()[0].mutations
            0
        """

    @property
    def outstanding(self) -> list[Trial]:
        """The trials that were asked for and neither told nor abandoned, oldest first."""
        return [
            Trial(number, genome, self.space, self.seed)
            for number, (genome, _) in self._open.items()
        ]

    def state_dict(self) -> dict[str, Any]:
        """Write the whole state in plain JSON types, the random generator included.

        Example:
            >>> import json, hillbandit as hb
            >>> space = hb.Space.binary(3)
            >>> text = json.dumps(hb.RMHC(space, seed=1).state_dict())
            >>> hb.Optimizer.from_state_dict(space, json.loads(text)).seed
            1
        """
        return {
            "format": STATE_FORMAT,
            "optimizer": self.name,
            "options": self._options(),
            "seed": self.seed,
            "sizes": self.space.sizes.tolist(),
            "evaluations": self.evaluations,
            "rng": self._rng.bit_generator.state,
            "next_number": self._next_number,
            "open": [[number, *_plain(p)] for number, p in self._open.items()],
            "again": [_plain(p) for p in self._again],
            "abandoned": sorted(self._abandoned),
            "best": None
            if self._best is None
            else [self._best[0], self._best[1].hex(), self._best[2]],
            "archive": self._archive.state(),
            "own": self._state(),
        }

    @classmethod
    def from_state_dict(cls, space: Space, state: dict[str, Any]) -> Self:
        """Restore an optimiser that continues exactly as the original would have.

        Args:
            space: The space of the original, with its `valid` predicate.
            state: What `state_dict` gave.

        Raises:
            ValueError: If the state is not one, is of another format, space or class, or its class
                is not registered.
        """
        if not isinstance(state, dict) or not {"format", "optimizer"} <= state.keys():
            raise ValueError("This is not an optimiser's state: `state_dict` makes one.")
        if state["format"] != STATE_FORMAT:
            raise ValueError(
                f"This state has the format {state['format']}; this version reads {STATE_FORMAT}."
            )
        if missing := _PARTS - state.keys():
            raise ValueError(f"This state is incomplete: it lacks {', '.join(sorted(missing))}.")
        if state["sizes"] != space.sizes.tolist():
            raise ValueError(
                "This state belongs to another space: the numbers of values per gene differ."
            )
        kind = cls if getattr(cls, "name", None) == state["optimizer"] else find(state["optimizer"])
        if not issubclass(kind, cls):
            raise ValueError(f"This is the state of {kind.__name__}, not of {cls.__name__}.")
        optimizer = kind._revived(space, state["seed"], state["options"])
        optimizer._rng.bit_generator.state = state["rng"]
        optimizer.evaluations = state["evaluations"]
        optimizer._next_number = state["next_number"]
        optimizer._open = {number: _proposal(g, t) for number, g, t in state["open"]}
        optimizer._again = deque(_proposal(g, t) for g, t in state["again"])
        optimizer._abandoned = set(state["abandoned"])
        if state["best"] is not None:
            value, key, number = state["best"]
            optimizer._best = value, bytes.fromhex(key), number
        optimizer._archive.restore(state["archive"])
        optimizer._restore(state["own"])
        return optimizer

    # --- the books ------------------------------------------------------------------------------

    def _record(self, genome: Genome, value: float, number: int) -> int:
        key = self._archive.key(genome)
        row = self._archive.add(key, value)
        if self._best is None or value > self._best[0]:
            self._best = value, key, number
        return row

    def _in_flight(self, genome: Genome) -> bool:
        """Tell whether an evaluation of a genome has been asked for and not been told yet."""
        return any(
            np.array_equal(genome, proposed) for proposed, _ in (*self._open.values(), *self._again)
        )

    def _expect_open(self, trial: Trial) -> _Proposal:
        if not isinstance(trial, Trial):
            raise TypeError(f"A trial from ask() is expected here, not {type(trial).__name__}.")
        proposal = self._open.get(trial.number)
        if proposal is not None and proposal[0] is trial.genome:
            return proposal
        if proposal is None:
            if trial.number in self._abandoned:
                why = "was abandoned; the genome is asked for again under a new number"
            elif trial.number < self._next_number:
                why = "has been told already"
            else:
                why = "was not asked of this optimiser"
            raise ValueError(f"Trial {trial.number} {why}.")
        if trial.run_seed != self.seed or not np.array_equal(trial.genome, proposal[0]):
            what = "seed" if trial.run_seed != self.seed else "genome"
            raise ValueError(
                f"Trial {trial.number} was not asked of this optimiser: its {what} is another."
            )
        return proposal

    def _nothing_yet(self, what: str) -> NoReturn:
        which = "" if self._best is None else " of a valid configuration"
        raise ValueError(f"There is nothing to {what} yet: tell at least one value{which} first.")


def checked_value(value: Any, trial: Trial | None) -> float:
    """Turn a value into a finite float, or raise a sentence that names the trial."""
    where = "" if trial is None else f" of trial {trial.number}"
    if not hasattr(value, "__float__"):
        raise TypeError(f"The value{where} must be a number, not {value!r}.")
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(f"The value{where} is not a number: {error}.") from None
    if math.isnan(number):
        raise ValueError(f"The value{where} is NaN; a finite number is needed.")
    if abs(number) > LARGEST_VALUE:
        raise ValueError(f"The value{where} is {number}; a number within ±1e300 is needed.")
    return number


def _checked_seed(seed: Any) -> int:
    if seed is None:
        # 48 bits: enough for runs never to meet, and exact in every reader of JSON
        return secrets.randbits(48)
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
        raise TypeError(f"The seed must be an integer or None, not {seed!r}.")
    if seed < 0:
        raise ValueError(f"The seed must not be negative; it is {seed}.")
    return int(seed)


def _plain(proposal: _Proposal) -> list[list[int]]:
    genome, ticket = proposal
    return [genome.tolist(), list(ticket)]


def _proposal(genome: list[int], ticket: list[int]) -> _Proposal:
    array = np.array(genome, dtype=np.int64)
    array.setflags(write=False)
    return array, tuple(ticket)


# --- the registry -------------------------------------------------------------------------------

_registry: dict[str, type[Optimizer]] = {}
_Class = TypeVar("_Class", bound=type[Optimizer])


def register(optimizer_class: _Class) -> _Class:
    """Make a class known by its `name`; usable as a decorator.

    Example:
        >>> from hillbandit.optimizers import find
        >>> find("rmhc").__name__
        'RMHC'

    Args:
        optimizer_class: A subclass of Optimizer with a `name` of its own.

    Raises:
        ValueError: If another class has the name.
    """
    known = _registry.setdefault(optimizer_class.name, optimizer_class)
    if known is not optimizer_class:
        raise ValueError(f"The optimiser name {optimizer_class.name!r} is taken by {known!r}.")
    return optimizer_class


def find(name: str) -> type[Optimizer]:
    """Find an optimiser's class by its registered name.

    Args:
        name: For example "bandit_rmhc".

    Raises:
        ValueError: If no class is registered under it.
    """
    try:
        return _registry[name]
    except KeyError:
        raise ValueError(
            f"There is no optimiser {name!r}; registered are {', '.join(sorted(_registry))}."
        ) from None
