"""The figures of the paper, drawn from our runs, with the published points over ours."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullFormatter

from hillbandit import theory
from hillbandit.experiments.colours import ALGORITHM_COLOURS, block_colour, resamples_colour
from hillbandit.experiments.plan import Cell
from hillbandit.experiments.results import (
    ENDING_COLUMNS,
    Results,
    best_resamples,
    ending_values,
    exploration_cells,
)
from hillbandit.experiments.statistics import published_results
from hillbandit.experiments.tables import write_whole

ALGORITHM_NAMES = {"rmhc": "RMHC", "bandit_rmhc": "Bandit RMHC"}
THEORY_UP_TO = 10_000
"""The expectations under noise are drawn up to this n."""
MARKERS = "osD^vP*X"
STYLE: dict[Any, Any] = {
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e4e4e4",
    "legend.frameon": False,
    "legend.fontsize": 8.0,
    "svg.hashsalt": "hillbandit",  # the same picture is the same file
    "figure.facecolor": "white",
}

Draw = Callable[[Results], Figure]
_PLAIN = FuncFormatter(lambda x, _: f"{x:g}")


def draw_all(results: Results, folder: Path) -> dict[str, Path]:
    """Draw the figures of the plan's experiments, as PNG and SVG; remove those of others.

    Args:
        results: What to draw.
        folder: Where the files go.

    Returns:
        For each figure, by its name, the path of its SVG; the PNG is beside it.
    """
    drawings: dict[str, tuple[str, Draw]] = {
        "onemax": ("onemax", onemax),
        "noisy_onemax": ("noisy-onemax", noisy_onemax),
        "royal_road": ("royal-road", royal_road),
        "noisy_royal_road": ("noisy-royal-road", noisy_royal_road),
        "ending_quality": ("endings", lambda r: endings(r, quality=True)),
        "ending_share": ("endings", lambda r: endings(r, quality=False)),
        "theory": ("theory", theory_figure),
    }
    folder.mkdir(parents=True, exist_ok=True)
    paths = {}
    with mpl.rc_context(STYLE):
        for name, (experiment, draw) in drawings.items():
            if experiment not in results.plan.cells:
                for suffix in (".png", ".svg"):
                    (folder / (name + suffix)).unlink(missing_ok=True)
                continue
            figure = draw(results)
            # the layout takes longer than the drawing: once is enough for both files
            figure.draw_without_rendering()
            figure.set_layout_engine("none")
            for suffix, metadata in ((".png", {}), (".svg", {"Date": None})):
                paths[name] = folder / (name + suffix)
                write_whole(paths[name], _saver(figure, metadata))
    return paths


def _saver(figure: Figure, metadata: dict[str, None]) -> Callable[[Path], None]:
    return lambda part: figure.savefig(part, dpi=130, metadata=metadata)


# --- parts of figures ---------------------------------------------------------------------------


def _series(
    axes: Axes,
    results: Results,
    cells: Iterable[Cell],
    colour: str,
    marker: str = "o",
    per_gene: bool = False,
) -> set[str]:
    """Draw our means with bands of one standard error, and the published points over them.

    Points where some runs failed are hollow: a mean over the solved runs is biased low there.

    Returns:
        What was drawn: "ours", "published", both or nothing.
    """
    cells = sorted(cells, key=lambda cell: cell.n)
    points = [(cell, results.summaries[cell]) for cell in cells]
    solved = [(cell, summary) for cell, summary in points if summary.mean is not None]
    published = {row.cell: row for row in published_results()}
    x = [cell.n for cell, _ in solved]
    unit = [cell.n if per_gene else 1 for cell, _ in solved]
    mean = [(s.mean or 0.0) / u for (_, s), u in zip(solved, unit, strict=True)]
    error = [(s.standard_error or 0.0) / u for (_, s), u in zip(solved, unit, strict=True)]
    low = [m - e for m, e in zip(mean, error, strict=True)]
    high = [m + e for m, e in zip(mean, error, strict=True)]
    axes.plot(x, mean, color=colour, linewidth=1.4, zorder=2)
    axes.fill_between(x, low, high, color=colour, alpha=0.22, linewidth=0, zorder=1)
    for complete in (True, False):
        chosen = [i for i, (_, s) in enumerate(solved) if (s.solved == s.runs) == complete]
        axes.plot(
            [x[i] for i in chosen],
            [mean[i] for i in chosen],
            linestyle="none",
            marker=marker,
            markersize=4.5,
            markerfacecolor=colour if complete else "white",
            markeredgecolor=colour,
            zorder=3,
        )
    theirs = [published[cell] for cell in cells if cell in published]
    shown = [(row.cell.n, row.mean) for row in theirs if row.mean is not None]
    axes.plot(
        [n for n, _ in shown],
        [value / (n if per_gene else 1) for n, value in shown],
        linestyle="none",
        marker="x",
        color=_darker(colour),
        markersize=5.5,
        markeredgewidth=1.1,
        zorder=4,
    )
    return {name for name, drawn in (("ours", solved), ("published", shown)) if drawn}


def _missing(drawn: set[str]) -> str:
    """Say in the key what a series lacks."""
    if "ours" in drawn:
        return ""
    return " (published only)" if drawn else " (never solved)"


def _darker(colour: str) -> tuple[float, ...]:
    """Give the shade in which the published points of a series are drawn."""
    return tuple(0.45 * part for part in mpl.colors.to_rgb(colour))


def _axes(axes: Axes, title: str, per_gene: bool, log: bool, sizes: Sequence[int]) -> None:
    axes.set_title(title, loc="left")
    axes.set_xlabel("n (bits)")
    axes.set_ylabel("evaluations / n" if per_gene else "evaluations")
    # an axis of logarithms needs something on it
    log = log and any(np.size(line.get_xdata()) for line in axes.lines)
    if log:
        axes.set_yscale("log")
    if max(sizes) >= 8 * min(sizes) and len(sizes) <= 8:
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_locator(FixedLocator(sorted(set(sizes))))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.xaxis.set_major_formatter(_PLAIN)
    else:
        axes.set_xlim(left=0)
    if not log:
        axes.set_ylim(bottom=0)


def _key(figure: Figure, handles: Sequence[Line2D]) -> None:
    """Put the key below the figure, with the marks that all series share at its end."""
    common = [
        Line2D([], [], color="#555555", marker="o", markersize=4.5, label="ours ± standard error"),
        Line2D(
            [],
            [],
            color="#555555",
            marker="o",
            markerfacecolor="white",
            markersize=4.5,
            label="some runs unsolved (mean of the solved)",
        ),
        Line2D([], [], color="black", marker="x", linestyle="none", label="published"),
    ]
    every = [*handles, *common]
    figure.legend(handles=every, loc="outside lower center", ncols=min(5, len(every)))


def _handle(label: str, colour: str, marker: str = "o", style: Any = "-") -> Line2D:
    return Line2D([], [], color=colour, marker=marker, markersize=4.5, linestyle=style, label=label)


def _of(results: Results, experiment: str, **wanted: object) -> list[Cell]:
    """Choose the cells of an experiment that have these columns."""
    return [
        cell
        for cell in results.plan.cells.get(experiment, ())
        if all(getattr(cell, name) == value for name, value in wanted.items())
    ]


def _values(cells: Iterable[Cell], column: str) -> list[int]:
    return sorted({getattr(cell, column) for cell in cells})


# --- the figures --------------------------------------------------------------------------------


def onemax(results: Results) -> Figure:
    """Draw noise-free OneMax: evaluations, and evaluations over n, against n."""
    figure = Figure(figsize=(9, 4), layout="constrained")
    panels = figure.subplots(1, 2)
    sizes = _values(results.plan.cells["onemax"], "n")
    for axes, per_gene in zip(panels, (False, True), strict=True):
        for algorithm, colour in ALGORITHM_COLOURS.items():
            cells = _of(results, "onemax", algorithm=algorithm)
            _series(axes, results, cells, colour, per_gene=per_gene)
        _axes(axes, "OneMax without noise", per_gene, False, sizes)
    names = ALGORITHM_NAMES.items()
    _key(figure, [_handle(name, ALGORITHM_COLOURS[a]) for a, name in names])
    return figure


def noisy_onemax(results: Results) -> Figure:
    """Draw noisy OneMax: RMHC left, the bandit right; one series for each r, and noise-free."""
    figure = Figure(figsize=(10, 8), layout="constrained")
    panels = figure.subplots(2, 2)
    cells = results.plan.cells["noisy-onemax"]
    several = _values(cells, "resamples")
    sizes = _values([*cells, *results.plan.cells.get("onemax", ())], "n")
    for row, per_gene in enumerate((False, True)):
        for column, (algorithm, name) in enumerate(ALGORITHM_NAMES.items()):
            axes = panels[row, column]
            for marker, r in zip(_markers(several), several, strict=True):
                chosen = _of(results, "noisy-onemax", algorithm=algorithm, resamples=r)
                colour = resamples_colour(r, several)
                _series(axes, results, chosen, colour, marker, per_gene=per_gene)
            clean = _of(results, "onemax", algorithm=algorithm)
            if clean:
                _series(axes, results, clean, "#888888", ".", per_gene=per_gene)
            log = not (per_gene and algorithm == "bandit_rmhc")
            _axes(axes, f"{name}, OneMax with noise N(0,1)", per_gene, log, sizes)
    handles = [
        _handle(f"r = {r}", resamples_colour(r, several), marker)
        for marker, r in zip(_markers(several), several, strict=True)
    ]
    if "onemax" in results.plan.cells:
        handles.append(_handle("without noise", "#888888", "."))
    _key(figure, handles)
    return figure


def royal_road(results: Results) -> Figure:
    """Draw noise-free Royal Road: RMHC left, the bandit right; one series for each block size."""
    figure = Figure(figsize=(10, 8), layout="constrained")
    panels = figure.subplots(2, 2, sharey="row")
    cells = results.plan.cells["royal-road"]
    blocks = _values(cells, "block_size")
    drawn: dict[int, set[str]] = {block: set() for block in blocks}
    for row, per_gene in enumerate((False, True)):
        for column, (algorithm, name) in enumerate(ALGORITHM_NAMES.items()):
            axes = panels[row, column]
            for marker, block in zip(_markers(blocks), blocks, strict=True):
                chosen = _of(results, "royal-road", algorithm=algorithm, block_size=block)
                colour = block_colour(block, blocks)
                drawn[block] |= _series(axes, results, chosen, colour, marker, per_gene)
            _axes(axes, f"{name}, Royal Road without noise", per_gene, True, _values(cells, "n"))
    _key(
        figure,
        [
            _handle(f"block {block}{_missing(drawn[block])}", block_colour(block, blocks), marker)
            for marker, block in zip(_markers(blocks), blocks, strict=True)
        ],
    )
    return figure


def noisy_royal_road(results: Results) -> Figure:
    """Draw noisy Royal Road: RMHC as archived, who solves what, and the bandit's weight k."""
    figure = Figure(figsize=(12, 4.6), layout="constrained")
    left, middle, right = figure.subplots(1, 3, width_ratios=(1.15, 1.25, 0.8))
    cells = [cell for cell in results.plan.cells["noisy-royal-road"] if cell.k == 0.5]
    blocks, smallest = _values(cells, "block_size"), min(cell.n for cell in cells)
    r = min(cell.resamples for cell in cells)
    handles = []
    for marker, block in zip(_markers(blocks), blocks, strict=True):
        chosen = [
            c for c in cells if (c.algorithm, c.block_size, c.resamples) == ("rmhc", block, r)
        ]
        colour = block_colour(block, blocks)
        drawn = _series(left, results, chosen, colour, marker)
        handles.append(_handle(f"block {block}{_missing(drawn)}", colour, marker))
    _axes(left, f"RMHC, r = {r}, noise N(0,1)", False, True, _values(cells, "n"))
    _success_table(middle, results, [cell for cell in cells if cell.n == smallest])
    middle.set_title(f"Runs solved, n = {smallest} (%)", loc="left")
    _weights(right, results)
    _key(figure, handles)
    return figure


