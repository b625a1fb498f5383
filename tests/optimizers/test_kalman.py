from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

import hillbandit as hb
from hillbandit.optimizers import register
from hillbandit.optimizers.belief import DenseBelief, DiagonalBelief, Floats, Layout
from hillbandit.optimizers.kalman import DENSE_AT_MOST
from hillbandit.problems import BestValues, DeceptiveTrap, OneMax, Problem, RoyalRoad
from hillbandit.space import Genome
from hillbandit.testing import OptimizerConformance

MIXED = hb.Space.unnamed([2, 3, 1, 4, 40])


class TestKalmanClimberThatReusesNothingKnown(OptimizerConformance):
    """In spaces too small for that, "avoid" has nothing left: the suite's spaces are larger."""

    def make(self, space: hb.Space, *, noisy: bool, seed: int | None) -> hb.Optimizer:
        return hb.KalmanClimber(
            space, noisy=noisy, seed=seed, duplicates="avoid" if space.size > 500 else "reevaluate"
        )


@register
class VariancesOnly(hb.KalmanClimber):
    """The belief of large spaces in small ones."""

    name = "variances_only"

    def _new_belief(self) -> DiagonalBelief:
        return DiagonalBelief(Layout(self.space, whole=True))


class TestVariancesOnly(OptimizerConformance):
    def make(self, space: hb.Space, *, noisy: bool, seed: int | None) -> hb.Optimizer:
        return VariancesOnly(space, noisy=noisy, seed=seed)


# --- the belief -----------------------------------------------------------------------------------


def design(layout: Layout, genome: Genome) -> Floats:
    """One column for each value but the first of each gene, by the definition of the weights."""
    row = [
        1.0 if genome[gene] == value else 0.0
        for gene in layout.genes
        for value in range(1, int(MIXED.sizes[gene]))
    ]
    return np.array(row)


def block_prior(layout: Layout) -> Floats:
    sizes = MIXED.sizes[layout.genes] - 1
    prior = np.zeros((sizes.sum(), sizes.sum()))
    start = 0
    for size in sizes:
        prior[start : start + size, start : start + size] = 0.5 + 0.5 * np.eye(size)
        start += size
    return prior


def test_the_belief_is_that_of_a_bayesian_linear_regression() -> None:
    """The climber's moves change nothing: all is relative to value 0 of every gene."""
    rng = np.random.default_rng(1)
    layout = Layout(MIXED)
    belief = DenseBelief(layout)
    belief.start(1.0, 1.0)
    current = MIXED.sample(rng)
    first = 3.0
    belief.mu[-1] = first
    rows, values = [design(layout, current)], [first]
    x0 = design(layout, current)
    for step in range(60):
        genome = current.copy()
        for gene in rng.choice([0, 1, 3, 4], 2, replace=False):
            genome[gene] = rng.integers(MIXED.sizes[gene])
        value = float(rng.normal())
        forecast = belief.forecast(layout.mutable(current), layout.mutable(genome))
        total = forecast.variance + 1.0
        belief.update(forecast, value - forecast.mean, total)
        rows.append(design(layout, genome))
        values.append(value)
        if step % 3 == 0:
            belief.move(forecast, belief.gain(forecast), 1.0 / total)
            current = genome
    # the prior of b is independent of the weights: b = first ± 1, a genome's value b + (x - x0) w
    prior = block_prior(layout)
    moved = np.array(rows[1:]) - x0
    big = np.zeros((len(x0) + 1, len(x0) + 1))
    big[:-1, :-1], big[-1, -1] = prior, 1.0
    h = np.hstack((moved, np.ones((len(moved), 1))))
    precision = np.linalg.inv(big) + h.T @ h
    covariance = np.linalg.inv(precision)
    mean = covariance @ (h.T @ np.array(values[1:]) + np.linalg.inv(big) @ np.eye(len(big))[-1] * 3)
    np.testing.assert_allclose(belief.mu[:-1], mean[:-1], atol=1e-9)
    np.testing.assert_allclose(belief.P[:-1, :-1], covariance[:-1, :-1], atol=1e-9)
    here = np.append(design(layout, current) - x0, 1.0)
    np.testing.assert_allclose(belief.mu[-1], here @ mean, atol=1e-9)
    np.testing.assert_allclose(belief.P[-1, -1], here @ covariance @ here, atol=1e-9)
    np.testing.assert_allclose(belief.P[-1, :-1], (covariance @ here)[:-1], atol=1e-9)


