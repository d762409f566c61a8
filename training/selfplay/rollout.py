"""Self-play: both roles' policies play many battles, most of them against each other."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from agents.networks.network import Network
from agents.policy import sample_decisions
from thud_env import BatchedGame
from thud_env.rules.play import margin
from thud_env.rules.row import ROW_SIZE, TURNS
from thud_env.symmetry import symmetries_of
from training.arena.battles import strikes_of
from training.config import TrainConfig
from training.learner.advantage import Course
from training.process.clock import ENVIRONMENT, FORWARD, Clock
from training.process.precision import Precision
from training.process.state import State, StateError, restore_generator, state_of_generator
from training.selfplay.frames import into_frames, map_rows, out_of_frames
from training.selfplay.opponents import Opponents


@dataclasses.dataclass(frozen=True)
class Rollout:
    """T decisions in each of B battles."""

    rows: NDArray[np.int16]
    """[T, B, 432] the states that were decided in; these and all that follows from them as the
    battles' frames show them."""
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
    frozen: NDArray[np.int8]
    """[B] the side that an opponent played, who does not learn: ``MIRROR`` where there was none."""
    last_rows: NDArray[np.int16]
    """[B, 432] the states after the last decisions."""
    final_games: NDArray[np.int64]
    """[E] in which of the B games the E battles that ended were, as they ended."""
    final_rows: NDArray[np.int16]
    """[E, 432] their last states."""
    strikes: NDArray[np.int64]
    """[2, B] the dwarfs' and the trolls' strikes (``match.STRIKES``)."""

    @property
    def final_margins(self) -> NDArray[np.int64]:
        """[E] the margins of the battles that ended."""
        return np.array([margin(row) for row in self.final_rows], dtype=np.int64)

    @property
    def final_turns(self) -> NDArray[np.int16]:
        """[E] the turns they took."""
        return self.final_rows[:, TURNS]

    @property
    def course(self) -> Course:
        """What advantages are estimated from."""
        return (
            *(self.rewards, self.values, self.movers, self.ended),
            *(self.last_values, self.last_movers),
        )


BATTLES_FIRST = ("last_values", "last_movers", "frozen", "last_rows", "final_rows")
"""The fields of a rollout whose first axis is the battles; of the others it is the second."""


def joined(rollouts: Sequence[Rollout]) -> Rollout:
    """Rollouts of as many steps in other battles, side by side as one."""
    fields = {
        field.name: np.concatenate(
            [getattr(rollout, field.name) for rollout in rollouts],
            axis=0 if field.name in BATTLES_FIRST else 1,
        )
        for field in dataclasses.fields(Rollout)
        if field.name != "final_games"
    }
    before = np.cumsum([0, *(len(rollout.frozen) for rollout in rollouts[:-1])])
    ended = [rollout.final_games + n for rollout, n in zip(rollouts, before, strict=True)]
    return Rollout(final_games=np.concatenate(ended), **fields)


class Play(Protocol):
    """Where rollouts come from."""

    def collect(self, steps: int) -> Rollout:
        """Play ``steps`` decisions in each battle."""

    def add_snapshots(self, decisions: int) -> None:
        """Snapshots of both roles have been written: they may be met from now on."""

    def redraw(self) -> None:
        """Draw other snapshots to be met."""

    def state(self) -> State:
        """All that the next rollout depends on, but for the networks."""

    def restore(self, state: State) -> None:
        """Go on from a state."""


class SelfPlay:
    """B battles that go on from one rollout to the next.

    Args:
        games: the battles; one that ends must be reset in the same step.
        networks: the learners', the dwarfs' and the trolls'.
        opponents: who has the seats that the learners do not have.
        precision: the arithmetic of the networks.
        random: draws the decisions.
        pool: two workers; each role decides in one of its own.
        clock: told what the time goes into.
        symmetric_frames: whether learners see each battle in a frame of its own (``frames.py``).
    """

    def __init__(
        self,
        games: BatchedGame,
        networks: tuple[Network, Network],
        opponents: Opponents,
        precision: Precision,
        random: np.random.Generator,
        pool: ThreadPoolExecutor,
        clock: Clock,
        symmetric_frames: bool = False,
    ) -> None:
        self.games = games
        """The battles as they stand."""
        self.opponents = opponents
        self._networks = networks
        self._precision = precision
        self._random = random
        self._pool = pool
        self._clock = clock
        self._symmetries = symmetries_of(games.rules) if symmetric_frames else (0,)
        self._frames = self._random.choice(self._symmetries, games.num_games)

    @classmethod
    def of(
        cls,
        config: TrainConfig,
        networks: tuple[Network, Network],
        opponents: Opponents,
        precision: Precision,
        seed: np.random.SeedSequence,
        pool: ThreadPoolExecutor,
        clock: Clock,
    ) -> SelfPlay:
        """The battles that a configuration asks for, as many as the opponents have seats for."""
        games = BatchedGame(
            len(opponents.frozen), config.rules, observations=False, masks=None, num_threads=1,
            **config.limits,
        )  # fmt: skip
        random = np.random.default_rng(seed)
        return cls(
            games, networks, opponents, precision, random, pool, clock, config.symmetric_frames
        )

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
            frozen=self.opponents.frozen,
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
                self.opponents.finished(game, games.final_position(game).margin)
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
            StateError: if it is of another number of battles.
        """
        rows = state.tensors["rows"].numpy()
        if rows.shape != self.games.rows.shape:
            raise StateError(
                f"the state is of {len(rows)} battles, not of {self.games.num_games}: a run of "
                "training.exploit cannot go on"
            )
        self.games.set_rows(rows)
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
        learners = self.opponents.frozen != to_move

        def decide(side: int) -> None:
            mine = np.flatnonzero((to_move == side) & learners)
            if len(mine):
                with self._clock.on(ENVIRONMENT):
                    inputs = self._networks[side].inputs(rows[mine])
                    inputs = inputs.to(self._precision.device)
                with self._clock.on(FORWARD):
                    with self._precision.autocast():
                        drawn, chances, worth = sample_decisions(
                            self._networks[side], inputs, uniforms[mine]
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

        for done in [self._pool.submit(decide, side) for side in (0, 1)]:
            done.result()