def _success_table(axes: Axes, results: Results, cells: Sequence[Cell]) -> None:
    """Show the share of runs solved for each algorithm and r (rows) and block size (columns)."""
    blocks = _values(cells, "block_size")
    rows = sorted({(c.algorithm != "rmhc", c.resamples, c.algorithm) for c in cells})
    by_place = {(c.algorithm, c.resamples, c.block_size): c for c in cells}
    shares = []
    for _, r, algorithm in rows:
        found = (results.summaries[by_place[algorithm, r, b]] for b in blocks)
        shares.append([100 * s.solved / s.runs for s in found])
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=140, aspect="auto")
    for y, line in enumerate(shares):
        for x, share in enumerate(line):
            axes.text(x, y, f"{share:.0f}", ha="center", va="center", fontsize=9)
    axes.set_xticks(range(len(blocks)), [str(b) for b in blocks])
    axes.set_yticks(
        range(len(rows)), [f"{ALGORITHM_NAMES[a].split()[0]}, r = {r}" for _, r, a in rows]
    )
    axes.set_xlabel("block size (bits)")
    axes.grid(visible=False)


def _weights(axes: Axes, results: Results) -> None:
    """Show the share of runs that the bandit solves with other weights k of exploration."""
    cells = exploration_cells(results)
    if not cells:
        axes.set_axis_off()
        return
    for marker, r in zip("os", _values(cells, "resamples"), strict=False):
        chosen = [cell for cell in cells if cell.resamples == r]
        shares = [100 * results.summaries[c].solved / results.summaries[c].runs for c in chosen]
        axes.plot(
            [c.k for c in chosen],
            shares,
            marker=marker,
            color=resamples_colour(r),
            label=f"r = {r}",
        )
    axes.set_xscale("log", base=2)
    weights = sorted({c.k for c in cells})
    axes.set_xticks(weights, [f"{k:g}" for k in weights])
    axes.set_title(f"Bandit, n = {cells[0].n}, block {cells[0].block_size}", loc="left")
    axes.set_ylim(-4, 104)
    axes.set_xlabel("k, the weight of exploration")
    axes.set_ylabel("runs solved (%)")
    axes.legend()


