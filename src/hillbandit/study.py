"""The loop: budget, callbacks, progress, and a stated reason for stopping."""

from __future__ import annotations

import inspect
import logging
import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hillbandit.optimizers import Exhausted, Optimizer, find
from hillbandit.optimizers.base import checked_value
from hillbandit.progress import ProgressBar
from hillbandit.space import Config, Space
from hillbandit.trial import History, Observation, Recommendation, Result, Trial

log = logging.getLogger("hillbandit")

Objective = Callable[..., Any]

NEVER_BY_PATIENCE = 10**18
"""A `restart_after` that restarts only where every neighbour is known."""


@dataclass(frozen=True, slots=True, eq=False)
class Progress:
    """What a callback is given after each evaluation, in the user's own sign."""

    observation: Observation
    """The evaluation just told."""
    evaluations: int
    """Evaluations in this run so far."""
    budget: int | None
    seconds: float
    """Time since the run began."""
    optimizer: Optimizer
    """The optimiser itself, which always maximises: its values have the opposite sign under
    `minimize`."""
    maximizing: bool = field(repr=False)

    def recommend(self) -> Recommendation:
        """Give the recommendation so far."""
        recommendation = self.optimizer.recommend()
        return recommendation if self.maximizing else recommendation.negated()


Callback = Callable[[Progress], Any]


