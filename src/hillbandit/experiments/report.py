"""The report: verdicts, agreement with the published numbers, figures and tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hillbandit import theory
from hillbandit.experiments.claims import HOLDS, IN_PART, judge_claims
from hillbandit.experiments.document import (
    Block,
    Bullets,
    Heading,
    Paragraph,
    Picture,
    Table,
    to_html,
    to_markdown,
)
from hillbandit.experiments.explanations import (
    beside_the_authors_ending,
    problem_name,
    reading_name,
    reading_problems,
    which_reading_fits,
    who_solves_noisy_royal_road,
    why_the_bandit_fails,
)
from hillbandit.experiments.figures import draw_all
from hillbandit.experiments.plan import NAMES, Cell, reading_variants
from hillbandit.experiments.results import (
    Results,
    busiest_share,
    ending_values,
    exploration_cells,
)
from hillbandit.experiments.statistics import (
    FAR,
    Comparison,
    Published,
    Summary,
    compare,
    published_results,
    z_score,
)
from hillbandit.experiments.tables import write_text

TITLE = "Bandit-based Random Mutation Hill-Climbing, reproduced"
CITATION = (
    "J. Liu, D. Pérez-Liébana, S. M. Lucas: Bandit-Based Random Mutation Hill-Climbing. "
    "CEC 2017, arXiv 1606.06041."
)


def write_report(results: Results, out: Path, facts: Callable[[], dict[str, Any]]) -> Path:
    """Draw the figures, and write report.html and report.md.

    Args:
        results: Our runs.
        out: The results folder.
        facts: Gives the manifest; asked for when the figures are there, so that it has their time.

    Returns:
        The path of report.html.
    """
    pictures = draw_all(results, out / "figures")
    blocks = list(compose(results, pictures, facts()))
    write_text(out / "report.md", to_markdown(blocks, out))
    path = out / "report.html"
    write_text(path, to_html(blocks, TITLE))
    return path


def compose(results: Results, pictures: dict[str, Path], facts: dict[str, Any]) -> Iterable[Block]:
    """Say everything that the report says, from top to bottom.

    Args:
        results: Our runs.
        pictures: The paths of the figures by name.
        facts: The manifest.
    """
    plan = results.plan
    yield Heading(1, TITLE)
    yield Paragraph(CITATION)
    thinned = " from a thinned grid (`--quick`)" if plan.quick else ""
    further = sum(map(len, results.further.values()))
    again = f", {further:,} of them to look again at points far from the published ones"
    yield Paragraph(
        f"Every cell was run {plan.repeats} times with the seed {plan.seed}{thinned}, with at most "
        f"1000·n evaluations a run: {results.runs:,} runs{again if further else ''}. "
        f"hillbandit {facts['hillbandit']}, Python {facts['python']}. A run counts as solved when "
        "the genome climbed from is the optimum for the first time."
    )
    yield from _verdicts(results)
    comparisons = compare(results.summaries)
    if comparisons:
        yield from _agreement(comparisons, results.again)
    sections = {
        "onemax": _onemax,
        "noisy-onemax": _noisy_onemax,
        "royal-road": _royal_road,
        "noisy-royal-road": _noisy_royal_road,
        "readings": _readings,
        "endings": _endings,
        "theory": _theory,
    }
    for name, section in sections.items():
        if name in plan.cells:
            yield Heading(2, NAMES[name])
            yield from section(results, pictures)
    if comparisons:
        yield Heading(2, "All published points, and ours")
        yield from _published_table(comparisons)
    yield Heading(2, "About the published numbers")
    yield Bullets(TRAPS)
    yield Heading(2, "How this was made")
    yield Table(
        ("what", "value"),
        [(name, _plain(value)) for name, value in facts.items()],
        words=2,
    )


def _plain(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {item}" for name, item in value.items())
    return "; ".join(map(_plain, value)) if isinstance(value, list) else str(value)


def _number(value: float | None, digits: int = 1) -> str:
    return "" if value is None else f"{value:,.{digits}f}"


def _with_error(mean: float | None, error: float | None) -> str:
    if mean is None:
        return "unsolved"
    digits = 2 if mean < 1000 else 0
    return _number(mean, digits) + ("" if error is None else f" ± {_number(error, digits)}")


# --- the verdicts -------------------------------------------------------------------------------


def _verdicts(results: Results) -> Iterable[Block]:
    claims = judge_claims(results)
    verdicts = [claim.verdict for claim in claims]
    yield Heading(2, "The paper's claims")
    yield Paragraph(
        f"{verdicts.count(HOLDS)} of {len(claims)} hold, {verdicts.count(IN_PART)} hold in part. "
        "ERT, the expected running time, is all evaluations spent, those of failed runs included, "
        "over the number of successes."
    )
    yield Table(
        ("claim", "verdict", "the numbers"),
        [(claim.text, f"**{claim.verdict}**", claim.evidence) for claim in claims],
        words=3,
    )


# --- agreement ----------------------------------------------------------------------------------


def _agreement(comparisons: Sequence[Comparison], again: dict[Cell, Summary]) -> Iterable[Block]:
    judged = [c for c in comparisons if c.z is not None and c.complete]
    far = [c for c in judged if abs(c.z or 0.0) > FAR]
    yield Heading(2, "Do the numbers agree?")
    yield Paragraph(
        f"{len(comparisons)} of the 312 published points were run. At {len(judged)} of them both "
        "sides have a mean with a standard error and all of our runs succeeded, so that the means "
        "can be compared. z is the difference, ours less published, over the standard error of "
        "that difference, which comes from both. "
    )
    if judged:
        square = sum((c.z or 0.0) ** 2 for c in judged)
        yield Paragraph(
            f"**{len(far)} of these {len(judged)} points are beyond |z| = {FAR}; chance alone "
            f"would put {0.0093 * len(judged):.1f} there.** The sum of z² is {square:.0f}, where "
            f"{len(judged)} ± {math.sqrt(2 * len(judged)):.0f} is expected."
        )
    if far:
        yield Paragraph(
            "To tell chance from a cause, each of these was run ten times as often again, with "
            "seeds of their own. A difference with a cause would stay and its z-score grow:"
        )
        yield Table(
            ("point", "published", "ours", "z", "run again", "z of these"),
            [_second_look(c, again[c.published.cell]) for c in far if c.published.cell in again],
        )
    series = _series(judged)
    odd = [name for name, zs in series.items() if abs(_combined(zs)) > FAR]
    yield Paragraph(
        "A systematic deviation would show in a whole series: the combined z-score of a series is "
        "the sum of its z over the square root of their number. "
        + (
            f"Beyond {FAR} {'is' if len(odd) == 1 else 'are'}: {'; '.join(odd)}."
            if odd
            else f"None of the {len(series)} series is beyond {FAR}: there is none."
        )
    )
    yield Table(
        ("series", "points", "mean z", "combined z", f"beyond {FAR}"),
        [
            (
                name,
                str(len(zs)),
                f"{sum(zs) / len(zs):+.2f}",
                f"{_combined(zs):+.2f}",
                str(sum(abs(z) > FAR for z in zs)),
            )
            for name, zs in series.items()
        ],
    )
    partly = [c for c in comparisons if c.z is not None and not c.complete]
    if partly:
        beyond = sum(abs(c.z or 0.0) > FAR for c in partly)
        yield Paragraph(
            f"At {len(partly)} further points some of our runs failed. Both means are then over "
            "the solved runs only and biased alike, but their standard errors say little, because "
            f"the number of successes is itself a matter of chance: {beyond} of them are beyond "
            f"{FAR}."
        )


def _second_look(comparison: Comparison, again: Summary) -> tuple[str, ...]:
    theirs, ours = comparison.published, comparison.ours
    z = z_score(again.mean, again.standard_error, theirs.mean, theirs.standard_error)
    return (
        theirs.cell.label,
        _with_error(theirs.mean, theirs.standard_error),
        _with_error(ours.mean, ours.standard_error),
        f"{comparison.z:+.2f}",
        _with_error(again.mean, again.standard_error),
        "" if z is None else f"{z:+.2f}",
    )


def _series(comparisons: Iterable[Comparison]) -> dict[str, list[float]]:
    series: dict[str, list[float]] = {}
    for comparison in comparisons:
        cell = comparison.published.cell
        name = "OneMax" if cell.problem == "onemax" else f"Royal Road, block {cell.block_size}"
        name += ", RMHC" if cell.algorithm == "rmhc" else ", bandit"
        name += f", noise, r = {cell.resamples}" if cell.noise_sd else ""
        series.setdefault(name, []).append(comparison.z or 0.0)
    return series


def _combined(zs: Sequence[float]) -> float:
    return sum(zs) / math.sqrt(len(zs))


def _published_table(comparisons: Sequence[Comparison]) -> Iterable[Block]:
    yield Paragraph(
        "Means are over solved runs, as published; beside ours stand the success rate and ERT. "
        f"z-scores beyond {FAR} are bold; those in brackets are of points where runs failed."
    )
    yield Table(
        (
            *("problem", "algorithm", "noise", "r", "block", "n"),
            *("published", "ours", "z", "solved", "ERT"),
        ),
        [_published_row(comparison) for comparison in comparisons],
        words=2,
    )


def _published_row(comparison: Comparison) -> tuple[str, ...]:
    cell, theirs, ours = comparison.published.cell, comparison.published, comparison.ours
    z = "" if comparison.z is None else f"{comparison.z:+.2f}"
    if z and abs(comparison.z or 0.0) > FAR:
        z = f"**{z}**"
    return (
        "OneMax" if cell.problem == "onemax" else "Royal Road",
        "RMHC" if cell.algorithm == "rmhc" else "bandit",
        f"{cell.noise_sd:g}",
        str(cell.resamples) if cell.noise_sd else "",
        str(cell.block_size) if cell.problem == "royal_road" else "",
        str(cell.n),
        _with_error(theirs.mean, theirs.standard_error),
        _with_error(ours.mean, ours.standard_error),
        z if comparison.complete or not z else f"({z})",
        f"{ours.solved}/{ours.runs}",
        _number(ours.ert, 0),
    )


# --- the experiments ----------------------------------------------------------------------------


def _onemax(results: Results, pictures: dict[str, Path]) -> Iterable[Block]:
    del results
    yield Picture(pictures["onemax"], "OneMax without noise: evaluations until solved against n.")


def _noisy_onemax(results: Results, pictures: dict[str, Path]) -> Iterable[Block]:
    yield Picture(
        pictures["noisy_onemax"],
        "OneMax with noise N(0,1), for each number of resamples r. Where some runs failed the mean "
        "of the solved ones flatters.",
    )
    yield Paragraph("Runs solved and ERT, where not all runs were solved:")
    partly = [
        (cell, summary)
        for cell in results.plan.cells["noisy-onemax"]
        if (summary := results.summaries[cell]).solved < summary.runs
    ]
    rows = [
        (
            cell.label,
            f"{s.solved}/{s.runs}",
            f"{100 * s.success_low:.0f} to {100 * s.success_high:.0f} %",
            _number(s.mean, 0),
            _number(s.ert, 0),
        )
        for cell, s in partly
    ]
    yield Table(("cell", "solved", "95 % interval", "mean of the solved", "ERT"), rows)


def _royal_road(results: Results, pictures: dict[str, Path]) -> Iterable[Block]:
    del results
    yield Picture(
        pictures["royal_road"], "Royal Road R1 without noise, for each block size, against n."
    )


def _noisy_royal_road(results: Results, pictures: dict[str, Path]) -> Iterable[Block]:
    yield Paragraph(
        "The paper leaves this to further work. The archive has RMHC with r = 1, never printed."
    )
    yield Picture(
        pictures["noisy_royal_road"],
        "Royal Road with noise N(0,1): RMHC as archived; the share of runs that each algorithm "
        "solves; the bandit with other weights of exploration.",
    )
    yield Paragraph(who_solves_noisy_royal_road(results))
    cells = exploration_cells(results)
    if not cells:
        return
    half = cells[0]
    yield from map(Paragraph, why_the_bandit_fails(results))
    rows = [
        (
            f"bandit, r = {cell.resamples}, k = {cell.k:g}",
            *_outcome(results.summaries[cell]),
            f"{busiest_share(results, cell):.0%}",
        )
        for cell in cells
    ]
    for cell in results.plan.cells["noisy-royal-road"]:
        if (cell.algorithm, cell.n, cell.block_size) == ("rmhc", half.n, half.block_size):
            rows.append((f"RMHC, r = {cell.resamples}", *_outcome(results.summaries[cell]), ""))
    yield Table(
        (
            f"n = {half.n}, block {half.block_size}",
            "solved",
            "mean of the solved",
            "ERT",
            "mutations of the busiest tenth",
        ),
        rows,
    )


def _outcome(summary: Summary) -> tuple[str, str, str]:
    return (
        f"{summary.solved}/{summary.runs}",
        _with_error(summary.mean, summary.standard_error),
        _number(summary.ert, 0),
    )


def _readings(results: Results, pictures: dict[str, Path]) -> Iterable[Block]:
    del pictures
    published = {row.cell: row for row in published_results()}
    problems = reading_problems(results)
    yield from map(Paragraph, which_reading_fits(results))
    rows = [("published numbers", *(_theirs(published, cell) for cell in problems))]
    for reading, k in reading_variants():
        found = [results.summaries[replace(cell, reading=reading, k=k)] for cell in problems]
        rows.append((reading_name(reading, k), *(_briefly(summary) for summary in found)))
    yield Table(("reading", *map(problem_name, problems)), rows)


def _theirs(published: dict[Cell, Published], cell: Cell) -> str:
    row = published.get(cell)
    return "" if row is None else _with_error(row.mean, row.standard_error)


def _briefly(summary: Summary) -> str:
    text = _with_error(summary.mean, summary.standard_error)
    share = summary.solved / summary.runs
    return text if share in (0.0, 1.0) else f"{text} ({share:.0%})"


def _endings(results: Results, pictures: dict[str, Path]) -> Iterable[Block]:
    yield Paragraph(
        "The first hit is decided by an oracle and flatters a climber that does not stay: under "
        "noise it walks on. What a user gets is where the run ends, or better the "
        "recommendation, which is chosen by the means of all evaluations."
    )
    yield Picture(
        pictures["ending_quality"],
        "Noisy OneMax: the number of wrong bits of the genome climbed from and of the "
        "recommendation after a fixed number of evaluations.",
    )
    yield Picture(
        pictures["ending_share"],
        "Noisy OneMax: the share of runs that have hit the optimum at some time, that stand on it, "
        "and that recommend it.",
    )
    rows = []
    for cell in results.plan.cells["endings"]:
        last = ending_values(results, cell, len(cell.checkpoints) - 1)
        rows.append(
            (
                cell.label,
                str(cell.checkpoints[-1]),
                *(f"{100 * share:.0f} %" for share in last[:3]),
                *(f"{cell.n * (1 - quality):.2f}" for quality in last[3:]),
            )
        )
    yield Table(
        (
            "at the end",
            "evaluations",
            "have hit",
            "stand on it",
            "recommend it",
            "wrong bits: climbed from",
            "recommended",
        ),
        rows,
    )
    beside = beside_the_authors_ending(results)
    if beside is not None:
        yield Paragraph(beside)


def _theory(results: Results, pictures: dict[str, Path]) -> Iterable[Block]:
    yield Picture(
        pictures["theory"],
        "Exact expectations (lines) and measured means. Under noise the theory is for RMHC without "
        "history; the measured RMHC keeps the mean of its genome over comparisons and needs fewer.",
    )
    rows = []
    for cell in results.plan.cells.get("onemax", ()):
        summary = results.summaries[cell]
        bandit = cell.algorithm == "bandit_rmhc"
        expected = theory.bandit_onemax(cell.n) if bandit else theory.rmhc_onemax(cell.n)
        if summary.mean is not None and summary.standard_error:
            z = (summary.mean - expected) / summary.standard_error
            measured = _with_error(summary.mean, summary.standard_error)
            rows.append((cell.label, _number(expected, 2), measured, f"{z:+.2f}"))
    if rows:
        yield Table(("without noise", "expected", "measured", "z"), rows)
    yield Table(
        ("RMHC under noise without history, n", "best r", "expected evaluations"),
        [
            (str(n), str(r), _number(theory.noisy_rmhc_onemax(n, r), 0))
            for n in (10, 50, 100, 200, 500, 1000)
            for r in (theory.best_resamples(n),)
        ],
    )


TRAPS = (
    "A mean over the runs that succeeded is biased low where some failed, above all for RMHC with "
    "few resamples and large n. The archive holds no success counts, so like is compared "
    "with like, and our own success rate and ERT are printed beside it.",
    "A point that is missing was not run by the authors. One has a mean without a standard error "
    "(a single success: Royal Road, bandit, 64 bits, blocks of 16). Some means are visibly k/99 or "
    "k/78: that many runs succeeded.",
    "The archive's standard error for OneMax, bandit, n = 50 is 0.187; the table in the paper's "
    "source says 0.10. The archive is right.",
    "The 25 points of noisy Royal Road (RMHC with r = 1) were archived and never printed.",
    "Solved is decided by an oracle, the noise-free fitness of the genome climbed from, and is a "
    "first hitting time. Experiment 6 shows what that hides.",
    "In the noise-free rows r is 1 and means nothing: they are Algorithm 1.",
)
