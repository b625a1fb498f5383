from __future__ import annotations

import contextlib
import json
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hillbandit as hb
from hillbandit.confirm import prepared, reserve, still_missing
from hillbandit.ledger import Confirmation
from hillbandit.problems import Noisy, OneMax
from hillbandit.store import Store
from hillbandit.study import Callback
from hillbandit.testing import DeterministicExecutor


def test_the_halving_worked_by_hand() -> None:
    # 4 candidates, 24 evaluations: two rounds of 12, so 3 each and then 6 each for the better two
    race = Confirmation(
        [[0], [1], [2], [3]], [[], [], [], []], 24, [1.0, 4.0, 3.0, 2.0], [3, 3, 3, 3], noise=1.0
    )
    alive, missing = still_missing(race)
    assert (alive, missing) == ([0, 1, 2, 3], [0] * 3 + [1] * 3 + [2] * 3 + [3] * 3)
    race.fresh = [[0.0] * 3 for _ in range(4)]
    alive, missing = still_missing(race)
    assert (alive, missing) == ([1, 2], [1] * 6 + [2] * 6)
    # what comes later does not change a round that is over, but it does decide the next one
    race.fresh[1], race.fresh[2] = [0.0] * 3 + [-9.0] * 6, [0.0] * 9
    assert still_missing(race) == ([2, 1], [])


@pytest.mark.parametrize("count", range(1, 9))
def test_the_reserve_is_spent_to_the_last_evaluation(count: int) -> None:
    for evaluations in range(count * 4, 100):
        race = Confirmation(
            [[i] for i in range(count)],
            [[] for _ in range(count)],
            evaluations,
            [0.0] * count,
            [1] * count,
            noise=1.0,
        )
        while True:
            _, missing = still_missing(race)
            if not missing:
                break
            race.fresh[missing[0]].append(float(missing[0] % 3))
        assert sum(map(len, race.fresh)) == evaluations


def test_a_few_evaluations_confirm_fewer_candidates() -> None:
    optimizer = hb.RMHC(hb.Space.binary(6), noisy=True, seed=1)
    for genome in list(optimizer.space.genomes())[:20]:
        optimizer.observe(genome, float(genome.sum()))
    assert [len(prepared(optimizer, n).candidates) for n in (1, 4, 8, 20, 40, 100)] == [
        1,
        1,
        2,
        5,
        8,
        8,
    ]
    assert reserve(200, 0.1) == 20


def test_the_budget_is_kept_and_the_interval_is_fresh(tmp_path: Path) -> None:
    problem = Noisy(OneMax(20), seed=None)
    for how in ({}, {"executor": DeterministicExecutor(5)}, {"study": tmp_path / "a.db"}):
        result = hb.maximize(
            problem,
            problem.space,
            200,
            noisy=True,
            seed=1,
            confirm=0.2,
            **how,
        )
        assert result.confirmed
        assert result.evaluations == 200
        best = result.recommended
        # the fresh evaluations are the last ones of that very genome
        same = (result.history.genomes == best.genome).all(axis=1)
        fresh = result.history.values[same & (result.history.numbers >= 160)]
        assert best.evaluations == len(fresh) >= 5
        assert best.mean == pytest.approx(fresh.mean())


def test_a_confirmation_that_was_interrupted_goes_on(tmp_path: Path) -> None:
    problem = Noisy(OneMax(20), seed=None)

    def stop_at(count: int) -> Callback:
        return lambda state: state.evaluations >= count

    def go(path: Path, stops: list[int]) -> hb.Result:
        for stop in stops:
            result = hb.maximize(
                problem,
                problem.space,
                200,
                noisy=True,
                seed=1,
                confirm=0.2,
                study=path,
                callbacks=[stop_at(stop)],
            )
        return result

    straight, broken = go(tmp_path / "a.db", [999]), go(tmp_path / "b.db", [50, 165, 181, 999])
    assert np.array_equal(straight.history.genomes, broken.history.genomes)
    assert str(straight.recommended) == str(broken.recommended)
    assert broken.confirmed