def maximize(
    objective: Objective,
    space: Space,
    budget: int | None = None,
    *,
    optimizer: str | type[Optimizer] | Optimizer = "bandit_rmhc",
    noisy: bool = False,
    seed: int | None = None,
    timeout: float | None = None,
    target: float | None = None,
    callbacks: Sequence[Callback] = (),
    known: Iterable[tuple[Config, float]] = (),
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
        noisy: Whether two evaluations of a configuration may differ. Climbers then compare means of
            two evaluations of either side, unless `resamples=` says otherwise.
        seed: Fixes the run; None draws one, and the result tells it.
        timeout: Begin no evaluation after this many seconds; the first is always made.
        target: Stop once this value is reached: noise-free by an evaluation, under noise by the
            lower end of the recommendation's interval.
        callbacks: Each is called with a `Progress` after each evaluation; one that returns True
            stops the run.
        known: Configurations evaluated earlier with their values. They cost no budget.
        progress: Show a progress bar. By default only if Rich is installed and the output is a
            terminal.
        options: Arguments for the optimiser's constructor, such as `resamples=3`. Unless they say
            otherwise, fitness differences are put on a learned scale (`scale="auto"`); and
            noise-free, nothing is evaluated twice (`duplicates="avoid"`), and a climber whose
            every neighbour is known restarts at random.

    Returns:
        The recommendation, the best single observation, the history, and why it stopped. After a
        KeyboardInterrupt that is what was known by then.

    Raises:
        TypeError: If an argument is of the wrong type, or an option is unknown to the optimiser.
        ValueError: If there is neither budget nor timeout, one of them is not positive, or no
            configuration is valid.
        Exception: Whatever the objective raises, with a note that names the configuration.
    """
    return _run(
        objective,
        _make_optimizer(optimizer, space, noisy, seed, options),
        _Limits(budget, timeout, target),
        callbacks=callbacks,
        known=known,
        progress=progress,
        maximizing=True,
    )


def minimize(
    objective: Objective,
    space: Space,
    budget: int | None = None,
    *,
    optimizer: str | type[Optimizer] | Optimizer = "bandit_rmhc",
    noisy: bool = False,
    seed: int | None = None,
    timeout: float | None = None,
    target: float | None = None,
    callbacks: Sequence[Callback] = (),
    known: Iterable[tuple[Config, float]] = (),
    progress: bool | None = None,
    **options: Any,
) -> Result:
    """Find the configuration with the least value, within a budget of evaluations.

    Example:
        >>> import hillbandit as hb
        >>> space = hb.Space({"x": range(-5, 6), "y": range(-5, 6)})
        >>> result = hb.minimize(lambda c: c["x"] ** 2 + c["y"] ** 2, space, budget=80, seed=1)
        >>> result.recommended.config, result.recommended.mean
        ({'x': 0, 'y': 0}, 0.0)

    Args:
        objective: As in `maximize`.
        space: As in `maximize`.
        budget: As in `maximize`.
        optimizer: As in `maximize`.
        noisy: As in `maximize`.
        seed: As in `maximize`.
        timeout: As in `maximize`.
        target: As in `maximize`, reached from above.
        callbacks: As in `maximize`; their values are the objective's.
        known: As in `maximize`; the values are the objective's.
        progress: As in `maximize`.
        options: As in `maximize`.

    Returns:
        As `maximize`, with all values in the objective's own sign.

    Raises:
        TypeError: As `maximize`.
        ValueError: As `maximize`.
        Exception: As `maximize`.
    """
    return _run(
        objective,
        _make_optimizer(optimizer, space, noisy, seed, options),
        _Limits(budget, timeout, target),
        callbacks=callbacks,
        known=known,
        progress=progress,
        maximizing=False,
    )


@dataclass(frozen=True, slots=True)
class _Limits:
    """When to stop, in the user's own sign."""

    budget: int | None
    timeout: float | None
    target: float | None

    def __post_init__(self) -> None:
        if self.budget is None and self.timeout is None:
            raise ValueError("Say when to stop: budget= in evaluations, or timeout= in seconds.")
        if self.budget is not None:
            if isinstance(self.budget, bool) or not isinstance(self.budget, int | np.integer):
                raise TypeError(f"The budget must be an integer, not {self.budget!r}.")
            if self.budget < 1:
                raise ValueError(f"The budget must be at least 1 evaluation, not {self.budget}.")
        if self.timeout is not None and not self.timeout > 0:
            raise ValueError(f"The timeout must be positive, not {self.timeout}.")
        if self.target is not None and math.isnan(self.target):
            raise ValueError("The target is NaN, which no value reaches.")


def _make_optimizer(
    chosen: str | type[Optimizer] | Optimizer,
    space: Space,
    noisy: bool,
    seed: int | None,
    options: dict[str, Any],
) -> Optimizer:
    if isinstance(chosen, Optimizer):
        if chosen.space != space:
            raise ValueError("The optimiser given was made for another space.")
        if options or seed is not None or (noisy and not chosen.noisy):
            raise ValueError(
                "An optimiser that is given ready-made has its own seed and options: leave out "
                f"{', '.join([*options, 'seed', 'noisy'])} here."
            )
        return chosen
    kind = find(chosen) if isinstance(chosen, str) else chosen
    if not (isinstance(kind, type) and issubclass(kind, Optimizer)):
        raise TypeError(
            f"optimizer= is a registered name, a class or an instance of Optimizer, not {chosen!r}."
        )
    accepted = inspect.signature(kind).parameters
    unknown = [name for name in options if name not in accepted]
    if unknown:
        raise TypeError(
            f"{kind.__name__} has no option {', '.join(unknown)}; it takes {', '.join(accepted)}."
        )
    # options such as resamples= imply noise by themselves, so False is not passed on as a claim
    said: dict[str, Any] = {"noisy": True} if noisy else {}
    defaults: dict[str, Any] = {"scale": "auto"}
    if not noisy and options.get("resamples") is None:
        # a second evaluation would say nothing new, and a known neighbourhood is left for another
        defaults |= {"duplicates": "avoid", "restart_after": NEVER_BY_PATIENCE}
    chosen_options = {k: v for k, v in defaults.items() if k in accepted} | said | options
    return kind(space, seed=seed, **chosen_options)


def _run(
    objective: Objective,
    optimizer: Optimizer,
    limits: _Limits,
    *,
    callbacks: Sequence[Callback],
    known: Iterable[tuple[Config, float]],
    progress: bool | None,
    maximizing: bool,
) -> Result:
    if not callable(objective):
        raise TypeError(f"The objective must be a function, not {type(objective).__name__}.")
    sign = 1.0 if maximizing else -1.0
    for config, value in known:
        optimizer.observe(config, sign * value)
    evaluate = _with_seed(objective)
    history = History(optimizer.space)
    began = time.monotonic()
    log.info("%s on %r, seed %d", type(optimizer).__name__, optimizer.space, optimizer.seed)
    unfinished = optimizer.outstanding  # an optimiser that goes on may have trials in flight
    reason = None
    with ProgressBar(progress, limits.budget, limits.timeout) as bar:
        while reason is None:
            try:
                trial = unfinished.pop(0) if unfinished else optimizer.ask()
            except Exhausted as end:
                reason = f"exhausted: {end}"
                break
            try:
                value = _evaluated(evaluate, optimizer, trial, sign)
            except KeyboardInterrupt:
                if not optimizer.evaluations:
                    raise  # nothing is known yet
                reason = "interrupted"
                break
            observation = history.append(trial.number, trial.genome, value)
            log.debug("trial %d: %g", trial.number, value)
            seconds = time.monotonic() - began
            state = Progress(
                observation, len(history), limits.budget, seconds, optimizer, maximizing
            )
            bar.update(state)
            # every callback hears of every evaluation, also of the last
            stops = [callback(state) is True for callback in callbacks]
            if any(stops):
                reason = "callback"
            elif _target_reached(limits.target, state):
                reason = "target"
            elif limits.budget is not None and len(history) >= limits.budget:
                reason = "budget"
            elif limits.timeout is not None and seconds >= limits.timeout:
                reason = "timeout"
    recommended, best = optimizer.recommend(), optimizer.best_observed
    result = Result(
        recommended=recommended if maximizing else recommended.negated(),
        best_observed=best if maximizing else best.negated(),
        evaluations=len(history),
        stopped_because=reason or "",
        history=history,
        seed=optimizer.seed,
    )
    log.info("stopped: %s; recommended %s", result.stopped_because, result.recommended)
    return result


def _with_seed(objective: Objective) -> Callable[[Trial], Any]:
    """Find out whether the objective wants the trial's seed."""
    try:
        takes_seed = "seed" in inspect.signature(objective).parameters
    except (TypeError, ValueError):  # some built-in functions have no signature
        takes_seed = False
    if takes_seed:
        return lambda trial: objective(trial.config, seed=trial.seed)
    return lambda trial: objective(trial.config)


def _evaluated(
    evaluate: Callable[[Trial], Any], optimizer: Optimizer, trial: Trial, sign: float
) -> float:
    """Evaluate a trial and tell its value; if that fails, the optimiser can still be used."""
    try:
        value = checked_value(evaluate(trial), trial)
        optimizer.tell(trial, sign * value)
    except BaseException as error:
        optimizer.abandon(trial)
        if isinstance(error, Exception):
            error.add_note(f"hillbandit was evaluating trial {trial.number}: {trial.config!r}")
        raise
    return value


def _target_reached(target: float | None, state: Progress) -> bool:
    if target is None:
        return False
    sign = 1.0 if state.maximizing else -1.0
    if sign * state.observation.value < sign * target:
        # under noise too: the interval's lower end only rises above the target with such a value
        return False
    if not state.optimizer.noisy:
        return True
    recommendation = state.recommend()
    bound = recommendation.low if state.maximizing else recommendation.high
    return sign * bound >= sign * target
