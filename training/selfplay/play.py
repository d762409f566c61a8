"""Self-play: both roles' policies play many battles, most of them against each other."""

from __future__ import annotations

import dataclasses

import numpy as np
import torch
from numpy.typing import NDArray

from agents.policy import sample_decisions
from thud_env import BatchedGame
from thud_env.rules.check import RowError
from thud_env.rules.play import margin
from thud_env.rules.row import ROW_SIZE
from thud_env.rulesets import get_ruleset
from thud_env.symmetry import symmetries_of
from training.arena.battles import strikes_of
from training.config import TrainConfig
from training.process.clock import ENVIRONMENT, FORWARD
from training.process.roles import Roles
from training.process.state import State, StateError, restore_generator, state_of_generator
from training.selfplay.frames import into_frames, map_rows, out_of_frames
from training.selfplay.opponents import Opponents
from training.selfplay.rollout import Rollout


class SelfPlay:
    """B battles that go on from one rollout to the next: see ``Play``.

    Args:
        games: the battles; one that ends must be reset in the same step.
        roles: the learners; each decides in a thread of its own.
        opponents: who has the seats that the learners do not have.
        random: draws the decisions.
        symmetric_frames: whether learners see each battle in a frame of its own (``frames.py``).
    """

    actors = 0

    def __init__(
        self,
        games: BatchedGame,
        roles: Roles,
        opponents: Opponents,
        random: np.random.Generator,
        symmetric_frames: bool = False,
    ) -> None:
        self.games = games
        """The battles as they stand."""
        self.opponents = opponents
        self._roles = roles
        self._clock = roles.clock
        self._random = random
        self._symmetries = symmetries_of(games.rules) if symmetric_frames else (0,)
        self._frames = self._random.choice(self._symmetries, games.num_games)

    @classmethod
    def of(
        cls,
        config: TrainConfig,
        roles: Roles,
        opponents: Opponents,
        seed: np.random.SeedSequence,
    ) -> SelfPlay:
        """The battles that a configuration asks for, as many as the opponents have seats for."""
        games = BatchedGame(
            len(opponents.sides),
            get_ruleset(config.rules),
            observations=False,
            masks=None,
            num_threads=1,
            **config.limits,
        )
        return cls(games, roles, opponents, np.random.default_rng(seed), config.symmetric_frames)

    def collect(self, steps: int) -> Rollout:
        """Play ``steps`` decisions in every battle."""
        games, count = self.games, self.games.num_games
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
            opponent_sides=self.opponents.sides,
            last_rows=np.empty((count, ROW_SIZE), dtype=np.int16),
            final_games=np.empty(0, dtype=np.int64),
            final_rows=np.empty((0, ROW_SIZE), dtype=np.int16),
            strikes=np.zeros((2, count), dtype=np.int64),
        )
        final_games, final_rows = [], []
        for t in range(steps):
            with self._clock.on(ENVIRONMENT):
                rollout.rows[t] = map_rows(self._frames, games.rows)
            rollout.movers[t] = games.to_move
            rows, actions = rollout.rows[t], rollout.actions[t]
            self._decide(rows, rollout.log_probs[t], rollout.values[t], actions)
            with self._clock.on(ENVIRONMENT):
                games.step(out_of_frames(self._frames, actions))
                ended = games.terminated | games.truncated
                after = np.where(ended[:, None], games.final_rows, games.rows)
            rollout.rewards[t] = games.rewards[:, 0]
            rollout.ended[t] = ended
            rollout.strikes[:] += strikes_of(rows, actions, after, games.rules)
            for game in np.flatnonzero(ended).tolist():
                final_games.append(game)
                final_rows.append(map_rows(self._frames[[game]], after[[game]])[0])
                self._frames[game] = self._random.choice(self._symmetries)
                self.opponents.finished(game, margin(after[game]))
        rollout.last_movers[:] = games.to_move
        rollout.last_rows[:] = map_rows(self._frames, games.rows)
        self._decide(rollout.last_rows, np.empty(count, np.float32), rollout.last_values)
        if final_games:
            rollout = dataclasses.replace(
                rollout, final_games=np.array(final_games), final_rows=np.stack(final_rows)
            )
        return rollout

    def add_snapshots(self, decisions: int) -> None:
        """See ``Play``."""
        self.opponents.add_snapshots(decisions)

    def redraw(self) -> None:
        """See ``Play``."""
        self.opponents.redraw()

    def state(self) -> State:
        """The battles as they stand, who plays them, and what will be drawn."""
        rows, frames = (torch.from_numpy(one.copy()) for one in (self.games.rows, self._frames))
        random, opponents = state_of_generator(self._random), self.opponents.state()
        return State({"rows": rows, "frames": frames}, {"random": random, "opponents": opponents})

    def restore(self, state: State) -> None:
        """Go on from a state.

        Raises:
            StateError: if it is of another number of battles, or its rows are damaged.
        """
        rows = state.tensors["rows"].numpy()
        if rows.shape != self.games.rows.shape:
            raise StateError(
                f"the state is of {len(rows)} battles, not of {self.games.num_games}: a run of "
                "training.exploit cannot go on"
            )
        try:
            self.games.set_rows(rows)
        except RowError as error:
            raise StateError(f"the battles cannot go on: {error}") from None
        self._frames[:] = state.tensors["frames"].numpy()
        restore_generator(self._random, state.values["random"])
        self.opponents.restore(state.values["opponents"])

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
        uniforms = self._random.random(self.games.num_games)
        to_move = self.games.to_move
        learners = self.opponents.sides != to_move

        def decide(side: int) -> None:
            mine = np.flatnonzero((to_move == side) & learners)
            if len(mine):
                with self._clock.on(ENVIRONMENT):
                    inputs = self._roles.networks[side].inputs(rows[mine])
                    inputs = inputs.to(self._roles.precision.device)
                with self._clock.on(FORWARD):
                    with self._roles.precision.autocast():
                        drawn, chances, worth = sample_decisions(
                            self._roles.networks[side], inputs, uniforms[mine]
                        )
                    log_probs[mine] = chances.numpy()[drawn]
                    values[mine] = worth.numpy()
                    if actions is not None:
                        actions[mine] = inputs.decisions.cpu().numpy()[drawn]
            others = np.flatnonzero((to_move == side) & ~learners)
            if len(others) and actions is not None:
                with self._clock.on(FORWARD):
                    played = self.opponents.act(
                        side, others, self.games.rows[others], uniforms[others]
                    )
                actions[others] = into_frames(self._frames[others], played)

        for done in [self._roles.threads.submit(decide, side) for side in (0, 1)]:
            done.result()
