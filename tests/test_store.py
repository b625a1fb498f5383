from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hillbandit as hb
from hillbandit.overview import Overview
from hillbandit.store import Event, Store

SPACE = hb.Space({"x": range(-5, 6), "y": range(-5, 6), "name": ["a", "b"]})


def bowl(config: dict[str, Any]) -> float:
    return float((config["x"] - 2) ** 2 + (config["y"] + 1) ** 2 + (config["name"] == "a"))


def test_events_come_back_as_they_were_written(tmp_path: Path) -> None:
    store = Store(tmp_path / "a.db")
    study = store.create("one", {"anything": [1, 2.5, None]})
    assert study is not None
    assert store.create("one", {}) is None
    events = [
        Event("ask", 0, [1, 2, 3]),
        Event("tell", 0, value=-1.25, worker="me"),
        Event("fail", 1, detail={"error": "no", "traceback": "tb", "retry": True}),
    ]
    store.append(study, 0, events)
    store.append(study, 3, [Event("stop", detail={"reason": "budget"})])
    read = list(store.events(study))
    assert [seq for seq, _ in read] == [1, 2, 3, 4]
    assert [(e.kind, e.number, e.genome, e.value, e.detail) for _, e in read[:3]] == [
        (e.kind, e.number, e.genome, e.value, e.detail) for e in events
    ]
    assert abs(read[0][1].time - time.time()) < 60
    assert store.find("one") == (study, {"anything": [1, 2.5, None]})
    store.close()


