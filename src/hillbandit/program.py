"""Objectives from the shell: any program, or a Python function by its address.

A program is started directly, never through a shell: whatever a gene's value contains, it reaches
the program as a part of the one argument in which its placeholder stands.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType, TracebackType
from typing import IO, Any, Self

from hillbandit.guard import Guard
from hillbandit.space import Config, Space

OUTPUT_BYTES = 16_000_000
"""Of a program's output, this much is read from the end."""
LAST_WORDS = 2_000
"""Of what a failed program wrote to its standard error, this much is kept, in characters."""
NESTED = 500
"""JSON of this depth is certainly read; where it goes much deeper it is given up."""
LONGEST_PAUSE = 0.05
"""Seconds between two looks at a program whose time is limited."""

# An atomic group, so that of "2.5s" all of 2.5 is taken; "nan" is there so that it is not passed
# over in favour of a number before it. A digit in the middle of a word, as in "x86", is none.
_NUMBER = re.compile(
    r"(?<![\w.])[-+]?(?>(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?|(?:infinity|inf|nan)\b)",
    re.IGNORECASE,
)
# Behind a number there may be a unit, as in "2.5s", but no more digits, as in "1_000".
_GLUED = re.compile(r"[\w.,]*\d|(?<=0)x[\da-f]", re.IGNORECASE)
_TERMINAL = re.compile(r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
"""Colours and other orders to a terminal."""
_JSON_START = re.compile(r"^[ \t]*(?=[{[])", re.MULTILINE)
_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


class ProgramError(Exception):
    """A program failed to give a value; the text says how."""


class TrialTimeout(ProgramError):  # noqa: N818 - so it is called where workers are stopped
    """A program took too long and was stopped."""


class Program:
    """An objective that runs a program and reads the value from what it prints.

    A study works with a copy of its own, which it closes at its end; so the same program serves
    any number of studies.

    Example:
        >>> import sys, hillbandit as hb
        >>> from hillbandit.program import Program
        >>> code = "import sys; x = int(sys.argv[1]); print('loss:', (x - 3) ** 2)"
        >>> with Program([sys.executable, "-c", code, "{x}"]) as loss:
        ...     result = hb.minimize(loss, hb.Space({"x": range(6)}), budget=6, seed=1)
        >>> result.recommended.config, result.recommended.mean
        ({'x': 3}, 0.0)

    Args:
        command: The program and its arguments. `{gene}` stands for a gene's value (its position in
            a space without names), `{seed}` for the trial's seed, `{{` and `}}` for braces. True,
            False and None become true, false and null.
        regex: Where the value is: the last match in the output, or its first group if it has one.
            By default the last number printed; it may have a unit behind it, but one that is a part
            of something else, such as 1,234.5 or 0x1F, is none.
        json_key: The key under which the value is in the JSON object printed last, which begins on
            a line of its own; dots lead into objects within it.
        timeout: Seconds after which the program is stopped, with all that it has started.

    Raises:
        TypeError: If the command is one string: the arguments are told apart by the caller.
        ValueError: If the command is empty, a brace stands alone, the program itself has a
            placeholder, the regular expression is none, or both `regex` and `json_key` are given.
    """

    external = True
    """A program has a process of its own already: a study runs it from a thread."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        regex: str | None = None,
        json_key: str | None = None,
        timeout: float | None = None,
    ) -> None:
        if isinstance(command, str):
            raise TypeError("The command is a list: the program, then each argument by itself.")
        if not command or not command[0]:
            raise ValueError("The command is empty: name a program.")
        if regex is not None and json_key is not None:
            raise ValueError("The value is found by a regular expression or a JSON key, not both.")
        self.command = tuple(command)
        self.placeholders = [name for word in self.command for name in _names(word)]
        if _names(self.command[0]):
            raise ValueError(
                f"The program {self.command[0]!r} has a placeholder: genes choose arguments, not "
                "which program runs."
            )
        try:
            self._regex = None if regex is None else re.compile(regex)
        except re.error as error:
            raise ValueError(f"{regex!r} is not a regular expression: {error}.") from None
        self.regex = regex
        self.json_key = json_key
        self.timeout = timeout
        self._begin()

    def _begin(self) -> None:
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._closed = False
        self._guard: Guard | None = None

    def check(self, space: Space) -> list[str]:
        """Hold the command against a space and this machine, before an evaluation is spent.

        Returns:
            The genes that the command does not use.

        Raises:
            ValueError: If a placeholder is no gene, or there is no such program.
        """
        genes = [str(space.label(gene)) for gene in range(len(space))]
        for name in self.placeholders:
            if name not in genes and name != "seed":
                raise ValueError(
                    f"{{{name}}} in the command is no gene; the genes are {', '.join(genes)}. "
                    "A brace that is meant as such is written twice."
                )
        if shutil.which(self.command[0]) is None:
            raise ValueError(f"There is no program {self.command[0]!r} that can be run.")
        return [gene for gene in genes if gene not in self.placeholders]

    def __call__(self, config: Config, seed: int | None = None) -> float:
        """Run the program once and return the value it prints.

        Args:
            config: The configuration, for the placeholders.
            seed: For `{seed}`, unless a gene has that name.

        Raises:
            TrialTimeout: If it takes longer than `timeout`.
            ProgramError: If it cannot be started, ends with an exit code other than 0, or prints
                no value.
        """
        arguments = self.arguments(config, seed)
        # files in place of pipes: a child that outlives the program cannot keep us waiting
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            code = self._run(arguments, out, err)
            output = _tail(out, OUTPUT_BYTES)
            if code != 0:
                raise _failure(self.command[0], code, _tail(err, LAST_WORDS))
        return self.value_of(output)

    def arguments(self, config: Config, seed: int | None = None) -> list[str]:
        """Fill in the placeholders; each word of the command stays one argument.

        Example:
            >>> from hillbandit.program import Program
            >>> Program(["sim", "--speed={speed}", "{{}}"]).arguments({"speed": "1; rm x"})
            ['sim', '--speed=1; rm x', '{}']

        Args:
            config: The configuration.
            seed: The trial's seed.

        Raises:
            ProgramError: If a placeholder is no gene.
        """
        genes = config if isinstance(config, Mapping) else _by_position(config)
        values = {"seed": seed} | {name: _plain(value) for name, value in genes.items()}

        def filled(match: re.Match[str]) -> str:
            name = match.group(1)
            if name is None:
                return match.group()[0]
            if values.get(name) is None:
                raise ProgramError(f"There is no value for {{{name}}} in the command.")
            return str(values[name])

        return [_PLACEHOLDER.sub(filled, word) for word in self.command]

    def value_of(self, output: str) -> float:
        r"""Find the value in what the program printed.

        Example:
            >>> from hillbandit.program import Program
            >>> Program(["sim"]).value_of("round 1: 0.5\nround 2: 0.25 points")
            0.25
            >>> Program(["sim"], json_key="score.mean").value_of('{"score": {"mean": 3}}')
            3.0

        Args:
            output: The text; colours in it are passed over.

        Raises:
            ProgramError: If it is not there.
        """
        output = _TERMINAL.sub("", output)
        if self.json_key is not None:
            return _json_value(output, self.json_key)
        if self._regex is None:
            return _last_number(output)
        found = None
        for found in self._regex.finditer(output):  # noqa: B007 - the last one counts
            pass
        if found is None:
            raise ProgramError(f"Nothing it printed matches {self.regex!r}: {_excerpt(output)}.")
        text = found.group(1) if found.re.groups else found.group()
        try:
            return float(text)
        except (TypeError, ValueError):
            raise ProgramError(f"{self.regex!r} found {text!r}, which is no number.") from None

    def close(self) -> None:
        """Stop every run of the program that is under way; no more can be begun."""
        with self._lock:
            self._closed = True
            for process in self._running:
                _kill(process)
            if self._guard is not None:
                self._guard.close()
                self._guard = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        # what is running stays here: a copy, for a study or for another machine, is fresh
        own = ("_running", "_lock", "_closed", "_guard")
        return {name: value for name, value in self.__dict__.items() if name not in own}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._begin()

    def _run(self, arguments: list[str], out: IO[bytes], err: IO[bytes]) -> int:
        with self._lock:
            if self._closed:
                raise ProgramError("It was not run: the study is over.")
            if self._guard is None:
                self._guard = Guard()
            try:
                process = subprocess.Popen(
                    arguments,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    start_new_session=True,  # so that all it starts can be stopped with it
                )
            except (OSError, ValueError) as error:
                raise ProgramError(f"{arguments[0]} cannot be started: {error}.") from None
            self._running.add(process)
            self._guard.watch(process.pid)
        try:
            if not _ended(process, self.timeout):
                raise TrialTimeout(f"it took longer than {self.timeout:g} seconds and was stopped")
        finally:
            with self._lock:
                # also after a good end: what it left behind would slow the evaluations to come
                _kill(process)
                if self._guard is not None:
                    self._guard.release(process.pid)
                code = process.wait()
                self._running.discard(process)
        return code


def load_function(address: str) -> Callable[..., Any]:
    """Import the function that `module:function` or `file.py:function` names.

    Example:
        >>> from hillbandit.program import load_function
        >>> load_function("math:fsum")([0.5, 0.25])
        0.75

    Args:
        address: A module, as `import` takes it (the working directory counts), or a Python file;
            a colon; the function, dots leading into classes and objects.

    Raises:
        ValueError: If there is no such module, file or function, or it cannot be imported.
    """
    where, _, name = address.rpartition(":")
    if not where or not name:
        raise ValueError(f"{address!r} is not of the form module:function or file.py:function.")
    try:
        module = _from_file(Path(where)) if where.endswith(".py") else _from_name(where)
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        raise ValueError(f"{where} cannot be imported ({what}).") from error
    found: Any = module
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            raise ValueError(f"There is no {name!r} in {where}.") from None
    if not callable(found):
        raise ValueError(f"{name!r} in {where} is no function, but {type(found).__name__}.")
    function: Callable[..., Any] = found
    return function


def names_function(word: str) -> bool:
    """Tell whether a word of the command line is meant as the address of a function."""
    where, _, name = word.rpartition(":")
    return bool(where) and all(part.isidentifier() for part in name.split("."))


def _from_file(path: Path) -> ModuleType:
    # its neighbours can be imported, as they can when the file is run by itself
    _search_first(path.resolve().parent)
    name = path.stem if path.stem not in sys.modules else f"objective_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path.resolve())
    if spec is None or spec.loader is None:
        raise ImportError("it is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where worker processes look for what is defined in it
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _from_name(name: str) -> ModuleType:
    _search_first(Path.cwd())
    return importlib.import_module(name)


def _search_first(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _names(word: str) -> list[str]:
    """List the placeholders of one word of a command."""
    found = []
    for match in _PLACEHOLDER.finditer(word):
        if match.group(1) is not None:
            found.append(match.group(1))
        elif len(match.group()) == 1:
            raise ValueError(
                f"{word!r} has a brace that belongs to no placeholder; a brace that is meant as "
                "such is written twice."
            )
    return found


def _by_position(config: Any) -> dict[str, Any]:
    return {str(position): value for position, value in enumerate(config.tolist())}


def _plain(value: Any) -> str:
    """Write a value as the file of a space does, text without its quotes."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return str(value)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a program and all that it has started, as far as that has stayed in its group."""
    if hasattr(os, "killpg"):
        # `_ended` did not reap it, so the number of its group cannot be somebody else's by now
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    elif process.poll() is None:
        process.kill()


def _ended(process: subprocess.Popen[bytes], timeout: float | None) -> bool:
    """Wait for the end of a process without reaping it; tell whether it came in time."""
    if not hasattr(os, "waitid"):
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout)
        return process.poll() is not None
    how = os.WEXITED | os.WNOWAIT
    if timeout is None:
        os.waitid(os.P_PID, process.pid, how)
        return True
    until, pause = time.monotonic() + timeout, 0.0005
    while os.waitid(os.P_PID, process.pid, how | os.WNOHANG) is None:
        left = until - time.monotonic()
        if left <= 0:
            return False
        pause = min(2 * pause, LONGEST_PAUSE, left)
        time.sleep(pause)
    return True


