"""The command itself, in processes of its own: what it prints, refuses, and survives."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hillbandit.cli import app
from hillbandit.experiments.journal import Journal

SMALL = ("--only", "onemax,royal-road", "--n", "16,32", "--blocks", "2,4", "--repeats", "3")
LONG = ("--only", "royal-road", "--n", "1024", "--blocks", "16,32", "--repeats", "30")


def command(
    *args: str | Path, before: Callable[[], None] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "hillbandit", "reproduce", *map(str, args)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        preexec_fn=before,
    )


def test_it_says_where_the_report_is_and_the_report_stands_alone(tmp_path: Path) -> None:
    out = tmp_path / "res"
    done = command(*SMALL, "--out", out)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"Open:    {out / 'report.html'}" in done.stdout
    page = (out / "report.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "data:image/svg+xml;base64," in page
    assert not any(needed in page for needed in ("http://", "<script", "<link", 'src="figures'))
    for name in ("report.md", "runs.csv", "summary.csv", "manifest.json"):
        assert (out / name).stat().st_size > 100
    for name in ("onemax", "royal_road"):
        assert (out / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (out / "figures" / f"{name}.svg").read_text()
    assert not list(out.rglob(".*part*"))


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (("--n", "100"), "A Royal Road of 100 bits has no blocks of 8"),
        (("--resamples", "0"), "--resamples must be between 1 and 10,000; 0 is not."),
        (("--n", "many"), "--n needs whole numbers with commas between them, not 'many'."),
        (("--only", "everything"), "There is no experiment 'everything'"),
        (("--workers", "0"), "--workers must be at least 1; it is 0."),
        (("--dask", "tcp://127.0.0.1:9", "--workers", "2"), "a Dask cluster has its own number"),
    ],
)
def test_the_impossible_is_refused_in_a_sentence_before_anything_runs(
    tmp_path: Path, args: tuple[str, ...], sentence: str
) -> None:
    done = CliRunner().invoke(app, ["reproduce", *args, "--out", str(tmp_path / "res")])
    assert done.exit_code == 2
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "res").exists()


@pytest.mark.parametrize("name", ["x[bold]y", "z[/b]", "s:smile:"])
def test_a_folder_whose_name_looks_like_markup_is_printed_as_it_is(
    tmp_path: Path, name: str
) -> None:
    out = tmp_path / name
    args = ["reproduce", "--only", "onemax", "--n", "4", "--repeats", "2", "--workers", "1"]
    done = CliRunner().invoke(app, [*args, "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert f"Open:    {out / 'report.html'}\n" in done.stdout
    assert (out / "report.html").exists()


def test_results_of_another_seed_are_refused(tmp_path: Path) -> None:
    Journal(tmp_path, 1).close()
    done = command("--only", "onemax", "--n", "4", "--seed", "2", "--out", tmp_path)
    assert done.returncode == 2
    assert "were made with the seed 1, not 2" in done.stderr


def begin(out: Path) -> subprocess.Popen[str]:
    """Start a long command, and return when its first results are there."""
    process = subprocess.Popen(
        [sys.executable, "-m", "hillbandit", "reproduce", *LONG, "--out", str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    journal = out / "journal.jsonl"
    deadline = time.monotonic() + 60
    while not (journal.exists() and journal.read_bytes().count(b"\n") > 2):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return process


def finished(out: Path) -> list[str]:
    return (out / "journal.jsonl").read_text().split("\n")[1:-1]


def alive(group: int) -> bool:
    """Tell whether a process of this group still runs; one that only waits to be counted is not."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == group and fields[0] != "Z":
            return True
    return False


@pytest.mark.parametrize("kill", [signal.SIGKILL, signal.SIGINT])
def test_killed_or_interrupted_it_loses_only_what_was_in_flight(
    tmp_path: Path, kill: signal.Signals
) -> None:
    process = begin(tmp_path)
    if kill == signal.SIGINT:
        os.killpg(process.pid, kill)  # as Ctrl-C in a terminal: all of them
    else:
        os.kill(process.pid, kill)
    printed, _ = process.communicate(timeout=30)
    if kill == signal.SIGINT:
        assert process.returncode == 130
        assert "Give the same command again to go on where it was" in printed
    deadline = time.monotonic() + 20
    while alive(process.pid):
        assert time.monotonic() < deadline, "a worker outlived the command"
        time.sleep(0.05)
    kept = finished(tmp_path)
    assert kept
    done = command(*LONG, "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "is there from an earlier command" in done.stdout
    after = finished(tmp_path)
    whole = [line for line in kept if line.endswith("}")]
    assert after[: len(whole)] == whole
    assert len((tmp_path / "runs.csv").read_text().splitlines()) == 1 + 4 * 30


def test_a_full_disk_is_a_sentence_and_nothing_finished_is_lost(tmp_path: Path) -> None:
    """A limit on the size of files stands in for the disk."""
    limit = (1500, 1500)
    done = command(
        *SMALL,
        "--out",
        tmp_path,
        before=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit),
    )
    assert done.returncode == 2
    assert "could not be written" in done.stderr
    assert "run the command again to go on where it was" in done.stderr
    assert "Traceback" not in done.stderr
    kept = finished(tmp_path)
    assert kept
    again = command(*SMALL, "--out", tmp_path)
    assert again.returncode == 0, again.stderr
    assert finished(tmp_path)[: len(kept)] == kept
