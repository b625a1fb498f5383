"""Freshly started processes: the same run, a light import, the command."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import hillbandit as hb

RUN = """
import hillbandit as hb
space = hb.Space({"name": ["ann", "bob", "cy"], "x": range(20), "on": [False, True]})
def score(config, seed):
    return len(config["name"]) * config["x"] + config["on"] + (seed % 1000) / 500
for kind in ("rmhc", "bandit_rmhc", "one_plus_one"):
    for noisy in (False, True):
        result = hb.maximize(score, space, budget=60, optimizer=kind, noisy=noisy, seed=11)
        print(result, result.history.genomes.tolist(), result.history.values.tolist())
"""


def python(*args: str, **env: str) -> str:
    return subprocess.run(
        [sys.executable, *args],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_the_same_seed_in_two_processes_with_different_hash_seeds_is_the_same_run() -> None:
    first = python("-c", RUN, PYTHONHASHSEED="1")
    assert first == python("-c", RUN, PYTHONHASHSEED="2")
    assert first.count("Result after 60 evaluations") == 6


def test_the_core_imports_numpy_and_nothing_else() -> None:
    code = "import hillbandit, sys; print(*sorted({m.split('.')[0] for m in sys.modules}))"
    loaded = set(python("-c", code).split())
    extras = {"numba", "scipy", "matplotlib", "typer", "rich", "distributed", "dask", "pandas"}
    assert not loaded & extras
    assert "numpy" in loaded


def test_the_version_is_told_with_and_without_the_cli_extra(tmp_path: Path) -> None:
    expected = f"hillbandit {hb.__version__}\n"
    assert python("-m", "hillbandit", "--version") == expected
    assert python("-m", "hillbandit", "--version", "show") == expected
    assert "--version" in python("-m", "hillbandit", "--help")
    # a typer that cannot be imported stands for one that is not installed
    hide = (
        "import sys, importlib.util as u; find = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name == 'typer' else find(name, *a)\n"
        "import runpy; runpy.run_module('hillbandit', run_name='__main__')\n"
    )
    script = tmp_path / "hidden.py"
    script.write_text(hide)
    assert python(str(script), "--version") == expected
    failed = subprocess.run(
        [sys.executable, str(script), "anything"], capture_output=True, text=True, check=False
    )
    assert failed.returncode == 1
    assert failed.stderr.strip() == (
        'The command line needs the cli extra: pip install "hillbandit[cli]"'
    )
