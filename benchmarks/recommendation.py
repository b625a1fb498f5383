"""Draw what the recommendation is worth under noise: docs/figures/recommendation.png.

    python benchmarks/recommendation.py

Noisy OneMax, 50 bits, noise N(0, 1), 200 runs of the bandit climber with r = 2. After each number
of evaluations: the share of runs in which the recommended, the current and the luckiest
configuration is the optimum.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np

import hillbandit as hb

mpl.use("Agg")
from matplotlib import pyplot as plt

N, RUNS, BUDGET, EVERY = 50, 200, 1200, 20
FIGURE = Path(__file__).parent.parent / "docs" / "figures" / "recommendation.png"


def main() -> None:
    """Run and draw."""
    looks = np.arange(EVERY, BUDGET + 1, EVERY)
    shares = {"recommend()": np.zeros(len(looks)), "current": np.zeros(len(looks))}
    shares["best_observed"] = np.zeros(len(looks))
    for seed in range(RUNS):
        optimizer = hb.BanditRMHC(hb.Space.binary(N), resamples=2, seed=seed)
        rng = np.random.default_rng([seed, 1])
        for i, noise in enumerate(rng.standard_normal((len(looks), EVERY))):
            for value in noise:
                trial = optimizer.ask()
                optimizer.tell(trial, float(trial.genome.sum()) + value)
            shares["recommend()"][i] += optimizer.recommend().genome.all()
            shares["current"][i] += optimizer.current.all()
            shares["best_observed"][i] += optimizer.best_observed.genome.all()
    figure, axes = plt.subplots(figsize=(7.2, 3.6), dpi=150)
    styles = {"recommend()": "#0072B2", "current": "#D55E00", "best_observed": "#666666"}
    for (name, hits), line in zip(shares.items(), ("-", "--", ":"), strict=True):
        share = hits / RUNS
        error = np.sqrt(share * (1 - share) / RUNS)
        axes.plot(looks, 100 * share, line, color=styles[name], label=name, linewidth=2)
        axes.fill_between(
            looks, 100 * (share - error), 100 * (share + error), color=styles[name], alpha=0.15
        )
    axes.set_xlabel("evaluations")
    axes.set_ylabel("is the optimum (% of runs)")
    axes.set_title("Noisy OneMax, 50 bits: which answer is right?", loc="left")
    axes.set_ylim(0, 101)
    axes.set_xlim(0, BUDGET)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, loc="lower right")
    figure.tight_layout()
    FIGURE.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(FIGURE)
    print(FIGURE)


if __name__ == "__main__":
    main()
