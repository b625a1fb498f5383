"""A real cluster of a scheduler and two workers, each a process of its own, over TCP."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.experiments.test_command import SMALL, command


def start(*args: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_" + args[0], *args[1:]],
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


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = str(tmp_path_factory.mktemp("dask"))
    scheduler = start(
        "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-show"
    )
    processes = [scheduler]
    try:
        where = await_line(scheduler, r"Scheduler at:\s+(tcp://\S+)")
        for _ in range(2):
            worker = start(
                *("worker", where, "--nthreads", "1", "--no-nanny", "--no-dashboard"),
                *("--local-directory", folder),
            )
            processes.append(worker)
            await_line(worker, r"Registered to:\s+(tcp://\S+)")
        yield where
    finally:
        for process in processes[::-1]:
            process.terminate()
        for process in processes:
            process.communicate(timeout=30)


def test_a_cluster_of_two_processes_gives_the_same_numbers(address: str, tmp_path: Path) -> None:
    there = command(*SMALL, "--dask", address, "--out", tmp_path / "there")
    assert (there.returncode, there.stderr) == (0, "")
    here = command(*SMALL, "--workers", "1", "--out", tmp_path / "here")
    assert here.returncode == 0
    for name in ("runs.csv", "summary.csv"):
        assert (tmp_path / "there" / name).read_bytes() == (tmp_path / "here" / name).read_bytes()
    assert '"engine": "dask"' in (tmp_path / "there" / "manifest.json").read_text()
    assert '"workers": 2' in (tmp_path / "there" / "manifest.json").read_text()


def test_an_address_that_is_none_is_refused(tmp_path: Path) -> None:
    done = command(*SMALL, "--dask", "nonsense://x", "--out", tmp_path)
    assert done.returncode == 2
    assert done.stderr == (
        "nonsense://x is no address of a Dask scheduler; one looks like tcp://10.0.0.5:8786.\n"
    )
