from __future__ import annotations

import math

import numpy as np
import pytest

import hillbandit as hb
from hillbandit.optimizers.urgency import GeneBandits, PrintedBandits

BITS = hb.Space.binary(3)
ANY = np.zeros(3, dtype=np.int64)


def explore(evaluations: int, tries: int) -> float:
    return 0.5 * math.sqrt(math.log(evaluations + 1) / tries)


def test_a_trace_of_six_steps_worked_by_hand() -> None:
    # f = 1·x0 − 2·x1 + 0.5·x2, from 000. Seed 2 breaks the first two ties as genes 0 and 1.
    optimizer = hb.BanditRMHC(BITS, start=[0, 0, 0], seed=2)
    trace = [
        # gene, value,  current, S_0(0), S_0(1), S_1(0), S_1(1), S_2(0), S_2(1), n_0, n_1, n_2
        (0, 1.0, [1, 0, 0], [-1.0, 1.0, 0.0, 0.0, 0.0, 0.0], [2, 1, 1]),  # +1, kept
        (1, -1.0, [1, 0, 0], [-1.0, 1.0, 2.0, -2.0, 0.0, 0.0], [2, 2, 1]),  # −2, rejected
        (2, 1.5, [1, 0, 1], [-1.0, 1.0, 2.0, -2.0, -0.5, 0.5], [2, 2, 2]),  # +0.5, kept
        (2, 1.0, [1, 0, 1], [-1.0, 1.0, 2.0, -2.0, -1.0, 1.0], [2, 2, 3]),  # −0.5, rejected
        (2, 1.0, [1, 0, 1], [-1.0, 1.0, 2.0, -2.0, -1.5, 1.5], [2, 2, 4]),  # −0.5, rejected
        (0, 0.5, [1, 0, 1], [-2.0, 2.0, 2.0, -2.0, -1.5, 1.5], [3, 2, 4]),  # −1, rejected
    ]
    # what each gene's urgency was when the step was chosen, to five digits; T counts from 1
    urgencies = [
        (0.41628, 0.41628, 0.41628),  # 0.5·sqrt(ln 2)
        (-0.12942, 0.52407, 0.52407),  # −1/2 + 0.5·sqrt(ln 3 / 2); 0.5·sqrt(ln 3)
        (-0.08372, -0.58372, 0.58870),  # …, −2/2 + 0.5·sqrt(ln 4 / 2), 0.5·sqrt(ln 4)
        (-0.05147, -0.55147, 0.19853),  # −0.5/2 + 0.5·sqrt(ln 5 / 2) is the greatest
        (-0.02674, -0.52674, 0.05308),  # −1/3 + 0.5·sqrt(ln 6 / 3)
        (-0.00681, -0.50681, -0.02626),  # −1.5/4 + 0.5·sqrt(ln 7 / 4) is less than gene 0's
    ]
    optimizer.tell(optimizer.ask(), 0.0)
    for (gene, value, current, sums, tries), expected in zip(trace, urgencies, strict=True):
        before = optimizer.current
        seen = [report.urgency for report in optimizer.explain()]
        assert seen == pytest.approx(expected, abs=6e-6)
        trial = optimizer.ask()
        assert np.flatnonzero(trial.genome != before).tolist() == [gene]
        optimizer.tell(trial, value)
        assert optimizer.current.tolist() == current
        assert optimizer._bandits.sums == sums
        assert optimizer._bandits.tries == tries


def test_the_terms_are_rescue_and_explore() -> None:
    bandits = GeneBandits(BITS, k=0.5)
    bandits.credit(1, 0, 1, -3.0)
    bandits.credit(1, 0, 1, 1.0)
    # S = (+2, −2), n = 3: −2/3 + 0.5·sqrt(ln 11 / 3)
    assert bandits.urgencies(10, 1.0, ANY)[1] == pytest.approx(-2 / 3 + explore(10, 3))
    assert bandits.urgencies(10, 1.0, ANY)[0] == pytest.approx(explore(10, 1))
    # a scale of 4 makes the same difference count a quarter, in units of fitness
    assert bandits.urgencies(10, 4.0, ANY)[1] == pytest.approx(-2 / 3 + 4 * explore(10, 3))


def test_both_values_get_opposite_credit_whether_or_not_the_child_is_kept() -> None:
    for value in (-5.0, 5.0):
        optimizer = hb.BanditRMHC(hb.Space.binary(1), start=[0], seed=1)
        optimizer.tell(optimizer.ask(), 0.0)
        optimizer.tell(optimizer.ask(), value)
        assert optimizer._bandits.sums == [-value, value]
        assert optimizer._bandits.tries == [2]


