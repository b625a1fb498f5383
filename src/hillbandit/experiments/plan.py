"""The experiments as data: which cells there are, and which of them a plan runs.

A *cell* is one setting that is run many times: a point of a figure. Its runs are numbered from 0,
and the seed of a run comes from the plan's seed, the cell and that number alone. So it does not
matter when or where a run is made, and 30 repeats are the first 30 of 100.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

BUDGET = 1000
"""Evaluations that a run may spend, in multiples of n."""
REPEATS = 100
LARGEST_N = 65_535
"""The kernels number genes in 16 bits."""

ALGORITHMS = ("rmhc", "bandit_rmhc")
ONEMAX_N = tuple(range(50, 1001, 50))
ROYAL_ROAD_N = (64, 128, 256, 512, 1024)
BLOCKS = (2, 4, 8, 16, 32)
RESAMPLES = (1, 2, 3, 4, 5, 10)

NAMES = {
    "onemax": "1. OneMax without noise",
    "noisy-onemax": "2. OneMax under noise",
    "royal-road": "3. Royal Road without noise",
    "noisy-royal-road": "4. Royal Road under noise",
    "readings": "5. Readings of the urgency",
    "endings": "6. Where runs end",
    "theory": "7. Theory",
}
"""The experiments, in the order of their numbers."""

READINGS = ("published", "printed", "no reverse credit", "logarithm per gene")
WEIGHTS = (0.125, 0.25, 1.0, 2.0)
"""Values of k that the readings table tries beside the published one."""
EXPLORATION = (1.0, 2.0, 4.0, 8.0, 16.0)
"""Values of k with which the bandit is tried on noisy Royal Road."""
CHECKPOINTS = {10: (10, 20, 50, 100, 200, 500), 50: (50, 100, 200, 400, 700, 1000, 1500)}
"""For each n of experiment 6 the evaluations after which a run is looked at."""


class Refused(ValueError):  # noqa: N818 - it is an answer to a request, not a fault
    """What was asked for cannot be done; the text says why, in a sentence for the user."""


@dataclass(frozen=True, slots=True, order=True)
class Cell:
    """One setting, run many times."""

    problem: str
    algorithm: str
    noise_sd: float
    resamples: int
    block_size: int
    n: int
    reading: str = "published"
    k: float = 0.5
    checkpoints: tuple[int, ...] = ()
    """Where the run is looked at; empty for the first hit of the optimum within the budget."""

    @property
    def budget(self) -> int:
        """How many evaluations a run may spend."""
        return self.checkpoints[-1] if self.checkpoints else BUDGET * self.n

    @property
    def key(self) -> str:
        """Name the cell in a way that stays: seeds come from it."""
        text = (
            f"{self.problem}/{self.algorithm}/sd={self.noise_sd:g}/r={self.resamples}"
            f"/block={self.block_size}/n={self.n}"
        )
        if self.reading != "published" or self.k != 0.5:
            text += f"/{self.reading}/k={self.k:g}"
        if self.checkpoints:
            text += "/until=" + ",".join(map(str, self.checkpoints))
        return text

    @property
    def label(self) -> str:
        """Describe the cell to someone who is waiting for it."""
        parts = [f"{'OneMax' if self.problem == 'onemax' else 'Royal Road'} n={self.n}"]
        if self.problem == "royal_road":
            parts.append(f"block {self.block_size}")
        parts.append("RMHC" if self.algorithm == "rmhc" else "bandit")
        if self.noise_sd:
            parts.append(f"r={self.resamples}")
        if self.reading != "published":
            parts.append(self.reading)
        if self.k != 0.5:
            parts.append(f"k={self.k:g}")
        return " ".join(parts)

    def seed(self, root: int, run: int) -> int:
        """Derive the seed of one run.

        Example:
            >>> from hillbandit.experiments.plan import Cell
            >>> cell = Cell("onemax", "rmhc", 0.0, 1, 1, 50)
            >>> cell.seed(1, 0) == cell.seed(1, 0), cell.seed(1, 0) == cell.seed(1, 1)
            (True, False)

        Args:
            root: The plan's seed.
            run: The number of the run in the cell.

        Returns:
            An integer of 48 bits, which every reader of CSV and JSON keeps exactly.
        """
        digest = hashlib.sha256(f"{root}|{self.key}|{run}".encode()).digest()
        return int.from_bytes(digest[:6], "big")

    def as_dict(self) -> dict[str, Any]:
        """Write the cell in plain JSON types."""
        return {**asdict(self), "checkpoints": list(self.checkpoints)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Cell:
        """Read what `as_dict` wrote."""
        return cls(**{**data, "checkpoints": tuple(data["checkpoints"])})


@dataclass(frozen=True, slots=True)
class Task:
    """Some consecutive runs of one cell: what one worker does in one go."""

    cell: Cell
    first: int
    runs: int
    root: int


@dataclass(frozen=True, slots=True)
class Options:
    """What a user may choose; None is the paper's choice, or the thinned one with `quick`."""

    only: Sequence[str] | None = None
    repeats: int | None = None
    seed: int = 1
    n: Sequence[int] | None = None
    blocks: Sequence[int] | None = None
    resamples: Sequence[int] | None = None
    quick: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """The cells of each experiment, how often each is run, and the seed of it all."""

    cells: dict[str, tuple[Cell, ...]]
    repeats: int
    seed: int
    quick: bool = False
    distinct: tuple[Cell, ...] = field(init=False)
    """Every cell once, in the order of the experiments."""

    def __post_init__(self) -> None:
        every = dict.fromkeys(cell for cells in self.cells.values() for cell in cells)
        object.__setattr__(self, "distinct", tuple(every))


