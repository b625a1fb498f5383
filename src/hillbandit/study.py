"""A study: one search, kept in a file if it has one, and the calls that run it."""

from __future__ import annotations

import copy
import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self

import numpy as np

from hillbandit.confirm import confirmed
from hillbandit.definition import (
    default_optimizer,
    definition,
    make_optimizer,
    require_agreement,
    stored_optimizer,
    stored_space,
)
from hillbandit.evaluators import Evaluator, InProcess, OnExecutor, Workers
from hillbandit.ledger import Ledger
from hillbandit.loop import Callback, Limits, Loop, OnFailure, Progress
from hillbandit.optimizers import Optimizer
from hillbandit.progress import ProgressBar
from hillbandit.space import Config, Predicate, Space, is_number
from hillbandit.store import Store, StudyError, reading
from hillbandit.trial import GeneReport, History, Observation, Recommendation, Result, Trial

__all__ = ["Callback", "Progress", "Study", "StudyError", "maximize", "minimize"]

log = logging.getLogger("hillbandit")
log.addHandler(logging.NullHandler())  # a library prints nothing unless it is asked to

Objective = Callable[..., Any]
PathLike = str | os.PathLike[str]

DEFAULT_NAME = "study"


class Study:
    """One search with its optimiser and its journal; `Study.open` makes or continues one.

    Example:
        >>> import tempfile, hillbandit as hb
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = f"{folder.name}/tuning.db"
        >>> problem = hb.problems.OneMax(8)
        >>> with hb.Study.open(path, problem.space, seed=1) as study:
        ...     result = study.run(problem, budget=5)  # the power fails here
        >>> with hb.Study.open(path, problem.space) as study:
        ...     result = study.run(problem, budget=12)
        >>> result.evaluations, result.recommended.mean
        (12, 8.0)
        >>> folder.cleanup()

    Args:
        ledger: The optimiser and its journal.
        name: The study's name.
    """

    def __init__(self, ledger: Ledger, name: str = DEFAULT_NAME) -> None:
        self._ledger = ledger
        self.name = name

    @classmethod
    def open(
        cls,
        path: PathLike,
        space: Space | None = None,
        *,
        name: str = DEFAULT_NAME,
        maximizing: bool | None = None,
        optimizer: str | type[Optimizer] | None = None,
        noisy: bool | None = None,
        seed: int | None = None,
        valid: Predicate | None = None,
        read_only: bool = False,
        **options: Any,
    ) -> Study:
        """Open a study in a file to go on with it, or begin a new one.

        What is said here of a study that exists already must be what it was begun with; what is
        left out is taken from the file.

        Args:
            path: The file; several studies can live in one.
            space: What is searched; needed to begin a study, and where there is a predicate.
            name: The study's name in the file.
            maximizing: Whether greater is better; True for a new study when None.
            optimizer: A registered name or a class; for a new study as in `maximize` when None.
            noisy: As in `maximize`.
            seed: As in `maximize`.
            valid: The space's predicate, where the space itself is read from the file.
            read_only: Open it only to look, also while another process writes it.
            options: Arguments for the optimiser's constructor.

        Raises:
            StudyError: If the file is no study file, is damaged, of another version, or does not
                fit what is said of it; if another process is writing the study; or if it does not
                exist and there is no space to begin it with.
        """
        store = Store(path, read_only=read_only)
        try:
            with reading(path):
                found = store.find(name)
            if found is None and (read_only or space is None):
                others = ", ".join(map(repr, store.names())) or "none"
                raise StudyError(
                    f"There is no study {name!r} in {path} (it has {others}), and no space to "
                    "begin it with."
                )
            if found is None and space is not None:
                fresh = make_optimizer(
                    optimizer or default_optimizer(options), space, noisy, seed, options
                )
                upwards = maximizing is not False
                new = store.create(name, definition(fresh, upwards))
                if new is not None:
                    ledger = Ledger(fresh, maximizing=upwards, store=store, study=new)
                    return cls(ledger, name)
                found = store.find(name)  # another process was quicker
            identity, begun = found or (0, {})
            if not read_only:
                store.lock(identity, name)
            said = {"maximizing": maximizing, "noisy": noisy, "seed": seed} | options
            said["optimizer"] = optimizer if isinstance(optimizer, str | None) else optimizer.name
            with reading(path):  # it may come from anybody
                stored = stored_space(begun, space, valid, reading=read_only)
                fresh = stored_optimizer(begun, stored)
                require_agreement(name, begun, said)
                upwards = begun["maximizing"]
                ledger = Ledger.reopened(fresh, maximizing=upwards, store=store, study=identity)
            return cls(ledger, name)
        except BaseException:
            store.close()
            raise

    def run(
        self,
        objective: Objective,
        budget: int | None = None,
        *,
        timeout: float | None = None,
        target: float | None = None,
        callbacks: Sequence[Callback] = (),
        known: Iterable[tuple[Config, float]] = (),
        workers: int | None = None,
        executor: Any = None,
        trial_timeout: float | None = None,
        retries: int = 0,
        max_failures: int | None = None,
        on_failure: OnFailure | None = None,
        confirm: float | None = None,
        progress: bool | None = None,
    ) -> Result:
        """Evaluate until the study has `budget` evaluations, or another reason to stop.

        Args:
            objective: As in `maximize`, like everything below.
            budget: The number of evaluations of the study, earlier runs included.
            timeout: As in `maximize`.
            target: As in `maximize`.
            callbacks: As in `maximize`.
            known: As in `maximize`; a study that has begun ignores it.
            workers: As in `maximize`.
            executor: As in `maximize`.
            trial_timeout: As in `maximize`.
            retries: As in `maximize`.
            max_failures: As in `maximize`.
            on_failure: As in `maximize`; "record" is the default of a study in a file.
            confirm: As in `maximize`. With a greater budget than that of an earlier confirmation
                the search goes on, and knows the fresh evaluations like all others.
            progress: As in `maximize`.

        Raises:
            StudyError: If the journal cannot be written, or no evaluation has succeeded.
            TypeError: If an argument is of the wrong type.
            ValueError: If an argument is out of range.
            Exception: Whatever the objective raises, where failures are not recorded.
        """
        if not callable(objective):
            raise TypeError(f"The objective must be a function, not {type(objective).__name__}.")
        ledger = self._ledger
        if ledger.store is not None and ledger.store.read_only:
            raise StudyError(f"The study {self.name!r} is open to read only.")
        if on_failure is None:
            wanted = retries or max_failures is not None
            parallel = workers is not None or executor is not None or trial_timeout is not None
            on_failure = "record" if ledger.store is not None or wanted or parallel else "raise"
        if external := getattr(objective, "external", False):
            objective = copy.copy(objective)  # ours to close; the caller's can run again
        limits = Limits(budget, timeout, target, retries, max_failures, on_failure, confirm)
        callbacks = _checked_callbacks(callbacks)
        known = _checked_known(known)
        evaluator = _evaluator(objective, workers, executor, trial_timeout)
        log.info(
            "%s on %r, seed %d", type(self.optimizer).__name__, self.space, self.optimizer.seed
        )
        try:
            if not self.optimizer.evaluations and not self.optimizer.outstanding:
                for config, value in known:
                    ledger.observe(config, value)
            with ProgressBar(progress, limits.budget, limits.timeout) as bar:
                reason = Loop(ledger, evaluator, objective, limits, callbacks, bar).run()
        finally:
            evaluator.close()
            if external:
                objective.close()  # type: ignore[attr-defined]
        if not self.optimizer.evaluations and reason != "interrupted":
            raise StudyError(f"No evaluation has succeeded ({reason}).")
        result = self.result(reason)
        log.info("stopped: %s; recommended %s", result.stopped_because, result.recommended)
        return result

    def result(self, reason: str = "") -> Result:
        """Give what the study has found so far.

        Args:
            reason: Why it stopped.

        Raises:
            ValueError: If nothing has been evaluated yet.
        """
        ledger = self._ledger
        return Result(
            recommended=self.recommend(),
            best_observed=self.best_observed,
            evaluations=ledger.books.told,
            stopped_because=reason,
            history=ledger.history(),
            seed=self.optimizer.seed,
            failures=ledger.books.failed,
            reused=getattr(self.optimizer, "reused", 0),
            confirmed=self.is_confirmed,
        )

    # --- looking --------------------------------------------------------------------------------

    @property
    def optimizer(self) -> Optimizer:
        """The optimiser, which always maximises."""
        return self._ledger.optimizer

    @property
    def space(self) -> Space:
        """What is searched."""
        return self.optimizer.space

    @property
    def maximizing(self) -> bool:
        """Whether greater is better."""
        return self._ledger.maximizing

    @property
    def evaluations(self) -> int:
        """Evaluations told so far."""
        return self._ledger.books.told

    @property
    def failures(self) -> int:
        """Evaluations that failed so far."""
        return self._ledger.books.failed

    @property
    def outstanding(self) -> list[Trial]:
        """Trials that were asked for and have not ended."""
        return self.optimizer.outstanding

    def _confirmed(self) -> Recommendation | None:
        """Give the recommendation by fresh evaluations, once the confirmation is complete."""
        confirmation = self._ledger.books.confirmation
        return None if confirmation is None else confirmed(self.optimizer, confirmation)

    @property
    def is_confirming(self) -> bool:
        """Whether the search is over and a confirmation has begun, or is complete."""
        return self._ledger.books.confirmation is not None

    @property
    def is_confirmed(self) -> bool:
        """Whether the recommendation comes from fresh evaluations only."""
        return self._confirmed() is not None

    def recommend(self) -> Recommendation:
        """Give the recommendation so far, in the user's own sign; the confirmed one, if any."""
        recommendation = self._confirmed() or self.optimizer.recommend()
        return recommendation if self.maximizing else recommendation.negated()

    def leaders(self, count: int) -> list[Recommendation]:
        """Give the leading configurations, the best first, in the user's own sign."""
        leaders = self.optimizer.leaders(count)
        return leaders if self.maximizing else [leader.negated() for leader in leaders]

    @property
    def best_observed(self) -> Observation:
        """The best single value, in the user's own sign."""
        best = self.optimizer.best_observed
        return best if self.maximizing else best.negated()

    def explain(self) -> list[GeneReport]:
        """Report on every gene, as the optimiser sees it."""
        return self.optimizer.explain()

    def history(self) -> History:
        """Give all evaluations, in the order in which they were told."""
        return self._ledger.history()

    def close(self) -> None:
        """Close the file; the study can be opened again, by others too."""
        store = self._ledger.store
        if store is not None:
            if not store.read_only:
                self._ledger.flush()
                self._ledger.save_snapshot()
            store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(error, StudyError) and self._ledger.store is not None:
            self._ledger.store.close()  # the file may be what failed: leave it as it is
        else:
            self.close()


