"""What the optimisers share that climb from a start and need not evaluate everything they think of.

A child may have been evaluated before, may be on its way, or may have failed for good. What becomes
of it is the policy `duplicates`.
"""

from __future__ import annotations

from typing import Any, Literal, Self, get_args

import numpy as np

from hillbandit.optimizers.base import Optimizer
from hillbandit.optimizers.starts import new_start
from hillbandit.space import Config, Genome, Space

Duplicates = Literal["reevaluate", "reuse", "avoid"]


class Sparing(Optimizer):
    """An optimiser with a start and a policy for duplicates.

    Args:
        space: What is searched.
        noisy: Whether evaluations are noisy.
        start: The configuration to begin from, if it is given.
        duplicates: What to do with a child that has been evaluated before: "reevaluate" it, "reuse"
            its value (noise-free only), or "avoid" it.
        seed: Fixes the run.

    Raises:
        TypeError: If `noisy` is not a truth value, or `seed` not an integer.
        ValueError: If `start` is not a valid configuration, or `duplicates` none of the above, or
            "reuse" under noise.
    """

    def __init__(
        self,
        space: Space,
        *,
        noisy: bool,
        start: Config | None,
        duplicates: Duplicates,
        seed: int | None,
    ) -> None:
        if not isinstance(noisy, bool | np.bool_):
            raise TypeError(f"noisy must be True or False, not {noisy!r}.")
        if duplicates not in get_args(Duplicates):
            raise ValueError(f'duplicates is "reevaluate", "reuse" or "avoid", not {duplicates!r}.')
        if duplicates == "reuse" and noisy:
            raise ValueError(
                'duplicates="reuse" is for noise-free evaluations: under noise a second one says '
                'more. Use "reevaluate" or "avoid".'
            )
        super().__init__(space, noisy=bool(noisy), seed=seed)
        self.duplicates = duplicates
        self.reused = 0
        """How often the value of a duplicate was reused in place of an evaluation."""
        self._start = None if start is None else space.encode(start)
        if self._start is not None and not space.is_valid(self._start):
            raise ValueError(f"The start {start!r} is not valid: `valid` refuses it.")
        self._lost: set[bytes] = set()
        """Genomes whose evaluation was dropped: asking for them again would fail again."""

    def _refused(self, genome: Genome) -> bool:
        """Tell whether a genome is one to be avoided: a duplicate, or one that was dropped."""
        if self.duplicates == "avoid":
            return self._known(genome)
        if self.duplicates == "reuse" and self._in_flight(genome):
            return True  # its value will be there to be reused, but is not yet
        return bool(self._lost) and self._archive.key(genome) in self._lost

    def _known(self, genome: Genome) -> bool:
        """Tell whether a genome has been evaluated, was dropped, or is on its way."""
        key = self._archive.key(genome)
        return self._archive.row(key) is not None or key in self._lost or self._in_flight(genome)

    def _elsewhere(self) -> Genome:
        """Find a valid genome that may still be evaluated, wherever it is."""
        unwanted = self._refused if self.duplicates == "reevaluate" else self._known
        return new_start(self.space, self._rng, unwanted)

    # --- state ------------------------------------------------------------------------------------

    def _options(self) -> dict[str, Any]:
        return {
            "noisy": self.noisy,
            "start": None if self._start is None else self._start.tolist(),
            "duplicates": self.duplicates,
        }

    @classmethod
    def _revived(cls, space: Space, seed: int, options: dict[str, Any]) -> Self:
        start = options["start"]
        return super()._revived(
            space, seed, {**options, "start": None if start is None else space.decode(start)}
        )

    def _state(self) -> dict[str, Any]:
        return {"reused": self.reused, "lost": sorted(key.hex() for key in self._lost)}

    def _restore(self, state: dict[str, Any]) -> None:
        self.reused = state["reused"]
        self._lost = {bytes.fromhex(key) for key in state["lost"]}
