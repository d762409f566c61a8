"""Tune the evaluation of the searching players by self-play.

::

    python -m training.tune_search --rules classic --games 300 --rounds 4

In each round the weights play against themselves, from random openings and with a random turn
now and then. The margin that the battle had ``--horizon`` turns later, or its outcome in the Koom
Valley games, is fitted by ridge regression to the features of the positions, one fit a side to
move (Buro, "From simple features to sophisticated evaluation functions", 1998). The fit is
blended with the weights so far, and the blend is kept if it does better against them: the sum of
both seats. What is kept is written to ``configs/search/weights.yaml``.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import sys
from pathlib import Path

import numpy as np
import yaml
from numpy.typing import NDArray

import agents
from agents.agent import Agent
from agents.search.evaluation import NUM_FEATURES, POINT, features
from agents.search.weights import WEIGHTS_FILE, feature_names, load_weights
from agents.search.workspace import MAX_DEPTH
from agents.strict_yaml import parse_yaml
from thud_env import BatchedGame
from thud_env.command import Command, bounded
from thud_env.position import SIDES
from thud_env.rules.play import margin
from thud_env.rules.row import NO_QUESTION, ONGOING, PENDING, TERMINATION, TO_MOVE, TURNS
from thud_env.rulesets import get_ruleset
from training.arena.battles import play_battles

OUTCOME_POINTS = 10
"""What a Koom Valley battle won counts as, in points, while fitting."""
MAX_TURNS, MAX_QUIET_TURNS = 300, 60
"""Self-play is cut short: battles in which nothing happens teach nothing."""
SHORTEST_OPENING = 4
"""Random turns that every battle of self-play begins with."""


@dataclasses.dataclass(frozen=True)
class Samples:
    """N positions from self-play."""

    features: NDArray[np.float64]
    """[N, 16]."""
    sides: NDArray[np.int64]
    """[N] who was to move."""
    targets: NDArray[np.float64]
    """[N] what came of it, in hundredths of a point, for the dwarfs."""


def self_play(
    player: Agent, rules: str, games: int, *, opening: int, blunders: float, horizon: int, seed: int
) -> Samples:
    """Positions at the start of a turn, and what came of them.

    Raises:
        ValueError: if all battles were over before their openings were.
    """
    rng = np.random.default_rng(seed)
    randomly = agents.make("random", seed=seed)
    batch = BatchedGame(
        games, rules, observations=False, masks=None, autoreset_mode="Disabled",
        max_turns=MAX_TURNS, max_quiet_turns=MAX_QUIET_TURNS,
    )  # fmt: skip
    openings = rng.integers(SHORTEST_OPENING, opening + 1, games)
    by_outcome = get_ruleset(rules).reward == "outcome"
    rows, owners, turns, margins = [], [], [], np.full((games, MAX_TURNS + 1), np.nan)
    while True:
        alive = np.flatnonzero(batch.rows[:, TERMINATION] == ONGOING)
        for game in range(games):
            margins[game, batch.rows[game, TURNS]] = margin(batch.rows[game])
        if not len(alive):
            break
        at_start = alive[batch.rows[alive, PENDING] == NO_QUESTION]
        past = at_start[batch.rows[at_start, TURNS] >= openings[at_start]]
        rows.extend(batch.rows[past])
        owners.extend(past.tolist())
        turns.extend(batch.rows[past, TURNS].tolist())
        actions = np.zeros(games, dtype=np.int32)
        chance = (rng.random(len(alive)) < blunders) | (batch.rows[alive, TURNS] < openings[alive])
        for who, asked in ((randomly, alive[chance]), (player, alive[~chance])):
            if len(asked):
                actions[asked] = who.act_rows(batch.rows[asked])
        batch.step(actions)
    if not rows:
        raise ValueError(f"no battle outlasted its opening: less than {opening} would be right")
    inputs = np.zeros((len(rows), NUM_FEATURES), dtype=np.int64)
    for row, out in zip(rows, inputs, strict=True):
        features(row, out)
    last = batch.rows[:, TURNS].astype(np.int64)
    owner, turn = np.array(owners), np.array(turns)
    when = last[owner] if by_outcome else np.minimum(turn + horizon, last[owner])
    unit = POINT * (OUTCOME_POINTS if by_outcome else 1)
    sides = np.array([row[TO_MOVE] for row in rows], dtype=np.int64)
    return Samples(inputs.astype(np.float64), sides, margins[owner, when] * unit)


def fit(samples: Samples, prior: NDArray[np.int64], ridge: float) -> NDArray[np.float64]:
    """Weights [2, 16] that predict the targets, held near ``prior`` where little is known."""
    weights = np.zeros((len(SIDES), NUM_FEATURES))
    for side in range(len(SIDES)):
        mine = samples.sides == side
        inputs, targets = samples.features[mine], samples.targets[mine]
        known = inputs.T @ inputs + ridge * np.eye(NUM_FEATURES)
        weights[side] = np.linalg.solve(known, inputs.T @ targets + ridge * prior[side])
    return weights


def write_weights(path: Path, rules: str, weights: NDArray[np.int64]) -> None:
    """Put one ruleset's weights into a file of weights, all else in it left as it is."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    comments = "".join(line + "\n" for line in text.splitlines() if line.startswith("#"))
    content = parse_yaml(text) or {}
    content[rules] = {
        side: {
            name: int(weight)
            for name, weight in zip(feature_names(rules), weights[number], strict=False)
            if weight
        }
        for number, side in enumerate(SIDES)
    }
    body = yaml.safe_dump(content, sort_keys=False, default_flow_style=None, width=90)
    path.write_text(comments + body, encoding="utf-8")


