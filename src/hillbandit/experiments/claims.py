"""The paper's claims, each with a verdict from our runs and the numbers behind it."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from hillbandit.experiments.explanations import listed
from hillbandit.experiments.results import Results, best_resamples
from hillbandit.experiments.statistics import FAR, Summary, slope, z_score

HOLDS, IN_PART, FAILS, OPEN = "holds", "holds in part", "does not hold", "not tested here"
MITCHELL_RMHC = 6179
"""RMHC on Royal Road R1 with 8 blocks of 8 bits: Mitchell, Forrest, Holland 1993."""
SMALL, LARGE = 100, 500
"""The paper's small n end, and its large n begin, about here."""
WIDE = 4
"""How many times the smallest n the largest must be before growth is judged."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What the paper says, whether that is so, and why we say that."""

    text: str
    verdict: str
    evidence: str


def judge_claims(results: Results) -> list[Claim]:
    """Judge every claim; those whose cells were not run are said to be not tested.

    Args:
        results: Our runs.
    """
    judged = []
    for text, judge in CLAIMS:
        try:
            verdict, evidence = judge(results)
        except _Missing as missing:
            verdict, evidence = OPEN, f"This plan has no {missing}."
        judged.append(Claim(text, verdict, evidence))
    return judged


class _Missing(LookupError):  # noqa: N818 - it is an answer, not a fault
    """The plan lacks what a claim is about."""


# --- looking things up ------------------------------------------------------------------------


def _found(results: Results, experiment: str, what: str, **wanted: object) -> dict[int, Summary]:
    """Find by n the summaries of an experiment's cells that have these columns.

    Other experiments may have run cells of the same kind; a claim is not about those.
    """
    found = {
        cell.n: results.summaries[cell]
        for cell in results.plan.cells.get(experiment, ())
        if all(getattr(cell, name) == value for name, value in wanted.items())
    }
    if not found:
        raise _Missing(what)
    return {n: found[n] for n in sorted(found)}


def _onemax(results: Results, algorithm: str) -> dict[int, float]:
    means = _solved(_found(results, "onemax", "noise-free OneMax", algorithm=algorithm))
    if not means:
        raise _Missing("solved noise-free OneMax")
    return means


def _noisy(results: Results, algorithm: str, r: int) -> dict[int, Summary]:
    what = f"noisy OneMax with r = {r}"
    return _found(results, "noisy-onemax", what, algorithm=algorithm, resamples=r)


def _road(results: Results, algorithm: str, block: int) -> dict[int, Summary]:
    what = f"Royal Road with blocks of {block}"
    return _found(results, "royal-road", what, algorithm=algorithm, block_size=block)


def _solved(found: dict[int, Summary]) -> dict[int, float]:
    return {n: s.mean for n, s in found.items() if s.mean is not None}


def _resamples(results: Results, *needed: int) -> list[int]:
    """List the values of r under noise, those that a claim needs being among them."""
    several = sorted({cell.resamples for cell in results.plan.cells.get("noisy-onemax", ())})
    if not several:
        raise _Missing("noisy OneMax")
    if not set(needed) <= set(several):
        raise _Missing(f"noisy OneMax with r = {listed(needed)}")
    return several


def _blocks(results: Results, *needed: int) -> list[int]:
    """List the block sizes without noise, those that a claim needs being among them."""
    blocks = sorted({cell.block_size for cell in results.plan.cells.get("royal-road", ())})
    if not blocks:
        raise _Missing("Royal Road")
    if not set(needed) <= set(blocks):
        raise _Missing(f"Royal Road with blocks of {listed(needed)}")
    return blocks


def _growing(means: dict[int, float], what: str) -> tuple[int, int]:
    """Give the ends of a range of n that is wide enough to speak of growth."""
    if not means or max(means) < WIDE * min(means):
        raise _Missing(f"{what} solved at two n of which one is {WIDE} times the other")
    return min(means), max(means)


def _linearity(exponent: float) -> str:
    """Judge a power of n that is said to be 1."""
    off = abs(exponent - 1)
    return HOLDS if off < 0.1 else IN_PART if off < 0.25 else FAILS


def _span(values: Iterable[float], form: str = ".2f") -> str:
    every = list(values)
    return f"{min(every):{form}} to {max(every):{form}}"


def _best_by_n(results: Results, algorithm: str) -> dict[int, tuple[int, float]]:
    """For each n from 50 on the r of the lowest ERT, and that ERT."""
    return {n: best for n, best in best_resamples(results, algorithm).items() if n >= 50}


# --- OneMax -----------------------------------------------------------------------------------


