"""What someone who waits sees: a bar in a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
from rich.text import Text

from hillbandit.experiments.plan import Task

EVERY = 10.0
"""Seconds between two lines where there is no terminal."""


class Clock:
    """Estimates the time left from the work done so far, in its own units."""

    def __init__(self, work: float, done: float) -> None:
        self.work = work
        self.done = done
        self._began = time.monotonic()
        self._before = done

    @property
    def share(self) -> float:
        """How much of the work is done, between 0 and 1."""
        return min(1.0, self.done / self.work) if self.work else 1.0

    @property
    def left(self) -> str:
        """Say how long it will take; nothing while there is nothing to judge by."""
        made = self.done - self._before
        elapsed = time.monotonic() - self._began
        if elapsed < 1 or made <= 0:
            return "estimating the time left"
        seconds = round(elapsed * (self.work - self.done) / made)
        return f"about {seconds // 60}:{seconds % 60:02} left"


def running_text(running: Sequence[Task]) -> str:
    """Name what is being worked on."""
    labels = dict.fromkeys(task.cell.label for task in running)
    return "; ".join(labels) if labels else "the last ones"


class PlainProgress:
    """Plain lines, one every ten seconds.

    Args:
        console: Where they go.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._clock = Clock(0, 0)
        self._last = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Do nothing: a line is out when it is written."""

    def begin(self, work: float, done: float, running: Sequence[Task]) -> None:
        """Say how much there is to do."""
        self._clock = Clock(work, done)
        self.say(f"Running, beginning with {running_text(running)}")
        if self._clock.share >= 0.005:
            self.say(f"{self._clock.share:.0%} is there from an earlier command; going on")

    def step(self, task: Task, work: float, running: Sequence[Task]) -> None:  # noqa: ARG002
        """Say how far it is, if the last line is old."""
        self._clock.done += work
        now = time.monotonic()
        if now - self._last >= EVERY:
            self._last = now
            clock = self._clock
            self.say(f"{clock.share:4.0%}, {clock.left}; running: {running_text(running)}")

    def say(self, text: str) -> None:
        """Write a line."""
        self._console.print(Text(text), soft_wrap=True)


class BarProgress:
    """A bar that moves, with what is running below it.

    Args:
        console: A terminal.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar = Progress(
            BarColumn(bar_width=None),
            TaskProgressColumn(),
            TextColumn("{task.description}"),
            console=console,
        )
        self._clock = Clock(0, 0)
        self._id = self._bar.add_task("", total=1.0, visible=False)
        self._running: Sequence[Task] = ()
        self._text = ""
        self._live = Live(console=console, refresh_per_second=4, get_renderable=self._render)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._text = ""
        self._bar.update(self._id, visible=False)
        self._live.stop()

    def begin(self, work: float, done: float, running: Sequence[Task]) -> None:
        """Show the bar."""
        self._clock = Clock(work, done)
        self._running = running
        self._bar.update(self._id, visible=True, total=work, completed=done)
        if self._clock.share >= 0.005:
            self._console.print(f"{self._clock.share:.0%} is there from an earlier command")

    def step(self, task: Task, work: float, running: Sequence[Task]) -> None:  # noqa: ARG002
        """Move the bar."""
        self._clock.done += work
        self._running = running
        self._bar.update(self._id, completed=self._clock.done)

    def say(self, text: str) -> None:
        """Replace the text below the bar."""
        self._text = text
        self._running = ()

    def _render(self) -> Group:
        self._bar.update(self._id, description=self._clock.left)
        below = f"running: {running_text(self._running)}" if self._running else self._text
        return Group(self._bar, Text(below, style="dim", overflow="ellipsis", no_wrap=True))


def progress_for(console: Console) -> PlainProgress | BarProgress:
    """Choose the display: a bar in a terminal, plain lines in a file or a pipe."""
    return BarProgress(console) if console.is_terminal else PlainProgress(console)
