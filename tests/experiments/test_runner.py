"""The runner: the same numbers however they are made, and nothing finished is made twice."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from hillbandit.experiments.engines import Engine, Processes
from hillbandit.experiments.figures import draw_all
from hillbandit.experiments.journal import Journal
from hillbandit.experiments.plan import (
    READINGS,
    Cell,
    Options,
    Plan,
    Refused,
    Task,
    make_plan,
)
from hillbandit.experiments.results import Results
from hillbandit.experiments.runner import (
    collect,
    expected_seconds,
    missing_tasks,
    reproduce,
    run_missing,
)
from hillbandit.experiments.simulation import Record, ending, first_hit, run_task
from hillbandit.experiments.statistics import summarise
from hillbandit.experiments.tables import write_tables

PLAN = make_plan(Options(only=["1", "2", "3"], n=[16, 8], blocks=[2, 4], resamples=[3], repeats=7))


class Silent:
    """A progress display that only remembers."""

    def __init__(self) -> None:
        self.steps = 0
        self.found = 0.0

    def begin(self, work: float, done: float, running: Sequence[Task]) -> None:
        self.found = done / work
        assert running

    def step(self, task: Task, work: float, running: Sequence[Task]) -> None:
        assert work > 0
        assert task not in running
        self.steps += 1

    def say(self, text: str) -> None:
        assert text


class Here:
    """Runs tasks in this process, in the order given or backwards; may fail on the way."""

    name = "here"
    workers = 1

    def __init__(self, backwards: bool = False, fail_after: int | None = None) -> None:
        self.backwards = backwards
        self.fail_after = fail_after

    def results(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, list[Record]]]:
        for number, task in enumerate(tasks[::-1] if self.backwards else tasks):
            if number == self.fail_after:
                raise KeyboardInterrupt
            yield task, run_task(task)

    def close(self) -> None:
        pass


def make_tables(plan: Plan, folder: Path, engine: Engine) -> Silent:
    """Do what `reproduce` does, less the figures, which take their time."""
    progress = Silent()
    with Journal(folder, plan.seed) as journal:
        runs = dict.fromkeys(plan.distinct, plan.repeats)
        run_missing(runs, plan.seed, journal, engine, progress)
        write_tables(collect(plan, journal), folder)
    return progress


def test_the_numbers_do_not_depend_on_who_makes_them_or_when(tmp_path: Path) -> None:
    engines: dict[str, Engine] = {
        "a": Here(),
        "b": Here(backwards=True),
        "c": Processes(1),
        "d": Processes(3),
    }
    for name, engine in engines.items():
        make_tables(PLAN, tmp_path / name, engine)
    first = [(tmp_path / "a" / file).read_bytes() for file in ("runs.csv", "summary.csv")]
    for name in "bcd":
        assert [(tmp_path / name / f).read_bytes() for f in ("runs.csv", "summary.csv")] == first


def test_an_interrupted_command_goes_on_where_it_was(tmp_path: Path) -> None:
    make_tables(PLAN, tmp_path / "straight", Here())
    with pytest.raises(KeyboardInterrupt):
        make_tables(PLAN, tmp_path / "twice", Here(fail_after=5))
    progress = make_tables(PLAN, tmp_path / "twice", Here())
    assert progress.steps == len(PLAN.distinct) - 5
    assert 0 < progress.found < 1
    for name in ("runs.csv", "summary.csv"):
        straight = (tmp_path / "straight" / name).read_text()
        assert (tmp_path / "twice" / name).read_text() == straight


def test_fewer_repeats_are_the_first_of_more(tmp_path: Path) -> None:
    few = Plan(PLAN.cells, 3, 1)
    make_tables(few, tmp_path, Here())
    with (tmp_path / "runs.csv").open() as file:
        before = list(csv.DictReader(file))
    progress = make_tables(PLAN, tmp_path, Here())
    with (tmp_path / "runs.csv").open() as file:
        after = list(csv.DictReader(file))
    assert before == [row for row in after if int(row["run"]) < 3]
    assert progress.found > 0.3


def test_the_tables_hold_every_run_and_the_summary_of_each_cell(tmp_path: Path) -> None:
    reproduce(PLAN, tmp_path, Here(), Silent(), ["hillbandit", "reproduce", "a b"])
    with (tmp_path / "runs.csv").open() as file:
        runs = list(csv.DictReader(file))
    with (tmp_path / "summary.csv").open() as file:
        summaries = list(csv.DictReader(file))
    cell_columns = ["problem", "algorithm", "noise_sd", "resamples", "block_size", "n"]
    assert list(runs[0]) == [
        *(*cell_columns, "run", "seed", "evaluations", "solved"),
        *("reading", "k", "further", "checkpoints", "current", "recommended"),
    ]
    assert list(summaries[0]) == [
        *cell_columns,
        *("mean_evaluations", "standard_error", "runs", "solved"),
        *("success_low", "success_high", "ert", "median"),
    ]
    assert len(runs) == 7 * len(PLAN.distinct)
    assert len(summaries) == len(PLAN.distinct)
    row = next(r for r in runs if r["noise_sd"] == "1" and r["algorithm"] == "bandit_rmhc")
    cell = Cell("onemax", "bandit_rmhc", 1.0, 3, 1, int(row["n"]))
    assert first_hit(cell, int(row["seed"]))[:2] == [int(row["evaluations"]), int(row["solved"])]
    same = [r for r in runs if all(r[c] == row[c] for c in cell_columns)]
    expected = summarise([int(r["evaluations"]) for r in same], [int(r["solved"]) for r in same])
    found = next(s for s in summaries if all(s[c] == row[c] for c in cell_columns))
    assert float(found["mean_evaluations"]) == pytest.approx(expected.mean, abs=1e-4)
    assert float(found["ert"]) == pytest.approx(expected.ert, abs=1e-4)
    assert found["runs"] == found["solved"] == "7"
    facts = json.loads((tmp_path / "manifest.json").read_text())
    (session,) = facts["sessions"]
    assert session["command"] == "hillbandit reproduce 'a b'"
    assert (session["engine"], session["runs_made"]) == ("here", 7 * len(PLAN.distinct))
    assert (facts["seed"], facts["repeats"], facts["runs"]) == (1, 7, len(runs))
    assert facts["duration_seconds"] == session["duration_seconds"]


def test_every_run_of_every_experiment_has_its_row_and_can_be_made_again(tmp_path: Path) -> None:
    plan = make_plan(Options(only=["readings", "endings"], quick=True, repeats=2))
    make_tables(plan, tmp_path, Here())
    with (tmp_path / "runs.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * len(plan.distinct)
    assert len({tuple(row.values()) for row in rows}) == len(rows)
    assert {row["reading"] for row in rows} == set(READINGS)
    for row in rows[::3]:
        cell = Cell(
            *(row["problem"], row["algorithm"], float(row["noise_sd"]), int(row["resamples"])),
            *(int(row["block_size"]), int(row["n"]), row["reading"], float(row["k"])),
            tuple(map(int, row["checkpoints"].split())),
        )
        seed, evaluations, solved = (int(row[c]) for c in ("seed", "evaluations", "solved"))
        assert seed == cell.seed(1, int(row["run"]))
        if cell.checkpoints:
            looks = [*row["current"].split(), *row["recommended"].split()]
            assert ending(cell, seed) == [evaluations * solved, *map(int, looks)]
            assert solved or evaluations == cell.budget
        else:
            assert first_hit(cell, seed)[:2] == [evaluations, solved]
            assert row["current"] == row["recommended"] == ""


def test_a_folder_holds_what_the_last_command_asked_for_and_loses_no_runs(tmp_path: Path) -> None:
    options = {"n": [8, 16], "blocks": [2], "resamples": [3], "quick": True, "repeats": 2}
    whole = make_plan(Options(only=["1", "5", "7"], **options))  # type: ignore[arg-type]
    reproduce(whole, tmp_path, Here(), Silent())
    before = {path.name: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert {"readings.csv", "onemax.png", "onemax.svg", "theory.png"} <= set(before)
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "figures" / "mine.png").write_text("mine")
    reproduce(make_plan(Options(only=["theory"], repeats=2)), tmp_path, Here(), Silent())
    assert {path.name for path in tmp_path.rglob("*") if path.is_file()} == {
        *("journal.jsonl", "manifest.json", "runs.csv", "summary.csv", "report.md", "report.html"),
        *("theory.png", "theory.svg", "notes.txt", "mine.png"),
    }
    assert (tmp_path / "runs.csv").read_text().count("\n") == 1
    # asked for again, it is all there again, and nothing is run
    reproduce(whole, tmp_path, Here(fail_after=0), Silent())
    for name, content in before.items():
        (path,) = tmp_path.rglob(name)
        # the report and the manifest have the time that it all took
        assert path.read_bytes() == content or name.startswith(("report.", "manifest.")), name


class Time:
    """A clock that the test sets; every task takes ten seconds, and every figure a hundred."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr("hillbandit.experiments.journal.time.monotonic", lambda: self.now)
        monkeypatch.setattr("hillbandit.experiments.report.draw_all", self._draw)

    def _draw(self, results: Results, folder: Path) -> dict[str, Path]:
        self.now += 100
        return draw_all(results, folder)


