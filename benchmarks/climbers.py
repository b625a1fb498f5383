"""Compare the climbers, and measure every figure of docs/kalman.md.

    python benchmarks/climbers.py                      prints all tables (about half an hour)
    python benchmarks/climbers.py --write              also writes them to benchmarks/climbers.md
    python benchmarks/climbers.py hitting ablations    only some of them, likewise with --write
    python benchmarks/climbers.py --runs 5             a quick look: no table with more runs than 5

The tables: hitting, thousand, fixed, coverage, ablations, variants, cost, large, pbo. The last one
needs the extra hillbandit[ioh]. Run r of a row uses instance r of a random problem, the seed r, and
noise from a generator of its own, so a row is the same on every machine; only times are not.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import platform
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one core, and no threads for tiny products

import numpy as np
from numpy.typing import NDArray

import hillbandit as hb
from hillbandit.optimizers import kalman, kalman_filter
from hillbandit.optimizers.belief import DiagonalBelief, Forecast, Layout
from hillbandit.optimizers.kalman_filter import Filter
from hillbandit.problems import (
    BestValues,
    DeceptiveTrap,
    LeadingOnes,
    MaxThreeSat,
    NKLandscape,
    OneMax,
    Ordinal,
    Problem,
    RoyalRoad,
    WeightedLinear,
)

FILE = Path(__file__).with_suffix(".md")
GUIDE = Path(__file__).parent.parent / "docs" / "kalman.md"
"""It has the same tables, between two marks."""
MARKS = "<!-- the tables of benchmarks/climbers.md -->\n", "<!-- the end of the tables -->\n"
Value = Callable[[NDArray[np.int64]], float]
Make = Callable[[int], hb.Optimizer]


# --- what is compared -----------------------------------------------------------------------------


class WithoutCovariance(hb.KalmanClimber):
    """Variances only, as in large spaces."""

    def _new_belief(self) -> DiagonalBelief:
        return DiagonalBelief(Layout(self.space, whole=True))


class FixedSize(hb.KalmanClimber):
    """Mutations of up to n/2 genes throughout."""

    def _adapt(self, *_: object) -> None:
        self._L = self._n / 2


class SingleGenes(hb.KalmanClimber):
    """Mutations of one gene throughout."""

    def _adapt(self, *_: object) -> None:
        self._L = 1.0


class OneHalfRule(hb.KalmanClimber):
    """L doubles when a child is kept and halves when it is not, whatever the model said."""

    def _adapt(self, z: float, kept: bool, full: bool) -> None:
        del z
        if full or not kept:
            self._L = min(max(1.0, self._L * (2.0 if kept else 0.5)), max(1.0, self._n / 2))


class Certain(Filter):
    """A filter without process noise: nothing is forgotten, nothing widened."""

    def _widen(self, forecast: Forecast, k: int, excess: float) -> None:
        pass

    def forget(self, unit: float) -> None:
        """Forget nothing."""


class WithoutProcessNoise(hb.KalmanClimber):
    """What was learned once stays certain."""

    def _new_filter(self) -> Filter:
        return Certain(self._belief, self.noisy)


class WithoutKicks(hb.KalmanClimber):
    """A local optimum is where it stays."""

    def _at_local_optimum(self, mean: Any, sigma: Any) -> bool:
        del mean, sigma
        return False


ABLATIONS = {
    "KalmanClimber": hb.KalmanClimber,
    "without covariance": WithoutCovariance,
    "without adaptive L: n/2": FixedSize,
    "without adaptive L: 1": SingleGenes,
    "L by the one-half rule": OneHalfRule,
    "without process noise": WithoutProcessNoise,
    "without kicks": WithoutKicks,
}

# pairs are (noise-free, noisy)
VARIANTS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "TEMPER = (0.7, 0.7)": {"TEMPER": (0.7, 0.7)},
    "TEMPER = (1.4, 1.4)": {"TEMPER": (1.4, 1.4)},
    "L starts at 1 (FIRST = 0)": {"FIRST": (0.0, 0.0)},
    "L at most n (CAP = 1)": {"CAP": 1.0},
    "L follows losses slowly (DOWN = 0.4)": {"DOWN": 0.4},
    "L follows losses fast (DOWN = 1.2)": {"DOWN": 1.2},
    "SURPRISE = (9, 9)": {"SURPRISE": (9.0, 9.0)},
    "SURPRISE = (25, 25)": {"SURPRISE": (25.0, 25.0)},
    "EXCESS = (9, 4)": {"EXCESS": (9.0, 4.0)},
    "WIDEN = 1": {"WIDEN": 1.0},
    "WIDEN = 6": {"WIDEN": 6.0},
    "DIFFUSE = (0.01, 0.01)": {"DIFFUSE": (0.01, 0.01)},
    "DIFFUSE = (0.15, 0.15)": {"DIFFUSE": (0.15, 0.15)},
    "FLOOR = 0.005": {"FLOOR": 0.005},
    "MISFIT = 0": {"MISFIT": 0.0},
    "MISFIT = 0.2": {"MISFIT": 0.2},
}
"""Other constants of the climber and its filter."""


@dataclass
class Case:
    """A problem, random in its instances, and the noise on it."""

    label: str
    make: Callable[[int], Problem]
    sd: float = 0.0
    most: str = ""
    """What the goal was."""
    paper: str = ""
    """What the paper's bandit needs with its best r."""
    runs: int = 100


