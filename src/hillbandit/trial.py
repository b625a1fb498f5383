"""Trial, Observation, Recommendation, GeneReport, History, Result: what goes in and comes out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from hillbandit.space import Config, Genome, Space

_MASK = 0xFFFFFFFF


def trial_seed(run_seed: int, number: int) -> int:
    """Derive a trial's seed, an integer of 32 bits, from the run's seed and the trial's number.

    Two trials of a run never share one: for a given run it is a permutation of the numbers below
    2**32. 32 bits, because that is the largest seed that every consumer takes.

    Example:
        >>> from hillbandit.trial import trial_seed
        >>> trial_seed(1, 0) != trial_seed(1, 1)
        True

    Args:
        run_seed: The optimiser's seed.
        number: The trial's number.
    """
    low, high = _mix32(run_seed & _MASK), run_seed >> 32
    while high:
        low, high = _mix32(low ^ (high & _MASK)), high >> 32
    return _mix32(_mix32((number & _MASK) ^ low) ^ _mix32(low + 0x9E3779B9))


def _mix32(x: int) -> int:
    """Scatter the bits of a 32-bit integer: xor-shifts and odd multipliers, so it is one to one."""
    x &= _MASK
    x = ((x ^ (x >> 16)) * 0x85EBCA6B) & _MASK
    x = ((x ^ (x >> 13)) * 0xC2B2AE35) & _MASK
    return x ^ (x >> 16)


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """One evaluation that an optimiser asks for."""

    number: int
    """Counts the trials of a run from 0; no two trials of a run share one."""
    genome: Genome
    """The value index of each gene; read-only."""
    space: Space = field(repr=False)
    run_seed: int = field(repr=False)

    @property
    def config(self) -> Config:
        """The configuration to evaluate: a dict in a named space, the genome in an unnamed one."""
        return self.space._decode(self.genome)

    @property
    def seed(self) -> int:
        """A seed of 32 bits for the evaluation's own randomness, the same in every re-run."""
        return trial_seed(self.run_seed, self.number)


@dataclass(frozen=True, slots=True, eq=False)
class Observation:
    """The value of one evaluation, with what was evaluated."""

    value: float
    config: Config
    genome: Genome = field(repr=False)
    number: int
    """The trial's number; -1 for an evaluation that was told in advance."""

    def negated(self) -> Observation:
        """Give the same observation with the opposite sign, as `minimize` needs it."""
        return replace(self, value=0.0 - self.value)


@dataclass(frozen=True, slots=True, eq=False)
class Recommendation:
    """The configuration to use, and how good it is as far as its evaluations tell."""

    config: Config
    genome: Genome = field(repr=False)
    mean: float
    low: float
    """The lower end of the 95 % interval for the configuration's true value."""
    high: float
    evaluations: int
    """How many evaluations of this very configuration the mean comes from."""
    basis: Literal["samples", "model"]
    """Where the mean comes from: evaluations of this configuration, or a model of all of them."""

    def negated(self) -> Recommendation:
        """Give the same recommendation with the opposite sign, as `minimize` needs it."""
        return replace(self, mean=0.0 - self.mean, low=0.0 - self.high, high=0.0 - self.low)

    def __str__(self) -> str:
        if self.low == self.high:
            spread = ""
        elif math.isinf(self.low):
            spread = ", no interval from a single evaluation"
        else:
            spread = f", 95 % interval {self.low:.4g} to {self.high:.4g}"
        times = "1 evaluation" if self.evaluations == 1 else f"{self.evaluations} evaluations"
        return f"{_shown(self.config)}: mean {self.mean:.4g}{spread}, from {times}"


@dataclass(frozen=True, slots=True)
class GeneReport:
    """Why a gene is, or is not, the next to be mutated.

    The terms of the urgency are comparable among the genes of one optimiser. `BanditRMHC` gives
    them in multiples of its scale, which are units of fitness as published (`scale=1`);
    `KalmanClimber` gives them in units of fitness; to the others all genes are equally urgent.
    """

    gene: str | int
    """The gene's name, or its position where it has none."""
    value: Any
    """The value it has in the genome climbed from."""
    rescue: float
    """How bad its best known value is: the first term of the urgency."""
    explore: float
    """How little is known of it: the second term."""
    urgency: float
    mutations: int
    """How often it has been mutated."""