@pytest.mark.parametrize("kind", [DenseBelief, DiagonalBelief])
def test_widening_by_g_adds_g_to_the_variance_of_every_difference(kind: Any) -> None:
    belief = kind(Layout(MIXED, whole=kind is DiagonalBelief))
    belief.start(2.0, 0.0)
    belief.widen(np.array([1.0, 2.0, 3.0, 4.0]))
    expected = {0: 3.0, 1: 4.0, 3: 5.0, 4: 6.0}
    rng = np.random.default_rng(2)
    for _ in range(50):
        x, y = MIXED.sample(rng), MIXED.sample(rng)
        forecast = belief.forecast(belief.layout.mutable(x), belief.layout.mutable(y))
        changed = [gene for gene in range(5) if x[gene] != y[gene]]
        assert forecast.variance == pytest.approx(sum(expected[gene] for gene in changed))


@pytest.mark.parametrize("kind", [DenseBelief, DiagonalBelief])
def test_gains_are_the_forecasts_of_changes_of_one_gene(kind: Any) -> None:
    layout = Layout(MIXED, whole=kind is DiagonalBelief)
    belief = kind(layout)
    belief.start(1.0, 0.0)
    rng = np.random.default_rng(3)
    x = layout.mutable(MIXED.sample(rng))
    for _ in range(40):
        y = layout.mutable(MIXED.sample(rng))
        forecast = belief.forecast(x, y)
        belief.update(forecast, rng.normal(), forecast.variance + 1.0)
    mean, variance = belief.gains(x)
    seen = set()
    for place in range(layout.weights):
        gene = int(layout.gene_of[place])
        value = int(layout.values(np.array([place]), x)[0])
        if mean[place] == -math.inf:
            assert layout.value_of[place] == x[gene]
            continue
        y = x.copy()
        y[gene] = value
        seen.add((gene, value))
        forecast = belief.forecast(x, y)
        assert forecast.variance == pytest.approx(float(variance[place]))
        assert forecast.gains.sum() == pytest.approx(float(mean[place]))
        assert belief.predicted(x, y) == pytest.approx(forecast.mean)
    assert len(seen) == sum(int(size) - 1 for size in MIXED.sizes)


def test_a_first_step_worked_by_hand() -> None:
    """One bit, noisy: b = 2 ± 1 and w = 0 ± 1; the other value observed as 5 has V = 2, R = 1."""
    optimizer = hb.KalmanClimber(hb.Space.binary(1), noisy=True, start=[0], seed=1)
    optimizer.tell(optimizer.ask(), 2.0)
    trial = optimizer.ask()
    assert trial.genome.tolist() == [1]
    optimizer.tell(trial, 5.0)
    # innovation 3, S = 3, c = (1, 1): w = 1, b = 3, then the child is kept: b = 4
    np.testing.assert_allclose(optimizer._belief.mu, [1.0, 4.0])
    assert optimizer.current.tolist() == [1]
    # the first innovation is one standard deviation by definition: s2 = 9/3
    assert optimizer._filter.s2 == pytest.approx(3.0)


def test_a_noise_free_step_worked_by_hand() -> None:
    """Two bits: the first difference, 3, is the unit; the bit is then known exactly."""
    optimizer = hb.KalmanClimber(hb.Space.binary(2), start=[0, 0], seed=1)
    optimizer.tell(optimizer.ask(), 1.0)
    trial = optimizer.ask()
    optimizer.tell(trial, 4.0)
    (gene,) = np.flatnonzero(trial.genome).tolist()
    report = optimizer.explain()
    assert report[gene].rescue == pytest.approx(-3.0)
    assert report[gene].explore == pytest.approx(0.0, abs=1e-5)
    assert report[1 - gene].rescue == 0.0
    assert report[1 - gene].explore == pytest.approx(3.0)
    assert [gene_report.mutations for gene_report in report] == [int(gene == 0), int(gene == 1)]


# --- the search -----------------------------------------------------------------------------------


def hitting_time(problem: Problem, noisy: bool, seed: int) -> int:
    optimizer = hb.KalmanClimber(problem.space, noisy=noisy, seed=seed)
    rng = np.random.default_rng([seed, 1])
    while not problem.is_solved(optimizer.current) or not optimizer.evaluations:
        trial = optimizer.ask()
        optimizer.tell(trial, problem.true_value(trial.genome) + noisy * rng.standard_normal())
        assert optimizer.evaluations < 300 * len(problem.space)
    return optimizer.evaluations


