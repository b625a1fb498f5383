"""The charts of a study's report, as Plotly takes them: plain data.

Names and values of genes come from anybody. Plotly reads its texts as a little HTML, so each goes
through `label`; and none is used as a category, so that equal labels stay two things.
"""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hillbandit.optimizers.archive import Archive, student_t
from hillbandit.overview import shown
from hillbandit.space import Space
from hillbandit.trial import GeneReport

Chart = dict[str, Any]

# of Okabe and Ito's palette, which the colour-blind can tell apart
BLUE, SKY, VERMILION, BLACK = "#0072b2", "#56b4e9", "#d55e00", "#1d2733"
BAND = "rgba(0, 114, 178, 0.18)"

POINTS = 4_000
"""Of more evaluations than this, so many are drawn."""
STEPS = 240
"""At how many moments the leader is looked up, and a gene's value shown."""
CELLS = 200_000
"""The most cells in the picture of the genes over time."""
LABELS = 30
"""The most labels on an axis."""
NAME_LENGTH = 16


@dataclass(frozen=True, slots=True, eq=False)
class Evaluations:
    """All successful evaluations of a study, in order."""

    space: Space
    values: NDArray[np.float64]
    genomes: NDArray[Any]
    maximizing: bool
    noisy: bool


@dataclass(frozen=True, slots=True)
class Worth:
    """What the evaluations with one value of a gene came to."""

    index: int
    count: int
    mean: float
    low: float
    high: float


def label(text: str, limit: int | None = NAME_LENGTH) -> str:
    """Write a text so that Plotly shows it as it is, cut off at a limit.

    Example:
        >>> from hillbandit.report_charts import label
        >>> label("<b>speed</b>")
        '&lt;b&gt;speed&lt;/b&gt;'

    Args:
        text: The text.
        limit: The number of characters; None for all.
    """
    if limit is not None and len(text) > limit:
        text = f"{text[: limit - 1]}…"
    return html.escape(text, quote=False)


def worth(told: Evaluations, gene: int) -> list[Worth]:
    """Work out what each value of a gene is worth, those never evaluated left out.

    The interval is Student's, of the mean of all evaluations with the value.
    """
    column = told.genomes[:, gene]
    found = []
    for index in np.unique(column).tolist():
        values = told.values[column == index]
        count, mean = len(values), float(values.mean())
        half = math.inf
        if count > 1:
            half = student_t(count - 1) * float(values.std(ddof=1)) / math.sqrt(count)
        found.append(Worth(index, count, mean, mean - half, mean + half))
    return found


def effect(values: list[Worth]) -> float:
    """Say how much a gene's values differ: the weighted variance of their means."""
    counts = np.array([value.count for value in values], dtype=np.float64)
    means = np.array([value.mean for value in values])
    middle = float(np.average(means, weights=counts))
    return float(np.average((means - middle) ** 2, weights=counts))


def course_chart(told: Evaluations) -> Chart:
    """Draw every evaluation and the mean of the leader at the time."""
    total = len(told.values)
    drawn = _spaced(total, POINTS)
    steps, means, lows, highs = _leader_over_time(told)
    finite = np.isfinite(lows)
    known = [steps[i] for i in range(len(steps)) if finite[i]]
    data: list[Chart] = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": "evaluation",
            "x": (drawn + 1).tolist(),
            "y": _numbers(told.values[drawn]),
            "marker": {"color": BLACK, "size": 4, "opacity": 0.35},
        }
    ]
    if told.noisy and known:
        edge = {"type": "scatter", "mode": "lines", "x": known, "line": {"width": 0}}
        edge |= {"hoverinfo": "skip"}
        data.append(edge | {"y": _numbers(lows[finite]), "showlegend": False})
        band = {"fill": "tonexty", "fillcolor": BAND, "name": "its 95 % interval"}
        data.append(edge | band | {"y": _numbers(highs[finite])})
    data.append(
        {
            "type": "scatter",
            "mode": "lines",
            "name": "leader's mean",
            "x": steps,
            "y": _numbers(means),
            "line": {"color": BLUE, "width": 2.5, "shape": "hv"},
        }
    )
    layout = _layout(380)
    layout["xaxis"] |= {"title": {"text": "evaluation"}}
    layout["yaxis"] |= {"title": {"text": "value"}}
    window = _window(told.values, means)
    if window is not None:
        layout["yaxis"]["range"] = window
    return {"data": data, "layout": layout}


