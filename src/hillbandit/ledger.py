"""The books of a study: the optimiser, and a journal from which it can be had again exactly.

Whatever the optimiser sees goes through here, and into the journal in the same order. So a study
that is opened again is the last snapshot of the optimiser with the later events replayed.
"""

from __future__ import annotations

import contextlib
import time
from collections import deque
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from hillbandit.optimizers import Exhausted, Optimizer
from hillbandit.optimizers.base import STATE_FORMAT, checked_value
from hillbandit.space import Config, Genome
from hillbandit.store import Event, Store, StudyError, worker_name
from hillbandit.trial import History, Observation, Trial

REPLAY_SECONDS = 0.25
"""A snapshot is due when replaying the events since the last one would take this long …"""
SNAPSHOT_SHARE = 0.25
"""… and when writing it takes at most this share of the optimiser's own time since. All three are
processor time: a busy machine or a slow disk must not put snapshots off."""

ANOTHER_VERSION = "the file was written by another version, or with another `valid`."


@dataclass(slots=True)
class Confirmation:
    """The fresh evaluations of the leading candidates at the end of a study."""

    candidates: list[list[int]]
    fresh: list[list[float]]
    """Values of the fresh evaluations of each candidate, in the optimiser's sign."""
    evaluations: int
    """How many fresh evaluations there are to be in all."""
    means: list[float]
    counts: list[int]
    """The candidates' evaluations by the search: their means and how many they were."""
    noise: float
    """The variance of an evaluation, as the search knew it."""

    def ends_at(self, told: int) -> int:
        """Tell how many evaluations the study has at its end, from how many it has now."""
        return told - sum(map(len, self.fresh)) + self.evaluations


@dataclass(slots=True)
class Books:
    """Counts that follow from the events, kept in snapshots beside the optimiser's state."""

    told: int = 0
    failed: int = 0
    failed_in_a_row: int = 0
    last_failure: str = ""
    retries: deque[int] = field(default_factory=deque)
    """How often the genomes that will be asked for again have failed, in that order."""
    attempts: dict[int, int] = field(default_factory=dict)
    """How often the genome of an open trial has failed before, where it has."""
    confirming: dict[int, int] = field(default_factory=dict)
    """The candidate that an open trial confirms."""
    confirmation: Confirmation | None = None

    def state(self) -> dict[str, Any]:
        """Write the counts in plain JSON types."""
        confirmation = self.confirmation
        return {
            "told": self.told,
            "failed": self.failed,
            "failed_in_a_row": self.failed_in_a_row,
            "last_failure": self.last_failure,
            "retries": list(self.retries),
            "attempts": list(self.attempts.items()),
            "confirming": list(self.confirming.items()),
            "confirmation": None if confirmation is None else asdict(confirmation),
        }

    @classmethod
    def restored(cls, state: dict[str, Any]) -> Books:
        """Read what `state` wrote."""
        confirmation = state["confirmation"]
        return cls(
            told=state["told"],
            failed=state["failed"],
            failed_in_a_row=state["failed_in_a_row"],
            last_failure=state["last_failure"],
            retries=deque(state["retries"]),
            attempts=dict(state["attempts"]),
            confirming=dict(state["confirming"]),
            confirmation=None if confirmation is None else Confirmation(**confirmation),
        )


