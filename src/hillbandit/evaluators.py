"""Where evaluations happen: in this process, in processes of our own, or on any executor."""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.connection
import os
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from hillbandit.store import StudyError, worker_name

POLL_SECONDS = 0.05
"""How long to wait between looks at futures that cannot call back."""
DEAD_SECONDS = 0.5
"""How often workers are looked at, whether they are still alive."""
ORPHAN_SECONDS = 0.5
"""How often a worker looks whether the process that it works for is still there."""

WHERE = "_hillbandit_worker"
"""The attribute of an exception that names the process in which it was raised."""


@dataclass(frozen=True, slots=True)
class Task:
    """One evaluation, complete with all that it needs: it can be sent to another process."""

    objective: Callable[..., Any]
    config: Any
    seed: int | None
    """None where the objective does not take one."""
    number: int

    def evaluate(self) -> Any:
        """Evaluate here, whatever that raises."""
        if self.seed is None:
            return self.objective(self.config)
        return self.objective(self.config, seed=self.seed)

    def __call__(self) -> tuple[Any, str]:
        """Evaluate on an executor; return the value and where that was.

        Raises:
            RuntimeError: If the objective asks for the end of the process, which is not its own.
            Exception: What the objective raises; it also says where that was.
        """
        try:
            try:
                return self.evaluate(), worker_name()
            except SystemExit as error:
                raise RuntimeError(_short(error)) from error
        except Exception as error:
            with contextlib.suppress(Exception):  # it may have no room for it
                setattr(error, WHERE, worker_name())
            raise


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an evaluation ended: with a value, or with an error."""

    number: int
    value: Any = None
    worker: str | None = None
    error: str | None = None
    traceback: str = ""
    exception: BaseException | None = None
    """The exception itself, where it was raised in this process."""


class Evaluator(Protocol):
    """Takes up to `slots` tasks at a time and reports how they ended."""

    slots: int

    def start(self, task: Task) -> None:
        """Begin an evaluation."""

    def finished(self, timeout: float | None) -> list[Outcome]:
        """Wait until an evaluation has ended, or the time is over; report those that have."""

    def close(self) -> None:
        """Let go of everything; evaluations still running are stopped where that is possible."""


class InProcess:
    """Evaluates here and now, one at a time."""

    slots = 1

    def __init__(self) -> None:
        self._tasks: list[Task] = []

    def start(self, task: Task) -> None:
        """Keep the task until the outcome is asked for."""
        self._tasks.append(task)

    def finished(self, timeout: float | None) -> list[Outcome]:  # noqa: ARG002 - it cannot wait less
        """Evaluate."""
        task = self._tasks.pop()
        try:
            value = task.evaluate()
        except (Exception, SystemExit) as error:
            return [_failed(task.number, error, worker_name())]
        return [Outcome(task.number, value, worker_name())]

    def close(self) -> None:
        """Do nothing: there is nothing to let go of."""


class Workers:
    """Processes of our own: one that hangs is killed, one that dies is replaced.

    Args:
        count: How many.
        trial_timeout: Seconds after which an evaluation is stopped.
    """

    def __init__(self, count: int, trial_timeout: float | None) -> None:
        self.slots = count
        self._timeout = trial_timeout
        # A forked process has the objective already, whatever it is; elsewhere it must be sent.
        method = "fork" if sys.platform == "linux" else "spawn"
        self._context = multiprocessing.get_context(method)
        self._idle: list[_Worker] = []
        self._busy: list[_Worker] = []

    def start(self, task: Task) -> None:
        """Give the task to an idle process, or to a new one."""
        while self._idle:
            worker = self._idle.pop()
            if worker.take(task, self._timeout):
                self._busy.append(worker)
                return
            worker.kill()  # it died while it had nothing to do
        worker = _Worker(self._context, task.objective)
        if not worker.take(task, self._timeout):
            raise StudyError("A new worker process died at once.")
        self._busy.append(worker)

    def finished(self, timeout: float | None) -> list[Outcome]:
        """Wait for answers, deaths and deadlines."""
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            ends = [w.deadline for w in self._busy if w.deadline is not None]
            ends += [until] if until is not None else []
            # what a worker has started may keep its end of the pipe open after its death
            wait = max(0.0, min([*ends, time.monotonic() + DEAD_SECONDS]) - time.monotonic())
            multiprocessing.connection.wait([w.pipe for w in self._busy], wait)
            outcomes = [o for worker in list(self._busy) if (o := self._look(worker)) is not None]
            if outcomes or (until is not None and time.monotonic() >= until):
                return outcomes

    def _look(self, worker: _Worker) -> Outcome | None:
        task = worker.task
        dead = worker.is_dead()  # before the pipe, so that its last answer is not overlooked
        try:
            if worker.pipe.poll():
                value, error, trace = worker.pipe.recv()
                self._busy.remove(worker)
                self._idle.append(worker)
                return Outcome(task.number, value, worker.name, error, trace)
            if dead:
                raise EOFError
        except (EOFError, OSError):
            self._busy.remove(worker)
            code = worker.kill()
            how = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
            return Outcome(
                task.number, None, worker.name, f"WorkerDied: its process ended with {how}"
            )
        if worker.deadline is not None and time.monotonic() >= worker.deadline:
            self._busy.remove(worker)
            worker.kill()
            return Outcome(
                task.number,
                None,
                worker.name,
                f"TrialTimeout: it took longer than {self._timeout:g} seconds and was stopped",
            )
        return None

    def close(self) -> None:
        """Kill all processes."""
        for worker in (*self._idle, *self._busy):
            worker.kill()
        self._idle.clear()
        self._busy.clear()


class _Worker:
    """One process and the pipe to it."""

    def __init__(self, context: Any, objective: Callable[..., Any]) -> None:
        self.pipe, theirs = context.Pipe()
        # a daemonic process could not have processes of its own, and the objective may need some
        self.process = context.Process(
            target=_serve, args=(theirs, self.pipe, objective), daemon=False
        )
        self.process.start()
        theirs.close()
        self.name = f"process {self.process.pid} on {socket.gethostname()}"
        self.deadline: float | None = None

    def take(self, task: Task, timeout: float | None) -> bool:
        """Send the task; tell whether the process is there to take it."""
        self.task = task
        self.deadline = None if timeout is None else time.monotonic() + timeout
        try:
            self.pipe.send((task.config, task.seed))
        except OSError:
            return False
        return True

    def is_dead(self) -> bool:
        """Tell whether the process has ended; where possible it is not reaped.

        Until then neither its number nor that of its group can be another's.
        """
        if not hasattr(os, "waitid"):
            return not self.process.is_alive()
        how = os.WEXITED | os.WNOWAIT | os.WNOHANG
        try:
            return os.waitid(os.P_PID, self.process.pid, how) is not None
        except ChildProcessError:  # somebody has reaped it
            return True

    def kill(self) -> int | None:
        """End the process and what it has started; return its exit code."""
        if hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
        if self.process.is_alive():
            self.process.kill()  # it may not have a group of its own yet
        self.process.join()
        self.pipe.close()
        code: int | None = self.process.exitcode
        return code


def _serve(pipe: Any, parents: Any, objective: Callable[..., Any]) -> None:
    """Evaluate what comes through the pipe until it is closed; the life of a worker process."""
    if hasattr(os, "setpgid"):
        os.setpgid(0, 0)  # a group of its own, so that all it starts can be ended with it
    parents.close()  # a copy of the parent's end would keep the pipe open after its death
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C means
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    while True:
        try:
            config, seed = pipe.recv()
        except (EOFError, OSError):
            return
        answer: tuple[float | str | None, str | None, str]
        try:
            value = Task(objective, config, seed, 0).evaluate()
            answer = (float(value) if hasattr(value, "__float__") else repr(value), None, "")
        except BaseException as error:
            answer = (None, _short(error), traceback.format_exc())
        try:
            pipe.send(answer)
        except OSError:
            os._exit(0)  # nobody is listening any more


def _end_with_parent(parent: int) -> None:
    """End this process when its parent has ended, in the middle of an evaluation too."""
    while os.getppid() == parent:
        time.sleep(ORPHAN_SECONDS)
    if hasattr(os, "killpg"):
        os.killpg(0, signal.SIGKILL)  # with all that it has started
    os._exit(1)


class OnExecutor:
    """Evaluates on anything with `submit` that returns futures with `done` and `result`.

    Args:
        executor: A concurrent.futures.Executor, a Dask client, or the like.
        slots: How many evaluations at a time; None asks the executor.
        owned: Whether to shut the executor down at the end.

    Raises:
        StudyError: If it cannot tell how many it takes.
    """

    def __init__(self, executor: Any, slots: int | None, *, owned: bool = False) -> None:
        if not hasattr(executor, "submit"):
            raise StudyError(f"executor= needs a submit method; {executor!r} has none.")
        self._executor = executor
        self._owned = owned
        # Dask takes equal calls for the same and would evaluate them once
        self._keywords = {"pure": False} if _is_dask(executor) else {}
        self.slots = _slots_of(executor) if slots is None else slots
        self._running: dict[int, Any] = {}
        self._news = threading.Event()

    def start(self, task: Task) -> None:
        """Submit the task."""
        try:
            future = self._executor.submit(task, **self._keywords)
        except Exception as error:
            raise StudyError(f"The executor takes no more work: {_short(error)}.") from error
        self._running[task.number] = future
        if hasattr(future, "add_done_callback"):
            future.add_done_callback(lambda _: self._news.set())

    def finished(self, timeout: float | None) -> list[Outcome]:
        """Wait for futures, and report them in the order of the trials' numbers."""
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            self._news.clear()
            done = [number for number, future in self._running.items() if future.done()]
            if done:
                return [self._outcome(number) for number in sorted(done)]
            left = POLL_SECONDS if until is None else min(POLL_SECONDS, until - time.monotonic())
            if left <= 0:
                return []
            self._news.wait(left)

    def _outcome(self, number: int) -> Outcome:
        future = self._running.pop(number)
        try:
            value, worker = future.result()
        except (Exception, SystemExit) as error:
            # what did not come from the objective has happened somewhere on the executor
            unknown = f"{type(self._executor).__name__} of {worker_name()}"
            return _failed(number, error, getattr(error, WHERE, unknown))
        return Outcome(number, value, worker)

    def close(self) -> None:
        """Cancel what has not begun."""
        for future in self._running.values():
            if hasattr(future, "cancel"):
                future.cancel()
        self._running.clear()
        if self._owned:
            self._executor.shutdown(wait=False, cancel_futures=True)


def _is_dask(executor: Any) -> bool:
    return type(executor).__module__.split(".")[0] == "distributed"


def _slots_of(executor: Any) -> int:
    if _is_dask(executor):
        return max(1, int(sum(executor.nthreads().values())))
    for name in ("slots", "_max_workers"):
        slots = getattr(executor, name, None)
        if isinstance(slots, int):
            return slots
    raise StudyError("Say workers= with this executor: how many evaluations it takes at a time.")


def _failed(number: int, error: BaseException, worker: str) -> Outcome:
    trace = "".join(traceback.format_exception(error))
    return Outcome(number, None, worker, _short(error), trace, error)


def _short(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
