"""What the report says of experiments 4 to 6 in words: every statement about runs is computed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from hillbandit import theory
from hillbandit.experiments.plan import Cell, reading_variants
from hillbandit.experiments.results import (
    Results,
    busiest_share,
    ending_values,
    exploration_cells,
)
from hillbandit.experiments.statistics import FAR, Published, Summary, published_results, z_score

THE_AUTHORS_HIT, THE_AUTHORS_END = 97.4, 6.4
"""Per cent of the runs of 10-bit noisy OneMax (RMHC, r = 1, 500 evaluations) that had hit the
optimum, and that ended on it, as the authors reported later."""


def listed(items: Iterable[object]) -> str:
    """Write items in a row, with an "and" before the last.

    Example:
        >>> from hillbandit.experiments.explanations import listed
        >>> listed([2, 4, 8])
        '2, 4 and 8'

    Args:
        items: At least one.
    """
    *first, last = map(str, items)
    return f"{', '.join(first)} and {last}" if first else last


# --- experiment 4 -------------------------------------------------------------------------------


def who_solves_noisy_royal_road(results: Results) -> str:
    """Say for each block size of the smallest n how many runs each algorithm solves at best."""
    cells = [cell for cell in results.plan.cells["noisy-royal-road"] if cell.k == 0.5]
    n = min(cell.n for cell in cells)
    parts = []
    for algorithm, name in (("bandit_rmhc", "the bandit with k = 1/2"), ("rmhc", "RMHC")):
        chosen = [cell for cell in cells if cell.n == n and cell.algorithm == algorithm]
        if chosen:
            parts.append(f"{name} solves {_at_best(results, chosen)}")
    return f"With the r that suits it best and n = {n}, {'; '.join(parts)}."


def _at_best(results: Results, cells: Sequence[Cell]) -> str:
    by_block: dict[int, Cell] = {}
    for cell in sorted(cells):
        best = by_block.get(cell.block_size)
        if best is None or _share(results, cell) > _share(results, best):
            by_block[cell.block_size] = cell
    solved = [cell for cell in by_block.values() if _share(results, cell)]
    never = sorted(block for block, cell in by_block.items() if cell not in solved)
    parts = [
        f"blocks of {cell.block_size} in {_share(results, cell):.0%} of the runs "
        f"(r = {cell.resamples})"
        for cell in solved
    ]
    if never:
        parts.append(f"blocks of {listed(never)} never")
    return listed(parts)


def _share(results: Results, cell: Cell) -> float:
    return results.summaries[cell].solved / results.summaries[cell].runs


def why_the_bandit_fails(results: Results) -> Iterator[str]:
    """Explain what k = 1/2 does on noisy Royal Road, and say what other weights k do."""
    cells = exploration_cells(results)
    halves = [cell for cell in cells if cell.k == 0.5]
    if not halves:
        return
    solved = sum(results.summaries[cell].solved for cell in halves)
    runs = sum(results.summaries[cell].runs for cell in halves)
    if solved < runs:
        half = halves[0]
        most = max((c for c in cells if c.resamples == half.resamples), key=lambda c: c.k)
        fails = "does not solve it" if not solved else f"fails in {1 - solved / runs:.0%} of runs"
        yield (
            f"**Why the bandit with k = 1/2 {fails}** (n = {half.n}, blocks of {half.block_size}, "
            f"r = {listed(c.resamples for c in halves)}). In a block that is not complete a flip "
            "changes nothing, so what is credited is noise: S_i(v) does a random walk, and since "
            "credit goes both ways, max_v S_i(v) = |S_i| is never negative. A gene that was lucky "
            "or unlucky early looks as if one of its values were good, whichever that is, and is "
            "left alone; the explore term, k·sqrt(ln(T+1)/n_i), grows slowly. The genes that "
            "happen to be balanced are mutated instead: with k = 1/2 the busiest tenth of the "
            f"genes gets {busiest_share(results, half):.0%} of all mutations, and with "
            f"k = {most.k:g} {busiest_share(results, most):.0%}. (Evenly spread it would be "
            f"{math.ceil(half.n / 10) / half.n:.0%}.) A block can be completed only if all of its "
            "genes go on being tried. Without noise the problem does not arise: differences of 0 "
            "are credited, and all genes of incomplete blocks stay equally urgent."
        )
    yield " ".join(_what_k_does(results, cells))


def _what_k_does(results: Results, cells: Sequence[Cell]) -> Iterator[str]:
    first = cells[0]
    yield (
        "**What another k does.** k is in units of fitness; here a block is worth "
        f"{first.block_size}, and the noise has a standard deviation of {first.noise_sd:g}."
    )
    for r in sorted({cell.resamples for cell in cells}):
        weights = sorted((cell for cell in cells if cell.resamples == r), key=lambda c: -c.k)
        enough = None
        for cell in weights:
            if _share(results, cell) < 1:
                break
            enough = cell.k
        yield (
            f"With r = {r} no k from {weights[-1].k:g} to {weights[0].k:g} solves every run."
            if enough is None
            else f"With r = {r} every run is solved from k = {enough:g} on."
        )
    rivals = [
        cell
        for cell in results.plan.cells["noisy-royal-road"]
        if (cell.algorithm, cell.n, cell.block_size) == ("rmhc", first.n, first.block_size)
    ]
    ours, theirs = _lowest(results, cells), _lowest(results, rivals)
    if ours is None:
        return
    best, ert = ours
    text = f"The bandit's lowest ERT is {ert:,.0f}, with k = {best.k:g} and r = {best.resamples}"
    if theirs is None:
        yield f"{text}."
        return
    rival, bound = theirs
    yield (
        f"{text} (RMHC's is {bound:,.0f}, with r = {rival.resamples}: {bound / ert:.1f} times as "
        f"many); below that of RMHC are {_below(results, cells, bound)}."
    )


def _lowest(results: Results, cells: Iterable[Cell]) -> tuple[Cell, float] | None:
    erts = [(cell, ert) for cell in cells if (ert := results.summaries[cell].ert) is not None]
    return min(erts, key=lambda pair: pair[1]) if erts else None


def _below(results: Results, cells: Sequence[Cell], bound: float) -> str:
    parts = []
    for r in sorted({cell.resamples for cell in cells}):
        weights = [
            f"{cell.k:g}"
            for cell in cells
            if cell.resamples == r
            and (ert := results.summaries[cell].ert) is not None
            and ert < bound
        ]
        if weights:
            parts.append(f"k = {listed(weights)} with r = {r}")
    return "; ".join(parts) or "none of these k"


# --- experiment 5 -------------------------------------------------------------------------------


def reading_name(reading: str, k: float) -> str:
    """Name a reading of the urgency as the table of experiment 5 does."""
    if reading != "published":
        return reading
    return "the reading used here" if k == 0.5 else f"the same with k = {k:g}"


def reading_problems(results: Results) -> list[Cell]:
    """List what each reading was tried on, as cells with the published reading."""
    cells = results.plan.cells["readings"]
    return list(dict.fromkeys(replace(cell, reading="published", k=0.5) for cell in cells))


def problem_name(cell: Cell) -> str:
    """Name a problem of experiment 5 as the head of a column."""
    return cell.label.replace(" bandit", "")


def fits(ours: Summary, theirs: Published) -> bool:
    """Say whether nothing speaks against these runs being of the published algorithm."""
    if ours.solved < ours.runs:
        return False
    z = z_score(ours.mean, ours.standard_error, theirs.mean, theirs.standard_error)
    return z is None or abs(z) <= FAR


def which_reading_fits(results: Results) -> Iterator[str]:
    """Say which readings give the published numbers, and where the others do not."""
    yield (
        "The reading used here has sums credited both ways over n_i = 1 + the mutations of the "
        "gene, ln(T+1) with T the evaluations of the whole run, and k = 1/2. “Printed” is "
        "equation 5 to the letter, in which a value never reached has infinite urgency; “no "
        "reverse credit” credits the new value only; “logarithm per gene” has ln(n_i+1) for "
        "ln(T+1)."
    )
    published = {row.cell: row for row in published_results()}
    problems = [cell for cell in reading_problems(results) if cell in published]
    off = {
        problem: [
            reading_name(reading, k)
            for reading, k in reading_variants()
            if not fits(results.summaries[replace(problem, reading=reading, k=k)], row)
        ]
        for problem in problems
        for row in (published[problem],)
    }
    names = [reading_name(*variant) for variant in reading_variants()]
    fitting = [name for name in names if not any(name in wrong for wrong in off.values())]
    if not fitting:
        verdict = "No reading fits every column."
    elif len(fitting) == 1:
        verdict = f"Only one of {len(names)} fits every column: {fitting[0]}."
    else:
        verdict = (
            f"{len(fitting)} of {len(names)} fit every column, so these runs do not tell them "
            f"apart: {'; '.join(fitting)}."
        )
    yield (
        "A reading fits a column if all of its runs are solved and their mean is within "
        f"|z| = {FAR} of the published one. **{verdict}** Those that do not fit: "
        + "; ".join(
            f"in {problem_name(problem)}, {listed(wrong) if wrong else 'none'}"
            for problem, wrong in off.items()
        )
        + "."
    )
    yield "Means over solved runs; the share of solved runs where it is not all."


# --- experiment 6 -------------------------------------------------------------------------------


def beside_the_authors_ending(results: Results) -> str | None:
    """Hold our runs of 10 bits with r = 1 against what the authors reported later, and say why."""
    for cell in results.plan.cells["endings"]:
        if (cell.n, cell.algorithm, cell.resamples) == (10, "rmhc", 1):
            break
    else:
        return None
    evaluations = cell.checkpoints[-1]
    hit, end, *_ = ending_values(results, cell, len(cell.checkpoints) - 1)
    exact_hit, exact_end = theory.noisy_rmhc_ending(cell.n, cell.resamples, evaluations // 2)
    p = theory.correct_comparison(cell.resamples)
    return (
        f"The authors later reported for RMHC with r = 1 on 10 bits and 500 evaluations that "
        f"{THE_AUTHORS_HIT} % of the runs had hit the optimum and {THE_AUTHORS_END} % ended on it. "
        f"Here it is {100 * hit:.0f} % and {100 * end:.0f} % after {evaluations} evaluations. That "
        "is another climber: theirs has no running mean, and forgets what it knew of its genome "
        f"at every comparison. For such a climber the exact values after {evaluations // 2} "
        f"comparisons are {100 * exact_hit:.1f} % and {100 * exact_end:.2f} %, the latter being "
        f"p^n = {p:.4f}^{cell.n}, where it settles; how theirs counted evaluations up to the first "
        "hit is not known. RMHC as it is run here keeps the mean of all evaluations of its genome, "
        "as the paper's Algorithm 2 does, and it is this one that experiment 2 holds against the "
        "published numbers."
    )
