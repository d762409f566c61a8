"""Thud beside other board-game environments, on one core, in one run.

::

    pip install open_spiel "pettingzoo[classic]" pgx    # whichever are to be compared
    taskset -c 0 python tests/benchmarks/peers.py --write

``--write`` keeps the figures in ``peers.json``, of which ``publish.py`` makes the tables in the
README and in docs/performance.md.

Every figure is legal decisions (chess: plies) per second of CPU time of the measuring
thread, by uniformly random legal play: the median of several runs. Figures of different
machines do not compare; the ratios of one run do. What is not installed is left out.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import platform
import random
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import thud_env

REPEATS = 5


def rate(play: Callable[[], float], clock: Callable[[], float] = time.thread_time) -> float:
    """Median decisions per CPU second; ``play`` returns how many it played."""
    play()
    rates = []
    for _ in range(REPEATS):
        start = clock()
        played = play()
        rates.append(played / (clock() - start))
    return median(rates)


def thud_batch(num_games: int, **options: Any) -> Callable[[], float]:
    games = thud_env.BatchedGame(num_games, num_threads=1, **options)
    steps = max(1, 40_000 // num_games)
    for _ in range(400):
        games.step(games.sample_actions())

    def play() -> float:
        for _ in range(steps):
            games.step(games.sample_actions())
        return steps * num_games

    return play


def thud_playouts() -> float:
    return float(thud_env.random_playouts(500, "classic", num_threads=1).lengths.sum())


def aec_loop(environment: Any, steps: int) -> Callable[[], float]:
    rng = np.random.default_rng(0)

    def play() -> float:
        environment.reset(seed=0)
        for _ in range(steps):
            observation, _, terminated, truncated, _ = environment.last()
            if terminated or truncated:
                environment.reset()
                continue
            legal = np.flatnonzero(observation["action_mask"].view(bool))
            environment.step(int(legal[rng.integers(len(legal))]))
        return steps

    return play


def openspiel_python(steps: int = 4000) -> Callable[[], float]:
    """The best that user code can do in Python: ``set_from`` plus a NumPy mask."""
    import pyspiel
    from open_spiel.python.observation import make_observation

    game = pyspiel.load_game("chess")
    observation = make_observation(game)
    mask = np.zeros(game.num_distinct_actions(), dtype=np.int8)
    rng = random.Random(0)

    def play() -> float:
        state = game.new_initial_state()
        for _ in range(steps):
            if state.is_terminal():
                state = game.new_initial_state()
            observation.set_from(state, state.current_player())
            legal = state.legal_actions()
            mask[:] = 0
            mask[legal] = 1
            state.apply_action(rng.choice(legal))
        return steps

    return play


def openspiel_cpp(battles: int = 60) -> Callable[[], float]:
    """Whole random games in C++: what one evaluation by random rollouts plays. Their mean
    length is measured apart."""
    import pyspiel

    game = pyspiel.load_game("chess")
    rng = random.Random(1)
    plies = 0
    for _ in range(40):
        state = game.new_initial_state()
        while not state.is_terminal():
            state.apply_action(rng.choice(state.legal_actions()))
            plies += 1
    mean_length = plies / 40

    def play() -> float:
        evaluator = pyspiel.RandomRolloutEvaluator(battles, 1)
        pyspiel.MCTSBot(game, evaluator, 2.0, 1, 1000, False, 42, False).step(
            game.new_initial_state()
        )
        return battles * mean_length

    return play


def pgx_chess(num_games: int = 1024, steps: int = 20) -> Callable[[], float]:
    """Random legal play of many games at once, compiled by JAX; its threads are all counted."""
    import jax
    import jax.numpy as jnp
    import pgx

    env = pgx.make("chess")

    def one_step(state: Any, key: Any) -> Any:
        logits = jnp.where(state.legal_action_mask, 0.0, -jnp.inf)
        return jax.vmap(env.step)(state, jax.random.categorical(key, logits, axis=-1))

    step = jax.jit(one_step)
    start = jax.jit(jax.vmap(env.init))(jax.random.split(jax.random.PRNGKey(0), num_games))
    keys = jax.random.split(jax.random.PRNGKey(1), steps)

    def play() -> float:
        state = start
        for key in keys:
            state = step(state, key)
        jax.block_until_ready(state)
        return float(steps * num_games)

    return play


def installed(*modules: str) -> bool:
    return all(importlib.util.find_spec(module) is not None for module in modules)


def measure() -> dict[str, float]:
    """Every path's decisions per CPU second, by name."""
    paths: dict[str, Callable[[], float]] = {
        "thud batch, 64 games, float planes and byte masks": thud_batch(64),
        "thud batch, 1024 games, float planes and byte masks": thud_batch(1024),
        "thud batch, 1024 games, rows and bit masks": thud_batch(
            1024, observations=False, masks="bits"
        ),
        "thud batch, 1024 games, rows": thud_batch(1024, observations=False, masks=None),
        "thud random battles": thud_playouts,
        "thud AEC": aec_loop(thud_env.env(), 4000),
    }
    if installed("pyspiel"):
        paths["OpenSpiel chess, Python, observation and mask"] = openspiel_python()
        paths["OpenSpiel chess, C++, random games"] = openspiel_cpp()
    if installed("chess"):
        from pettingzoo.classic import chess_v6

        paths["PettingZoo chess AEC"] = aec_loop(chess_v6.env(), 300)
    rates = {name: rate(play) for name, play in paths.items()}
    if installed("pgx"):
        rates["Pgx chess, 1024 games"] = rate(pgx_chess(), clock=time.process_time)
    return rates


COMPARED = (
    (
        "thud batch, 64 games, float planes and byte masks",
        "OpenSpiel chess, Python, observation and mask",
    ),
    ("thud random battles", "OpenSpiel chess, C++, random games"),
    ("thud AEC", "PettingZoo chess AEC"),
    ("thud batch, 1024 games, float planes and byte masks", "Pgx chess, 1024 games"),
)
FIGURES = Path(__file__).parent / "peers.json"
PACKAGES = {
    "Python": None,
    "NumPy": "numpy",
    "Numba": "numba",
    "OpenSpiel": "open_spiel",
    "PettingZoo": "pettingzoo",
    "python-chess": "chess",
    "Pgx": "pgx",
    "JAX": "jax",
}
"""Whose versions are kept, with their distributions."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="keep the figures in peers.json")
    write = parser.parse_args().write
    rates = measure()
    for name, value in rates.items():
        print(f"{value:>14,.0f}/s  {name}")
    for ours, theirs in COMPARED:
        if theirs in rates:
            print(f"{rates[ours] / rates[theirs]:>14.1f}x   {ours} / {theirs}")
    if write:
        figures = {
            "machine": processor(),
            "date": time.strftime("%Y-%m-%d"),
            "versions": {name: version(package) for name, package in PACKAGES.items()},
            "rates": rates,
        }
        FIGURES.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


def version(package: str | None) -> str | None:
    """The version of a package that is installed, or of Python; None if it is not there."""
    if package is None:
        return platform.python_version()
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def processor() -> str:
    """The name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


if __name__ == "__main__":
    main()