def endings(results: Results, quality: bool) -> Figure:
    """Draw where runs stand after fixed budgets, beside the share that has hit the optimum."""
    cells = results.plan.cells["endings"]
    several = _values(cells, "resamples")
    rows = sorted({(c.n, c.algorithm != "rmhc", c.algorithm) for c in cells})
    figure = Figure(figsize=(11, 8.5), layout="constrained")
    panels = figure.subplots(len(rows), len(several), sharey="row", squeeze=False)
    styles = {
        "hit": ("has hit the optimum (first hit)", "#777777", ":", "."),
        "current": ("genome climbed from", "#E69F00", "--", "s"),
        "recommended": ("recommendation", "#009E73", "-", "o"),
    }
    for row, (n, _, algorithm) in enumerate(rows):
        for column, r in enumerate(several):
            axes = panels[row, column]
            (cell,) = _of(results, "endings", n=n, algorithm=algorithm, resamples=r)
            looks = [
                dict(zip(ENDING_COLUMNS, ending_values(results, cell, at), strict=True))
                for at in range(len(cell.checkpoints))
            ]
            for name, (_, colour, style, marker) in styles.items():
                if quality and name == "hit":
                    continue
                if quality:
                    y = [n * (1 - look[f"{name}_quality"]) for look in looks]
                else:
                    column_name = "hit" if name == "hit" else f"{name}_optimal"
                    y = [100 * look[column_name] for look in looks]
                axes.plot(cell.checkpoints, y, style, color=colour, marker=marker, markersize=4)
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter(_PLAIN)
            axes.set_title(
                f"{ALGORITHM_NAMES[algorithm]}, n = {n}, r = {r}", fontsize=9, loc="left"
            )
            if row == len(rows) - 1:
                axes.set_xlabel("evaluations spent")
            if column == 0:
                axes.set_ylabel("wrong bits (mean)" if quality else "runs at optimum (%)")
    for axes in panels.flat:
        # only now, because a limit set before the last panel of a row would hold for all of it
        if quality:
            axes.set_ylim(bottom=0)
        else:
            axes.set_ylim(-3, 103)
    shown = list(styles.values())[1 if quality else 0 :]
    figure.legend(
        handles=[_handle(label, colour, marker, style) for label, colour, style, marker in shown],
        loc="outside lower center",
        ncols=3,
    )
    return figure


