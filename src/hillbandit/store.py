"""The SQLite journal behind a study: every ask, tell and failure, in the order they happened.

One file holds any number of studies. Everything in it is JSON or a plain number: reading a file
never runs code. It is written in transactions in WAL mode and synchronised to disk at each, so
that whatever stops the process, what was written is there and nothing is half there. A study has
one writer at a time; readers are always welcome.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sqlite3
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

SCHEMA_VERSION = 1
APPLICATION_ID = 0x48424E44  # "HBND": tells our files from any other SQLite file
BUSY_SECONDS = 30.0
PAGE = 1_000
"""How many events are read at a time."""

Kind = Literal["known", "ask", "tell", "fail", "exhausted", "confirm", "stop"]
"""What can happen. "exhausted" is an ask that found nothing to evaluate for now."""

SCHEMA = """
CREATE TABLE studies (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    created REAL NOT NULL,
    definition TEXT NOT NULL,
    writer TEXT
);
CREATE TABLE events (
    study INTEGER NOT NULL REFERENCES studies(id),
    seq INTEGER NOT NULL,
    kind TEXT NOT NULL,
    number INTEGER,
    genome TEXT,
    value REAL,
    time REAL NOT NULL,
    worker TEXT,
    detail TEXT,
    PRIMARY KEY (study, seq)
) WITHOUT ROWID;
CREATE TABLE snapshots (
    study INTEGER PRIMARY KEY REFERENCES studies(id),
    seq INTEGER NOT NULL,
    state TEXT NOT NULL
);
"""


class StudyError(Exception):
    """Something is wrong with a study or its file; the text says what, and what to do."""


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened in a study."""

    kind: Kind
    number: int | None = None
    """The trial's."""
    genome: list[int] | None = None
    value: float | None = None
    """In the user's own sign."""
    worker: str | None = None
    detail: dict[str, Any] | None = None
    time: float = 0.0
    """Seconds since 1970; set when it is written."""


