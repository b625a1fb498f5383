"""The search for a new start: where a climb goes on when its own neighbourhood has nothing left."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hillbandit.optimizers.base import Exhausted
from hillbandit.space import ENUMERATE_AT_MOST, RANDOM_STARTS, Genome, Space

NEW_STARTS = 1_000
"""How many random genomes are drawn in search of a wanted one, before all are looked at."""


def new_start(space: Space, rng: np.random.Generator, unwanted: Callable[[Genome], bool]) -> Genome:
    """Draw a valid genome that is wanted, uniformly among them.

    The work is bounded however few genomes are valid: 1,000 draws, and then a look at all of them
    in a space small enough to be enumerated; 10,000 draws in a larger one. What is drawn depends on
    the generator alone, not on what the space remembers of its valid genomes.

    Example:
        >>> import numpy as np, hillbandit as hb
        >>> from hillbandit.optimizers.starts import new_start
        >>> space = hb.Space.binary(2, valid=lambda genome: genome[0] == genome[1])
        >>> new_start(space, np.random.default_rng(0), lambda genome: not genome.any())
        array([1, 1])

    Args:
        space: What is searched.
        rng: Where the randomness comes from.
        unwanted: Says which valid genomes are of no use: evaluated already, say, or failed.

    Raises:
        Exhausted: If every valid genome is unwanted, or none was found that is not.
    """
    small = space.size <= ENUMERATE_AT_MOST
    for _ in range(NEW_STARTS if small or space.valid is None else RANDOM_STARTS):
        genome = space.draw(rng)
        if space.is_valid(genome) and not unwanted(genome):
            return genome
    if small:
        wanted = [genome for genome in space.valid_genomes() if not unwanted(genome)]
        if wanted:
            return wanted[int(rng.random() * len(wanted))]
        which = "configuration" if space.valid is None else "valid configuration"
        raise Exhausted(f"every {which} has been evaluated or has failed")
    if space.valid is None:
        return genome  # nearly everything is known, so knowing this too is no loss
    raise Exhausted(
        f"none of {RANDOM_STARTS:,} random configurations is valid and not yet evaluated or failed"
    )
