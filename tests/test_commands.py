"""The commands optimize, show and export, with real programs, kills and strangers' files."""

from __future__ import annotations

import csv
import io
import json
import logging
import os
import pickle
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

import hillbandit as hb
from hillbandit.cli import app
from hillbandit.live import LiveDisplay
from hillbandit.overview import Overview
from hillbandit.store import StudyError

SPACE = "[genes]\nspeed = { from = 1, to = 10 }\nlives = [1, 2, 3, 5]\n"
NOISY = """
import random, sys, time
speed, lives, seed = map(int, sys.argv[1:4])
time.sleep(float(sys.argv[4]) if len(sys.argv) > 4 else 0)
print("score:", (speed - 4) ** 2 + abs(lives - 3) + random.Random(seed).gauss(0, 0.5))
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "space.toml").write_text(SPACE)
    (tmp_path / "sim.py").write_text(NOISY)
    return tmp_path


def run(*words: str | Path) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words])


def words_for(budget: int, *options: str, pause: float = 0) -> list[str]:
    return [
        *["optimize", "--space", "space.toml", "--budget", str(budget), "--minimize"],
        *["--study", "tuning.db", "--noisy", "--seed", "1", *options, "--"],
        *[sys.executable, "-I", "-S", "sim.py", "{speed}", "{lives}", "{seed}", str(pause)],
    ]


def start(*words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "hillbandit", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def told(path: Path) -> int:
    try:
        with Overview(path) as overview:
            return overview.study.evaluations
    except StudyError:  # it is just being made
        return 0


def wait_until_told(path: Path, count: int) -> None:
    until = time.monotonic() + 30
    while told(path) < count:
        assert time.monotonic() < until
        time.sleep(0.02)


def evaluations(path: Path | str) -> list[tuple[Any, ...]]:
    with Overview(path) as overview:
        return [(e.status, e.number, e.genome.tolist(), e.value) for e in overview.evaluations()]


def one_sentence(result: Any) -> str:
    """Give the error, having seen that it is one line and no traceback."""
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1, result.stderr
    assert "Traceback" not in result.stderr
    text: str = lines[0]
    return text


# --- optimize -----------------------------------------------------------------------------------


def test_a_program_is_optimised_and_the_answer_printed_with_its_interval(folder: Path) -> None:
    result = run(*words_for(60, "--workers", "2"))
    assert result.exit_code == 0, result.stderr
    assert "Stopped: budget. 60 evaluations" in result.stdout
    assert "Recommended, minimising:\n  speed  4" in result.stdout
    assert "95 % interval" in result.stdout
    assert "hillbandit show tuning.db" in result.stdout
    assert told(folder / "tuning.db") == 60


@pytest.mark.usefixtures("folder")
def test_the_same_command_goes_on_where_the_study_was() -> None:
    assert run(*words_for(10)).exit_code == 0
    first = evaluations("tuning.db")
    result = run(*words_for(14))
    assert "has 10 evaluations" in result.stderr
    assert evaluations("tuning.db")[:10] == first
    assert len(evaluations("tuning.db")) == 14


@pytest.mark.usefixtures("folder")
def test_the_command_and_the_call_are_the_same_run() -> None:
    assert run(*words_for(12)).exit_code == 0
    space = hb.Space({"speed": range(1, 11), "lives": [1, 2, 3, 5]})

    def score(config: dict[str, int], seed: int) -> float:
        noise = random.Random(seed).gauss(0, 0.5)
        return (config["speed"] - 4) ** 2 + abs(config["lives"] - 3) + noise

    result = hb.minimize(score, space, 12, noisy=True, seed=1)
    ours = [value for _, _, _, value in evaluations("tuning.db")]
    assert ours == result.history.values.tolist()


def test_killed_in_the_middle_and_gone_on_is_the_same_run_as_straight(folder: Path) -> None:
    for _ in range(2):
        before = told(folder / "tuning.db")
        process = start(*words_for(16, pause=0.03))
        wait_until_told(folder / "tuning.db", before + 3)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert told(folder / "tuning.db") < 16
    assert run(*words_for(16, pause=0.03)).exit_code == 0
    interrupted = evaluations("tuning.db")
    (folder / "tuning.db").rename(folder / "interrupted.db")
    assert run(*words_for(16)).exit_code == 0
    assert evaluations("tuning.db") == interrupted
    assert len(interrupted) == 16


def test_a_second_writer_is_told_in_one_sentence_and_readers_are_welcome(folder: Path) -> None:
    process = start(*words_for(500, "--workers", "2", pause=0.05))
    try:
        wait_until_told(folder / "tuning.db", 4)
        second = run(*words_for(500))
        assert second.exit_code == 1
        assert f"is being written by process {process.pid}" in one_sentence(second)
        shown = run("show", "tuning.db")
        assert shown.exit_code == 0
        assert "Running:" in shown.stdout
        assert f"written by process {process.pid}" in shown.stdout
        assert "Leaders" in shown.stdout
        assert run("export", "tuning.db").stdout.startswith("number,status,value")
    finally:
        process.kill()
        process.communicate()
    assert "Interrupted after" in run("show", "tuning.db").stdout


def test_asked_to_end_it_says_what_it_knows_and_stops_its_programs(folder: Path) -> None:
    (folder / "slow.py").write_text(
        "import os, pathlib, sys, time\n"
        "if pathlib.Path('pid').exists(): print(sys.argv[1]); sys.exit()\n"
        "pathlib.Path('pid').write_text(f'{os.getpid()}\\n')\n"
        "time.sleep(600)\n"
    )
    process = start(
        *["optimize", "--space", "space.toml", "--budget", "4", "--workers", "2", "--seed", "1"],
        *["--study", "tuning.db", "--noisy", "--"],
        *[sys.executable, "-I", "-S", "slow.py", "{speed}", "{lives}"],
    )
    wait_until_told(folder / "tuning.db", 3)
    time.sleep(0.2)  # now it has nothing to do but wait for the last one
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Stopped: interrupted. 3 evaluations" in out
    assert "Recommended" in out
    assert not Path(f"/proc/{(folder / 'pid').read_text().strip()}").exists()
    shown = run("show", "tuning.db").stdout
    assert "Stopped after 3 evaluations: interrupted." in shown
    assert "in flight  1" in shown


def test_hangs_exit_codes_and_garbage_are_failures_and_the_rest_goes_on(folder: Path) -> None:
    (folder / "bad.py").write_text(
        "import sys, time\n"
        "speed = int(sys.argv[1])\n"
        "if speed == 1: sys.exit(3)\n"
        "if speed == 2: print('garbage'); sys.exit()\n"
        "if speed == 3: time.sleep(60)\n"
        "print(speed)\n"
    )
    (folder / "space.toml").write_text("[genes]\nspeed = [1, 2, 3, 4, 5]")
    result = run(
        *["optimize", "--space", "space.toml", "--timeout", "20", "--budget", "4", "--seed", "2"],
        *["--study", "tuning.db", "--trial-timeout", "0.5", "--retries", "1", "--noisy", "--"],
        *[sys.executable, "-I", "-S", "bad.py", "{speed}"],
    )
    assert result.exit_code == 0, result.stderr
    statuses = [status for status, _, _, _ in evaluations("tuning.db")]
    assert statuses.count("told") == 4
    with Overview("tuning.db") as overview:
        failed = [e for e in overview.evaluations() if e.status == "failed"]
        text = " ".join(e.error or "" for e in failed)
    assert len(failed) > 0
    assert "exit code 3" in text or "no number" in text or "longer than 0.5 seconds" in text
    assert result.stderr.count("failed:") == len(failed)


@pytest.mark.parametrize(
    ("code", "part"),
    [
        ("raise SystemExit(3)", "exit code 3"),
        ("print('garbage')", "printed no number"),
        ("import time; time.sleep(60)", "longer than 0.2 seconds"),
    ],
)
def test_a_study_in_which_everything_fails_ends_with_a_sentence(
    folder: Path, code: str, part: str
) -> None:
    (folder / "bad.py").write_text(code)
    result = run(
        *["optimize", "--space", "space.toml", "--budget", "9", "--max-failures", "2"],
        *["--trial-timeout", "0.2" if "sleep" in code else "20", "--study", "tuning.db", "--"],
        *[sys.executable, "-I", "-S", "bad.py", "{speed}", "{lives}"],
    )
    assert result.exit_code == 1
    last = result.stderr.strip().splitlines()[-1]
    assert last.startswith("No evaluation has succeeded")
    assert part in last
    assert "Traceback" not in result.stderr
    shown = run("show", "tuning.db")
    assert shown.exit_code == 0
    assert "failed     3" in shown.stdout


@pytest.mark.parametrize("address", ["objective.py:score", "objective:score"])
def test_functions_are_optimised_by_their_address(folder: Path, address: str) -> None:
    (folder / "objective.py").write_text(
        "def score(config):\n    return config['speed'] - abs(config['lives'] - 3)\n"
    )
    done = subprocess.run(
        [
            *[sys.executable, "-m", "hillbandit", "optimize", "--space", "space.toml"],
            *["--budget", "30", "--seed", "1", "--workers", "2", address],
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "speed  10" in done.stdout
    assert "lives  3" in done.stdout


@pytest.mark.usefixtures("folder")
def test_regex_json_key_target_and_confirm_work_from_the_command_line() -> None:
    code = "import sys; print('{\"score\": %s}' % sys.argv[1]); print('took 99 s')"
    base = ["optimize", "--space", "space.toml", "--budget", "40", "--seed", "1"]
    program = ["--", sys.executable, "-I", "-S", "-c", code.replace("{", "{{").replace("}", "}}")]
    program += ["{speed}", "{lives}"]
    by_key = run(*base, "--json-key", "score", "--target", "10", *program)
    assert "Stopped: target." in by_key.stdout, by_key.stderr
    by_regex = run(*base, "--regex", r"score\W+(\d+)", "--target", "10", *program)
    assert by_regex.stdout == by_key.stdout
    confirmed = run(*words_for(40, "--confirm", "0.3"))
    assert "fresh evaluations" in confirmed.stdout
    assert "fresh evaluations" in run("show", "tuning.db").stdout


@pytest.mark.parametrize(
    ("words", "code", "part"),
    [
        (["--budget", "3", "./none", "{speed}"], 2, "no program './none'"),
        (["--budget", "3", "--", sys.executable, "{sped}"], 2, "{sped} in the command is no gene"),
        ([sys.executable], 2, "--budget"),
        (["--budget", "3", "nowhere:f"], 1, "nowhere cannot be imported"),
        (["--budget", "3", "--regex", "x", "math:fsum"], 2, "--regex"),
        (["--budget", "0", "math:fsum"], 1, "at least 1"),
        (["--budget", "3", "--optimizer", "best", "math:fsum"], 1, "no optimiser 'best'"),
        (["--budget", "3", "--study", "no/where.db", "math:fsum"], 1, "no folder no"),
        (["--budget", "3", "--study", "space.toml", "math:fsum"], 1, "not a study file"),
        (["--budget", "3", "--confirm", "0.1", "math:fsum"], 1, "noisy"),
        (["--budget", "3", "--workers", "0", "math:fsum"], 1, "workers"),
    ],
)
def test_mistakes_are_told_in_one_sentence(
    folder: Path, words: list[str], code: int, part: str
) -> None:
    result = run("optimize", "--space", "space.toml", *words)
    assert result.exit_code == code
    assert part in one_sentence(result)
    assert folder.joinpath("space.toml").read_text() == SPACE


@pytest.mark.usefixtures("folder")
def test_a_gene_that_the_command_does_not_use_is_pointed_out() -> None:
    result = run(
        *["optimize", "--space", "space.toml", "--budget", "2"],
        *["--", sys.executable, "-c", "print(1)", "{speed}"],
    )
    assert result.exit_code == 0
    assert "does not use {lives}" in one_sentence(result)


def test_going_on_with_other_settings_is_refused(folder: Path) -> None:
    assert run(*words_for(2)).exit_code == 0
    other = [word if word != "--minimize" else "--maximize" for word in words_for(4)]
    assert "begun with maximizing=False" in one_sentence(run(*other))
    (folder / "space.toml").write_text("[genes]\nspeed = [1]\nlives = [2]")
    assert "searches another space" in one_sentence(run(*words_for(4)))


# --- the display --------------------------------------------------------------------------------


def states(count: int) -> list[hb.Progress]:
    found: list[hb.Progress] = []
    space = hb.Space({"[bold]x[/bold]": range(5), "y": ["\x1b[31mred", "b"]})
    hb.maximize(lambda _: 1.5, space, count, noisy=True, seed=1, callbacks=[found.append])
    return found


def test_the_live_display_shows_progress_the_best_speed_and_failures() -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=100, color_system=None)
    with LiveDisplay(console, 8) as display:
        for state in states(8):
            display(state)
        logging.getLogger("hillbandit").warning("trial 3 failed: %s", "bad\nnews")
    text = screen.getvalue()
    assert "8 of 8" in text
    assert "a second)" in text
    assert "mean 1.5" in text
    assert "[bold]x[/bold]=" in text
    assert "trial 3 failed: bad news" in text
    assert "\x1b[31m" not in text


def test_the_live_display_is_up_to_date_after_a_burst_and_while_nothing_ends() -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=100, color_system=None)
    with LiveDisplay(console, 8) as display:
        for state in states(4):  # together, and then nothing for long
            display(state)
        seen: list[str] = []
        deadline = time.monotonic() + 20
        while "0:02" not in "".join(seen):
            assert time.monotonic() < deadline
            time.sleep(0.1)
            seen = screen.getvalue().splitlines()
    assert [line for line in seen if "4 of 8" in line]


@pytest.mark.filterwarnings(
    "ignore:.*multi-threaded:DeprecationWarning"
)  # newer Pythons warn of a fork beside threads
def test_the_live_display_and_forked_workers_do_not_block_each_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("hillbandit.live.LIVE_SECONDS", 0.0)  # it draws nearly all of the time

    def chatty(genome: Any) -> float:
        sys.stderr.write("at work\n")
        if genome[0]:
            os._exit(1)  # so that there is a fork for many a trial
        return float(genome.sum())

    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=100, color_system=None)
    with LiveDisplay(console, 30) as display:
        result = hb.maximize(
            chatty,
            hb.Space.binary(6),
            30,
            optimizer="rmhc",
            noisy=True,
            seed=1,
            workers=2,
            retries=1,
            trial_timeout=30,
            callbacks=[display],
        )
    assert result.failures > 0
    assert "running" in screen.getvalue()


def test_where_there_is_no_terminal_a_line_comes_now_and_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("hillbandit.live.LINE_SECONDS", 0.0)
    screen = io.StringIO()
    with LiveDisplay(Console(file=screen, width=40), 3) as display:
        for state in states(3):
            display(state)
    lines = screen.getvalue().splitlines()
    assert len(lines) == 3
    assert lines[2].startswith("3 of 3 evaluations, ")
    assert "0 failed; best so far [bold]x[/bold]=" in lines[2]


# --- show and export ----------------------------------------------------------------------------


@pytest.fixture
def study(folder: Path) -> Path:
    path = folder / "two.db"
    space = hb.Space({"value": ["a,b", 'q"'], "x": [1.5, 2.0], "on": [False, True]})

    def score(config: dict[str, Any], seed: int) -> float:
        if seed % 7 == 0:
            raise ValueError("bad\nluck")
        return float(config["x"])

    for name in ("first", "second"):
        hb.maximize(score, space, 25, study=path, study_name=name, noisy=True, seed=1)
    return path


def test_show_prints_state_leaders_and_genes_in_order_of_urgency(study: Path) -> None:
    result = run("show", study, "--name", "second", "--leaders", "2")
    assert result.exit_code == 0, result.stderr
    assert "Stopped after 25 evaluations: budget." in result.stdout
    assert "told       25" in result.stdout
    leaders, genes = result.stdout.split("Leaders")[1].split("Genes")
    assert len(leaders.strip().splitlines()) == 4
    rows = [line.split() for line in genes.strip().splitlines()[2:]]
    urgencies = [float(row[0]) for row in rows]
    assert urgencies == sorted(urgencies, reverse=True)
    assert sorted(row[-1] for row in rows) == ["on", "value", "x"]
    with Overview(study, "second") as overview:
        best = max(overview.study.explain(), key=lambda gene: gene.urgency)
    assert rows[0][-1] == best.gene


def test_a_file_with_several_studies_asks_which(study: Path) -> None:
    for command in ("show", "export", "report"):
        result = run(command, study)
        assert result.exit_code == 1
        assert "('first', 'second'): say which with --name" in one_sentence(result)
        assert "no study 'third'" in one_sentence(run(command, study, "--name", "third"))


def test_export_writes_every_evaluation_as_csv_and_as_json_lines(study: Path) -> None:
    assert run("export", study, "--name", "first", "-o", study.parent / "x.csv").exit_code == 0
    with (study.parent / "x.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    lines = run("export", study, "--name", "first", "--format", "jsonl").stdout.splitlines()
    objects = [json.loads(line) for line in lines]
    with Overview(study, "first") as overview:
        ended = list(overview.evaluations())
        space = overview.study.space
    assert len(rows) == len(objects) == len(ended) > 25
    assert list(rows[0])[6:] == ["gene_value", "x", "on"]
    for row, item, truth in zip(rows, objects, ended, strict=True):
        config = space.decode(truth.genome)
        assert item["config"] == config
        assert [row["gene_value"], row["x"]] == [config["value"], str(config["x"])]
        assert item["status"] == row["status"] == truth.status
        assert item["value"] == truth.value == (float(row["value"]) if row["value"] else None)
        assert item["error"] == truth.error == (row["error"] or None)


def test_the_study_itself_is_never_overwritten(study: Path) -> None:
    before = study.read_bytes()
    for command in ("export", "report"):
        result = run(command, study, "--name", "first", "-o", study)
        assert result.exit_code == 1
        assert "is the study itself" in one_sentence(result)
    assert study.read_bytes() == before


def test_a_reader_that_has_seen_enough_is_no_error(study: Path) -> None:
    command = f"{sys.executable} -m hillbandit export {study} --name first | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("number,")
    assert "Traceback" not in done.stderr


# --- strangers ----------------------------------------------------------------------------------


class Payload:
    """Would touch a file if anything unpickled it."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch {self.target}",)


