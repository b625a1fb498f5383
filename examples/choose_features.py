"""Choose features: which of 30 measurements does a linear model need?

The objective is the error on random validation halves: noisy, and there are a billion masks.

    python examples/choose_features.py           (a few seconds)
    python examples/choose_features.py --quick   (what the tests run)
"""

import sys

import numpy as np
from numpy.typing import NDArray

import hillbandit as hb

FEATURES, ROWS, USEFUL = 30, 120, 8
rng = np.random.default_rng(0)
X = rng.standard_normal((ROWS, FEATURES))
Y = X[:, :USEFUL] @ rng.uniform(0.5, 2.0, USEFUL) + rng.standard_normal(ROWS)


def validation_error(mask: NDArray[np.int64], seed: int) -> float:
    """Fit the chosen columns on a random half, and measure the error on the other."""
    order = np.random.default_rng(seed).permutation(ROWS)
    train, test = order[: ROWS // 2], order[ROWS // 2 :]
    columns = mask.astype(bool)
    weights, *_ = np.linalg.lstsq(X[train][:, columns], Y[train], rcond=None)
    return float(np.sqrt(np.mean((X[test][:, columns] @ weights - Y[test]) ** 2)))


def main() -> None:
    """Minimise the error over masks of the features."""
    budget = 100 if "--quick" in sys.argv else 3000
    space = hb.Space.binary(FEATURES, valid=lambda mask: mask.any())
    result = hb.minimize(validation_error, space, budget=budget, noisy=True, seed=1)
    chosen = np.flatnonzero(result.recommended.config)
    print(result)
    print(f"chosen: {chosen.tolist()}; useful are 0 to {USEFUL - 1}")


if __name__ == "__main__":
    main()
