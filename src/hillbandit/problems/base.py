"""What a problem is: a function on a space with a known optimum."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from hillbandit.space import Config, Genome, Space


class Problem(ABC):
    """A function to be maximised on unnamed genes, with a known optimum.

    A subclass sets `space` and `optimum`, and defines `_values`.
    """

    space: Space
    optimum: float
    """The highest value."""

    @abstractmethod
    def _values(self, genomes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Evaluate genomes, one a row, without noise."""

    @overload
    def true_value(self, config: Genome) -> float: ...
    @overload
    def true_value(self, config: Any) -> Any: ...
    def true_value(self, config: Config) -> Any:
        """Give the value without noise, of one configuration or of each row of a 2-D array.

        Example:
            >>> import hillbandit as hb
            >>> hb.problems.OneMax(3).true_value([1, 0, 1])
            2.0

        Args:
            config: A genome, or a 2-D array of genomes.

        Raises:
            ValueError: If it does not fit the space.
        """
        array = np.asarray(config)
        if array.ndim == 2:
            return self._values(self._checked_batch(array))
        return float(self._values(self.space.checked(array)[None, :])[0])

    def __call__(self, config: Config) -> Any:
        """Evaluate one configuration, or each row of a 2-D array."""
        return self.true_value(config)

    def is_solved(self, config: Config) -> bool:
        """Tell whether a configuration is an optimum.

        Example:
            >>> import hillbandit as hb
            >>> hb.problems.OneMax(3).is_solved([1, 1, 1])
            True

        Args:
            config: A genome.

        Raises:
            ValueError: If it does not fit the space.
        """
        return bool(self.true_value(config) >= self.optimum)

    def _checked_batch(self, array: NDArray[Any]) -> NDArray[np.int64]:
        if array.shape[1] != len(self.space):
            raise ValueError(
                f"A batch for this problem has {len(self.space)} columns, not {array.shape[1]}."
            )
        if not (np.issubdtype(array.dtype, np.integer) or array.dtype == np.bool_):
            raise ValueError(f"A genome holds integers; those of this batch hold {array.dtype}.")
        genomes: NDArray[np.int64] = array.astype(np.int64)
        if ((genomes < 0) | (genomes >= self.space.sizes)).any():
            raise ValueError("A genome in the batch has a value index that its gene does not have.")
        return genomes
