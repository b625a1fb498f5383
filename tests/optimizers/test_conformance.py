from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import hillbandit as hb
from hillbandit.optimizers import register
from hillbandit.testing import OptimizerConformance, check_optimizer


class TestRMHC(OptimizerConformance):
    def make(self, space: hb.Space, *, noisy: bool, seed: int | None) -> hb.Optimizer:
        return hb.RMHC(space, noisy=noisy, seed=seed)


class TestBanditRMHC(OptimizerConformance):
    def make(self, space: hb.Space, *, noisy: bool, seed: int | None) -> hb.Optimizer:
        return hb.BanditRMHC(space, noisy=noisy, seed=seed)


class TestBanditRMHCOnALearnedScale(OptimizerConformance):
    def make(self, space: hb.Space, *, noisy: bool, seed: int | None) -> hb.Optimizer:
        return hb.BanditRMHC(space, noisy=noisy, seed=seed, scale="auto")


class TestPrintedUrgency(OptimizerConformance):
    def make(self, space: hb.Space, *, noisy: bool, seed: int | None) -> hb.Optimizer:
        return hb.BanditRMHC(space, noisy=noisy, seed=seed, urgency="printed")


class TestMultiStart(OptimizerConformance):
    def make(self, space: hb.Space, *, noisy: bool, seed: int | None) -> hb.Optimizer:
        return hb.BanditRMHC(space, noisy=noisy, seed=seed, restart_after=15)


class TestOnePlusOneEA(OptimizerConformance):
    def make(self, space: hb.Space, *, noisy: bool, seed: int | None) -> hb.Optimizer:
        return hb.OnePlusOneEA(space, noisy=noisy, seed=seed)


class TestKalmanClimber(OptimizerConformance):
    def make(self, space: hb.Space, *, noisy: bool, seed: int | None) -> hb.Optimizer:
        return hb.KalmanClimber(space, noisy=noisy, seed=seed)


@register
class Forgetful(hb.RMHC):
    """Drops its random generator on the way through JSON."""

    name = "forgetful"

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        self._rng = np.random.default_rng(self.seed)


@register
class Cheating(hb.RMHC):
    """Uses the global generator."""

    name = "cheating"

    def _choose(self) -> dict[int, int]:
        import random

        gene = random.choice(self._mutable)
        return {gene: next(iter(self._values(gene)))}


@pytest.mark.parametrize("broken", [Forgetful, Cheating])
def test_the_suite_catches_an_optimiser_that_breaks_the_contract(
    broken: Callable[..., hb.Optimizer],
) -> None:
    with pytest.raises(AssertionError, match="expected"):
        check_optimizer(broken)
