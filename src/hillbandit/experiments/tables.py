"""The tables and how files are written: in full, or not at all."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import StringIO
from pathlib import Path

from hillbandit.experiments.plan import Cell
from hillbandit.experiments.results import ENDING_COLUMNS, Results, ending_values, paper_cells
from hillbandit.experiments.simulation import Record
from hillbandit.experiments.statistics import Summary

COLUMNS = ("problem", "algorithm", "noise_sd", "resamples", "block_size", "n")
RUN_COLUMNS = (
    *("run", "seed", "evaluations", "solved"),
    *("reading", "k", "further", "checkpoints", "current", "recommended"),
)
"""The last three are of experiment 6: where it looks at a run, and the true values it finds there
of the genome climbed from and of the recommendation."""
SUMMARY_COLUMNS = (
    "mean_evaluations",
    "standard_error",
    "runs",
    "solved",
    "success_low",
    "success_high",
    "ert",
    "median",
)


def write_tables(results: Results, out: Path) -> None:
    """Write runs.csv, summary.csv, readings.csv and endings.csv.

    The last two are removed where an earlier plan left them and this one has no data for them.
    """
    for name in ("readings.csv", "endings.csv"):
        (out / name).unlink(missing_ok=True)
    plan, summaries = results.plan, results.summaries
    cells = paper_cells(plan)
    write_csv(out / "runs.csv", (*COLUMNS, *RUN_COLUMNS), run_rows(results))
    write_csv(
        out / "summary.csv",
        (*COLUMNS, *SUMMARY_COLUMNS),
        ((*columns(cell), *summary_values(summaries[cell])) for cell in cells),
    )
    variants = [
        cell
        for name in ("readings", "noisy-royal-road")
        for cell in plan.cells.get(name, ())
        if name == "readings" or cell.k != 0.5
    ]
    if variants:
        write_csv(
            out / "readings.csv",
            ("reading", "k", *COLUMNS, *SUMMARY_COLUMNS),
            (
                (cell.reading, f"{cell.k:g}", *columns(cell), *summary_values(summaries[cell]))
                for cell in variants
            ),
        )
    if plan.cells.get("endings"):
        write_csv(
            out / "endings.csv",
            (*COLUMNS, "budget", *ENDING_COLUMNS),
            (
                (
                    *columns(cell),
                    budget,
                    *(f"{value:.4f}" for value in ending_values(results, cell, at)),
                )
                for cell in plan.cells["endings"]
                for at, budget in enumerate(cell.checkpoints)
            ),
        )


def run_rows(results: Results) -> Iterator[tuple[str | int, ...]]:
    """Give every run of every experiment, those made to look again at a cell after its others."""
    for cell, records in results.records.items():
        further = results.further.get(cell, [])
        for run, record in enumerate([*records, *further]):
            yield (
                *columns(cell),
                run,
                cell.seed(results.plan.seed, run),
                *_evaluations_and_solved(cell, record),
                cell.reading,
                f"{cell.k:g}",
                int(run >= len(records)),
                *_looks(cell, record),
            )


def _evaluations_and_solved(cell: Cell, record: Record) -> tuple[int, int]:
    """Give the evaluations up to the first hit, or all if there was none, and whether there was."""
    if not cell.checkpoints:
        return record[0], record[1]
    return record[0] or cell.budget, int(record[0] > 0)


def _looks(cell: Cell, record: Record) -> Iterator[str]:
    """Give the checkpoints, and the two values at each; nothing of a run that ends with a hit."""
    looks = len(cell.checkpoints)
    yield " ".join(map(str, cell.checkpoints))
    for first in (1, 1 + looks):
        yield " ".join(map(str, record[first : first + looks])) if looks else ""


def columns(cell: Cell) -> tuple[str | int, ...]:
    """Give a cell's columns as the archive of the published results writes them."""
    return (
        cell.problem,
        cell.algorithm,
        f"{cell.noise_sd:g}",
        cell.resamples,
        cell.block_size,
        cell.n,
    )


def summary_values(summary: Summary) -> tuple[str | int, ...]:
    """Give the columns of a summary; empty where there is nothing to say."""

    def shown(value: float | None) -> str:
        return "" if value is None else f"{value:.4f}"

    return (
        shown(summary.mean),
        shown(summary.standard_error),
        summary.runs,
        summary.solved,
        f"{summary.success_low:.4f}",
        f"{summary.success_high:.4f}",
        shown(summary.ert),
        shown(summary.median),
    )


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a table in one go: the file is there in full or as it was before."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    write_text(path, text.getvalue())


def write_text(path: Path, text: str) -> None:
    """Write a file in one go: it is there in full or as it was before."""
    write_whole(path, lambda part: part.write_text(text, encoding="utf-8"))


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` make a file beside `path`, then put it in its place."""
    part = path.with_name(f".{path.name}.part{path.suffix}")
    try:
        write(part)
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)
        raise
