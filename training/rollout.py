"""Self-play: both roles' policies play many battles against each other."""

from __future__ import annotations

import dataclasses
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from numpy.typing import NDArray

from agents.agent import BatchPolicy
from agents.inputs import Inputs
from agents.network import Network
from agents.policy import sample_decisions
from thud_env import BatchedGame
from thud_env.rules.row import ROW_SIZE
from training.advantage import Course
from training.precision import Precision
from training.state import State, restore_generator, state_of_generator


@dataclasses.dataclass(frozen=True)
class Rollout:
    """T decisions in each of B battles."""

    rows: NDArray[np.int16]
    """[T, B, 432] the states that were decided in."""
    movers: NDArray[np.int8]
    """[T, B] who decided: 0 dwarfs, 1 trolls."""
    actions: NDArray[np.int32]
    """[T, B] what was decided."""
    log_probs: NDArray[np.float32]
    """[T, B] the log-probability it was drawn with."""
    values: NDArray[np.float32]
    """[T, B] the mover's value of the state."""
    rewards: NDArray[np.float32]
    """[T, B] what the decision paid the dwarfs."""
    ended: NDArray[np.bool_]
    """[T, B] whether the battle ended with it."""
    last_values: NDArray[np.float32]
    """[B] the next mover's value of the state after the last decision."""
    last_movers: NDArray[np.int8]
    """[B] who decides there."""
    final_margins: NDArray[np.float32]
    """[battles that ended] their margins."""
    final_turns: NDArray[np.int16]
    """[battles that ended] turns played."""

    @property
    def course(self) -> Course:
        """What advantages are estimated from."""
        return (
            *(self.rewards, self.values, self.movers, self.ended),
            *(self.last_values, self.last_movers),
        )


Players = tuple[Network | BatchPolicy, Network | BatchPolicy]
"""Who plays the dwarfs and the trolls."""


class SelfPlay:
    """B battles that go on from one rollout to the next.

    Args:
        games: the battles; one that ends must be reset in the same step.
        players: the dwarfs' and the trolls': networks, which draw from their policies, or
            agents, whose log-probabilities and values are stored as 0.
        precision: the arithmetic of the networks.
        random: draws the decisions.
        pool: two workers; each role's network runs in one of its own.
    """

    def __init__(
        self,
        games: BatchedGame,
        players: Players,
        precision: Precision,
        random: np.random.Generator,
        pool: ThreadPoolExecutor,
    ) -> None:
        self.games = games
        """The battles as they stand."""
        self._players = players
        self._precision = precision
        self._random = random
        self._pool = pool

    def collect(self, steps: int) -> Rollout:
        """Play ``steps`` decisions in every battle."""
        games, count = self.games, self.games.num_games
        rollout = Rollout(
            rows=np.empty((steps, count, ROW_SIZE), dtype=np.int16),
            movers=np.empty((steps, count), dtype=np.int8),
            actions=np.empty((steps, count), dtype=np.int32),
            log_probs=np.empty((steps, count), dtype=np.float32),
            values=np.empty((steps, count), dtype=np.float32),
            rewards=np.empty((steps, count), dtype=np.float32),
            ended=np.empty((steps, count), dtype=np.bool_),
            last_values=np.empty(count, dtype=np.float32),
            last_movers=np.empty(count, dtype=np.int8),
            final_margins=np.empty(0, dtype=np.float32),
            final_turns=np.empty(0, dtype=np.int16),
        )
        margins, turns = [], []
        for t in range(steps):
            rollout.rows[t] = games.rows
            rollout.movers[t] = games.to_move
            self._decide(rollout.actions[t], rollout.log_probs[t], rollout.values[t])
            games.step(rollout.actions[t])
            rollout.rewards[t] = games.rewards[:, 0]
            rollout.ended[t] = games.terminated | games.truncated
            for game in np.flatnonzero(rollout.ended[t]):
                final = games.final_position(int(game))
                margins.append(final.margin)
                turns.append(final.turn_number)
        rollout.last_movers[:] = games.to_move
        self._decide(np.empty(count, np.int32), np.empty(count, np.float32), rollout.last_values)
        return dataclasses.replace(
            rollout,
            final_margins=np.array(margins, dtype=np.float32),
            final_turns=np.array(turns, dtype=np.int16),
        )

    def state(self) -> State:
        """The battles as they stand, and what will be drawn."""
        rows = torch.from_numpy(self.games.rows.copy())
        return State({"rows": rows}, {"random": state_of_generator(self._random)})

    def restore(self, state: State) -> None:
        """Go on from a state."""
        self.games.set_rows(state.tensors["rows"].numpy())
        restore_generator(self._random, state.values["random"])

    def _decide(
        self,
        actions: NDArray[np.int32],
        log_probs: NDArray[np.float32],
        values: NDArray[np.float32],
    ) -> None:
        """Let each role decide in its battles, both at once."""
        uniforms = self._random.random(self.games.num_games)

        def decide(side: int) -> None:
            mine = np.flatnonzero(self.games.to_move == side)
            if len(mine) == 0:
                return
            player = self._players[side]
            if not isinstance(player, Network):
                actions[mine] = player.act_rows(self.games.rows[mine])
                log_probs[mine] = values[mine] = 0
                return
            inputs = Inputs.of_rows(self.games.rows[mine])
            with self._precision.autocast():
                drawn, chances, worth = sample_decisions(player, inputs, uniforms[mine])
            actions[mine] = inputs.decisions.numpy()[drawn]
            log_probs[mine] = chances.numpy()[drawn]
            values[mine] = worth.numpy()

        for done in [self._pool.submit(decide, side) for side in (0, 1)]:
            done.result()