def _close_to_n(results: Results) -> tuple[str, str]:
    ratios = [mean / n for n, mean in _onemax(results, "bandit_rmhc").items()]
    verdict = HOLDS if max(abs(ratio - 1) for ratio in ratios) < 0.02 else FAILS
    return verdict, (
        f"Evaluations over n: {_span(ratios, '.3f')}. The exact expectation is n + 2^-n: every bit "
        "is tried once, in random order."
    )


def _five_times(results: Results) -> tuple[str, str]:
    bandit, rmhc = _onemax(results, "bandit_rmhc"), _onemax(results, "rmhc")
    ratios = {n: rmhc[n] / bandit[n] for n in rmhc if n in bandit}
    near = all(4 <= ratio <= 6 for ratio in ratios.values())
    return HOLDS if near else IN_PART, (
        f"RMHC needs {ratios[min(ratios)]:.1f} times as many at n = {min(ratios)} and "
        f"{ratios[max(ratios)]:.1f} times at n = {max(ratios)}, "
        f"{statistics.fmean(ratios.values()):.1f} times on average. The factor is about "
        "ln n - 0.1, so it grows without bound."
    )


def _stable_ratio(results: Results) -> tuple[str, str]:
    growth, parts = [], []
    for r in _resamples(results):
        means = {n: v for n, v in _solved(_noisy(results, "bandit_rmhc", r)).items() if n >= 100}
        if r < 2 or not means or max(means) < WIDE * min(means):
            continue
        low, high = min(means), max(means)
        growth.append((means[high] / high) / (means[low] / low))
        parts.append(
            f"r = {r}: {means[low] / low:.1f} at {low}, {means[high] / high:.1f} at {high}"
        )
    if not parts:
        raise _Missing(f"noisy OneMax with resampling at an n from 100 on and {WIDE} times that n")
    verdict = HOLDS if max(growth) < 1.1 else IN_PART if min(growth) < 1.1 else FAILS
    falls = len(growth) > 1 and growth == sorted(growth, reverse=True)
    return verdict, (
        f"Evaluations over n, bandit: {'; '.join(parts)}. It changes by a factor of "
        f"{_span(growth)}{', the less the larger r' if falls else ''}."
    )


def _linear_noisy(results: Results) -> tuple[str, str]:
    means = {n: v for n, v in _solved(_noisy(results, "bandit_rmhc", 2)).items() if n >= 50}
    low, high = _growing(means, "noisy OneMax with r = 2")
    exponent = slope(list(means), list(means.values()))
    return _linearity(exponent), (
        f"Bandit with r = 2: evaluations grow like n^{exponent:.2f} between n = {low} and "
        f"{high} (1 is linear)."
    )


def _best_is_two(results: Results) -> tuple[str, str]:
    _resamples(results, 1, 2, 3)
    best = {n: r for n, (r, _) in _best_by_n(results, "bandit_rmhc").items()}
    if not best:
        raise _Missing("noisy OneMax from n = 50 on")
    wins = sum(r == 2 for r in best.values())
    two, three = (_noisy(results, "bandit_rmhc", r) for r in (2, 3))
    text = [f"Bandit: r = 2 has the lowest ERT at {wins} of {len(best)} n from 50 on"]
    others = {n: r for n, r in best.items() if r != 2}
    if others:
        text.append("elsewhere " + ", ".join(f"r = {r} at n = {n}" for n, r in others.items()))
    behind = False
    zs = [
        z
        for a, b in ((three[n], two[n]) for n in best)
        if (z := z_score(a.mean, a.standard_error, b.mean, b.standard_error)) is not None
    ]
    if zs:
        behind = sum(zs) / len(zs) ** 0.5 < -FAR
        text.append(
            f"r = 3 less r = 2 has a mean z-score of {statistics.fmean(zs):+.1f} over these n"
        )
    verdict = HOLDS if 2 * wins > len(best) else FAILS if behind else IN_PART
    if verdict == IN_PART:
        text.append("these runs do not tell 2 from its neighbours")
    return verdict, "; ".join(text) + "."


def _large_r_for_rmhc(results: Results) -> tuple[str, str]:
    _resamples(results, 3, 4, 5, 10)
    best = {n: r for n, (r, _) in _best_by_n(results, "rmhc").items()}
    small = [r for n, r in best.items() if n <= SMALL]
    large = [r for n, r in best.items() if n >= LARGE]
    if not small or not large:
        raise _Missing(f"noisy OneMax solved both at an n of 50 to {SMALL} and from {LARGE} on")
    so = [all(r in (3, 4, 5) for r in small), all(r == 10 for r in large)]
    shown = ", ".join(f"{r} at {n}" for n, r in best.items())
    return HOLDS if all(so) else IN_PART if any(so) else FAILS, (
        f"RMHC: r of the lowest ERT by n: {shown}. Small is up to {SMALL} here, and large from "
        f"{LARGE} on."
    )