class Store:
    """One SQLite file with studies in it.

    Args:
        path: The file; it is made if it does not exist and the store is not read-only.
        read_only: Open it only to look.

    Raises:
        StudyError: If the file is missing (read-only), is no study file, is damaged, or is of
            another version.
    """

    def __init__(self, path: str | os.PathLike[str], *, read_only: bool = False) -> None:
        self.path = Path(path)
        self.read_only = read_only
        if read_only and not self.path.is_file():
            raise StudyError(f"There is no study file {self.path}.")
        if not self.path.parent.is_dir():
            raise StudyError(f"There is no folder {self.path.parent} for the study file.")
        self._locks: dict[int, sqlite3.Connection] = {}
        with self._telling():
            self._db = self._connect()
            try:
                self._check()
            except BaseException:
                self._db.close()
                raise

    def _connect(self) -> sqlite3.Connection:
        mode = "ro" if self.read_only else "rwc"
        uri = f"{self.path.resolve().as_uri()}?mode={mode}"
        db = sqlite3.connect(
            uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        db.execute("PRAGMA trusted_schema = OFF")  # nothing in the file may run as code
        return db

    def _check(self) -> None:
        if not self.read_only and not self._tables():
            self._make()
        # all in one transaction: another process may be making the file at this moment
        self._db.execute("BEGIN")
        (application,) = self._db.execute("PRAGMA application_id").fetchone()
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        self._db.execute("COMMIT")
        if application != APPLICATION_ID:
            raise StudyError(f"{self.path} is a SQLite file, but not one of hillbandit's studies.")
        if version != SCHEMA_VERSION:
            raise StudyError(
                f"{self.path} was written in version {version} of the format; this hillbandit "
                f"reads version {SCHEMA_VERSION}. Use the hillbandit that wrote it."
            )
        ((found,),) = self._db.execute("PRAGMA quick_check(1)").fetchall()
        if found != "ok":
            raise StudyError(f"{self.path} is damaged ({found}). Restore it from a copy.")
        self._db.execute("PRAGMA synchronous = FULL")

    def _tables(self) -> int:
        (tables,) = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        return int(tables)

    def _make(self) -> None:
        until = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                self._db.execute("PRAGMA journal_mode = WAL")
                break
            except sqlite3.OperationalError as error:
                # SQLite itself does not wait for another process that does the same
                if "locked" not in str(error) or time.monotonic() >= until:
                    raise
                time.sleep(0.01)
        with self._transaction():
            if self._tables():
                return  # another process was quicker
            for statement in SCHEMA.split(";"):
                self._db.execute(statement)
            self._db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            self._db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")

    # --- studies ----------------------------------------------------------------------------------

    def names(self) -> list[str]:
        """List the studies in the file, oldest first."""
        with self._telling():
            return [name for (name,) in self._db.execute("SELECT name FROM studies ORDER BY id")]

    def find(self, name: str) -> tuple[int, dict[str, Any]] | None:
        """Find a study's id and definition."""
        with self._telling():
            row = self._db.execute(
                "SELECT id, definition FROM studies WHERE name = ?", (name,)
            ).fetchone()
            return None if row is None else (row[0], json.loads(row[1]))

    def create(self, name: str, definition: dict[str, Any]) -> int | None:
        """Begin a study and become its writer; None if there is one of that name by now."""
        with self._telling(), self._transaction():
            cursor = self._db.execute(
                "INSERT OR IGNORE INTO studies (name, created, definition, writer) "
                "VALUES (?, ?, ?, ?)",
                (name, time.time(), json.dumps(definition), worker_name()),
            )
            if not cursor.rowcount:
                return None
            study = int(cursor.lastrowid or 0)
            self._locks[study] = self._locked(study)  # before any other process can see the study
        return study

    def lock(self, study: int, name: str) -> None:
        """Become the one writer of a study, for as long as this process lives or until `close`.

        The lock is an open exclusive transaction on a file beside the study's, which the operating
        system ends with the process, however that ends.
        """
        with self._telling():
            try:
                self._locks[study] = self._locked(study)
            except sqlite3.OperationalError:
                (writer,) = self._db.execute(
                    "SELECT writer FROM studies WHERE id = ?", (study,)
                ).fetchone()
                raise StudyError(
                    f"The study {name!r} in {self.path} is being written by {writer}. Wait for it, "
                    "stop it, or open the study to read."
                ) from None
            with self._transaction():
                self._db.execute(
                    "UPDATE studies SET writer = ? WHERE id = ?", (worker_name(), study)
                )

    def _locked(self, study: int) -> sqlite3.Connection:
        lock = sqlite3.connect(
            f"{self.path}.lock{study}",
            timeout=1.0,  # a reader may be looking at the lock for a moment
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            lock.execute("BEGIN EXCLUSIVE")
        except BaseException:
            lock.close()
            raise
        return lock

    # --- events -----------------------------------------------------------------------------------

    def append(self, study: int, after: int, events: Iterable[Event]) -> None:
        """Write events in one transaction, numbered on from `after`."""
        now = time.time()
        rows = [
            (
                study,
                seq,
                event.kind,
                event.number,
                None if event.genome is None else json.dumps(event.genome, separators=(",", ":")),
                event.value,
                now,
                event.worker,
                None if event.detail is None else json.dumps(event.detail),
            )
            for seq, event in enumerate(events, start=after + 1)
        ]
        with self._telling(), self._transaction():
            self._db.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)

    def events(self, study: int, after: int = 0) -> Iterator[tuple[int, Event]]:
        """Read the events after a given one, with their numbers.

        They are read a page at a time, so that a reader who stops half-way, or takes long, keeps
        nothing open in the file.
        """
        with self._telling():
            while rows := self._page(study, after):
                for seq, kind, number, genome, value, worker, detail, when in rows:
                    after = seq
                    yield (
                        seq,
                        Event(
                            kind,
                            number,
                            None if genome is None else json.loads(genome),
                            value,
                            worker,
                            None if detail is None else json.loads(detail),
                            when,
                        ),
                    )

    def _page(self, study: int, after: int) -> list[Any]:
        return self._db.execute(
            "SELECT seq, kind, number, genome, value, worker, detail, time FROM events "
            "WHERE study = ? AND seq > ? ORDER BY seq LIMIT ?",
            (study, after, PAGE),
        ).fetchall()

    def save_snapshot(self, study: int, seq: int, state: dict[str, Any]) -> None:
        """Keep a state after an event, so that the events before need not be replayed."""
        text = json.dumps(state, separators=(",", ":"))
        with self._telling(), self._transaction():
            self._db.execute("REPLACE INTO snapshots VALUES (?, ?, ?)", (study, seq, text))

    def snapshot(self, study: int) -> tuple[int, dict[str, Any]] | None:
        """Read the state that was kept last, with the event that it follows."""
        with self._telling():
            row = self._db.execute(
                "SELECT seq, state FROM snapshots WHERE study = ?", (study,)
            ).fetchone()
            return None if row is None else (row[0], json.loads(row[1]))

    def close(self) -> None:
        """Give up the locks and close the file."""
        for lock in self._locks.values():
            lock.close()
        self._locks.clear()
        self._db.close()

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise

    @contextlib.contextmanager
    def _telling(self) -> Iterator[None]:
        """Turn SQLite's errors into sentences."""
        try:
            yield
        except json.JSONDecodeError as error:
            raise StudyError(
                f"{self.path}: it is damaged ({error}). Restore it from a copy."
            ) from error
        except sqlite3.DatabaseError as error:
            text = str(error)
            if "full" in text or "disk I/O" in text:
                why = "the disk is full or failing. All that was written before is safe"
            elif "not a database" in text or "malformed" in text:
                why = f"it is not a study file, or it is damaged ({text})"
            elif "readonly" in text or "unable to open" in text:
                why = f"it cannot be opened ({text})"
            elif "locked" in text:
                why = f"another process has kept it locked for {BUSY_SECONDS:g} seconds"
            else:
                why = text
            raise StudyError(f"{self.path}: {why}.") from error


def worker_name() -> str:
    """Name this process as the journal does."""
    return f"process {os.getpid()} on {socket.gethostname()}"


@contextlib.contextmanager
def reading(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn whatever an ill-formed file leads to into a sentence: it may come from anybody.

    Args:
        path: The file.

    Raises:
        StudyError: In place of the error.
    """
    try:
        yield
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        raise StudyError(
            f"{path} is not a study that can be read ({type(error).__name__}: {error})."
        ) from error