def _leader_over_time(
    told: Evaluations,
) -> tuple[list[int], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Replay the evaluations, and look now and then which configuration leads."""
    sign = 1.0 if told.maximizing else -1.0
    archive = Archive(told.space)
    looks = set(_spaced(len(told.values), STEPS).tolist())
    steps, rows = [], []
    for i, value in enumerate(told.values.tolist()):
        archive.add(archive.key(told.genomes[i]), sign * value)
        if i in looks:
            row = archive.leader(told.noisy)
            low, high = archive.interval(row, told.noisy)
            steps.append(i + 1)
            rows.append(sign * np.array([archive.means[row], low, high]))
    means, ones, others = np.array(rows).T
    return steps, means, np.minimum(ones, others), np.maximum(ones, others)


def _window(values: NDArray[np.float64], means: NDArray[np.float64]) -> list[float] | None:
    """Choose a range of values to begin with, where a few far away would flatten the rest."""
    low, high = np.quantile(values, [0.05, 0.95])
    low, high = min(low, means[-1]), max(high, means[-1])
    margin = 0.1 * (high - low)
    if not 0 < high - low < 0.2 * (values.max() - values.min()):
        return None
    return [_number(low - margin) or 0.0, _number(high + margin) or 0.0]


def worth_chart(told: Evaluations, gene: int, values: list[Worth], recommended: int) -> Chart:
    """Draw the mean and interval of each value of one gene."""
    size = int(told.space.sizes[gene])
    words = {value.index: shown(told.space.value(gene, value.index)) for value in values}
    halves = [value.high - value.mean for value in values]
    data = [
        {
            "type": "scatter",
            "mode": "markers",
            "x": [value.index for value in values],
            "y": [_number(value.mean) for value in values],
            "error_y": {
                "type": "data",
                "array": [_number(half) or 0.0 for half in halves],
                "color": BLUE,
                "thickness": 1.5,
                "width": 3,
            },
            "marker": {
                "color": [BLUE if v.index == recommended else "#ffffff" for v in values],
                "line": {"color": BLUE, "width": 2},
                "size": 9,
            },
            "text": [f"{label(words[value.index], 60)}: {_worth_text(value)}" for value in values],
            "hovertemplate": "%{text}<extra></extra>",
        }
    ]
    layout = _layout(210)
    layout["showlegend"] = False
    layout["margin"] = {"l": 10, "r": 10, "t": 10, "b": 10}
    ticks = _spaced(size, 10).tolist()
    layout["xaxis"] |= {
        "range": [-0.5, size - 0.5],
        "tickvals": ticks,
        "ticktext": [label(shown(told.space.value(gene, tick)), 12) for tick in ticks],
        "showgrid": False,
    }
    layout["yaxis"] |= {"nticks": 5}
    return {"data": data, "layout": layout}


def _worth_text(value: Worth) -> str:
    spread = f" ({value.low:.5g} to {value.high:.5g})" if value.count > 1 else ""
    return f"{value.mean:.5g}{spread}, {value.count} ×"


def time_chart(told: Evaluations) -> Chart:
    """Draw which value each gene had in the evaluations, one row a gene."""
    space = told.space
    genes = min(len(space), CELLS // 60)
    columns = _spaced(len(told.values), min(STEPS, max(60, CELLS // genes)))
    indices, words, shades = [], [], []
    for gene in range(genes):
        used, inverse = np.unique(told.genomes[columns, gene], return_inverse=True)
        name = shown(space.label(gene))
        words.append([label(f"{name} = {shown(space.value(gene, i))}", 80) for i in used.tolist()])
        indices.append(inverse.tolist())
        last = max(1, int(space.sizes[gene]) - 1)
        shades.append([round(i / last, 3) for i in told.genomes[columns, gene].tolist()])
    data = [
        {
            "type": "heatmap",
            "x": (columns + 1).tolist(),
            "y": list(range(genes)),
            "z": shades,
            "zmin": 0,
            "zmax": 1,
            "words": words,
            "indices": indices,
            "colorscale": "Cividis",
            "showscale": False,
            "ygap": 2 if genes <= 40 else 0,
            "hovertemplate": "evaluation %{x}<br>%{text}<extra></extra>",
        }
    ]
    layout = _layout(80 + min(720, max(120, 24 * genes)))
    layout["xaxis"] |= {"title": {"text": "evaluation"}, "showgrid": False}
    ticks = _spaced(genes, LABELS).tolist()
    layout["yaxis"] |= {
        "range": [genes - 0.5, -0.5],
        "tickvals": ticks,
        "ticktext": [label(shown(space.label(gene))) for gene in ticks],
        "showgrid": False,
    }
    return {"data": data, "layout": layout}


def urgency_chart(genes: list[GeneReport]) -> Chart:
    """Draw the two terms of the urgency of some genes, the most urgent on top."""
    rows = list(range(len(genes)))
    texts = [
        f"{label(shown(gene.gene), 60)}: rescue {gene.rescue:.4g}, explore {gene.explore:.4g}, "
        f"urgency {gene.urgency:.4g}"
        for gene in genes
    ]
    common = {"y": rows, "text": texts, "hovertemplate": "%{text}<extra></extra>"}
    bar = common | {"type": "bar", "orientation": "h", "textposition": "none"}
    data = [
        bar
        | {
            "name": "rescue",
            "x": [_number(gene.rescue) for gene in genes],
            "marker": {"color": VERMILION},
        },
        bar
        | {
            "name": "explore",
            "x": [_number(gene.explore) for gene in genes],
            "marker": {"color": SKY},
        },
        common
        | {
            "type": "scatter",
            "mode": "markers",
            "name": "urgency",
            "x": [_number(gene.urgency) for gene in genes],
            "marker": {"color": BLACK, "symbol": "diamond", "size": 9},
        },
    ]
    layout = _layout(100 + 24 * max(3, len(genes)))
    layout["barmode"] = "relative"
    layout["yaxis"] |= {
        "range": [len(genes) - 0.5, -0.5],
        "tickvals": rows,
        "ticktext": [
            label(shown(gene.gene)) + ("" if math.isfinite(gene.urgency) else " (∞)")
            if gene.urgency > 0
            else label(shown(gene.gene))
            for gene in genes
        ],
        "showgrid": False,
    }
    layout["xaxis"] |= {"zeroline": True, "zerolinecolor": "#8a97a5"}
    return {"data": data, "layout": layout}


def _layout(height: int) -> Chart:
    axis = {"automargin": True, "gridcolor": "#e6ebf0", "zeroline": False, "fixedrange": False}
    return {
        "height": height,
        "margin": {"l": 10, "r": 10, "t": 30, "b": 10},
        "font": {"size": 12, "color": BLACK},
        "paper_bgcolor": "#ffffff",
        "plot_bgcolor": "#ffffff",
        "xaxis": dict(axis),
        "yaxis": dict(axis),
        "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
        "hoverlabel": {"align": "left"},
    }


def _spaced(total: int, most: int) -> NDArray[np.int64]:
    """Choose at most so many of the numbers below a total, evenly, the first and last included."""
    if total <= most:
        return np.arange(total)
    return np.unique(np.linspace(0, total - 1, most).round().astype(np.int64))


def _number(number: float) -> float | None:
    """Shorten a number for the page; JSON has no infinity, and Plotly leaves out what is null."""
    return float(f"{number:.6g}") if math.isfinite(number) else None


def _numbers(numbers: NDArray[np.float64]) -> list[float | None]:
    return [_number(number) for number in numbers.tolist()]