def _ratio_rises(results: Results) -> tuple[str, str]:
    parts, rises = [], []
    for r in _resamples(results):
        means = {n: v for n, v in _solved(_noisy(results, "rmhc", r)).items() if n >= 50}
        if r > 5 or len(means) < 2:
            continue
        low, high = min(means), max(means)
        rises.append(means[high] / high / (means[low] / low))
        parts.append(
            f"r = {r}: {means[low] / low:.0f} at n = {low}, {means[high] / high:.0f} at {high}"
        )
    if not parts:
        raise _Missing("noisy OneMax with small r at two n")
    return HOLDS if min(rises) > 1.5 else IN_PART, (
        f"RMHC, evaluations over n (solved runs only, so too low where runs failed): "
        f"{'; '.join(parts)}."
    )


def _factor_ten(results: Results) -> tuple[str, str]:
    _resamples(results, 2, 10)
    rmhc, bandit = _best_by_n(results, "rmhc"), _best_by_n(results, "bandit_rmhc")
    ratios = {n: rmhc[n][1] / bandit[n][1] for n in rmhc if n in bandit}
    if not ratios or max(ratios) < LARGE:
        raise _Missing(f"noisy OneMax solved by both from n = {LARGE} on")
    top = max(ratios.values())
    return HOLDS if top >= 10 else IN_PART if top > 1 else FAILS, (
        "ERT of RMHC over that of the bandit, each with its best r: "
        + ", ".join(f"{ratio:.1f} at n = {n}" for n, ratio in _some(ratios))
        + "."
    )