class Slow(Here):
    """Runs tasks in this process, ten seconds each."""

    def __init__(self, time: Time, fail_after: int | None = None) -> None:
        super().__init__(fail_after=fail_after)
        self.time = time

    def results(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, list[Record]]]:
        for task, records in super().results(tasks):
            self.time.now += 10
            yield task, records


def test_the_duration_is_that_of_all_sessions_with_their_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    time = Time(monkeypatch)
    plan = make_plan(Options(only=["onemax"], n=[4, 8], repeats=3))
    assert len(plan.distinct) == 4
    with pytest.raises(KeyboardInterrupt):
        reproduce(plan, tmp_path, Slow(time, fail_after=3), Silent(), ["hillbandit", "first"])
    time.now += 1000  # nobody works
    reproduce(plan, tmp_path, Slow(time), Silent(), ["hillbandit", "second"])
    facts = json.loads((tmp_path / "manifest.json").read_text())
    # three tasks, then one and the figures
    assert [s["duration_seconds"] for s in facts["sessions"]] == [30, 110]
    assert [s["runs_made"] for s in facts["sessions"]] == [9, 3]
    assert [s["command"] for s in facts["sessions"]] == ["hillbandit first", "hillbandit second"]
    assert facts["duration_seconds"] == 140
    assert "| duration_seconds | 140" in (tmp_path / "report.md").read_text()
    # drawing it all again makes nothing new
    reproduce(plan, tmp_path, Slow(time), Silent(), ["hillbandit", "third"])
    assert json.loads((tmp_path / "manifest.json").read_text()) == facts


