"""What the climbers do beyond the contract: scales, restarts, starts, parallel attempts."""

from __future__ import annotations

import json
import pickle
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import hillbandit as hb
from hillbandit.problems import LeadingOnes, OneMax, RoyalRoad


def run(optimizer: Any, objective: Any, evaluations: int) -> list[list[int]]:
    genomes = []
    for _ in range(evaluations):
        trial = optimizer.ask()
        genomes.append(trial.genome.tolist())
        optimizer.tell(trial, objective(trial.genome))
    return genomes


@pytest.mark.parametrize("resamples", [None, 1, 2, 3])
@pytest.mark.parametrize("problem", [OneMax(20), RoyalRoad(20, 4), LeadingOnes(20)])
def test_on_a_learned_scale_f_and_1024_f_plus_4_give_the_same_run(
    resamples: int | None, problem: hb.problems.Problem
) -> None:
    def noisy(genome: Any, numbers: Any) -> float:
        return float(problem(genome) + (0 if resamples is None else int(next(numbers))))

    runs = []
    for factor, offset in ((1, 0), (1024, 4)):
        rng = np.random.default_rng(5)
        numbers = iter(rng.integers(-3, 4, size=400))
        optimizer = hb.BanditRMHC(problem.space, scale="auto", resamples=resamples, seed=3)
        runs.append(
            run(optimizer, lambda g, f=factor, o=offset, s=numbers: f * noisy(g, s) + o, 400)
        )
    assert runs[0] == runs[1]


def test_the_published_scale_is_in_units_of_fitness() -> None:
    problem = OneMax(20)
    plain, scaled = (
        run(
            hb.BanditRMHC(problem.space, seed=3, scale=scale), lambda g, s=scale: s * problem(g), 60
        )
        for scale in (1.0, 8.0)
    )
    assert plain == scaled


def test_a_learned_scale_is_the_mean_size_of_the_differences_that_are_not_zero() -> None:
    optimizer = hb.BanditRMHC(hb.Space.binary(3), scale="auto", start=[0, 0, 0], seed=1)
    for value in (0.0, 4.0, 4.0, 2.0):  # differences 4, 0, -2
        optimizer.tell(optimizer.ask(), value)
    _, scale, _ = optimizer._climb_state()
    assert scale == 3.0


def test_two_values_a_gene_are_the_binary_algorithm_whatever_they_are_called() -> None:
    bits = hb.Space.binary(9)
    named = hb.Space({f"g{i}": ["off", "on"] for i in range(9)})
    problem = RoyalRoad(9, 3)
    for kind in (hb.BanditRMHC, hb.RMHC, hb.OnePlusOneEA):
        assert run(kind(bits, seed=2), problem, 80) == run(kind(named, seed=2), problem, 80)


def test_many_values_a_gene_are_searched_by_what_they_are_worth() -> None:
    space = hb.Space.uniform(12, 5)
    best = np.array([3, 1, 4, 1, 0, 2, 2, 3, 0, 4, 1, 2])
    for seed in range(5):
        optimizer = hb.BanditRMHC(space, seed=seed)
        run(optimizer, lambda genome: float((genome == best).sum()), 12 * 4 + 1)
        # every value of every gene is tried once at the most before all are known
        assert np.array_equal(optimizer.recommend().genome, best)


def test_a_multi_start_climber_leaves_a_local_optimum_and_keeps_the_best() -> None:
    def trap(genome: Any) -> float:
        ones = int(genome.sum())
        return 7.0 if ones == 6 else float(5 - ones)

    space = hb.Space.binary(6)
    single = hb.BanditRMHC(space, start=[0] * 6, seed=1)
    run(single, trap, 3000)
    assert single.recommend().mean == 5.0
    several = hb.BanditRMHC(space, start=[0] * 6, seed=1, restart_after=1000)
    run(several, trap, 3000)
    assert several.recommend().mean == 7.0


