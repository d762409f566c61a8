"""The match that new tables have to win before ``alphabeta`` plays with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import agents
from agents.alphabeta import AlphaBetaAgent
from agents.search.pattern_files import published_tables
from training.arena.battles import play_pairs
from training.arena.intervals import ENOUGH_PAIRS
from training.arena.openings import read_openings
from training.arena.summary import PairFigures

MATCH_STARTS = 100
"""The last starts of the book, which a match is played from, and self-play for a fit is not."""
MATCH_NODES = 6_000
"""Decisions that both players of a match may try for a turn: by some tables a search of the same
depth tries twice as many.
"""
NODES_WITHOUT_LINES = 9_000
"""Decisions that a search by tables without lines may try: it takes no longer for them."""


def play_match(newest: Path, rules: str, pairs: int) -> dict[str, Any]:
    """Play game pairs, ``MATCH_STARTS`` at most, of the new tables against the features and, if
    there are any, the tables that ``alphabeta`` plays with. ``won`` says whether the last match is
    won by more than its interval, in ``ENOUGH_PAIRS`` or more.
    """
    plain = f"alphabeta:nodes={MATCH_NODES}"
    opponents = {"features": f"{plain},evaluation=features"}
    before = published_tables(rules)
    if before is not None:
        nodes = MATCH_NODES if len(before.lines) else NODES_WITHOUT_LINES
        opponents["tables before"] = f"alphabeta:nodes={nodes}"
    held_out = read_openings(rules).starts[-MATCH_STARTS:]
    starts = np.stack([start.row for start in reversed(held_out[-pairs:])])
    report: dict[str, Any] = {"nodes": MATCH_NODES, "pairs": pairs}
    for name, spec in opponents.items():
        mine = AlphaBetaAgent(nodes=MATCH_NODES, weights=str(newest), seed=1)  # any path: no spec
        players = mine, agents.make(spec, 2)
        found = PairFigures.of(play_pairs(*players, pairs, rules, starts=starts))
        by_seat = {f"as {side}": margin.text(2) for side, margin in found.margins.items()}
        report[name] = {"both seats": found.total.text(2), **by_seat}
        report["won"] = pairs >= ENOUGH_PAIRS and found.total.low > 0
        print(f"{pairs} pairs, {plain} against the {name}, {spec}: {report[name]}")
    return report
