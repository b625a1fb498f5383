from __future__ import annotations

import io
import logging
import math
import subprocess
import sys
import time
from typing import Any

import numpy as np
import pytest

import hillbandit as hb
from hillbandit.problems import Noisy, OneMax
from hillbandit.study import Callback
from hillbandit.trial import trial_seed

SPACE = hb.Space({"x": range(-5, 6), "y": range(-5, 6), "name": ["a", "b"]})


def bowl(config: dict[str, Any]) -> float:
    return float((config["x"] - 2) ** 2 + (config["y"] + 1) ** 2 + (config["name"] == "a"))


def test_minimize_gives_everything_in_the_users_own_sign() -> None:
    result = hb.minimize(bowl, SPACE, budget=150, seed=1)
    assert result.recommended.config == {"x": 2, "y": -1, "name": "b"}
    assert (result.recommended.low, result.recommended.mean, result.recommended.high) == (0, 0, 0)
    assert math.copysign(1, result.recommended.mean) == 1
    assert result.best_observed.value == 0
    assert result.history.values.min() == 0
    assert result.history.values.max() > 5
    assert (result.evaluations, result.stopped_because) == (150, "budget")


def test_maximizing_minus_f_is_the_same_run_as_minimizing_f() -> None:
    low = hb.minimize(bowl, SPACE, budget=60, seed=3)
    high = hb.maximize(lambda config: -bowl(config), SPACE, budget=60, seed=3)
    assert np.array_equal(low.history.genomes, high.history.genomes)
    assert low.recommended.mean == -high.recommended.mean


def test_under_noise_the_interval_is_turned_round_with_the_sign() -> None:
    problem = Noisy(OneMax(8), seed=None)
    low = hb.minimize(
        lambda g, seed: -problem(g, seed=seed), problem.space, budget=80, noisy=True, seed=2
    )
    high = hb.maximize(problem, problem.space, budget=80, noisy=True, seed=2)
    assert (low.recommended.low, low.recommended.high) == pytest.approx(
        (-high.recommended.high, -high.recommended.low)
    )


@pytest.mark.parametrize("optimizer", ["rmhc", hb.RMHC, hb.RMHC(SPACE, duplicates="reuse", seed=5)])
def test_the_optimiser_is_a_name_a_class_or_an_instance(optimizer: Any) -> None:
    seed = None if isinstance(optimizer, hb.Optimizer) else 5
    result = hb.maximize(bowl, SPACE, budget=20, optimizer=optimizer, seed=seed)
    expected = hb.maximize(bowl, SPACE, budget=20, optimizer="rmhc", seed=5)
    assert np.array_equal(result.history.genomes, expected.history.genomes)
    assert result.seed == 5


def test_an_instance_goes_on_with_trials_in_flight_first() -> None:
    optimizer = hb.BanditRMHC(SPACE, scale="auto", seed=5)
    lost = [optimizer.ask() for _ in range(3)]
    result = hb.maximize(bowl, SPACE, budget=10, optimizer=optimizer)
    assert result.history.numbers.tolist()[:3] == [trial.number for trial in lost]
    assert result.evaluations == 10
    assert hb.maximize(bowl, SPACE, budget=10, optimizer=optimizer).history.numbers[0] == 10


def test_a_noisy_run_resamples_twice_and_options_reach_the_optimiser() -> None:
    seen: list[Any] = []
    keep: list[Callback] = [lambda s: seen.append(s.optimizer)]
    hb.maximize(bowl, SPACE, 9, optimizer="bandit_rmhc", noisy=True, seed=1, callbacks=keep)
    assert (seen[0].resamples, seen[0].scale) == (2, "auto")
    hb.maximize(
        bowl,
        SPACE,
        9,
        optimizer="bandit_rmhc",
        resamples=3,
        k=1.0,
        scale=1.0,
        seed=1,
        callbacks=keep,
    )
    assert (seen[-1].noisy, seen[-1].resamples, seen[-1].k, seen[-1].scale) == (True, 3, 1.0, 1.0)


