"""The conformance suite that every optimiser passes, and an executor whose order is fixed.

Example:
    In a test file of your own::

        from hillbandit.testing import OptimizerConformance

        class TestMyOptimizer(OptimizerConformance):
            def make(self, space, *, noisy, seed):
                return MyOptimizer(space, noisy=noisy, seed=seed)

    pytest then collects every check. Without pytest, `check_optimizer(make)` runs them all.
"""

from __future__ import annotations

import json
import math
from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from hillbandit.evaluators import Task
from hillbandit.ledger import Ledger
from hillbandit.optimizers.base import Exhausted, Optimizer
from hillbandit.problems import Noisy, OneMax
from hillbandit.space import Genome, Space
from hillbandit.study import Callback, Study
from hillbandit.trial import Trial, trial_seed

SPACES = {
    "bits": Space.binary(12),
    "named": Space({"lives": [1, 2, 3, 5], "speed": range(1, 11), "shield": [False, True]}),
    "mixed": Space.unnamed([1, 2, 3, 1, 7, 2]),
    "one gene": Space.binary(1),
    "constrained": Space.uniform(6, 3, valid=lambda genome: int(genome.sum()) % 2 == 0),
}
"""Spaces of every kind, on which each check runs.

In the constrained one a single change of one gene from 0 to 2, or back, is valid.
"""


def score(genome: Genome) -> float:
    """Evaluate a genome of any space: a sum in which every value of every gene matters."""
    weights = np.arange(1, len(genome) + 1)
    return float((weights * (genome % 3)).sum())


