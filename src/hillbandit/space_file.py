"""Spaces written down in a TOML file, for the command line. Nothing in such a file can run."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from hillbandit.space import Space

MOST_VALUES = 100_000
"""A range with more values than this is taken for a mistake."""


def read_space(path: str | os.PathLike[str]) -> Space:
    r"""Read a space from a TOML file.

    Example:
        >>> import tempfile, pathlib
        >>> from hillbandit.space_file import read_space
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "space.toml")
        ...     _ = path.write_text(
        ...         "[genes]\n"
        ...         "lives = [1, 2, 3, 5]\n"
        ...         "speed = { from = 0.5, to = 2.0, step = 0.5 }\n"
        ...     )
        ...     read_space(path)
        Space({'lives': [1, 2, 3, 5], 'speed': [0.5, 1.0, 1.5, 2.0]})

    Args:
        path: The file. Its table `[genes]` has, for each gene, a list of strings, numbers and
            booleans, or a range `{ from = 1, to = 10, step = 1 }` that includes both ends; the
            step is 1 if it is left out.

    Raises:
        ValueError: If it cannot be read or is not such a file.
    """
    file = Path(path)
    try:
        # decimals as they are written: 0.1 + 0.2 is 0.3 then
        data = tomllib.loads(file.read_text(encoding="utf-8"), parse_float=Decimal)
    except OSError as error:
        raise ValueError(f"The space file {file} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError, ArithmeticError) as error:
        raise ValueError(f"The space file {file} is not TOML: {error}.") from None
    genes = data.get("genes")
    if not isinstance(genes, dict) or not genes:
        raise ValueError(
            f"The space file {file} needs a table [genes] with a line for each gene, such as "
            "lives = [1, 2, 3]."
        )
    try:
        return Space({name: _values(name, said) for name, said in genes.items()})
    except (TypeError, ValueError) as error:
        raise ValueError(f"{file}: {error}") from None


def _values(name: str, said: Any) -> list[Any]:
    if isinstance(said, Mapping):
        return _range(name, said)
    if not isinstance(said, list):
        raise ValueError(
            f"Gene {name!r} needs a list of values or a range {{ from = 1, to = 10 }}, not {said}."
        )
    return [_value(name, value) for value in said]


def _value(name: str, value: Any) -> Any:
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, bool | int | str):
        return value
    raise ValueError(f"Gene {name!r} has the value {value}; use strings, numbers and booleans.")


def _range(name: str, said: Mapping[str, Any]) -> list[Any]:
    unknown = set(said) - {"from", "to", "step"}
    if unknown or not {"from", "to"} <= set(said):
        raise ValueError(
            f"The range of gene {name!r} has from, to and step, not {', '.join(said)}."
        )
    ends = [said["from"], said["to"], said.get("step", 1)]
    for number in ends:
        if isinstance(number, bool) or not isinstance(number, int | Decimal):
            raise ValueError(f"The range of gene {name!r} needs numbers, not {number!r}.")
        if isinstance(number, Decimal) and not number.is_finite():
            raise ValueError(f"The range of gene {name!r} needs finite numbers, not {number}.")
    first, last, step = ends
    try:
        wrong_way = step == 0 or (last - first) * step < 0
        # compared before it is divided: a number from a stranger may have a million digits
        too_many = abs(last - first) > MOST_VALUES * abs(step)
    except ArithmeticError:
        wrong_way, too_many = False, True
    if wrong_way:
        raise ValueError(f"The range of gene {name!r} does not lead from {first} to {last}.")
    if too_many:
        raise ValueError(f"The range of gene {name!r} has more than {MOST_VALUES:,} values.")
    count = int((last - first) // step) + 1
    return [_value(name, first + step * i) for i in range(count)]
