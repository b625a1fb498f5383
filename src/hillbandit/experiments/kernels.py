"""The climbers compiled: for the same seeds exactly the runs that the ask/tell classes give.

Each kernel takes the climber's generator, from which the start has been drawn already, and the
noise's. OneMax is Royal Road with blocks of one bit, so every kernel knows only blocks: a block of
ones adds its size, and with a count of the zeros in each block a flip costs O(1).

Three things make them fast, and none of them changes a run:

- The mean of r Gaussian samples is one draw of standard deviation sd/sqrt(r), added r times, so
  that sums round as they do in a class that is told this mean r times.
- A binary gene is credited both ways, so S_i(0) = -S_i(1) to the last bit, and the best of the two
  is their absolute value: one number per gene.
- An urgency is a line in c = sqrt(ln(T + 1)), which only grows: rescue_i + c · width_i. A line
  changes for one gene at a time, and which line is highest changes only where two cross. Until the
  nearest crossing nothing is compared again (a *certificate*). Certificates end a little before the
  crossing, where the very expression of the class decides.

All compiled functions are in this one file, because Numba's cache looks for changes in the file of
the function that is called, and not in those of the functions it calls.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np
from numpy.typing import NDArray

Function = TypeVar("Function", bound=Callable[..., Any])
Outcome = tuple[int, bool]
"""The evaluations until the genome climbed from was the optimum, or all of them, and whether."""

NEVER = 2**62
BATCH = 256
"""Random numbers are drawn so many at a time: the same stream, at a third of the cost."""
FILE = 32
"""Genes of which one is looked up together, about the square root of the paper's largest n."""
LAST = -1e300
"""The rescue term of a place that no gene takes."""
MARGIN = 1e-12
"""Two urgencies closer than this, relative to their size, are compared in full. Rounding moves
them by less than 1e-15 of their size."""


def compiled(function: Function) -> Function:
    """Compile a function, and keep the machine code where that is possible.

    Numba raises when neither the package's folder nor the user's cache can be written, as in a
    read-only installation; then the code is compiled once per process.
    """
    # No NaN and no signed zero matter here: maxima may be taken four at a time. Nothing that
    # changes a rounding (contraction, reassociation) is allowed.
    options: dict[str, Any] = {"nogil": True, "fastmath": {"nnan", "nsz"}}
    try:
        return numba.njit(cache=True, **options)(function)  # type: ignore[no-any-return]
    except RuntimeError:
        return numba.njit(**options)(function)  # type: ignore[no-any-return]


# --- the problem ------------------------------------------------------------------------------