def maximize(
    objective: Objective,
    space: Space,
    budget: int | None = None,
    *,
    optimizer: str | type[Optimizer] | Optimizer | None = None,
    noisy: bool | None = None,
    seed: int | None = None,
    timeout: float | None = None,
    target: float | None = None,
    callbacks: Sequence[Callback] = (),
    known: Iterable[tuple[Config, float]] = (),
    workers: int | None = None,
    executor: Any = None,
    trial_timeout: float | None = None,
    retries: int = 0,
    max_failures: int | None = None,
    on_failure: OnFailure | None = None,
    confirm: float | None = None,
    study: PathLike | None = None,
    study_name: str = DEFAULT_NAME,
    progress: bool | None = None,
    **options: Any,
) -> Result:
    """Find the configuration with the greatest value, within a budget of evaluations.

    Example:
        >>> import hillbandit as hb
        >>> space = hb.Space({"lives": [1, 2, 3, 5], "speed": range(1, 11)})
        >>> def score(config):
        ...     return config["speed"] - abs(config["lives"] - 3)
        >>> hb.maximize(score, space, budget=60, seed=1).recommended.config
        {'lives': 3, 'speed': 10}

    Args:
        objective: Called with a configuration (a dict in a named space, a 1-D integer array in an
            unnamed one); returns a number. If it has a parameter `seed`, it is also given the
            trial's seed, so that its randomness can be repeated.
        space: What is searched.
        budget: The number of evaluations. It may be left out if there is a timeout.
        optimizer: A registered name, a class or an instance; an instance goes on from where it is.
            The default is the Kalman climber, "kalman", which needs the fewest evaluations on
            nearly all of the problems in `benchmarks/climbers.md`; and the paper's, "bandit_rmhc",
            where an option that only that one has is given.
        noisy: Whether two evaluations of a configuration may differ. The paper's climbers then
            compare means of two evaluations of either side, unless `resamples=` says otherwise.
            When None, they may not, unless an option such as `resamples=` implies it.
        seed: Fixes the run; None draws one, and the result tells it.
        timeout: Begin no evaluation after this many seconds; the first is always made.
        target: Stop once this value is reached: noise-free by an evaluation, under noise by the
            lower end of the recommendation's interval.
        callbacks: Each is called with a `Progress` after each evaluation; one that returns True
            stops the run.
        known: Configurations evaluated earlier with their values. They cost no budget.
        workers: Evaluate in so many processes of our own at a time (threads, if the objective is an
            external program); with `executor`, how many evaluations it is given at a time.
        executor: Evaluate on this: anything with `submit` that returns futures with `done` and
            `result`, such as a concurrent.futures.Executor or a Dask client.
        trial_timeout: Stop an evaluation that takes longer, in seconds; it then has failed. Without
            `workers` one process is used. A foreign executor's work cannot be stopped.
        retries: How often a failed evaluation is tried again before it is dropped.
        max_failures: Stop when more evaluations than this have failed. However many are allowed,
            10 in a row, or twice as many as run at once, are the end.
        on_failure: "raise" what the objective raises, or "record" it and go on. "record" is the
            default with a study, workers, an executor, retries or max_failures.
        confirm: Keep this share of the budget for evaluating the leading candidates afresh against
            each other (see `hillbandit.confirm`); the interval then comes from these alone.
        study: A file that keeps every evaluation. Called again with the same file, it goes on
            where it was, whatever stopped it; the budget includes what is there.
        study_name: The study's name in that file.
        progress: Show a progress bar. By default only if Rich is installed and the output is a
            terminal.
        options: Arguments for the optimiser's constructor, such as `resamples=3`. Unless they say
            otherwise, fitness differences are put on a learned scale (`scale="auto"`); and
            noise-free, nothing is evaluated twice (`duplicates="reuse"`), and a climber whose
            every neighbour is known restarts at random.

    Returns:
        The recommendation, the best single observation, the history, and why it stopped. After a
        KeyboardInterrupt that is what was known by then.

    Raises:
        TypeError: If an argument is of the wrong type, or an option is unknown to the optimiser.
        ValueError: If there is neither budget nor timeout, an argument is out of range, or no
            configuration is valid.
        StudyError: If the study's file does not fit or cannot be written, or no evaluation has
            succeeded.
        Exception: Whatever the objective raises, with a note that names the configuration, where
            failures are not recorded.
    """
    return _optimize(True, **locals())


