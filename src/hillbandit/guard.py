"""A small process that outlives this one by a moment, to stop the programs that it left running.

A study that is killed cannot stop its programs any more; left alone, they would go on beside the
same evaluations made again by the study that is resumed.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import weakref

_CODE = """
import os, signal, sys
groups = set()
for line in sys.stdin:
    (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
for group in groups:
    try:
        os.killpg(group, signal.SIGKILL)
    except OSError:
        pass
"""


class Guard:
    """Knows which process groups are ours, and kills them when this process has ended.

    It learns of the end by the closing of the pipe between them, which the operating system does
    whatever the end is. Where there are no process groups it does nothing.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        if hasattr(os, "killpg"):
            self._process = process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _CODE],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # what ends our own group is not to end it
                text=True,
            )
            self._end = weakref.finalize(self, _end, process)  # also if nobody calls close

    def watch(self, group: int) -> None:
        """Take a process group into care."""
        self._tell(f"+{group}\n")

    def release(self, group: int) -> None:
        """Let go of a group, before its number can become somebody else's."""
        self._tell(f"-{group}\n")

    def close(self) -> None:
        """Kill what is still in care, and end."""
        if self._process is not None:
            self._end()

    def _tell(self, line: str) -> None:
        if self._process is not None and self._process.stdin is not None:
            # a guard that somebody has killed is missed only if we are killed too
            with contextlib.suppress(OSError):
                self._process.stdin.write(line)
                self._process.stdin.flush()


def _end(process: subprocess.Popen[str]) -> None:
    if process.stdin is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()
    process.wait()
