"""Plays the seats of a rollout that the learners do not have.

Most battles are mirror play: both seats are the learners', and both learn from them. In the others
one role meets an opponent that does not learn: a frozen snapshot of the other role
(``snapshots.py``), or a scripted player. A seat's opponent changes only when a battle ends, so that
no decision is ever paid for what another opponent did.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import agents
from agents.asking import answer_of, as_resumed
from thud_env.errors import ThudError
from thud_env.outcome import SIDES
from thud_env.rules.row import DWARFS, TROLLS
from thud_env.rulesets import get_ruleset
from training.config import OpponentConfig, PlayConfig
from training.process.precision import Precision
from training.process.state import StateError, restore_generator, state_of_generator
from training.selfplay.rollout import MIRROR
from training.selfplay.snapshots import Pool

SNAPSHOTS = "snapshots"


def names_met(opponents: OpponentConfig) -> tuple[str, ...]:
    """Whom learners may meet, as metrics name them: players, each once, and all the snapshots."""
    return (*dict.fromkeys(opponents.players), SNAPSHOTS)


class Opponents:
    """The seats of B battles that the learners do not have.

    Args:
        config: the shares of battles with opponents of each kind, and the players.
        games: how many battles.
        seed: seeds the players and the draws.
        precision: the arithmetic of the snapshots.
        folder: where the snapshots are kept, in ``dwarfs`` and ``trolls``; needed if any are to be
            met.
    """

    def __init__(
        self,
        config: PlayConfig,
        games: int,
        seed: np.random.SeedSequence,
        precision: Precision,
        folder: Path | None = None,
    ) -> None:
        scripted, snapshots = config.opponents.in_each_seat(games)
        if snapshots and folder is None:
            raise ThudError(
                "opponents.frozen: snapshots are kept in a folder: with one, as "
                "self_play_trainer(config, Path('runs/mine')), would be right"
            )
        self.sides = np.full(games, MIRROR, dtype=np.int8)
        """[B] the side that an opponent plays, ``MIRROR`` in mirror play."""
        mirror = games - 2 * (scripted + snapshots)
        self.sides[mirror:] = np.tile(np.array([TROLLS, DWARFS], np.int8), scripted + snapshots)
        for_agents, for_draws = seed.spawn(2)
        self._players = config.opponents.players if mirror < games else ()
        self._met = names_met(config.opponents)
        seeds = for_agents.generate_state(len(SIDES) * len(self._players)).reshape(len(SIDES), -1)
        self._agents = [
            {
                spec: agents.make(spec, seed=int(word))
                for spec, word in zip(self._players, words, strict=True)
            }
            for words in seeds
        ]
        self._random = np.random.default_rng(for_draws)
        self._precision = precision
        self._largest = get_ruleset(config.rules).largest_margin
        self.pools = tuple(Pool((folder or Path()) / role, precision.device) for role in SIDES)
        """The dwarfs' and the trolls' snapshots."""
        self._drawn = ["", ""]
        self._scripted = range(mirror, mirror + 2 * scripted)
        self._names = ["" if side == MIRROR else self._next(game) for game, side in self._seats()]

    def _seats(self) -> list[tuple[int, int]]:
        return list(enumerate(self.sides.tolist()))

    def _next(self, game: int) -> str:
        """Choose the player of a seat's next battle: a scripted one before there are snapshots."""
        snapshot = self._drawn[self.sides[game]]
        if game in self._scripted or not snapshot:
            return str(self._random.choice(self._players))
        return snapshot

    def begin(self) -> None:
        """Prepare for a rollout."""
        for players in self._agents:
            as_resumed(players.values())

    def act(
        self,
        side: int,
        games: NDArray[np.int64],
        rows: NDArray[np.int16],
        uniforms: NDArray[np.float64],
    ) -> NDArray[np.int32]:
        """Decide for an opponent's side.

        Args:
            side: 0 dwarfs, 1 trolls; two threads call for the two at once.
            games: [N] which of the battles.
            rows: [N, 432] their states.
            uniforms: [N] numbers in [0, 1) for what is drawn.

        Raises:
            AnswerError: if a player does not answer with a legal action for each.
        """
        actions = np.empty(len(rows), dtype=np.int32)
        names = np.array([self._names[game] for game in games])
        for name in np.unique(names):
            mine = np.flatnonzero(names == name)
            if name in self._players:
                actions[mine] = answer_of(self._agents[side][name], str(name), rows[mine])
                continue
            network = self.pools[side].network(str(name))
            actions[mine] = self._precision.draw(network, rows[mine], uniforms[mine])
        return actions

    def met(self, games: NDArray[np.int64]) -> NDArray[np.int16]:
        """[E] whom the learner meets in these battles, as a number of ``names_met``; ``MIRROR`` in
        mirror play.
        """
        numbers = {name: number for number, name in enumerate(self._met)}
        named = [numbers.get(self._names[game], numbers[SNAPSHOTS]) for game in games.tolist()]
        return np.where(self.sides[games] == MIRROR, MIRROR, named).astype(np.int16)

    def finished(self, game: int, margin: int) -> None:
        """Note that a battle has ended with a margin; the next one begins."""
        side = int(self.sides[game])
        if side == MIRROR:
            return
        name = self._names[game]
        if name not in self._players:
            for_dwarfs = 0.5 + margin / (2 * self._largest)
            learners = for_dwarfs if side == TROLLS else 1 - for_dwarfs
            self.pools[side].record(name, learners)
        self._names[game] = self._next(game)

    def add_snapshots(self, decisions: int) -> None:
        """Add snapshots of both roles that have been written."""
        for pool in self.pools:
            pool.add(decisions)
        if not all(self._drawn):
            self.redraw()

    def redraw(self) -> None:
        """Draw the snapshots that seats take up as their battles end: one of each role, because
        many networks with a battle or two each would be slow.
        """
        for side, pool in enumerate(self.pools):
            if pool.scores:
                self._drawn[side] = pool.draw(self._random)
            in_play = {self._names[game] for game, taken in self._seats() if taken == side}
            pool.forget_all_but({*in_play, self._drawn[side]})

    def state(self) -> dict[str, Any]:
        """What ``restore`` takes: values that JSON can hold."""
        return {
            "names": list(self._names),
            "drawn": list(self._drawn),
            "random": state_of_generator(self._random),
            "pools": [pool.state() for pool in self.pools],
            "agents": [
                {spec: agent.get_state() for spec, agent in players.items()}
                for players in self._agents
            ],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state.

        Raises:
            StateError: if a seat's player is not one of the run's.
            CheckpointError: if a snapshot is missing or damaged.
        """
        restore_generator(self._random, state["random"])
        for pool, kept in zip(self.pools, state["pools"], strict=True):
            pool.restore(kept)
        names, drawn = list(state["names"]), list(state["drawn"])
        for name, side in zip(names, self.sides.tolist(), strict=True):
            there = {""} if side == MIRROR else {*self._players, *self.pools[side].scores}
            if name not in there:
                raise StateError(f"the players of a run cannot be {names}")
        for name, pool in zip(drawn, self.pools, strict=True):
            if name not in {"", *pool.scores}:
                raise StateError(f"the snapshots that were drawn cannot be {drawn}")
        self._names, self._drawn = names, drawn
        for players, states in zip(self._agents, state["agents"], strict=True):
            for spec, one in states.items():
                players[spec].set_state(one)
