"""The results on disk: one line of JSON for each finished task, appended and flushed to the disk.

The first line says what the others belong to: the format, the version, the code and the seed. Each
command that makes runs writes a line about itself before its first ones, and each line of runs has
the seconds since that command began, so that the time of one that was killed is known too. A line
that a kill or a full disk left unfinished is cut off when the journal is opened again.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from hillbandit._version import __version__
from hillbandit.experiments.digest import code_digest
from hillbandit.experiments.plan import Cell, Refused, Task
from hillbandit.experiments.simulation import Record

FILE = "journal.jsonl"
FORMAT = 2


class Journal:
    """The runs made so far in a results folder.

    Example:
        >>> import tempfile
        >>> from hillbandit.experiments.journal import Journal
        >>> from hillbandit.experiments.plan import Cell, Task
        >>> cell = Cell("onemax", "rmhc", 0.0, 1, 1, 4)
        >>> folder = tempfile.mkdtemp()
        >>> with Journal(folder, seed=1) as journal:
        ...     journal.add(Task(cell, first=0, runs=2, root=1), [[9, 1], [7, 1]])
        >>> with Journal(folder, seed=1) as journal:
        ...     journal.records(cell, 2)
        [[9, 1], [7, 1]]

    Args:
        folder: The results folder; it is made if it does not exist.
        seed: The plan's seed.
        session: What is to be known of the command that opens it.

    Raises:
        Refused: If the folder holds results of another version, other code or another seed,
            another process is writing to it, or it cannot be used.
    """

    def __init__(
        self, folder: str | os.PathLike[str], seed: int, session: dict[str, Any] | None = None
    ) -> None:
        self.path = Path(folder) / FILE
        self.sessions: list[dict[str, Any]] = []
        """The commands that made these runs, with how long each took and how many it made."""
        self._clock = time.monotonic()
        self._session = session
        self._begun = False
        self._runs: dict[Cell, dict[int, Record]] = {}
        header = {
            "format": FORMAT,
            "version": __version__,
            "code": code_digest(),
            "seed": seed,
        }
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file: IO[bytes] = self.path.open("a+b")
        except OSError as error:
            raise Refused(f"{folder} cannot be used for results: {error.strerror}.") from None
        try:
            self._lock()
            self._read(header)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; another process may then write to it."""
        self._file.close()

    def records(self, cell: Cell, runs: int) -> list[Record]:
        """Give the first so many runs of a cell.

        Raises:
            KeyError: If one of them has not been made.
        """
        made = self._runs[cell]
        return [made[run] for run in range(runs)]

    def missing(self, cell: Cell, runs: int) -> list[int]:
        """List those of the first so many runs of a cell that have not been made."""
        made = self._runs.get(cell, {})
        return [run for run in range(runs) if run not in made]

    def add(self, task: Task, records: list[Record]) -> None:
        """Append the runs of a finished task.

        Raises:
            OSError: If the disk is full; the journal is then as it was before.
        """
        if self._session is not None and not self._begun:
            self._append(_line({"session": self._session}))
            self._begin(self._session)
            self._begun = True
        at = self._seconds()
        self._append(
            _line({"cell": task.cell.as_dict(), "first": task.first, "runs": records, "at": at})
        )
        self._take(task.cell, task.first, records)
        self._count(at, len(records))

    def end(self) -> None:
        """Note how long this command took in all; one that made no runs leaves no trace.

        Raises:
            OSError: If the disk is full; the journal is then as it was before.
        """
        if self._begun:
            at = self._seconds()
            self._append(_line({"at": at}))
            self._count(at, 0)

    def sessions_now(self) -> list[dict[str, Any]]:
        """List the commands that made these runs, this one with the time up to now."""
        if self._begun:
            *earlier, now = self.sessions
            return [*earlier, {**now, "duration_seconds": self._seconds()}]
        alone = {**(self._session or {}), "duration_seconds": self._seconds(), "runs_made": 0}
        return self.sessions or [alone]

    def _seconds(self) -> float:
        return round(time.monotonic() - self._clock, 1)

    def _begin(self, session: dict[str, Any]) -> None:
        self.sessions.append({**session, "duration_seconds": 0.0, "runs_made": 0})

    def _count(self, at: float, runs: int) -> None:
        if self.sessions:
            self.sessions[-1]["duration_seconds"] = at
            self.sessions[-1]["runs_made"] += runs

    def _append(self, line: str) -> None:
        end = self._file.seek(0, os.SEEK_END)
        try:
            self._file.write(line.encode() + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError:
            # what the buffer still holds must not follow, so the file is opened anew
            self._reopen(end)
            raise

    def _reopen(self, end: int) -> None:
        os.truncate(self.path, end)
        broken = self._file
        self._file = self.path.open("a+b")
        with contextlib.suppress(OSError):
            broken.close()
        # closing it may have written what the buffer held, now that there was room again
        os.truncate(self.path, end)
        self._lock()

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Refused(
                f"Another process is writing to {self.path.parent}; choose another folder with "
                "--out, or wait."
            ) from None

    def _read(self, header: dict[str, Any]) -> None:
        self._file.seek(0)
        kept = 0
        for number, raw in enumerate(self._complete_lines()):
            try:
                data = json.loads(raw)
                if number == 0:
                    self._check(data, header)
                elif "session" in data:
                    self._begin(data["session"])
                else:
                    if "cell" in data:
                        self._take(Cell.from_dict(data["cell"]), data["first"], data["runs"])
                    self._count(data["at"], len(data.get("runs", ())))
            except Refused:
                raise
            except (LookupError, ValueError, TypeError, AttributeError):
                raise Refused(
                    f"Line {number + 1} of {self.path} is damaged; delete the folder, or choose "
                    "another with --out."
                ) from None
            kept += len(raw)
        os.truncate(self.path, kept)
        if kept == 0:
            self._append(json.dumps(header))

    def _complete_lines(self) -> Iterator[bytes]:
        """Yield the lines that were written to their end; only the last one may not have been."""
        for raw in self._file:
            if raw.endswith(b"\n"):
                yield raw

    def _check(self, found: dict[str, Any], expected: dict[str, Any]) -> None:
        folder = self.path.parent
        for what, name in (("format", "format"), ("version", "version"), ("seed", "seed")):
            if found.get(what) != expected[what]:
                raise Refused(
                    f"The results in {folder} were made with the {name} {found.get(what)}, not "
                    f"{expected[what]}; delete the folder, or choose another with --out."
                )
        if found.get("code") != expected["code"]:
            raise Refused(
                f"The results in {folder} were made by other code of the same version; delete the "
                "folder, or choose another with --out."
            )

    def _take(self, cell: Cell, first: int, records: list[Record]) -> None:
        self._runs.setdefault(cell, {}).update(enumerate(records, first))


def _line(data: dict[str, Any]) -> str:
    return json.dumps(data, separators=(",", ":"))
