"""Evaluating many at a time: processes, executors, a real cluster."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hillbandit as hb
from hillbandit.problems import Noisy, OneMax
from hillbandit.testing import DeterministicExecutor

PROBLEM = Noisy(OneMax(16), seed=None)


def slow_ones(genome: Any, seed: int) -> float:
    time.sleep(0.02)
    return float(PROBLEM(genome, seed=seed))


def check(result: hb.Result, budget: int) -> None:
    assert result.evaluations == budget
    assert len(set(result.history.numbers.tolist())) == budget
    for observation in result.history:
        trial = hb.Trial(observation.number, observation.genome, PROBLEM.space, result.seed)
        assert observation.value == PROBLEM(observation.genome, seed=trial.seed)


def test_workers_are_processes_and_work_at_the_same_time(tmp_path: Path) -> None:
    log = os.open(tmp_path / "log", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    seen: list[Any] = []

    def napping(genome: Any, seed: int) -> float:
        os.write(log, f"{os.getpid()} 1\n".encode())
        time.sleep(0.05)
        os.write(log, f"{os.getpid()} -1\n".encode())
        return float(PROBLEM(genome, seed=seed))

    result = hb.maximize(
        napping, PROBLEM.space, 64, noisy=True, seed=1, workers=8, callbacks=[seen.append]
    )
    os.close(log)
    check(result, 64)
    assert len(seen) == 64
    lines = [tuple(map(int, line.split())) for line in (tmp_path / "log").read_text().splitlines()]
    assert len(lines) == 128
    assert {pid for pid, _ in lines}.isdisjoint({os.getpid()})
    running = np.cumsum([step for _, step in lines])
    assert 4 <= running.max() <= 8


@pytest.mark.parametrize("pool", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_any_executor_of_the_standard_library(pool: Any) -> None:
    with pool(2) as executor:
        result = hb.maximize(
            slow_ones, PROBLEM.space, 40, noisy=True, seed=1, executor=executor, workers=4
        )
    check(result, 40)


@pytest.mark.parametrize("kind", ["rmhc", "bandit_rmhc", "one_plus_one", "kalman"])
@pytest.mark.parametrize("duplicates", ["reuse", "avoid"])
@pytest.mark.parametrize("restart_after", [None, 3])
def test_what_is_in_flight_is_not_evaluated_a_second_time(
    kind: str, duplicates: Any, restart_after: int | None
) -> None:
    space = hb.Space({"a": range(3), "b": range(3), "c": range(2)})
    restarts: dict[str, Any] = {} if kind == "kalman" else {"restart_after": restart_after}
    for seed in range(10):
        result = hb.maximize(
            lambda config: sum(config.values()),
            space,
            100,
            optimizer=kind,
            seed=seed,
            duplicates=duplicates,
            executor=DeterministicExecutor(8, seed=seed),
            **restarts,
        )
        evaluated = [tuple(genome) for genome in result.history.genomes.tolist()]
        assert len(set(evaluated)) == len(evaluated)
        assert result.stopped_because.startswith("exhausted")
        if kind == "kalman" or restart_after is not None:
            assert len(evaluated) == 18


def test_the_same_order_of_completion_gives_the_same_run() -> None:
    runs = [
        hb.maximize(
            PROBLEM, PROBLEM.space, 100, noisy=True, seed=1, executor=DeterministicExecutor(8, seed)
        )
        for seed in (1, 1, 2)
    ]
    assert runs[0].history.numbers.tolist() == runs[1].history.numbers.tolist()
    assert np.array_equal(runs[0].history.genomes, runs[1].history.genomes)
    assert runs[0].history.numbers.tolist() != runs[2].history.numbers.tolist()


def test_one_at_a_time_on_an_executor_is_the_sequential_run() -> None:
    straight = hb.maximize(PROBLEM, PROBLEM.space, 60, noisy=True, seed=1)
    for how in ({"executor": DeterministicExecutor(1)}, {"workers": 1}):
        result = hb.maximize(PROBLEM, PROBLEM.space, 60, noisy=True, seed=1, **how)
        assert np.array_equal(result.history.genomes, straight.history.genomes)
        assert np.array_equal(result.history.values, straight.history.values)


def test_a_budget_is_exact_with_many_workers() -> None:
    for budget in (1, 3, 8, 9, 17):
        result = hb.maximize(
            PROBLEM, PROBLEM.space, budget, noisy=True, seed=1, executor=DeterministicExecutor(8)
        )
        assert result.evaluations == budget


def test_workers_that_outnumber_a_small_space_end_it_together() -> None:
    space = hb.Space.binary(3)
    result = hb.maximize(OneMax(3), space, 100, seed=1, executor=DeterministicExecutor(16))
    assert result.recommended.mean == 3
    assert result.stopped_because.startswith("exhausted")
    assert result.evaluations == len(result.history) >= 8


def square(number: int) -> int:
    return number**2


def with_a_pool(genome: Any) -> float:
    with multiprocessing.Pool(2) as pool:
        return float(sum(pool.map(square, genome.tolist())))


@pytest.mark.filterwarnings(
    "ignore:.*multi-threaded:DeprecationWarning"
)  # newer Pythons warn of a fork beside threads
def test_an_objective_in_a_worker_can_have_processes_of_its_own() -> None:
    result = hb.maximize(with_a_pool, PROBLEM.space, 4, seed=1, workers=2)
    assert (result.evaluations, result.failures) == (4, 0)


def gone(pid: int) -> bool:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True  # ended; nobody has asked for its exit code
        except FileNotFoundError:
            return True
        time.sleep(0.05)
    return False


@pytest.mark.skipif(not Path("/proc").exists(), reason="processes are looked up in /proc")
@pytest.mark.parametrize("end", ["it dies", "it hangs"])
@pytest.mark.filterwarnings(
    "ignore:.*multi-threaded:DeprecationWarning"
)  # newer Pythons warn of a fork beside threads
def test_a_worker_that_ends_takes_along_what_it_has_started(tmp_path: Path, end: str) -> None:
    started = tmp_path / "started"

    def forks(_: Any) -> float:
        child = subprocess.Popen(["sleep", "60"], close_fds=False)
        with started.open("a") as file:
            file.write(f"{child.pid}\n")
        if end == "it dies":
            # like a forked process, this one has all of the worker's files open
            if os.fork() == 0:
                time.sleep(60)
            os._exit(1)
        time.sleep(60)
        return 1.0

    began = time.monotonic()
    with pytest.raises(hb.StudyError, match="WorkerDied" if end == "it dies" else "TrialTimeout"):
        hb.maximize(forks, PROBLEM.space, 4, seed=1, workers=1, max_failures=1, trial_timeout=3)
    assert time.monotonic() - began < 20
    pids = [int(line) for line in started.read_text().split()]
    assert len(pids) == 2
    assert all(gone(pid) for pid in pids)


class Together(DeterministicExecutor):
    """An executor whose tasks all end at the same time."""

    def _is_next(self, number: int) -> bool:
        return number in self._tasks


def told(path: Path) -> list[int]:
    with hb.Study.open(path, read_only=True) as study:
        return sorted(study.history().numbers.tolist())


def stops(_: hb.Progress) -> bool:
    return True


def raises(_: hb.Progress) -> bool:
    raise RuntimeError("a mistake in the callback")


def test_what_came_back_with_a_reason_to_stop_is_kept(tmp_path: Path) -> None:
    how: dict[str, Any] = {"seed": 1, "executor": Together(8)}
    first, second, third = (tmp_path / name for name in ("a.db", "b.db", "c.db"))
    result = hb.maximize(OneMax(16), PROBLEM.space, 50, target=0, study=first, **how)
    assert (result.stopped_because, result.evaluations) == ("target", 8)
    assert told(first) == list(range(8))
    seen: list[Any] = []
    hb.maximize(OneMax(16), PROBLEM.space, 50, callbacks=[stops, seen.append], study=second, **how)
    assert [state.evaluations for state in seen] == list(range(1, 9))
    assert told(second) == list(range(8))
    with pytest.raises(RuntimeError, match="a mistake"):
        hb.maximize(OneMax(16), PROBLEM.space, 50, callbacks=[raises], study=third, **how)
    assert told(third) == list(range(8))
    # a budget is exact all the same
    assert hb.maximize(OneMax(16), PROBLEM.space, 13, study=first, **how).evaluations == 13


def first_fails(genome: Any, seed: int) -> float:
    if seed == hb.Trial(0, genome, PROBLEM.space, 1).seed:
        raise RuntimeError("the first one")
    return float(PROBLEM(genome, seed=seed))


def test_what_came_back_with_a_failure_for_the_caller_is_kept(tmp_path: Path) -> None:
    how: dict[str, Any] = {"noisy": True, "seed": 1, "study": tmp_path / "a.db"}
    with pytest.raises(RuntimeError, match="the first one"):
        hb.maximize(first_fails, PROBLEM.space, 50, on_failure="raise", executor=Together(8), **how)
    assert told(tmp_path / "a.db") == list(range(1, 8))
    # a success that comes with the one failure too many is an answer
    result = hb.maximize(
        first_fails, PROBLEM.space, 50, noisy=True, seed=1, max_failures=0, executor=Together(8)
    )
    assert (result.evaluations, result.failures) == (7, 1)


def test_a_study_that_runs_again_evaluates_what_it_had_left_open(tmp_path: Path) -> None:
    with hb.Study.open(tmp_path / "a.db", PROBLEM.space, noisy=True, seed=1) as study:
        for budget in (20, 40):
            study.run(PROBLEM, budget, callbacks=[stops], executor=DeterministicExecutor(8))
            assert len(study.outstanding) == 7
        result = study.run(PROBLEM, 40)
        assert study.outstanding == []
    check(result, 40)
    assert sorted(result.history.numbers.tolist()) == list(range(40))


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as local,
        distributed.Client(local) as client,
    ):
        yield client


@pytest.mark.filterwarnings("ignore")  # Dask's own start and end warn of many things
def test_a_dask_cluster_of_two_processes(cluster: Any) -> None:
    result = hb.maximize(slow_ones, PROBLEM.space, 60, noisy=True, seed=1, executor=cluster)
    check(result, 60)
    where = cluster.run(os.getpid)
    assert len(set(where.values())) == 2
    assert os.getpid() not in where.values()


def grumpy(genome: Any, seed: int) -> float:
    if seed % 5 == 0:
        raise RuntimeError("not today")
    if seed % 5 == 1:
        sys.exit("nor ever")
    return float(PROBLEM(genome, seed=seed))


@pytest.mark.filterwarnings("ignore")
def test_failures_on_a_dask_cluster_are_recorded(cluster: Any) -> None:
    result = hb.maximize(grumpy, PROBLEM.space, 60, noisy=True, seed=1, executor=cluster)
    check(result, 60)
    assert result.failures > 0