def minimize(
    objective: Objective,
    space: Space,
    budget: int | None = None,
    *,
    optimizer: str | type[Optimizer] | Optimizer | None = None,
    noisy: bool | None = None,
    seed: int | None = None,
    timeout: float | None = None,
    target: float | None = None,
    callbacks: Sequence[Callback] = (),
    known: Iterable[tuple[Config, float]] = (),
    workers: int | None = None,
    executor: Any = None,
    trial_timeout: float | None = None,
    retries: int = 0,
    max_failures: int | None = None,
    on_failure: OnFailure | None = None,
    confirm: float | None = None,
    study: PathLike | None = None,
    study_name: str = DEFAULT_NAME,
    progress: bool | None = None,
    **options: Any,
) -> Result:
    """Find the configuration with the least value, within a budget of evaluations.

    All arguments are those of `maximize`, and all values are in the objective's own sign.

    Example:
        >>> import hillbandit as hb
        >>> space = hb.Space({"x": range(-5, 6), "y": range(-5, 6)})
        >>> result = hb.minimize(lambda c: c["x"] ** 2 + c["y"] ** 2, space, budget=80, seed=1)
        >>> result.recommended.config, result.recommended.mean
        ({'x': 0, 'y': 0}, 0.0)

    Raises:
        TypeError: As `maximize`.
        ValueError: As `maximize`.
        StudyError: As `maximize`.
        Exception: As `maximize`.
    """
    return _optimize(False, **locals())


