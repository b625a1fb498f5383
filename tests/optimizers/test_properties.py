"""Whatever the space, the order of tells and the failures: the books are right."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import hillbandit as hb

sizes = st.lists(st.integers(1, 4), min_size=1, max_size=6)
kinds = st.sampled_from([hb.RMHC, hb.BanditRMHC, hb.OnePlusOneEA])
values = st.floats(-1e6, 1e6, allow_nan=False)


@st.composite
def optimizers(draw: st.DrawFn) -> hb.Optimizer:
    space = hb.Space.unnamed(draw(sizes))
    options: dict[str, Any] = {"resamples": draw(st.sampled_from([None, 1, 2, 3]))}
    if draw(st.booleans()):
        options["restart_after"] = draw(st.integers(1, 5))
    kind = draw(kinds)
    if kind is hb.BanditRMHC:
        options["scale"] = draw(st.sampled_from([1.0, "auto"]))
        options["urgency"] = draw(st.sampled_from(["published", "printed"]))
    optimizer: hb.Optimizer = kind(space, seed=draw(st.integers(0, 2**40)), **options)
    return optimizer


@settings(max_examples=150, deadline=None, derandomize=True)
@given(optimizers(), st.data())
def test_counts_stay_right_in_any_order_with_abandons_in_between(
    optimizer: hb.Optimizer, data: st.DataObject
) -> None:
    open_trials: list[hb.Trial] = []
    told: list[tuple[bytes, float]] = []
    asked = 0
    for action in data.draw(st.lists(st.integers(0, 9), max_size=60)):
        if action < 5 or not open_trials:
            try:
                trial = optimizer.ask()
            except hb.Exhausted:
                assert optimizer.space.size == 1
                continue
            assert trial.number == asked
            asked += 1
            assert (trial.genome >= 0).all()
            assert (trial.genome < optimizer.space.sizes).all()
            open_trials.append(trial)
            continue
        trial = open_trials.pop(data.draw(st.integers(0, len(open_trials) - 1)))
        if action < 8:
            value = data.draw(values)
            optimizer.tell(trial, value)
            told.append((trial.genome.tobytes(), value))
        else:
            optimizer.abandon(trial, retry=action == 8)
    assert optimizer.evaluations == len(told)
    assert [t.number for t in optimizer.outstanding] == sorted(t.number for t in open_trials)
    if told:
        assert optimizer.best_observed.value == max(value for _, value in told)
        best = optimizer.recommend()
        mine = [value for genome, value in told if genome == best.genome.tobytes()]
        assert best.evaluations == len(mine)
        np.testing.assert_allclose(best.mean, np.mean(mine), rtol=1e-9, atol=1e-9)
    state = json.loads(json.dumps(optimizer.state_dict()))
    twin = hb.Optimizer.from_state_dict(optimizer.space, state)
    assert json.dumps(twin.state_dict()) == json.dumps(optimizer.state_dict())


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(1, 12), st.integers(0, 2**32), st.sampled_from([None, 1, 2]), st.data())
def test_m_equal_to_two_is_the_binary_algorithm(
    n: int, seed: int, resamples: int | None, data: st.DataObject
) -> None:
    """Through the general choice of values, which for two values has none to make."""
    weights = data.draw(st.lists(st.integers(-3, 3), min_size=n, max_size=n))

    class General(hb.BanditRMHC):
        def _choose(self) -> dict[int, int]:
            evaluations, scale, genome = self._climb_state()
            gene = self._bandits.most_urgent(evaluations, scale, genome, (), self._rng)
            return {gene: next(iter(self._values(gene)))}

    runs = []
    for kind in (hb.BanditRMHC, General):
        optimizer = kind(hb.Space.uniform(n, 2), resamples=resamples, seed=seed)
        genomes = []
        for _ in range(40):
            trial = optimizer.ask()
            genomes.append(trial.genome.tolist())
            optimizer.tell(trial, float(np.dot(weights, trial.genome)))
        runs.append(genomes)
    assert runs[0] == runs[1]