def _some(values: dict[int, float]) -> Iterator[tuple[int, float]]:
    """Choose the smallest, the largest and some n between."""
    sizes = list(values)
    step = max(1, (len(sizes) - 1) // 4)
    yield from ((n, values[n]) for n in dict.fromkeys([*sizes[::step], sizes[-1]]))


def _without_resampling(results: Results) -> tuple[str, str]:
    found = {n: s for n, s in _noisy(results, "rmhc", 1).items() if n >= 50}
    if not found:
        raise _Missing("noisy OneMax with r = 1 from n = 50 on")
    solved = {n: s.solved / s.runs for n, s in found.items()}
    some = {n: share for n, share in solved.items() if share}
    never = [n for n in solved if n not in some]
    parts = [f"{share:.0%} of the runs are solved at n = {n}" for n, share in some.items()]
    if never:
        where = f"n = {never[0]}" if len(never) == 1 else f"the {len(never)} n from {never[0]} on"
        parts.append(
            f"none at {where}" if never == list(solved)[-len(never) :] else "none elsewhere"
        )
    verdict = HOLDS if not some else IN_PART if never else FAILS
    return verdict, (
        f"RMHC with r = 1 within 1000·n evaluations: {', '.join(parts)}. (The archive has a mean "
        "at n = 50 as well.)"
    )


def _ten_bits(results: Results) -> tuple[str, str]:
    several = _resamples(results, 1)
    parts, best = [], []
    for algorithm, name in (("rmhc", "RMHC"), ("bandit_rmhc", "bandit")):
        ert = {
            r: summary.ert
            for r in several
            if (summary := _noisy(results, algorithm, r).get(10)) and summary.ert is not None
        }
        if 1 not in ert or len(ert) < 2:
            raise _Missing("noisy OneMax at n = 10 with and without resampling")
        best.append(min(ert, key=lambda r: ert[r]))
        parts.append(f"{name} " + ", ".join(f"{v:.0f} (r = {r})" for r, v in ert.items()))
    verdict = HOLDS if best == [1, 1] else IN_PART if 1 in best else FAILS
    return verdict, f"ERT at n = 10: {'; '.join(parts)}."


# --- Royal Road -------------------------------------------------------------------------------


def _bigger_is_harder(results: Results) -> tuple[str, str]:
    if len(_blocks(results)) < 2:
        raise _Missing("Royal Road with two block sizes")
    wrong, parts = 0, []
    for algorithm, name in (("rmhc", "RMHC"), ("bandit_rmhc", "bandit")):
        by_block = {b: _road(results, algorithm, b) for b in _blocks(results)}
        n = max(set.intersection(*(set(found) for found in by_block.values())))
        erts = {b: by_block[b][n].ert for b in by_block}
        ranked = [value if value is not None else float("inf") for value in erts.values()]
        wrong += ranked != sorted(ranked)
        shown = ", ".join(
            f"{b}: {'unsolved' if ert is None else f'{ert:,.0f}'}" for b, ert in erts.items()
        )
        parts.append(f"{name} at n = {n}, ERT by block size {shown}")
    return HOLDS if not wrong else FAILS, "; ".join(parts) + "."


def _fewer_on_royal_road(results: Results) -> tuple[str, str]:
    ratios: dict[int, list[float]] = {}
    for block in _blocks(results):
        rmhc, bandit = (_solved(_road(results, a, block)) for a in ("rmhc", "bandit_rmhc"))
        pairs = [rmhc[n] / bandit[n] for n in rmhc if n in bandit]
        if pairs:
            ratios[block] = pairs
    if not ratios:
        raise _Missing("solved Royal Road")
    lowest = min(min(pairs) for pairs in ratios.values())
    return HOLDS if lowest > 1.5 else IN_PART if lowest > 1 else FAILS, (
        "RMHC needs, times the bandit's evaluations: "
        + "; ".join(f"block {block}: {_span(pairs, '.1f')}" for block, pairs in ratios.items())
        + "."
    )


def _linear_royal_road(results: Results) -> tuple[str, str]:
    exponents = {}
    for block in _blocks(results):
        means = _solved(_road(results, "bandit_rmhc", block))
        if means and max(means) >= WIDE * min(means):
            exponents[block] = slope(list(means), list(means.values()))
    if not exponents:
        raise _Missing(f"Royal Road solved at two n of which one is {WIDE} times the other")
    verdict = _linearity(max(exponents.values(), key=lambda exponent: abs(exponent - 1)))
    shown = ", ".join(f"n^{e:.2f} for block {block}" for block, e in exponents.items())
    return verdict, f"Bandit: evaluations grow like {shown} (1 is linear)."


def _half_of_mitchell(results: Results) -> tuple[str, str]:
    ours = _road(results, "bandit_rmhc", 8).get(64)
    if ours is None or ours.mean is None:
        raise _Missing("Royal Road of 64 bits with blocks of 8")
    share = ours.mean / MITCHELL_RMHC
    error = ours.standard_error or 0.0
    return HOLDS if 0.4 <= share <= 0.6 else IN_PART if share < 1 else FAILS, (
        f"Bandit: {ours.mean:,.0f} ± {error:,.0f}, which is {share:.2f} of Mitchell's "
        f"{MITCHELL_RMHC:,} (published: 2,986 ± 117, or 0.48)."
    )


def _unsolved_blocks(results: Results) -> tuple[str, str]:
    _blocks(results, 16, 32)
    parts, total, runs = [], 0, 0
    for algorithm, name in (("rmhc", "RMHC"), ("bandit_rmhc", "bandit")):
        for block in (16, 32):
            found = _road(results, algorithm, block)
            runs += sum(s.runs for s in found.values())
            solved = {n: s.solved for n, s in found.items() if s.solved}
            total += sum(solved.values())
            shown = ", ".join(f"{count} at n = {n}" for n, count in solved.items())
            parts.append(f"{name}, block {block}: {shown or 'none'}")
    verdict = HOLDS if total <= 0.01 * runs else IN_PART if total <= 0.1 * runs else FAILS
    return verdict, (
        f"Runs solved within 1000·n evaluations: {'; '.join(parts)}. The figures of the paper show "
        "none; the archive has one run of the bandit at 64 bits and blocks of 16."
    )


CLAIMS: tuple[tuple[str, Callable[[Results], tuple[str, str]]], ...] = (
    ("Bandit RMHC needs close to n evaluations on noise-free OneMax.", _close_to_n),
    ("RMHC requires about 5 times more on noise-free OneMax.", _five_times),
    ("Under noise, with resampling, the bandit's evaluations over n remain stable.", _stable_ratio),
    ("With r = 2 the bandit's evaluations grow almost linearly with n.", _linear_noisy),
    ("The bandit's best number of resamples is 2.", _best_is_two),
    ("RMHC is best with r = 10 at large n, and with 3, 4 or 5 at small n.", _large_r_for_rmhc),
    ("With few resamples RMHC's evaluations over n increase noticeably.", _ratio_rises),
    ("Under noise the bandit needs up to ten times fewer evaluations than RMHC.", _factor_ten),
    ("RMHC without resampling does not solve noisy OneMax.", _without_resampling),
    ("Resampling does not help on short strings, n = 10.", _ten_bits),
    ("On Royal Road a bigger block is a harder problem.", _bigger_is_harder),
    ("On Royal Road the bandit needs far fewer evaluations than RMHC.", _fewer_on_royal_road),
    ("For a fixed block size the bandit is linear in n on Royal Road.", _linear_royal_road),
    ("On 8 blocks of 8 it needs half of the evaluations of Mitchell's RMHC.", _half_of_mitchell),
    ("Blocks of 16 and 32 are not solved within the budget.", _unsolved_blocks),
)
