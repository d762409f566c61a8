"""Plays the games of a field, on one core or on several, and pairs their results."""

from __future__ import annotations

import contextlib
import dataclasses
import multiprocessing
import os
import signal
import threading
import time
from collections import defaultdict
from collections.abc import Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from itertools import islice
from multiprocessing.connection import Connection

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

import agents
from agents.asking import answer_of, check_seat
from agents.threads import use_one_thread
from thud_env.outcome import SIDES, Termination
from thud_env.position import Position
from thud_env.rulesets import get_ruleset
from training.arena.battles import play_battles
from training.arena.field import Field, FieldError, Game
from training.arena.identity import own_files


@dataclasses.dataclass(frozen=True)
class Result:
    """The result of one game. Pairs of values are for the dwarfs and the trolls."""

    dwarfs: str
    trolls: str
    start: int
    margin: int
    """From the dwarfs' view."""
    ending: str
    """The name of its ``Termination``, in lower case."""
    turns: str
    """The game in turn notation, separated by spaces: with the start, its whole record."""
    moves: tuple[int, int]
    """The number of turns of each side."""
    seconds: tuple[float, float]
    """CPU seconds that each side took to decide: all of a result that depends on the machine."""
    nodes: tuple[int | None, int | None]
    """Nodes or simulations each side searched, where the agent counts them."""

    @property
    def game(self) -> Game:
        """The game that was played."""
        return Game(self.dwarfs, self.trolls, self.start)


Cells = dict[tuple[str, str], dict[int, Result]]
"""Results by (dwarfs' agent, trolls' agent), then by the number of the start."""


def play_game(game: Game, start: Position, seeds: tuple[int, int]) -> Result:
    """Play one game to its end, with new agents, so that it does not depend on earlier games.

    Args:
        game: the game to play.
        start: the position to begin with.
        seeds: the seeds of the dwarfs and the trolls.
    """
    specs = (game.dwarfs, game.trolls)
    for side, spec in enumerate(specs):
        _warm_up(spec, start.rules.spec, side)
    dwarfs, trolls = (Timed(spec, seed) for spec, seed in zip(specs, seeds, strict=True))
    battle = play_battles(dwarfs, trolls, 1, start.rules, starts=start.row[np.newaxis])
    turns = battle.turns_of(0)
    first, second = len(turns[::2]), len(turns[1::2])  # the sides take turns
    return Result(
        dwarfs=game.dwarfs,
        trolls=game.trolls,
        start=game.start,
        margin=int(battle.margins[0]),
        ending=Termination(int(battle.terminations[0])).name.lower(),
        turns=" ".join(turns),
        moves=(first, second) if start.to_move == "dwarfs" else (second, first),
        seconds=(round(dwarfs.seconds, 4), round(trolls.seconds, 4)),
        nodes=(dwarfs.nodes, trolls.nodes),
    )


def try_players(specs: Iterable[str], rules: str, console: Console) -> None:
    """Let agents decide once for each side, so that one that cannot play by the rules is found
    before anything is played or written.

    Raises:
        ThudError: from an agent that cannot, such as a policy that has learnt another game.
        OwnAgentError: if an agent of the user's own fails.
    """
    use_one_thread()
    with console.status("trying the players ..."):
        for spec in specs:
            for side in range(len(SIDES)):
                _warm_up(spec, rules, side)


@cache
def _warm_up(spec: str, rules: str, side: int) -> None:
    """Let an agent load what it needs, once in a process, so that the times of its first game are
    like those of the others.
    """
    player, ruleset = agents.make(spec), get_ruleset(rules)
    check_seat(player, ruleset, SIDES[side])
    position = Position.start(ruleset)
    if side:
        position = position.play(position.turns()[0])
    answer_of(player, spec, position.row[np.newaxis])


class Timed:
    """Measures an agent's CPU time, with the check of its answers. A ``BatchPolicy`` for one battle
    at a time.
    """

    def __init__(self, spec: str, seed: int) -> None:
        self._spec = spec
        self._agent = agents.make(spec, seed=seed)
        self.seconds = 0.0

    def act_rows(self, rows: NDArray[np.int16]) -> NDArray[np.int32]:
        """See ``agents.agent.BatchPolicy``.

        Raises:
            AnswerError, OwnAgentError: as ``answer_of``.
        """
        started = time.process_time()
        actions = answer_of(self._agent, self._spec, rows)
        self.seconds += time.process_time() - started
        return actions

    @property
    def nodes(self) -> int | None:
        """Nodes or simulations that the agent has searched, if it counts them."""
        return self._agent.searched


def play_games(field: Field, games: Iterable[Game], workers: int) -> Generator[Result]:
    """Play games in ``workers`` processes, and yield results as they are finished, in any order.

    Except for its times, a result does not depend on the number of workers. One worker plays in
    this process.

    Raises:
        ChildProcessError: if a worker was killed.
        FieldError: if the files that an agent plays by change meanwhile: every game reads them
            anew, and later ones would be another player's.
    """
    files = _files_read(field)
    with contextlib.closing(_play(field, games, workers)) as results:
        for result in results:
            now = _files_read(field)
            for spec in files:
                if now.get(spec) != files[spec]:
                    raise FieldError(
                        f"{spec} has changed since the games began: a path that no run writes to "
                        "would be right"
                    )
            yield result


def _files_read(field: Field) -> dict[str, str]:
    """Hashes of what agents read each time they are made. A user's code is imported once."""
    return own_files(field.agents, field.rules, code=False)


def _play(field: Field, games: Iterable[Game], workers: int) -> Generator[Result]:
    tasks = ((game, field.beginning(game), field.seeds(game)) for game in games)
    if workers == 1:
        use_one_thread()
        yield from (play_game(*task) for task in tasks)
        return
    # Spawned, not forked: torch and Numba have threads that a fork would lose.
    context = multiprocessing.get_context("spawn")
    reader, writer = context.Pipe(duplex=False)
    with ProcessPoolExecutor(workers, context, _begin_worker, (reader,)) as pool:
        running: set[Future[Result]] = set()
        try:
            while True:
                # Twice as many games as workers: no worker waits, and a stop loses little.
                for task in islice(tasks, 2 * workers - len(running)):
                    running.add(pool.submit(play_game, *task))
                if not running:
                    break
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
        except BrokenProcessPool:
            raise ChildProcessError("a worker was killed") from None
        finally:
            pool.shutdown(wait=not running, cancel_futures=True)
            writer.close()
            reader.close()


def _begin_worker(parent: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    use_one_thread()
    threading.Thread(target=_end_with_parent, args=(parent,), daemon=True).start()


def _end_with_parent(parent: Connection) -> None:
    """End this process, even in the middle of a game, when the other end of the pipe is closed: by
    the parent, which needs no more games, or by its death.
    """
    with contextlib.suppress(EOFError, OSError):
        parent.recv()
    os._exit(0)


def into_cells(results: list[Result]) -> Cells:
    """The results of each cell, by start."""
    by_cell: Cells = defaultdict(dict)
    for result in sorted(results, key=lambda result: result.game):
        by_cell[result.dwarfs, result.trolls][result.start] = result
    return by_cell


def paired_margins(
    by_cell: Cells, agent: str, opponent: str
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """The starts that two agents played in both seats, and the agent's margins there as dwarfs and
    as trolls, [n] each.
    """
    there, back = by_cell[agent, opponent], by_cell[opponent, agent]
    both = sorted(there.keys() & back.keys())
    return (
        np.array(both, dtype=np.int64),
        np.array([there[start].margin for start in both], dtype=np.float64),
        np.array([-back[start].margin for start in both], dtype=np.float64),
    )