@pytest.mark.parametrize(
    ("problem", "noisy", "mean", "error"),
    [
        (OneMax(100), False, 88.5, 0.5),
        (OneMax(50), True, 85.4, 1.3),
        (RoyalRoad(64, 4), False, 282.4, 3.2),
    ],
)
def test_it_needs_as_many_evaluations_as_the_research_prototype(
    problem: Problem, noisy: bool, mean: float, error: float
) -> None:
    """Means and standard errors of the compiled prototype; four joint standard errors allowed."""
    times = [hitting_time(problem, noisy, seed) for seed in range(40)]
    own = float(np.std(times, ddof=1)) / len(times) ** 0.5
    assert abs(np.mean(times) - mean) < 4 * math.hypot(own, error)


@pytest.mark.parametrize("noisy", [False, True])
@pytest.mark.parametrize("problem", [OneMax(30), RoyalRoad(16, 4), BestValues(12, 4)])
def test_the_unit_and_the_zero_of_fitness_do_not_matter(problem: Problem, noisy: bool) -> None:
    runs = []
    for scale, offset in ((1.0, 0.0), (1024.0, 4.0)):
        optimizer = hb.KalmanClimber(problem.space, noisy=noisy, seed=4)
        rng = np.random.default_rng(5)
        genomes = []
        for _ in range(150):
            trial = optimizer.ask()
            value = problem.true_value(trial.genome) + noisy * rng.standard_normal()
            optimizer.tell(trial, scale * value + offset)
            genomes.append(trial.genome.tolist())
        runs.append(genomes)
    assert runs[0] == runs[1]


def test_a_kick_leaves_a_local_optimum_and_the_best_is_kept() -> None:
    problem = DeceptiveTrap(9, block_size=3)
    optimizer = hb.KalmanClimber(problem.space, start=[0] * 9, seed=1)
    best = 0.0
    while best < problem.optimum:
        trial = optimizer.ask()
        optimizer.tell(trial, problem(trial.config))
        best = max(best, problem(trial.config))
        assert optimizer.recommend().mean == best
        assert optimizer.evaluations < 1000


@pytest.mark.parametrize("noisy", [False, True])
def test_trials_asked_for_before_anything_is_told_are_different_changes(noisy: bool) -> None:
    optimizer = hb.KalmanClimber(hb.Space.binary(40), noisy=noisy, seed=3)
    trials = [optimizer.ask() for _ in range(8)]
    changes = {tuple(np.flatnonzero(t.genome != trials[0].genome)) for t in trials[1:]}
    assert len(changes) >= 6
    # one gene, or a quarter of them under noise
    assert {len(change) for change in changes} == {10 if noisy else 1}


@pytest.mark.parametrize("noisy", [False, True])
def test_under_noise_avoiding_duplicates_spares_the_second_look_at_home(noisy: bool) -> None:
    problem = OneMax(10)
    optimizer = hb.KalmanClimber(problem.space, noisy=noisy, duplicates="avoid", seed=3)
    seen = set()
    for _ in range(200):
        trial = optimizer.ask()
        seen.add(trial.genome.tobytes())
        optimizer.tell(trial, problem(trial.config))
    assert len(seen) == 200


@pytest.mark.parametrize("noisy", [False, True])
def test_eight_trials_open_at_once_cost_little_more(noisy: bool) -> None:
    problem = OneMax(60)
    counts = []
    for seed in range(8):
        optimizer = hb.KalmanClimber(problem.space, noisy=noisy, seed=seed)
        rng = np.random.default_rng([seed, 2])
        open_trials: list[hb.Trial] = []
        while not problem.is_solved(optimizer.current):
            while len(open_trials) < 8:
                open_trials.append(optimizer.ask())
            trial = open_trials.pop(int(rng.integers(8)))
            optimizer.tell(trial, problem(trial.genome) + noisy * rng.standard_normal())
            assert optimizer.evaluations < 1000
        counts.append(optimizer.evaluations)
    assert np.mean(counts) < (4 if noisy else 3) * 60