class OptimizerConformance:
    """What holds for every optimiser; subclass it and define `make`."""

    @abstractmethod
    def make(self, space: Space, *, noisy: bool, seed: int | None) -> Optimizer:
        """Make a fresh optimiser."""

    def _fresh(self) -> Iterator[Optimizer]:
        for space in SPACES.values():
            for noisy in (False, True):
                yield self.make(space, noisy=noisy, seed=5)

    def test_trials_are_numbered_from_zero_without_gaps(self) -> None:
        """Check the numbers, with several trials open."""
        for optimizer in self._fresh():
            trials = [optimizer.ask() for _ in range(7)]
            _expect([t.number for t in trials] == list(range(7)), "numbers are 0, 1, 2, ...")
            _expect(
                [t.number for t in optimizer.outstanding] == list(range(7)), "all are outstanding"
            )

    def test_every_genome_is_a_valid_read_only_member_of_the_space(self) -> None:
        """Check what is asked for."""
        for optimizer in self._fresh():
            space = optimizer.space
            for trial, _ in _steps(optimizer, 60):
                _expect(np.array_equal(space.checked(trial.genome), trial.genome), "in the space")
                _expect(space.is_valid(trial.genome), "valid")
                _expect(not trial.genome.flags.writeable, "read-only")
                _expect(
                    np.array_equal(space.encode(trial.config), trial.genome), "config is the genome"
                )

    def test_exactly_the_told_evaluations_are_counted(self) -> None:
        """Check the count against tells, abandons and trials left open."""
        for optimizer in self._fresh():
            told = 0
            for step in range(40):
                trial = optimizer.ask()
                if step % 5 == 3:
                    optimizer.abandon(trial)
                elif step % 7 != 6:
                    optimizer.tell(trial, score(trial.genome))
                    told += 1
                _expect(optimizer.evaluations == told, f"{told} told")

    def test_a_trial_is_told_once_and_only_if_it_was_asked_for(self) -> None:
        """Check that wrong tells are refused and change nothing."""
        for optimizer in self._fresh():
            first = optimizer.ask()
            optimizer.tell(first, 1.0)
            lost = optimizer.ask()
            optimizer.abandon(lost)
            stranger = Trial(10_000, first.genome, optimizer.space, 0)
            before = json.dumps(optimizer.state_dict())
            for trial in (first, lost, stranger):
                _expect_raises(ValueError, optimizer.tell, trial, 1.0)
                _expect_raises(ValueError, optimizer.abandon, trial)
            _expect(json.dumps(optimizer.state_dict()) == before, "nothing changed")

    def test_a_value_that_is_no_finite_number_leaves_the_trial_open(self) -> None:
        """Check NaN, infinities and non-numbers."""
        for optimizer in self._fresh():
            trial = optimizer.ask()
            before = json.dumps(optimizer.state_dict())
            bad: tuple[Any, ...] = (math.nan, math.inf, -math.inf, 1e301, "1", None, [1.0], 1j)
            for value in bad:
                _expect_raises((TypeError, ValueError), optimizer.tell, trial, value)
            _expect(json.dumps(optimizer.state_dict()) == before, "nothing changed")
            optimizer.tell(trial, np.float32(2.0))
            _expect(optimizer.evaluations == 1, "it can still be told")

    def test_an_abandoned_genome_is_asked_for_again_under_a_new_number(self) -> None:
        """Check the retry."""
        for optimizer in self._fresh():
            for _ in range(5):
                lost = optimizer.ask()
                optimizer.abandon(lost)
                again = optimizer.ask()
                _expect(again.number == lost.number + 1, "a new number")
                _expect(np.array_equal(again.genome, lost.genome), "the same genome")
                _expect(again.seed != lost.seed, "a seed of its own")
                optimizer.tell(again, score(again.genome))

    def test_it_goes_on_when_evaluations_are_dropped_for_good(self) -> None:
        """Check that dropped trials are neither counted nor waited for.

        Where everything has been dropped, there may be nothing left to ask for.
        """
        for optimizer in self._fresh():
            rng = np.random.default_rng(2)
            told = 0
            for _ in range(80):
                try:
                    trial = optimizer.ask()
                except Exhausted:
                    break
                if rng.random() < 0.4:
                    optimizer.abandon(trial, retry=False)
                else:
                    optimizer.tell(trial, score(trial.genome))
                    told += 1
            _expect(optimizer.evaluations == told, "only tells are counted")
            _expect(not optimizer.outstanding, "nothing is open")

    def test_trials_may_be_told_in_any_order(self) -> None:
        """Check the books with up to nine trials open and told at random."""
        for optimizer in self._fresh():
            rng = np.random.default_rng(3)
            open_trials: list[Trial] = []
            values: dict[bytes, list[float]] = {}
            for _ in range(150):
                if len(open_trials) < 9 and rng.random() < 0.6:
                    open_trials.append(optimizer.ask())
                elif open_trials:
                    trial = open_trials.pop(int(rng.integers(len(open_trials))))
                    if rng.random() < 0.1:
                        optimizer.abandon(trial)
                        continue
                    value = score(trial.genome) + rng.normal() * optimizer.noisy
                    optimizer.tell(trial, value)
                    values.setdefault(trial.genome.tobytes(), []).append(value)
            told = [value for group in values.values() for value in group]
            _expect(optimizer.evaluations == len(told), "each told evaluation is counted once")
            _expect(optimizer.best_observed.value == max(told), "the best is the highest")

    def test_a_restored_optimiser_continues_exactly_as_the_original(self) -> None:
        """Check state_dict through JSON text at every fifth step, with trials open."""
        for optimizer in self._fresh():
            rng = np.random.default_rng(4)
            open_trials: list[Trial] = []
            for step in range(60):
                if step % 5 == 0:
                    text = json.dumps(optimizer.state_dict())
                    twin = Optimizer.from_state_dict(optimizer.space, json.loads(text))
                    _expect(type(twin) is type(optimizer), "the same class")
                    _expect(json.dumps(twin.state_dict()) == text, "the same state")
                    optimizer, open_trials = twin, twin.outstanding
                while len(open_trials) < 3:
                    open_trials.append(optimizer.ask())
                trial = open_trials.pop(int(rng.integers(3)))
                optimizer.tell(trial, score(trial.genome))
            straight = self.make(optimizer.space, noisy=optimizer.noisy, seed=5)
            rng = np.random.default_rng(4)
            open_trials = []
            for _ in range(60):
                while len(open_trials) < 3:
                    open_trials.append(straight.ask())
                trial = open_trials.pop(int(rng.integers(3)))
                straight.tell(trial, score(trial.genome))
            _expect(
                json.dumps(straight.state_dict()) == json.dumps(optimizer.state_dict()),
                "interrupted and straight runs are equal",
            )

    def test_a_state_of_another_space_or_kind_is_refused(self) -> None:
        """Check from_state_dict's sentences."""
        optimizer = self.make(Space.binary(4), noisy=False, seed=1)
        state = optimizer.state_dict()
        load = Optimizer.from_state_dict
        _expect_raises(ValueError, load, Space.binary(5), state)
        _expect_raises(ValueError, load, Space.binary(4), {})
        _expect_raises(ValueError, load, Space.binary(4), {**state, "format": -1})
        _expect_raises(ValueError, load, Space.binary(4), {**state, "optimizer": "no such"})

    def test_the_same_seed_gives_the_same_run(self) -> None:
        """Check two runs, and that numpy's global generator plays no part."""
        for optimizer in self._fresh():
            twin = self.make(optimizer.space, noisy=optimizer.noisy, seed=5)
            for (a, _), (b, _) in zip(_steps(optimizer, 50), _steps(twin, 50), strict=True):
                np.random.seed(a.number)  # noqa: NPY002 - somebody else's use of it
                _expect(np.array_equal(a.genome, b.genome), "the same genomes")
                _expect(a.seed == b.seed, "the same seeds")

    def test_other_seeds_give_other_runs_and_none_draws_one(self) -> None:
        """Check that seeds matter, and that a drawn one is recorded."""
        space = Space.binary(30)
        drawn = self.make(space, noisy=False, seed=None)
        _expect(drawn.seed != self.make(space, noisy=False, seed=None).seed, "drawn afresh")
        again = self.make(space, noisy=False, seed=drawn.seed)
        _expect(np.array_equal(drawn.ask().genome, again.ask().genome), "the seed repeats the run")
        other = self.make(space, noisy=False, seed=drawn.seed + 1)
        _expect(not np.array_equal(again.outstanding[0].genome, other.ask().genome), "seeds matter")

    def test_a_recommendation_by_samples_is_the_mean_of_that_genome(self) -> None:
        """Check mean, count and interval against NumPy on all evaluations of the genome."""
        problem = Noisy(OneMax(6), sd=1.0, seed=7)
        optimizer = self.make(problem.space, noisy=True, seed=8)
        _expect_raises(ValueError, optimizer.recommend)
        values: dict[bytes, list[float]] = {}
        for _ in range(120):
            trial = optimizer.ask()
            value = problem(trial.config, seed=trial.seed)
            optimizer.tell(trial, value)
            values.setdefault(trial.genome.tobytes(), []).append(value)
            recommended = optimizer.recommend()
            _expect(recommended.low <= recommended.mean <= recommended.high, "an interval")
            if recommended.basis == "samples":
                mine = values[recommended.genome.tobytes()]
                _expect(recommended.evaluations == len(mine), "the count")
                _expect(math.isclose(recommended.mean, float(np.mean(mine))), "the mean")

    def test_noise_free_the_best_value_is_recommended_and_found(self) -> None:
        """Check that a small problem is solved."""
        problem = OneMax(10)
        optimizer = self.make(problem.space, noisy=False, seed=9)
        for trial, _ in _steps(optimizer, 800, problem):
            del trial
        _expect(problem.is_solved(optimizer.recommend().config), f"{problem!r} is solved")
        _expect(optimizer.best_observed.value == problem.optimum, "best_observed agrees")

    def test_parallel_runs_with_the_same_order_of_completion_are_the_same_run(self) -> None:
        """Check two studies on the deterministic executor, and one that stops on the way."""

        def objective(config: Any, seed: int) -> float:
            return score(np.asarray(config)) + (seed % 5) * optimizer.noisy

        for optimizer in self._fresh():
            if optimizer.space.names is not None:
                continue
            states = []
            for budgets in ((50,), (50,), (20, 50)):
                ledger = Ledger(
                    self.make(optimizer.space, noisy=optimizer.noisy, seed=5), maximizing=True
                )
                for budget in budgets:
                    Study(ledger).run(
                        objective,
                        timeout=60,
                        callbacks=[_stopping_at(budget)],
                        executor=DeterministicExecutor(4, seed=1),
                    )
                    ledger = _forgetting_what_was_running(ledger)
                states.append(json.dumps(ledger.optimizer.state_dict()))
            _expect(states[0] == states[1], "the same run")
            _expect(states[0] == states[2], "interrupted and straight runs are equal")

    def test_every_gene_is_explained(self) -> None:
        """Check one report a gene, in order, with values of the space."""
        for optimizer in self._fresh():
            for trial, _ in _steps(optimizer, 20):
                del trial
            reports = optimizer.explain()
            space = optimizer.space
            _expect([r.gene for r in reports] == [space.label(i) for i in range(len(space))], "all")
            for i, report in enumerate(reports):
                choices = [space.value(i, v) for v in range(int(space.sizes[i]))]
                _expect(report.value in choices, "a value of the gene")
                _expect(report.mutations >= 0, "a count")
                _expect(
                    report.urgency == report.rescue + report.explore, "urgency is rescue + explore"
                )

    def test_a_single_configuration_is_evaluated_and_no_more_is_invented(self) -> None:
        """Check the space in which there is nothing to choose."""
        for noisy in (False, True):
            optimizer = self.make(Space({"a": ["x"], "b": [1]}), noisy=noisy, seed=1)
            try:
                for _ in range(6):
                    trial = optimizer.ask()
                    _expect(trial.config == {"a": "x", "b": 1}, "the only one")
                    optimizer.tell(trial, 3.0)
            except Exhausted as end:
                _expect(bool(str(end)), "a stated reason")
            _expect(optimizer.recommend().config == {"a": "x", "b": 1}, "recommended")

    def test_earlier_evaluations_count_for_the_answer_and_not_for_the_budget(self) -> None:
        """Check the warm start."""
        for optimizer in self._fresh():
            space = optimizer.space
            config = space.decode(space.sample(np.random.default_rng(0)))
            optimizer.observe(config, 1e6)
            _expect(optimizer.evaluations == 0, "not spent here")
            _expect(optimizer.best_observed.value == 1e6, "known")
            _expect(np.array_equal(optimizer.recommend().genome, space.encode(config)), "used")
            optimizer.ask()
            _expect_raises(ValueError, optimizer.observe, config, 1.0)