def duel(new: str, old: str, rules: str, games: int, seed: int) -> float:
    """The mean margin of ``new`` over both seats, the battles cut short as in self-play."""
    total = 0.0
    for dwarfs, trolls, sign in ((new, old, 1), (old, new, -1)):
        battles = play_battles(
            agents.make(dwarfs, seed), agents.make(trolls, seed + 1), games, rules,
            max_turns=MAX_TURNS, max_quiet_turns=MAX_QUIET_TURNS,
        )  # fmt: skip
        total += sign * float(battles.margins.mean())
    return total


_NUMBERS: tuple[tuple[str, float, float, float, str], ...] = (
    ("games", 300, 1, math.inf, "battles of self-play a round"),
    ("duels", 40, 1, math.inf, "battles a seat that decide a round"),
    ("rounds", 4, 1, math.inf, "how often to fit and compare"),
    ("depth", 1, 1, MAX_DEPTH, "turns that the players look ahead"),
    ("horizon", 40, 1, math.inf, "turns until the margin counts"),
    ("opening", 30, SHORTEST_OPENING, MAX_TURNS - 1, "random turns at most"),
    ("blunders", 0.05, 0, 1, "share of random turns later"),
    ("blend", 0.5, 0, 1, "how far to go towards the fit, 1 being all the way"),
    ("ridge", 1000.0, 1, math.inf, "how firmly the fit is held near the weights so far"),
    ("seed", 1, 0, math.inf, "seeds self-play and duels"),
)
"""The options that are numbers: name, default, least and most, meaning."""


def main(words: list[str] | None = None) -> int:
    """The command line; returns the exit code."""
    command = Command("training.tune_search", __doc__)
    command.add_rules()
    for name, default, least, most, meaning in _NUMBERS:
        command.add_argument(
            f"--{name}", type=bounded(type(default), least, most), default=default, metavar="N",
            help=f"{meaning} ({default:g})",
        )  # fmt: skip
    where = "/".join(WEIGHTS_FILE.parts[-3:])
    command.add_argument(
        "--weights", type=Path, default=WEIGHTS_FILE, metavar="FILE",
        help=f"the file to improve ({where}, which the players search by)",
    )  # fmt: skip
    return command.run(_tune, words)


def _tune(arguments: argparse.Namespace) -> None:
    rules, weights = arguments.rules, arguments.weights
    trial = weights.with_suffix(".trial.yaml")
    index = get_ruleset(rules).index
    spec = f"alphabeta:depth={arguments.depth},weights="
    try:
        for round_number in range(arguments.rounds):
            seed = arguments.seed + 1000 * round_number
            old = load_weights(weights)[index]
            samples = self_play(
                agents.make(f"{spec}{weights}", seed),
                rules,
                arguments.games,
                opening=arguments.opening,
                blunders=arguments.blunders,
                horizon=arguments.horizon,
                seed=seed,
            )
            fitted = fit(samples, old, arguments.ridge)
            new = np.rint(old + arguments.blend * (fitted - old)).astype(np.int64)
            trial.write_text(weights.read_text(encoding="utf-8"), encoding="utf-8")
            write_weights(trial, rules, new)
            gain = duel(f"{spec}{trial}", f"{spec}{weights}", rules, arguments.duels, seed)
            kept = gain > 0
            if kept:
                trial.replace(weights)
            print(
                f"round {round_number + 1}: {len(samples.targets)} positions, "
                f"{gain:+.2f} over both seats, {'kept' if kept else 'dropped'}",
                flush=True,
            )
    finally:
        trial.unlink(missing_ok=True)


if __name__ == "__main__":
    sys.exit(main())