def make_plan(options: Options) -> Plan:
    """Choose the cells, after checking that what was asked for is possible.

    Example:
        >>> from hillbandit.experiments.plan import Options, make_plan
        >>> plan = make_plan(Options(only=["royal-road"], n=[64], blocks=[8]))
        >>> [cell.label for cell in plan.distinct]
        ['Royal Road n=64 block 8 RMHC', 'Royal Road n=64 block 8 bandit']

    Args:
        options: What the user chose.

    Raises:
        Refused: If an experiment is unknown, a number is out of range, or a block does not divide
            an n.
    """
    names = _experiments(options.only)
    quick = options.quick
    repeats = (20 if quick else REPEATS) if options.repeats is None else options.repeats
    _check("--repeats", [repeats], 1, 1_000_000)
    if options.seed < 0:
        raise Refused(f"--seed must not be negative; it is {options.seed}.")
    for what, values, highest in (
        ("--n", options.n, LARGEST_N),
        ("--blocks", options.blocks, LARGEST_N),
        ("--resamples", options.resamples, 10_000),
    ):
        if values is not None:
            _check(what, values, 1, highest)
    # a thinned grid still goes from small to large, or it could not bear the verdicts
    onemax_n = _chosen(options.n, (50, 100, 200, 500, 1000) if quick else ONEMAX_N)
    noisy_n = _chosen(options.n, (10, 50, 100, 200, 500, 1000) if quick else (10, *ONEMAX_N))
    road_n = _chosen(options.n, (64, 128, 256, 512) if quick else ROYAL_ROAD_N)
    noisy_road_n = _chosen(options.n, (64, 128) if quick else ROYAL_ROAD_N)
    blocks = _chosen(options.blocks, BLOCKS)
    resamples = _chosen(options.resamples, RESAMPLES)
    if {"royal-road", "noisy-royal-road"} & set(names):
        _check_blocks(blocks, road_n)
    makers: dict[str, Callable[[], Iterable[Cell]]] = {
        "onemax": lambda: _grid("onemax", (0.0,), (1,), (1,), onemax_n),
        "noisy-onemax": lambda: _grid("onemax", (1.0,), resamples, (1,), noisy_n),
        "royal-road": lambda: _grid("royal_road", (0.0,), (1,), blocks, road_n),
        "noisy-royal-road": lambda: _noisy_royal_road(options, blocks, noisy_road_n),
        "readings": lambda: _readings(READING_PROBLEMS[1:4:2] if quick else READING_PROBLEMS),
        "endings": lambda: _endings((1, 5) if quick else (1, 2, 5, 10)),
        "theory": lambda: (),
    }
    cells = {name: tuple(makers[name]()) for name in names}
    return Plan(cells, repeats, options.seed, quick)


