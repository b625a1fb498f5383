"""Spaces in TOML files: what they say, and that nothing in them runs."""

from __future__ import annotations

from pathlib import Path

import pytest

import hillbandit as hb
from hillbandit.space_file import read_space


def read(folder: Path, text: str) -> hb.Space:
    path = folder / "space.toml"
    path.write_text(text, encoding="utf-8")
    return read_space(path)


def test_lists_and_ranges_become_genes_in_the_order_of_the_file(tmp_path: Path) -> None:
    space = read(
        tmp_path,
        """
        [genes]
        speed = { from = 1, to = 10, step = 3 }
        name = ["a", "b"]
        shield = [false, true]
        rate = { from = 0.1, to = 0.5, step = 0.1 }
        down = { from = 3, to = 1, step = -1 }
        """,
    )
    assert space.names == ("speed", "name", "shield", "rate", "down")
    assert space.values == (
        (1, 4, 7, 10),
        ("a", "b"),
        (False, True),
        (0.1, 0.2, 0.3, 0.4, 0.5),
        (3, 2, 1),
    )


def test_a_range_without_a_step_goes_by_one(tmp_path: Path) -> None:
    assert read(tmp_path, "[genes]\nx = { from = -1, to = 1 }").values == ((-1, 0, 1),)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "[genes]"),
        ("[genes]", "[genes]"),
        ("genes = 3", "[genes]"),
        ("[genes\n", "not TOML"),
        ("[genes]\nx = 3", "'x' needs a list"),
        ("[genes]\nx = []", "'x' has no values"),
        ("[genes]\nx = [1, 1]", "twice"),
        ("[genes]\nx = [[1], [2]]", "strings, numbers and booleans"),
        ("[genes]\nx = [2026-01-01]", "strings, numbers and booleans"),
        ("[genes]\nx = { from = 1 }", "from, to and step"),
        ("[genes]\nx = { from = 1, to = 2, by = 1 }", "from, to and step"),
        ("[genes]\nx = { from = 1, to = 2, step = 0 }", "does not lead"),
        ("[genes]\nx = { from = 2, to = 1 }", "does not lead"),
        ("[genes]\nx = { from = 'a', to = 2 }", "needs numbers"),
        ("[genes]\nx = { from = 0, to = inf }", "finite"),
        ("[genes]\nx = { from = 0, to = 1e12 }", "more than 100,000"),
        ("[genes]\nx = { from = 0, to = 1e999999999 }", "more than 100,000"),
        ("[genes]\nx = [nan]", "NaN"),
        ("x = " + "[" * 5000, "not TOML"),
        ("x = " + "9" * 5000, "not TOML"),
    ],
)
def test_what_is_wrong_is_told_in_a_sentence(tmp_path: Path, text: str, part: str) -> None:
    with pytest.raises(ValueError, match=r"space\.toml") as caught:
        read(tmp_path, text)
    assert part in str(caught.value)


def test_a_missing_file_and_one_that_is_no_text_are_told_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cannot be read: No such file"):
        read_space(tmp_path / "none.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="not TOML"):
        read_space(tmp_path / "binary.toml")


def test_code_in_a_space_from_a_stranger_stays_text(tmp_path: Path) -> None:
    target = tmp_path / "owned"
    code = f"__import__('pathlib').Path({str(target)!r}).touch()"
    space = read(tmp_path, f'[genes]\n"{{{code}}}" = ["{code}", "$(touch {target})"]')
    assert space.values == ((code, f"$(touch {target})"),)
    assert not target.exists()