def test_the_default_is_the_kalman_climber_unless_an_option_is_the_papers() -> None:
    seen: list[Any] = []
    keep: list[Callback] = [lambda s: seen.append(type(s.optimizer))]
    hb.maximize(bowl, SPACE, 1, seed=1, callbacks=keep)
    hb.maximize(bowl, SPACE, 1, seed=1, resamples=2, callbacks=keep)
    hb.maximize(bowl, SPACE, 1, seed=1, duplicates="avoid", callbacks=keep)
    assert seen == [hb.KalmanClimber, hb.BanditRMHC, hb.KalmanClimber]


def test_a_budget_is_exact_and_an_unfinished_comparison_still_counts() -> None:
    for budget in range(1, 14):
        result = hb.maximize(bowl, SPACE, budget=budget, optimizer="rmhc", resamples=3, seed=1)
        assert result.evaluations == len(result.history) == budget
        counts = np.unique(result.history.genomes, axis=0, return_counts=True)[1]
        assert result.recommended.evaluations in counts


def test_the_target_stops_a_noise_free_run_at_once() -> None:
    problem = OneMax(20)
    result = hb.maximize(problem, problem.space, budget=500, target=15, seed=1)
    assert result.stopped_because == "target"
    assert result.history.values[-1] >= 15
    assert (result.history.values[:-1] < 15).all()
    low = hb.minimize(bowl, SPACE, budget=500, target=1, seed=1)
    assert low.stopped_because == "target"
    assert low.best_observed.value <= 1


def test_under_noise_a_lucky_value_is_no_target() -> None:
    problem = Noisy(OneMax(20))
    result = hb.maximize(problem, problem.space, budget=3000, target=19.0, noisy=True, seed=1)
    assert result.stopped_because == "target"
    assert result.recommended.low >= 19.0
    assert (result.history.values[:-1] > 19.0).any()


@pytest.mark.parametrize("options", [{"optimizer": "rmhc", "resamples": 1}, {"noisy": True}])
def test_under_noise_the_target_is_noticed_as_soon_as_the_interval_is_above_it(
    options: dict[str, Any],
) -> None:
    problem = Noisy(OneMax(3))
    for seed in range(250, 270):
        lows: list[float] = []

        def keep(state: hb.Progress, lows: list[float] = lows) -> None:
            lows.append(state.recommend().low)

        result = hb.maximize(
            problem, problem.space, 40, target=2.5, seed=seed, callbacks=[keep], **options
        )
        reached = [low >= 2.5 for low in lows]
        assert reached.index(True) == len(lows) - 1 if any(reached) else len(lows) == 40
        assert (result.stopped_because == "target") is reached[-1]


def test_under_noise_the_target_of_minimize_is_the_upper_end() -> None:
    problem = Noisy(OneMax(6))
    highs: list[float] = []
    keep: list[Callback] = [lambda state: highs.append(state.recommend().high)]
    result = hb.minimize(
        problem, problem.space, 900, target=0.5, seed=1, callbacks=keep, noisy=True
    )
    assert result.stopped_because == "target"
    assert [high <= 0.5 for high in highs].index(True) == len(highs) - 1


def test_the_timeout_stops_it_but_never_before_the_first_evaluation() -> None:
    def slow(config: Any) -> float:
        time.sleep(0.02)
        return bowl(config)

    result = hb.maximize(slow, SPACE, timeout=0.1, seed=1)
    assert result.stopped_because == "timeout"
    assert 1 <= result.evaluations <= 6
    assert hb.maximize(slow, SPACE, timeout=1e-9, seed=1).evaluations == 1


def test_callbacks_see_each_evaluation_and_stop_the_run_by_returning_true() -> None:
    seen: list[hb.Progress] = []

    def callback(state: hb.Progress) -> bool:
        seen.append(state)
        return state.evaluations == 7

    result = hb.minimize(bowl, SPACE, budget=50, callbacks=[callback], seed=1)
    assert result.stopped_because == "callback"
    assert [state.evaluations for state in seen] == [1, 2, 3, 4, 5, 6, 7]
    assert [s.observation.value for s in seen] == result.history.values.tolist()
    assert seen[-1].recommend().mean == result.recommended.mean