def theory_figure(results: Results) -> Figure:
    """Draw the exact expectations over the measured points."""
    figure = Figure(figsize=(12, 4.6), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    noisy = results.plan.cells.get("noisy-onemax", ())
    sizes = theory_sizes([cell.n for cell in (*results.plan.cells.get("onemax", ()), *noisy)])
    shorter = [n for n in sizes if n <= THEORY_UP_TO]
    exact = {"rmhc": theory.rmhc_onemax, "bandit_rmhc": theory.bandit_onemax}
    for algorithm, colour in ALGORITHM_COLOURS.items():
        expected = [exact[algorithm](n) / n for n in sizes]
        left.plot(sizes, expected, color=colour, linewidth=1.2)
        _points(left, results, _of(results, "onemax", algorithm=algorithm), colour)
    left.set_title("OneMax without noise", loc="left")
    several = _values(noisy, "resamples") or [1, 2, 5, 10]
    for marker, r in zip(_markers(several), several, strict=True):
        colour = resamples_colour(r, several)
        expected = [theory.noisy_rmhc_onemax(n, r) / n for n in shorter]
        # not far beyond the budget, unless there is nothing else
        bound = max(3000.0, 1.01 * expected[0])
        inside = [(n, value) for n, value in zip(shorter, expected, strict=True) if value < bound]
        middle.plot(*zip(*inside, strict=True), color=colour, linewidth=1.2)
        cells = _of(results, "noisy-onemax", algorithm="rmhc", resamples=r)
        _points(middle, results, cells, colour, marker)
    middle.axhline(1000, color="#999999", linewidth=0.8, linestyle="--")
    middle.text(10, 1050, "budget", ha="left", va="bottom", color="#666666", fontsize=8)
    middle.set_xscale("log")
    middle.set_yscale("log")
    middle.set_title("RMHC with noise N(0,1)", loc="left")
    for axes in (left, middle):
        axes.set_ylabel("evaluations / n")
    _best_resamples(right, results, shorter)
    for axes in (left, middle, right):
        axes.set_xlabel("n (bits)")
    for axes in (left, right):
        axes.set_xlim(0, 1.02 * sizes[-1])
        axes.xaxis.set_major_locator(MaxNLocator(5))
    middle.xaxis.set_major_formatter(_PLAIN)
    left.set_ylim(bottom=0)
    handles = [_handle(ALGORITHM_NAMES[a], c, "none") for a, c in ALGORITHM_COLOURS.items()]
    handles += [
        _handle(f"r = {r}", resamples_colour(r, several), marker)
        for marker, r in zip(_markers(several), several, strict=True)
    ]
    handles.append(_handle("expected (lines)", "#555555", "none"))
    handles.append(_handle("measured, all runs solved", "#555555", "o", "none"))
    figure.legend(handles=handles, loc="outside lower center", ncols=5)
    return figure


def theory_sizes(measured: Sequence[int]) -> list[int]:
    """Choose some n for the lines: up to 1000, and on to the largest that was measured.

    Example:
        >>> from hillbandit.experiments.figures import theory_sizes
        >>> theory_sizes([2000])[-4:]
        [975, 1000, 1414, 2000]

    Args:
        measured: The n of the points.
    """
    sizes = [*range(10, 60, 5), *range(60, 150, 10), *range(150, 1001, 25)]
    top = max(measured, default=0)
    if top > sizes[-1]:
        steps = math.ceil(2 * math.log2(top / sizes[-1]))
        sizes += [round(1000 * (top / 1000) ** (step / steps)) for step in range(1, steps + 1)]
    return sizes


def _best_resamples(axes: Axes, results: Results, sizes: Sequence[int]) -> None:
    """Draw the r that RMHC would need without history, and the best of those that were tried."""
    colour = ALGORITHM_COLOURS["rmhc"]
    bests = [theory.best_resamples(n) for n in sizes]
    axes.plot(sizes, bests, color=colour, drawstyle="steps-mid", label="expected without history")
    measured = best_resamples(results, "rmhc")
    if measured:
        tried = _values(results.plan.cells["noisy-onemax"], "resamples")
        axes.plot(
            list(measured),
            [r for r, _ in measured.values()],
            linestyle="none",
            marker="o",
            markersize=4,
            color=colour,
            label=f"measured: lowest ERT of r = {', '.join(map(str, tried))}",
        )
    axes.set_title("Best r for RMHC with noise N(0,1)", loc="left")
    axes.set_ylabel("r")
    axes.set_ylim(0, 1.25 * max(*bests, *(r for r, _ in measured.values())))
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(loc="upper left")


def _points(
    axes: Axes, results: Results, cells: Iterable[Cell], colour: str, marker: str = "o"
) -> None:
    """Draw measured points with error bars, those without failures, so that means are means."""
    complete = [c for c in cells if results.summaries[c].solved == results.summaries[c].runs]
    axes.errorbar(
        [c.n for c in complete],
        [(results.summaries[c].mean or 0.0) / c.n for c in complete],
        [(results.summaries[c].standard_error or 0.0) / c.n for c in complete],
        linestyle="none",
        marker=marker,
        markersize=4,
        color=colour,
        elinewidth=0.8,
    )


def _markers(values: Sequence[int]) -> list[str]:
    return [MARKERS[i % len(MARKERS)] for i in range(len(values))]