def test_runs_made_to_look_again_at_a_cell_are_in_the_tables_and_in_the_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = PLAN.distinct[0]
    monkeypatch.setattr("hillbandit.experiments.runner.far_cells", lambda _: [odd])
    reproduce(PLAN, tmp_path, Here(), Silent())
    with (tmp_path / "runs.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 7 * len(PLAN.distinct) + 70
    assert sum(row["further"] == "1" for row in rows) == 70
    facts = json.loads((tmp_path / "manifest.json").read_text())
    assert facts["runs"] == facts["sessions"][0]["runs_made"] == len(rows)
    assert f"{len(rows):,} runs" in (tmp_path / "report.md").read_text()
    with (tmp_path / "summary.csv").open() as file:
        assert {row["runs"] for row in csv.DictReader(file)} == {"7"}


def test_long_cells_are_cut_into_tasks_and_nothing_is_forgotten(tmp_path: Path) -> None:
    cell = Cell("royal_road", "bandit_rmhc", 0.0, 1, 32, 1024)
    assert expected_seconds(cell) > 0.01
    with Journal(tmp_path, 1) as journal:
        journal.add(Task(cell, 5, 1, 1), [[1, 1]])
        tasks = missing_tasks(cell, 100, 1, journal)
    covered = [run for task in tasks for run in range(task.first, task.first + task.runs)]
    assert covered == [run for run in range(100) if run != 5]
    assert max(task.runs for task in tasks) * expected_seconds(cell) <= 1.0


def test_a_worker_that_is_killed_gives_a_sentence() -> None:
    with pytest.raises(Refused, match="A worker process was killed"):
        # a task that no worker survives: its cell is not one
        list(Processes(1).results([Killer.task()]))


class Killer:
    """Ends the process that unpacks it."""

    @staticmethod
    def task() -> Task:
        return Task(Killer(), 0, 1, 1)  # type: ignore[arg-type]

    def __reduce__(self) -> tuple[object, tuple[int]]:
        import os

        return os._exit, (1,)


def test_workers_must_be_at_least_one() -> None:
    with pytest.raises(Refused, match="--workers must be at least 1"):
        Processes(0)
