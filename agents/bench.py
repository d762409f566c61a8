"""Measures the speed of the searching players, on one core.

::

    python -m agents.bench
    python -m agents.bench --json

Times are CPU time, so that other work on the machine matters less. A *node* is a decision that the
alpha-beta search has evaluated, from the Classic start and from positions of the middle game. By
features it plays all of them, by patterns only a few. A *simulation* is one descent of a Monte
Carlo tree from the Classic start and the value of its leaf: by a random playout to the end of the
battle, by a playout of some turns and the evaluation, by the evaluation alone, or by a search of
one turn, the default.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from random import Random
from time import process_time

from agents.mcts import MctsAgent
from agents.search.deepening import Searcher, SearchOptions
from agents.search.evaluator import read_evaluator
from thud_env import Position
from thud_env.command import Command
from thud_env.jit.rng import seed_generators

SIMULATIONS = 20_000
NODES = 2_000_000
MIDDLE_TURNS = 60
MIDDLE_POSITIONS = 8


def middle_positions() -> list[Position]:
    """Positions from battles of random decisions, with either side to move."""
    random = Random(1)
    found = []
    for number in range(MIDDLE_POSITIONS):
        position = Position.start("classic")
        for _ in range(MIDDLE_TURNS + number % 2):
            position = position.play(random.choice(position.turns()))
        found.append(position)
    return found


def nodes_per_second(positions: list[Position], evaluation: str, reductions: int) -> float:
    """Nodes a second of alpha-beta with iterative deepening, NODES in each position."""
    searcher = Searcher(seed_generators(1, 0))
    evaluator = read_evaluator(evaluation)
    options = SearchOptions(evaluator, depth=20, nodes=NODES, reductions=reductions)
    for position in positions:  # warm up: compile, and touch the arrays
        searcher.search(position.row, dataclasses.replace(options, nodes=NODES // 10))
    started = process_time()
    nodes = sum(searcher.search(position.row, options).nodes for position in positions)
    return nodes / (process_time() - started)


def simulations_per_second(position: Position, playouts: str, length: int, priors: str) -> float:
    """Simulations a second of a tree search."""
    agent = MctsAgent(SIMULATIONS, playouts, length, priors)
    agent.think(position.row)  # warm up: compile, and touch the arrays
    started = process_time()
    agent.think(position.row)
    return SIMULATIONS / (process_time() - started)


def measure() -> dict[str, float]:
    """All measurements, by name."""
    start, middle = Position.start("classic"), middle_positions()
    learned, features = ("learned", 1), ("features", 0)
    return {
        "alphabeta, start, nodes/s": nodes_per_second([start], *learned),
        "alphabeta, middle game, nodes/s": nodes_per_second(middle, *learned),
        "alphabeta by features, start, nodes/s": nodes_per_second([start], *features),
        "alphabeta by features, middle game, nodes/s": nodes_per_second(middle, *features),
        "mcts, random playouts of whole battles, sims/s": simulations_per_second(
            start, "random", 0, "captures"
        ),
        "mcts, random playouts of 20 turns, sims/s": simulations_per_second(
            start, "random", 20, "captures"
        ),
        "mcts, evaluation, sims/s": simulations_per_second(start, "eval", 0, "captures"),
        "mcts, evaluation for priors too, sims/s": simulations_per_second(start, "eval", 0, "eval"),
        "mcts as it is by itself, sims/s": simulations_per_second(start, "search", 0, "checked"),
    }


def main(words: list[str] | None = None) -> int:
    """The command line; returns the exit code."""
    command = Command("agents.bench", __doc__)
    command.add_argument("--json", action="store_true", help="print one JSON object")
    return command.run(_report, words)


def _report(arguments: argparse.Namespace) -> None:
    figures = measure()
    if arguments.json:
        print(json.dumps({name: round(rate) for name, rate in figures.items()}))
        return
    for name, rate in figures.items():
        print(f"{name:52}{rate:>12,.0f}")


if __name__ == "__main__":
    sys.exit(main())
