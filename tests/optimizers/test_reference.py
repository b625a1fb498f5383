from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

import hillbandit as hb
from tests.reference import Reference, Values, as_array, noise


def royal_road(values: Values) -> float:
    return float(4 * sum(all(values[i : i + 4]) for i in range(0, len(values), 4)))


@pytest.mark.parametrize("resamples", [None, 1, 2, 5])
@pytest.mark.parametrize("fitness", [sum, royal_road])
@pytest.mark.parametrize("bandit", [True, False])
def test_the_class_makes_the_same_steps_as_the_naive_transcription(
    resamples: int | None, fitness: Callable[[Values], float], bandit: bool
) -> None:
    n = 16
    for seed in range(8):
        theirs, ours = noise(seed), noise(seed)
        sd = 0.0 if resamples is None else 1.0

        def naive(values: Values, stream: Iterator[float] = theirs, sd: float = sd) -> float:
            return float(fitness(values)) + sd * next(stream)

        reference = Reference(n, naive, seed, resamples, bandit)
        kind = hb.BanditRMHC if bandit else hb.RMHC
        optimizer = kind(hb.Space.binary(n), resamples=resamples, seed=seed)
        per_step = 1 if resamples is None else 2 * resamples
        for evaluations in (1, *[per_step] * 150):
            if optimizer.evaluations:
                reference.step()
            for _ in range(evaluations):
                trial = optimizer.ask()
                value = float(fitness(trial.genome.tolist())) + sd * next(ours)
                optimizer.tell(trial, value)
            assert np.array_equal(optimizer.current, as_array(reference.x))
            assert optimizer.evaluations == reference.evaluations
            assert [r.mutations for r in optimizer.explain()] == [t - 1 for t in reference.tries]
        if isinstance(optimizer, hb.BanditRMHC):
            flat = [s for sums in reference.sums for s in sums]
            np.testing.assert_allclose(optimizer._bandits.sums, flat, rtol=1e-9, atol=1e-9)
            urgencies = [reference.urgency(i) for i in range(n)]
            np.testing.assert_allclose([r.urgency for r in optimizer.explain()], urgencies)