def _failure(program: str, code: int, words: str) -> ProgramError:
    if code < 0:
        try:
            how = f"was ended by {signal.Signals(-code).name}"
        except ValueError:
            how = f"was ended by signal {-code}"
    else:
        how = f"ended with exit code {code}"
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    error = ProgramError(f"{program} {how}" + (f": {lines[-1][:200]}" if lines else ""))
    if lines:
        error.add_note(f"The end of its standard error:\n{words}")
    return error


def _last_number(output: str) -> float:
    found = None
    for found in _NUMBER.finditer(output):  # noqa: B007 - the last one counts
        pass
    if found is None:
        raise ProgramError(f"It printed no number: {_excerpt(output)}.")
    start, end = found.span()
    listed = output[:start].endswith(",") and output[: start - 1][-1:].isdigit()
    if listed or _GLUED.match(output, end):
        raise ProgramError(
            "The last number it printed is a part of something else, and so there may be two "
            f"readings of it: {_excerpt(output[: end + 20])}. Say where the value is."
        )
    return float(found.group())


def _json_value(output: str, key: str) -> float:
    """Read a key of the last object; if that does not have it, an earlier one is another's."""
    decoder = json.JSONDecoder()
    last, at = None, 0
    while begins := _JSON_START.search(output, at):
        try:
            found, at = decoder.raw_decode(output, begins.end())
        except json.JSONDecodeError as torn:
            # what it has read so far belongs to something that is torn; it may break off anywhere
            at = max(begins.end() + 1, output.rfind("\n", 0, torn.pos) + 1)
            continue
        except RecursionError:
            at = begins.end() + NESTED  # at least so far it goes in, and out again never so soon
            continue
        last = found if isinstance(found, dict) else last
    if last is None:
        raise ProgramError(f"It printed no JSON object: {_excerpt(output)}.")
    try:
        value = last[key] if key in last else _inside(last, key)
    except KeyError:
        text = json.dumps(last)
        raise ProgramError(f"The last JSON it printed has no {key!r}: {_excerpt(text)}.") from None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ProgramError(f"{key!r} in the JSON it printed is {value!r}, which is no number.")
    return float(value)


def _inside(found: Any, key: str) -> Any:
    for part in key.split("."):
        if not isinstance(found, dict):
            raise KeyError(key)
        found = found[part]
    return found


def _tail(file: IO[bytes], size: int) -> str:
    end = file.seek(0, os.SEEK_END)
    file.seek(max(0, end - size))
    return file.read(size).decode("utf-8", errors="replace")


def _excerpt(output: str) -> str:
    text = " ".join(output.split())
    if not text:
        return "its output is empty"
    return f"it ends with {text[-80:]!r}"