def test_noise_free_it_restarts_as_soon_as_every_neighbour_is_worse() -> None:
    space = hb.Space.binary(5)
    optimizer = hb.RMHC(space, start=[1] * 5, seed=1, restart_after=10**6)
    evaluations = 0
    while optimizer.current.all():
        trial = optimizer.ask()
        optimizer.tell(trial, float(trial.genome.sum()))
        evaluations += 1
        assert evaluations < 200
    neighbours = sum(report.mutations > 0 for report in optimizer.explain())
    assert neighbours == 5
    assert optimizer.recommend().mean == 5.0


def test_it_restarts_after_so_many_comparisons_without_a_gain() -> None:
    optimizer = hb.BanditRMHC(hb.Space.binary(30), seed=1, restart_after=4)
    starts = []
    for _ in range(26):
        trial = optimizer.ask()
        starts.append(trial.genome)
        optimizer.tell(trial, 1.0)
    changed = [int((a != b).sum()) for a, b in pairwise(starts)]
    # a start and four comparisons, five times over: every fifth genome is a new random one
    assert [i + 1 for i, count in enumerate(changed) if count > 2] == [5, 10, 15, 20, 25]


def test_what_was_told_in_advance_is_where_the_climb_begins_and_costs_nothing() -> None:
    problem = OneMax(10)
    known = [1, 1, 1, 1, 1, 1, 1, 1, 0, 0]
    optimizer = hb.BanditRMHC(problem.space, seed=1)
    optimizer.observe(known, 8.0)
    for gene in range(8):  # it is known that these must not be changed
        worse = list(known)
        worse[gene] = 0
        optimizer.observe(worse, 7.0)
    run(optimizer, problem, 2)
    assert optimizer.recommend().mean == 10.0
    assert optimizer.evaluations == 2


@pytest.mark.parametrize("kind", [hb.BanditRMHC, hb.KalmanClimber])
def test_a_requested_trial_does_not_undo_the_warm_start(kind: Any) -> None:
    optimizers = [kind(hb.Space.binary(10), seed=1) for _ in range(2)]
    for requested, optimizer in enumerate(optimizers):
        optimizer.observe([1] * 8 + [0] * 2, 8.0)
        for gene in range(8):
            optimizer.observe([int(i != gene) for i in range(8)] + [0] * 2, 7.0)
        if requested:
            optimizer.tell(optimizer.request([0] * 10), 20.0)
    assert run(optimizers[0], OneMax(10), 20) == run(optimizers[1], OneMax(10), 20)


def test_a_given_start_is_the_first_genome() -> None:
    space = hb.Space({"a": [1, 2, 3], "b": ["x", "y", "z"]})
    for kind in (hb.BanditRMHC, hb.RMHC, hb.OnePlusOneEA):
        optimizer = kind(space, start={"a": 3, "b": "y"}, seed=1)
        assert optimizer.current.tolist() == [2, 1]
        assert optimizer.ask().config == {"a": 3, "b": "y"}
        twin = hb.Optimizer.from_state_dict(space, json.loads(json.dumps(optimizer.state_dict())))
        assert np.array_equal(twin.ask().genome, optimizer.ask().genome)


def test_a_gene_without_a_valid_move_passes_its_turn_to_the_next_most_urgent() -> None:
    space = hb.Space.binary(3, valid=lambda genome: bool(genome[0]))
    optimizer = hb.BanditRMHC(space, start=[1, 0, 0], seed=1)
    genomes = run(optimizer, OneMax(3), 8)
    assert all(genome[0] == 1 for genome in genomes)
    assert optimizer.recommend().mean == 3.0
    assert optimizer.explain()[0].mutations == 0


def first_mutations(kind: Any, space: hb.Space, runs: int) -> list[int]:
    """Count how often each gene is the first to be mutated, over runs from all zeros."""
    counts = [0] * len(space)
    for seed in range(runs):
        optimizer = kind(space, start=[0] * len(space), seed=seed)
        optimizer.tell(optimizer.ask(), 0.0)
        counts[int(optimizer.ask().genome.argmax())] += 1
    return counts


