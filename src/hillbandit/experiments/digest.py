"""Which code makes the runs: its digest keeps runs of different code apart."""

from __future__ import annotations

import hashlib
from pathlib import Path

PACKAGE = Path(__file__).parents[1]
CODE = (
    "space.py",
    "trial.py",
    "optimizers/*.py",
    "problems/*.py",
    "experiments/kernels.py",
    "experiments/plan.py",
    "experiments/readings.py",
    "experiments/simulation.py",
)
"""What decides, with a cell and a seed, what a run gives: all that `simulation` imports."""


def code_files(package: Path = PACKAGE) -> list[Path]:
    """List the files that decide what a run gives.

    Args:
        package: The folder of hillbandit.
    """
    return sorted(path for pattern in CODE for path in package.glob(pattern))


def code_digest(package: Path = PACKAGE) -> str:
    """Identify the code that makes the runs; it takes some milliseconds.

    Args:
        package: The folder of hillbandit.
    """
    digest = hashlib.sha256()
    for path in code_files(package):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(package).as_posix()} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()[:16]