@pytest.mark.parametrize("answer", [True, np.True_])
def test_a_truth_value_of_numpy_stops_the_run_too(answer: Any) -> None:
    result = hb.maximize(bowl, SPACE, 9, callbacks=[lambda _: answer], seed=1)
    assert (result.stopped_because, result.evaluations) == ("callback", 1)
    answers = iter([False, np.False_, None, 1, "yes", np.array([1, 2])])
    assert hb.maximize(bowl, SPACE, 6, callbacks=[lambda _: next(answers)]).evaluations == 6


def test_a_keyboard_interrupt_returns_what_is_known() -> None:
    calls = 0

    def interrupted(config: Any) -> float:
        nonlocal calls
        calls += 1
        if calls == 5:
            raise KeyboardInterrupt
        return bowl(config)

    result = hb.maximize(interrupted, SPACE, budget=50, seed=1)
    assert (result.stopped_because, result.evaluations) == ("interrupted", 4)
    calls = 4
    with pytest.raises(KeyboardInterrupt):
        hb.maximize(interrupted, SPACE, budget=50, seed=1)


def test_a_keyboard_interrupt_in_the_first_evaluation_returns_what_was_told_in_advance() -> None:
    def interrupted(_: Any) -> float:
        raise KeyboardInterrupt

    known = [({"x": 0, "y": 0, "name": "b"}, 5.0)]
    result = hb.minimize(interrupted, SPACE, 9, known=known, seed=1)
    assert (result.stopped_because, result.evaluations) == ("interrupted", 0)
    assert result.recommended.config == known[0][0]
    assert len(result.history) == 0


def test_an_exception_reaches_the_caller_with_the_configuration_named() -> None:
    optimizer = hb.BanditRMHC(SPACE, seed=1)

    def broken(config: Any) -> float:
        if optimizer.evaluations == 3:
            raise ZeroDivisionError("no wheels")
        return bowl(config)

    with pytest.raises(ZeroDivisionError, match="no wheels") as caught:
        hb.maximize(broken, SPACE, budget=50, optimizer=optimizer)
    (note,) = caught.value.__notes__
    assert note.startswith("hillbandit was evaluating trial 3: {'x':")
    assert optimizer.evaluations == 3
    assert optimizer.recommend().evaluations == 1
    assert optimizer.ask().number == 4


@pytest.mark.parametrize("bad", [math.nan, math.inf, "1.0", None, [1.0, 2.0]])
def test_a_value_that_is_no_number_names_the_trial(bad: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="trial 0") as caught:
        hb.maximize(lambda _: bad, SPACE, budget=5, seed=1)
    assert "evaluating trial 0" in caught.value.__notes__[0]


def test_the_seed_of_a_trial_is_derived_from_the_run_and_its_number() -> None:
    seeds: list[int] = []

    def record(config: Any, seed: int) -> float:
        seeds.append(seed)
        return bowl(config)

    result = hb.maximize(record, SPACE, budget=30, seed=77)
    assert seeds == [trial_seed(77, number) for number in range(30)]
    assert result.seed == 77
    assert len({trial_seed(run, number) for run in range(50) for number in range(50)}) == 2500
    assert all(0 <= seed < 2**32 for seed in seeds)
    assert trial_seed(2**80 + 1, 3) != trial_seed(1, 3)


def test_a_drawn_seed_repeats_the_run() -> None:
    first = hb.maximize(bowl, SPACE, budget=25)
    again = hb.maximize(bowl, SPACE, budget=25, seed=first.seed)
    assert np.array_equal(first.history.genomes, again.history.genomes)


def test_known_evaluations_cost_no_budget() -> None:
    known = [({"x": 2, "y": -1, "name": "b"}, 0.0)]
    result = hb.minimize(bowl, SPACE, budget=3, known=known, seed=1)
    assert result.evaluations == 3
    assert result.recommended.config == known[0][0]
    assert result.best_observed.number == -1


