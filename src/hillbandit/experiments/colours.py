"""The colours of the figures.

A colour means the same thing in every figure: the two algorithms have one each, the number of
resamples r one scale, and the block size another. All can be told apart without seeing red and
green; series of a scale have different markers too.
"""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib as mpl

ALGORITHM_COLOURS = {"rmhc": "#0072B2", "bandit_rmhc": "#D55E00"}
RESAMPLES_PLACES = {1: 0.0, 2: 0.22, 3: 0.4, 4: 0.56, 5: 0.72, 10: 0.88}
"""Where on their colour scale the paper's numbers of resamples stand."""
BLOCK_PLACES = {2: 0.18, 4: 0.35, 8: 0.53, 16: 0.7, 32: 0.88}
"""Where on theirs the paper's block sizes stand."""
OTHER_COLOURS = ("#8C510A", "#E7298A", "#000000", "#56B4E9", "#A6761D", "#7F7F7F", "#B2182B")
"""For values that the paper does not have, in their order."""


def resamples_colour(r: int, among: Sequence[int] = ()) -> str:
    """Give the colour that stands for r resamples in every figure of a plan.

    Args:
        r: The number of resamples.
        among: All of the plan's, by which one that the paper does not have finds its colour.
    """
    return _colour(r, among, RESAMPLES_PLACES, "viridis")


def block_colour(block: int, among: Sequence[int] = ()) -> str:
    """Give the colour that stands for a block size in every figure of a plan.

    Args:
        block: The block size.
        among: All of the plan's, by which one that the paper does not have finds its colour.
    """
    return _colour(block, among, BLOCK_PLACES, "plasma")


def _colour(value: int, among: Sequence[int], places: dict[int, float], scale: str) -> str:
    if value in places:
        return mpl.colors.to_hex(mpl.colormaps[scale](places[value]))
    others = sorted({other for other in among if other not in places} | {value})
    return OTHER_COLOURS[others.index(value) % len(OTHER_COLOURS)]