class History:
    """Every evaluation of a run, in the order in which they were told.

    Example:
        >>> import hillbandit as hb
        >>> result = hb.maximize(hb.problems.OneMax(8), hb.Space.binary(8), budget=9, seed=1)
        >>> result.history.values.shape, result.history.genomes.shape
        ((9,), (9, 8))
        >>> result.history[-1].value
        8.0

    Args:
        space: The space of the genomes.
    """

    def __init__(self, space: Space) -> None:
        self.space = space
        self._numbers: list[int] = []
        self._genomes: list[Genome] = []
        self._values: list[float] = []

    def append(self, number: int, genome: Genome, value: float) -> Observation:
        """Add an evaluation and return it as an Observation."""
        self._numbers.append(number)
        self._genomes.append(genome)
        self._values.append(value)
        return self[-1]

    @property
    def numbers(self) -> NDArray[np.int64]:
        """The trials' numbers."""
        return np.array(self._numbers, dtype=np.int64)

    @property
    def genomes(self) -> NDArray[np.int64]:
        """The genomes, one a row."""
        if not self._genomes:
            return np.empty((0, len(self.space)), dtype=np.int64)
        return np.array(self._genomes)

    @property
    def values(self) -> NDArray[np.float64]:
        """The values, in the user's own sign."""
        return np.array(self._values, dtype=np.float64)

    def columns(self) -> dict[str, NDArray[Any]]:
        """Give the history as one array a column: ready for a data frame.

        The columns are "number", "value" and one for each gene with its values: by the gene's name,
        or "gene_0" and so on where it has none. A gene that is itself called "number" or "value" is
        the column "gene_number" or "gene_value".
        """
        genomes = self.genomes
        columns: dict[str, NDArray[Any]] = {"number": self.numbers, "value": self.values}
        for gene in range(len(self.space)):
            indices = genomes[:, gene]
            if self.space.values is None:
                columns[f"gene_{gene}"] = indices
                continue
            label = str(self.space.label(gene))
            while label in columns:  # a gene may be called "value"
                label = f"gene_{label}"
            columns[label] = _array_of(self.space.values[gene])[indices]
        return columns

    def __len__(self) -> int:
        return len(self._values)

    @overload
    def __getitem__(self, index: int) -> Observation: ...
    @overload
    def __getitem__(self, index: slice) -> list[Observation]: ...
    def __getitem__(self, index: int | slice) -> Observation | list[Observation]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        genome = self._genomes[index]
        return Observation(
            self._values[index], self.space._decode(genome), genome, self._numbers[index]
        )

    def __iter__(self) -> Iterator[Observation]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"History({len(self)} evaluations)"


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """What a run found, in the user's own sign."""

    recommended: Recommendation
    """The configuration to use."""
    best_observed: Observation
    """The best single value: under noise a lucky one."""
    evaluations: int
    stopped_because: str
    """"budget", "timeout", "target", "callback", "interrupted", or "exhausted: " or "failures: "
    and why."""
    history: History
    seed: int
    """Given to `maximize` again, it repeats the run."""
    failures: int = 0
    """Evaluations that failed; they are not among `evaluations`."""
    reused: int = 0
    """Evaluations that were spared, because the configuration had been evaluated before."""
    confirmed: bool = False
    """Whether the recommendation's mean and interval come from fresh evaluations only."""

    def __repr__(self) -> str:
        best = self.best_observed
        when = f"in trial {best.number}" if best.number >= 0 else "told in advance"
        extras = [f"stopped: {self.stopped_because}", f"seed {self.seed}"]
        if self.failures:
            extras.append(f"{self.failures} failed")
        if self.reused:
            extras.append(f"{self.reused} reused")
        if self.confirmed:
            extras.append("confirmed")
        return (
            f"Result after {self.evaluations} evaluations ({'; '.join(extras)})\n"
            f"  recommended    {self.recommended}\n"
            f"  best observed  {_shown(best.config)}: {best.value:.4g} {when}"
        )


def _array_of(values: Sequence[Any]) -> NDArray[Any]:
    """Make a column of values: numbers and booleans natively, anything else as objects."""
    if len({type(value) for value in values}) == 1 and isinstance(values[0], bool | int | float):
        return np.array(values)
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def _shown(config: Config) -> str:
    if isinstance(config, dict):
        return ", ".join(f"{name}={value!r}" for name, value in config.items())
    digits = config.tolist()
    text = "".join(map(str, digits)) if max(digits, default=0) < 10 else str(digits)
    return text if len(text) <= 72 else f"{text[:69]}..."