def noisy(cases: list[Case]) -> list[Case]:
    """Give the same problems with noise N(0, 1)."""
    return [Case(f"noisy {case.label}", case.make, 1.0) for case in cases]


def onemax(n: int, noisy: bool, most: str, paper: str) -> Case:
    """Make a row of the table of hitting times."""
    label = f"{'noisy ' if noisy else ''}OneMax {n:,}"
    return Case(label, lambda _: OneMax(n), float(noisy), most, paper)


HITTING = [
    onemax(100, False, "100", "100"),
    onemax(50, True, "100 (75)", "343"),
    onemax(100, True, "200 (150)", "851"),
    onemax(200, True, "400 (300)", "1,960"),
    Case("Royal Road 64, block 4", lambda _: RoyalRoad(64, 4), 0, "300", "302 ± 6"),
    Case("Royal Road 64, block 8", lambda _: RoyalRoad(64, 8), 0, "1,200 (900)", "2,986"),
    Case("noisy Royal Road 64, block 4", lambda _: RoyalRoad(64, 4), 1, "600", "unsolved"),
    Case("noisy Royal Road 64, block 8", lambda _: RoyalRoad(64, 8), 1, "7,000", "unsolved"),
    Case("LeadingOnes 64", lambda _: LeadingOnes(64), 0, "620", "622"),
    onemax(500, True, "1,000 (750)", "5,650"),
]
THOUSAND = [
    onemax(1000, False, "1,000", "1,000"),
    onemax(1000, True, "2,000 (1,500)", "12,100"),
]

PLAIN = [
    Case("NK 64, K = 1", lambda run: NKLandscape(64, 1, seed=run)),
    Case("NK 64, K = 2", lambda run: NKLandscape(64, 2, seed=run)),
    Case("NK 64, K = 4", lambda run: NKLandscape(64, 4, seed=run)),
    Case("MAX-3-SAT 100", lambda run: MaxThreeSat(100, seed=run)),
    Case("linear 100, 4 decades", lambda run: WeightedLinear(100, seed=run)),
    Case("trap 60, blocks of 5", lambda _: DeceptiveTrap(60, 5)),
    Case("best values 50, m = 3", lambda run: BestValues(50, 3, seed=run)),
    Case("best values 50, m = 5", lambda run: BestValues(50, 5, seed=run)),
    Case("best values 30, m = 10", lambda run: BestValues(30, 10, seed=run)),
    Case("ordinal 50, m = 5", lambda run: Ordinal(50, 5, seed=run)),
]
FIXED = [case for pair in zip(PLAIN, noisy(PLAIN), strict=True) for case in pair]
ABLATED = [
    *HITTING[:2],
    HITTING[3],
    *HITTING[4:7],
    HITTING[8],
]
COVERED = [*noisy([Case("OneMax 50", lambda _: OneMax(50)), *PLAIN]), HITTING[7]]
LOOKS = (5, 20)


# --- running --------------------------------------------------------------------------------------


class Progress:
    """One line that says what is running and when it will be done."""

    def __init__(self, title: str, steps: int) -> None:
        self.title, self.steps, self.done, self.began = title, steps, 0, perf_counter()

    def step(self, label: str) -> None:
        """Show that one more run is done."""
        self.done += 1
        spent = perf_counter() - self.began
        left = spent / self.done * (self.steps - self.done)
        text = f"{self.title} {self.done}/{self.steps}, about {left:.0f} s left: {label}"
        end = "\n" if self.done == self.steps else ""
        print(f"\r{text:<99.99}", end=end, file=sys.stderr, flush=True)


