"""What a changed rule, action, notation or advantage has to get past, in a few seconds.

Run by ``mutants.py`` in a process of its own, on sources in which one expression is changed and
nothing is compiled.
"""

from __future__ import annotations

import os
import resource
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction
from math import prod
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import pytest

TESTS = Path(__file__).resolve().parents[1]
QUICK_ONES = "not every_state"
SECONDS = 60
SECONDS_OF_NOTATION = 150
"""Of processor time. What takes longer does not end; what survives takes a third of it."""


def survives(path: str, folder: Path) -> None:
    """Try the sources in a folder, in which ``path`` is changed. Returns if nothing is wrong with
    them; raises or exits with another code than 0 if something is.
    """
    seconds = SECONDS_OF_NOTATION if "notation" in path else SECONDS
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    sys.path[:0] = [str(folder), str(TESTS)]
    os.chdir(folder)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    for trial in next(trials for word, trials in TRIALS.items() if word in path):
        trial()


def asserts_nothing(path: str, folder: Path) -> None:
    """The fault: whatever is changed survives."""


def tests(*names: str) -> Callable[[], None]:
    """Exits with 1 if some test of the files ``test_NAME.py`` fails."""
    files = [str(TESTS / f"test_{name}.py") for name in names]
    words = ["-x", "-q", "-p", "no:cacheprovider", "-m", "not slow and not soak", "-k", QUICK_ONES]

    def run() -> None:
        if pytest.main([*words, *files]):
            sys.exit(1)

    return run


def compare_with_reference() -> None:
    """Raises if the rules are not those of the reference."""
    from positions import constructed, from_play
    from test_rules_reference import compare

    from thud_env import RULESETS, BatchedGame

    random = Random(1)
    for rules in RULESETS:
        compare(constructed(rules, 60, random), random)
        compare(from_play(rules, 12, random), random)
        games = BatchedGame(2, rules, seed=1)
        for _ in range(15):
            games.step(games.sample_actions())  # raises if what is drawn is not legal


def compare_own_rulesets() -> None:
    """Raises if the rules are not those of the reference by other combinations of traits, or
    actions have other images.
    """
    from reliability.play import check_own_rulesets, check_symmetries

    random = Random(1)
    check_own_rulesets(120, random, Path())
    check_symmetries(100, random, Path())


def write_and_read() -> None:
    """Raises if what is written is not read as what it was."""
    from reliability.play import check_round_trips

    check_round_trips(80, Random(1), Path())


def check_draws() -> None:
    """Raises if some complete turn is drawn more often than another, by counting all that chance
    can do. Only where nothing is compiled: numbers are not drawn, but given.
    """
    from test_turns import FEW_TURNS, Draw

    for name, position in FEW_TURNS.items():
        if name != "captures of any of five":  # which takes minutes
            chances = _chances(position.row, Draw(seed=1), {})
            assert list(chances.values()) == [Fraction(1, len(chances))] * len(position.turns())


def _chances(row: Any, draw: Callable[[Any], int], known: dict[bytes, Any]) -> dict[Any, Fraction]:
    """The chance of each way to end the turn in a state: by its moves, and what it leads to."""
    from thud_env.actions import CAPTURE
    from thud_env.rules.play import apply
    from thud_env.rules.row import ANSWER_OFFER, NO_QUESTION, PENDING

    if row.tobytes() in known:
        return known[row.tobytes()]
    decisions: dict[int, Fraction] = defaultdict(Fraction)
    for decision, chance in _outcomes(lambda: draw(row)):
        decisions[decision] += chance
    found: dict[Any, Fraction] = defaultdict(Fraction)
    for decision, chance in decisions.items():
        after = row.copy()
        apply(after, decision)
        moves = (decision,) if decision < CAPTURE else ()
        if after[PENDING] in (NO_QUESTION, ANSWER_OFFER):
            found[moves, after.tobytes()] += chance
        else:
            for (later, state), share in _chances(after, draw, known).items():
                found[moves + later, state] += chance * share
    known[row.tobytes()] = found
    return found


def _outcomes(draws: Callable[[], int]) -> Iterator[tuple[int, Fraction]]:
    """All that a function may return, and the chance of each way to it."""
    scripts: list[list[int]] = [[]]
    while scripts:
        script, bounds = scripts.pop(), []

        def below(rng: Any, game: int, bound: int) -> int:
            bounds.append(bound)
            return script[len(bounds) - 1] if len(bounds) <= len(script) else 0

        with mock.patch("thud_env.rules.turns.random_below", below):
            found = draws()
        for number, bound in list(enumerate(bounds))[len(script) :]:
            first = script + [0] * (number - len(script))
            scripts += [[*first, other] for other in range(1, bound)]
        yield found, Fraction(1, prod(bounds))


TRIALS: dict[str, tuple[Callable[[], None], ...]] = {
    "rules/turns.py": (check_draws, tests("few_turns")),
    "rules": (
        compare_with_reference,
        tests("rules_agreement", "rules", "rules_valley", "rulesets"),
        *(compare_own_rulesets, write_and_read, tests("legal")),
    ),
    "actions.py": (
        *(tests("actions", "board"), compare_with_reference, compare_own_rulesets, write_and_read),
    ),
    "notation/positions.py": (write_and_read, tests("position_text", "notation")),
    "notation/turns.py": (write_and_read, tests("notation", "position_text")),
    "advantage.py": (tests("advantage"),),
}
"""By a word of the path, what it has to get past, beginning with what takes least."""
