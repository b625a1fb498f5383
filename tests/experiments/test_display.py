"""What someone who waits is told."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from hillbandit.experiments.display import BarProgress, Clock, PlainProgress, progress_for
from hillbandit.experiments.plan import Cell, Task

TASK = Task(Cell("royal_road", "bandit_rmhc", 0.0, 1, 8, 64), 0, 10, 1)
NEXT = Task(Cell("onemax", "rmhc", 1.0, 5, 1, 100), 0, 10, 1)


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that the test sets."""
    time = [0.0]
    monkeypatch.setattr("hillbandit.experiments.display.time.monotonic", lambda: time[0])
    return time


def test_the_time_left_follows_from_the_pace_so_far(now: list[float]) -> None:
    clock = Clock(work=100.0, done=20.0)
    assert clock.left == "estimating the time left"
    # 20 units in 40 seconds: the other 60 take 120
    now[0], clock.done = 40.0, 40.0
    assert clock.left == "about 2:00 left"
    assert clock.share == 0.4


def test_without_a_terminal_there_is_a_line_every_ten_seconds(now: list[float]) -> None:
    text = io.StringIO()
    with progress_for(Console(file=text, width=60)) as progress:
        assert isinstance(progress, PlainProgress)
        progress.begin(100.0, 50.0, [TASK])
        for second in range(1, 26):
            now[0] = float(second)
            progress.step(TASK, 1.0, [NEXT])
    assert text.getvalue().splitlines() == [
        "Running, beginning with Royal Road n=64 block 8 bandit",
        "50% is there from an earlier command; going on",
        " 60%, about 0:40 left; running: OneMax n=100 RMHC r=5",
        " 70%, about 0:30 left; running: OneMax n=100 RMHC r=5",
    ]


def test_in_a_terminal_there_is_a_bar_with_what_is_running(now: list[float]) -> None:
    text = io.StringIO()
    console = Console(file=text, force_terminal=True, width=100)
    with progress_for(console) as progress:
        assert isinstance(progress, BarProgress)
        progress.say("Compiling")
        progress.begin(100.0, 0.0, [TASK])
        now[0] = 30.0
        progress.step(TASK, 50.0, [NEXT])
        console.print(progress._render())
    shown = text.getvalue()
    assert "50%" in shown
    assert "about 0:30 left" in shown
    assert "running: OneMax n=100 RMHC r=5" in shown
