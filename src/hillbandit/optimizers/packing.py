"""Arrays as text, for states that are JSON: little-endian bytes in base64, so nothing is rounded.

A state may hold a hundred thousand genomes or a covariance of a million numbers. As lists of
numbers they would take a hundred times as long to write and to read.
"""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def packed(array: ArrayLike, kind: str) -> str:
    """Write an array as text.

    Args:
        array: The numbers, of any shape; the shape is not kept.
        kind: NumPy's name of the type to write them as, with its byte order, as "<f8".
    """
    return base64.b64encode(np.asarray(array, dtype=kind).tobytes()).decode("ascii")


def unpacked(text: str, kind: str) -> NDArray[Any]:
    """Read what `packed` wrote, as a flat array.

    Args:
        text: The text.
        kind: The type that it was written as.
    """
    return np.frombuffer(base64.b64decode(text), dtype=kind)
