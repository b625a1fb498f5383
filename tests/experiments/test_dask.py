"""A real cluster of a scheduler and two workers, each a process of its own, over TCP."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hillbandit.experiments.digest import PACKAGE
from tests.experiments.test_command import SMALL, command


def start(*args: str, path: Path | None = None) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_" + args[0], *args[1:]],
        env=None if path is None else {**os.environ, "PYTHONPATH": str(path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def await_line(process: subprocess.Popen[str], pattern: str) -> str:
    assert process.stderr is not None
    deadline = time.monotonic() + 60
    for line in process.stderr:
        if match := re.search(pattern, line):
            return match.group(1)
        assert time.monotonic() < deadline
    raise AssertionError(f"{pattern} was never said")


@contextmanager
def cluster(folder: Path, workers: int, path: Path | None = None) -> Iterator[str]:
    """Start a scheduler and workers, with hillbandit from `path`; give the address."""
    scheduler = start(
        "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-show"
    )
    processes = [scheduler]
    try:
        where = await_line(scheduler, r"Scheduler at:\s+(tcp://\S+)")
        for _ in range(workers):
            worker = start(
                *("worker", where, "--nthreads", "1", "--no-nanny", "--no-dashboard"),
                *("--local-directory", str(folder)),
                path=path,
            )
            processes.append(worker)
            await_line(worker, r"Registered to:\s+(tcp://\S+)")
        yield where
    finally:
        # one after the other: a worker whose scheduler goes at the same time may wait for it
        for process in processes[::-1]:
            process.terminate()
            process.communicate(timeout=30)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with cluster(tmp_path_factory.mktemp("dask"), 2) as where:
        yield where


def test_a_cluster_of_two_processes_gives_the_same_numbers(address: str, tmp_path: Path) -> None:
    there = command(*SMALL, "--dask", address, "--out", tmp_path / "there")
    assert (there.returncode, there.stderr) == (0, "")
    here = command(*SMALL, "--workers", "1", "--out", tmp_path / "here")
    assert here.returncode == 0
    for name in ("runs.csv", "summary.csv"):
        assert (tmp_path / "there" / name).read_bytes() == (tmp_path / "here" / name).read_bytes()
    assert '"engine": "dask"' in (tmp_path / "there" / "manifest.json").read_text()
    assert '"workers": 2' in (tmp_path / "there" / "manifest.json").read_text()


def test_a_worker_with_other_code_of_the_same_version_is_refused(tmp_path: Path) -> None:
    package = tmp_path / "src" / "hillbandit"
    # with the compiler's cache, so that nothing is compiled anew
    shutil.copytree(PACKAGE, package)
    with (package / "optimizers" / "climber.py").open("a") as file:
        file.write("# another line\n")
    with cluster(tmp_path, 1, package.parent) as where:
        done = command(*SMALL, "--dask", where, "--out", tmp_path / "results")
    assert done.returncode == 2
    assert "has other code of hillbandit" in done.stderr
    assert not (tmp_path / "results").exists()


def test_an_address_that_is_none_is_refused(tmp_path: Path) -> None:
    done = command(*SMALL, "--dask", "nonsense://x", "--out", tmp_path)
    assert done.returncode == 2
    assert done.stderr == (
        "nonsense://x is no address of a Dask scheduler; one looks like tcp://10.0.0.5:8786.\n"
    )
