"""Failures are data: whatever an evaluation does, the books are right at the end."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hillbandit as hb
from hillbandit.store import Event, Store

SPACE = hb.Space.binary(12)


def ones(genome: Any) -> float:
    return float(genome.sum())


def journal(path: Path) -> list[Event]:
    store = Store(path, read_only=True)
    found = store.find("study")
    assert found is not None
    events = [event for _, event in store.events(found[0])]
    store.close()
    return events


def moody(genome: Any, seed: int) -> Any:
    """Fail in every way there is, as the trial's seed decides."""
    mood = seed % 100
    if mood < 4:
        raise RuntimeError("in a bad mood")
    if mood < 6:
        return float("nan")
    if mood < 8:
        return "not a number"
    if mood < 9:
        os._exit(3)
    if mood < 10:
        os.kill(os.getpid(), 9)
    if mood < 11:
        time.sleep(60)
    if mood < 30:
        time.sleep(0.002)
    return float(genome.sum())


def test_random_failures_delays_and_deaths_leave_the_books_in_order(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    result = hb.maximize(
        moody,
        SPACE,
        budget=1500,
        noisy=True,
        seed=1,
        study=path,
        workers=4,
        trial_timeout=0.3,
        retries=1,
    )
    assert result.stopped_because == "budget"
    assert result.evaluations == 1500
    events = journal(path)
    kinds = Counter(event.kind for event in events)
    assert kinds["tell"] == 1500
    assert kinds["fail"] == result.failures
    # about 11 % of all trials fail: five standard errors
    trials = 1500 + result.failures
    assert abs(result.failures - 0.11 * trials) < 5 * (0.11 * 0.89 * trials) ** 0.5
    asked = {e.number: e.genome for e in events if e.kind == "ask"}
    ended = [e.number for e in events if e.kind in ("tell", "fail")]
    assert len(ended) == len(set(ended)) == len(asked)
    assert set(ended) == set(asked) == set(range(len(asked)))
    told = {e.number: e.value for e in events if e.kind == "tell"}
    assert all(value == sum(asked[number] or ()) for number, value in told.items())
    errors = Counter(
        str((e.detail or {})["error"]).split(":")[0] for e in events if e.kind == "fail"
    )
    assert set(errors) == {"RuntimeError", "ValueError", "TypeError", "WorkerDied", "TrialTimeout"}
    traces = [str((e.detail or {})["traceback"]) for e in events if e.kind == "fail"]
    assert any('raise RuntimeError("in a bad mood")' in trace for trace in traces)
    with hb.Study.open(path, read_only=True) as study:
        assert study.outstanding == []
        assert study.failures == result.failures


def test_a_failure_is_retried_and_then_dropped_without_credit() -> None:
    calls: Counter[bytes] = Counter()

    def sulking(genome: Any) -> float:
        calls[genome.tobytes()] += 1
        if genome[3]:
            raise RuntimeError("not with gene 3")
        return float(genome.sum())

    optimizer = hb.BanditRMHC(SPACE, start=[0] * 12, seed=1)
    result = hb.maximize(sulking, SPACE, budget=60, optimizer=optimizer, retries=2)
    assert result.evaluations == 60
    assert result.recommended.mean == 11
    assert optimizer.explain()[3].mutations == 0
    failed = [count for key, count in calls.items() if np.frombuffer(key, np.int64)[3]]
    assert all(count % 3 == 0 for count in failed)
    assert result.failures == sum(failed)


@pytest.mark.parametrize("how", [{"workers": 2}, {"retries": 1}, {"max_failures": 1000}])
def test_a_study_in_which_everything_fails_stops_with_one_sentence(how: dict[str, Any]) -> None:
    def broken(_: Any) -> float:
        raise RuntimeError("no licence")

    with pytest.raises(
        hb.StudyError,
        match=r"No evaluation has succeeded \(failures: 10 in a row; the last was trial \d+: "
        r"RuntimeError: no licence\)",
    ):
        hb.maximize(broken, SPACE, budget=50, seed=1, **how)


def test_failures_that_begin_later_stop_the_study_with_what_is_known(tmp_path: Path) -> None:
    path = tmp_path / "a.db"

    def worn_out(genome: Any) -> float:
        if len(journal(path)) > 40:
            raise OSError("the licence server is gone")
        return float(genome.sum())

    result = hb.maximize(worn_out, SPACE, budget=200, seed=1, study=path)
    assert result.stopped_because.startswith("failures: 10 in a row; the last was trial ")
    assert result.stopped_because.endswith("OSError: the licence server is gone")
    assert result.evaluations == 20
    # the cause is mended: it goes on
    assert hb.maximize(ones, SPACE, budget=40, seed=1, study=path).evaluations == 40


def test_max_failures_bounds_them() -> None:
    def half(genome: Any, seed: int) -> float:
        if seed % 2:
            raise RuntimeError("heads")
        return float(genome.sum())

    result = hb.maximize(half, SPACE, budget=500, seed=1, max_failures=20)
    assert result.failures == 21
    assert result.stopped_because.startswith("failures: more than max_failures=20; the last was")


def test_without_a_study_an_exception_goes_to_the_caller_and_with_one_if_told_so(
    tmp_path: Path,
) -> None:
    def broken(_: Any) -> float:
        raise KeyError("speed")

    with pytest.raises(KeyError, match="speed"):
        hb.maximize(broken, SPACE, budget=5, seed=1)
    with pytest.raises(KeyError, match="speed"):
        hb.maximize(broken, SPACE, 5, seed=1, study=tmp_path / "a.db", on_failure="raise")
    assert [e.kind for e in journal(tmp_path / "a.db")] == ["ask", "fail"]


def test_a_hanging_evaluation_is_stopped_and_the_others_go_on() -> None:
    def slow(genome: Any, seed: int) -> float:
        if seed % 10 == 0:
            time.sleep(600)
        return float(genome.sum())

    began = time.monotonic()
    result = hb.maximize(slow, SPACE, budget=60, seed=1, workers=2, trial_timeout=0.2)
    assert result.evaluations == 60
    assert result.failures > 0
    assert time.monotonic() - began < 30


def test_a_foreign_executor_cannot_be_given_a_trial_timeout() -> None:
    with ThreadPoolExecutor(2) as pool, pytest.raises(ValueError, match="not ours to stop"):
        hb.maximize(ones, SPACE, budget=5, executor=pool, trial_timeout=1.0)


def die(_: Any) -> float:
    os._exit(1)


def test_a_broken_executor_is_a_sentence_and_not_a_hang() -> None:
    with (
        ProcessPoolExecutor(2) as pool,
        pytest.raises(hb.StudyError, match=r"takes no more work|in a row"),
    ):
        hb.maximize(die, SPACE, budget=50, seed=1, executor=pool)


def leaves(genome: Any, seed: int) -> float:
    if seed % 4 == 0:
        sys.exit("out of here")
    return float(genome.sum())


@pytest.mark.parametrize("pool", [None, ThreadPoolExecutor, ProcessPoolExecutor, "workers"])
def test_an_objective_that_calls_sys_exit_has_failed_and_the_study_goes_on(
    tmp_path: Path, pool: Any
) -> None:
    path = tmp_path / "a.db"
    how: dict[str, Any] = {"noisy": True, "seed": 1, "study": path}
    if pool is None or pool == "workers":
        how |= {} if pool is None else {"workers": 2}
        result = hb.maximize(leaves, SPACE, 30, **how)
    else:
        with pool(2) as executor:
            result = hb.maximize(leaves, SPACE, 30, executor=executor, **how)
    assert result.evaluations == 30
    assert result.failures > 0
    errors = [str((e.detail or {})["error"]) for e in journal(path) if e.kind == "fail"]
    assert len(errors) == result.failures
    assert all(error.endswith("SystemExit: out of here") for error in errors)
    # each row says where it happened, and who asked
    here = f"process {os.getpid()} on "
    for event in journal(path):
        inside = event.kind == "ask" or pool in (None, ThreadPoolExecutor)
        if event.kind in ("ask", "tell", "fail"):
            assert (event.worker or "").startswith(here if inside else "process ")
            assert inside or not (event.worker or "").startswith(here)


def test_sys_exit_goes_to_the_caller_where_failures_do() -> None:
    with pytest.raises(SystemExit, match="out of here"):
        hb.maximize(leaves, SPACE, 30, noisy=True, seed=1)


def test_a_failure_of_the_executor_itself_is_a_row_with_its_name(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with ProcessPoolExecutor(1) as pool, pytest.raises(hb.StudyError):
        hb.maximize(die, SPACE, budget=50, seed=1, executor=pool, study=path)
    rows = [event.worker or "" for event in journal(path) if event.kind == "fail"]
    assert rows
    assert all(row.startswith(f"ProcessPoolExecutor of process {os.getpid()}") for row in rows)


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"workers": 0}, "at least 1"),
        ({"workers": 1.5}, "must be an integer"),
        ({"retries": -1}, "0 or more"),
        ({"max_failures": -1}, "0 or more"),
        ({"trial_timeout": 0}, "must be positive"),
        ({"on_failure": "ignore"}, '"raise" or "record"'),
        ({"executor": 3}, "needs a submit method"),
        ({"confirm": 1.5}, "between 0 and 1"),
        ({"confirm": 0.1}, "nothing to confirm"),
    ],
)
def test_bad_arguments_get_a_sentence(how: dict[str, Any], says: str) -> None:
    with pytest.raises((TypeError, ValueError, hb.StudyError), match=says):
        hb.maximize(ones, SPACE, budget=5, **how)
