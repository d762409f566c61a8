"""What a changed rule, action, notation or advantage has to get past, in a few seconds.

Run by ``mutants.py`` in a process of its own, on sources in which one expression is changed and
nothing is compiled.
"""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path
from random import Random

import pytest

TESTS = Path(__file__).resolve().parents[1]
QUICK = {
    "rules": ("legal", "rules_agreement", "rules", "rules_valley", "rulesets"),
    "actions.py": ("actions", "board"),
    "notation": ("position_text", "notation"),
    "advantage.py": ("advantage",),
}
"""By a word of the path: tests that know more than the reference does."""
_QUICK_ONES = "not every_state"


SECONDS = 60
"""Of processor time. What takes longer does not end."""


def survives(path: str, folder: Path) -> None:
    """Try the sources in a folder, in which ``path`` is changed. Exits with 0 if nothing is wrong
    with them.
    """
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    sys.path[:0] = [str(folder), str(TESTS)]
    os.chdir(folder)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    if "advantage" not in path:
        _compare()
    files = next(names for word, names in QUICK.items() if word in path)
    failed = pytest.main(
        ["-x", "-q", "-p", "no:cacheprovider", "-m", "not slow and not soak", "-k", _QUICK_ONES]
        + [str(TESTS / f"test_{name}.py") for name in files]
    )
    sys.exit(int(failed))


def asserts_nothing(path: str, folder: Path) -> None:
    """The fault: whatever is changed survives."""


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