def test_an_exhausted_space_ends_the_run_with_the_reason() -> None:
    result = hb.maximize(lambda _: 1.0, hb.Space({"a": [1]}), budget=9, seed=1)
    assert result.evaluations == 1
    assert result.stopped_because.startswith("exhausted: a single configuration")
    noisy = hb.maximize(lambda _: 1.0, hb.Space({"a": [1]}), budget=9, noisy=True, seed=1)
    assert (noisy.evaluations, noisy.recommended.evaluations) == (9, 9)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: hb.maximize(bowl, SPACE, budget=0), "at least 1 evaluation"),
        (lambda: hb.maximize(bowl, SPACE, budget=2.5), "must be an integer"),  # type: ignore[arg-type]
        (lambda: hb.maximize(bowl, SPACE), "Say when to stop"),
        (lambda: hb.maximize(bowl, SPACE, timeout=0), "must be positive"),
        (lambda: hb.maximize(bowl, SPACE, 5, target=math.nan), "NaN"),
        (lambda: hb.maximize(3, SPACE, 5), "must be a function"),  # type: ignore[arg-type]
        (lambda: hb.maximize(bowl, {"x": [1]}, 5), "needs a Space"),  # type: ignore[arg-type]
        (lambda: hb.maximize(bowl, SPACE, 5, optimizer="sgd"), "registered are"),
        (lambda: hb.maximize(bowl, SPACE, 5, optimizer=int), "a registered name"),  # type: ignore[arg-type]
        (lambda: hb.maximize(bowl, SPACE, 5, resample=2), "has no option resample"),
        (
            lambda: hb.maximize(bowl, SPACE, 5, optimizer=hb.RMHC(hb.Space.binary(2))),
            "another space",
        ),
        (lambda: hb.maximize(bowl, SPACE, 5, optimizer=hb.RMHC(SPACE), seed=1), "ready-made"),
        (lambda: hb.maximize(bowl, SPACE, 5, known=[({"x": 99}, 1.0)]), "missing genes"),
        (lambda: hb.maximize(bowl, SPACE, 5, noisy=False, resamples=3), "say noisy=True"),
        (lambda: hb.maximize(bowl, SPACE, 5, noisy="no"), "True or False, not 'no'"),  # type: ignore[arg-type]
        (
            lambda: hb.maximize(bowl, SPACE, 5, optimizer=hb.RMHC(SPACE, noisy=True), noisy=False),
            "ready-made",
        ),
        (lambda: hb.maximize(bowl, SPACE, timeout="5"), "timeout must be a number, not '5'"),  # type: ignore[arg-type]
        (lambda: hb.maximize(bowl, SPACE, 5, target="5"), "target must be a number, not '5'"),  # type: ignore[arg-type]
        (lambda: hb.maximize(bowl, SPACE, 5, confirm="5"), "confirm must be a number, not '5'"),  # type: ignore[arg-type]
        (lambda: hb.maximize(bowl, SPACE, 5, trial_timeout="5"), "number of seconds, not '5'"),  # type: ignore[arg-type]
        (lambda: hb.maximize(bowl, SPACE, 5, callbacks=print), "put the one you have into a list"),  # type: ignore[arg-type]
        (lambda: hb.maximize(bowl, SPACE, 5, callbacks=[3]), "must be a function, not 3"),  # type: ignore[list-item]
        (lambda: hb.maximize(bowl, SPACE, 5, callbacks=3), "list of functions, not 3"),  # type: ignore[arg-type]
        (lambda: hb.maximize(bowl, SPACE, 5, known=[1]), "list of pairs .* not 1"),  # type: ignore[list-item]
        (lambda: hb.maximize(bowl, SPACE, 5, known=3), "list of pairs .* not 3"),  # type: ignore[arg-type]
        (lambda: hb.maximize(bowl, SPACE, 5, known={"x": 3}), "list of pairs"),  # type: ignore[dict-item]
        (
            lambda: hb.minimize(bowl, SPACE, 5, known=[({"x": 0, "y": 0, "name": "a"}, "a")]),  # type: ignore[list-item]
            "value must be a number, not 'a'",
        ),
    ],
)
def test_bad_arguments_get_a_sentence(call: Any, says: str) -> None:
    with pytest.raises((TypeError, ValueError), match=says):
        call()