def test_exact_ties_are_broken_uniformly() -> None:
    space = hb.Space.binary(5)
    bandits = GeneBandits(space, k=0.5)
    bandits.credit(2, 0, 1, 1.0)  # no longer tied
    rng = np.random.default_rng(1)
    runs = 4000
    genome = np.zeros(5, dtype=np.int64)
    picks = [bandits.most_urgent(7, 1.0, genome, (), rng) for _ in range(runs)]
    counts = np.bincount(picks, minlength=5)
    assert counts[2] == 0
    # each of the four has probability 1/4: five standard errors
    assert np.abs(counts[[0, 1, 3, 4]] - runs / 4).max() < 5 * math.sqrt(runs * 3 / 16)


def test_no_random_number_is_drawn_when_there_is_no_tie() -> None:
    bandits = GeneBandits(BITS, k=0.5)
    for gene, difference in enumerate((-1.0, -2.0, -3.0)):
        bandits.credit(gene, 0, 1, difference)
    rng = np.random.default_rng(1)
    before = rng.bit_generator.state
    assert bandits.most_urgent(7, 1.0, ANY, (), rng) == 0
    assert rng.bit_generator.state == before


def test_busy_genes_are_left_alone_unless_there_are_no_others() -> None:
    bandits = GeneBandits(BITS, k=0.5)
    for gene, difference in enumerate((1.0, 2.0, 3.0)):
        bandits.credit(gene, 0, 1, difference)
    rng = np.random.default_rng(1)
    assert bandits.most_urgent(7, 1.0, ANY, (), rng) == 0
    assert bandits.most_urgent(7, 1.0, ANY, {0}, rng) == 1
    assert bandits.most_urgent(7, 1.0, ANY, {0, 1}, rng) == 2
    assert bandits.most_urgent(7, 1.0, ANY, {0, 1, 2}, rng) == 0


def test_the_next_value_of_a_gene_with_many_is_chosen_by_ucb() -> None:
    space = hb.Space.uniform(1, 4)
    bandits = GeneBandits(space, k=0.5)
    bandits.credit(0, 0, 1, 2.0)
    bandits.credit(0, 0, 2, -1.0)
    bandits.credit(0, 0, 2, -1.0)
    # n = 4, reach = 0.5·sqrt(ln 5) = 0.63432
    #   value 1: S = 2, c = 1:  2/2 + 0.63432/sqrt(2) = 1.44853
    #   value 2: S = −2, c = 2: −2/3 + 0.63432/sqrt(3) = −0.30044
    #   value 3: S = 0, c = 0:  0.63432
    rng = np.random.default_rng(1)
    assert list(bandits.next_values(0, 0, 1.0, rng)) == [1, 3, 2]
    # from the value 1: value 0 has S = −2 + 1 + 1 = 0 and c = 0, so it ties with value 3
    assert sorted(list(bandits.next_values(0, 1, 1.0, rng))[:2]) == [0, 3]


def test_a_gene_of_one_value_is_never_chosen() -> None:
    space = hb.Space.unnamed([1, 2, 1])
    bandits = GeneBandits(space, k=0.5)
    bandits.credit(1, 0, 1, 1e9)
    assert bandits.most_urgent(5, 1.0, ANY, (), np.random.default_rng(1)) == 1
    assert list(bandits.by_urgency(5, 1.0, ANY, np.random.default_rng(1))) == [1]


def test_the_printed_equation_to_the_letter() -> None:
    bandits = PrintedBandits(BITS)
    bandits.credit(0, 0, 1, 3.0)
    bandits.credit(0, 1, 0, -1.0)
    bandits.credit(0, 0, 1, 1.0)
    genome = np.array([1, 0, 0])
    # mean(1) = (3 + 1)/2 = 2, mean(0) = −1; N = 3, N(1) = 2: −2 + sqrt(ln 4 / (2·2))
    assert bandits.urgencies(99, 1.0, genome)[0] == pytest.approx(-2 + math.sqrt(math.log(4) / 4))
    # at the value 0, N(0) = 1: −2 + sqrt(ln 4 / 2)
    genome = np.array([0, 0, 0])
    assert bandits.urgencies(99, 1.0, genome)[0] == pytest.approx(-2 + math.sqrt(math.log(4) / 2))
    assert bandits.urgencies(99, 1.0, genome)[1] == math.inf


@pytest.mark.parametrize("factor", [1e-300, 1e-9, 1.0, 1e9, 1e290])
def test_fitness_of_any_size_gives_a_run_without_nan(factor: float) -> None:
    optimizer = hb.BanditRMHC(hb.Space.binary(8), scale="auto", noisy=True, seed=3)
    for _ in range(200):
        trial = optimizer.ask()
        optimizer.tell(trial, factor * float(trial.genome.sum()))
    assert optimizer.recommend().mean == factor * 8
    assert not any(math.isnan(report.urgency) for report in optimizer.explain())


def test_when_every_difference_is_zero_all_genes_are_mutated_in_turn() -> None:
    optimizer = hb.BanditRMHC(hb.Space.binary(7), scale="auto", seed=3)
    for _ in range(1 + 7 * 20):
        optimizer.tell(optimizer.ask(), 42.0)
    assert [report.mutations for report in optimizer.explain()] == [20] * 7
