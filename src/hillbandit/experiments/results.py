"""All runs of a plan, and what is taken from them for tables, figures and the report."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

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


def paper_cells(plan: Plan) -> list[Cell]:
    """List the cells of experiments 1 to 4 with the published urgency: those of the tables."""
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