def evaluations(optimizer: hb.Optimizer, value: Value, sd: float, run: int) -> Iterator[int]:
    """Ask and tell for ever; yield the number of evaluations after each."""
    noise = np.random.default_rng([run, 1])
    while True:
        try:
            trial = optimizer.ask()
        except hb.Exhausted:
            return
        told = value(trial.genome)
        optimizer.tell(trial, told + sd * noise.standard_normal() if sd else told)
        yield optimizer.evaluations


def hit(kind: Any, case: Case, run: int, budget: int) -> int | None:
    """Count the evaluations until the genome climbed from is the optimum."""
    problem = case.make(run)
    optimizer = kind(problem.space, noisy=case.sd > 0, seed=run)
    for count in evaluations(optimizer, problem.true_value, case.sd, run):
        if problem.is_solved(optimizer.current):
            return count
        if count >= budget:
            return None
    return None


def looks(make: Make, value: Value, sd: float, run: int, at: list[int]) -> list[hb.Recommendation]:
    """Collect what is recommended after some numbers of evaluations."""
    optimizer = make(run)
    found: list[hb.Recommendation] = []
    for count in evaluations(optimizer, value, sd, run):
        if count == at[len(found)]:
            found.append(optimizer.recommend())
            if len(found) == len(at):
                return found
    return found + [optimizer.recommend()] * (len(at) - len(found))


def climbers(space: hb.Space, sd: float) -> dict[str, list[Make]]:
    """List the climbers, under noise those of the paper with both of its usual r."""

    def with_r(kind: Any) -> list[Make]:
        if not sd:
            return [lambda run: kind(space, seed=run)]
        return [
            lambda run: kind(space, resamples=1, seed=run),
            lambda run: kind(space, resamples=2, seed=run),
        ]

    return {
        "RMHC": with_r(hb.RMHC),
        "BanditRMHC": with_r(hb.BanditRMHC),
        "(1+1)-EA": with_r(hb.OnePlusOneEA),
        "KalmanClimber": [lambda run: hb.KalmanClimber(space, noisy=sd > 0, seed=run)],
    }


def mean_and_error(values: list[float]) -> tuple[float, float]:
    """Give a mean and its standard error."""
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")
    return float(np.mean(values)), spread / len(values) ** 0.5


def comparison(
    progress: Progress, label: str, sd: float, n: int, runs: int, make: Callable[[int], Any]
) -> str:
    """Make a row: the true value of what each climber recommends after 5·n and 20·n evaluations.

    `make(run)` gives a space and the function that evaluates a genome without noise.
    """
    best: dict[str, list[NDArray[np.float64]]] = {}
    space, _ = make(0)
    for name, variants in climbers(space, sd).items():
        for variant in variants:
            values = np.empty((len(LOOKS), runs))
            for run in range(runs):
                _, value = make(run)
                found = looks(variant, value, sd, run, [look * n for look in LOOKS])
                values[:, run] = [value(recommended.genome) for recommended in found]
                progress.step(f"{label}, {name}")
            # the best r at each budget, which favours those that have one
            pairs = zip(best.get(name, values), values, strict=True)
            best[name] = [max(pair, key=lambda look: float(look.mean())) for pair in pairs]
    cells = [label]
    for look in range(len(LOOKS)):
        top = max((result[look] for result in best.values()), key=lambda true: float(true.mean()))
        for result in best.values():
            mean, error = mean_and_error(result[look].tolist())
            behind, doubt = mean_and_error((top - result[look]).tolist())
            text = f"{mean:.2f} ± {error:.2f}"
            cells.append(text if behind > 2 * doubt else f"**{text}**")
    return f"| {' | '.join(cells)} |"


def comparison_head(what: str) -> list[str]:
    """Make the head of such a table."""
    names = list(climbers(hb.Space.binary(1), 0.0))
    columns = [f"{name}, {look}·n" for look in LOOKS for name in names]
    return [f"| {what} | {' | '.join(columns)} |", "| --- |" + " ---: |" * len(columns)]


# --- the tables -----------------------------------------------------------------------------------


def hitting(most: int) -> Iterator[str]:
    """Measure how many evaluations it takes until the current genome is the optimum."""
    yield from hitting_times(HITTING, most)


def thousand(most: int) -> Iterator[str]:
    """Measure the same of the largest problems."""
    yield from hitting_times(THOUSAND, most)


