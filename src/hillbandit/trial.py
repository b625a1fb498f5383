"""Trial, Observation, Recommendation, GeneReport: small frozen dataclasses."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal

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
    """Why a gene is, or is not, the next to be mutated."""

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


def _shown(config: Config) -> str:
    if isinstance(config, dict):
        return ", ".join(f"{name}={value!r}" for name, value in config.items())
    digits = config.tolist()
    text = "".join(map(str, digits)) if max(digits, default=0) < 10 else str(digits)
    return text if len(text) <= 72 else f"{text[:69]}..."
