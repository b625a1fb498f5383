"""What a study is begun with: its space, its optimiser, and how both are kept in its file."""

from __future__ import annotations

import inspect
import json
from typing import Any

import numpy as np

from hillbandit._version import __version__
from hillbandit.optimizers import Optimizer, find
from hillbandit.space import Predicate, Space
from hillbandit.store import StudyError

NEVER_BY_PATIENCE = 10**18
"""A `restart_after` that restarts only where every neighbour is known."""


def default_optimizer(options: dict[str, Any]) -> str:
    """Name the optimiser to use where none is named: the best, unless it lacks an option given."""
    best = inspect.signature(find("kalman")).parameters
    return "kalman" if all(name in best for name in options) else "bandit_rmhc"


def make_optimizer(
    chosen: str | type[Optimizer] | Optimizer,
    space: Space,
    noisy: bool | None,
    seed: int | None,
    options: dict[str, Any],
) -> Optimizer:
    """Make the optimiser that `maximize` uses, with its defaults; None says nothing of noise."""
    if noisy is not None and not isinstance(noisy, bool | np.bool_):
        raise TypeError(f"noisy must be True or False, not {noisy!r}.")
    if isinstance(chosen, Optimizer):
        if chosen.space != space:
            raise ValueError("The optimiser given was made for another space.")
        if options or seed is not None or (noisy is not None and noisy != chosen.noisy):
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
    # options such as resamples= imply noise by themselves, and contradict noisy=False
    unsaid = noisy is None or (not noisy and "noisy" not in accepted)
    said: dict[str, Any] = {} if unsaid else {"noisy": bool(noisy)}
    defaults: dict[str, Any] = {"scale": "auto"}
    if not noisy and options.get("resamples") is None:
        # a second evaluation would say nothing new, and a known neighbourhood is left for another
        defaults |= {"duplicates": "reuse", "restart_after": NEVER_BY_PATIENCE}
    chosen_options = {k: v for k, v in defaults.items() if k in accepted} | said | options
    return kind(space, seed=seed, **chosen_options)


def definition(optimizer: Optimizer, maximizing: bool) -> dict[str, Any]:
    """Write what a study is begun with, in plain JSON types."""
    try:
        space = json.loads(optimizer.space.to_json())
    except ValueError as error:
        raise StudyError(f"This space cannot be kept in a study file. {error}") from None
    return {
        "space": space,
        "maximizing": maximizing,
        "optimizer": optimizer.name,
        "options": optimizer._options(),
        "seed": optimizer.seed,
        "noisy": optimizer.noisy,
        "version": __version__,
    }


def stored_space(
    definition: dict[str, Any], space: Space | None, valid: Predicate | None, *, reading: bool
) -> Space:
    """Read a study's space, and check that it is the one that is expected."""
    data = dict(definition["space"])
    predicate = valid if space is None else space.valid
    if reading and predicate is None:
        data.pop("constrained", None)  # to look at what happened, no predicate is asked
    try:
        stored = Space.from_json(json.dumps(data), valid=predicate)
    except (TypeError, ValueError) as error:
        raise StudyError(f"The study's space cannot be read: {error}") from None
    if space is not None and stored != space:
        raise StudyError(
            f"The study searches another space: it has {stored!r}, not {space!r}. Give the study "
            "another name, or another file."
        )
    return stored


def stored_optimizer(definition: dict[str, Any], space: Space) -> Optimizer:
    """Make a study's optimiser as it was at the beginning."""
    try:
        kind = find(definition["optimizer"])
    except ValueError as error:
        raise StudyError(f"The study's optimiser is not known here: {error}") from None
    return kind._revived(space, definition["seed"], definition["options"])


def require_agreement(name: str, definition: dict[str, Any], said: dict[str, Any]) -> None:
    """Check that what is said of a study is what it was begun with."""
    stored = {**definition["options"], **definition}
    for what, value in said.items():
        if value is None:
            continue
        if what == "start":
            continue  # it has been used, and is in the journal
        if stored.get(what) != value:
            raise StudyError(
                f"The study {name!r} was begun with {what}={stored.get(what)!r}, not {value!r}. "
                "Leave it out to go on, or give the study another name or file."
            )
