"""The guide to studies: its files and commands, run as they are printed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

GUIDE = Path(__file__).parent.parent / "docs" / "studies.md"


def test_every_file_and_command_of_the_guide_works_as_printed(tmp_path: Path) -> None:
    blocks = re.findall(r"```(\w+)\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    # the interpreter and the command of this environment come first, as in an activated one
    folder = Path(sys.executable).parent
    environment = os.environ | {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    ran = []
    for language, text in blocks:
        if language == "toml":
            (tmp_path / "space.toml").write_text(text)
        elif language == "python":
            name = text.splitlines()[0].removeprefix("# ")
            (tmp_path / name).write_text(text)
        else:
            for line in text.splitlines():
                done = subprocess.run(
                    line.split(),
                    cwd=tmp_path,
                    env=environment,
                    capture_output=True,
                    text=True,
                    check=False,
                )
                assert done.returncode == 0, (line, done.stderr)
                ran.append((line, done.stdout))
    outputs = [out for line, out in ran if "optimize" in line]
    assert [out.count("Recommended, ") for out in outputs] == [1, 1, 1]
    assert "Stopped: target." in outputs[1]
    assert "fresh evaluations" in outputs[2]
    assert (tmp_path / "report.html").stat().st_size > 1_000_000
    assert len((tmp_path / "tuning.jsonl").read_text().splitlines()) == 20