def test_a_study_file_from_a_stranger_runs_nothing_and_is_told_in_a_sentence(
    study: Path, tmp_path: Path
) -> None:
    owned = tmp_path / "owned"
    pickled = pickle.dumps(Payload(owned))
    code = f"__import__('os').system('touch {owned}')"
    texts = ["null", "[]", "{}", '"x"', "{", "[" * 100_000, pickled, json.dumps({"py": code})]
    columns = ["studies.definition", "snapshots.state", "events.genome", "events.detail"]
    output = {"report": ["-o", str(tmp_path / "r.html")]}
    original = study.read_bytes()
    for column in columns:
        table, field = column.split(".")
        for text in texts:
            study.write_bytes(original)
            with sqlite3.connect(study) as db:
                db.execute("DELETE FROM snapshots" if table == "events" else "SELECT 1")
                db.execute(f"UPDATE {table} SET {field} = ?", (text,))
            db.close()
            commands = ["show", "export"] + (["report"] if text == "{}" else [])
            for command in commands:
                result = run(command, study, "--name", "first", *output.get(command, []))
                assert result.exit_code in (0, 1)
                assert result.exception is None or isinstance(result.exception, SystemExit)
                if result.exit_code:
                    one_sentence(result)
    assert not owned.exists()


def test_going_on_with_a_study_that_has_no_definition_is_refused_in_a_sentence(
    folder: Path,
) -> None:
    assert run(*words_for(2, "--study", "s.db")).exit_code == 0
    with sqlite3.connect(folder / "s.db") as db:
        db.execute("UPDATE studies SET definition = '{}'")
    db.close()
    assert "not a study that can be read" in one_sentence(run(*words_for(4, "--study", "s.db")))


