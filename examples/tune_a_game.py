"""Tune a game: which settings make a simple player win most often?

Each evaluation plays a handful of games, so its value is a noisy win rate.

    python examples/tune_a_game.py           (a second)
    python examples/tune_a_game.py --quick   (what the tests run)
"""

import random
import sys
from typing import Any

import hillbandit as hb

SPACE = hb.Space(
    {
        "lives": [1, 2, 3, 5],
        "speed": range(1, 11),
        "shield": [False, True],
        "style": ["careful", "greedy", "random"],
    },
    # the game has no greedy player with a shield
    valid=lambda config: not (config["shield"] and config["style"] == "greedy"),
)
DANGER = {"careful": 0.10, "greedy": 0.22, "random": 0.30}
GAIN = {"careful": 1, "greedy": 3, "random": 2}


def win_rate(config: dict[str, Any], seed: int) -> float:
    """Play ten games with these settings; every trial brings its own seed."""
    rng = random.Random(seed)
    return sum(play(config, rng) for _ in range(10)) / 10


def play(config: dict[str, Any], rng: random.Random) -> bool:
    """Collect 60 points before the lives are gone or the 40 rounds are over."""
    lives, points = config["lives"], 0.0
    danger = DANGER[config["style"]] * (0.5 + 0.1 * config["speed"])
    for _ in range(40):
        points += GAIN[config["style"]] * config["speed"] / 5
        if rng.random() < danger * (0.6 if config["shield"] else 1.0):
            lives -= 1
            points -= 2 * config["lives"]  # more lives are slower to carry
        if lives == 0:
            return False
        if points >= 60:
            return True
    return False


def main() -> None:
    """Search with 400 evaluations, then show the answer and what mattered."""
    budget = 60 if "--quick" in sys.argv else 400
    result = hb.maximize(win_rate, SPACE, budget=budget, noisy=True, seed=1)
    print(result)


if __name__ == "__main__":
    main()
