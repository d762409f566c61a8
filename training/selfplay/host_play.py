"""Self-play on the host: each role's policy decides in its battles, in a thread of its own."""

from __future__ import annotations

import dataclasses

import numpy as np
import torch
from numpy.typing import NDArray

from agents.networks.drawing import draw_decisions
from thud_env.rules.row import ROW_SIZE
from thud_env.symmetry import map_rows
from training.process.clock import ENVIRONMENT, FORWARD
from training.process.roles import Roles
from training.selfplay.battles import OngoingBattles
from training.selfplay.frames import into_frames, out_of_frames
from training.selfplay.rollout import Rollout


class HostCollector:
    """Plays battles of the host, with networks wherever they are.

    Args:
        battles: as they stand, and who plays them.
        roles: the learners; each decides in a thread of its own.
    """

    def __init__(self, battles: OngoingBattles, roles: Roles) -> None:
        self.battles = battles
        self._roles = roles

    def collect(self, steps: int) -> Rollout:
        """Play ``steps`` decisions in each battle."""
        battles = self.battles
        battles.opponents.begin()
        games, count = battles.games, battles.games.num_games
        rollout = Rollout(
            rows=np.empty((steps, count, ROW_SIZE), dtype=np.int16),
            movers=np.empty((steps, count), dtype=np.int8),
            actions=np.empty((steps, count), dtype=np.int32),
            log_probs=np.zeros((steps, count), dtype=np.float32),
            values=np.zeros((steps, count), dtype=np.float32),
            rewards=np.empty((steps, count), dtype=np.float32),
            ended=np.empty((steps, count), dtype=np.bool_),
            last_values=np.zeros(count, dtype=np.float32),
            last_movers=np.empty(count, dtype=np.int8),
            opponent_sides=battles.opponents.sides,
            last_rows=np.empty((count, ROW_SIZE), dtype=np.int16),
            final_games=np.empty(0, dtype=np.int64),
            final_rows=np.empty((0, ROW_SIZE), dtype=np.int16),
            final_opponents=np.empty(0, dtype=np.int16),
        )
        finals = [(rollout.final_games, rollout.final_rows, rollout.final_opponents)]
        for t in range(steps):
            with self._roles.clock.on(ENVIRONMENT):
                rollout.rows[t] = map_rows(battles.frames, games.rows, check=False)
            rollout.movers[t] = games.to_move
            rows, actions = rollout.rows[t], rollout.actions[t]
            self._decide(rows, rollout.log_probs[t], rollout.values[t], actions)
            with self._roles.clock.on(ENVIRONMENT):
                games.step(out_of_frames(battles.frames, actions))
                ended = games.terminated | games.truncated
            rollout.rewards[t] = games.rewards[:, 0]
            rollout.ended[t] = ended
            if ended.any():
                over = np.flatnonzero(ended)
                finals.append((over, *battles.finish(over, games.final_rows[over])))
        rollout.last_movers[:] = games.to_move
        rollout.last_rows[:] = map_rows(battles.frames, games.rows, check=False)
        self._decide(rollout.last_rows, np.empty(count, np.float32), rollout.last_values)
        final_games, final_rows, met = map(np.concatenate, zip(*finals, strict=True))
        return dataclasses.replace(
            rollout, final_games=final_games, final_rows=final_rows, final_opponents=met
        )

    def _decide(
        self,
        rows: NDArray[np.int16],
        log_probs: NDArray[np.float32],
        values: NDArray[np.float32],
        actions: NDArray[np.int32] | None = None,
    ) -> None:
        """Let each role value its battles, and decide in them if ``actions`` are wanted, both
        roles at once. Rows and actions are as the battles' frames show them.
        """
        battles = self.battles
        uniforms = battles.random.random(battles.games.num_games)
        to_move = battles.games.to_move
        learners = battles.opponents.sides != to_move

        def decide(side: int) -> None:
            mine = np.flatnonzero((to_move == side) & learners)
            if len(mine):
                with self._roles.clock.on(ENVIRONMENT):
                    inputs = self._roles.precision.inputs(self._roles.networks[side], rows[mine])
                with self._roles.clock.on(FORWARD):
                    draws = torch.from_numpy(uniforms[mine]).to(self._roles.precision.device)
                    with self._roles.precision.autocast():
                        drawn = draw_decisions(self._roles.networks[side], inputs, draws)
                    log_probs[mine] = drawn.log_probs.cpu().numpy()
                    values[mine] = drawn.values.cpu().numpy()
                    if actions is not None:
                        actions[mine] = drawn.actions.cpu().numpy()
            others = np.flatnonzero((to_move == side) & ~learners)
            if len(others) and actions is not None:
                with self._roles.clock.on(FORWARD):
                    played = battles.opponents.act(
                        side, others, battles.games.rows[others], uniforms[others]
                    )
                actions[others] = into_frames(battles.frames[others], played)

        self._roles.at_once(decide)
