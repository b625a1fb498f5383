"""The statistics, by values worked by hand."""

from __future__ import annotations

import math

import pytest

from hillbandit.experiments.plan import Cell
from hillbandit.experiments.statistics import (
    Summary,
    compare,
    expected_running_time,
    published_results,
    slope,
    standard_error,
    summarise,
    wilson,
    z_score,
)


def test_wilson_is_the_interval_worked_by_hand() -> None:
    # 8 of 10, z = 1.96: centre (0.8 + 0.19207) / 1.38415 = 0.71674,
    # half 1.96 · sqrt(0.016 + 0.0096036) / 1.38415 = 0.22658
    low, high = wilson(8, 10)
    assert low == pytest.approx(0.49016, abs=1e-4)
    assert high == pytest.approx(0.94332, abs=1e-4)


def test_wilson_of_none_and_of_all_ends_at_the_border() -> None:
    # 0 of 100: high = z²/n / (1 + z²/n) = 0.038415 / 1.038415
    low, high = wilson(0, 100)
    assert low == 0.0
    assert high == pytest.approx(0.036994, abs=1e-6)
    low, high = wilson(100, 100)
    assert low == pytest.approx(0.963006, abs=1e-6)
    assert high == 1.0


def test_ert_counts_the_evaluations_of_failed_runs() -> None:
    # (10 + 20 + 30 + 1000 + 1000) / 3 successes
    assert expected_running_time([10, 20, 30, 1000, 1000], [1, 1, 1, 0, 0]) == 2060 / 3
    assert expected_running_time([1000], [0]) is None


def test_the_standard_error_has_n_less_one() -> None:
    # 2, 4, 6: variance (4 + 0 + 4) / 2 = 4, standard error 2 / sqrt(3)
    assert standard_error([2, 4, 6]) == pytest.approx(2 / math.sqrt(3))
    assert standard_error([2]) is None


def test_the_z_score_uses_both_standard_errors() -> None:
    # (2986 - 3226) / sqrt(117² + 44²) = -240 / 125
    assert z_score(2986, 117, 3226, 44) == pytest.approx(-1.92)
    assert z_score(1, 1, 2, None) is None
    assert z_score(None, 1, 2, 1) is None
    assert z_score(1, 0.0, 2, 0.0) is None


def test_a_summary_takes_the_mean_over_solved_runs_and_the_median_over_all() -> None:
    summary = summarise([10, 30, 500, 20, 500], [1, 1, 0, 1, 0])
    assert (summary.runs, summary.solved) == (5, 3)
    assert summary.mean == 20.0
    assert summary.standard_error == pytest.approx(10 / math.sqrt(3))
    assert summary.ert == pytest.approx(1060 / 3)
    assert summary.median == 30.0


def test_the_median_is_unknown_where_it_is_an_unsolved_run() -> None:
    assert summarise([10, 500, 500], [1, 0, 0]).median is None
    _, high = wilson(0, 2)
    assert summarise([500, 500], [0, 0]) == Summary(2, 0, None, None, 0.0, high, None, None)


def test_a_cell_without_runs_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one run"):
        summarise([], [])


def test_the_slope_is_the_exponent_of_a_power_law() -> None:
    assert slope([10, 100, 1000], [5e2, 5e4, 5e6]) == pytest.approx(2.0)


def test_the_published_results_are_all_there_with_their_gaps() -> None:
    rows = published_results()
    assert len(rows) == 312
    assert sum(row.mean is None for row in rows) == 19 + 10 + 9 + 12
    assert [row.cell.label for row in rows if row.mean and row.standard_error is None] == [
        "Royal Road n=64 block 16 bandit"
    ]
    by_cell = {row.cell: row for row in rows}
    cell = Cell("royal_road", "bandit_rmhc", 0.0, 1, 8, 64)
    assert (by_cell[cell].mean, by_cell[cell].standard_error) == (2985.58, 117.3874)


def test_a_comparison_says_whether_all_of_our_runs_succeeded() -> None:
    cell = Cell("onemax", "rmhc", 1.0, 2, 1, 50)
    ours = summarise([3000, 5000, 50_000], [1, 1, 0])
    (row,) = compare({cell: ours, Cell("onemax", "rmhc", 0.0, 1, 1, 7): ours})
    assert row.published.cell == cell
    assert not row.complete
    # 4000 ± 1000 against 3624.16 ± 280.4867
    assert row.z == pytest.approx(375.84 / math.hypot(1000, 280.4867))
