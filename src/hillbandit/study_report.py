"""A page about a study: one file that opens anywhere, without a network.

Everything that comes from the study is escaped: by Jinja in the text, by `report_charts.label` in
the charts, and in the embedded JSON, where no tag can be closed. Beyond that the page forbids
itself, by a content security policy, every script but its own two and every connection.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections import Counter, deque
from datetime import UTC, datetime
from importlib import resources
from importlib.util import find_spec
from typing import Any

import numpy as np

from hillbandit._version import __version__
from hillbandit.overview import Ended, Overview, shown
from hillbandit.report_charts import (
    POINTS,
    STEPS,
    Chart,
    Evaluations,
    Worth,
    course_chart,
    effect,
    time_chart,
    urgency_chart,
    worth,
    worth_chart,
)
from hillbandit.space import Config, Space
from hillbandit.study import DEFAULT_NAME
from hillbandit.trial import Recommendation

WORTH_SHOWN = 12
"""So many genes have a chart of what their values are worth."""
WORTH_ROWS = 2_000
"""So many values are in the table of them."""
URGENCY_SHOWN = 30
LEADERS_SHOWN = 10
FAILURES_SHOWN = 100
KINDS_SHOWN = 10
GENES_WRITTEN_OUT = 12
"""Of a configuration with more genes, only those are written out that differ from the best."""
WORD_LENGTH = 40
"""A longer name or value is cut off where configurations are written on a line."""


def page(overview: Overview) -> str:
    """Write the report of a study as a page of HTML.

    Example:
        >>> import tempfile, hillbandit as hb
        >>> from hillbandit.overview import Overview
        >>> from hillbandit.study_report import page
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = f"{folder.name}/tuning.db"
        >>> problem = hb.problems.OneMax(8)
        >>> result = hb.maximize(problem, problem.space, 12, study=path, seed=1)
        >>> with Overview(path) as overview:
        ...     page(overview)[:15]
        '<!DOCTYPE html>'
        >>> folder.cleanup()

    Args:
        overview: The study, open to look at.

    Raises:
        ModuleNotFoundError: If Plotly or Jinja2 is not installed.
        StudyError: If the journal cannot be read.
    """
    if find_spec("plotly") is None or find_spec("jinja2") is None:
        raise ModuleNotFoundError('A report needs the extra: pip install "hillbandit[report]"')
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup
    from plotly.offline import get_plotlyjs

    told, failures, kinds = _read(overview)
    charts: dict[str, Chart] = {}
    facts = _about(overview, told) | _failed(overview, failures, kinds)
    facts |= _urgency(overview, charts)
    if told is not None:
        facts |= _answer(overview) | _worth(overview, told, charts)
        charts["course"] = course_chart(told)
        charts["time"] = time_chart(told)
    # a tag in a script would end it; line ends are what the browser's parser makes of them
    scripts = [
        text.replace("\r\n", "\n").replace("</script", "<\\/script")
        for text in (get_plotlyjs(), _asset("page.js"))
    ]
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(_asset("page.html")).render(
        facts,
        css=Markup(_asset("page.css")),
        charts=Markup(_embedded(charts)),
        plotly=Markup(scripts[0]),
        script=Markup(scripts[1]),
        script_hashes=Markup(" ".join(map(_hash, scripts))),
    )


def _read(
    overview: Overview,
) -> tuple[Evaluations | None, deque[Ended], Counter[str]]:
    """Read the successful evaluations, the last failures, and how often each kind occurred."""
    study = overview.study
    small = np.min_scalar_type(int(study.space.sizes.max()))
    values, genomes = [], []
    failures: deque[Ended] = deque(maxlen=FAILURES_SHOWN)
    kinds: Counter[str] = Counter()
    for ended in overview.evaluations():
        if ended.value is not None:
            values.append(ended.value)
            genomes.append(ended.genome.astype(small))
        elif ended.status == "failed":
            failures.append(ended)
            kinds[ended.error or ""] += 1
    if not values:
        return None, failures, kinds
    told = Evaluations(
        study.space,
        np.array(values),
        np.array(genomes),
        study.maximizing,
        study.optimizer.noisy,
    )
    return told, failures, kinds


def _about(overview: Overview, told: Evaluations | None) -> dict[str, Any]:
    study = overview.study
    count = 0 if told is None else len(told.values)
    space = study.space
    size = f"{space.size:,}" if space.size < 10**9 else f"about {_power(space)}"
    facts = {
        "search": f"{'maximise' if study.maximizing else 'minimise'}, "
        f"{'noisy' if study.optimizer.noisy else 'noise-free'}",
        "evaluations": f"{study.evaluations:,}",
        "failed": f"{study.failures:,}",
        "in flight": f"{len(study.outstanding):,}",
        "genes": f"{len(space):,}",
        "configurations": size,
        "optimiser": type(study.optimizer).name,
        "seed": str(study.optimizer.seed),
    }
    return {
        "title": shown(overview.path.name)
        + ("" if study.name == DEFAULT_NAME else f": {shown(study.name)}"),
        "state": shown(overview.state),
        "facts": list(facts.items()),
        "noisy": study.optimizer.noisy,
        "thinned": f" ({POINTS:,} of {count:,} are drawn)" if count > POINTS else "",
        "time_thinned": f" ({STEPS} of {count:,} at the most)" if count > STEPS else "",
        "version": __version__,
        "now": _when(datetime.now(UTC).timestamp()),
        "answer": None,
    }


def _power(space: Space) -> str:
    return f"10^{float(np.log10(space.sizes.astype(np.float64)).sum()):.0f}"


def _answer(overview: Overview) -> dict[str, Any]:
    study = overview.study
    best, confirmed = overview.answer()
    if best is None:
        return {}
    times = "1 evaluation" if best.evaluations == 1 else f"{best.evaluations:,} evaluations"
    single = study.best_observed
    many = len(study.space) > GENES_WRITTEN_OUT
    return {
        "answer": {
            "mean": f"{best.mean:.5g}",
            "interval": _interval(best),
            "basis": ("fresh evaluations alone, " if confirmed else "") + times,
            "config": _pairs(best.config),
        },
        "confirmed": confirmed,
        "way": "the greater the better" if study.maximizing else "the less the better",
        "best": {"value": f"{single.value:.5g}", "number": single.number},
        "leaders_differ": "differs from the recommendation in" if many else "configuration",
        "leaders": [
            {
                "mean": f"{leader.mean:.5g}",
                "interval": _interval(leader, short=True),
                "evaluations": f"{leader.evaluations:,}",
                "config": _text(leader.config, best.config if many else None),
            }
            for leader in study.leaders(LEADERS_SHOWN)
        ],
    }


def _interval(answer: Recommendation, *, short: bool = False) -> str:
    if answer.low == answer.high:
        return "exact" if short else "(without noise)"
    if not np.isfinite(answer.low):
        return "none yet" if short else "(no interval from a single evaluation)"
    ends = f"{answer.low:.5g} to {answer.high:.5g}"
    return ends if short else f"95 % interval {ends}"


def _worth(overview: Overview, told: Evaluations, charts: dict[str, Chart]) -> dict[str, Any]:
    space = told.space
    worths = [worth(told, gene) for gene in range(len(space))]
    order = sorted(range(len(space)), key=lambda gene: -effect(worths[gene]))
    best, _ = overview.answer()
    shown_genes = order[:WORTH_SHOWN]
    for gene in shown_genes:
        recommended = -1 if best is None else int(best.genome[gene])
        charts[f"worth-{gene}"] = worth_chart(told, gene, worths[gene], recommended)
    rows = [_worth_row(space, gene, value) for gene in range(len(space)) for value in worths[gene]]
    return {
        "worth_shown": len(shown_genes),
        "worth_genes": [
            {"index": gene, "name": ("" if space.names else "gene ") + shown(space.label(gene))}
            for gene in shown_genes
        ],
        "worth_rows": rows[:WORTH_ROWS],
        "worth_left_out": len(rows) > WORTH_ROWS,
    }


def _worth_row(space: Space, gene: int, value: Worth) -> dict[str, str]:
    return {
        "gene": shown(space.label(gene)),
        "value": shown(space.value(gene, value.index)),
        "mean": f"{value.mean:.5g}",
        "interval": f"{value.low:.5g} to {value.high:.5g}" if value.count > 1 else "none yet",
        "count": f"{value.count:,}",
    }


def _urgency(overview: Overview, charts: dict[str, Chart]) -> dict[str, Any]:
    genes = sorted(overview.study.explain(), key=lambda gene: -gene.urgency)
    first = genes[:URGENCY_SHOWN]
    urgent = any(gene.rescue or gene.explore for gene in genes)
    if urgent:
        charts["urgency"] = urgency_chart(first)
    return {
        "urgent": urgent,
        "urgency_shown": len(first),
        "genes": [
            {
                "name": shown(gene.gene),
                "value": shown(gene.value),
                "rescue": f"{gene.rescue:.4g}",
                "explore": f"{gene.explore:.4g}",
                "urgency": f"{gene.urgency:.4g}",
                "mutations": f"{gene.mutations:,}",
            }
            for gene in genes
        ],
    }


def _failed(overview: Overview, failures: deque[Ended], kinds: Counter[str]) -> dict[str, Any]:
    space = overview.study.space
    many = len(space) > GENES_WRITTEN_OUT
    best, _ = overview.answer() if many else (None, False)
    return {
        "failed": kinds.total(),
        "failure_kinds": [
            (shown(kind)[:300], f"{count:,}") for kind, count in kinds.most_common(KINDS_SHOWN)
        ],
        "failures": [
            {
                "number": ended.number,
                "time": _when(ended.time),
                "error": shown(ended.error)[:1000],
                "traceback": ended.traceback[-10_000:],
                "retried": ended.retried,
                "config": _text(space.decode(ended.genome), None if best is None else best.config),
            }
            for ended in failures
        ],
    }


def _pairs(config: Config) -> list[tuple[str, str]]:
    items = config.items() if isinstance(config, dict) else enumerate(config.tolist())
    return [(shown(gene), shown(value)) for gene, value in items]


def _text(config: Config, reference: Config | None) -> str:
    """Write a configuration on a line, or only how it differs from another."""
    pairs = _pairs(config)
    if reference is not None:
        pairs = [
            ours for ours, theirs in zip(pairs, _pairs(reference), strict=True) if ours != theirs
        ]
        if not pairs:
            return "nothing"
    more = f" and {len(pairs) - GENES_WRITTEN_OUT} more" if len(pairs) > GENES_WRITTEN_OUT else ""
    written = (f"{_cut(gene)} = {_cut(value)}" for gene, value in pairs[:GENES_WRITTEN_OUT])
    return ", ".join(written) + more


def _cut(text: str) -> str:
    return text if len(text) <= WORD_LENGTH else f"{text[: WORD_LENGTH - 1]}…"


def _when(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _asset(name: str) -> str:
    return resources.files("hillbandit").joinpath("report_page", name).read_text(encoding="utf-8")


def _embedded(charts: dict[str, Chart]) -> str:
    """Write data as JSON that cannot end, or begin, anything in the page around it."""
    text = json.dumps(charts, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _hash(script: str) -> str:
    digest = hashlib.sha256(script.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"
