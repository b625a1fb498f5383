"""What `hillbandit optimize` shows while it runs: a live display, or now and then a line."""

from __future__ import annotations

import logging
import os
import threading
import time
import weakref
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from hillbandit.loop import Progress
from hillbandit.overview import config_text, shown, spread
from hillbandit.trial import Recommendation

LIVE_SECONDS = 0.25
"""How often a terminal is redrawn."""
LOOKING_SHARE = 0.05
"""The share of the time that looking up the recommendation, for the display only, may take …"""
LOOKING_SAVED = 0.25
"""… and the seconds of it that can be saved up, so that evaluations that end together all count."""
LINE_SECONDS = 10.0
"""How often a line is written where the output is no terminal."""
GENES_SHOWN = 12


class LiveDisplay(logging.Handler):
    """A callback for studies that shows their progress, and a log handler for their failures.

    A terminal is redrawn by a thread, so that time goes on while evaluations run. It draws only
    what the callback has left for it: the optimiser is looked at where it works, in the study's
    thread.

    Args:
        console: Where to show it.
        budget: The number of evaluations, if it is known.
    """

    def __init__(self, console: Console, budget: int | None) -> None:
        super().__init__(logging.WARNING)
        self._console = console
        self._budget = budget
        self._drawing = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._redraw, daemon=True)
        self._began = self._looked = time.monotonic()
        self._saved = LOOKING_SAVED
        self._before: int | None = None
        self._last: Progress | None = None
        self._told = 0.0
        self._best: Recommendation | None = None
        self._failure = ""
        self._failed = 0
        self._live = (
            Live(console=console, get_renderable=self._picture, auto_refresh=False, transient=True)
            if console.is_terminal
            else None
        )

    def __enter__(self) -> Self:
        logger = logging.getLogger("hillbandit")
        logger.addHandler(self)
        logger.propagate = False
        if self._live is not None:
            _displays.add(self)
            self._live.start(refresh=True)
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        logger = logging.getLogger("hillbandit")
        logger.removeHandler(self)
        logger.propagate = True
        if self._live is not None:
            self._over.set()
            self._thread.join()
            self._live.stop()
            _displays.discard(self)

    def __call__(self, state: Progress) -> None:
        """Take in an evaluation."""
        now = time.monotonic()
        if self._before is None:
            self._before = state.evaluations - 1
        self._last, self._told = state, now
        self._failed = state.failures
        if self._live is not None:
            self._look(state, now)
        elif now - self._looked >= LINE_SECONDS:
            self._looked = now
            self._line(state)

    def _look(self, state: Progress, now: float) -> None:
        """Look up the recommendation, unless that has taken too much of the time."""
        self._saved = min(LOOKING_SAVED, self._saved + LOOKING_SHARE * (now - self._looked))
        self._looked = now
        if self._saved > 0 or state.evaluations == self._budget:
            self._best = state.recommend()
            self._saved -= time.monotonic() - now

    def emit(self, record: logging.LogRecord) -> None:
        """Show a failed evaluation."""
        self._failure = shown(" ".join(record.getMessage().split()))[:300]
        if self._live is None:
            self._console.print(Text(self._failure), soft_wrap=True)
        else:
            self._failed += 1

    def _line(self, state: Progress) -> None:
        of = "" if self._budget is None else f" of {self._budget}"
        text = (
            f"{state.evaluations}{of} evaluations, {self._speed(state):.3g} a second, "
            f"{state.failures} failed; best so far {_line_of(state.recommend())}"
        )
        self._console.print(Text(text), soft_wrap=True)

    def _redraw(self) -> None:
        while self._live is not None and not self._over.wait(LIVE_SECONDS):
            with self._drawing:
                self._live.refresh()

    def _picture(self) -> Table:
        now = time.monotonic()
        state, best = self._last, self._best
        grid = Table.grid(padding=(0, 2))
        if state is None:
            grid.add_row("evaluations", Text("none yet"))
        else:
            speed = self._speed(state)
            count = f"{state.evaluations}"
            if self._budget is not None:
                count += f" of {self._budget}"
                grid.add_row("", ProgressBar(self._budget, state.evaluations, width=40))
            grid.add_row(
                "evaluations", Text(f"{count} ({speed:.3g} a second), {state.running} running")
            )
        passed = _duration(now - self._began)
        if state is not None and self._budget is not None and speed:
            left = (self._budget - state.evaluations) / speed - (now - self._told)
            passed += f", about {_duration(left)} left" if left > 0 else ""
        grid.add_row("time", Text(passed))
        if best is not None:
            grid.add_row("best so far", Text(config_text(best.config, GENES_SHOWN)))
            grid.add_row("", Text(f"{spread(best)}, from {best.evaluations}"))
        grid.add_row("failures", Text(str(self._failed)))
        if self._failure:
            grid.add_row("the last", Text(self._failure[:120], overflow="ellipsis", no_wrap=True))
        return grid

    def _speed(self, state: Progress) -> float:
        made = state.evaluations - (self._before or 0)
        return made / state.seconds if state.seconds > 0 else 0.0


_displays: weakref.WeakSet[LiveDisplay] = weakref.WeakSet()


def _rest() -> None:
    """Let no display draw while this process is forked for a worker.

    The worker has no thread that would ever release what a drawing thread holds at that moment: the
    console's lock, or that of the standard error.
    """
    for display in _displays:
        display._drawing.acquire()


def _go_on() -> None:
    for display in _displays:
        display._drawing.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_rest, after_in_parent=_go_on, after_in_child=_go_on)


def _line_of(best: Recommendation) -> str:
    return f"{config_text(best.config, GENES_SHOWN)}: {spread(best)}, from {best.evaluations}"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
