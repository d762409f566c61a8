"""The traits of a state row's ruleset: one function each, which reads one word of bits.

The bits are those of ``Ruleset.traits``, the sections those of docs/rules.md. No other compiled
code reads that word but ``row.stone_moves``, which the row's own index needs.
"""

from __future__ import annotations

from thud_env.jit.compile import inlined
from thud_env.rules.row import TRAITS
from thud_env.rulesets import (
    DWARFS_HURL,
    DWARFS_SANDWICH,
    SCORED_BY_POINTS,
    SHOVES_TAKE_ALL,
    STEP_BITS,
    STONE_GOES_FAR,
    STONE_WINS,
    TROLLS_CAPTURE_BESIDE,
    TROLLS_KEEP_OFF_EDGE,
    TROLLS_TRAMPLE,
)


@inlined
def dwarfs_hurl(row):
    """Whether dwarfs capture by hurling one of their own (section 2)."""
    return row[TRAITS] & DWARFS_HURL != 0


@inlined
def dwarfs_sandwich(row):
    """Whether dwarfs capture the trolls between them (section 3)."""
    return row[TRAITS] & DWARFS_SANDWICH != 0


@inlined
def trolls_capture_beside(row):
    """Whether trolls step and shove, and capture beside where they land (section 2)."""
    return row[TRAITS] & TROLLS_CAPTURE_BESIDE != 0


@inlined
def trolls_trample(row):
    """Whether trolls jump over dwarfs, which captures them (section 3)."""
    return row[TRAITS] & TROLLS_TRAMPLE != 0


@inlined
def trolls_keep_off_edge(row):
    """Whether trolls may neither end a move on the edge nor pass over it (section 4)."""
    return row[TRAITS] & TROLLS_KEEP_OFF_EDGE != 0


@inlined
def step_captures(row):
    """What a step may capture: STEP_TAKES_NONE .. STEP_TAKES_ALL (section 2)."""
    return (row[TRAITS] >> STEP_BITS) & 3


@inlined
def shoves_take_all(row):
    """Whether a shove captures all adjacent dwarfs, or any one or more (section 2)."""
    return row[TRAITS] & SHOVES_TAKE_ALL != 0


@inlined
def stone_goes_far(row):
    """Whether the stone is a ball, which goes any distance (section 4)."""
    return row[TRAITS] & STONE_GOES_FAR != 0


@inlined
def stone_wins(row):
    """Whether the stone on a goal square, or trolls around it, end the battle (section 3)."""
    return row[TRAITS] & STONE_WINS != 0


@inlined
def scored_by_points(row):
    """Whether the pieces left are counted (section 2), or the result alone (section 3)."""
    return row[TRAITS] & SCORED_BY_POINTS != 0
