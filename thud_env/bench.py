"""How fast the environment is, and a signature that holds play fixed.

::

    python -m thud_env.bench               legal decisions per second, each line saying of what
    python -m thud_env.bench --json        the same for programs
    python -m thud_env.bench --signature   one hash over 1,000 seeded random games

The signature changes if and only if some game is played, asked, scored or ended
differently. It does not see how a state is laid out, so code can change under it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib.util import find_spec
from statistics import median

import numpy as np
from numpy.typing import NDArray

from thud_env.batch.cpu import available_cores
from thud_env.batch.game import BatchedGame
from thud_env.batch.options import Device
from thud_env.batch.playouts import random_playouts
from thud_env.command import Command
from thud_env.envs.aec import env as make_env
from thud_env.envs.vector import ThudVectorEnv
from thud_env.jit.bits import product_of
from thud_env.jit.compile import compiled_with_arrays
from thud_env.jit.rng import random_below, seed_generators
from thud_env.rules.legal import legal_actions
from thud_env.rules.play import apply, margin
from thud_env.rules.row import (
    MAX_DECISIONS_AT_ONCE,
    ONGOING,
    ROW_SIZE,
    TERMINATION,
    TO_MOVE,
    new_row,
)
from thud_env.rulesets import RULESETS

SIGNATURE_GAMES = 1000
REPEATS = 5
DECISIONS = 50_000
"""About how many a run of a batch plays."""
_PRIME = np.uint64(0x100000001B3)


@compiled_with_arrays
def _hash_games(rows, rng, hashes):
    """Play random decisions in every game, folding all that happens into one FNV-1a hash a game."""
    decisions = np.empty(MAX_DECISIONS_AT_ONCE, dtype=np.int32)
    for game in range(rows.shape[0]):
        row = rows[game]
        code = np.uint64(0xCBF29CE484222325)
        while row[TERMINATION] == ONGOING:
            count = legal_actions(row, decisions)
            for i in range(count):
                code = product_of(code ^ np.uint64(decisions[i]), _PRIME)
            action = decisions[random_below(rng, game, count)]
            apply(row, action)
            code = product_of(code ^ np.uint64(action), _PRIME)
            code = product_of(code ^ np.uint64(row[TO_MOVE]), _PRIME)
            code = product_of(code ^ np.uint64(margin(row) + 32), _PRIME)
            code = product_of(code ^ np.uint64(row[TERMINATION]), _PRIME)
        hashes[game] = code


def signature(games: int = SIGNATURE_GAMES) -> str:
    """Hash of seeded games of random decisions: every list of legal decisions, every decision,
    mover, margin and ending.

    Args:
        games: how many, an equal share of each ruleset, half of each with agreement.
    """
    digest = hashlib.sha256()
    share = games // len(RULESETS) // 2
    for seed, ruleset in enumerate(RULESETS.values()):
        for agreement in (False, True):
            rows = np.tile(new_row(ruleset, agreement=agreement), (share, 1))
            hashes = np.zeros(share, dtype=np.uint64)
            _hash_games(rows, seed_generators(share, seed=seed), hashes)
            digest.update(hashes.astype("<u8").tobytes())
    return digest.hexdigest()[:16]


def _measure(play: Callable[[], int]) -> float:
    """Median decisions per second over a few runs, after one to warm up."""
    play()
    rates = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        decisions = play()
        rates.append(decisions / (time.perf_counter() - start))
    return median(rates)


def _aec_loop(decisions: int = 5000) -> Callable[[], int]:
    rng = np.random.default_rng(0)
    environment = make_env("classic")

    def play() -> int:
        environment.reset()
        for _ in range(decisions):
            observation, _, terminated, truncated, _ = environment.last()
            if terminated or truncated:
                environment.reset()
                observation = environment.observe(environment.agent_selection)
            legal = np.flatnonzero(observation["action_mask"].view(bool))
            environment.step(legal[rng.integers(len(legal))])
        return decisions

    return play


def _seats_loop(num_envs: int, copy: bool, steps: int = 200) -> Callable[[], int]:
    environment = ThudVectorEnv(num_envs, copy=copy, num_threads=1)

    def play() -> int:
        environment.reset(seed=0)
        for _ in range(steps):
            environment.step(environment.sample_actions())
        return steps * num_envs

    return play


@cache
def _mixed_rows() -> NDArray[np.int16]:
    """Games at all stages, as a batch that has been played for long has them."""
    games = BatchedGame(MIXED, "classic", observations=False, masks=None)
    for _ in range(STAGES):
        games.step(games.sample_actions())
    return games.rows


def _batch_loop(
    num_threads: int | None,
    observations: bool | str,
    masks: str | None,
    num_games: int,
    device: Device = "cpu",
) -> Callable[[], int]:
    games = BatchedGame(
        num_games,
        "classic",
        device=device,
        observations=observations,  # type: ignore[arg-type]
        masks=masks,  # type: ignore[arg-type]
        num_threads=num_threads,
    )
    games.set_rows(np.resize(_mixed_rows(), (num_games, ROW_SIZE)))
    steps = max(2, DECISIONS // num_games)

    def play() -> int:
        for _ in range(steps):
            games.step(games.sample_actions())
        games.to_host(games.rows[:1])  # waits for a GPU
        return steps * num_games

    return play


def _playouts(
    num_threads: int | None, num_games: int = 500, device: Device = "cpu"
) -> Callable[[], int]:
    def play() -> int:
        playouts = random_playouts(num_games, "classic", num_threads=num_threads, device=device)
        return int(playouts.lengths.sum())

    return play


SHOWN: tuple[tuple[str, bool | str, str | None], ...] = (
    ("float planes, byte masks", True, "bytes"),
    ("uint8 planes, bit masks", "uint8", "bits"),
    ("rows, bit masks", False, "bits"),
    ("rows", False, None),
)
"""What a batch can show its players: in words, and as ``BatchedGame`` is asked for it."""
SIZE = 1024
SEATS = 256
MIXED, STAGES = 1024, 800
"""How many different games a batch is made of, and how many decisions they have been played."""
SIZES = (64, 1024, 8192, 65_536)
GPU_SIZE = 65_536


def _paths() -> Iterator[tuple[str, str, Callable[[], Callable[[], int]]]]:
    """Every way to play: its name, what its figure includes, and what makes it."""
    cores = available_cores()
    yield "aec", "last(), random choice from the mask, step()", _aec_loop
    for copy in (True, False):
        copies = "copies" if copy else "no copies"
        includes = f"{SEATS} seats: step, sample, {copies}; the opponents' decisions not counted"
        yield "make_vec, 1 thread", includes, partial(_seats_loop, SEATS, copy)
    for shown, observations, masks in SHOWN:
        make = partial(_batch_loop, 1, observations, masks, SIZE)
        yield "batch, 1 thread", f"{SIZE} games: step, sample, {shown}", make
    yield "playouts, 1 thread", "whole random battles", partial(_playouts, 1)
    for shown, observations, masks in SHOWN[::2]:
        for size in SIZES:
            make = partial(_batch_loop, 1, observations, masks, size)
            yield "sizes, 1 thread", f"{size} games: step, sample, {shown}", make
    if cores > 1:
        for shown, observations, masks in SHOWN[::2]:
            make = partial(_batch_loop, cores, observations, masks, SIZES[-1])
            where = f"batch, {cores} threads"
            yield where, f"{SIZES[-1]} games: step, sample, {shown}", make
        yield f"playouts, {cores} threads", "whole random battles", partial(_playouts, cores)
    if _has_gpu():
        for shown, observations, masks in SHOWN:
            make = partial(_batch_loop, None, observations, masks, GPU_SIZE, "cuda")
            yield "batch, GPU", f"{GPU_SIZE} games: step, sample, {shown}", make
        make_playouts = partial(_playouts, None, GPU_SIZE, "cuda")
        yield "playouts, GPU", "whole random battles", make_playouts


def _has_gpu() -> bool:
    if find_spec("numba_cuda") is None:
        return False
    from numba import cuda

    return bool(cuda.is_available())


def measure() -> list[dict[str, object]]:
    """Legal decisions per second of each way to play, by random legal decisions on Classic."""
    return [
        {"path": path, "includes": includes, "decisions_per_second": round(_measure(make()))}
        for path, includes, make in _paths()
    ]


def main(words: list[str] | None = None) -> int:
    """The command line; returns the exit code."""
    command = Command("thud_env.bench", __doc__)
    command.add_argument("--json", action="store_true", help="print one JSON object")
    command.add_argument(
        "--signature",
        action="store_true",
        help="print only a hash of 1,000 seeded random games: it changes if play does",
    )
    return command.run(_report, words)


def _report(arguments: argparse.Namespace) -> None:
    if arguments.signature:
        print(signature())
        return
    results = measure()
    if arguments.json:
        machine = {"machine": platform.machine(), "cores": available_cores()}
        print(json.dumps({**machine, "signature": signature(), "results": results}, indent=2))
        return
    print(f"legal decisions per second, median of {REPEATS}, {available_cores()} cores")
    for result in results:
        print(f"{result['decisions_per_second']:>14,}  {result['path']!s:<20} {result['includes']}")
    print(f"signature {signature()}")


if __name__ == "__main__":
    sys.exit(main())