@pytest.mark.parametrize("kind", [hb.RMHC, hb.BanditRMHC])
def test_a_gene_with_a_valid_move_keeps_its_turn_when_another_value_is_refused(kind: Any) -> None:
    space = hb.Space.unnamed([3, 2, 2], valid=lambda genome: genome[0] != 2)
    runs = 1500
    counts = first_mutations(kind, space, runs)
    # all genes are as urgent, so each has its turn in a third of the runs: four standard errors
    assert max(abs(count - runs / 3) for count in counts) < 4 * (runs * 2 / 9) ** 0.5


def test_the_values_of_a_gene_that_are_valid_are_equally_likely() -> None:
    space = hb.Space.unnamed([6, 2], valid=lambda genome: genome[0] not in (2, 4))
    runs = 1500
    counts = dict.fromkeys((1, 3, 5), 0)
    for seed in range(runs):
        optimizer = hb.RMHC(space, start=[0, 0], seed=seed)
        optimizer.tell(optimizer.ask(), 0.0)
        value = int(optimizer.ask().genome[0])
        if value:
            counts[value] += 1
    # each has probability 1/2 · 1/3: four standard errors
    assert max(abs(c - runs / 6) for c in counts.values()) < 4 * (runs * 5 / 36) ** 0.5


def test_no_valid_neighbour_is_a_stated_reason_to_stop() -> None:
    space = hb.Space.binary(4, valid=lambda genome: genome.sum() in (0, 4))
    for kind in (hb.BanditRMHC, hb.RMHC):
        optimizer = kind(space, seed=1)
        optimizer.tell(optimizer.ask(), 1.0)
        with pytest.raises(hb.Exhausted, match="no valid neighbour"):
            optimizer.ask()
    restarting = hb.BanditRMHC(space, seed=1, restart_after=5)
    run(restarting, OneMax(4), 40)
    assert restarting.recommend().mean == 4.0


@pytest.mark.parametrize("duplicates", ["avoid", "reuse"])
def test_nothing_is_evaluated_twice_and_every_configuration_once(duplicates: Any) -> None:
    space = hb.Space.unnamed([11, 11, 2])

    def bowl(genome: Any) -> float:
        return -float((genome[0] - 7) ** 2 + (genome[1] - 4) ** 2 + genome[2])

    for kind in (hb.BanditRMHC, hb.RMHC, hb.OnePlusOneEA):
        optimizer = kind(space, duplicates=duplicates, restart_after=10**9, seed=1)
        genomes = run(optimizer, bowl, space.size)
        assert len({tuple(genome) for genome in genomes}) == space.size
        with pytest.raises(hb.Exhausted, match="every configuration has been evaluated"):
            optimizer.ask()
        assert optimizer.recommend().mean == 0


@pytest.mark.parametrize("duplicates", ["avoid", "reuse"])
def test_a_known_neighbourhood_is_a_stated_end(duplicates: Any) -> None:
    space = hb.Space.binary(4)
    optimizer = hb.BanditRMHC(space, duplicates=duplicates, start=[1] * 4, seed=1)
    run(optimizer, OneMax(4), 5)
    with pytest.raises(hb.Exhausted, match="every neighbour of the genome climbed from"):
        optimizer.ask()
    assert optimizer.current.all()


