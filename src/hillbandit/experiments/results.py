"""All runs of a plan, and what is taken from them for tables, figures and the report."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from hillbandit.experiments.plan import Cell, Plan
from hillbandit.experiments.simulation import Record
from hillbandit.experiments.statistics import Summary

ENDING_COLUMNS = (
    "hit",
    "current_optimal",
    "recommended_optimal",
    "current_quality",
    "recommended_quality",
)


@dataclass(frozen=True, slots=True)
class Results:
    """All runs of a plan, and what they come to."""

    plan: Plan
    records: dict[Cell, list[Record]]
    summaries: dict[Cell, Summary] = field(default_factory=dict)
    """Of all cells whose runs end with the first hit."""
    further: dict[Cell, list[Record]] = field(default_factory=dict)
    """More runs, with seeds of their own, of cells far from the published mean."""
    again: dict[Cell, Summary] = field(default_factory=dict)
    """What these come to."""

    @property
    def runs(self) -> int:
        """How many runs there are in all."""
        return sum(map(len, (*self.records.values(), *self.further.values())))


def paper_cells(plan: Plan) -> list[Cell]:
    """List the cells of first hits with the published urgency: those that have a summary row."""
    return [
        cell
        for cell in plan.distinct
        if not cell.checkpoints and cell.reading == "published" and cell.k == 0.5
    ]


def ending_values(results: Results, cell: Cell, at: int) -> tuple[float, ...]:
    """Say where the runs of a cell stand at a checkpoint, in the order of `ENDING_COLUMNS`."""
    runs, looks = results.records[cell], len(cell.checkpoints)
    current = [run[1 + at] for run in runs]
    recommended = [run[1 + looks + at] for run in runs]

    def share(which: Iterable[bool]) -> float:
        return sum(which) / len(runs)

    return (
        share(0 < run[0] <= cell.checkpoints[at] for run in runs),
        share(value == cell.n for value in current),
        share(value == cell.n for value in recommended),
        sum(current) / len(runs) / cell.n,
        sum(recommended) / len(runs) / cell.n,
    )


def best_resamples(results: Results, algorithm: str) -> dict[int, tuple[int, float]]:
    """Give for each n of noisy OneMax that was solved the r of the lowest ERT, and that ERT."""
    best: dict[int, tuple[int, float]] = {}
    for cell in sorted(results.plan.cells.get("noisy-onemax", ())):
        ert = results.summaries[cell].ert
        if cell.algorithm != algorithm or ert is None:
            continue
        if cell.n not in best or ert < best[cell.n][1]:
            best[cell.n] = cell.resamples, ert
    return dict(sorted(best.items()))


def exploration_cells(results: Results) -> list[Cell]:
    """List the cells of noisy Royal Road in which the bandit has several weights k, by r and k."""
    cells = [c for c in results.plan.cells.get("noisy-royal-road", ()) if c.k != 0.5]
    settings = {replace(cell, k=0.5) for cell in cells}
    cells += [cell for cell in settings if cell in results.summaries]
    return sorted(cells, key=lambda cell: (cell.resamples, cell.k))


def busiest_share(results: Results, cell: Cell) -> float:
    """Give the share of all mutations that went to the busiest tenth of the genes."""
    runs = results.records[cell]
    return sum(run[2] for run in runs) / len(runs) / 1000
