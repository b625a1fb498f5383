"""The plan: the paper's grid, sub-grids, and what is refused before anything runs."""

from __future__ import annotations

from collections import Counter

import pytest

from hillbandit.experiments.plan import Cell, Options, Plan, Refused, make_plan
from hillbandit.experiments.statistics import published_results


def test_the_whole_plan_has_every_published_point() -> None:
    cells = set(make_plan(Options()).distinct)
    assert {row.cell for row in published_results()} <= cells


def test_the_grid_is_the_papers() -> None:
    plan = make_plan(Options())
    sizes = {name: len(cells) for name, cells in plan.cells.items()}
    # 2 algorithms: 20 n; 6 r and 21 n; 5 blocks and 5 n
    assert sizes["onemax"] == 40
    assert sizes["noisy-onemax"] == 252
    assert sizes["royal-road"] == 50
    assert plan.repeats == 100
    assert all(cell.budget == 1000 * cell.n for cell in plan.cells["royal-road"])


def test_rmhc_without_resampling_runs_on_the_full_grid_of_noisy_royal_road() -> None:
    cells = make_plan(Options(only=["4"])).cells["noisy-royal-road"]
    archived = [c for c in cells if c.algorithm == "rmhc" and c.resamples == 1]
    assert Counter(c.block_size for c in archived) == dict.fromkeys((2, 4, 8, 16, 32), 5)
    assert len(set(cells)) == len(cells)


def test_experiments_go_by_name_or_number() -> None:
    assert list(make_plan(Options(only=["theory", "1"])).cells) == ["onemax", "theory"]


def test_a_cell_of_two_experiments_is_run_once() -> None:
    plan = make_plan(Options())
    assert len(plan.distinct) == len(set(plan.distinct))
    assert sum(map(len, plan.cells.values())) > len(plan.distinct)


def test_a_sub_grid_may_have_values_that_the_paper_does_not_have() -> None:
    plan = make_plan(
        Options(only=["royal-road", "noisy-onemax"], n=[36, 12], blocks=[3], resamples=[7])
    )
    assert {(c.n, c.block_size, c.resamples) for c in plan.distinct} == {
        (12, 1, 7),
        (36, 1, 7),
        (12, 3, 1),
        (36, 3, 1),
    }


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (Options(n=[100]), "A Royal Road of 100 bits has no blocks of 8"),
        (Options(only=["royal-road"], n=[64], blocks=[7]), "7 does not divide 64"),
        (Options(resamples=[2, 0]), "--resamples must be between 1 and 10,000; 0 is not"),
        (Options(repeats=0), "--repeats must be between 1 and"),
        (Options(n=[]), "--n needs at least one number"),
        (Options(n=[0]), "--n must be between 1 and 65,535; 0 is not"),
        (Options(n=[65_536]), "65536 is not"),
        (Options(blocks=[-2]), "--blocks must be between"),
        (Options(seed=-1), "--seed must not be negative"),
        (Options(only=["nonsense"]), "There is no experiment 'nonsense'; there are onemax"),
        (Options(only=["8"]), "There is no experiment '8'"),
    ],
)
def test_the_impossible_is_refused_with_a_sentence(options: Options, sentence: str) -> None:
    with pytest.raises(Refused) as refused:
        make_plan(options)
    assert sentence in str(refused.value)
    assert str(refused.value).endswith(".") or "1 to 7" in str(refused.value)


def test_seeds_differ_between_runs_cells_and_plans_and_stay_forever() -> None:
    cell = Cell("onemax", "rmhc", 0.0, 1, 1, 50)
    other = Cell("onemax", "rmhc", 0.0, 1, 1, 100)
    seeds = {c.seed(root, run) for c in (cell, other) for root in (1, 2) for run in range(50)}
    assert len(seeds) == 200
    # the first six bytes of SHA-256 of "1|onemax/rmhc/sd=0/r=1/block=1/n=50|0"
    assert cell.seed(1, 0) == 0xC0C548888B69


def test_a_cell_survives_json() -> None:
    for cell in make_plan(Options()).distinct:
        assert Cell.from_dict(cell.as_dict()) == cell


def test_quick_is_a_part_of_the_whole() -> None:
    whole: Plan = make_plan(Options())
    quick = make_plan(Options(quick=True))
    assert set(quick.distinct) <= set(whole.distinct)
    assert list(quick.cells) == list(whole.cells)
    assert quick.repeats < whole.repeats