class DeterministicExecutor:
    """An executor that ends one task at a time, in an order that depends on the trials alone.

    Give it to `maximize` or `Study.run` as `executor=`. Of the tasks that it has, the one that
    `choose` names ends next; so two runs with the same trials see the same order of completion,
    whatever the machine does, and a run that goes on after an interruption sees the order that it
    would have seen.

    Example:
        >>> import hillbandit as hb
        >>> from hillbandit.testing import DeterministicExecutor
        >>> problem = hb.problems.OneMax(20)
        >>> runs = [
        ...     hb.maximize(
        ...         problem, problem.space, 40, seed=1, executor=DeterministicExecutor(8, seed=3)
        ...     )
        ...     for _ in range(2)
        ... ]
        >>> runs[0].history.numbers.tolist() == runs[1].history.numbers.tolist()
        True

    Args:
        slots: How many tasks it takes at a time.
        seed: Fixes the order in which tasks end.
        choose: Names the one of the given trial numbers that ends next; by default one that the
            seed and the numbers fix.
    """

    def __init__(
        self,
        slots: int,
        seed: int = 0,
        choose: Callable[[list[int]], int] | None = None,
    ) -> None:
        self.slots = slots
        self._choose = choose or (lambda numbers: min(numbers, key=lambda n: trial_seed(seed, n)))
        self._tasks: dict[int, Task] = {}

    def submit(self, task: Task) -> _Promise:
        """Take a task."""
        self._tasks[task.number] = task
        return _Promise(self, task.number)

    def _is_next(self, number: int) -> bool:
        return number in self._tasks and self._choose(list(self._tasks)) == number

    def _run(self, number: int) -> Any:
        return self._tasks.pop(number)()