def test_earlier_evaluations_teach_the_belief() -> None:
    problem = OneMax(20)
    rng = np.random.default_rng(6)
    optimizer = hb.KalmanClimber(problem.space, seed=6)
    for _ in range(25):
        genome = problem.space.sample(rng)
        optimizer.observe(genome, problem(genome))
    while not problem.is_solved(optimizer.current):
        trial = optimizer.ask()
        optimizer.tell(trial, problem(trial.config))
    assert optimizer.evaluations <= 5


def test_a_start_without_a_value_is_evaluated_before_what_was_told_in_advance_is_used() -> None:
    optimizer = hb.KalmanClimber(hb.Space.binary(4), start=[1, 0, 0, 0], seed=7)
    optimizer.observe([0, 0, 0, 0], 0.0)
    trial = optimizer.ask()
    assert trial.genome.tolist() == [1, 0, 0, 0]
    optimizer.tell(trial, 1.0)
    assert optimizer.explain()[0].rescue == pytest.approx(-1.0)


@pytest.mark.parametrize("duplicates", ["reuse", "avoid"])
def test_nothing_is_evaluated_twice_and_the_run_ends_with_the_space(duplicates: Any) -> None:
    space = hb.Space.unnamed([2, 3, 1, 4])
    optimizer = hb.KalmanClimber(space, duplicates=duplicates, seed=8)
    seen = set()
    for _ in range(space.size):
        trial = optimizer.ask()
        seen.add(tuple(trial.genome.tolist()))
        optimizer.tell(trial, float(trial.genome @ [1, -2, 0, 3]))
    assert len(seen) == space.size
    with pytest.raises(hb.Exhausted, match="every configuration has been evaluated"):
        optimizer.ask()


def test_reuse_is_the_same_run_with_evaluations_spared() -> None:
    problem = RoyalRoad(12, 3)
    runs = []
    for duplicates in ("reevaluate", "reuse"):
        optimizer = hb.KalmanClimber(problem.space, duplicates=duplicates, seed=9)
        distinct: dict[tuple[int, ...], None] = {}
        while len(distinct) < 40:
            trial = optimizer.ask()
            distinct[tuple(trial.genome.tolist())] = None
            optimizer.tell(trial, problem(trial.config))
        runs.append(list(distinct))
        assert optimizer.evaluations == (40 if duplicates == "reuse" else optimizer.evaluations)
    assert runs[0] == runs[1]


def test_where_only_changes_of_two_genes_are_valid_they_are_found() -> None:
    space = hb.Space.binary(12, valid=lambda genome: int(genome.sum()) == 4)
    optimizer = hb.KalmanClimber(space, noisy=True, seed=10)
    weights = np.arange(12)
    for _ in range(150):
        trial = optimizer.ask()
        assert trial.genome.sum() == 4
        optimizer.tell(trial, float(weights @ trial.genome))
    assert weights @ optimizer.recommend().genome >= 34


def test_without_a_valid_neighbour_it_says_so() -> None:
    space = hb.Space.binary(30, valid=lambda genome: int(genome.sum()) in (0, 30))
    optimizer = hb.KalmanClimber(space, start=[0] * 30, seed=11)
    optimizer.tell(optimizer.ask(), 1.0)
    with pytest.raises(hb.Exhausted, match="no valid neighbour"):
        optimizer.ask()


def test_a_start_that_is_dropped_is_replaced() -> None:
    optimizer = hb.KalmanClimber(hb.Space.binary(40), seed=12)
    lost = optimizer.ask()
    optimizer.abandon(lost, retry=False)
    again = optimizer.ask()
    assert not np.array_equal(lost.genome, again.genome)
    optimizer.tell(again, 1.0)
    assert np.array_equal(optimizer.current, again.genome)


@pytest.mark.parametrize("noisy", [False, True])
def test_what_was_dropped_is_not_asked_for_again(noisy: bool) -> None:
    optimizer = hb.KalmanClimber(hb.Space.binary(4), noisy=noisy, seed=12)
    lost = set()
    for _ in range(60):
        trial = optimizer.ask()
        key = tuple(trial.genome.tolist())
        assert key not in lost
        if key[0] == key[1] == 1:
            optimizer.abandon(trial, retry=False)
            lost.add(key)
        else:
            optimizer.tell(trial, float(trial.genome.sum()))
    assert lost