@pytest.mark.parametrize("problem", [RoyalRoad(16, 4), LeadingOnes(14), OneMax(12)])
def test_reuse_is_the_published_run_without_its_repeated_evaluations(
    problem: hb.problems.Problem,
) -> None:
    for seed in range(10):
        published = hb.BanditRMHC(problem.space, seed=seed)
        sparing = hb.BanditRMHC(problem.space, duplicates="reuse", seed=seed)
        visits = list(map(tuple, run(published, problem, 400)))
        first_visits = list(dict.fromkeys(visits))
        spared = list(map(tuple, run(sparing, problem, len(first_visits) // 2)))
        assert spared == first_visits[: len(spared)]
        assert sparing.evaluations == len(spared)
        # all steps of the published run up to there, less those that were evaluated
        assert sparing.reused == visits.index(spared[-1]) + 1 - len(spared)


def test_without_duplicates_to_avoid_the_run_is_the_published_one() -> None:
    problem = OneMax(40)
    runs = [
        run(hb.BanditRMHC(problem.space, duplicates=duplicates, seed=2), problem, 40)
        for duplicates in ("reevaluate", "avoid")
    ]
    assert runs[0] == runs[1]


def test_all_evaluations_of_a_noisy_comparison_may_be_open_and_told_backwards() -> None:
    for reverse in (False, True):
        optimizer = hb.BanditRMHC(hb.Space.binary(6), resamples=3, start=[0] * 6, seed=1)
        optimizer.tell(optimizer.ask(), 0.0)
        trials = [optimizer.ask() for _ in range(6)]
        assert [int(t.genome.sum()) for t in trials] == [0, 0, 0, 1, 1, 1]
        for trial in reversed(trials) if reverse else trials:
            assert optimizer.current.sum() == 0
            optimizer.tell(trial, float(trial.genome.sum()))
        assert optimizer.current.sum() == 1
        assert optimizer.evaluations == 7


def test_open_trials_change_different_genes_of_the_same_parent() -> None:
    optimizer = hb.BanditRMHC(hb.Space.binary(8), start=[0] * 8, seed=1)
    optimizer.tell(optimizer.ask(), 0.0)
    trials = [optimizer.ask() for _ in range(8)]
    assert sorted(int(t.genome.argmax()) for t in trials) == list(range(8))
    assert all(t.genome.sum() == 1 for t in trials)


def test_siblings_that_gain_after_the_parent_was_replaced_are_united_next() -> None:
    optimizer = hb.BanditRMHC(hb.Space.binary(8), start=[0] * 8, seed=1)
    optimizer.tell(optimizer.ask(), 0.0)
    trials = [optimizer.ask() for _ in range(4)]
    for trial in trials:
        optimizer.tell(trial, 1.0)
    assert optimizer.current.tolist() == trials[0].genome.tolist()
    union = optimizer.ask()
    assert union.genome.tolist() == np.sum([t.genome for t in trials], axis=0).tolist()
    assert all(report.mutations == 1 for report in optimizer.explain() if report.rescue < 0)
    optimizer.tell(union, 4.0)
    assert optimizer.current.sum() == 4


def test_a_sibling_that_loses_after_the_parent_was_replaced_is_still_evidence() -> None:
    optimizer = hb.BanditRMHC(hb.Space.binary(4), start=[0] * 4, seed=1)
    optimizer.tell(optimizer.ask(), 0.0)
    kept, lost = optimizer.ask(), optimizer.ask()
    optimizer.tell(kept, 1.0)
    optimizer.tell(lost, -2.0)
    gene = int(lost.genome.argmax())
    assert optimizer._bandits.sums[2 * gene : 2 * gene + 2] == [2.0, -2.0]
    assert optimizer.current.tolist() == kept.genome.tolist()


def test_children_may_come_back_before_their_parents_first_evaluation() -> None:
    optimizer = hb.BanditRMHC(hb.Space.binary(4), start=[0] * 4, seed=1)
    start, first, second = optimizer.ask(), optimizer.ask(), optimizer.ask()
    optimizer.tell(second, -1.0)
    optimizer.tell(first, 1.0)
    assert optimizer.current.sum() == 0
    optimizer.tell(start, 0.0)
    assert optimizer.current.tolist() == first.genome.tolist()
    assert sorted(report.mutations for report in optimizer.explain()) == [0, 0, 1, 1]


def test_a_start_that_cannot_be_evaluated_is_replaced() -> None:
    optimizer = hb.BanditRMHC(hb.Space.binary(20), seed=1)
    start = optimizer.ask()
    optimizer.abandon(start, retry=False)
    assert not np.array_equal(optimizer.ask().genome, start.genome)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"resamples": 0}, "at least 1"),
        ({"resamples": -2}, "at least 1"),
        ({"resamples": 1.5}, "must be an integer"),
        ({"resamples": True}, "must be an integer"),
        ({"resamples": 2, "noisy": False}, "leave it out, or say noisy=True"),
        ({"noisy": 1}, "True or False"),
        ({"restart_after": 0}, "at least 1"),
        ({"seed": -1}, "must not be negative"),
        ({"seed": 1.0}, "must be an integer"),
        ({"start": [0, 1]}, "3 value indices"),
        ({"k": -1}, "must not be negative"),
        ({"k": "much"}, "must be a number"),
        ({"scale": 0}, "must be positive"),
        ({"scale": "big"}, "must be a number"),
        ({"scale": np.array([1, 2])}, "must be a number"),
        ({"k": np.array([1, 2])}, "must be a number"),
        ({"duplicates": "keep"}, '"reuse" or "avoid"'),
        ({"duplicates": "reuse", "noisy": True}, "noise-free"),
        ({"duplicates": "reuse", "resamples": 2}, "noise-free"),
        ({"urgency": "great"}, '"published" or "printed"'),
        ({"urgency": "printed", "k": 0.5}, "has none"),
    ],
)
def test_bad_options_get_a_sentence(options: dict[str, Any], says: str) -> None:
    with pytest.raises((TypeError, ValueError), match=says):
        hb.BanditRMHC(hb.Space.binary(3), **options)