class Ledger:
    """An optimiser whose every event is counted and, with a store, written down.

    Args:
        optimizer: The optimiser, fresh or as the events so far left it.
        maximizing: Whether the user maximises; the journal has the user's own sign.
        store: Where events are written; None keeps the history in memory only.
        study: The study's id in the store.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        *,
        maximizing: bool,
        store: Store | None = None,
        study: int = 0,
    ) -> None:
        self.optimizer = optimizer
        self.maximizing = maximizing
        self.store = store
        self.study = study
        self.books = Books()
        self.seq = 0
        self._unwritten: list[Event] = []
        self._memory = History(optimizer.space)
        self._thinking = 0.0
        self._snapshot_cost = 0.0
        self._snapshot_seq = 0
        self._in_flight = optimizer.outstanding
        self._name = worker_name()

    # --- opening --------------------------------------------------------------------------------

    @classmethod
    def reopened(cls, fresh: Optimizer, *, maximizing: bool, store: Store, study: int) -> Ledger:
        """Restore the books of a study: the last snapshot, and the events since replayed."""
        snapshot = store.snapshot(study)
        optimizer, books, seq = fresh, Books(), 0
        if snapshot is not None and snapshot[1]["optimizer"]["format"] == STATE_FORMAT:
            # a state of an older format is left aside: the whole journal says the same
            seq, state = snapshot
            optimizer = type(fresh).from_state_dict(fresh.space, state["optimizer"])
            books = Books.restored(state["books"])
        ledger = cls(optimizer, maximizing=maximizing, store=store, study=study)
        ledger.books = books
        ledger.seq = ledger._snapshot_seq = seq
        for at, event in store.events(study, after=seq):
            ledger._replay(event)
            ledger.seq = at
        ledger._in_flight = optimizer.outstanding
        return ledger

    def _replay(self, event: Event) -> None:
        optimizer = self.optimizer
        if event.kind == "known" and event.genome is not None and event.value is not None:
            optimizer.observe(optimizer.space.decode(event.genome), self._sign(event.value))
        elif event.kind == "confirm" and event.detail is not None:
            self.books.confirmation = Confirmation(**event.detail)
        elif event.kind == "ask":
            candidate = None if event.detail is None else event.detail.get("candidate")
            trial = self._ask(candidate)
            if trial.number != event.number or trial.genome.tolist() != event.genome:
                raise StudyError(
                    f"The journal asks for {event.genome} as trial {event.number}, where the "
                    f"optimiser asks for {trial.genome.tolist()} as trial {trial.number}: "
                    f"{ANOTHER_VERSION}"
                )
        elif event.kind == "exhausted":
            with contextlib.suppress(Exhausted):
                trial = self._ask(None)
                raise StudyError(
                    f"The journal says that there was nothing to ask for, where the optimiser asks "
                    f"for {trial.genome.tolist()} as trial {trial.number}: {ANOTHER_VERSION}"
                )
        elif event.kind == "tell" and event.value is not None:
            self._tell(self._open(event.number), event.value)
        elif event.kind == "fail" and event.detail is not None:
            self._fail(self._open(event.number), event.detail["error"], event.detail["retry"])

    def _open(self, number: int | None) -> Trial:
        for trial in self.optimizer.outstanding:
            if trial.number == number:
                return trial
        raise StudyError(f"The journal ends trial {number}, which it did not begin.")

    # --- events ---------------------------------------------------------------------------------

    def observe(self, config: Config, value: float) -> None:
        """Take in an evaluation made earlier, outside the study."""
        value = checked_value(value, None)
        self.optimizer.observe(config, self._sign(value))
        genome = self.optimizer.space.encode(config).tolist()
        self._write(Event("known", genome=genome, value=value, worker=self._name))

    def next_trial(self, candidate: int | None = None) -> Trial:
        """Give a trial to evaluate: one that was in flight when the study stopped, or a new one.

        Args:
            candidate: The candidate to confirm; None lets the optimiser choose.

        Raises:
            Exhausted: If the optimiser has nothing left to ask for.
        """
        if self._in_flight:
            return self._in_flight.pop(0)
        try:
            trial = self._ask(candidate)
        except Exhausted:
            # looking for something to ask for has drawn random numbers, and maybe reused values
            self._write(Event("exhausted", worker=self._name))
            raise
        detail = None if candidate is None else {"candidate": candidate}
        genome = trial.genome.tolist()
        self._write(Event("ask", trial.number, genome, worker=self._name, detail=detail))
        return trial

    def reissue(self) -> None:
        """Give trials that an earlier run has left open to this one, before any new ones."""
        self._in_flight = self.optimizer.outstanding

    @property
    def has_in_flight(self) -> bool:
        """Whether trials of an earlier run are still to be evaluated."""
        return bool(self._in_flight)

    def tell(self, trial: Trial, value: float, worker: str | None) -> Observation:
        """Take in the value of a trial, in the user's own sign."""
        self._tell(trial, value)
        self._write(Event("tell", trial.number, value=value, worker=worker or self._name))
        return self._memory.append(trial.number, trial.genome, value)

    def fail(
        self, trial: Trial, error: str, traceback: str, retries: int, worker: str | None
    ) -> None:
        """Take in that a trial failed; its genome is asked for again until it failed too often."""
        retry = self.books.attempts.get(trial.number, 0) < retries
        self._fail(trial, error, retry)
        detail = {"error": error, "traceback": traceback, "retry": retry}
        self._write(Event("fail", trial.number, worker=worker or self._name, detail=detail))

    def confirm(self, confirmation: Confirmation) -> Confirmation:
        """Begin a confirmation."""
        self._write(Event("confirm", detail=asdict(confirmation)))
        self.books.confirmation = confirmation
        return confirmation

    def stop(self, reason: str) -> None:
        """Write down why a run ended."""
        self._write(Event("stop", detail={"reason": reason}))

    # --- what an event does, live and replayed alike --------------------------------------------

    def _ask(self, candidate: int | None) -> Trial:
        began = time.thread_time()
        books = self.books
        if candidate is not None and books.confirmation is not None:
            genome = books.confirmation.candidates[candidate]
            trial = self.optimizer.request(self.optimizer.space.decode(genome))
            books.confirming[trial.number] = candidate
        else:
            again = bool(books.retries)
            trial = self.optimizer.ask()
            books.confirmation = None  # the search goes on: what was fresh is like any other now
            if again:
                books.attempts[trial.number] = books.retries.popleft()
        self._thinking += time.thread_time() - began
        return trial

    def _tell(self, trial: Trial, value: float) -> None:
        began = time.thread_time()
        books = self.books
        self.optimizer.tell(trial, self._sign(value))
        books.told += 1
        books.failed_in_a_row = 0
        books.attempts.pop(trial.number, None)
        candidate = books.confirming.pop(trial.number, None)
        if candidate is not None and books.confirmation is not None:
            books.confirmation.fresh[candidate].append(self._sign(value))
        self._thinking += time.thread_time() - began

    def _fail(self, trial: Trial, error: str, retry: bool) -> None:
        books = self.books
        books.failed += 1
        books.failed_in_a_row += 1
        books.last_failure = error
        attempts = books.attempts.pop(trial.number, 0)
        confirmed = books.confirming.pop(trial.number, None) is not None
        # a confirmation that failed is simply asked for anew
        self.optimizer.abandon(trial, retry=retry and not confirmed)
        if retry and not confirmed:
            books.retries.append(attempts + 1)

    def _sign(self, value: float) -> float:
        return value if self.maximizing else 0.0 - value

    # --- the journal ----------------------------------------------------------------------------

    def _write(self, event: Event) -> None:
        if self.store is not None:
            self._unwritten.append(event)

    def flush(self) -> None:
        """Write what has happened since the last flush, in one transaction."""
        if self.store is None or not self._unwritten:
            return
        self.store.append(self.study, self.seq, self._unwritten)
        self.seq += len(self._unwritten)
        self._unwritten.clear()
        if self._thinking > max(REPLAY_SECONDS, self._snapshot_cost / SNAPSHOT_SHARE):
            self.save_snapshot()

    def save_snapshot(self) -> None:
        """Keep the optimiser's state, so that the events so far need not be replayed."""
        if self.store is None or self._snapshot_seq == self.seq or self._unwritten:
            return
        began = time.thread_time()
        state = {"optimizer": self.optimizer.state_dict(), "books": self.books.state()}
        self.store.save_snapshot(self.study, self.seq, state)
        self._snapshot_cost = time.thread_time() - began
        self._snapshot_seq = self.seq
        self._thinking = 0.0

    def history(self) -> History:
        """Give all evaluations told, from the journal where there is one."""
        if self.store is None:
            return self._memory
        history = History(self.optimizer.space)
        genomes: dict[int, Genome] = {}
        for _, event in self.store.events(self.study):
            if event.number is None:
                continue
            if event.kind == "ask":
                genomes[event.number] = np.array(event.genome, dtype=np.int64)
            elif event.kind == "tell" and event.value is not None:
                history.append(event.number, genomes.pop(event.number), event.value)
        return history