@pytest.mark.parametrize("noisy", [False, True])
@pytest.mark.parametrize("size", [1e300, 1e-300, 0.0])
def test_extreme_and_constant_values_are_survived(noisy: bool, size: float) -> None:
    optimizer = hb.KalmanClimber(hb.Space.unnamed([2, 3, 4]), noisy=noisy, seed=13)
    rng = np.random.default_rng(14)
    for _ in range(80):
        trial = optimizer.ask()
        optimizer.tell(trial, size * float(rng.choice([-1.0, 0.5, 1.0])))
    assert np.isfinite(optimizer._belief.mu).all()
    best = optimizer.recommend()
    assert best.low <= best.mean <= best.high


# --- the answer -----------------------------------------------------------------------------------


def test_under_noise_the_model_recommends_what_was_hardly_evaluated() -> None:
    problem = OneMax(40)
    optimizer = hb.KalmanClimber(problem.space, noisy=True, seed=15)
    rng = np.random.default_rng(16)
    for _ in range(70):
        trial = optimizer.ask()
        optimizer.tell(trial, problem(trial.config) + rng.standard_normal())
    best = optimizer.recommend()
    assert best.basis == "model"
    assert best.evaluations < 10
    assert best.low < problem.true_value(best.config) < best.high
    leaders = optimizer.leaders(4)
    assert len(leaders) == 4
    assert np.array_equal(leaders[0].genome, best.genome)
    assert len({leader.genome.tobytes() for leader in leaders}) == 4


def test_a_genome_evaluated_often_is_recommended_by_its_samples() -> None:
    optimizer = hb.KalmanClimber(hb.Space.unnamed([1, 1]), noisy=True, seed=17)
    for value in range(10):
        optimizer.tell(optimizer.ask(), float(value))
    best = optimizer.recommend()
    assert (best.basis, best.mean, best.evaluations) == ("samples", 4.5, 10)


def test_the_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    inside = 0
    for seed in range(40):
        problem = BestValues(20, 3, seed=seed)
        optimizer = hb.KalmanClimber(problem.space, noisy=True, seed=seed)
        rng = np.random.default_rng([seed, 3])
        for _ in range(150):
            trial = optimizer.ask()
            optimizer.tell(trial, problem(trial.config) + rng.standard_normal())
        best = optimizer.recommend()
        inside += best.low <= problem.true_value(best.config) <= best.high
    assert inside >= 33  # a true coverage of 0.95 has it in 99.6 % of all such tests


# --- large spaces ---------------------------------------------------------------------------------


def test_large_spaces_keep_variances_only_in_memory_linear_in_n() -> None:
    n = 20_000
    optimizer = hb.KalmanClimber(hb.Space.binary(n), noisy=True, seed=18)
    assert isinstance(optimizer._belief, DiagonalBelief)
    rng = np.random.default_rng(19)
    before = 0.0
    for _ in range(400):
        trial = optimizer.ask()
        value = float(trial.genome.sum())
        before = before or value
        optimizer.tell(trial, value + rng.standard_normal())
    assert optimizer.current.sum() > before
    assert len(json.dumps(optimizer._belief.state())) < 40 * n
    small = hb.KalmanClimber(hb.Space.binary(DENSE_AT_MOST), seed=1)
    assert isinstance(small._belief, DenseBelief)


def test_variances_alone_solve_many_valued_genes_too() -> None:
    problem = BestValues(15, 4, seed=20)
    optimizer = VariancesOnly(problem.space, seed=20)
    while not problem.is_solved(optimizer.current):
        trial = optimizer.ask()
        optimizer.tell(trial, problem(trial.config))
        assert optimizer.evaluations < 1000


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"duplicates": "sometimes"}, "reevaluate"),
        ({"duplicates": "reuse", "noisy": True}, "noise-free"),
        ({"start": [1, 1]}, "shape"),
    ],
)
def test_bad_options_get_a_sentence(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        hb.KalmanClimber(hb.Space.binary(3), **options)


def test_a_start_that_is_not_valid_and_a_noisy_that_is_no_truth_value_are_refused() -> None:
    space = hb.Space.binary(3, valid=lambda genome: bool(genome[0]))
    with pytest.raises(ValueError, match="not valid"):
        hb.KalmanClimber(space, start=[0, 0, 0])
    with pytest.raises(TypeError, match="True or False"):
        hb.KalmanClimber(space, noisy="yes")  # type: ignore[arg-type]
