"""The search for a new start: bounded work, uniform, and true reasons to stop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hillbandit as hb
from hillbandit.optimizers.starts import new_start

NAMES = ["bandit_rmhc", "rmhc", "one_plus_one", "kalman"]


class AllOrNothing:
    """Refuses all genomes but two, and counts how often it is asked."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, genome: Any) -> bool:
        self.calls += 1
        return bool(genome.all() or not genome.any())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n", [4, 12, 15])
def test_where_few_genomes_are_valid_each_is_found_with_bounded_work(name: str, n: int) -> None:
    valid = AllOrNothing()
    space = hb.Space.binary(n, valid=valid)
    result = hb.maximize(lambda c: float(c.sum()), space, budget=50, optimizer=name, seed=1)
    assert result.evaluations == 2
    assert result.recommended.mean == n
    reason = "exhausted: every valid configuration has been evaluated or has failed"
    assert result.stopped_because == reason
    # draws for the first start and for two new ones, and the whole space once
    assert valid.calls < 2**n + 20_000


@pytest.mark.parametrize("name", NAMES)
def test_in_a_space_too_large_to_enumerate_the_search_ends_after_10_000_draws(name: str) -> None:
    valid = AllOrNothing()
    space = hb.Space.binary(40, valid=valid)
    result = hb.maximize(
        lambda c: float(c.sum()), space, budget=50, optimizer=name, start=[0] * 40, seed=1
    )
    assert result.evaluations == 1
    assert "none of 10,000 random configurations is valid and not yet" in result.stopped_because
    assert valid.calls < 15_000


def test_a_new_start_is_uniform_over_the_valid_genomes_that_are_wanted() -> None:
    space = hb.Space.unnamed([3, 4, 2], valid=lambda genome: genome.sum() == 3)
    wanted = [g.tolist() for g in space.genomes() if g.sum() == 3 and g[0] != 1]
    rng = np.random.default_rng(0)
    draws = 2000
    found = [new_start(space, rng, lambda g: g[0] == 1).tolist() for _ in range(draws)]
    share = 1 / len(wanted)
    error = (draws * share * (1 - share)) ** 0.5
    assert all(abs(found.count(genome) - draws * share) < 5 * error for genome in wanted)


def test_a_new_start_does_not_depend_on_what_the_space_remembers() -> None:
    def valid(genome: Any) -> bool:
        return bool(genome[:13].all())

    fresh, used = hb.Space.binary(16, valid=valid), hb.Space.binary(16, valid=valid)
    assert len(list(used.valid_genomes())) == 8
    for seed in range(20):
        starts = [
            new_start(space, np.random.default_rng(seed), lambda g: bool(g[-1]))
            for space in (fresh, used)
        ]
        assert starts[0].tolist() == starts[1].tolist()


def test_the_valid_genomes_are_remembered_in_their_order() -> None:
    asked = []

    def valid(genome: Any) -> bool:
        asked.append(genome.tolist())
        return bool(genome.sum() % 3 == 0)

    space = hb.Space.unnamed([3, 1, 4, 2], valid=valid)
    expected = [g.tolist() for g in space.genomes() if g.sum() % 3 == 0]
    for _ in range(2):
        assert [g.tolist() for g in space.valid_genomes()] == expected
    assert len(asked) == space.size


@pytest.mark.parametrize("kind", [hb.BanditRMHC, hb.RMHC, hb.OnePlusOneEA, hb.KalmanClimber])
def test_where_every_configuration_failed_none_is_said_to_be_evaluated(kind: Any) -> None:
    optimizer = kind(hb.Space.binary(3), seed=1)
    for _ in range(8):
        optimizer.abandon(optimizer.ask(), retry=False)
    with pytest.raises(hb.Exhausted, match="every configuration has been evaluated or has failed"):
        optimizer.ask()
