"""Programs as objectives: real ones, good and bad."""

from __future__ import annotations

import json
import math
import pickle
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import hillbandit as hb
from hillbandit.program import (
    Program,
    ProgramError,
    TrialTimeout,
    load_function,
    names_function,
)

PYTHON = [sys.executable, "-I", "-S"]
NASTY = [
    "$(touch owned)",
    "`touch owned`",
    "; touch owned",
    "| touch owned",
    "&& touch owned",
    "> owned",
    "\"'",
    "a b\tc\nd",
    "*",
    "~",
    "%s %d {speed} {{}}",
    "--help",
    "",
    "ünï©ødé \U0001f600",
    "\\",
]


def script(folder: Path, code: str) -> list[str]:
    path = folder / "program.py"
    path.write_text(code, encoding="utf-8")
    return [*PYTHON, str(path)]


def alive(pid: int) -> bool:
    """Tell whether a process is there and not merely waiting to be buried."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


def gone(pid: int) -> bool:
    until = time.monotonic() + 5
    while alive(pid) and time.monotonic() < until:
        time.sleep(0.02)
    return not alive(pid)


def test_a_value_with_shell_characters_reaches_the_program_as_one_argument(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code = "import sys, json; json.dump(sys.argv[1:], open('seen.json', 'w')); print(1)"
    words = [f"{{gene{i}}}" for i in range(len(NASTY))] + [f"--x={{gene{i}}}!" for i in range(3)]
    program = Program([*script(tmp_path, code), *words])
    assert program({f"gene{i}": value for i, value in enumerate(NASTY)}) == 1
    expected = NASTY + [f"--x={value}!" for value in NASTY[:3]]
    assert json.loads((tmp_path / "seen.json").read_text()) == expected
    assert sorted(path.name for path in tmp_path.iterdir()) == ["program.py", "seen.json"]


def test_values_are_written_as_in_the_space_file() -> None:
    program = Program(["sim", "{a}", "{b}", "{c}", "{d}", "{seed}", "{{x}}"])
    config = {"a": True, "b": None, "c": 0.1, "d": -3}
    assert program.arguments(config, seed=7) == ["sim", "true", "null", "0.1", "-3", "7", "{x}"]
    assert Program(["sim", "{seed}"]).arguments({"seed": "mine"}, seed=7) == ["sim", "mine"]
    trial = hb.RMHC(hb.Space.binary(2), seed=1).ask()
    assert Program(["sim", "{0}{1}"]).arguments(trial.config) == [
        "sim",
        "".join(map(str, trial.genome.tolist())),
    ]


@pytest.mark.parametrize(
    ("output", "value"),
    [
        ("3", 3.0),
        ("round 1: 0.5\nround 2: -0.25\n", -0.25),
        ("score=1e-3 points.", 0.001),
        ("took 2.5s", 2.5),
        ("the end is 12.", 12.0),
        (".5", 0.5),
        ("+4.", 4.0),
        ("accuracy 97%", 97.0),
        ("value 7 on x86_64 with v2", 7.0),
        ("1.5\nmodel saved", 1.5),
        ("-inf", -math.inf),
        ("\x1b[32mscore \x1b[1;31m0.5\x1b[0m", 0.5),
        ("(1, 2.5)", 2.5),
        ("0.5, done", 0.5),
        ("2x", 2.0),
        ("0x1F\n7", 7.0),
    ],
)
def test_the_last_printed_number_is_the_value(output: str, value: float) -> None:
    assert Program(["sim"]).value_of(output) == value


@pytest.mark.parametrize(
    "output", ["3\ntotal 1,234.5", "3\n0x1F", "3\n0xff", "1_000", "1,234", "0.5,0.7", "1.2.3"]
)
def test_a_number_that_is_part_of_something_else_is_no_value(output: str) -> None:
    with pytest.raises(ProgramError, match="a part of something else"):
        Program(["sim"]).value_of(output)


def test_a_nan_is_not_passed_over_for_an_earlier_number() -> None:
    assert math.isnan(Program(["sim"]).value_of("epoch 3\nloss nan\n"))


def test_a_regular_expression_finds_the_value_by_its_last_match() -> None:
    output = "loss 1.5\nloss 0.5\nseconds 30"
    assert Program(["sim"], regex=r"loss (\S+)").value_of(output) == 0.5
    assert Program(["sim"], regex=r"\d+\.\d+").value_of(output) == 0.5
    with pytest.raises(ProgramError, match="matches"):
        Program(["sim"], regex=r"gain (\S+)").value_of(output)
    with pytest.raises(ProgramError, match="no number"):
        Program(["sim"], regex=r"(\w+) 30").value_of(output)
    with pytest.raises(ProgramError, match="no number"):
        Program(["sim"], regex=r"seconds|(\d+) minutes").value_of(output)


def test_a_json_key_finds_the_value_in_the_last_object() -> None:
    def found(output: str, key: str = "score") -> float:
        return Program(["sim"], json_key=key).value_of(output)

    assert found('{"score": 1}\nwarning: 3\n{"score": 2.5}\nsaved {"score": 9}\n') == 2.5
    assert found('loading\n{\n  "score": 4,\n  "by": [\n    {"score": 5}\n  ]\n}\ndone\n') == 4.0
    assert found('[\n{"score": 5}\n]\n\x1b[1m{"score": 6}\x1b[0m\n[1]\n') == 6.0
    assert found('{"score": 1}\n{"score": 2') == 1.0
    assert found('{"score": 1\n  {"score": 2}') == 2.0
    assert found('{\n  "score": 4\n}\n') == 4.0
    assert found('{"a": {"b": 5}}', "a.b") == 5.0
    assert found('{"a.b": 6, "a": {"b": 5}}', "a.b") == 6.0
    for output, part in [
        ("score 3", "no JSON object"),
        ("[3]", "no JSON object"),
        ('{"a": 1}', "no 'score'"),
        ('{"score": 1}\n{"time": 9}\n', "no 'score'"),
        ('{"score": 1}\n{\n  "time": {\n    "score": 9\n  }\n}\n', "no 'score'"),
        ('{"score": "3"}', "no number"),
        ('{"score": true}', "no number"),
        ("[" * 100_000, "no JSON object"),
        ("[\n" * 100_000, "no JSON object"),
        ('{"a": [\n{"score": 1},\n', "no JSON object"),
    ]:
        with pytest.raises(ProgramError, match=part):
            found(output)


@pytest.mark.parametrize(
    ("code", "part"),
    [
        ("import sys; sys.exit(3)", "ended with exit code 3"),
        ("import sys; print(5); sys.exit('out of fuel')", "exit code 1: out of fuel"),
        ("import os; os.kill(os.getpid(), 9)", "was ended by SIGKILL"),
        ("print('all is well')", "printed no number: it ends with 'all is well'"),
        ("pass", "its output is empty"),
        ("import sys; sys.stdout.buffer.write(b'\\xff\\xfe')", "printed no number"),
    ],
)
def test_a_program_that_fails_says_how(tmp_path: Path, code: str, part: str) -> None:
    with pytest.raises(ProgramError) as caught:
        Program(script(tmp_path, code))({})
    assert part in str(caught.value)


def test_what_a_failed_program_said_is_kept_with_the_error(tmp_path: Path) -> None:
    code = "import sys; print('line one', file=sys.stderr); sys.exit('line two')"
    with pytest.raises(ProgramError) as caught:
        Program(script(tmp_path, code))({})
    assert caught.value.__notes__ == ["The end of its standard error:\nline one\nline two\n"]


def test_a_program_that_cannot_be_started_is_a_failure(tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match="cannot be started"):
        Program([str(tmp_path / "none")])({})
    with pytest.raises(ProgramError, match="cannot be started"):
        Program([*PYTHON, "{x}"])({"x": "a\0b"})


def test_a_hanging_program_is_stopped_with_all_that_it_started(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    code = (
        "import os, subprocess, sys, time\n"
        "child = subprocess.Popen(['sleep', '60'])\n"
        f"open({str(pids)!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}')\n"
        "time.sleep(60)\n"
    )
    began = time.monotonic()
    with pytest.raises(TrialTimeout, match="longer than 1 seconds"):
        Program(script(tmp_path, code), timeout=1)({})
    assert time.monotonic() - began < 10
    assert all(gone(int(pid)) for pid in pids.read_text().split())


def test_what_a_program_leaves_running_neither_blocks_nor_survives(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    code = (
        "import subprocess\n"
        "child = subprocess.Popen(['sleep', '60'])\n"
        f"open({str(pid)!r}, 'w').write(str(child.pid))\n"
        "print(4)\n"
    )
    began = time.monotonic()
    assert Program(script(tmp_path, code))({}) == 4
    assert time.monotonic() - began < 10
    assert gone(int(pid.read_text()))


def test_closing_stops_what_runs_and_lets_nothing_begin(tmp_path: Path) -> None:
    started = tmp_path / "started"
    program = Program(script(tmp_path, f"import time; open({str(started)!r}, 'w'); time.sleep(60)"))
    errors: list[BaseException] = []

    def run() -> None:
        try:
            program({})
        except ProgramError as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    while not started.exists():
        time.sleep(0.01)
    program.close()
    thread.join(10)
    assert "SIGKILL" in str(errors[0])
    with pytest.raises(ProgramError, match="the study is over"):
        program({})


class Halved(Program):
    """A program with a reading of its own."""

    def value_of(self, output: str) -> float:
        return super().value_of(output) / 2


def test_a_program_serves_any_number_of_studies_and_stays_as_it_was(tmp_path: Path) -> None:
    space = hb.Space({"x": range(4)})
    with Halved([*script(tmp_path, "import sys; print(sys.argv[1])"), "{x}"]) as program:
        for _ in range(2):
            result = hb.maximize(program, space, 4, seed=1, workers=2, trial_timeout=20)
            assert (result.failures, result.recommended.mean) == (0, 1.5)
        assert program.timeout is None
        assert program({"x": 2}) == 1.0


def test_programs_do_not_outlive_a_study_that_is_killed(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    sleeper = script(
        tmp_path,
        f"import os, time; open({str(pid)!r}, 'w').write(f'{{os.getpid()}}\\n'); time.sleep(60)",
    )
    code = f"from hillbandit.program import Program; Program({sleeper!r})({{}})"
    process = subprocess.Popen([sys.executable, "-c", code])
    while not (pid.exists() and pid.read_text().endswith("\n")):
        time.sleep(0.01)
    assert alive(int(pid.read_text()))
    process.kill()
    process.wait()
    assert gone(int(pid.read_text()))


def test_a_program_can_be_sent_to_another_process(tmp_path: Path) -> None:
    program = Program(script(tmp_path, "print('value: 2')"), regex=r"value: (\d)", timeout=30)
    copy = pickle.loads(pickle.dumps(program))
    assert copy({}) == 2
    assert copy.timeout == 30


def test_a_command_is_held_against_the_space_before_it_runs() -> None:
    space = hb.Space({"x": [1, 2], "y": [1, 2]})
    assert Program([sys.executable, "{x}"]).check(space) == ["y"]
    assert Program([sys.executable, "{x}{y}{seed}"]).check(space) == []
    with pytest.raises(ValueError, match=r"\{z\} in the command is no gene; the genes are x, y"):
        Program([sys.executable, "{z}"]).check(space)
    with pytest.raises(ValueError, match="no program"):
        Program(["./no-such-program", "{x}{y}"]).check(space)


def test_a_wrong_command_is_refused_in_a_sentence() -> None:
    with pytest.raises(TypeError, match="is a list"):
        Program("./sim {x}")
    with pytest.raises(ValueError, match="empty"):
        Program([])
    with pytest.raises(ValueError, match="written twice"):
        Program(["awk", "{print $1"])
    with pytest.raises(ValueError, match="genes choose arguments, not which program runs"):
        Program(["./{x}"])
    with pytest.raises(ValueError, match="not a regular expression"):
        Program(["sim"], regex="(")
    with pytest.raises(ValueError, match="not both"):
        Program(["sim"], regex="x", json_key="x")


def test_failures_of_a_program_are_recorded_and_the_study_goes_on(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "x = int(sys.argv[1])\n"
        "if x == 0: sys.exit(3)\n"
        "if x == 1: print('garbage'); sys.exit()\n"
        "if x <= 3: print('nan'); sys.exit()\n"
        "print(x)\n"
    )
    space = hb.Space({"x": range(16)})
    with Program([*script(tmp_path, code), "{x}"]) as program:
        result = hb.maximize(
            program, space, budget=12, seed=1, trial_timeout=30, study=tmp_path / "s.db"
        )
    assert result.evaluations == len(result.history) == 12
    assert result.failures > 0
    assert result.history.values.min() >= 4
    assert result.recommended.mean == result.history.values.max()
    assert program.timeout is None  # the study's, and not the caller's


def test_the_time_of_a_trial_is_kept_by_the_program_of_a_study(tmp_path: Path) -> None:
    program = Program([*script(tmp_path, "import time, sys; time.sleep(60)"), "{x}"])
    with pytest.raises(hb.StudyError, match=r"it took longer than 0\.1 seconds and was stopped"):
        hb.maximize(
            program, hb.Space({"x": range(4)}), 4, seed=1, trial_timeout=0.1, max_failures=1
        )


def test_the_trials_seed_makes_a_random_program_repeatable(tmp_path: Path) -> None:
    code = "import random, sys; print(random.Random(int(sys.argv[1])).random())"
    space = hb.Space({"x": range(3)})

    def run() -> list[Any]:
        with Program([*script(tmp_path, code), "{seed}"]) as program:
            result = hb.maximize(program, space, budget=4, noisy=True, seed=5)
        return list(result.history.values)

    first = run()
    assert first == run()
    assert len(set(first)) == 4


def test_functions_are_loaded_from_modules_and_files_with_their_neighbours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "neighbour_of_objective.py").write_text("def double(x):\n    return 2 * x\n")
    (folder / "objective_file.py").write_text(
        "from neighbour_of_objective import double\n"
        "class Game:\n"
        "    @staticmethod\n"
        "    def score(config):\n"
        "        return double(config['x'])\n"
    )
    (tmp_path / "objective_module.py").write_text("def score(config):\n    return 3\n")
    assert load_function("folder/objective_file.py:Game.score")({"x": 2}) == 4
    assert load_function("objective_module:score")({}) == 3


@pytest.mark.parametrize(
    ("address", "part"),
    [
        ("no_such_module_anywhere:f", "No module named"),
        ("missing.py:f", "missing.py cannot be imported"),
        ("broken.py:f", "NameError: name 'undefined'"),
        ("math:nothing", "no 'nothing' in math"),
        ("math:pi", "is no function"),
        (":f", "not of the form"),
        ("math:", "not of the form"),
    ],
)
def test_a_function_that_cannot_be_loaded_is_told_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str, part: str
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.py").write_text("undefined\n")
    with pytest.raises(ValueError, match=r"\w") as caught:
        load_function(address)
    assert part in str(caught.value)
    assert "broken" not in sys.modules


def test_addresses_of_functions_are_told_from_programs() -> None:
    assert names_function("module:function")
    assert names_function("folder/file.py:Class.method")
    assert not names_function("./simulator")
    assert not names_function("host:8080")
    assert not names_function("./simulator:{x}")


def test_programs_do_not_wait_for_input(tmp_path: Path) -> None:
    assert Program(script(tmp_path, "import sys; print(len(sys.stdin.read()))"))({}) == 0