@compiled
def zeros_in_blocks(genome: NDArray[np.int64], block: int) -> NDArray[np.int64]:
    """Count the zeros in each block; a block without any is complete."""
    zeros = np.zeros(len(genome) // block, dtype=np.int64)
    for i in range(len(genome)):
        zeros[i // block] += 1 - genome[i]
    return zeros


@compiled
def complete_blocks(zeros: NDArray[np.int64]) -> int:
    """Count the complete blocks."""
    complete = 0
    for missing in zeros:
        if missing == 0:
            complete += 1
    return complete


@compiled
def blocks_of_genes(n: int, block: int) -> NDArray[np.int64]:
    """Look up the block of each gene, because a division by a variable is slow."""
    return np.arange(n) // block


# --- RMHC -------------------------------------------------------------------------------------


@compiled
def rmhc_noise_free(
    rng: np.random.Generator, genome: NDArray[np.int64], block: int, budget: int
) -> Outcome:
    """Run RMHC without noise; `genome` is the start and becomes the end."""
    n = len(genome)
    zeros = zeros_in_blocks(genome, block)
    where = blocks_of_genes(n, block)
    left = len(zeros) - complete_blocks(zeros)
    uniform, drawn = np.empty(BATCH), BATCH
    evaluations = 1
    while left and evaluations < budget:
        if drawn == BATCH:
            uniform, drawn = rng.random(BATCH), 0
        gene = int(uniform[drawn] * n)
        drawn += 1
        evaluations += 1
        at = where[gene]
        value, missing = genome[gene], zeros[at]
        # one rare branch for both kinds of change: value 1 in a complete block, the last 0 in one
        if value + missing != 1:
            genome[gene] = 1 - value
            zeros[at] = missing + 2 * value - 1
        elif missing:
            genome[gene] = 1
            zeros[at] = 0
            left -= 1
    return evaluations, left == 0


@compiled
def rmhc_noisy(
    rng: np.random.Generator,
    noise: np.random.Generator,
    genome: NDArray[np.int64],
    block: int,
    sd: float,
    resamples: int,
    budget: int,
) -> Outcome:
    """Run RMHC under noise (Algorithm 2 with a random gene)."""
    n = len(genome)
    zeros = zeros_in_blocks(genome, block)
    where = blocks_of_genes(n, block)
    left = len(zeros) - complete_blocks(zeros)
    fitness = float(n - left * block)
    spread = sd / math.sqrt(resamples)
    base_total = fitness + sd * noise.standard_normal()
    base_count = 1
    uniform, normal, drawn = np.empty(BATCH), np.empty(2 * BATCH), BATCH
    evaluations = 1
    while left and evaluations + 2 * resamples <= budget:
        if drawn == BATCH:
            uniform, drawn = rng.random(BATCH), 0
            normal = noise.standard_normal(2 * BATCH)
        gene = int(uniform[drawn] * n)
        at = where[gene]
        change = gain(genome[gene], zeros[at], block)
        base_mean = fitness + spread * normal[2 * drawn]
        child_mean = fitness + change + spread * normal[2 * drawn + 1]
        drawn += 1
        child_total = 0.0
        for _ in range(resamples):
            base_total += base_mean
            child_total += child_mean
        base_count += resamples
        evaluations += 2 * resamples
        # a quotient has the sign of its numerator
        if child_total * base_count - base_total * resamples >= 0:
            fitness += change
            base_total, base_count = child_total, resamples
            zeros[at] += 2 * genome[gene] - 1
            genome[gene] = 1 - genome[gene]
            if change > 0:
                left -= 1
            elif change < 0:
                left += 1
    return (evaluations, True) if left == 0 else (budget, False)


@compiled
def gain(value: int, zeros: int, block: int) -> int:
    """Tell how the fitness changes when a gene of this value in a block with these zeros flips."""
    if value:
        return -block if zeros == 0 else 0
    return block if zeros == 1 else 0


# --- the bandit without noise -----------------------------------------------------------------


@compiled
def bandit_noise_free(
    rng: np.random.Generator,
    genome: NDArray[np.int64],
    tries: NDArray[np.int64],
    block: int,
    k: float,
    budget: int,
) -> Outcome:
    """Run Algorithm 1; `genome` is the start and becomes the end, `tries` receives n_i.

    Without noise differences are multiples of the block size, so that many genes share a line: all
    those of unsolved blocks that were tried equally often. The genes on the highest line are kept
    in a list in their order; one after the other is drawn from it and leaves it, and all genes are
    looked at again only when it is empty or its certificate ends.
    """
    n = len(genome)
    zeros = zeros_in_blocks(genome, block)
    where = blocks_of_genes(n, block)
    left = len(zeros) - complete_blocks(zeros)
    credit = np.zeros(n)
    rescue = np.zeros(n)
    width = np.full(n, k)
    tries[:] = 1
    # 16 bits: drawing from the list moves the rest of it up by one
    group = np.empty(n, dtype=np.uint16)
    urgency = np.empty(n)
    size, until = 0, 0
    top_rescue, top_width = 0.0, k
    last_tries, last_credit, new_rescue, new_width = 1, 0.0, 0.0, k
    uniform, drawn = np.empty(BATCH), BATCH
    evaluations = 1
    while left and evaluations < budget:
        if size == 0 or evaluations > until:
            size, until = most_urgent_group(rescue, width, evaluations, urgency, group)
            top_rescue, top_width = rescue[group[0]], width[group[0]]
        chosen = 0
        if size > 1:
            if drawn == BATCH:
                uniform, drawn = rng.random(BATCH), 0
            chosen = int(uniform[drawn] * size)
            drawn += 1
        gene = take(group, size, chosen)
        size -= 1
        evaluations += 1
        at = where[gene]
        value, missing = genome[gene], zeros[at]
        if value + missing != 1:
            genome[gene] = 1 - value
            zeros[at] = missing + 2 * value - 1
        else:
            # either way the value 1 gains what the block is worth, so S_i(1) is never negative
            credit[gene] += block
            if missing:
                genome[gene] = 1
                zeros[at] = 0
                left -= 1
        tries[gene] += 1
        # genes of a group mostly move to one line together: divide and take roots once for all
        if tries[gene] != last_tries or credit[gene] != last_credit:
            last_tries, last_credit = tries[gene], credit[gene]
            new_rescue, new_width = -last_credit / last_tries, k / math.sqrt(last_tries)
        rescue[gene], width[gene] = new_rescue, new_width
        # The gene's line is now flatter than that of the group. If it is below it already at
        # c = 0.8 (c is 0.83 at T = 1), it stays below.
        lead = (top_rescue - new_rescue) + 0.8 * (top_width - new_width)
        if lead <= MARGIN * (1.0 - top_rescue):
            until = 0
    return evaluations, left == 0


@compiled
def take(group: NDArray[np.uint16], size: int, chosen: int) -> int:
    """Take one gene out of a list of so many; the others keep their order."""
    gene = int(group[chosen])
    # unsigned, so that no index can be one from the end, and many are moved at once
    for i in range(np.uint64(chosen), np.uint64(size - 1)):
        group[i] = group[i + np.uint64(1)]
    return gene


@compiled
def most_urgent_group(
    rescue: NDArray[np.float64],
    width: NDArray[np.float64],
    evaluations: int,
    urgency: NDArray[np.float64],
    group: NDArray[np.uint16],
) -> tuple[int, int]:
    """List the genes of the greatest urgency in `group`.

    Returns:
        How many there are, and until which T no other gene can be more urgent than these.
    """
    n = len(rescue)
    c = math.sqrt(math.log(evaluations + 1))
    highest = -np.inf
    for i in range(n):
        urgency[i] = rescue[i] + width[i] * c
        highest = max(highest, urgency[i])
    size = 0
    for i in range(n):
        group[min(size, n - 1)] = i
        size += urgency[i] == highest
    group_width = width[group[0]]
    margin = MARGIN * (1.0 + abs(highest) + group_width * c)
    crossing = np.inf
    for i in range(n):
        if urgency[i] == highest:
            # equal now but on another line: true at this T only
            ahead = np.inf if width[i] == group_width else -1.0
        else:
            lead = highest - urgency[i] - margin
            steeper = width[i] - group_width
            ahead = np.inf if lead > 0.0 else -1.0
            if steeper > 0.0:
                ahead = lead / steeper
        crossing = min(crossing, ahead)
    if crossing <= 0.0:
        return size, evaluations
    # ln(T + 1) = c²; beyond 40 no budget reaches
    square = (c + crossing) * (c + crossing)
    if square > 40.0:
        return size, NEVER
    return size, max(evaluations, int(math.exp(square) * (1.0 - 1e-9)) - 2)


# --- the bandit under noise -------------------------------------------------------------------


@compiled
def bandit_noisy(
    rng: np.random.Generator,
    noise: np.random.Generator,
    genome: NDArray[np.int64],
    tries: NDArray[np.int64],
    block: int,
    sd: float,
    resamples: int,
    k: float,
    budget: int,
) -> Outcome:
    """Run Algorithm 2; `genome` is the start and becomes the end, `tries` receives n_i.

    Under noise hardly two genes share a line, once each was tried. The genes stand in files of 32.
    Each file knows its leader and has a certificate. A mutation has one file looked at again; for
    the others the leaders are compared, and a file is looked at when its certificate has ended. All
    genes are compared only when there is a tie, or one is too close to tell.
    """
    n = len(genome)
    zeros = zeros_in_blocks(genome, block)
    where = blocks_of_genes(n, block)
    left = len(zeros) - complete_blocks(zeros)
    fitness = float(n - left * block)
    spread = sd / math.sqrt(resamples)
    base_total = fitness + sd * noise.standard_normal()
    base_count = 1
    credit = np.zeros(n)
    tries[:] = 1
    files = (n + FILE - 1) // FILE
    # the last file is filled up with places that never lead
    rescue, width = np.full(files * FILE, LAST), np.zeros(files * FILE)
    rescue[:n], width[:n] = 0.0, k
    # of each file: its leader, the leader's line, and the c until which it leads
    leader = np.zeros(files, dtype=np.int64)
    top_rescue, top_width, until = np.zeros(files), np.zeros(files), np.full(files, -1.0)
    # An untried gene has no rescue term and the greatest explore term, so those come first.
    group, untried = np.arange(n).astype(np.uint16), n
    normal, drawn = np.empty(2 * BATCH), BATCH
    evaluations = 1
    while left and evaluations + 2 * resamples <= budget:
        if untried:
            chosen = int(rng.random() * untried) if untried > 1 else 0
            gene = take(group, untried, chosen)
            untried -= 1
        else:
            c = math.sqrt(math.log(evaluations + 1))
            gene = leader_of_all(rng, c, rescue, width, leader, top_rescue, top_width, until)
        if drawn == BATCH:
            normal, drawn = noise.standard_normal(2 * BATCH), 0
        at = where[gene]
        value = genome[gene]
        change = gain(value, zeros[at], block)
        base_mean = fitness + spread * normal[2 * drawn]
        child_mean = fitness + change + spread * normal[2 * drawn + 1]
        drawn += 1
        child_total = 0.0
        for _ in range(resamples):
            base_total += base_mean
            child_total += child_mean
        base_count += resamples
        evaluations += 2 * resamples
        difference = (child_total * base_count - base_total * resamples) / (resamples * base_count)
        # S_i(1), which gains when the mutation was from 0 to 1
        credit[gene] += -difference if value else difference
        tries[gene] += 1
        rescue[gene] = -abs(credit[gene]) / tries[gene]
        width[gene] = k / math.sqrt(tries[gene])
        until[gene // FILE] = -1.0
        if difference >= 0:
            fitness += change
            base_total, base_count = child_total, resamples
            zeros[at] += 2 * value - 1
            genome[gene] = 1 - value
            if change > 0:
                left -= 1
            elif change < 0:
                left += 1
    return (evaluations, True) if left == 0 else (budget, False)


@compiled
def leader_of_all(
    rng: np.random.Generator,
    c: float,
    rescue: NDArray[np.float64],
    width: NDArray[np.float64],
    leader: NDArray[np.int64],
    top_rescue: NDArray[np.float64],
    top_width: NDArray[np.float64],
    until: NDArray[np.float64],
) -> int:
    """Find the most urgent gene, looking only at files whose certificate has ended."""
    first, second, ahead = LAST, LAST, 0
    for i in range(len(leader)):
        if until[i] < c:
            leader[i], until[i] = leader_of_file(i, c, rescue, width)
            top_rescue[i], top_width[i] = rescue[leader[i]], width[leader[i]]
        urgency = top_rescue[i] + top_width[i] * c
        second = max(second, min(urgency, first))
        ahead = i if urgency > first else ahead
        first = max(first, urgency)
    if first == second or until[ahead] == c:
        return most_urgent(rng, first, c, rescue, width)
    return int(leader[ahead])


@compiled
def leader_of_file(
    file: int, c: float, all_rescue: NDArray[np.float64], all_width: NDArray[np.float64]
) -> tuple[int, float]:
    """Find the most urgent gene of a file, and until which c it is that.

    The certificate is a cautious one that needs no crossing of two lines: the second place gains on
    the leader at most by the steepest line of the file. It is c itself where the two are too close
    or equal. The loop has no branches, which the processor could not foresee.
    """
    rescue = all_rescue[file * FILE : file * FILE + FILE]
    width = all_width[file * FILE : file * FILE + FILE]
    first, second, leader, steepest = LAST, LAST, 0, 0.0
    for i in range(FILE):
        urgency = rescue[i] + width[i] * c
        second = max(second, min(urgency, first))
        leader = i if urgency > first else leader
        first = max(first, urgency)
        steepest = max(steepest, width[i])
    flat = width[leader]
    lead = first - second - MARGIN * (1.0 + abs(first) + flat * c)
    until = np.inf
    if lead <= 0.0:
        until = c
    elif steepest > flat:
        until = c + lead / (steepest - flat)
    return file * FILE + leader, until


@compiled
def most_urgent(
    rng: np.random.Generator,
    highest: float,
    c: float,
    rescue: NDArray[np.float64],
    width: NDArray[np.float64],
) -> int:
    """Choose among the genes whose urgency is the highest: the nth in their order, n at random."""
    ties, last = 0, 0
    for i in range(len(rescue)):
        if rescue[i] + width[i] * c == highest:
            ties += 1
            last = i
    if ties == 1:
        return last
    nth = int(rng.random() * ties)
    gene = -1
    while nth >= 0:
        gene += 1
        if rescue[gene] + width[gene] * c == highest:
            nth -= 1
    return gene
