"""The figures, also of plans that the paper does not have."""

from __future__ import annotations

import itertools
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

from hillbandit.experiments.colours import block_colour, resamples_colour
from hillbandit.experiments.figures import (
    draw_all,
    noisy_onemax,
    royal_road,
    theory_figure,
)
from hillbandit.experiments.plan import BLOCKS, RESAMPLES, Cell, Options, make_plan
from tests.experiments.test_report import as_published, results_like


def distance(one: str, other: str) -> float:
    pair = (np.array(mpl.colors.to_rgb(colour)) for colour in (one, other))
    return float(np.linalg.norm(next(pair) - next(pair)))


@pytest.mark.parametrize("several", [RESAMPLES, (4, 5, 6, 9, 10), (5, 12, 20, 50, 100)])
def test_no_two_numbers_of_resamples_look_alike(several: tuple[int, ...]) -> None:
    colours = [resamples_colour(r, several) for r in several]
    assert min(distance(*pair) for pair in itertools.combinations(colours, 2)) > 0.15


def test_no_two_block_sizes_look_alike() -> None:
    several = (*BLOCKS, 64, 128, 3)
    colours = [block_colour(block, several) for block in several]
    assert min(distance(*pair) for pair in itertools.combinations(colours, 2)) > 0.15


def test_what_the_paper_has_keeps_its_colour_whatever_else_there_is() -> None:
    for r in RESAMPLES:
        assert resamples_colour(r, (r, 7, 12)) == resamples_colour(r)


def test_the_axis_of_noisy_onemax_reaches_as_far_as_its_lines() -> None:
    plan = make_plan(Options(only=["onemax"], n=[50, 100, 1000], repeats=2))
    noisy = make_plan(Options(only=["noisy-onemax"], n=[10, 50, 100], repeats=2))
    plan.cells.update(noisy.cells)
    results = results_like(as_published, type(plan)(plan.cells, 2, 1))
    for axes in noisy_onemax(results).axes:
        assert {10, 50, 100, 1000} <= set(axes.get_xticks())


@pytest.mark.parametrize("largest", [500, 2000, 20_000])
def test_theory_is_drawn_as_far_as_there_are_points(largest: int) -> None:
    plan = make_plan(Options(only=["1", "7"], n=[50, largest], repeats=2))
    results = results_like(lambda cell, _: 5.0 * cell.n, plan)
    left = theory_figure(results).axes[0]
    assert left.get_xlim()[1] >= largest
    line = left.lines[0]
    assert np.max(np.asarray(line.get_xdata(), dtype=float)) >= largest


def test_the_panel_of_the_best_r_has_the_measured_ones() -> None:
    plan = make_plan(Options(only=["2", "7"], n=[50, 100], repeats=2))
    results = results_like(lambda c, _: 9.0 if c.resamples == 4 else 90.0, plan)
    right = theory_figure(results).axes[2]
    points = right.lines[1]
    assert list(np.asarray(points.get_xdata())) == [50, 100]
    assert list(np.asarray(points.get_ydata())) == [4, 4]


def test_the_key_says_which_blocks_only_the_authors_solved() -> None:
    results = results_like(as_published, make_plan(Options(only=["3"], repeats=2)))
    failed = results.summaries[Cell("royal_road", "rmhc", 0.0, 1, 32, 64)]
    for cell in results.plan.cells["royal-road"]:
        if cell.block_size == 16:
            results.summaries[cell] = failed
    (key,) = royal_road(results).legends
    labels = [text.get_text() for text in key.get_texts()]
    assert "block 8" in labels
    assert "block 16 (published only)" in labels
    assert "block 32 (never solved)" in labels


def test_far_from_the_papers_grid_every_figure_is_drawn(tmp_path: Path) -> None:
    options = Options(
        only=["1", "2", "3", "4", "7"], n=[12, 3000], blocks=[3, 6], resamples=[7, 5000], repeats=1
    )
    results = results_like(lambda cell, _: 4.0 * cell.n, make_plan(options))
    assert len(draw_all(results, tmp_path)) == 5
