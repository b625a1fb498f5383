"""Nothing is lost: kill -9 at any moment, and the study ends as it would have."""

from __future__ import annotations

import contextlib
import itertools
import json
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hillbandit as hb
from hillbandit.ledger import Ledger
from hillbandit.store import Event, Store
from hillbandit.testing import DeterministicExecutor

KINDS = ["rmhc", "bandit_rmhc", "one_plus_one", "kalman"]

SCRIPT = """
import os, sys, time, hillbandit as hb
path, optimizer, noisy, budget, workers, pause = sys.argv[1:]
problem = hb.problems.Noisy(hb.problems.OneMax(12), seed=0)
def objective(genome, seed):
    os.write(1, b".")
    time.sleep(float(pause))
    return problem(genome, seed=seed) if int(noisy) else problem.true_value(genome)
hb.maximize(objective, problem.space, int(budget), optimizer=optimizer, noisy=bool(int(noisy)),
            seed=5, study=path, duplicates="reevaluate", workers=int(workers) or None)
"""


def start(
    path: Path, kind: str, noisy: bool, budget: int, workers: int = 0, pause: float = 0.0
) -> subprocess.Popen[bytes]:
    """Begin a run that writes a dot for each evaluation."""
    arguments = [str(path), kind, str(int(noisy)), str(budget), str(workers), str(pause)]
    return subprocess.Popen([sys.executable, "-c", SCRIPT, *arguments], stdout=subprocess.PIPE)


def kill_after(process: subprocess.Popen[bytes], evaluations: int, pause: float = 0.0) -> bool:
    """Kill -9 a run after some evaluations; tell whether it was still running."""
    assert process.stdout is not None
    seen = len(process.stdout.read(evaluations))
    time.sleep(pause)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    return seen == evaluations


def journal(path: Path) -> list[Event]:
    store = Store(path, read_only=True)
    found = store.find("study")
    events = [] if found is None else [event for _, event in store.events(found[0])]
    store.close()
    return events


def run(path: Path | None, kind: str, noisy: bool, budget: int) -> hb.Result:
    problem = hb.problems.Noisy(hb.problems.OneMax(12), seed=0)

    def objective(genome: Any, seed: int) -> float:
        return float(problem(genome, seed=seed) if noisy else problem.true_value(genome))

    return hb.maximize(
        objective,
        problem.space,
        budget,
        optimizer=kind,
        noisy=noisy,
        seed=5,
        study=path,
        duplicates="reevaluate",
    )


