"""The loop of a study: ask, evaluate, tell, until there is a reason to stop."""

from __future__ import annotations

import contextlib
import inspect
import logging
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np

from hillbandit.confirm import prepared, reserve, still_missing
from hillbandit.evaluators import Evaluator, Outcome, Task
from hillbandit.ledger import Confirmation, Ledger
from hillbandit.optimizers import Exhausted, Optimizer
from hillbandit.optimizers.base import checked_value
from hillbandit.progress import ProgressBar
from hillbandit.space import is_number
from hillbandit.store import StudyError
from hillbandit.trial import Observation, Recommendation, Trial

log = logging.getLogger("hillbandit")

FAILURES_IN_A_ROW = 10
"""A study in which so many evaluations in a row fail, or twice as many as run at once, stops."""


@dataclass(frozen=True, slots=True, eq=False)
class Progress:
    """What a callback is given after each evaluation, in the user's own sign."""

    observation: Observation
    """The evaluation just told."""
    evaluations: int
    """Evaluations of the study so far."""
    budget: int | None
    seconds: float
    """Time since this run began."""
    failures: int
    optimizer: Optimizer
    """The optimiser itself, which always maximises: its values have the opposite sign under
    `minimize`."""
    maximizing: bool = field(repr=False)
    _running: Mapping[int, Trial] = field(repr=False, default_factory=dict)

    @property
    def running(self) -> int:
        """How many evaluations are under way, now and not when this one was told."""
        return len(self._running)

    def recommend(self) -> Recommendation:
        """Give the recommendation so far."""
        recommendation = self.optimizer.recommend()
        return recommendation if self.maximizing else recommendation.negated()


Callback = Callable[[Progress], Any]
OnFailure = Literal["raise", "record"]


@dataclass(frozen=True, slots=True)
class Limits:
    """When to stop, in the user's own sign, and what to do about failures."""

    budget: int | None = None
    timeout: float | None = None
    target: float | None = None
    retries: int = 0
    max_failures: int | None = None
    on_failure: OnFailure = "raise"
    confirm: float | None = None

    def __post_init__(self) -> None:
        if self.budget is None and self.timeout is None:
            raise ValueError("Say when to stop: budget= in evaluations, or timeout= in seconds.")
        if self.budget is not None:
            _require_integer("The budget", self.budget)
            if self.budget < 1:
                raise ValueError(f"The budget must be at least 1 evaluation, not {self.budget}.")
        if self.timeout is not None:
            _require_number("The timeout", self.timeout)
            if not self.timeout > 0:
                raise ValueError(f"The timeout must be positive, not {self.timeout}.")
        if self.target is not None:
            _require_number("The target", self.target)
            if math.isnan(self.target):
                raise ValueError("The target is NaN, which no value reaches.")
        _require_integer("retries", self.retries)
        if self.retries < 0:
            raise ValueError(f"retries must be 0 or more, not {self.retries}.")
        if self.max_failures is not None:
            _require_integer("max_failures", self.max_failures)
            if self.max_failures < 0:
                raise ValueError(f"max_failures must be 0 or more, not {self.max_failures}.")
        if self.on_failure not in ("raise", "record"):
            raise ValueError(f'on_failure is "raise" or "record", not {self.on_failure!r}.')
        if self.confirm is not None:
            _require_number("confirm", self.confirm)
            if self.budget is None:
                raise ValueError("confirm= is a share of the budget: say budget= too.")
            if not 0 < self.confirm < 1:
                raise ValueError(f"confirm must be between 0 and 1, not {self.confirm}.")
            if self.budget < 2:
                raise ValueError("confirm= needs a budget of 2 or more: to find, and to confirm.")

    @property
    def reserved(self) -> int:
        """The evaluations kept for confirmation."""
        if self.confirm is None or self.budget is None:
            return 0
        return reserve(self.budget, self.confirm)


class Interrupts:
    """Lets Ctrl-C in only while evaluations are waited for.

    Anywhere else it would come between the optimiser and its journal, or into the middle of a
    transaction; it then waits until it is welcome.
    """

    def __init__(self) -> None:
        self._welcome = False
        self._pending = False
        self._before: Any = None

    def __enter__(self) -> Self:
        # signals are handled in the main thread, and a handler of the user's own is left alone
        ours = threading.current_thread() is threading.main_thread()
        if ours and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._before = signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
            self._before = None

    def _handle(self, *_: object) -> None:
        if self._welcome:
            raise KeyboardInterrupt
        self._pending = True

    @contextlib.contextmanager
    def welcome(self) -> Iterator[None]:
        """Let an interrupt through, also one that came before."""
        self._welcome = True
        try:
            if self._pending:
                raise KeyboardInterrupt
            yield
        finally:
            self._welcome = False


