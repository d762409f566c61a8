"""Write ``thud.perft``, the published suite of turn counts, beside this file.

    python tests/data/make_perft.py

The counts come from the compiled rules. The slow reference of the tests must agree: on every
position's D1, on D2 where it is not too large, and on the D3 of the starts, which takes the
reference some minutes.
"""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import reference  # noqa: E402 - found through the line above
from positions import constructed, from_play, state_of, text_of  # noqa: E402

from thud_env import Position  # noqa: E402
from thud_env.perft import perft  # noqa: E402

FROM_PLAY, CONSTRUCTED = 18, 28
"""Positions of each ruleset."""
CHECKED = 30_000
"""The reference counts D2 again where it is at most this."""
HEADER = """\
# Thud perft: how many sequences of complete turns there are from a position.
# One position a line: ruleset | position text;D1 turns;D2 sequences of two;D3 of three
# Position text: rows 1 to 15 from the top, side to move, -, quiet turns, turns played (limits 200
# and 800). Two turns differ if their paths or the sets of pieces captured do. A battle that is
# over has no turns. Written by make_perft.py; free to use.
"""


def positions(rules: str) -> list[reference.State]:
    """The start with either side to move, midgame, and awkward positions."""
    random = Random(f"suite {rules}")
    start = reference.start(rules)
    played = [
        state
        for state in from_play(rules, 40 * FROM_PLAY, random)
        if reference.outcome(state) is None
    ]
    awkward = [
        state
        for state in constructed(rules, 20 * CONSTRUCTED, random)
        if reference.outcome(state) is None
    ]
    distinct = dict.fromkeys(
        [
            start,
            start._replace(side="t"),
            *random.sample(played, FROM_PLAY),
            *random.sample(awkward, CONSTRUCTED),
        ]
    )
    return list(distinct)


def line(rules: str, state: reference.State) -> str:
    position = Position.from_text(text_of(state), rules)
    assert state_of(position) == state
    deepest = 3 if state == reference.start(rules) else 2
    counts = {depth: perft(position, depth) for depth in range(1, deepest + 1)}
    for depth, count in counts.items():
        if depth != 2 or count <= CHECKED:
            assert reference.perft(state, depth) == count, (position, depth)
    return f"{rules} | {position.text}" + "".join(f";D{depth} {n}" for depth, n in counts.items())


def main() -> None:
    lines = [line(rules, state) for rules in reference.RULES for state in positions(rules)]
    (HERE / "thud.perft").write_text(HEADER + "\n".join(lines) + "\n", encoding="utf-8")
    print(len(lines), "positions")


if __name__ == "__main__":
    main()