def test_resamples_alone_imply_noise_and_noise_alone_two_resamples() -> None:
    space = hb.Space.binary(3)
    assert hb.RMHC(space, resamples=3).noisy
    assert hb.RMHC(space, noisy=True).resamples == 2
    assert not hb.RMHC(space).noisy


@pytest.mark.parametrize(
    ("state", "says"),
    [
        (None, "not an optimiser's state"),
        ({"optimizer": "rmhc"}, "not an optimiser's state"),
        ({"optimizer": "rmhc", "format": 1}, "the format 1"),
        ({"optimizer": "rmhc", "format": 2, "sizes": [2]}, "incomplete: it lacks abandoned, again"),
    ],
)
def test_what_is_no_state_gets_a_sentence(state: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        hb.Optimizer.from_state_dict(hb.Space.binary(1), state)


@pytest.mark.parametrize("options", [{"resamples": np.int64(2)}, {"restart_after": np.int64(2)}])
def test_options_that_are_numpy_integers_are_plain_in_the_state(options: dict[str, Any]) -> None:
    space = hb.Space.binary(3)
    for kind in (hb.RMHC, hb.BanditRMHC, hb.OnePlusOneEA):
        optimizer = kind(space, seed=1, **options)
        twin = hb.Optimizer.from_state_dict(space, json.loads(json.dumps(optimizer.state_dict())))
        assert run(twin, OneMax(3), 20) == run(optimizer, OneMax(3), 20)


def test_a_trial_of_another_optimiser_is_refused_even_if_its_genome_is_the_same() -> None:
    one, other = (hb.RMHC(hb.Space.binary(2), start=[0, 0], seed=seed) for seed in (1, 2))
    foreign, own = one.ask(), other.ask()
    with pytest.raises(ValueError, match="not asked of this optimiser: its seed is another"):
        other.tell(foreign, 1.0)
    with pytest.raises(ValueError, match="not asked of this optimiser: its seed is another"):
        other.abandon(foreign)
    other.tell(pickle.loads(pickle.dumps(own)), 1.0)  # one that comes back from a worker is its own
    assert other.evaluations == 1


def test_the_state_does_not_grow_with_evaluations_but_for_the_archive() -> None:
    optimizer = hb.BanditRMHC(hb.Space.binary(12), noisy=True, seed=1)
    sizes = []
    for _ in range(2):
        run(optimizer, OneMax(12), 2001)
        state = optimizer.state_dict()
        sizes.append(len(json.dumps(state)) - len(json.dumps(state["archive"])))
    assert sizes[1] < sizes[0] * 1.1