def hitting_times(cases: list[Case], most: int) -> Iterator[str]:
    """Make a table of the evaluations until the optimum."""
    intro = (
        "Evaluations until `current` is the optimum, mean ± standard error over as many runs as "
        "the last column says; a run fails at 1000·n evaluations. The third column is published "
        "or our re-run of the paper's algorithm."
    )
    progress = Progress("hitting", sum(min(most, case.runs) for case in cases))
    lines = [
        "| problem | goal (aim) | paper's bandit, best r | KalmanClimber | per n | solved |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for case in cases:
        n = len(case.make(0).space)
        runs = min(most, case.runs)
        times = []
        for run in range(runs):
            times.append(hit(hb.KalmanClimber, case, run, 1000 * n))
            progress.step(case.label)
        solved = [float(time) for time in times if time is not None]
        mean, error = mean_and_error(solved)
        lines.append(
            f"| {case.label} | {case.most} | {case.paper} | {mean:,.1f} ± {error:.1f} "
            f"| {mean / n:.2f} | {len(solved)} of {runs} |"
        )
        yield "\n".join([intro, "", *lines])


def fixed(most: int) -> Iterator[str]:
    """Compare what the climbers recommend after 5·n and 20·n evaluations."""
    runs = min(most, 30)
    intro = (
        "The true value of `recommend()` after 5·n and 20·n evaluations, mean ± standard error "
        f"over {runs} runs, each on an instance of its own. Under noise the first three have their "
        "best r of 1 and 2, chosen in hindsight for each figure. All have the same instances. In "
        "bold: the highest, and what is behind it by no more than two standard errors of the "
        "difference between runs on the same instance."
    )
    progress = Progress("fixed", runs * len(PLAIN) * (4 + 7))
    lines = comparison_head("problem")
    for case in FIXED:

        def make(run: int, case: Case = case) -> Any:
            problem = case.make(run)
            return problem.space, problem.true_value

        n = len(case.make(0).space)
        lines.append(comparison(progress, case.label, case.sd, n, runs, make))
        yield "\n".join([intro, "", *lines])


def coverage(most: int) -> Iterator[str]:
    """Measure how often the recommendation's interval holds the true value."""
    runs = min(most, 40)
    budgets = (2, 5, 20)
    progress = Progress("coverage", runs * len(COVERED))
    lines = [
        "| problem | "
        + " | ".join(f"covers, {b}·n | half width | error (rms) | by samples" for b in budgets)
        + " |",
        "| --- |" + " ---: |" * 12,
    ]
    total: list[float] = []

    def intro() -> str:
        return (
            f"The share of {runs} runs in which the 95 % interval of `recommend()` holds the true "
            "value, the interval's mean half width, the error of its mean, and the share of runs "
            "in which the answer comes from samples and not from the model. "
            f"Over all cells: {np.mean(total):.3f}; the lowest is {np.min(total):.2f}."
        )

    for case in COVERED:
        rows: list[list[tuple[bool, float, float, bool]]] = [[] for _ in budgets]
        for run in range(runs):
            problem = case.make(run)
            n = len(problem.space)

            def make(run: int, problem: Problem = problem) -> hb.Optimizer:
                return hb.KalmanClimber(problem.space, noisy=True, seed=5000 + run)

            found = looks(make, problem.true_value, case.sd, run, [b * n for b in budgets])
            for row, best in zip(rows, found, strict=True):
                true = problem.true_value(best.genome)
                inside = best.low <= true <= best.high
                half = (best.high - best.low) / 2
                row.append((inside, half, (best.mean - true) ** 2, best.basis == "samples"))
            progress.step(case.label)
        cells = []
        for row in rows:
            inside, half, square, samples = np.mean(np.array(row, dtype=float), axis=0)
            total.append(inside)
            cells.append(f"{inside:.2f} | {half:.2f} | {square**0.5:.2f} | {samples:.2f}")
        lines.append(f"| {case.label} | {' | '.join(cells)} |")
        yield "\n".join([intro(), "", *lines])


@contextlib.contextmanager
def constants(values: dict[str, Any]) -> Iterator[None]:
    """Let the climber have other constants for a while."""
    homes = {name: kalman if hasattr(kalman, name) else kalman_filter for name in values}
    usual = {name: getattr(home, name) for name, home in homes.items()}
    try:
        for name, home in homes.items():
            setattr(home, name, values[name])
        yield
    finally:
        for name, home in homes.items():
            setattr(home, name, usual[name])


def ablations(most: int) -> Iterator[str]:
    """Take away one part at a time."""
    return changed("ablations", min(most, 20), {name: (k, {}) for name, k in ABLATIONS.items()})


def variants(most: int) -> Iterator[str]:
    """Change one constant at a time."""
    rows = {name: (hb.KalmanClimber, values) for name, values in VARIANTS.items()}
    return changed("variants", min(most, 20), rows)


def changed(
    name: str, runs: int, rows: dict[str, tuple[type[hb.KalmanClimber], dict[str, Any]]]
) -> Iterator[str]:
    """Tell how changes to the climber change its evaluations until the optimum."""
    intro = (
        f"Evaluations until `current` is the optimum, {runs} runs; a run fails at 50·n, and means "
        "are over those that did not, whose number stands in brackets."
    )
    progress = Progress(name, runs * len(ABLATED) * len(rows))
    lines = [
        "| | " + " | ".join(case.label for case in ABLATED) + " |",
        "| --- |" + " ---: |" * len(ABLATED),
    ]
    for label, (kind, values) in rows.items():
        cells = [label]
        for case in ABLATED:
            n = len(case.make(0).space)
            times = []
            for run in range(runs):
                with constants(values):
                    times.append(hit(kind, case, run, 50 * n))
                progress.step(f"{label}, {case.label}")
            solved = [float(time) for time in times if time is not None]
            text = "none"
            if len(solved) == 1:
                text = f"{solved[0]:,.0f}"
            elif solved:
                text = "{:,.0f} ± {:.0f}".format(*mean_and_error(solved))
            cells.append(text if len(solved) == runs else f"{text} [{len(solved)} of {runs}]")
        lines.append(f"| {' | '.join(cells)} |")
        yield "\n".join([intro, "", *lines])


def cost(_: int) -> Iterator[str]:
    """Measure what an evaluation costs besides the evaluation."""
    lengths = (10, 100, 1_000, 2_000, 10_000, 100_000)
    intro = (
        "Microseconds per ask + tell on one core, the least of many short blocks, the values told "
        f"being noise (Python {platform.python_version()}, NumPy {np.__version__}). Above 2,000 "
        "weights the belief keeps variances only."
    )
    progress = Progress("cost", len(lengths) * 3)
    lines = ["| n bits | noise-free | noisy | BanditRMHC, noisy |", "| ---: | ---: | ---: | ---: |"]
    for n in lengths:
        space = hb.Space.binary(n)
        cells = [f"{n:,}"]
        for optimizer in (
            hb.KalmanClimber(space, seed=1),
            hb.KalmanClimber(space, noisy=True, seed=1),
            hb.BanditRMHC(space, noisy=True, seed=1),
        ):
            rng = np.random.default_rng(1)
            blocks = []
            for block in range(300 if n <= 100 else 40):
                values = rng.standard_normal(20 if n <= 100 else 5).tolist()
                began = perf_counter()
                for value in values:
                    optimizer.tell(optimizer.ask(), value)
                if block >= 5:
                    blocks.append((perf_counter() - began) / len(values) * 1e6)
            cells.append(f"{min(blocks):,.0f}")
            progress.step(f"n = {n:,}")
        lines.append(f"| {' | '.join(cells)} |")
        yield "\n".join([intro, "", *lines])


def large(most: int) -> Iterator[str]:
    """Compare with BanditRMHC where the belief keeps variances only."""
    plans = [(10_000, (0.25, 0.5, 1)), (100_000, (0.003, 0.006, 0.01))]
    runs = min(most, 1)
    progress = Progress("large", len(plans) * 3 * runs)
    intro = (
        "Noisy OneMax, N(0, 1): the share of ones in `current` after some evaluations, one run "
        "each (a random genome has 0.5)."
    )
    parts = []
    for n, budgets in plans:
        lines = [
            f"| n = {n:,} | " + " | ".join(f"{b:g}·n" for b in budgets) + " |",
            "| --- |" + " ---: |" * len(budgets),
        ]
        kinds: dict[str, tuple[Any, dict[str, Any]]] = {
            "BanditRMHC, r = 1": (hb.BanditRMHC, {"resamples": 1}),
            "BanditRMHC, r = 2": (hb.BanditRMHC, {"resamples": 2}),
            "KalmanClimber": (hb.KalmanClimber, {"noisy": True}),
        }
        for name, (kind, said) in kinds.items():
            found = []
            for run in range(runs):
                optimizer = kind(hb.Space.binary(n), seed=run, **said)
                values: list[float] = []
                for count in evaluations(optimizer, lambda g: float(g.sum()), 1.0, run):
                    if count == round(budgets[len(values)] * n):
                        values.append(float(optimizer.current.sum()) / n)
                        if len(values) == len(budgets):
                            break
                found.append(values)
                progress.step(f"n = {n:,}, {name}")
            shares = np.mean(found, axis=0)
            lines.append(f"| {name} | " + " | ".join(f"{share:.4f}" for share in shares) + " |")
        parts.append("\n".join(lines))
        yield "\n\n".join([intro, *parts])


def pbo(most: int) -> Iterator[str]:
    """Report on the PBO suite, on which nothing was tuned."""
    try:
        import ioh
    except ImportError:
        sys.exit('The table pbo needs the extra: pip install "hillbandit[ioh]"')
    runs, n = min(most, 10), 64
    names = {i: name for i, name in ioh.ProblemClass.PBO.problems.items() if i <= 23}
    intro = (
        f"The 23 base functions of the PBO suite of `ioh` {version('ioh')}, n = {n}, noise-free "
        f"and with N(0, 1): the true value of `recommend()`, {runs} runs on instance 1. "
        "Nothing was tuned on them: the table was run once with these constants. As above, the "
        "first three have their best r, and bold is what is not clearly behind the highest."
    )
    progress = Progress("pbo", runs * len(names) * (4 + 7))
    lines = comparison_head("function")
    space = hb.Space.binary(n)
    for i, name in sorted(names.items()):
        for sd in (0.0, 1.0):

            def make(run: int, i: int = i) -> Any:
                del run  # all runs are on the first instance, the function itself
                function = ioh.get_problem(i, 1, n, ioh.ProblemClass.PBO)
                return space, lambda genome: float(function(genome.tolist()))

            label = f"{'noisy ' if sd else ''}F{i} {name}"
            lines.append(comparison(progress, label, sd, n, runs, make))
            yield "\n".join([intro, "", *lines])


TABLES: dict[str, tuple[str, Callable[[int], Iterator[str]]]] = {
    "hitting": ("Evaluations until the optimum", hitting),
    "thousand": ("Evaluations until the optimum of 1,000 bits", thousand),
    "fixed": ("At fixed budgets", fixed),
    "coverage": ("The interval of the recommendation", coverage),
    "ablations": ("Ablations", ablations),
    "variants": ("Other constants", variants),
    "cost": ("Cost", cost),
    "large": ("Large n", large),
    "pbo": ("The PBO suite", pbo),
}


def sections() -> dict[str, str]:
    """Read the tables that were written before."""
    if not FILE.exists():
        return {}
    parts = FILE.read_text().split("\n## ")[1:]
    return {title: text.strip() for title, text in (part.split("\n", 1) for part in parts)}


def write(title: str, text: str) -> None:
    """Put a table into the file in place of what it had; done after each row, so none is lost."""
    written = sections() | {title: text}
    ordered = [title for title, _ in TABLES.values() if title in written]
    FILE.write_text(
        "# The climbers compared\n\n"
        "Made by `python benchmarks/climbers.py --write`, which can make single tables too, and "
        "with `--runs` fewer runs than its own numbers; each table says how many it has.\n\n"
        + "\n\n".join(f"## {title}\n\n{written[title]}" for title in ordered)
        + "\n"
    )
    before, rest = GUIDE.read_text().split(MARKS[0])
    _, after = rest.split(MARKS[1])
    tables = "".join(f"\n### {title}\n\n{written[title]}\n" for title in ordered)
    GUIDE.write_text(f"{before}{MARKS[0]}{tables}\n{MARKS[1]}{after}")


def main() -> None:
    """Make the tables that were asked for."""
    parser = argparse.ArgumentParser(description="Compare the climbers.")
    parser.add_argument(
        "tables", nargs="*", help=f"which of {', '.join(TABLES)}; all when left out"
    )
    parser.add_argument("--write", action="store_true", help=f"write them to {FILE.name}")
    parser.add_argument("--runs", type=int, default=1000, help="at most so many runs a cell")
    options = parser.parse_args()
    if unknown := [name for name in options.tables if name not in TABLES]:
        parser.error(f"there is no table {', '.join(unknown)}; there are {', '.join(TABLES)}")
    for name in options.tables or TABLES:
        title, make = TABLES[name]
        text = ""
        for text in make(options.runs):
            if options.write:
                write(title, text)
        print(f"## {title}\n\n{text}\n", flush=True)


if __name__ == "__main__":
    main()