class _Promise:
    """A future of the deterministic executor."""

    def __init__(self, executor: DeterministicExecutor, number: int) -> None:
        self._executor = executor
        self._number = number

    def done(self) -> bool:
        """Tell whether the task is the next to end."""
        return self._executor._is_next(self._number)

    def result(self) -> Any:
        """Evaluate the task and take it off the executor."""
        return self._executor._run(self._number)


def check_optimizer(make: Callable[..., Optimizer]) -> None:
    """Run the whole conformance suite on an optimiser, without a test runner.

    Example:
        >>> import hillbandit as hb
        >>> from hillbandit.testing import check_optimizer
        >>> check_optimizer(hb.RMHC)

    Args:
        make: Makes a fresh optimiser from a space and the keywords `noisy` and `seed`.

    Raises:
        AssertionError: If a check fails; the text says which.
    """

    class Suite(OptimizerConformance):
        def make(self, space: Space, *, noisy: bool, seed: int | None) -> Optimizer:
            return make(space, noisy=noisy, seed=seed)

    suite = Suite()
    for name in dir(suite):
        if name.startswith("test_"):
            getattr(suite, name)()


def _steps(
    optimizer: Optimizer, count: int, objective: Callable[[Genome], float] = score
) -> Iterator[tuple[Trial, float]]:
    """Ask and tell; an optimiser may have said all there is to say before the count is reached."""
    for _ in range(count):
        try:
            trial = optimizer.ask()
        except Exhausted:
            return
        value = objective(trial.genome)
        yield trial, value
        optimizer.tell(trial, value)


def _stopping_at(evaluations: int) -> Callback:
    return lambda state: state.evaluations >= evaluations


def _forgetting_what_was_running(ledger: Ledger) -> Ledger:
    """Do what a new process does: restore the optimiser, and evaluate anew what was in flight."""
    state = json.loads(json.dumps(ledger.optimizer.state_dict()))
    optimizer = Optimizer.from_state_dict(ledger.optimizer.space, state)
    again = Ledger(optimizer, maximizing=ledger.maximizing)
    again.books = ledger.books
    return again


def _expect(holds: bool, what: str) -> None:
    if not holds:
        raise AssertionError(f"expected: {what}")


def _expect_raises(
    kinds: type[Exception] | tuple[type[Exception], ...], call: Callable[..., Any], *args: Any
) -> None:
    try:
        call(*args)
    except kinds as error:
        _expect(len(str(error)) > 10, "a sentence that says what is wrong")
        return
    raise AssertionError(f"expected {kinds} from {call.__name__}{args}")