def leaves(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(data, dict):
        return [leaf for key, item in data.items() for leaf in leaves(item, (*path, key))]
    if isinstance(data, list):
        return [leaf for i, item in enumerate(data) for leaf in leaves(item, (*path, i))]
    return [path]


def test_no_single_wrong_entry_in_a_study_leads_to_a_traceback(study: Path) -> None:
    rng = random.Random(1)
    original = study.read_bytes()
    for _ in range(60):
        study.write_bytes(original)
        table, field = rng.choice([("studies", "definition"), ("snapshots", "state")])
        key = "id" if table == "studies" else "study"
        with sqlite3.connect(study) as db:
            (text,) = db.execute(f"SELECT {field} FROM {table} WHERE {key} = 1").fetchone()
            data = json.loads(text)
            *path, last = rng.choice(leaves(data))
            at = data
            for step in path:
                at = at[step]
            at[last] = rng.choice([None, -1, 10**30, "x", [], {}, 0.5, [[1]], True])
            db.execute(f"UPDATE {table} SET {field} = ? WHERE {key} = 1", (json.dumps(data),))
        db.close()
        result = run("show", study, "--name", "first")
        assert result.exception is None or isinstance(result.exception, SystemExit), (path, last)
        if result.exit_code:
            one_sentence(result)


@pytest.mark.usefixtures("folder")
def test_names_from_a_stranger_cannot_give_orders_to_the_terminal() -> None:
    space = hb.Space(
        {"\x1b]0;owned\x07\x1b[2J": ["[red]x[/red]", "\r\n\x9b31m"], "[link=x]y": [1, 2]}
    )
    hb.maximize(lambda _: 1.0, space, 3, study="s.db", study_name="\x1b[31m", seed=1)
    result = run("show", "s.db")
    assert result.exit_code == 0
    assert not {"\x1b", "\x07", "\r", "\x9b"} & set(result.stdout)
    assert "\\x1b]0;owned\\x07\\x1b[2J=" in result.stdout
    assert "[link=x]y=" in result.stdout


@pytest.mark.usefixtures("folder")
def test_a_file_that_is_no_study_is_told_in_one_sentence() -> None:
    for command in ("show", "export", "report"):
        assert "no study file none.db" in one_sentence(run(command, "none.db"))
        assert "not a study file" in one_sentence(run(command, "space.toml"))
