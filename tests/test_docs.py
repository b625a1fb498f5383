"""What the documentation shows is what happens."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import io
import pkgutil
import re
from pathlib import Path

import pytest

import hillbandit

ROOT = Path(__file__).parent.parent
MODULES = [
    module.name
    for module in pkgutil.walk_packages(hillbandit.__path__, "hillbandit.")
    if not module.name.endswith("__main__")
]


@pytest.mark.parametrize("name", MODULES)
def test_every_example_in_a_docstring_runs(name: str) -> None:
    results = doctest.testmod(importlib.import_module(name))
    assert results.failed == 0


def test_the_readme_example_prints_what_the_readme_says() -> None:
    text = (ROOT / "README.md").read_text()
    match = re.search(r"```python\n(.*?)```\n+prints\n+```text\n(.*?)```", text, re.DOTALL)
    assert match is not None
    code, shown = match.groups()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {})
    assert printed.getvalue() == shown