class Loop:
    """One run of a study.

    Args:
        ledger: The study's books.
        evaluator: Where evaluations happen.
        objective: What is evaluated.
        limits: When to stop.
        callbacks: Called after each evaluation.
        bar: Shows progress.
    """

    def __init__(
        self,
        ledger: Ledger,
        evaluator: Evaluator,
        objective: Callable[..., Any],
        limits: Limits,
        callbacks: Sequence[Callback],
        bar: ProgressBar,
    ) -> None:
        if limits.confirm is not None and not ledger.optimizer.noisy:
            raise ValueError("confirm= is for noisy evaluations: others have nothing to confirm.")
        self._ledger = ledger
        self._evaluator = evaluator
        self._objective = objective
        self._takes_seed = _takes_seed(objective)
        self._limits = limits
        self._callbacks = callbacks
        self._bar = bar
        self._running: dict[int, Trial] = {}
        self._exhausted: str | None = None
        """Why the search is over, once it is and its answer is being confirmed."""
        self._began = time.monotonic()
        self._interrupts = Interrupts()

    def run(self) -> str:
        """Go on until there is a reason to stop, and return it."""
        self._ledger.reissue()
        with self._interrupts:
            try:
                reason = self._go()
            except KeyboardInterrupt:
                if not self._ledger.optimizer.can_recommend:
                    raise  # nothing is known yet
                reason = "interrupted"
            self._ledger.stop(reason)
            self._ledger.flush()
        return reason

    def _go(self) -> str:
        while True:
            over = self._fill()
            if not self._running:
                return over or "budget"
            with self._interrupts.welcome():
                outcomes = self._evaluator.finished(None)
            reason = self._take_all(outcomes)
            if reason is not None:
                return reason

    # --- asking ---------------------------------------------------------------------------------

    def _fill(self) -> str | None:
        """Start as many evaluations as may run; where no more may, say why."""
        new: list[Trial] = []
        over = None
        while over is None and len(self._running) < self._evaluator.slots:
            over, trial = self._next()
            if trial is not None:
                self._running[trial.number] = trial
                new.append(trial)
        # what is asked for is on disk before it is evaluated, and what was told goes with it
        self._ledger.flush()
        for trial in new:
            seed = trial.seed if self._takes_seed else None
            self._evaluator.start(Task(self._objective, trial.config, seed, trial.number))
        return over

    def _next(self) -> tuple[str | None, Trial | None]:
        """Give the next trial, or the reason why there is none for now."""
        limits, ledger = self._limits, self._ledger
        seconds = time.monotonic() - self._began
        if limits.timeout is not None and seconds >= limits.timeout and ledger.books.told:
            return "timeout", None
        planned = ledger.books.told + len(self._running)
        if limits.budget is not None:
            if planned >= limits.budget:
                return "budget", None
            if not ledger.has_in_flight and self._confirms(planned, limits.budget):
                return self._next_confirmation(limits.budget)
        if self._exhausted is not None:
            return self._confirm_early(self._exhausted)
        try:
            return None, ledger.next_trial()
        except Exhausted as end:
            return self._confirm_early(f"exhausted: {end}")

    def _confirms(self, planned: int, budget: int) -> bool:
        """Tell whether it is time to confirm: the search is over, or a confirmation under way.

        A confirmation is for the budget with which it was begun; with a greater one the search goes
        on, and there is another confirmation at its end.
        """
        books = self._ledger.books
        if books.confirmation is not None and budget <= books.confirmation.ends_at(books.told):
            return True
        return bool(self._limits.reserved) and planned >= budget - self._limits.reserved

    def _next_confirmation(self, budget: int) -> tuple[str | None, Trial | None]:
        ledger = self._ledger
        books = ledger.books
        confirmation = books.confirmation
        if confirmation is None or budget > confirmation.ends_at(books.told):
            if self._running:
                return "budget", None  # the candidates are chosen when all have come back
            confirmation = ledger.confirm(prepared(ledger.optimizer, int(budget) - books.told))
        return self._next_fresh(confirmation, "budget")

    def _confirm_early(self, over: str) -> tuple[str | None, Trial | None]:
        """Confirm with what was kept for it where the search is over before its budget is."""
        ledger, limits = self._ledger, self._limits
        confirmation = ledger.books.confirmation
        if not limits.reserved or limits.budget is None or not ledger.optimizer.can_recommend:
            return over, None
        if confirmation is None:
            if self._running:
                return over, None  # the candidates are chosen when all have come back
            kept = min(limits.reserved, int(limits.budget) - ledger.books.told)
            confirmation = ledger.confirm(prepared(ledger.optimizer, kept))
        self._exhausted = over
        return self._next_fresh(confirmation, over)

    def _next_fresh(self, confirmation: Confirmation, over: str) -> tuple[str | None, Trial | None]:
        """Give the next evaluation of a confirmation, or the reason to stop where it has all."""
        _, missing = still_missing(confirmation)
        for candidate in self._ledger.books.confirming.values():
            if candidate in missing:
                missing.remove(candidate)
        if not missing:
            return over, None
        return None, self._ledger.next_trial(missing[0])

    # --- telling --------------------------------------------------------------------------------

    def _take_all(self, outcomes: list[Outcome]) -> str | None:
        """Take in all that has ended, also what came together with the first reason to stop."""
        reason = None
        for at, outcome in enumerate(outcomes, start=1):
            try:
                found = self._take(outcome)
            except BaseException:  # the objective's, for the caller, or a callback's
                for other in outcomes[at:]:
                    self._record(other)
                self._ledger.flush()
                raise
            reason = reason or found
        return reason

    def _record(self, outcome: Outcome) -> tuple[Trial, Outcome, Observation | None]:
        """Write down how an evaluation ended; a value that is none is a failure."""
        trial = self._running.pop(outcome.number)
        if outcome.error is None:
            try:
                value = checked_value(outcome.value, trial)
            except (TypeError, ValueError) as wrong:
                text = f"{type(wrong).__name__}: {wrong}"
                outcome = Outcome(trial.number, None, outcome.worker, text, exception=wrong)
            else:
                return trial, outcome, self._ledger.tell(trial, value, outcome.worker)
        raising = self._limits.on_failure == "raise"
        # an error that goes to the caller leaves the evaluation to be made again
        tried = self._ledger.books.attempts.get(trial.number, 0)
        retries = tried + 1 if raising else self._limits.retries
        error = outcome.error or "unknown"
        self._ledger.fail(trial, error, outcome.traceback, retries, outcome.worker)
        log.warning("trial %d failed: %s", trial.number, error)
        return trial, outcome, None

    def _take(self, outcome: Outcome) -> str | None:
        """Take in how an evaluation ended; return a reason to stop at once, if it is one."""
        trial, outcome, observation = self._record(outcome)
        if observation is None:
            return self._failed(trial, outcome)
        log.debug("trial %d: %g", trial.number, observation.value)
        state = self._progress(observation)
        self._bar.update(state)
        if self._callbacks:
            self._ledger.flush()
            # every callback hears of every evaluation, also of the last
            answers = [callback(state) for callback in self._callbacks]
            if any(isinstance(answer, bool | np.bool_) and answer for answer in answers):
                return "callback"
        return "target" if _target_reached(self._limits.target, state) else None

    def _progress(self, observation: Observation) -> Progress:
        books = self._ledger.books
        return Progress(
            observation,
            books.told,
            self._limits.budget,
            time.monotonic() - self._began,
            books.failed,
            self._ledger.optimizer,
            self._ledger.maximizing,
            self._running,
        )

    def _failed(self, trial: Trial, outcome: Outcome) -> str | None:
        """Raise what the caller wants to see, or tell whether there were too many failures."""
        limits, books = self._limits, self._ledger.books
        error = outcome.error or "unknown"
        if limits.on_failure == "raise":
            self._ledger.flush()
            raised = outcome.exception or StudyError(error)
            raised.add_note(f"hillbandit was evaluating trial {trial.number}: {trial.config!r}")
            raise raised
        allowed = max(FAILURES_IN_A_ROW, 2 * self._evaluator.slots)
        if limits.max_failures is not None and books.failed > limits.max_failures:
            reason = f"failures: more than max_failures={limits.max_failures}"
        elif books.failed_in_a_row >= allowed:
            reason = f"failures: {allowed} in a row"
        else:
            return None
        return f"{reason}; the last was trial {trial.number}: {error}"


def _target_reached(target: float | None, state: Progress) -> bool:
    if target is None:
        return False
    sign = 1.0 if state.maximizing else -1.0
    optimizer = state.optimizer
    if not optimizer.noisy:
        return sign * state.observation.value >= sign * target
    # any value can raise the bound: it also says more of the noise, and of which genome leads
    return optimizer.may_recommend(sign * target) and (
        optimizer.can_recommend and optimizer.recommend().low >= sign * target
    )


def _takes_seed(objective: Callable[..., Any]) -> bool:
    """Find out whether the objective wants the trial's seed."""
    try:
        return "seed" in inspect.signature(objective).parameters
    except (TypeError, ValueError):  # some built-in functions have no signature
        return False


def _require_number(what: str, value: Any) -> None:
    if not is_number(value):
        raise TypeError(f"{what} must be a number, not {value!r}.")


def _require_integer(what: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{what} must be an integer, not {value!r}.")