def _optimize(
    maximizing: bool,
    *,
    objective: Objective,
    space: Space,
    optimizer: str | type[Optimizer] | Optimizer | None,
    noisy: bool | None,
    seed: int | None,
    study: PathLike | None,
    study_name: str,
    options: dict[str, Any],
    **how: Any,
) -> Result:
    if study is None:
        made = make_optimizer(optimizer or default_optimizer(options), space, noisy, seed, options)
        return Study(Ledger(made, maximizing=maximizing), study_name).run(objective, **how)
    if isinstance(optimizer, Optimizer):
        raise TypeError("A study in a file makes its own optimiser: give its name or class.")
    if not isinstance(space, Space):
        raise TypeError(f"A study needs a Space, not {type(space).__name__}.")
    opened = Study.open(
        study,
        space,
        name=study_name,
        maximizing=maximizing,
        optimizer=optimizer,
        noisy=noisy,
        seed=seed,
        **options,
    )
    with opened:
        return opened.run(objective, **how)


def _checked_callbacks(callbacks: Any) -> Sequence[Callback]:
    if callable(callbacks):
        raise TypeError("callbacks= is a list of functions: put the one you have into a list.")
    try:
        found = list(callbacks)
    except TypeError:
        raise TypeError(f"callbacks= is a list of functions, not {callbacks!r}.") from None
    for callback in found:
        if not callable(callback):
            raise TypeError(f"A callback must be a function, not {callback!r}.")
    return found


