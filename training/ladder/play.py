"""Playing the games of a ladder, on one core or on several."""

from __future__ import annotations

import contextlib
import dataclasses
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from functools import cache
from itertools import islice
from multiprocessing.connection import Connection

import numpy as np

import agents
from thud_env.actions import NUM_ACTIONS
from thud_env.notation.turns import turn_notation
from thud_env.position import IllegalMove, Position
from thud_env.rules import row as fields
from thud_env.rules.legal import is_legal
from thud_env.rules.play import apply
from thud_env.rulesets import get_ruleset
from training.ladder.schedule import Field, Game


@dataclasses.dataclass(frozen=True)
class Result:
    """How one game went. Pairs are of the dwarfs and the trolls."""

    dwarfs: str
    trolls: str
    start: int
    margin: int
    """From the dwarfs' view."""
    ending: str
    """The name of its ``Termination``, in lower case."""
    turns: str
    """The game in turn notation, turns apart by spaces: with the start, its whole record."""
    moves: tuple[int, int]
    """Turns of each side."""
    seconds: tuple[float, float]
    """Time each side took to think. Nothing else of a result depends on the machine."""
    nodes: tuple[int | None, int | None]
    """Nodes or simulations each side searched, where the agent tells."""

    @property
    def game(self) -> Game:
        """Which game it is."""
        return Game(self.dwarfs, self.trolls, self.start)


def play_game(game: Game, start: Position, seeds: tuple[int, int]) -> Result:
    """Play one game to its end. Both agents are made for it, so that it is the same game
    whatever has been played before it.

    Args:
        game: who plays.
        start: from where.
        seeds: of the dwarfs and the trolls.
    """
    specs = (game.dwarfs, game.trolls)
    for side, spec in enumerate(specs):
        _warm_up(spec, start.rules.spec, side)
    clock = [_Clock(spec, seed) for spec, seed in zip(specs, seeds, strict=True)]
    row = start.row.copy()
    turns: list[str] = []
    moves = [0, 0]
    while row[fields.TERMINATION] == fields.ONGOING:
        side = int(row[fields.TO_MOVE])
        before, decisions = row.copy(), []
        while True:
            decisions.append(clock[side].act(row))
            apply(row, decisions[-1])
            if fields.is_between_turns(row):
                break
        turns.append(turn_notation(before, decisions))
        moves[side] += 1
    outcome = Position.unchecked(row).outcome
    assert outcome is not None
    return Result(
        dwarfs=game.dwarfs,
        trolls=game.trolls,
        start=game.start,
        margin=outcome.margin,
        ending=outcome.termination.name.lower(),
        turns=" ".join(turns),
        moves=(moves[0], moves[1]),
        seconds=(round(clock[0].seconds, 4), round(clock[1].seconds, 4)),
        nodes=(clock[0].nodes, clock[1].nodes),
    )


@cache
def _warm_up(spec: str, rules: str, side: int) -> None:
    """Let an agent load what it needs, once a process, so that its first game is timed like
    the others.
    """
    position = Position.start(get_ruleset(rules))
    if side:
        position = position.play(position.turns()[0])
    agents.make(spec).act(position)


class _Clock:
    """An agent, its time and, if it tells them, its nodes."""

    def __init__(self, spec: str, seed: int) -> None:
        self._spec = spec
        self._agent = agents.make(spec, seed=seed)
        self.seconds = 0.0
        self.nodes: int | None = None
        self._counted: object = None

    def act(self, row: fields.Row) -> int:
        started = time.perf_counter()
        action = int(self._agent.act_rows(row[np.newaxis])[0])
        self.seconds += time.perf_counter() - started
        self._count_nodes()
        if not (0 <= action < NUM_ACTIONS and is_legal(row, action)):
            raise IllegalMove(
                f"{self._spec} plays action {action} in {Position.unchecked(row).text!r}"
            )
        return action

    def _count_nodes(self) -> None:
        """Searching agents keep what their last search found, which may serve for several
        decisions.
        """
        found = getattr(self._agent, "result", None)
        searched = getattr(found, "nodes", getattr(found, "simulations", None))
        if searched is not None and found is not self._counted:
            self.nodes = (self.nodes or 0) + int(searched)
            self._counted = found


def play_games(field: Field, games: Iterable[Game], workers: int) -> Generator[Result]:
    """Play games on so many processes; results come as they are done, in any order.

    Each result but for its times is the same whatever the number of workers. One worker plays
    in this process.

    Raises:
        concurrent.futures.process.BrokenProcessPool: if a worker was killed.
    """
    tasks = ((game, field.beginning(game), field.seeds(game)) for game in games)
    if workers == 1:
        _use_one_thread()
        yield from (play_game(*task) for task in tasks)
        return
    # Spawned and not forked: torch and Numba have threads that a fork would lose.
    context = multiprocessing.get_context("spawn")
    reader, writer = context.Pipe(duplex=False)
    with ProcessPoolExecutor(workers, context, _begin_worker, (reader,)) as pool:
        running: set[Future[Result]] = set()
        try:
            while True:
                # Twice as many as workers: nobody waits, and little is lost by a stop.
                for task in islice(tasks, 2 * workers - len(running)):
                    running.add(pool.submit(play_game, *task))
                if not running:
                    break
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
        finally:
            pool.shutdown(wait=not running, cancel_futures=True)
            writer.close()
            reader.close()


def _begin_worker(parent: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a stop is the parent's business
    _use_one_thread()
    threading.Thread(target=_end_with_parent, args=(parent,), daemon=True).start()


def _end_with_parent(parent: Connection) -> None:
    """End this process, in the middle of a game or not, when the other end of the pipe is
    closed: by the parent, which needs no more games, or by its death.
    """
    with contextlib.suppress(EOFError, OSError):
        parent.recv()
    os._exit(0)


def _use_one_thread() -> None:
    """Networks add up in another order on more threads, and would choose another turn."""
    os.environ["OMP_NUM_THREADS"] = "1"
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
