"""The whole reproduction: run what is missing, then write tables, figures and the report."""

from __future__ import annotations

import json
import os
import platform
import shlex
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Protocol

from hillbandit._version import __version__
from hillbandit.experiments.digest import code_digest
from hillbandit.experiments.engines import Engine
from hillbandit.experiments.journal import Journal
from hillbandit.experiments.plan import NAMES, Cell, Plan, Refused, Task
from hillbandit.experiments.results import Results
from hillbandit.experiments.simulation import Record, compile_kernels
from hillbandit.experiments.statistics import FAR, Summary, compare, published_results, summarise
from hillbandit.experiments.tables import write_tables, write_text

PART = 1.0
"""A task is cut to about so many seconds of one core."""
AGAIN = 11
"""A cell far from the published mean is run so many times as often, to tell chance from cause."""


class Progress(Protocol):
    """Shows someone who waits what is going on."""

    def begin(self, work: float, done: float, running: Sequence[Task]) -> None:
        """Say how much work there is, in seconds of one core, how much was found, what is first."""

    def step(self, task: Task, work: float, running: Sequence[Task]) -> None:
        """Say that a task is finished, and which ones are being worked on."""

    def say(self, text: str) -> None:
        """Say what happens now."""


def reproduce(
    plan: Plan,
    folder: str | os.PathLike[str],
    engine: Engine,
    progress: Progress,
    command: Sequence[str] = (),
) -> Path:
    """Run what is missing of a plan, and write everything that comes out of it.

    Tables, figures and the report are of this plan. Those that an earlier one left in the folder
    are written anew or removed; its runs stay in the journal, for when they are asked for again.

    Args:
        plan: What to run.
        folder: Where results go; what an earlier, perhaps interrupted, command left there is used.
        engine: Who runs it.
        progress: Who is told about it.
        command: The command line, for the manifest.

    Returns:
        The path of the report.

    Raises:
        Refused: If the folder belongs to other results or cannot be written, or a worker was lost.
    """
    # not at the top, because figures take a second to import
    from hillbandit.experiments.report import write_report

    session = {
        "command": shlex.join(command),
        "began": datetime.now(UTC).isoformat(timespec="seconds"),
        "engine": engine.name,
        "workers": engine.workers,
    }
    out = Path(folder)
    try:
        with Journal(out, plan.seed, session) as journal:
            runs = dict.fromkeys(plan.distinct, plan.repeats)
            run_missing(runs, plan.seed, journal, engine, progress)
            results = collect(plan, journal)
            doubtful = dict.fromkeys(far_cells(results), AGAIN * plan.repeats)
            run_missing(doubtful, plan.seed, journal, engine, progress)
            for cell, count in doubtful.items():
                results.further[cell] = journal.records(cell, count)[plan.repeats :]
                results.again[cell] = summary(results.further[cell])
            progress.say("Writing tables, figures and the report")
            write_tables(results, out)
            report = write_report(results, out, lambda: manifest(results, journal.sessions_now()))
            journal.end()
            facts = manifest(results, journal.sessions_now())
            write_text(out / "manifest.json", json.dumps(facts, indent=2) + "\n")
        return report
    except OSError as error:
        raise Refused(
            f"{error.filename or out} could not be written: {error.strerror or error}. What is "
            "finished is kept; make room and run the command again to go on where it was."
        ) from None


def run_missing(
    runs: dict[Cell, int], seed: int, journal: Journal, engine: Engine, progress: Progress
) -> None:
    """Run what the journal does not hold yet of so many runs of each cell, long tasks first."""
    tasks = [
        task for cell, count in runs.items() for task in missing_tasks(cell, count, seed, journal)
    ]
    if not tasks:
        return
    work = {task: task.runs * expected_seconds(task.cell) for task in tasks}
    total = sum(count * expected_seconds(cell) for cell, count in runs.items())
    progress.say("Compiling the kernels (some seconds, the first time only)")
    compile_kernels()
    waiting = dict.fromkeys(sorted(tasks, key=lambda task: -work[task]))
    progress.begin(total, total - sum(work.values()), list(waiting)[: engine.workers])
    for task, records in engine.results(list(waiting)):
        journal.add(task, records)
        del waiting[task]
        progress.step(task, work[task], list(waiting)[: engine.workers])


def missing_tasks(cell: Cell, count: int, seed: int, journal: Journal) -> list[Task]:
    """Cut those of so many runs of a cell that the journal does not hold into tasks."""
    tasks = []
    at_most = max(1, int(PART / expected_seconds(cell)))
    run: list[int] = []
    for number in [*journal.missing(cell, count), None]:
        if run and (number is None or number != run[-1] + 1 or len(run) == at_most):
            tasks.append(Task(cell, run[0], len(run), seed))
            run = []
        if number is not None:
            run.append(number)
    return tasks


_PUBLISHED = {row.cell: row.mean for row in published_results()}


def expected_seconds(cell: Cell) -> float:
    """Estimate what one run of a cell costs, for the time left and for dividing the work."""
    if cell.checkpoints:
        return 3e-5 * cell.budget
    mean = _PUBLISHED.get(cell)
    if mean is None and cell.noise_sd == 0 and cell.problem == "onemax":
        mean = 7.0 * cell.n
    evaluations = min(mean or cell.budget, cell.budget)
    steps = evaluations / (2 * cell.resamples if cell.noise_sd else 1)
    if cell.reading != "published":
        nanoseconds = 12.0 * cell.n
    elif cell.algorithm == "rmhc":
        nanoseconds = 45.0 if cell.noise_sd else 8.0
    else:
        nanoseconds = 150.0 if cell.noise_sd else 60.0
    return 1.5e-4 + steps * nanoseconds * 1e-9


def collect(plan: Plan, journal: Journal) -> Results:
    """Take the runs of a plan from the journal and summarise them."""
    records = {cell: journal.records(cell, plan.repeats) for cell in plan.distinct}
    summaries = {cell: summary(runs) for cell, runs in records.items() if not cell.checkpoints}
    return Results(plan, records, summaries)


def summary(runs: Sequence[Record]) -> Summary:
    """Summarise runs that end with the first hit."""
    return summarise([run[0] for run in runs], [run[1] for run in runs])


def far_cells(results: Results) -> list[Cell]:
    """List the cells that are to be looked at again: ours is far from the published mean."""
    return [
        row.published.cell
        for row in compare(results.summaries)
        if row.complete and row.z is not None and abs(row.z) > FAR
    ]


def manifest(results: Results, sessions: list[dict[str, Any]]) -> dict[str, Any]:
    """Say how the results came about; nothing in it names the machine or its user."""
    plan = results.plan
    packages = {}
    for name in ("numpy", "numba", "matplotlib", "distributed"):
        try:
            packages[name] = version(name)
        except PackageNotFoundError:
            continue
    return {
        "hillbandit": __version__,
        "code": code_digest(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "packages": packages,
        "seed": plan.seed,
        "seeds": "of a run: the first 6 bytes of SHA-256 of 'seed|cell|run'; see runs.csv",
        "repeats": plan.repeats,
        "experiments": [NAMES[name] for name in plan.cells],
        "cells": len(plan.distinct),
        "runs": results.runs,
        "duration_seconds": round(sum(session["duration_seconds"] for session in sessions), 1),
        "sessions": sessions,
    }