def _checked_known(known: Any) -> list[tuple[Config, float]]:
    """Check the form of evaluations made earlier; the optimiser checks what they say."""
    wrong = "known= is a list of pairs of a configuration and its value, not {!r}."
    if isinstance(known, Mapping | str):
        raise TypeError(wrong.format(known))
    try:
        pairs = list(known)
    except TypeError:
        raise TypeError(wrong.format(known)) from None
    for pair in pairs:
        if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
            raise TypeError(wrong.format(pair))
    return pairs


def _evaluator(
    objective: Objective, workers: int | None, executor: Any, trial_timeout: float | None
) -> Evaluator:
    if workers is not None:
        if isinstance(workers, bool) or not isinstance(workers, int | np.integer):
            raise TypeError(f"workers must be an integer, not {workers!r}.")
        if workers < 1:
            raise ValueError(f"workers must be at least 1, not {workers}.")
    if trial_timeout is not None and not is_number(trial_timeout):
        raise TypeError(f"trial_timeout must be a number of seconds, not {trial_timeout!r}.")
    if trial_timeout is not None and not trial_timeout > 0:
        raise ValueError(f"trial_timeout must be positive, not {trial_timeout}.")
    if executor is not None:
        if trial_timeout is not None:
            raise ValueError(
                "trial_timeout= cannot be enforced on a foreign executor, whose processes are not "
                "ours to stop: use workers=, or let the objective watch the time."
            )
        return OnExecutor(executor, workers)
    if getattr(objective, "external", False):
        # a program has a process of its own already, and watches the time itself
        if trial_timeout is not None:
            objective.timeout = trial_timeout  # type: ignore[attr-defined]
        count = workers or 1
        return OnExecutor(ThreadPoolExecutor(count), count, owned=True)
    if workers is not None or trial_timeout is not None:
        return Workers(workers or 1, trial_timeout)
    return InProcess()