@pytest.mark.parametrize(
    ("budget", "share"), [(110, 0.1), (330, 0.1), (75, 0.2), (37, 0.3), (10, 0.99), (2, 0.5)]
)
@pytest.mark.parametrize("slots", [1, 8])
def test_a_budget_is_exact_with_a_confirmation_too(budget: int, share: float, slots: int) -> None:
    problem = Noisy(OneMax(8), seed=None)
    how: dict[str, Any] = {"executor": DeterministicExecutor(slots)}
    result = hb.maximize(
        problem, problem.space, budget, noisy=True, seed=1, confirm=share, optimizer="rmhc", **how
    )
    assert (result.evaluations, result.stopped_because) == (budget, "budget")
    assert result.confirmed


def test_a_budget_of_one_evaluation_cannot_be_confirmed() -> None:
    with pytest.raises(ValueError, match="a budget of 2 or more"):
        hb.maximize(Noisy(OneMax(8)), hb.Space.binary(8), 1, noisy=True, confirm=0.5)


def test_a_confirmation_asked_for_late_takes_what_the_budget_leaves(tmp_path: Path) -> None:
    problem = Noisy(OneMax(8), seed=None)
    for told, fresh in ((60, 0), (55, 5)):
        with hb.Study.open(tmp_path / f"{told}.db", problem.space, noisy=True, seed=1) as study:
            study.run(problem, budget=told)
            result = study.run(problem, budget=60, confirm=0.2)
        assert result.evaluations == 60
        assert result.confirmed == (fresh > 0)
        if fresh:
            assert result.recommended.evaluations == fresh


@pytest.mark.parametrize("share", [None, 0.2])
@pytest.mark.parametrize("slots", [1, 8])
def test_a_confirmed_study_goes_on_with_a_greater_budget(
    tmp_path: Path, share: float | None, slots: int
) -> None:
    problem = Noisy(OneMax(20), seed=None)

    def go(path: Path, budget: int, confirm: float | None, stop: int = 999) -> hb.Result:
        return hb.maximize(
            problem,
            problem.space,
            budget,
            noisy=True,
            seed=1,
            confirm=confirm,
            study=path,
            executor=DeterministicExecutor(slots),
            callbacks=[lambda state: state.evaluations >= stop],
        )

    path = tmp_path / "a.db"
    assert go(path, 60, 0.2).confirmed
    first = go(path, 120, share, stop=70)
    assert (first.evaluations, first.stopped_because, first.confirmed) == (70, "callback", False)
    result = go(path, 120, share)
    assert (result.evaluations, result.stopped_because) == (120, "budget")
    assert result.confirmed == (share is not None)
    # the journal alone, without a snapshot, leads to the same optimiser and the same answer
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        confirmations = db.execute("SELECT count(*) FROM events WHERE kind = 'confirm'").fetchone()
        assert confirmations == (2 if share else 1,)
        with hb.Study.open(path, read_only=True) as study:
            states = [json.dumps(study.optimizer.state_dict())]
        db.execute("DELETE FROM snapshots")
        with hb.Study.open(path, read_only=True) as study:
            states.append(json.dumps(study.optimizer.state_dict()))
            assert str(study.recommend()) == str(result.recommended)
            assert study.is_confirmed == result.confirmed
    assert states[0] == states[1]
    # interrupted in the first confirmation and in the second search, it is the same run
    broken = tmp_path / "b.db"
    for stop in (55, 999):
        go(broken, 60, 0.2, stop)
    for stop in (80, 101, 999):
        again = go(broken, 120, share, stop)
    assert np.array_equal(again.history.genomes, result.history.genomes)
    assert str(again.recommended) == str(result.recommended)


def test_a_confirmation_that_was_left_for_a_greater_budget_is_forgotten(tmp_path: Path) -> None:
    problem = Noisy(OneMax(20), seed=None)
    how: dict[str, Any] = {"noisy": True, "seed": 1, "study": tmp_path / "a.db"}
    stopped = hb.maximize(
        problem,
        problem.space,
        60,
        confirm=0.3,
        executor=DeterministicExecutor(8),
        callbacks=[lambda state: state.evaluations >= 50],
        **how,
    )
    assert not stopped.confirmed
    result = hb.maximize(problem, problem.space, 100, confirm=0.2, **how)
    assert (result.evaluations, result.confirmed) == (100, True)
    assert len(set(result.history.numbers.tolist())) == 100


