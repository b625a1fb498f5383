"""The journal: nothing finished is lost, nothing half written taken, nothing foreign mixed in."""

from __future__ import annotations

import ast
import json
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hillbandit.experiments.digest import PACKAGE, code_digest, code_files
from hillbandit.experiments.journal import FILE, Journal
from hillbandit.experiments.plan import Cell, Refused, Task

CELL = Cell("onemax", "rmhc", 0.0, 1, 1, 50)
OTHER = Cell("onemax", "rmhc", 1.0, 2, 1, 50)


def task(first: int, runs: int, cell: Cell = CELL) -> Task:
    return Task(cell, first, runs, 1)


def test_runs_may_come_in_any_order_and_are_there_afterwards(tmp_path: Path) -> None:
    with Journal(tmp_path, 1) as journal:
        journal.add(task(2, 2), [[30, 1], [40, 1]])
        journal.add(task(0, 1, OTHER), [[9, 0, 100]])
        journal.add(task(0, 1), [[10, 1]])
    with Journal(tmp_path, 1) as journal:
        assert journal.missing(CELL, 6) == [1, 4, 5]
        assert journal.missing(OTHER, 1) == []
        journal.add(task(1, 1), [[20, 0]])
        assert journal.records(CELL, 4) == [[10, 1], [20, 0], [30, 1], [40, 1]]


@pytest.mark.parametrize("cut", [1, 5, 30])
def test_a_line_that_was_cut_short_is_left_out_and_written_over(tmp_path: Path, cut: int) -> None:
    with Journal(tmp_path, 1) as journal:
        journal.add(task(0, 1), [[10, 1]])
        journal.add(task(1, 1), [[20, 1]])
    path = tmp_path / FILE
    os.truncate(path, path.stat().st_size - cut)
    with Journal(tmp_path, 1) as journal:
        assert journal.missing(CELL, 2) == [1]
        journal.add(task(1, 1), [[20, 1]])
    with Journal(tmp_path, 1) as journal:
        assert journal.records(CELL, 2) == [[10, 1], [20, 1]]


def test_a_journal_whose_very_first_line_was_cut_short_starts_afresh(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text('{"format": 1, "ver')
    with Journal(tmp_path, 1) as journal:
        assert journal.missing(CELL, 1) == [0]


def test_a_damaged_line_in_the_middle_is_not_passed_over(tmp_path: Path) -> None:
    with Journal(tmp_path, 1) as journal:
        journal.add(task(0, 1), [[10, 1]])
        journal.add(task(1, 1), [[20, 1]])
    path = tmp_path / FILE
    lines = path.read_text().splitlines(keepends=True)
    path.write_text(lines[0] + lines[1][:20] + "\n" + lines[2])
    with pytest.raises(Refused, match=r"Line 2 of .* is damaged"):
        Journal(tmp_path, 1)


@pytest.mark.parametrize(
    ("what", "value", "sentence"),
    [
        ("version", "0.0.1", "were made with the version 0.0.1, not"),
        ("seed", 7, "were made with the seed 7, not 1"),
        ("format", 99, "were made with the format 99"),
        ("code", "0" * 16, "were made by other code of the same version"),
    ],
)
def test_results_of_another_kind_are_refused_and_left_alone(
    tmp_path: Path, what: str, value: object, sentence: str
) -> None:
    Journal(tmp_path, 1).close()
    path = tmp_path / FILE
    header = json.loads(path.read_text())
    header[what] = value
    path.write_text(json.dumps(header) + "\n")
    before = path.read_bytes()
    with pytest.raises(Refused) as refused:
        Journal(tmp_path, 1)
    assert sentence in str(refused.value)
    assert path.read_bytes() == before


def imported(module: str, found: set[str]) -> set[str]:
    """Collect the modules of hillbandit that one imports, and those that they import."""
    path = PACKAGE.parent.joinpath(*module.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    if module in found or not path.exists():
        return found
    found.add(module)
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("hillbandit."):
            assert node.module is not None
            imported(node.module, found)
            for alias in node.names:
                imported(f"{node.module}.{alias.name}", found)
    return found


def test_the_code_of_a_run_is_all_that_it_imports() -> None:
    covered = {
        ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
        for path in code_files()
    }
    needed = imported("hillbandit.experiments.simulation", set())
    assert {"hillbandit.optimizers.climber", "hillbandit.problems.onemax"} <= needed
    assert needed - {"hillbandit.experiments"} <= covered
    # an empty package: nothing to depend on
    assert not (PACKAGE / "experiments" / "__init__.py").read_text().partition("\n")[2].strip()


@pytest.mark.parametrize(
    "name", ["optimizers/climber.py", "problems/onemax.py", "space.py", "experiments/kernels.py"]
)
def test_results_of_an_optimiser_that_was_changed_since_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    changed = tmp_path / "hillbandit"
    shutil.copytree(PACKAGE, changed, ignore=shutil.ignore_patterns("__pycache__"))
    assert code_digest(changed) == code_digest()
    Journal(tmp_path / "results", 1).close()
    with (changed / name).open("a") as file:
        file.write("# another line\n")
    digest = code_digest(changed)
    monkeypatch.setattr("hillbandit.experiments.journal.code_digest", lambda: digest)
    with pytest.raises(Refused, match="were made by other code of the same version"):
        Journal(tmp_path / "results", 1)


def test_two_processes_cannot_write_to_one_folder(tmp_path: Path) -> None:
    with Journal(tmp_path, 1), pytest.raises(Refused, match="Another process is writing"):
        Journal(tmp_path, 1)
    Journal(tmp_path, 1).close()


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Refused, match="cannot be used for results"):
        Journal(tmp_path / "file" / "folder", 1)


FULL = """
import sys
from hillbandit.experiments.journal import Journal
from hillbandit.experiments.plan import Cell, Task
cell = Cell("onemax", "rmhc", 0.0, 1, 1, 50)
with Journal(sys.argv[1], 1) as journal:
    for run in range(1000):
        try:
            journal.add(Task(cell, run, 1, 1), [[run, 1]])
        except OSError as error:
            print(run, type(error).__name__)
            break
"""


@pytest.mark.parametrize("size", range(2000, 2160, 40))
def test_a_full_disk_leaves_the_journal_as_it_was(tmp_path: Path, size: int) -> None:
    """A limit on the size of files stands in for the disk: the write fails half way."""
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)),
    )
    runs, error = done.stdout.split()
    assert error == "OSError"
    assert int(runs) > 3
    assert (tmp_path / FILE).read_bytes().endswith(b"\n")
    with Journal(tmp_path, 1) as journal:
        assert journal.records(CELL, int(runs)) == [[run, 1] for run in range(int(runs))]
        assert journal.missing(CELL, 1000)[0] == int(runs)