@pytest.mark.parametrize("noisy", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_50_straight_is_25_and_then_25_more(tmp_path: Path, kind: str, noisy: bool) -> None:
    straight = run(None, kind, noisy, 50)
    path = tmp_path / "a.db"
    assert run(path, kind, noisy, 25).evaluations == 25
    resumed = run(path, kind, noisy, 50)
    assert np.array_equal(resumed.history.genomes, straight.history.genomes)
    assert np.array_equal(resumed.history.values, straight.history.values)
    assert np.array_equal(resumed.history.numbers, straight.history.numbers)
    assert str(resumed.recommended) == str(straight.recommended)


@pytest.mark.parametrize("noisy", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_kill_9_at_random_moments_changes_nothing(tmp_path: Path, kind: str, noisy: bool) -> None:
    straight = run(None, kind, noisy, 60)
    path = tmp_path / "a.db"
    rng = random.Random(kind + str(noisy))
    for _ in range(5):
        process = start(path, kind, noisy, 60, pause=0.002)
        # a moment that is always another: while evaluating, writing, or thinking
        assert kill_after(process, rng.randrange(2, 12), rng.random() * 0.01)
    resumed = run(path, kind, noisy, 60)
    assert np.array_equal(resumed.history.genomes, straight.history.genomes)
    assert np.array_equal(resumed.history.values, straight.history.values)
    told = [event.number for event in journal(path) if event.kind == "tell"]
    assert told == list(range(60))


def test_with_8_workers_every_told_evaluation_is_there_once_and_the_journal_replays(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.db"
    rng = random.Random(1)
    for _ in range(3):
        process = start(path, "bandit_rmhc", True, 10_000, workers=8, pause=0.01)
        assert kill_after(process, rng.randrange(20, 60), rng.random() * 0.02)
        events = journal(path)
        told = [e.number or 0 for e in events if e.kind == "tell"]
        asked = [e.number or 0 for e in events if e.kind == "ask"]
        assert len(set(told)) == len(told)
        assert asked == list(range(len(asked)))
        # those in flight are issued again with the same number, configuration and seed
        with hb.Study.open(path, read_only=True) as study:
            in_flight = sorted(set(asked) - set(told))
            assert [t.number for t in study.outstanding] == in_flight
            genomes = {e.number: e.genome for e in events if e.kind == "ask"}
            for trial in study.outstanding:
                assert trial.genome.tolist() == genomes[trial.number]
            replayed = json.dumps(study.optimizer.state_dict())
        # the state from the snapshot and the state from the beginning are the same
        db = sqlite3.connect(path)
        db.execute("DELETE FROM snapshots")
        db.commit()
        db.close()
        with hb.Study.open(path, read_only=True) as study:
            assert json.dumps(study.optimizer.state_dict()) == replayed
    problem = hb.problems.Noisy(hb.problems.OneMax(12), seed=0)
    options: dict[str, Any] = {"noisy": True, "duplicates": "reevaluate"}
    options["optimizer"] = "bandit_rmhc"
    budget = len(told) + 40
    result = hb.maximize(problem, problem.space, budget, study=path, workers=8, **options)
    assert result.evaluations == budget
    assert len(set(result.history.numbers.tolist())) == budget
    for observation in result.history:
        trial = hb.Trial(observation.number, observation.genome, problem.space, 5)
        assert observation.value == problem(observation.genome, seed=trial.seed)


def test_no_worker_outlives_a_killed_study(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    process = start(path, "rmhc", True, 10**6, workers=3, pause=0.05)
    assert process.stdout is not None
    process.stdout.read(20)
    workers = {e.worker for e in journal(path) if e.kind == "tell"}
    pids = [int(str(worker).split()[1]) for worker in workers]
    assert len(pids) == 3
    process.send_signal(signal.SIGKILL)
    process.communicate()
    deadline = time.monotonic() + 10
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_what_the_workers_of_a_killed_study_have_started_does_not_outlive_them(
    tmp_path: Path,
) -> None:
    code = (
        "import subprocess, sys, time, hillbandit as hb\n"
        "def objective(genome):\n"
        "    child = subprocess.Popen(['sleep', '60'])\n"
        "    with open(sys.argv[1], 'a') as file: file.write(f'{child.pid}\\n')\n"
        "    time.sleep(60)\n"
        "hb.maximize(objective, hb.Space.binary(9), 50, workers=2, seed=1)\n"
    )
    started = tmp_path / "started"
    process = subprocess.Popen([sys.executable, "-c", code, str(started)])
    deadline = time.monotonic() + 20
    while not started.exists() or started.read_text().count("\n") < 2:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    pids = [int(line) for line in started.read_text().split()]
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_ctrl_c_at_random_moments_returns_what_is_known_and_changes_nothing(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.db"
    rng = random.Random(2)
    for _ in range(6):
        process = start(path, "bandit_rmhc", True, 5000)
        assert process.stdout is not None
        process.stdout.read(rng.randrange(10, 60))
        time.sleep(rng.random() * 0.003)
        process.send_signal(signal.SIGINT)
        process.communicate()
        assert process.returncode == 0
        assert journal(path)[-1].detail == {"reason": "interrupted"}
    told = sum(event.kind == "tell" for event in journal(path))
    resumed = run(path, "bandit_rmhc", True, told + 20)
    straight = run(None, "bandit_rmhc", True, told + 20)
    assert np.array_equal(resumed.history.genomes, straight.history.genomes)
    assert np.array_equal(resumed.history.values, straight.history.values)


def test_interrupted_and_straight_parallel_runs_are_equal(tmp_path: Path) -> None:
    problem = hb.problems.Noisy(hb.problems.OneMax(20), seed=None)

    def stop_at(count: int) -> Any:
        return lambda state: state.evaluations >= count

    def go(path: Path, stops: list[int]) -> list[tuple[Any, ...]]:
        for stop in stops:
            hb.maximize(
                problem,
                problem.space,
                timeout=600,
                noisy=True,
                seed=3,
                study=path,
                executor=DeterministicExecutor(8, seed=2),
                callbacks=[stop_at(stop)],
            )
        return [(e.kind, e.number, e.genome, e.value) for e in journal(path) if e.kind != "stop"]

    assert go(tmp_path / "a.db", [150]) == go(tmp_path / "b.db", [13, 14, 60, 119, 150])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("duplicates", ["reevaluate", "reuse", "avoid"])
def test_the_journal_gives_the_optimiser_again_where_workers_found_nothing_to_do(
    tmp_path: Path, kind: str, duplicates: Any
) -> None:
    space = hb.Space({"a": range(3), "b": range(3), "c": range(2)})

    def sum_of(config: dict[str, int], seed: int) -> float:
        if failing and seed % 5 == 0:
            raise RuntimeError("bad luck")
        return float(sum(config.values()) + noisy * random.Random(seed).gauss(0, 1))

    idle = 0
    for noisy, failing, seed in itertools.product([False, True], [False, True], range(2)):
        if noisy and duplicates == "reuse":
            continue
        path = tmp_path / f"{noisy}{failing}{seed}.db"
        with hb.Study.open(
            path, space, optimizer=kind, noisy=noisy, seed=seed, duplicates=duplicates
        ) as study:
            study.run(sum_of, 40, executor=DeterministicExecutor(6, seed=seed))
            with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
                db.execute("DELETE FROM snapshots")
            with hb.Study.open(path, read_only=True) as again:
                assert again.optimizer.state_dict() == study.optimizer.state_dict()
        idle += sum(event.kind == "exhausted" for event in journal(path))
    assert idle > 0 or duplicates == "reevaluate"


@pytest.mark.parametrize("optimizer", ["kalman", "bandit_rmhc"])
def test_a_study_of_100_000_evaluations_opens_in_under_2_seconds(
    tmp_path: Path, optimizer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.db"
    values = np.random.default_rng(1).standard_normal(100_000).tolist()
    with hb.Study.open(
        path, hb.Space.binary(100), noisy=True, seed=1, optimizer=optimizer
    ) as study:
        ledger = study._ledger
        for i, value in enumerate(values):
            ledger.tell(ledger.next_trial(), value, None)
            if i % 1000 == 999:
                ledger.flush()
        expected = study.recommend()
        # as a killed process leaves it: no snapshot at the end
        monkeypatch.setattr(Ledger, "save_snapshot", lambda _: None)
    seconds = []
    for _ in range(3):  # the least of three, in processor time: others may be using the machine
        began = time.process_time()
        with hb.Study.open(path) as study:
            seconds.append(time.process_time() - began)
            assert study.evaluations == 100_000
            assert str(study.recommend()) == str(expected)
            assert study.outstanding == []
    assert min(seconds) < 2.0


def test_known_evaluations_are_in_the_journal_and_survive(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    problem = hb.problems.OneMax(10)
    known = [([1] * 9 + [0], 9.0)]
    hb.maximize(problem, problem.space, 1, seed=1, known=known, study=path)
    result = hb.maximize(problem, problem.space, 30, seed=1, known=known, study=path)
    straight = hb.maximize(problem, problem.space, 30, seed=1, known=known)
    assert np.array_equal(result.history.genomes, straight.history.genomes)
    assert sum(event.kind == "known" for event in journal(path)) == 1
