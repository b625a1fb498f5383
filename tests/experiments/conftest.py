from __future__ import annotations

import pytest

from hillbandit.experiments.simulation import compile_kernels


@pytest.fixture(scope="session", autouse=True)
def compiled() -> None:
    """Fill the compiler's cache first, so that no time limit has to allow for it."""
    compile_kernels()
