"""What auxiliary heads learn: the result, and which pieces are there at the end."""

from __future__ import annotations

import numpy as np
import pytest

from agents.networks.legal_policy import TABLES
from thud_env import BatchedGame
from thud_env.actions import CAPTURE
from thud_env.board import CELL_OF_SQUARE, SIZE, STRIDE
from thud_env.rules.play import margin
from thud_env.rules.row import DWARF, TROLL
from training.learner.targets import UNKNOWN, endings

GAMES, STEPS = 8, 150
POINTS = (CELL_OF_SQUARE // STRIDE - 1) * SIZE + CELL_OF_SQUARE % STRIDE


@pytest.mark.parametrize("rules", ["classic", "classic-all", "koom-valley", "koom-valley-football"])
def test_endings_equal_following_every_piece_by_name(rules: str) -> None:
    games = BatchedGame(GAMES, rules, observations=False, masks=None, max_turns=40, seed=3)
    rows, ended, finals, margins, actions, movers = [], [], [], [], [], []
    for _ in range(STEPS):
        rows.append(games.rows.copy())
        movers.append(games.to_move.copy())
        actions.append(games.sample_actions().copy())
        games.step(actions[-1])
        over = games.terminated | games.truncated
        ended.append(over.copy())
        for game in np.flatnonzero(over):
            finals.append(games.final_rows[game].copy())
            margins.append(int(margin(finals[-1])))
    results, survival = endings(
        np.stack(rows), games.rows.copy(), np.stack(ended), np.stack(finals), np.array(margins)
    )
    checked = captured = 0
    for game in range(GAMES):
        last = max(t for t in range(STEPS) if ended[t][game])
        assert (results[last + 1 :, game] == UNKNOWN).all()
        assert (survival[last + 1 :, game] == UNKNOWN).all()
        first = 0
        for t in range(last + 1):
            if not ended[t][game]:
                continue
            number = int(np.stack(ended)[:t].sum() + ended[t][:game].sum())
            names = follow(
                [rows[s][game] for s in range(first, t + 1)],
                [int(actions[s][game]) for s in range(first, t + 1)],
                finals[number],
            )
            alive = set(names[-1].values())
            for s, standing in zip(range(first, t + 1), names[:-1], strict=True):
                sign = np.sign(margins[number]) * (1 if movers[s][game] == 0 else -1)
                assert results[s, game] == 1 + sign
                wanted = np.full(225, UNKNOWN)
                for point, name in standing.items():
                    wanted[point] = name in alive
                    captured += name not in alive
                np.testing.assert_array_equal(survival[s, game], wanted)
                checked += 1
            first = t + 1
    assert checked > 200
    assert (captured > 0) == (rules != "koom-valley-football")


def follow(
    rows: list[np.ndarray], actions: list[int], final: np.ndarray
) -> list[dict[int, tuple[str, int]]]:
    """By point, the name of the piece there, before every decision and after the last."""
    names = [{point: ("piece", point) for point in pieces(rows[0])}]
    for action, after in zip(actions, [*rows[1:], final], strict=True):
        standing = dict(names[-1])
        if action < CAPTURE:
            start, end = (int(table[action]) for table in TABLES[:2])
            if start in standing:  # not the stone
                standing[end] = standing.pop(start)
        names.append({point: name for point, name in standing.items() if point in pieces(after)})
    return names


def pieces(row: np.ndarray) -> set[int]:
    standing = np.isin(row[CELL_OF_SQUARE], (DWARF, TROLL))
    return set(POINTS[standing].tolist())
