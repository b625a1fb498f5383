"""How the Kalman climber learns from a value: predict, be surprised, correct, forget.

The unit of the belief is learned too. Noise-free, P is in fitness², and the first difference that
is not zero sets its size, tau². Under noise, P is in units of the noise variance s2, which is a
running mean over the innovations. All constants are pure numbers.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hillbandit.optimizers.belief import Belief, Forecast

# pairs are (noise-free, noisy)
SURPRISE = (12.0, 16.0)
"""An innovation² beyond this many S is a surprise ..."""
EXCESS = (4.0, 9.0)
"""... and what exceeds this many S goes into the belief as process noise."""
AGAINST = 9.0
"""An innovation² beyond this many S speaks against an additive function."""
WIDEN = 3.0
"""Every gene gets WIDEN·excess/n of it, and those of the child excess/|F| on top."""
DIFFUSE = (0.04, 0.06)
"""Forgetting in n evaluations, as a share of the square of the gene's own effect ..."""
FLOOR = 0.02
"""... and, under noise, of the noise variance."""
MISFIT = 0.05
"""Once a noise-free problem is not additive, sets carry this share of their size as misfit."""
HEAVY = 0.7
"""A surprise where V > HEAVY·k·tau² says that the unit was too small, not that genes interact."""
BURN = 10
"""Under noise the first innovations teach the noise level and are no surprise."""
WINDOW = 4
"""The noise level is a running mean over WINDOW·n evaluations, or BURN where that is more."""
JITTER = 1e-12
"""The variance of a noise-free observation in units of tau², for the numerics only."""
LARGEST, SMALLEST = 1e140, 1e-140
"""Differences outside are cut, so that their squares are numbers."""


class Filter:
    """Takes values into a belief, and learns their unit and their noise.

    Args:
        belief: What is learned.
        noisy: Whether values are noisy.
    """

    def __init__(self, belief: Belief, noisy: bool) -> None:
        self.belief = belief
        self.noisy = noisy
        self.n = max(1, belief.layout.n)
        self._surprise, self._excess = SURPRISE[noisy], EXCESS[noisy]
        self._window = max(BURN, WINDOW * self.n)
        self.told = 0
        """T: the values learned from."""
        self.scaled = noisy
        """Whether the unit of the belief is known."""
        self.additive = True
        """Whether nothing has spoken against an additive function yet."""
        self.tau2 = 1.0
        self.R = 1.0 if noisy else 0.0
        self.s2 = 0.0
        """The noise variance learned so far."""
        self.seen = 0
        self.spread = 0.0
        """The same mean of innovation² itself: the noise variance if the belief were certain."""

    @property
    def late(self) -> bool:
        """Whether T > N, when an additive function without noise would be known."""
        return self.told > self.belief.layout.weights + 1

    def begin(self, value: float, count: int) -> None:
        """Begin from a genome whose value is the mean of so many evaluations."""
        self.told = 1
        self.belief.start(1.0, 1.0 / count if self.noisy else 0.0)
        self.belief.mu[-1] = value

    def take(self, forecast: Forecast, value: float, count: int = 1) -> tuple[float, float, float]:
        """Update the belief with the mean of some evaluations of the forecast's child.

        Returns:
            The unit of P in fitness², the innovation in standard deviations, and (R + misfit)/S.
        """
        self.told += 1
        innovation = _cut(value - forecast.mean)
        k = max(1, len(forecast.genes))
        if not self.scaled and innovation:
            self._set_unit(innovation, forecast, k)
        noise = self.R / count
        unit = 1.0
        if self.noisy:
            unit = self.s2 or innovation * innovation / (forecast.variance + noise) or SMALLEST
        square = innovation * innovation / unit
        misfit = self._misfit(forecast, k)
        total = forecast.variance + noise + misfit
        z2 = square / (total + JITTER * square) if square else 0.0
        if self.noisy:
            z2 = self._learn_noise(z2, unit, innovation)
        if self._unit_is_too_small(z2, forecast, k):
            if z2 > self._surprise:
                self._rescale(z2, forecast)
                noise = self.R
        elif z2 > AGAINST:
            self.additive = False
            if z2 > self._surprise and self.scaled:
                self._widen(forecast, k, square - self._excess * total)
                misfit = self._misfit(forecast, k)
        total = forecast.variance + noise + misfit + JITTER * square
        if self.scaled and forecast.variance > 0:
            self.belief.update(forecast, innovation, total)
        z = innovation / math.sqrt(unit * total) if innovation else 0.0
        return unit, z, (noise + misfit) / total if total else 0.0

    def _set_unit(self, innovation: float, forecast: Forecast, k: int) -> None:
        """Let the first difference that is not zero say how large effects are."""
        self.tau2 = innovation * innovation / k
        self.R = JITTER * self.tau2
        self.scaled = True
        self.belief.start(self.tau2, 0.0)
        self.belief.renewed(forecast)

    def _misfit(self, forecast: Forecast, k: int) -> float:
        """Give the variance by which a set may differ from its sum; noise-free only."""
        if self.noisy or (self.additive and not self.late):
            return 0.0
        squares = float((forecast.gains * forecast.gains).sum())
        return MISFIT * (k - 1) / k * (squares + forecast.variance)

    def _learn_noise(self, z2: float, unit: float, innovation: float) -> float:
        """Take an innovation into the noise variance; return its square as far as it surprises."""
        early = self.seen < BURN
        usual = z2 if early else min(z2, self._surprise)
        self.seen = min(self.seen + 1, self._window)
        self.s2 += (usual * unit - self.s2) / self.seen
        if z2:
            self.spread += (innovation * innovation * usual / z2 - self.spread) / self.seen
        return min(z2, 1.0) if early else z2

    def _unit_is_too_small(self, z2: float, forecast: Forecast, k: int) -> bool:
        """Tell whether a surprise lies in a direction of which nothing was known yet."""
        return (
            z2 > AGAINST
            and not self.noisy
            and self.additive
            and not self.late
            and forecast.variance > HEAVY * k * self.tau2
        )

    def _rescale(self, factor: float, forecast: Forecast) -> None:
        self.tau2 *= factor
        self.R *= factor
        self.belief.scale(factor)
        self.belief.renewed(forecast)

    def _widen(self, forecast: Forecast, k: int, excess: float) -> None:
        """Put what the belief could not explain into it as process noise."""
        g = np.full(self.belief.layout.n, WIDEN * excess / self.n)
        g[forecast.genes] += excess / k
        self.belief.widen(g)
        self.belief.renewed(forecast)

    def forget(self, unit: float) -> None:
        """Let each effect lose certainty in proportion to its own size."""
        if not self.noisy and self.additive and not self.late:
            return
        ranges = self.belief.ranges()
        g = ranges * ranges
        g *= DIFFUSE[self.noisy] / (unit * self.n)
        if self.noisy:
            g += FLOOR / self.n
        self.belief.widen(g)

    def state(self) -> dict[str, Any]:
        """Write what was learned in plain JSON types."""
        return {name: getattr(self, name) for name in _SCALARS}

    def restore(self, state: dict[str, Any]) -> None:
        """Read what `state` wrote."""
        for name in _SCALARS:
            setattr(self, name, state[name])


_SCALARS = ("told", "scaled", "additive", "tau2", "R", "s2", "seen", "spread")


def _cut(difference: float) -> float:
    """Keep a difference within numbers whose squares are numbers."""
    if abs(difference) < SMALLEST:
        return 0.0
    return min(max(difference, -LARGEST), LARGEST)
