"""What there is to see of a study in a file, read without disturbing whoever writes it."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import numpy as np

from hillbandit.space import Config, Genome
from hillbandit.store import Store, StudyError, reading
from hillbandit.study import Study
from hillbandit.trial import Recommendation


@dataclass(frozen=True, slots=True, eq=False)
class Ended:
    """One evaluation as it ended, in the user's own sign."""

    status: Literal["told", "failed", "known"]
    number: int | None
    """The trial's; None for an evaluation that was known in advance."""
    genome: Genome
    value: float | None
    time: float
    """Seconds since 1970."""
    worker: str | None
    error: str | None = None
    traceback: str = ""
    retried: bool = False
    """Whether the configuration of a failed one was to be tried again."""


class Overview:
    """A study opened to look at it: its state, its answer, and every evaluation as it ended.

    Example:
        >>> import tempfile, hillbandit as hb
        >>> from hillbandit.overview import Overview
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = f"{folder.name}/tuning.db"
        >>> problem = hb.problems.OneMax(8)
        >>> result = hb.maximize(problem, problem.space, 12, study=path, seed=1)
        >>> with Overview(path) as overview:
        ...     overview.study.evaluations, overview.writer, overview.stopped
        (12, None, 'budget')
        >>> folder.cleanup()

    Args:
        path: The file.
        name: The study's name; it may be left out where the file has only one.

    Raises:
        StudyError: If the file cannot be read or has no such study, or several and no name is said.
    """

    def __init__(self, path: str | os.PathLike[str], name: str | None = None) -> None:
        self.path = Path(path)
        with contextlib.ExitStack() as opened, reading(self.path):
            self._store = opened.enter_context(contextlib.closing(Store(path, read_only=True)))
            self._open(name, opened)
            self._files = opened.pop_all()

    def _open(self, name: str | None, opened: contextlib.ExitStack) -> None:
        names = self._store.names()
        if name is None:
            if len(names) != 1:
                listed = ", ".join(map(repr, names)) or "none"
                raise StudyError(
                    f"{self.path} has several studies ({listed}): say which with --name."
                    if names
                    else f"There is no study in {self.path}."
                )
            (name,) = names
        self.study = opened.enter_context(Study.open(self.path, name=name, read_only=True))
        found = self._store.find(name)
        self._identity, self.definition = found or (0, {})
        self.stopped: str | None = None
        """Why the last run ended; None while one is under way, or if it was killed."""
        self.confirming = self.study.is_confirming
        """Whether the leading candidates are being, or have been, evaluated afresh."""
        for _, event in self._store.events(self._identity):
            if event.kind == "stop" and event.detail is not None:
                self.stopped = str(event.detail["reason"])
            else:
                self.stopped = None

    @cached_property
    def writer(self) -> str | None:
        """The process that is writing the study now, None if there is none.

        It is found by a glance at the file that `Store.lock` holds.
        """
        lock = Path(f"{self.path}.lock{self._identity}").resolve()
        if not lock.is_file():
            return None
        glance = sqlite3.connect(f"{lock.as_uri()}?mode=ro", uri=True, timeout=0.0)
        try:
            glance.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.OperationalError:
            with contextlib.closing(
                sqlite3.connect(f"{self.path.resolve().as_uri()}?mode=ro", uri=True)
            ) as db:
                (writer,) = db.execute(
                    "SELECT writer FROM studies WHERE id = ?", (self._identity,)
                ).fetchone()
            return str(writer)
        finally:
            glance.close()
        return None

    def evaluations(self) -> Iterator[Ended]:
        """Read every evaluation that has ended, in the order in which the optimiser saw them.

        Raises:
            StudyError: If the journal does not fit the study.
        """
        genomes: dict[int | None, Genome] = {}
        checked = self.study.space.checked
        with reading(self.path):
            for _, event in self._store.events(self._identity):
                if event.kind == "ask" and event.genome is not None:
                    genomes[event.number] = checked(event.genome)
                elif event.kind == "known" and event.genome is not None:
                    yield Ended(
                        "known", None, checked(event.genome), event.value, event.time, event.worker
                    )
                elif event.kind == "tell":
                    genome = genomes.pop(event.number)
                    yield Ended("told", event.number, genome, event.value, event.time, event.worker)
                elif event.kind == "fail":
                    detail = event.detail or {}
                    yield Ended(
                        "failed",
                        event.number,
                        genomes.pop(event.number),
                        None,
                        event.time,
                        event.worker,
                        str(detail.get("error", "unknown")),
                        str(detail.get("traceback", "")),
                        bool(detail.get("retry")),
                    )

    def answer(self) -> tuple[Recommendation | None, bool]:
        """Give the recommendation, and whether it was confirmed by fresh evaluations alone."""
        study = self.study
        if not study.evaluations and not study.optimizer.leaders(1):
            return None, False
        return study.recommend(), study.is_confirmed

    @property
    def state(self) -> str:
        """The study's state in a sentence."""
        told = _count(self.study.evaluations, "evaluation")
        if self.writer is not None:
            doing = "confirming its leaders, " if self.confirming else ""
            return f"Running: {doing}{told} so far, written by {self.writer}."
        if self.stopped is not None:
            return f"Stopped after {told}: {self.stopped}."
        if self.study.evaluations or self.study.outstanding:
            return f"Interrupted after {told}: the same call or command goes on with it."
        return "Not begun."

    def close(self) -> None:
        """Close the file."""
        self._files.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def shown(value: Any) -> str:
    r"""Write a gene's value, or its name, as text on one line that no terminal takes for orders.

    Example:
        >>> from hillbandit.overview import shown
        >>> shown(True), shown(0.5), shown("a\x1b[2Jb")
        ('True', '0.5', 'a\\x1b[2Jb')
    """
    if isinstance(value, np.generic):
        value = value.item()
    text = value if isinstance(value, str) else repr(value)
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def config_text(config: Config, most: int | None = None) -> str:
    """Write a configuration on a line, its first genes only if there are more than `most`.

    Example:
        >>> import numpy as np
        >>> from hillbandit.overview import config_text
        >>> config_text({"speed": 3, "lives": 2, "shield": True}, most=2)
        'speed=3, lives=2, … (3 genes)'
        >>> config_text(np.array([1, 0, 1]))
        '101'
    """
    if isinstance(config, dict):
        words = [f"{shown(name)}={shown(value)}" for name, value in config.items()]
        joint = ", "
    else:
        words = [str(index) for index in config.tolist()]
        joint = "" if max(map(len, words)) == 1 else " "
        most = most and 5 * most
    if most is None or len(words) <= most:
        return joint.join(words)
    return f"{joint.join(words[:most])}{joint}… ({len(words)} genes)"


def spread(answer: Recommendation) -> str:
    """Write a recommendation's mean and interval as text."""
    mean = f"mean {answer.mean:.5g}"
    if answer.low == answer.high:
        return mean
    if not np.isfinite(answer.low):
        return f"{mean}, no interval yet"
    return f"{mean}, 95 % interval {answer.low:.5g} to {answer.high:.5g}"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"
