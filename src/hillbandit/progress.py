"""A progress bar where somebody can see it, and silence where not."""

from __future__ import annotations

import sys
import time
from importlib.util import find_spec
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from hillbandit.loop import Progress

SECONDS_BETWEEN_LOOKS = 0.25
"""How often the recommendation is looked up for display: it costs a pass over the evaluations."""


class ProgressBar:
    """Shows evaluations, the time, and the recommendation so far, if Rich is there to do it.

    Args:
        wanted: True, False, or None for "if Rich is installed and the output is a terminal".
        budget: The number of evaluations, if it is known.
        timeout: The seconds, if they are limited.

    Raises:
        ModuleNotFoundError: If it is wanted and Rich is not installed.
    """

    def __init__(self, wanted: bool | None, budget: int | None, timeout: float | None) -> None:
        if wanted is None:
            wanted = sys.stderr.isatty() and find_spec("rich") is not None
        elif wanted and find_spec("rich") is None:
            raise ModuleNotFoundError(
                'A progress bar needs Rich: pip install "hillbandit[cli]", or say progress=False.'
            )
        self._wanted = wanted
        self._budget = budget
        self._timeout = timeout
        self._bar: Any = None
        self._looked = 0.0

    def __enter__(self) -> Self:
        if self._wanted:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            self._bar = Progress(
                TextColumn("{task.completed:g}/{task.total:g}"),
                BarColumn(),
                TimeRemainingColumn(),
                TextColumn("{task.description}", markup=False),
                console=Console(stderr=True),
            )
            self._task = self._bar.add_task("", total=self._budget or self._timeout)
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, state: Progress) -> None:
        """Show one more evaluation."""
        if self._bar is None:
            return
        done = state.evaluations if self._budget is not None else state.seconds
        self._bar.update(self._task, completed=done)
        now = time.monotonic()
        last = self._budget is not None and state.evaluations == self._budget
        if now - self._looked >= SECONDS_BETWEEN_LOOKS or last:
            self._looked = now
            best = state.recommend()
            self._bar.update(
                self._task, description=f"mean {best.mean:.5g} from {best.evaluations}"
            )
