"""What `hillbandit optimize` shows while it runs: a live display, or now and then a line."""

from __future__ import annotations

import logging
import time
from types import TracebackType
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from hillbandit.loop import Progress
from hillbandit.overview import config_text, shown, spread
from hillbandit.trial import Recommendation

LIVE_SECONDS = 0.25
"""How often a terminal is brought up to date: looking up the recommendation has its cost."""
LINE_SECONDS = 10.0
"""How often a line is written where the output is no terminal."""
GENES_SHOWN = 12


class LiveDisplay(logging.Handler):
    """A callback for studies that shows their progress, and a log handler for their failures.

    Nothing is drawn from a thread of its own, because worker processes are forked from this one:
    the picture changes when an evaluation ends.

    Args:
        console: Where to show it.
        budget: The number of evaluations, if it is known.
    """

    def __init__(self, console: Console, budget: int | None) -> None:
        super().__init__(logging.WARNING)
        self._console = console
        self._budget = budget
        self._live = (
            Live(console=console, auto_refresh=False, transient=True)
            if console.is_terminal
            else None
        )
        self._looked = time.monotonic()
        self._before: int | None = None
        self._last: Progress | None = None
        self._failure = ""
        self._failed = 0

    def __enter__(self) -> Self:
        logger = logging.getLogger("hillbandit")
        logger.addHandler(self)
        logger.propagate = False
        if self._live is not None:
            self._live.start()
            self._draw()
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
            self._live.stop()

    def __call__(self, state: Progress) -> None:
        """Take in an evaluation, and show it if the last look is long enough ago."""
        if self._before is None:
            self._before = state.evaluations - 1
        self._last = state
        self._failed = state.failures
        now = time.monotonic()
        if now - self._looked < (LINE_SECONDS if self._live is None else LIVE_SECONDS):
            return
        self._looked = now
        if self._live is None:
            self._line(state)
        else:
            self._draw()

    def emit(self, record: logging.LogRecord) -> None:
        """Show a failed evaluation."""
        self._failure = shown(" ".join(record.getMessage().split()))[:300]
        if self._live is None:
            self._console.print(Text(self._failure), soft_wrap=True)
        else:
            self._failed += 1
            self._draw()

    def _line(self, state: Progress) -> None:
        of = "" if self._budget is None else f" of {self._budget}"
        text = (
            f"{state.evaluations}{of} evaluations, {self._speed(state):.3g} a second, "
            f"{state.failures} failed; best so far {_line_of(state.recommend())}"
        )
        self._console.print(Text(text), soft_wrap=True)

    def _draw(self) -> None:
        if self._live is None:
            return
        state = self._last
        grid = Table.grid(padding=(0, 2))
        if state is None:
            grid.add_row("evaluations", Text("none yet"))
        else:
            speed = self._speed(state)
            count = f"{state.evaluations}"
            if self._budget is not None:
                count += f" of {self._budget}"
                left = (self._budget - state.evaluations) / speed if speed else 0.0
                grid.add_row("", ProgressBar(self._budget, state.evaluations, width=40))
                count += f", about {_duration(left)} left" if left > 0 else ""
            grid.add_row("evaluations", Text(f"{count} ({speed:.3g} a second)"))
            best = state.recommend()
            grid.add_row("best so far", Text(config_text(best.config, GENES_SHOWN)))
            grid.add_row("", Text(f"{spread(best)}, from {best.evaluations}"))
        grid.add_row("failures", Text(str(self._failed)))
        if self._failure:
            grid.add_row("the last", Text(self._failure[:120], overflow="ellipsis", no_wrap=True))
        self._live.update(Group(grid), refresh=True)

    def _speed(self, state: Progress) -> float:
        made = state.evaluations - (self._before or 0)
        return made / state.seconds if state.seconds > 0 else 0.0


def _line_of(best: Recommendation) -> str:
    return f"{config_text(best.config, GENES_SHOWN)}: {spread(best)}, from {best.evaluations}"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