def test_everything_in_the_file_is_a_number_or_json(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    hb.minimize(bowl, SPACE, budget=20, seed=1, study=path)
    db = sqlite3.connect(path)
    for (text,) in db.execute("SELECT definition FROM studies UNION SELECT state FROM snapshots"):
        json.loads(text)
    for genome, detail in db.execute("SELECT genome, detail FROM events"):
        assert genome is None or json.loads(genome)
        assert detail is None or json.loads(detail)
    kinds = [kind for (kind,) in db.execute("SELECT kind FROM events ORDER BY seq")]
    assert kinds == ["ask", "tell"] * 20 + ["stop"]
    assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    db.close()


def test_several_studies_live_in_one_file(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    low = hb.minimize(bowl, SPACE, budget=30, seed=1, study=path, study_name="low")
    high = hb.maximize(bowl, SPACE, budget=30, seed=1, study=path, study_name="high")
    with hb.Study.open(path, name="low", read_only=True) as study:
        assert study.recommend().config == low.recommended.config
        assert not study.maximizing
    with hb.Study.open(path, name="high", read_only=True) as study:
        assert study.recommend().config == high.recommended.config
    with pytest.raises(hb.StudyError, match=r"no study 'other' in .* \(it has 'low', 'high'\)"):
        hb.Study.open(path, name="other", read_only=True)


def test_a_study_is_read_by_its_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    result = hb.minimize(bowl, SPACE, budget=40, seed=1, study=path)
    with hb.Study.open(path, read_only=True) as study:
        assert study.space == SPACE
        assert study.evaluations == 40
        assert study.recommend().mean == result.recommended.mean
        assert study.best_observed.value == result.best_observed.value
        assert np.array_equal(study.history().genomes, result.history.genomes)
        assert [leader.mean for leader in study.leaders(3)] == sorted(
            set(result.history.values.tolist())
        )[:3] or len(study.leaders(3)) == 3
        with pytest.raises(hb.StudyError, match="open to read only"):
            study.run(bowl, budget=50)


@pytest.mark.parametrize(
    ("said", "says"),
    [
        ({"seed": 2}, "begun with seed=1, not 2"),
        ({"optimizer": "rmhc"}, "begun with optimizer='bandit_rmhc', not 'rmhc'"),
        ({"noisy": True}, "begun with noisy=False, not True"),
        ({"k": 0.7}, "begun with k=0.5, not 0.7"),
        ({"space": hb.Space.binary(3)}, "searches another space"),
    ],
)
def test_a_study_that_does_not_fit_is_refused(
    tmp_path: Path, said: dict[str, Any], says: str
) -> None:
    path = tmp_path / "a.db"
    hb.minimize(bowl, SPACE, budget=5, seed=1, study=path, optimizer="bandit_rmhc")
    arguments: dict[str, Any] = {"objective": bowl, "space": SPACE, "budget": 9, "study": path}
    arguments["optimizer"] = "bandit_rmhc"
    arguments |= said
    with pytest.raises(hb.StudyError, match=says):
        hb.minimize(**arguments)
    with pytest.raises(hb.StudyError, match="maximizing=False, not True"):
        hb.maximize(bowl, SPACE, 9, study=path, optimizer="bandit_rmhc")


def test_a_constrained_space_needs_its_predicate_to_go_on_but_not_to_be_read(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.db"
    space = hb.Space.binary(6, valid=lambda genome: bool(genome[0]))
    hb.maximize(hb.problems.OneMax(6), space, budget=6, seed=1, study=path)
    with pytest.raises(hb.StudyError, match="pass it as valid="):
        hb.Study.open(path)
    with hb.Study.open(path, read_only=True) as study:
        assert study.evaluations == 6
    with hb.Study.open(path, valid=lambda genome: bool(genome[0])) as study:
        assert study.run(hb.problems.OneMax(6), budget=8).evaluations == 8


def test_a_space_that_json_cannot_hold_gets_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(hb.StudyError, match="cannot be kept in a study file"):
        hb.maximize(lambda _: 0.0, hb.Space({"a": [(1, 2)]}), budget=1, study=tmp_path / "a.db")


def test_files_that_are_no_studies_get_a_sentence(tmp_path: Path) -> None:
    garbage = tmp_path / "garbage.db"
    garbage.write_bytes(os.urandom(5000))
    with pytest.raises(hb.StudyError, match="not a study file"):
        hb.Study.open(garbage, SPACE)
    other = tmp_path / "other.db"
    db = sqlite3.connect(other)
    db.execute("CREATE TABLE t (a)")
    db.commit()
    db.close()
    with pytest.raises(hb.StudyError, match="but not one of hillbandit's"):
        hb.Study.open(other, SPACE)
    with pytest.raises(hb.StudyError, match="There is no study file"):
        hb.Study.open(tmp_path / "missing.db", read_only=True)
    with pytest.raises(hb.StudyError, match="There is no folder"):
        hb.Study.open(tmp_path / "no" / "a.db", SPACE)


def test_a_file_of_another_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    hb.minimize(bowl, SPACE, budget=5, seed=1, study=path)
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(hb.StudyError, match="version 99 of the format"):
        hb.Study.open(path)


def test_a_truncated_file_is_refused_or_whole_but_never_half(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    hb.minimize(bowl, SPACE, budget=200, seed=1, study=path, duplicates="reevaluate")
    whole = path.read_bytes()
    rng = np.random.default_rng(1)
    refused = 0
    for cut in rng.integers(0, len(whole), size=40).tolist():
        copy = tmp_path / f"cut{cut}.db"
        copy.write_bytes(whole[:cut])
        with contextlib.suppress(hb.StudyError):
            refused += 1
            with hb.Study.open(copy, read_only=True) as study:
                assert study.evaluations == 200
                refused -= 1
    assert refused >= 30


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="it looks at Linux's open files")
@pytest.mark.parametrize(
    "damage",
    [
        "PRAGMA user_version = 99",
        "UPDATE studies SET definition = '{'",
        "UPDATE events SET genome = '[', detail = '[' WHERE seq > 1",
    ],
)
@pytest.mark.parametrize("reader", [hb.Study.open, Overview])
def test_a_study_that_is_refused_is_not_left_open(tmp_path: Path, damage: str, reader: Any) -> None:
    path = tmp_path / "a.db"
    hb.minimize(bowl, SPACE, budget=20, seed=1, study=path)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("DELETE FROM snapshots")
        db.execute(damage)
    # while the error is held, nothing that it refers to is collected
    with pytest.raises(hb.StudyError) as refused:
        reader(path)
    links = [link for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
    opened = [str(link.readlink()) for link in links]
    assert refused.value is not None
    assert [name for name in opened if name.startswith(str(path))] == []


@pytest.mark.parametrize("text", ["{}", "3", "[]", '"x"', '{"space": 3}', "[" * 100_000])
@pytest.mark.parametrize("column", ["studies.definition", "snapshots.state", "events.detail"])
def test_a_study_with_something_else_in_it_is_refused_in_a_sentence(
    tmp_path: Path, column: str, text: str
) -> None:
    path = tmp_path / "a.db"
    table, field = column.split(".")
    hb.minimize(bowl, SPACE, budget=5, seed=1, study=path)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        if table == "events":
            db.execute("DELETE FROM snapshots")
            db.execute("UPDATE events SET kind = 'confirm' WHERE kind = 'stop'")
        db.execute(f"UPDATE {table} SET {field} = ? WHERE {field} IS NOT NULL", (text,))
    for how in ({"read_only": True}, {}, {"space": SPACE, "seed": 1}):
        with pytest.raises(hb.StudyError, match=r"not a study that can be read|damaged"):
            hb.Study.open(path, **how).close()


def test_a_full_disk_is_a_sentence_and_what_was_written_is_safe(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    limit = 400_000
    code = (
        "import resource, signal, sys, hillbandit as hb\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))\n"
        "problem = hb.problems.OneMax(40)\n"
        "try:\n"
        f"    hb.maximize(problem, problem.space, 5000, seed=1, study={str(path)!r},\n"
        "                optimizer='bandit_rmhc', k=2.0, duplicates='reevaluate')\n"
        "except hb.StudyError as error:\n"
        "    print(error); sys.exit(7)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 7, done.stderr
    assert "the disk is full or failing. All that was written before is safe." in done.stdout
    problem = hb.problems.OneMax(40)
    options: dict[str, Any] = {"optimizer": "bandit_rmhc", "duplicates": "reevaluate", "k": 2.0}
    with hb.Study.open(path, read_only=True) as study:
        before = study.evaluations
    assert before > 50
    went_on = hb.maximize(problem, problem.space, before + 60, seed=1, study=path, **options)
    straight = hb.maximize(problem, problem.space, before + 60, seed=1, **options)
    assert np.array_equal(went_on.history.genomes, straight.history.genomes)


def test_a_second_writer_is_told_so_and_readers_are_welcome(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    code = (
        "import sys, hillbandit as hb\n"
        "from hillbandit.problems import OneMax\n"
        f"study = hb.Study.open({str(path)!r}, OneMax(20).space, seed=1)\n"
        "study.run(OneMax(20), budget=10)\n"
        "print('ready', flush=True); sys.stdin.read()\n"
    )
    writer = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout is not None
    assert writer.stdout.readline() == "ready\n"
    with pytest.raises(hb.StudyError, match=f"is being written by process {writer.pid} on"):
        hb.Study.open(path)
    with hb.Study.open(path, read_only=True) as study:
        assert study.evaluations == 10
    with hb.Study.open(path, hb.Space.binary(3), name="another"):
        pass  # another study in the same file has a writer of its own
    writer.kill()
    writer.communicate()
    with hb.Study.open(path) as study:
        assert study.run(hb.problems.OneMax(20), budget=12).evaluations == 12


def test_of_processes_that_begin_the_same_study_at_once_one_does_and_the_others_are_told(
    tmp_path: Path,
) -> None:
    code = (
        "import sys, hillbandit as hb\n"
        "path = sys.argv[1]\n"
        "print('ready', flush=True)\n"
        "for i in range(int(sys.argv[2])):\n"
        "    sys.stdin.readline()\n"
        "    try:\n"
        "        study = hb.Study.open(f'{path}{i}.db', hb.Space.binary(4), seed=1)\n"
        "        print('begun', flush=True)\n"
        "    except hb.StudyError as error:\n"
        "        print(error, flush=True)\n"
        "sys.stdin.read()\n"  # it keeps what it has until all have been heard
    )
    count, rounds = 4, 3
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path / "s"), str(rounds)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(count)
    ]

    def heard(process: subprocess.Popen[str]) -> str:
        assert process.stdout is not None
        return process.stdout.readline().strip()

    assert [heard(process) for process in processes] == ["ready"] * count
    for i in range(rounds):
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        said = [heard(process) for process in processes]
        assert said.count("begun") == 1, said
        winner = processes[said.index("begun")].pid
        told = f"The study 'study' in {tmp_path}/s{i}.db is being written by process {winner} on "
        assert all(word == "begun" or word.startswith(told) for word in said), said
    for process in processes:
        process.communicate()