def test_a_confirmation_stays_where_there_is_nothing_more_to_search(tmp_path: Path) -> None:
    problem = Noisy(OneMax(2), seed=None)
    how: dict[str, Any] = {"noisy": True, "seed": 1, "duplicates": "avoid", "confirm": 0.5}
    how["study"] = tmp_path / "a.db"
    first = hb.maximize(problem, problem.space, 8, **how)
    second = hb.maximize(problem, problem.space, 30, **how)
    assert second.stopped_because.startswith("exhausted")
    assert (second.evaluations, second.confirmed) == (8, True)
    assert str(second.recommended) == str(first.recommended)
    with hb.Study.open(tmp_path / "a.db", read_only=True) as study:
        assert study.is_confirmed


@pytest.mark.parametrize("slots", [1, 8])
@pytest.mark.parametrize("kind", ["kalman", "bandit_rmhc"])
def test_a_search_that_is_over_early_is_confirmed_with_what_was_kept_for_it(
    tmp_path: Path, kind: str, slots: int
) -> None:
    problem = Noisy(OneMax(4), sd=1.0, seed=0)
    options: dict[str, Any] = {} if kind == "kalman" else {"restart_after": 3}

    def stop_at(count: int) -> Callback:
        return lambda state: state.evaluations >= count

    def go(path: Path, stops: tuple[int, ...]) -> hb.Result:
        for stop in (*stops, 1000):
            result = hb.maximize(
                problem,
                problem.space,
                200,
                optimizer=kind,
                noisy=True,
                duplicates="avoid",
                confirm=0.2,
                seed=1,
                study=path,
                executor=DeterministicExecutor(slots, seed=1),
                callbacks=[stop_at(stop)],
                **options,
            )
        return result

    straight = go(tmp_path / "a.db", ())
    assert straight.stopped_because.startswith("exhausted")
    searched = straight.evaluations - 40
    assert searched >= 16  # resamples are not duplicates
    fresh = straight.history.values[searched:]
    assert straight.recommended.evaluations < 40
    assert straight.recommended.mean in [
        pytest.approx(fresh[(straight.history.genomes[searched:] == genome).all(axis=1)].mean())
        for genome in np.unique(straight.history.genomes[searched:], axis=0)
    ]
    with contextlib.closing(Store(tmp_path / "a.db", read_only=True)) as store:
        idle = [event.kind for _, event in store.events(1)].count("exhausted")
    # the search is not asked again for every fresh evaluation
    assert idle == 1 if slots == 1 else idle < 40
    interrupted = go(tmp_path / "b.db", (5, searched + 3, searched + 20))
    assert np.array_equal(interrupted.history.values, straight.history.values)
    assert str(interrupted.recommended) == str(straight.recommended)


def test_it_improves_the_answer_and_its_interval_at_the_same_total_budget() -> None:
    # one row of benchmarks/confirm.md: the (1+1)-EA measures each genome only once or twice
    problem = Noisy(OneMax(10), sd=3.0, seed=None)
    runs = 60
    quality, inside = {}, {}
    for share in (None, 0.1):
        results = [
            hb.maximize(
                problem,
                problem.space,
                400,
                optimizer="one_plus_one",
                resamples=1,
                seed=seed,
                confirm=share,
            ).recommended
            for seed in range(runs)
        ]
        truth = [problem.true_value(best.config) for best in results]
        quality[share] = np.array(truth)
        inside[share] = np.mean(
            [best.low <= true <= best.high for best, true in zip(results, truth, strict=True)]
        )
    gain = quality[0.1] - quality[None]
    assert gain.mean() > 2 * gain.std(ddof=1) / runs**0.5
    # 95 %, less three standard errors
    assert inside[0.1] > 0.95 - 3 * (0.95 * 0.05 / runs) ** 0.5
