"""What the report says in words follows from the runs."""

from __future__ import annotations

from hillbandit.experiments.explanations import (
    beside_the_authors_ending,
    which_reading_fits,
    who_solves_noisy_royal_road,
    why_the_bandit_fails,
)
from hillbandit.experiments.plan import Cell, Options, Plan, make_plan
from hillbandit.experiments.results import Results
from hillbandit.experiments.simulation import Record
from hillbandit.experiments.statistics import Published, published_results, summarise
from tests.experiments.test_report import as_published, results_like

PLAN = make_plan(Options(repeats=2))


def road_results(erts: dict[tuple[str, int, float, int], list[Record]], other: Record) -> Results:
    """Make up noisy Royal Road of 64 bits; keys are the algorithm, r, k and block size."""
    plan = make_plan(Options(only=["noisy-royal-road"], repeats=4))
    cells = tuple(cell for cell in plan.cells["noisy-royal-road"] if cell.n == 64)
    records = {
        cell: erts.get((cell.algorithm, cell.resamples, cell.k, cell.block_size), [other] * 4)
        for cell in cells
    }
    summaries = {
        cell: summarise([run[0] for run in runs], [run[1] for run in runs])
        for cell, runs in records.items()
    }
    return Results(Plan({"noisy-royal-road": cells}, 4, 1), records, summaries)


UNSOLVED: Record = [64_000, 0, 990]


def test_what_k_one_half_solves_is_read_from_the_runs() -> None:
    one_in_four: list[Record] = [[500, 1, 900], UNSOLVED, UNSOLVED, UNSOLVED]
    every: list[Record] = [[500, 1, 900]] * 4
    text = who_solves_noisy_royal_road(
        road_results(
            {
                ("bandit_rmhc", 10, 0.5, 2): every,
                ("bandit_rmhc", 10, 0.5, 4): one_in_four,
                ("rmhc", 1, 0.5, 8): every,
            },
            UNSOLVED,
        )
    )
    assert text == (
        "With the r that suits it best and n = 64, the bandit with k = 1/2 solves blocks of 2 in "
        "100% of the runs (r = 10), blocks of 4 in 25% of the runs (r = 10) and blocks of 8, 16 "
        "and 32 never; RMHC solves blocks of 8 in 100% of the runs (r = 1) and blocks of 2, 4, 16 "
        "and 32 never."
    )


def test_a_weight_of_the_size_of_a_block_is_not_said_to_beat_rmhc_when_it_does_not() -> None:
    results = road_results(
        {
            ("bandit_rmhc", 1, 4.0, 4): [[2000, 1, 400], [4000, 1, 400], UNSOLVED, UNSOLVED],
            ("bandit_rmhc", 1, 8.0, 4): [[1000, 1, 200]] * 4,
            ("bandit_rmhc", 1, 16.0, 4): [[1500, 1, 150]] * 4,
            ("bandit_rmhc", 2, 16.0, 4): [[3000, 1, 150]] * 4,
            ("rmhc", 1, 0.5, 4): [[2500, 1]] * 4,
        },
        UNSOLVED,
    )
    why, what = why_the_bandit_fails(results)
    assert why.startswith("**Why the bandit with k = 1/2 does not solve it** (n = 64, blocks of 4")
    assert "gets 99% of all mutations, and with k = 16 15%" in why
    assert "With r = 1 every run is solved from k = 8 on." in what
    assert "With r = 2 every run is solved from k = 16 on." in what
    assert "lowest ERT is 1,000, with k = 8 and r = 1 (RMHC's is 2,500, with r = 1: 2.5" in what
    assert what.endswith("below that of RMHC are k = 8 and 16 with r = 1.")


def test_there_is_no_failure_to_explain_where_every_run_is_solved() -> None:
    (what,) = why_the_bandit_fails(road_results({}, [500, 1, 150]))
    assert "Why" not in what
    assert "every run is solved from k = 0.5 on" in what
    assert "below that of RMHC are none of these k." in what


def readings_text(off: dict[tuple[str, float], float]) -> str:
    """Make up readings that give the published means, times a factor for some of them."""
    published = {row.cell: row for row in published_results()}

    def mean(cell: Cell, row: Published | None) -> float | None:
        if cell not in PLAN.cells["readings"]:
            return as_published(cell, row)
        plain = Cell(*(getattr(cell, name) for name in Cell.__slots__[:6]))
        expected = published[plain].mean
        return None if expected is None else expected * off.get((cell.reading, cell.k), 1.0)

    return " ".join(which_reading_fits(results_like(mean, PLAN)))


def test_only_one_reading_fits_if_the_runs_say_so() -> None:
    wrong = [("printed", 0.5), ("no reverse credit", 0.5), ("logarithm per gene", 0.5)]
    wrong += [("published", k) for k in (0.125, 0.25, 1.0, 2.0)]
    text = readings_text(dict.fromkeys(wrong, 3.0))
    assert "**Only one of 8 fits every column: the reading used here.**" in text
    text = readings_text({("printed", 0.5): 2.6})
    assert "7 of 8 fit every column, so these runs do not tell them apart" in text
    assert "in OneMax n=100, printed; in Royal Road n=64 block 8, printed;" in text
    assert "fits every column" not in text


def test_the_authors_own_ending_is_held_against_ours_and_explained() -> None:
    plan = make_plan(Options(only=["endings"], repeats=4))
    records: dict[Cell, list[Record]] = {}
    for cell in plan.distinct:
        looks = len(cell.checkpoints)
        right, wrong = [cell.n] * looks, [cell.n - 1] * looks
        records[cell] = [[5, *wrong, *right], [5, *wrong, *right], [0, *wrong, *wrong]]
        records[cell].append([5, *right, *right])
    text = beside_the_authors_ending(Results(plan, records))
    assert text is not None
    assert "97.4 % of the runs had hit the optimum and 6.4 % ended on it" in text
    assert "Here it is 75 % and 25 % after 500 evaluations." in text
    assert "after 250 comparisons are 94.9 % and 6.45 %" in text
