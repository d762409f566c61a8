"""What a changed rule, action, notation or advantage has to get past, in a few seconds.

Run by ``mutants.py`` in a process of its own, on sources in which one expression is changed and
nothing is compiled: ``python -m reliability.battery``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random

import pytest

TESTS = Path(__file__).resolve().parents[1]
QUICK = {
    "rules": ("rules_agreement", "rules", "rules_valley", "rulesets"),
    "actions.py": ("actions", "board"),
    "notation": ("position_text", "notation"),
    "advantage.py": ("advantage",),
}
"""By a word of the path: tests that know more than the reference does."""
_QUICK_ONES = "not every_state"


def main(path: str) -> int:
    """Try the sources; the exit code is not 0 if they are wrong."""
    files = next(names for word, names in QUICK.items() if word in path)
    failed = pytest.main(
        ["-x", "-q", "-p", "no:cacheprovider", "-m", "not slow and not soak", "-k", _QUICK_ONES]
        + [str(TESTS / f"test_{name}.py") for name in files]
    )
    if not failed and "advantage" not in path:
        _compare()
    return int(failed)


def _compare() -> None:
    """Raises if the rules are not those of the reference, or paths and notation disagree."""
    from positions import constructed, from_play
    from test_rules_reference import compare

    from reliability.play import check_own_rulesets, check_round_trips, check_symmetries
    from thud_env import RULESETS, BatchedGame

    random = Random(1)
    for rules in RULESETS:
        compare(constructed(rules, 60, random), random)
        compare(from_play(rules, 12, random), random)
        games = BatchedGame(2, rules, seed=1)
        for _ in range(15):
            games.step(games.sample_actions())  # raises if what is drawn is not legal
    check_own_rulesets(120, random, Path())
    check_round_trips(80, random, Path())
    check_symmetries(100, random, Path())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
