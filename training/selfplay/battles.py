"""The battles of self-play as they stand, and the opponents in them."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from thud_env import BatchedGame
from thud_env.batch.options import Device
from thud_env.rules.check import RowError
from thud_env.rulesets import get_ruleset
from thud_env.symmetry import map_rows, symmetries_of
from thud_env.views.results import margins
from training.config import SelfPlayConfig
from training.process.state import State, StateError, restore_generator, state_of_generator
from training.selfplay.book_starts import starts_to_learn_from
from training.selfplay.opponents import Opponents


class OngoingBattles:
    """B battles that go on from one rollout to the next.

    Args:
        games: the battles; one that ends must be reset in the same step.
        opponents: who has the seats that the learners do not have.
        random: draws the starts, the decisions, and frames.
        symmetric_frames: whether learners see each battle in a frame of its own (``frames.py``).
        starts: [S, 432] the states that battles begin at, each drawn evenly; None: the setup.
    """

    def __init__(
        self,
        games: BatchedGame,
        opponents: Opponents,
        random: np.random.Generator,
        symmetric_frames: bool = False,
        starts: NDArray[np.int16] | None = None,
    ) -> None:
        self.games = games
        """The battles as they stand."""
        self.opponents = opponents
        self.random = random
        self.symmetries = symmetries_of(games.rules) if symmetric_frames else (0,)
        """The frames that a battle may be seen in."""
        self.frames = random.choice(self.symmetries, games.num_games)
        """[B] those that the battles are seen in."""
        self._starts = starts
        self._begin(np.arange(games.num_games))

    @classmethod
    def of(
        cls,
        config: SelfPlayConfig,
        opponents: Opponents,
        seed: np.random.SeedSequence,
        device: Device = "cpu",
    ) -> OngoingBattles:
        """The battles that a configuration asks for, as many as the opponents have seats for.

        Raises:
            ConfigError: if they are to begin from a book that cannot be used.
        """
        starts = starts_to_learn_from(config)
        games = BatchedGame(
            len(opponents.sides),
            get_ruleset(config.rules),
            device,
            observations=False,
            masks=None,
            num_threads=1,
            **config.limits,
        )
        random = np.random.default_rng(seed)
        return cls(games, opponents, random, config.symmetric_frames, starts)

    def _begin(self, games: NDArray[np.int64]) -> None:
        """Move battles that have just been reset to starts of their own."""
        if self._starts is not None:
            drawn = self._starts[self.random.integers(len(self._starts), size=len(games))]
            self.games.set_rows(drawn, games, check=False)

    def finish(
        self, games: NDArray[np.int64], last_rows: NDArray[np.int16]
    ) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
        """Take note of battles that have ended: each game's next one has a start and a frame of its
        own.

        Args:
            games: [E] their numbers.
            last_rows: [E, 432] their last states.

        Returns:
            [E, 432] these, as the battles' frames showed them; and [E] whom the learner met, as
            ``Rollout.final_opponents``.
        """
        met = self.opponents.met(games)
        framed = map_rows(self.frames[games], last_rows, check=False)
        for game, margin in zip(
            games.tolist(), margins(last_rows, check=False).tolist(), strict=True
        ):
            self.frames[game] = self.random.choice(self.symmetries)
            self.opponents.finished(game, margin)
        self._begin(games)
        return framed, met

    def state(self) -> State:
        """The battles as they stand, who plays them, and what will be drawn."""
        rows = torch.from_numpy(self.games.to_host(self.games.rows).copy())
        frames = torch.from_numpy(self.frames.copy())
        random, opponents = state_of_generator(self.random), self.opponents.state()
        return State({"rows": rows, "frames": frames}, {"random": random, "opponents": opponents})

    def restore(self, state: State) -> None:
        """Go on from a state.

        Raises:
            StateError: if it is of another number of battles, or its rows or frames are damaged.
        """
        rows = state.tensors["rows"].numpy()
        if rows.shape != self.games.rows.shape:
            raise StateError(f"the state is of {len(rows)} battles, not of {self.games.num_games}")
        frames = state.tensors["frames"].numpy()
        # Compiled code looks them up unchecked.
        if frames.shape != self.frames.shape or not np.isin(frames, self.symmetries).all():
            raise StateError(f"the battles cannot go on: frames must be among {self.symmetries}")
        try:
            self.games.set_rows(rows)
        except RowError as error:
            raise StateError(f"the battles cannot go on: {error}") from None
        self.frames[:] = frames
        restore_generator(self.random, state.values["random"])
        self.opponents.restore(state.values["opponents"])