def _experiments(only: Sequence[str] | None) -> list[str]:
    if only is None:
        return list(NAMES)
    known = list(NAMES)
    numbered = {str(number): name for number, name in enumerate(known, 1)}
    chosen = {numbered.get(name, name) for name in only}
    unknown = sorted(chosen - set(known))
    if unknown or not chosen:
        which = repr(unknown[0]) if unknown else "''"
        raise Refused(f"There is no experiment {which}; there are {', '.join(known)}, or 1 to 7.")
    return [name for name in known if name in chosen]


def _check(what: str, values: Sequence[int], lowest: int, highest: int) -> None:
    if not values:
        raise Refused(f"{what} needs at least one number.")
    for value in values:
        if not lowest <= value <= highest:
            raise Refused(f"{what} must be between {lowest} and {highest:,}; {value} is not.")


def _check_blocks(blocks: Sequence[int], road_n: Sequence[int]) -> None:
    for n in road_n:
        for block in blocks:
            if n % block:
                raise Refused(
                    f"A Royal Road of {n} bits has no blocks of {block}: {block} does not divide "
                    f"{n}. Choose others with --n and --blocks, or leave it out with --only."
                )


def _chosen(values: Sequence[int] | None, default: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted(set(default if values is None else values)))


def _grid(
    problem: str,
    noise: Iterable[float],
    resamples: Sequence[int],
    blocks: Sequence[int],
    sizes: Sequence[int],
) -> Iterable[Cell]:
    for sd in noise:
        for algorithm in ALGORITHMS:
            for block in blocks:
                for r in resamples:
                    for n in sizes:
                        yield Cell(problem, algorithm, sd, r, block, n)


def _noisy_royal_road(
    options: Options, blocks: Sequence[int], sizes: Sequence[int]
) -> Iterable[Cell]:
    """RMHC with r = 1 on the whole grid, as archived; the rest on the smaller n.

    And for the question why the bandit does not solve it: the same with other weights k.
    """
    small = sizes if options.n is not None else [n for n in sizes if n <= 256]
    resamples = _chosen(options.resamples, (1, 2, 5, 10))
    archived = [Cell("royal_road", "rmhc", 1.0, 1, block, n) for block in blocks for n in sizes]
    if 1 in resamples:
        yield from archived
    for cell in _grid("royal_road", (1.0,), resamples, blocks, small):
        if cell not in archived:
            yield cell
    if options.n is None and options.blocks is None and options.resamples is None:
        for r in (1, 2):
            for k in EXPLORATION:
                yield Cell("royal_road", "bandit_rmhc", 1.0, r, 4, 64, k=k)


READING_PROBLEMS = (
    Cell("onemax", "bandit_rmhc", 0.0, 1, 1, 100),
    Cell("royal_road", "bandit_rmhc", 0.0, 1, 8, 64),
    Cell("onemax", "bandit_rmhc", 1.0, 1, 1, 100),
    Cell("onemax", "bandit_rmhc", 1.0, 2, 1, 100),
    Cell("onemax", "bandit_rmhc", 1.0, 10, 1, 100),
)
"""The settings in which experiment 5 tries each reading."""


def reading_variants() -> tuple[tuple[str, float], ...]:
    """List the readings of experiment 5 as pairs of name and k."""
    return (*((reading, 0.5) for reading in READINGS), *(("published", k) for k in WEIGHTS))


def _readings(problems: Sequence[Cell]) -> Iterable[Cell]:
    for reading, k in reading_variants():
        for cell in problems:
            yield replace(cell, reading=reading, k=k)


def _endings(resamples: Sequence[int]) -> Iterable[Cell]:
    for n, checkpoints in CHECKPOINTS.items():
        for algorithm in ALGORITHMS:
            for r in resamples:
                yield Cell("onemax", algorithm, 1.0, r, 1, n, checkpoints=checkpoints)
