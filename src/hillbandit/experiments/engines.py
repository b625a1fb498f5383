"""Where tasks are run: in processes of this machine, or on a Dask cluster."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Protocol

from hillbandit._version import __version__
from hillbandit.experiments.digest import code_digest
from hillbandit.experiments.plan import Refused, Task
from hillbandit.experiments.simulation import Record, compile_kernels, run_task

PROTOCOLS = ("tcp", "tls", "ws", "wss", "ucx")
AHEAD = 2
"""Tasks that wait ready for each worker, so that none waits for us."""


class Engine(Protocol):
    """Runs tasks, in any order; what they give depends on the task alone."""

    name: str
    workers: int

    def results(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, list[Record]]]:
        """Run all tasks, and yield each with its runs as soon as it is finished."""

    def close(self) -> None:
        """Let go of the workers."""


class Processes:
    """Processes of this machine.

    Args:
        workers: How many; all cores when None.

    Raises:
        Refused: If `workers` is below 1.
    """

    name = "processes"

    def __init__(self, workers: int | None = None) -> None:
        if workers is not None and workers < 1:
            raise Refused(f"--workers must be at least 1; it is {workers}.")
        self.workers = workers or available_cores()

    def results(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, list[Record]]]:
        """Run all tasks, and yield each with its runs as soon as it is finished.

        Raises:
            Refused: If a worker was killed; what was yielded before is not lost.
        """
        # A new interpreter for each: a fork would copy the threads of the progress display.
        pool = ProcessPoolExecutor(
            self.workers, multiprocessing.get_context("spawn"), initializer=_begin
        )
        waiting = iter(tasks)
        running: dict[Future[list[Record]], Task] = {}
        try:
            while True:
                while len(running) < AHEAD * self.workers:
                    task = next(waiting, None)
                    if task is None:
                        break
                    running[pool.submit(run_task, task)] = task
                if not running:
                    break
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    yield running.pop(future), future.result()
        except BrokenProcessPool:
            raise Refused(
                "A worker process was killed, perhaps for want of memory; run the command again to "
                "go on where it was."
            ) from None
        finally:
            # on an interrupt nothing is waited for: a run in flight is made again next time
            for process in list((pool._processes or {}).values()) if running else ():
                process.terminate()
            pool.shutdown(wait=True, cancel_futures=True)

    def close(self) -> None:
        """Do nothing: the processes end with their tasks."""


def connect(workers: int | None = None, dask: str | None = None) -> Engine:
    """Choose the engine: a Dask cluster if an address is given, else processes.

    Raises:
        Refused: If it cannot be had, or both are asked for.
    """
    if dask is None:
        return Processes(workers)
    if workers is not None:
        raise Refused("--workers is for this machine; a Dask cluster has its own number of them.")
    return DaskCluster(dask)


def available_cores() -> int:
    """Count the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _begin() -> None:
    """Prepare a worker: Ctrl-C is the parent's business, and a worker does not outlive it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: multiprocessing.process.BaseProcess) -> None:
    parent.join()
    os._exit(1)


class DaskCluster:
    """A Dask cluster.

    Args:
        address: Of its scheduler, as in tcp://10.0.0.5:8786.

    Raises:
        Refused: If the extra is missing, nothing answers there, it has no workers, or these have
            another version of hillbandit, other code, or none.
    """

    name = "dask"

    def __init__(self, address: str, timeout: float = 10.0) -> None:
        try:
            from distributed import Client
        except ImportError:
            raise Refused(
                'A Dask cluster needs the dask extra: pip install "hillbandit[dask]"'
            ) from None
        protocol, given, _ = address.partition("://")
        if given and protocol not in PROTOCOLS:
            raise Refused(
                f"{address} is no address of a Dask scheduler; one looks like tcp://10.0.0.5:8786."
            )
        try:
            self._client = Client(address, timeout=timeout, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            raise Refused(f"No Dask scheduler answers at {address}: {error}.") from None
        try:
            self.workers = self._checked_workers(address)
        except BaseException:
            self._client.close()
            raise

    def _checked_workers(self, address: str) -> int:
        threads = self._client.nthreads()
        if not threads:
            raise Refused(f"The Dask cluster at {address} has no workers.")
        try:
            found = self._client.run(_version_and_code)
        except Exception as error:
            # whatever a worker raised, with its import errors in the first place
            raise Refused(
                f"The workers of the Dask cluster at {address} cannot run hillbandit "
                f'({type(error).__name__}: {error}); install "hillbandit[experiments]" there.'
            ) from None
        for worker, (version, code) in found.items():
            if version != __version__:
                raise Refused(
                    f"The Dask worker {worker} has hillbandit {version}; this is {__version__}."
                )
            if code != code_digest():
                raise Refused(
                    f"The Dask worker {worker} has other code of hillbandit {version} than this; "
                    "install the same there."
                )
        return sum(threads.values())

    def results(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, list[Record]]]:
        """Run all tasks, and yield each with its runs as soon as it is finished."""
        from distributed import as_completed

        waiting = iter(tasks)
        # pure=False: a name of its own for each, so that nothing of an earlier command is reused
        first = [
            self._client.submit(_run_named, task, pure=False)
            for _, task in zip(range(AHEAD * self.workers), waiting, strict=False)
        ]
        queue = as_completed(first, loop=self._client.loop)
        for future in queue:
            try:
                task, records = future.result()
            except Exception as error:
                # a lost worker, a closed connection: whatever it is, nothing here mends it
                raise Refused(
                    f"The Dask cluster failed ({type(error).__name__}: {error}); run the command "
                    "again to go on where it was."
                ) from None
            future.release()
            following = next(waiting, None)
            if following is not None:
                queue.add(self._client.submit(_run_named, following, pure=False))
            yield task, records

    def close(self) -> None:
        """Leave the cluster; it goes on without us."""
        self._client.close()


def _version_and_code() -> tuple[str, str]:
    compile_kernels()
    return __version__, code_digest()


def _run_named(task: Task) -> tuple[Task, list[Record]]:
    return task, run_task(task)