def test_the_history_turns_into_columns_without_a_loop() -> None:
    result = hb.minimize(bowl, SPACE, budget=12, seed=1)
    columns = result.history.columns()
    assert list(columns) == ["number", "value", "x", "y", "name"]
    assert columns["x"].dtype.kind == "i"
    assert set(columns["name"]) <= {"a", "b"}
    values = [
        bowl({"x": x, "y": y, "name": n})
        for x, y, n in zip(columns["x"], columns["y"], columns["name"], strict=True)
    ]
    assert values == columns["value"].tolist()
    assert [o.config["x"] for o in result.history] == columns["x"].tolist()
    assert hb.maximize(OneMax(3), hb.Space.binary(3), 5, seed=1).history.columns()["gene_2"].size


def test_genes_called_value_or_number_do_not_replace_those_columns() -> None:
    space = hb.Space({"value": [10, 20], "gene_value": ["a", "b"], "number": [1.5, 2.5]})
    history = hb.maximize(lambda config: float(config["value"]), space, 6, seed=1).history
    columns = history.columns()
    assert list(columns) == ["number", "value", "gene_value", "gene_gene_value", "gene_number"]
    assert columns["number"].tolist() == history.numbers.tolist()
    assert columns["value"].tolist() == history.values.tolist() == columns["gene_value"].tolist()
    assert columns["gene_gene_value"].tolist() == [o.config["gene_value"] for o in history]
    assert columns["gene_number"].tolist() == [o.config["number"] for o in history]


def test_a_slice_of_the_history_is_a_list_of_observations() -> None:
    history = hb.minimize(bowl, SPACE, budget=9, seed=1).history
    every = list(history)
    for part in (slice(0, 3), slice(-2, None), slice(None, None, -2), slice(20, 30)):
        numbers = [observation.number for observation in history[part]]
        assert numbers == [observation.number for observation in every[part]]
    with pytest.raises(IndexError):
        history[9]


def test_the_best_value_is_said_to_be_told_in_advance_where_it_was() -> None:
    known = [({"x": 2, "y": -1, "name": "b"}, 0.0)]
    text = repr(hb.minimize(bowl, SPACE, budget=3, known=known, seed=1))
    assert text.endswith("best observed  x=2, y=-1, name='b': 0 told in advance")


def test_the_result_is_readable() -> None:
    result = hb.minimize(bowl, SPACE, budget=150, seed=1)
    text = repr(result)
    assert text.splitlines() == [
        f"Result after 150 evaluations (stopped: budget; seed 1; {result.reused} reused)",
        "  recommended    x=2, y=-1, name='b': mean 0, from 1 evaluation",
        f"  best observed  x=2, y=-1, name='b': 0 in trial {text.split()[-1]}",
    ]


def test_it_logs_and_prints_nothing(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    with caplog.at_level(logging.DEBUG, logger="hillbandit"):
        hb.maximize(bowl, SPACE, budget=3, seed=1)
    assert "stopped: budget" in caplog.text
    assert "trial 2:" in caplog.text
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_a_program_that_does_not_ask_for_logging_sees_none() -> None:
    program = """
import hillbandit as hb
def fails(genome):
    if genome.sum() < 3:
        raise ArithmeticError("unlucky")
    return 1.0
hb.maximize(fails, hb.Space.binary(6), 9, on_failure="record", seed=1)
"""
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert (ran.stdout, ran.stderr) == ("", "")


def test_a_terminal_gets_a_progress_bar_and_a_file_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm")
    for stream, shown in ((Terminal(), True), (io.StringIO(), False)):
        monkeypatch.setattr(sys, "stderr", stream)
        hb.minimize(bowl, SPACE, budget=40, seed=1)
        assert ("40/40" in stream.getvalue()) is shown
    monkeypatch.setattr("hillbandit.progress.find_spec", lambda _: None)
    with pytest.raises(ModuleNotFoundError, match=r"hillbandit\[cli\]"):
        hb.minimize(bowl, SPACE, budget=4, progress=True)
